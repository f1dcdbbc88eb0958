/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-simulate-options.h"

#include "lasthop-simulate-errors.h"

#include "ns3/command-line.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <fstream>

namespace ns3
{
namespace
{

/// What is given in files or lists, before they are read.
struct Unread
{
    std::string hostLinks;  //!< file
    std::string neighbours; //!< list
    std::string arrivals;   //!< file
};

/**
 * @param file to be read
 * @return its contents
 */
std::ifstream
Open(const std::string& file)
{
    std::ifstream in(file);
    if (!in)
    {
        LasthopRefuse(file + ": cannot be read");
    }
    return in;
}

/**
 * @param in of which all lines should have been read
 * @param file its name
 * @param wanted what a line has
 */
void
CheckEnd(const std::ifstream& in, const std::string& file, const std::string& wanted)
{
    if (!in.eof())
    {
        LasthopRefuse(file + ": write " + wanted + " into each line");
    }
}

void
CheckControl(const std::string& option, const std::string& control)
{
    TypeId tid;
    if (!TypeId::LookupByNameFailSafe(control, &tid))
    {
        LasthopRefuse("--" + option + ": this ns-3 has no " + control);
    }
}

void
ReadHostLinks(LasthopSimulateOptions& options, const std::string& file)
{
    auto in = Open(file);
    for (LasthopHop hop; in >> hop.rate >> hop.rateUp >> hop.queue >> hop.queueUp >> hop.loss >>
                         hop.lossUp >> hop.window;)
    {
        options.hostHops.push_back(hop);
    }
    CheckEnd(in, file, "RATE RATEUP QUEUE QUEUEUP LOSS LOSSUP WINDOW");
    options.hosts = options.hostHops.size();
}

void
ReadArrivals(LasthopSimulateOptions& options, const std::string& file)
{
    auto in = Open(file);
    int64_t start;
    uint64_t bytes;
    while (in >> start >> bytes)
    {
        options.arrivals.push_back({NanoSeconds(start), bytes});
    }
    CheckEnd(in, file, "START_NS BYTES");
    options.hasArrivals = true;
}

void
ReadNeighbours(LasthopSimulateOptions& options, const std::string& text)
{
    auto words = LasthopSplit(text);
    if (words.size() % 3 != 0)
    {
        LasthopRefuse("--neighbours=" + text + ": give KIND,START,END of each");
    }
    for (size_t i = 0; i < words.size(); i += 3)
    {
        if (words[i].rfind("ns3::", 0) == 0)
        {
            CheckControl("neighbours", words[i]);
        }
        options.neighbours.push_back({words[i], Time(words[i + 1]), Time(words[i + 2])});
    }
}

/// The way up is as the way down where nothing else is said.
void
Complete(LasthopHop& hop, uint32_t least)
{
    if (hop.rateUp.empty())
    {
        hop.rateUp = hop.rate;
    }
    if (hop.queueUp == 0)
    {
        hop.queueUp = hop.queue;
    }
    if (std::min(hop.queue, hop.queueUp) < least)
    {
        LasthopRefuse("queues: " + std::to_string(least) +
                      " packets at least, of which the device holds all but one");
    }
}

void
CheckTraffic(const LasthopSimulateOptions& options)
{
    for (const auto& control : LasthopSplit(options.cc))
    {
        CheckControl("cc", control);
    }
    if (options.cc.empty() || options.hosts == 0 || options.flows == 0)
    {
        LasthopRefuse("--cc, --hosts and --flows need a value above nothing");
    }
    if (options.hosts > 10000 || options.flows > 10000)
    {
        LasthopRefuse("--hosts and --flows: 10000 at most");
    }
    if (options.bytes > 0 && options.warmup.IsStrictlyPositive())
    {
        LasthopRefuse("--bytes is measured from the start: leave --warmup out");
    }
    if (options.bytes > 0 && options.direction == "both")
    {
        LasthopRefuse("--direction=both: one way would end before the other: leave --bytes out");
    }
    if (options.direction != "down" && options.direction != "up" && options.direction != "both")
    {
        LasthopRefuse("--direction=" + options.direction + ": write down, up or both");
    }
}

/// The medium, and what stands at its ends.
void
CheckEnds(const LasthopSimulateOptions& options)
{
    bool isWifi = !options.mac.standard.empty();
    bool isBase = options.agents == "base";
    if (!isBase && options.agents != "mobile" && options.agents != "both")
    {
        LasthopRefuse("--agents=" + options.agents + ": write base, mobile or both");
    }
    if (!options.hostHops.empty() && (isWifi || !isBase))
    {
        LasthopRefuse("--hostLinks: leave --mac and --agents out");
    }
    if (options.scheme == "csnoop" && !isWifi)
    {
        LasthopRefuse("--scheme=csnoop goes by what the MAC reports: add --mac=802.11b");
    }
    if (options.scheme == "snack" && !isBase)
    {
        LasthopRefuse("--scheme=snack: agents in ns-3 exchange no messages: leave --agents out");
    }
    const auto& mac = options.mac;
    if (mac.tries == 0 || std::min({mac.sendWatts, mac.receiveWatts, mac.idleWatts}) < 0)
    {
        LasthopRefuse("--macTries is 1 at least, and no power less than 0");
    }
}

void
Check(LasthopSimulateOptions& options)
{
    // A Wi-Fi device holds the frame on the air and the next one.
    Complete(options.hop, options.mac.standard.empty() ? 2 : 3);
    for (auto& hop : options.hostHops)
    {
        Complete(hop, 2);
    }
    if (options.wiredQueue < 2)
    {
        LasthopRefuse("--wiredQueue: 2 packets at least, of which the device holds one");
    }
    if (options.aqm != "fifo" && options.aqm != "codel" && options.aqm != "fq-codel")
    {
        LasthopRefuse("--aqm=" + options.aqm + ": write fifo, codel or fq-codel");
    }
    CheckTraffic(options);
    CheckEnds(options);
}

void
AddLink(CommandLine& command, LasthopSimulateOptions& options, Unread& unread)
{
    command.AddValue("mac",
                     "802.11a, 802.11b or 802.11g between BS, the access point, and air, a "
                     "station, in place of --rate; losses hit packets, attempt by attempt",
                     options.mac.standard);
    command.AddValue("macRate", "of data, Mbit/s; empty: the highest", options.mac.rate);
    command.AddValue("macTries", "attempts that a frame gets in all", options.mac.tries);
    command.AddValue("sendWatts", "power of a radio that sends", options.mac.sendWatts);
    command.AddValue("receiveWatts", "of one that receives", options.mac.receiveWatts);
    command.AddValue("idleWatts", "of one that does neither", options.mac.idleWatts);
    command.AddValue("rate", "of the lossy hop", options.hop.rate);
    command.AddValue("rateUp", "of it from MH to BS; empty: --rate", options.hop.rateUp);
    command.AddValue("wiredRate", "of the wire", options.wiredRate);
    command.AddValue("delay", "of the hop, one way", options.delay);
    command.AddValue("wiredDelay", "of the wire, one way", options.wiredDelay);
    command.AddValue("queue", "packets that may wait at the hop", options.hop.queue);
    command.AddValue("queueUp", "the same from MH to BS; 0: --queue", options.hop.queueUp);
    command.AddValue("wiredQueue", "packets that may wait at the wire", options.wiredQueue);
    command.AddValue("aqm", "queue discipline of the hop: fifo, codel or fq-codel", options.aqm);
    command.AddValue("lost", "file: numbers of the frames lost, BS to MH, from 0", options.lost);
    command.AddValue("lostUp", "the same from MH to BS", options.lostUp);
    command.AddValue("ber", "bit-error rate of the hop, both ways", options.ber);
    command.AddValue("twoState",
                     "GoodInterval,BadInterval,GoodTime,BadTime of the two-state model, BS to MH",
                     options.twoState);
    command.AddValue("burst", "Loss,MeanBurst of Gilbert's model, BS to MH", options.burst);
    command.AddValue("burstUp", "the same, MH to BS", options.burstUp);
    command.AddValue("hosts", "mobile hosts", options.hosts);
    command.AddValue("hostLinks",
                     "file: a link for each host in place of the hop, by lines such as "
                     "\"5Mbps 1Mbps 45 20 0.02 0 275000\": rate, queue and loss, each down and "
                     "up, and the receiver's window in bytes",
                     unread.hostLinks);
}

} // namespace

LasthopSimulateOptions
LasthopParse(int argc, char* argv[])
{
    LasthopSimulateOptions options;
    Unread unread;
    CommandLine command("lasthop-simulate.cc");
    command.Usage("A run of lasthop's test bed in simulated time; prints one JSON object.");
    command.AddValue("scheme", "of the agent; none: no agent", options.scheme);
    command.AddValue(
        "agents", "ends of the hop that have one: base, mobile or both", options.agents);
    command.AddValue("cc", "congestion controls by commas, flow by flow", options.cc);
    AddLink(command, options, unread);
    command.AddValue("flows", "connections, over the hosts in turn", options.flows);
    command.AddValue("direction",
                     "down: FH sends; up: the mobile hosts do; both: uploads beside the downloads",
                     options.direction);
    command.AddValue("startGap", "between one flow's start and the next", options.startGap);
    command.AddValue("bytes", "of each flow; 0: no end", options.bytes);
    command.AddValue("warmup", "not measured", options.warmup);
    command.AddValue("duration", "measured; with bytes: at most", options.duration);
    command.AddValue("neighbours",
                     "KIND,START,END of each flow from FH to MH 0 that the agent leaves alone; "
                     "KIND is a congestion control or the rate of UDP: ns3::TcpCubic,5s,15s",
                     unread.neighbours);
    command.AddValue("arrivals",
                     "file: short transfers from FH beside the flows, by lines such as "
                     "\"1500000000 30000\": start in ns, bytes",
                     unread.arrivals);
    command.AddValue("pcap", "file for what the agent sends of itself", options.pcap);
    command.Parse(argc, argv);
    if (!unread.hostLinks.empty())
    {
        ReadHostLinks(options, unread.hostLinks);
    }
    ReadNeighbours(options, unread.neighbours);
    if (!unread.arrivals.empty())
    {
        ReadArrivals(options, unread.arrivals);
    }
    Check(options);
    return options;
}

} // namespace ns3
