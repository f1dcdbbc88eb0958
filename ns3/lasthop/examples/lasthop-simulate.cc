/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// One run of lasthop's test bed in simulated time, which `lasthop-lab compare --engine ns3` calls:
//
//   FH ---- wired ---- BS ---- the lossy hop ---- air ---- MH 0, MH 1, ...
//
// The queue before the wire is first in, first out, that before the hop as --aqm says. Behind "air"
// nothing takes time: all mobile hosts share the hop. With --hostLinks each has a lossy link of its
// own there instead. Many hosts are in groups, for the simulator's speed. With --mac the hop is
// Wi-Fi, BS its access point and air a station; time counts from its association on. Everything
// else that ns-3 knows can be set by attributes:
//
//   lasthop-simulate --rate=2Mbps --scheme=snoop --ns3::LasthopAgent::DupThresh=2
//
// Printed is one JSON object: what was counted, in base units. Attributes' defaults are ns-3's.

#include "lasthop-simulate-beside.h"
#include "lasthop-simulate-flow.h"
#include "lasthop-simulate-links.h"
#include "lasthop-simulate-options.h"

#include "ns3/core-module.h"
#include "ns3/inet-socket-address.h"
#include "ns3/lasthop-helper.h"

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

constexpr uint16_t PORT = 5001;
const Time SAMPLE_INTERVAL = MilliSeconds(100);
/// Transfers that have not arrived so long after the measured time never do.
const Time GRACE = Seconds(20);

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

/// @param time that may be missing
/// @return it in ns, or null
std::string
NsOrNull(std::optional<Time> time)
{
    return time ? std::to_string(time->GetNanoSeconds()) : "null";
}

/// The hosts, links and flows of one run.
class Scenario
{
  public:
    /// @param options what is built
    explicit Scenario(const LasthopSimulateOptions& options);
    /// Runs it.
    void Run();
    /// @return the JSON object.
    std::string Record() const;

  private:
    using Flows = std::vector<std::unique_ptr<LasthopSimulatedFlow>>;

    /// What is counted, at one moment.
    struct Counts
    {
        Time at;                               //!< the moment
        std::vector<uint64_t> received;        //!< bytes of each flow
        uint64_t uploaded{0};                  //!< bytes of the uploads beside them
        LasthopSimulatedFlow::Sent sent;       //!< all senders
        LasthopSimulatedLinks::Counts hop;     //!< in the flows' direction
        LasthopSimulatedWifi::Radios radios;   //!< of the hop, if it has any
        std::map<std::string, uint64_t> agent; //!< counters of all agents
    };

    void MakeAgents();
    /// @param lasthop makes the agent
    /// @param device that it stands on
    /// @param pcap file for what it sends of itself; empty: none
    void MakeAgent(const LasthopHelper& lasthop, Ptr<NetDevice> device, const std::string& pcap);
    /// @param flows filled
    /// @param up whether the mobile hosts send
    void MakeFlows(Flows& flows, bool up);
    void FlowDone();
    /// Takes a sample each SAMPLE_INTERVAL of the measured time, and of the one before.
    void Sample();
    void TakeSample();
    void End();
    Counts Count() const;
    /// @return the part of Record() about what goes beside the flows.
    std::string RecordBeside() const;
    /// @return the part of Record() about the agents.
    std::string RecordAgents() const;
    /// @return the part of Record() about the hop's radios.
    std::string RecordRadios() const;

    const LasthopSimulateOptions m_options;  //!< what is built
    const bool m_up;                         //!< whether the mobile hosts send what is measured
    LasthopSimulatedLinks m_links;           //!< hosts, and what lies between them
    std::vector<Ptr<LasthopAgent>> m_agents; //!< the base's first
    Time m_origin;                           //!< from which times of options and record count
    Flows m_flows;                           //!< in the order of their starts
    Flows m_uploads;                         //!< beside them
    std::unique_ptr<LasthopSimulatedBeside> m_beside; //!< neighbours and arrivals
    uint32_t m_done{0};                               //!< flows that have ended
    bool m_ended{false};                              //!< whether the measured time is over
    Counts m_before;                                  //!< when the measured time begins
    Counts m_after;                                   //!< when it ends
    std::vector<std::string> m_samples;               //!< JSON objects, every SAMPLE_INTERVAL
    uint64_t m_memory{0};                             //!< most bytes of the agents together
    double m_processor{0};                            //!< s of processor time that the run took
    uint64_t m_events{0};                             //!< that it had
};

