/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// One run of lasthop's test bed in simulated time, which `lasthop-lab compare --engine ns3` calls:
//
//   FH ---- wired ---- BS ---- the lossy hop ---- air ---- MH 0, MH 1, ...
//
// The queues before both links are first in, first out. Behind "air" nothing takes time: all mobile
// hosts share the hop. Many hosts are in groups there, for the simulator's speed. Everything else
// that ns-3 knows can be set by attributes:
//
//   lasthop-simulate --rate=2Mbps --scheme=snoop --ns3::LasthopAgent::DupThresh=2
//
// Printed is one JSON object: what was counted, in base units. Attributes' defaults are ns-3's.

#include "lasthop-simulate-errors.h"
#include "lasthop-simulate-flow.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/lasthop-helper.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#ifndef LASTHOP_NS3_VERSION
#define LASTHOP_NS3_VERSION "unknown"
#endif

using namespace ns3;

namespace
{

/// What the command line says.
struct Options
{
    std::string scheme{"rack"};        //!< of the agent; "none": no agent
    std::string cc{"ns3::TcpNewReno"}; //!< congestion controls, by commas, flow by flow
    std::string rate{"20Mbps"};        //!< of the hop
    std::string wiredRate{"1Gbps"};    //!< of the wire
    Time delay{MilliSeconds(5)};       //!< of the hop, one way
    Time wiredDelay{MilliSeconds(50)}; //!< of the wire, one way
    uint32_t queue{181};               //!< packets that may wait at the hop
    uint32_t wiredQueue{4000};         //!< packets that may wait at the wire
    std::string lost;                  //!< file: numbers of the frames lost, BS to MH
    std::string lostUp;                //!< the same from MH to BS
    double ber{0};                     //!< of the hop, both ways
    std::string twoState;              //!< GoodInterval,BadInterval,GoodTime,BadTime
    std::string burst;                 //!< Loss,MeanBurst of Gilbert's model
    uint32_t hosts{1};                 //!< mobile hosts
    uint32_t flows{1};                 //!< connections, over the hosts in turn
    Time startGap{0};                  //!< between two flows' starts
    uint64_t bytes{0};                 //!< of each flow; 0: no end
    Time warmup{0};                    //!< not measured
    Time duration{Seconds(20)};        //!< measured; with bytes: the most that it may take
    std::string pcap;                  //!< what the agent sends of itself
};

/// The hosts, links and flows of one run.
class Scenario
{
  public:
    /// @param options what is built
    explicit Scenario(const Options& options);
    /// Runs it.
    void Run();
    /// @return the JSON object.
    std::string Record() const;

  private:
    /// What is counted, at one moment.
    struct Counts
    {
        Time at;                               //!< the moment
        std::vector<uint64_t> received;        //!< bytes of each flow
        LasthopSimulatedFlow::Sent sent;       //!< all senders
        uint64_t lost{0};                      //!< by the hop's errors, BS to MH
        uint64_t queueDropped{0};              //!< before the hop
        std::map<std::string, uint64_t> agent; //!< its counters
    };

    void MakeLinks();
    void MakeErrors();
    void MakeHosts();
    /// @param group number of it
    /// @param network its hosts' addresses
    /// @return the router that its hosts are linked to
    Ptr<Node> MakeGroup(uint32_t group, Ipv4Address network);
    void MakeAgent();
    void MakeFlows();
    void Start(uint32_t flow);
    void FlowDone();
    void Sample();
    Counts Count() const;

    const Options m_options;                                    //!< what is built
    NodeContainer m_nodes;                                      //!< FH, BS, air
    NodeContainer m_mobiles;                                    //!< MH 0, ...
    NetDeviceContainer m_hop;                                   //!< BS's device and air's
    Ptr<QueueDisc> m_queue;                                     //!< before the hop
    Ptr<LasthopAnyErrorModel> m_errors;                         //!< from BS to MH
    Ptr<LasthopAgent> m_agent;                                  //!< null: none
    std::vector<Address> m_targets;                             //!< the mobile hosts'
    std::vector<std::unique_ptr<LasthopSimulatedFlow>> m_flows; //!< in the order of their starts
    uint32_t m_done{0};                                         //!< flows that have ended
    Counts m_before;                                            //!< when the measured time begins
    Counts m_after;                                             //!< when it ends
    std::vector<int64_t> m_rtts;                                //!< samples in µs
    uint64_t m_memory{0};                                       //!< most bytes of the agent
    double m_processor{0}; //!< s of processor time that the run took
    uint64_t m_events{0};  //!< that it had
};

/// Waits for a packet at most in the device: the queue disc holds the others.
constexpr uint32_t DEVICE_PACKETS = 1;
constexpr uint16_t PORT = 5001;
/// Behind the hop nothing takes time.
const std::string FREE_RATE = "100Gbps";
/// ns-3 looks at every interface and route of a node for every packet: more hosts are put into
/// groups, each with a router of its own.
constexpr uint32_t GROUP_HOSTS = 32;
constexpr uint32_t HOSTS_NETWORK = 0x0a800000; // 10.128.0.0, a /24 for each group
constexpr uint32_t GROUP_LINKS = 0x0a040000;   // 10.4.0.0, a /30 for each
const Time SAMPLE_INTERVAL = MilliSeconds(100);

PointToPointHelper
LinkHelper(const std::string& rate, Time delay)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, DEVICE_PACKETS)));
    return link;
}