Scenario::Scenario(const LasthopSimulateOptions& options)
    : m_options(options),
      m_up(options.direction == "up"),
      m_links(m_options)
{
    MakeAgents();
    m_links.Settle();
    m_origin = Simulator::Now();
    MakeFlows(m_flows, m_up);
    if (options.direction == "both")
    {
        MakeFlows(m_uploads, true);
    }
    m_beside = std::make_unique<LasthopSimulatedBeside>(m_options, m_links, m_agents);
    m_beside->SetDone(Callback<void>([this] {
        if (m_ended)
        {
            Simulator::Stop();
        }
    }));
}

void
Scenario::MakeAgents()
{
    if (m_options.scheme == "none")
    {
        return;
    }
    LasthopHelper lasthop;
    lasthop.SetAttribute("Scheme", StringValue(m_options.scheme));
    const auto& pcap = m_options.pcap;
    bool isBoth = m_options.agents == "both";
    if (m_options.agents != "mobile")
    {
        MakeAgent(lasthop, m_links.GetBaseDevice(), pcap);
    }
    if (m_options.agents != "base")
    {
        lasthop.SetAttribute("Role", StringValue("mobile"));
        bool isSecond = isBoth && !pcap.empty();
        MakeAgent(lasthop, m_links.GetMobileDevice(), isSecond ? pcap + ".mobile" : pcap);
    }
}

void
Scenario::MakeAgent(const LasthopHelper& lasthop, Ptr<NetDevice> device, const std::string& pcap)
{
    m_agents.push_back(lasthop.Install(device));
    if (!pcap.empty())
    {
        LasthopHelper::EnablePcap(pcap, m_agents.back());
    }
}

void
Scenario::MakeFlows(Flows& flows, bool up)
{
    auto controls = LasthopSplit(m_options.cc);
    for (uint32_t number = 0; number < m_options.flows; number++)
    {
        // Another content for what goes up beside what goes down.
        uint32_t content = number + (up ? m_options.flows : 0);
        auto flow = std::make_unique<LasthopSimulatedFlow>(content, m_options.bytes);
        uint32_t host = number % m_options.hosts;
        auto mobile = m_links.GetMobile(host);
        auto fixed = m_links.GetFixed();
        uint16_t port = PORT + (up ? number : number / m_options.hosts);
        auto address = up ? m_links.GetFixedAddress() : m_links.GetMobileAddress(host);
        flow->Listen(up ? fixed : mobile, port, up ? 0 : m_links.GetWindow(host));
        flow->SetControl(controls[number % controls.size()]);
        flow->SetDone(MakeCallback(&Scenario::FlowDone, this));
        auto sender = up ? mobile : fixed;
        Simulator::ScheduleWithContext(sender->GetId(),
                                       m_options.startGap * int64_t(number),
                                       &LasthopSimulatedFlow::Connect,
                                       flow.get(),
                                       sender,
                                       InetSocketAddress(address, port));
        flows.push_back(std::move(flow));
    }
}

void
Scenario::FlowDone()
{
    m_done++;
    if (m_done == m_flows.size())
    {
        End();
        Simulator::Stop();
    }
}

void
Scenario::Sample()
{
    if (!m_ended)
    {
        TakeSample();
        Simulator::Schedule(SAMPLE_INTERVAL, &Scenario::Sample, this);
    }
}

void
Scenario::TakeSample()
{
    std::vector<uint64_t> received;
    std::vector<int64_t> rtts;
    for (const auto& flow : m_flows)
    {
        received.push_back(flow->GetReceived());
        rtts.push_back(flow->GetCompletion() ? 0 : flow->GetRtt().GetMicroSeconds());
    }
    std::vector<uint64_t> neighboursReceived;
    std::vector<int64_t> neighbourRtts;
    for (const auto& state : m_beside->GetNeighbours())
    {
        neighboursReceived.push_back(state.received);
        neighbourRtts.push_back(state.rtt.GetMicroSeconds());
    }
    std::ostringstream out;
    out << "{\"at_ns\":" << (Simulator::Now() - m_origin).GetNanoSeconds()
        << ",\"received_bytes\":" << List(received) << ",\"rtt_us\":" << List(rtts)
        << ",\"neighbours_received_bytes\":" << List(neighboursReceived)
        << ",\"neighbours_rtt_us\":" << List(neighbourRtts) << "}";
    m_samples.push_back(out.str());
    uint64_t memory = 0;
    for (const auto& agent : m_agents)
    {
        memory += agent->GetMemoryBytes();
    }
    m_memory = std::max(m_memory, memory);
}

void
Scenario::End()
{
    TakeSample();
    m_after = Count();
    m_ended = true;
    if (m_beside->IsDone())
    {
        Simulator::Stop();
    }
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
    for (const auto& flow : m_uploads)
    {
        counts.uploaded += flow->GetReceived();
    }
    counts.hop = m_links.Count(m_up);
    if (m_links.GetWifi())
    {
        counts.radios = m_links.GetWifi()->GetRadios();
    }
    for (const auto& agent : m_agents)
    {
        for (const auto& [name, value] : agent->GetCounters())
        {
            counts.agent[name] += value;
        }
    }
    return counts;
}

void
Scenario::Run()
{
    auto end = m_options.warmup + m_options.duration;
    Simulator::Schedule(m_options.warmup, [this] { m_before = Count(); });
    Simulator::Schedule(SAMPLE_INTERVAL, &Scenario::Sample, this);
    Simulator::Schedule(end, &Scenario::End, this);
    Simulator::Stop(end + GRACE);
    // Of the processor: what else the machine does is none of it.
    auto begun = std::clock();
    Simulator::Run();
    m_processor = double(std::clock() - begun) / CLOCKS_PER_SEC;
    m_events = Simulator::GetEventCount();
}

std::string
Scenario::RecordBeside() const
{
    if (!m_options.hasArrivals)
    {
        return "";
    }
    std::vector<std::string> arrivals;
    for (uint32_t number = 0; number < m_options.arrivals.size(); number++)
    {
        arrivals.push_back("[" + NsOrNull(m_options.arrivals[number].start) + "," +
                           NsOrNull(m_beside->GetCompletion(number)) + "]");
    }
    return ",\"arrivals_ns\":" + List(arrivals);
}

std::string
Scenario::RecordRadios() const
{
    if (!m_links.GetWifi())
    {
        return "";
    }
    std::vector<std::string> radios;
    for (uint32_t end = 0; end < m_after.radios.size(); end++)
    {
        const auto& after = m_after.radios[end];
        const auto& before = m_before.radios[end];
        LasthopSimulatedWifi::Radio grown{after.sent - before.sent,
                                          after.received - before.received,
                                          after.givenUp - before.givenUp};
        std::ostringstream out;
        out << "{\"sent_ns\":" << grown.sent.GetNanoSeconds()
            << ",\"received_ns\":" << grown.received.GetNanoSeconds()
            << ",\"energy_uj\":" << grown.GetEnergyUj(m_options.mac, m_after.at - m_before.at)
            << ",\"given_up\":" << grown.givenUp << "}";
        radios.push_back(out.str());
    }
    return ",\"radios\":" + List(radios);
}

std::string
Scenario::RecordAgents() const
{
    if (m_agents.empty())
    {
        return "";
    }
    std::ostringstream out;
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
    return out.str();
}

std::string
Scenario::Record() const
{
    std::vector<uint64_t> received;
    std::vector<std::string> completions;
    bool right = m_beside->IsContentRight();
    uint32_t failed = m_beside->GetFailed();
    for (uint32_t i = 0; i < m_flows.size(); i++)
    {
        received.push_back(m_after.received[i] - m_before.received[i]);
        completions.push_back(NsOrNull(m_flows[i]->GetCompletion()));
        right = right && m_flows[i]->IsContentRight();
        failed += m_flows[i]->HasFailed();
    }
    for (const auto& flow : m_uploads)
    {
        right = right && flow->IsContentRight();
        failed += flow->HasFailed();
    }
    std::ostringstream out;
    out << "{\"measured_ns\":" << (m_after.at - m_before.at).GetNanoSeconds()
        << ",\"received_bytes\":" << List(received)
        << ",\"uploaded_bytes\":" << m_after.uploaded - m_before.uploaded
        << ",\"completion_ns\":" << List(completions)
        << ",\"content_ok\":" << (right ? "true" : "false") << ",\"failed\":" << failed
        << ",\"ns3\":\"" << LASTHOP_NS3_VERSION << "\""
        << ",\"segments\":" << m_after.sent.segments - m_before.sent.segments
        << ",\"retransmits\":" << m_after.sent.retransmits - m_before.sent.retransmits
        << ",\"timeouts\":" << m_after.sent.timeouts - m_before.sent.timeouts
        << ",\"link_lost\":" << m_after.hop.lost - m_before.hop.lost
        << ",\"queue_dropped\":" << m_after.hop.queueDropped - m_before.hop.queueDropped
        << ",\"aqm_dropped\":" << m_after.hop.aqmDropped - m_before.hop.aqmDropped
        << ",\"aqm_marked\":" << m_after.hop.aqmMarked - m_before.hop.aqmMarked
        << ",\"samples\":" << List(m_samples) << ",\"events\":" << m_events
        << ",\"cpu_s\":" << m_processor << RecordBeside() << RecordRadios() << RecordAgents()
        << "}";
    return out.str();
}

} // namespace

int
main(int argc, char* argv[])
{
    Scenario scenario(LasthopParse(argc, argv));
    scenario.Run();
    std::cout << scenario.Record() << std::endl;
    Simulator::Destroy();
    return 0;
}