QueueDiscContainer
InstallQueue(const NetDeviceContainer& devices, uint32_t packets)
{
    TrafficControlHelper queue;
    uint32_t waiting = packets - DEVICE_PACKETS;
    queue.SetRootQueueDisc("ns3::FifoQueueDisc",
                           "MaxSize",
                           QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, waiting)));
    return queue.Install(devices);
}

void
DefaultRoute(Ptr<Node> node, Ipv4Address gateway)
{
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(gateway, 1);
}

Scenario::Scenario(const Options& options)
    : m_options(options)
{
    m_nodes.Create(3);
    m_mobiles.Create(options.hosts);
    InternetStackHelper internet;
    internet.Install(m_nodes);
    internet.Install(m_mobiles);
    MakeLinks();
    MakeErrors();
    MakeHosts();
    MakeAgent();
    MakeFlows();
}

void
Scenario::MakeLinks()
{
    auto wire = LinkHelper(m_options.wiredRate, m_options.wiredDelay)
                    .Install(m_nodes.Get(0), m_nodes.Get(1));
    m_hop = LinkHelper(m_options.rate, m_options.delay).Install(m_nodes.Get(1), m_nodes.Get(2));
    InstallQueue(wire, m_options.wiredQueue);
    m_queue = InstallQueue(m_hop, m_options.queue).Get(0);
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.255.252");
    auto wired = addresses.Assign(wire);
    addresses.SetBase("10.2.0.0", "255.255.255.252");
    auto hop = addresses.Assign(m_hop);
    DefaultRoute(m_nodes.Get(0), wired.GetAddress(1));
    DefaultRoute(m_nodes.Get(2), hop.GetAddress(0));
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(m_nodes.Get(1)->GetObject<Ipv4>())
        ->AddNetworkRouteTo("10.128.0.0", "255.128.0.0", hop.GetAddress(1), 2);
}

void
Scenario::MakeErrors()
{
    m_errors = CreateObject<LasthopAnyErrorModel>();
    auto up = CreateObject<LasthopAnyErrorModel>();
    // A stream of its own for each: equal ones whatever else is switched on.
    if (!m_options.lost.empty())
    {
        m_errors->AddList(m_options.lost);
    }
    if (!m_options.lostUp.empty())
    {
        up->AddList(m_options.lostUp);
    }
    if (m_options.ber > 0)
    {
        m_errors->AddBitErrors(m_options.ber, 1);
        up->AddBitErrors(m_options.ber, 2);
    }
    if (!m_options.twoState.empty())
    {
        m_errors->AddTwoState(m_options.twoState, 3);
    }
    if (!m_options.burst.empty())
    {
        m_errors->AddBurst(m_options.burst, 4);
    }
    m_hop.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(m_errors));
    m_hop.Get(0)->SetAttribute("ReceiveErrorModel", PointerValue(up));
}

Ptr<Node>
Scenario::MakeGroup(uint32_t group, Ipv4Address network)
{
    auto air = m_nodes.Get(2);
    if (m_options.hosts <= GROUP_HOSTS)
    {
        return air;
    }
    auto router = CreateObject<Node>();
    InternetStackHelper().Install(router);
    auto devices = LinkHelper(FREE_RATE, Time(0)).Install(air, router);
    InstallQueue(devices, m_options.wiredQueue);
    Ipv4AddressHelper addresses(Ipv4Address(GROUP_LINKS + 4 * group), "255.255.255.252");
    auto interfaces = addresses.Assign(devices);
    DefaultRoute(router, interfaces.GetAddress(0));
    Ipv4StaticRoutingHelper routing;
    auto table = routing.GetStaticRouting(air->GetObject<Ipv4>());
    auto device = air->GetObject<Ipv4>()->GetInterfaceForDevice(devices.Get(0));
    table->AddNetworkRouteTo(network, "255.255.255.0", interfaces.GetAddress(1), device);
    return router;
}

void
Scenario::MakeHosts()
{
    Ptr<Node> router;
    for (uint32_t host = 0; host < m_options.hosts; host++)
    {
        uint32_t group = host / GROUP_HOSTS;
        Ipv4Address network(HOSTS_NETWORK + 256 * group);
        if (host % GROUP_HOSTS == 0)
        {
            router = MakeGroup(group, network);
        }
        auto mobile = m_mobiles.Get(host);
        auto devices = LinkHelper(FREE_RATE, Time(0)).Install(router, mobile);
        InstallQueue(devices, m_options.wiredQueue);
        uint32_t link = network.Get() + 4 * (host % GROUP_HOSTS);
        Ipv4AddressHelper addresses(Ipv4Address(link), "255.255.255.252");
        auto interfaces = addresses.Assign(devices);
        DefaultRoute(mobile, interfaces.GetAddress(0));
        m_targets.push_back(InetSocketAddress(interfaces.GetAddress(1), PORT));
    }
}

void
Scenario::MakeAgent()
{
    if (m_options.scheme == "none")
    {
        return;
    }
    LasthopHelper lasthop;
    lasthop.SetAttribute("Scheme", StringValue(m_options.scheme));
    m_agent = lasthop.Install(m_hop.Get(0));
    if (!m_options.pcap.empty())
    {
        LasthopHelper::EnablePcap(m_options.pcap, m_agent);
    }
}

void
Scenario::MakeFlows()
{
    for (uint32_t number = 0; number < m_options.flows; number++)
    {
        auto flow = std::make_unique<LasthopSimulatedFlow>(number, m_options.bytes);
        uint32_t host = number % m_options.hosts;
        flow->Listen(m_mobiles.Get(host), PORT + number / m_options.hosts);
        flow->SetDone(MakeCallback(&Scenario::FlowDone, this));
        m_flows.push_back(std::move(flow));
        Simulator::ScheduleWithContext(m_nodes.Get(0)->GetId(),
                                       m_options.startGap * int64_t(number),
                                       &Scenario::Start,
                                       this,
                                       number);
    }
}

void
Scenario::Start(uint32_t number)
{
    auto controls = LasthopSplit(m_options.cc);
    const auto& control = controls[number % controls.size()];
    auto fh = m_nodes.Get(0);
    fh->GetObject<TcpL4Protocol>()->SetAttribute("SocketType",
                                                 TypeIdValue(TypeId::LookupByName(control)));
    auto to = InetSocketAddress::ConvertFrom(m_targets[number % m_options.hosts]);
    to.SetPort(PORT + number / m_options.hosts);
    m_flows[number]->Connect(fh, to);
}

void
Scenario::FlowDone()
{
    m_done++;
    if (m_done == m_flows.size())
    {
        Simulator::Stop();
    }
}

void
Scenario::Sample()
{
    if (Simulator::Now() >= m_options.warmup)
    {
        for (const auto& flow : m_flows)
        {
            if (flow->GetRtt().IsStrictlyPositive() && !flow->GetCompletion())
            {
                m_rtts.push_back(flow->GetRtt().GetMicroSeconds());
            }
        }
    }
    if (m_agent)
    {
        m_memory = std::max(m_memory, m_agent->GetMemoryBytes());
    }
    Simulator::Schedule(SAMPLE_INTERVAL, &Scenario::Sample, this);
}

Scenario::Counts
Scenario::Count() const
{
    Counts counts;
    counts.at = Simulator::Now();
    for (const auto& flow : m_flows)
    {
        counts.received.push_back(flow->GetReceived());
        counts.sent.segments += flow->GetSent().segments;
        counts.sent.retransmits += flow->GetSent().retransmits;
        counts.sent.timeouts += flow->GetSent().timeouts;
    }
    counts.lost = m_errors->GetLost();
    counts.queueDropped = m_queue->GetStats().nTotalDroppedPackets;
    if (m_agent)
    {
        counts.agent = m_agent->GetCounters();
    }
    return counts;
}

void
Scenario::Run()
{
    Simulator::Schedule(m_options.warmup, [this] { m_before = Count(); });
    Simulator::Schedule(SAMPLE_INTERVAL, &Scenario::Sample, this);
    Simulator::Stop(m_options.warmup + m_options.duration);
    // Of the processor: what else the machine does is none of it.
    auto begun = std::clock();
    Simulator::Run();
    m_processor = double(std::clock() - begun) / CLOCKS_PER_SEC;
    m_after = Count();
    m_events = Simulator::GetEventCount();
}

/// @param values of the list
/// @return a JSON list
template <typename T>
std::string
List(const std::vector<T>& values)
{
    std::ostringstream out;
    const char* before = "[";
    for (const auto& value : values)
    {
        out << before << value;
        before = ",";
    }
    return values.empty() ? "[]" : out.str() + "]";
}

std::string
Scenario::Record() const
{
    std::vector<uint64_t> received;
    std::vector<std::string> completions;
    bool right = true;
    uint32_t failed = 0;
    for (uint32_t i = 0; i < m_flows.size(); i++)
    {
        received.push_back(m_after.received[i] - m_before.received[i]);
        auto took = m_flows[i]->GetCompletion();
        completions.push_back(took ? std::to_string(took->GetNanoSeconds()) : "null");
        right = right && m_flows[i]->IsContentRight();
        failed += m_flows[i]->HasFailed();
    }
    std::ostringstream out;
    out << "{\"measured_ns\":" << (m_after.at - m_before.at).GetNanoSeconds()
        << ",\"received_bytes\":" << List(received) << ",\"completion_ns\":" << List(completions)
        << ",\"content_ok\":" << (right ? "true" : "false") << ",\"failed\":" << failed
        << ",\"ns3\":\"" << LASTHOP_NS3_VERSION << "\""
        << ",\"segments\":" << m_after.sent.segments - m_before.sent.segments
        << ",\"retransmits\":" << m_after.sent.retransmits - m_before.sent.retransmits
        << ",\"timeouts\":" << m_after.sent.timeouts - m_before.sent.timeouts
        << ",\"link_lost\":" << m_after.lost - m_before.lost
        << ",\"queue_dropped\":" << m_after.queueDropped - m_before.queueDropped
        << ",\"rtt_us\":" << List(m_rtts) << ",\"events\":" << m_events
        << ",\"cpu_s\":" << m_processor;
    if (m_agent)
    {
        out << ",\"agent_memory_bytes\":" << m_memory << ",\"agent\":{";
        const char* before = "";
        for (const auto& [name, value] : m_after.agent)
        {
            auto then = m_before.agent.find(name);
            out << before << "\"" << name
                << "\":" << value - (then == m_before.agent.end() ? 0 : then->second);
            before = ",";
        }
        out << "}";
    }
    out << "}";
    return out.str();
}

void
Check(const Options& options)
{
    for (const auto& control : LasthopSplit(options.cc))
    {
        TypeId tid;
        if (!TypeId::LookupByNameFailSafe(control, &tid))
        {
            LasthopRefuse("--cc: this ns-3 has no " + control);
        }
    }
    if (options.cc.empty() || options.hosts == 0 || options.flows == 0)
    {
        LasthopRefuse("--cc, --hosts and --flows need a value above nothing");
    }
    if (options.hosts > 10000 || options.flows > 10000)
    {
        LasthopRefuse("--hosts and --flows: 10000 at most");
    }
    if (options.queue < 2 || options.wiredQueue < 2)
    {
        LasthopRefuse("--queue and --wiredQueue: 2 at least, of which the device holds one");
    }
    if (options.bytes > 0 && options.warmup.IsStrictlyPositive())
    {
        LasthopRefuse("--bytes is measured from the start: leave --warmup out");
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    Options options;
    CommandLine command(__FILE__);
    command.Usage("A run of lasthop's test bed in simulated time; prints one JSON object.");
    command.AddValue("scheme", "of the agent; none: no agent", options.scheme);
    command.AddValue("cc", "congestion controls by commas, flow by flow", options.cc);
    command.AddValue("rate", "of the lossy hop", options.rate);
    command.AddValue("wiredRate", "of the wire", options.wiredRate);
    command.AddValue("delay", "of the hop, one way", options.delay);
    command.AddValue("wiredDelay", "of the wire, one way", options.wiredDelay);
    command.AddValue("queue", "packets that may wait at the hop", options.queue);
    command.AddValue("wiredQueue", "packets that may wait at the wire", options.wiredQueue);
    command.AddValue("lost", "file: numbers of the frames lost, BS to MH, from 0", options.lost);
    command.AddValue("lostUp", "the same from MH to BS", options.lostUp);
    command.AddValue("ber", "bit-error rate of the hop, both ways", options.ber);
    command.AddValue("twoState",
                     "GoodInterval,BadInterval,GoodTime,BadTime of the two-state model, BS to MH",
                     options.twoState);
    command.AddValue("burst", "Loss,MeanBurst of Gilbert's model, BS to MH", options.burst);
    command.AddValue("hosts", "mobile hosts", options.hosts);
    command.AddValue("flows", "connections, over the hosts in turn", options.flows);
    command.AddValue("startGap", "between one flow's start and the next", options.startGap);
    command.AddValue("bytes", "of each flow; 0: no end", options.bytes);
    command.AddValue("warmup", "not measured", options.warmup);
    command.AddValue("duration", "measured; with bytes: at most", options.duration);
    command.AddValue("pcap", "file for what the agent sends of itself", options.pcap);
    command.Parse(argc, argv);
    Check(options);
    Scenario scenario(options);
    scenario.Run();
    std::cout << scenario.Record() << std::endl;
    Simulator::Destroy();
    return 0;
}
