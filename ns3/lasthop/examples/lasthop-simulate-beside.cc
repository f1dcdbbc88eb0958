/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-simulate-beside.h"

#include "ns3/data-rate.h"
#include "ns3/inet-socket-address.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"

#include <algorithm>

namespace ns3
{
namespace
{

/// Of MH 0, one for each neighbour.
constexpr uint16_t NEIGHBOUR_PORT = 4000;
/// Of each mobile host, one for each transfer; below those that senders take.
constexpr uint16_t ARRIVAL_PORT = 20000;
constexpr uint32_t MOST_ARRIVAL_PORTS = 29000;
/// Numbers of content that no measured flow has.
constexpr uint32_t NEIGHBOUR_CONTENT = 20000;
constexpr uint32_t ARRIVAL_CONTENT = 20100;
/// Of a full frame.
constexpr uint32_t UDP_PAYLOAD_BYTES = 1472;
constexpr uint32_t UDP_FRAME_BYTES = UDP_PAYLOAD_BYTES + 8 + 20 + 2;

} // namespace

LasthopSimulatedFlood::LasthopSimulatedFlood(Ptr<Node> from,
                                             Ptr<Node> to,
                                             const Address& address,
                                             const LasthopNeighbour& neighbour)
    : m_sender(Socket::CreateSocket(from, UdpSocketFactory::GetTypeId())),
      m_receiver(Socket::CreateSocket(to, UdpSocketFactory::GetTypeId())),
      m_gap(DataRate(neighbour.kind).CalculateBytesTxTime(UDP_FRAME_BYTES)),
      m_end(Simulator::Now() + neighbour.end)
{
    m_receiver->Bind(address);
    m_receiver->SetRecvCallback(MakeCallback(&LasthopSimulatedFlood::Read, this));
    m_sender->Bind();
    m_sender->Connect(address);
    Simulator::ScheduleWithContext(
        from->GetId(), neighbour.start, &LasthopSimulatedFlood::Send, this);
}

void
LasthopSimulatedFlood::Send()
{
    if (Simulator::Now() < m_end)
    {
        m_sender->Send(Create<Packet>(UDP_PAYLOAD_BYTES));
        Simulator::Schedule(m_gap, &LasthopSimulatedFlood::Send, this);
    }
}

void
LasthopSimulatedFlood::Read(Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        m_received += packet->GetSize();
    }
}

uint64_t
LasthopSimulatedFlood::GetReceived() const
{
    return m_received;
}

LasthopSimulatedBeside::LasthopSimulatedBeside(const LasthopSimulateOptions& options,
                                               const LasthopSimulatedLinks& links,
                                               const std::vector<Ptr<LasthopAgent>>& agents)
    : m_options(options),
      m_origin(Simulator::Now()),
      m_links(links),
      m_arrivals(options.arrivals.size()),
      m_flows(options.neighbours.size()),
      m_floods(options.neighbours.size())
{
    for (uint32_t number = 0; number < options.neighbours.size(); number++)
    {
        AddNeighbour(number, agents);
    }
    if (options.arrivals.size() > uint64_t(MOST_ARRIVAL_PORTS) * options.hosts)
    {
        LasthopRefuse("--arrivals: there are not so many ports");
    }
    for (uint32_t number = 0; number < options.arrivals.size(); number++)
    {
        Simulator::ScheduleWithContext(links.GetFixed()->GetId(),
                                       options.arrivals[number].start,
                                       &LasthopSimulatedBeside::Arrive,
                                       this,
                                       number);
    }
}

void
LasthopSimulatedBeside::AddNeighbour(uint32_t number, const std::vector<Ptr<LasthopAgent>>& agents)
{
    const auto& neighbour = m_options.neighbours[number];
    auto fixed = m_links.GetFixed();
    auto mobile = m_links.GetMobile(0);
    uint16_t port = NEIGHBOUR_PORT + number;
    InetSocketAddress address(m_links.GetMobileAddress(0), port);
    if (neighbour.kind.rfind("ns3::", 0) != 0)
    {
        m_floods[number] =
            std::make_unique<LasthopSimulatedFlood>(fixed, mobile, address, neighbour);
        return;
    }
    for (const auto& agent : agents)
    {
        agent->Exclude(port);
    }
    m_flows[number] = std::make_unique<LasthopSimulatedFlow>(NEIGHBOUR_CONTENT + number, 0);
    auto flow = m_flows[number].get();
    flow->Listen(mobile, port, m_links.GetWindow(0));
    flow->SetControl(neighbour.kind);
    Simulator::ScheduleWithContext(
        fixed->GetId(), neighbour.start, &LasthopSimulatedFlow::Connect, flow, fixed, address);
    Simulator::ScheduleWithContext(
        mobile->GetId(), neighbour.end, &LasthopSimulatedFlow::Stop, flow);
}

void
LasthopSimulatedBeside::Arrive(uint32_t number)
{
    uint32_t host = number % m_options.hosts;
    uint16_t port = ARRIVAL_PORT + number / m_options.hosts;
    auto controls = LasthopSplit(m_options.cc);
    auto& flow = m_arrivals[number];
    flow = std::make_unique<LasthopSimulatedFlow>(ARRIVAL_CONTENT + number,
                                                  m_options.arrivals[number].bytes);
    flow->Listen(m_links.GetMobile(host), port, m_links.GetWindow(host));
    flow->SetControl(controls[number % controls.size()]);
    flow->SetDone(MakeCallback(&LasthopSimulatedBeside::ArrivalDone, this));
    flow->Connect(m_links.GetFixed(), InetSocketAddress(m_links.GetMobileAddress(host), port));
}

void
LasthopSimulatedBeside::ArrivalDone()
{
    m_arrived++;
    if (IsDone())
    {
        m_done();
    }
}

void
LasthopSimulatedBeside::SetDone(Callback<void> done)
{
    m_done = done;
}

bool
LasthopSimulatedBeside::IsDone() const
{
    return m_arrived == m_arrivals.size();
}

std::vector<LasthopSimulatedBeside::State>
LasthopSimulatedBeside::GetNeighbours() const
{
    std::vector<State> states(m_flows.size());
    for (uint32_t number = 0; number < states.size(); number++)
    {
        bool isThere = Simulator::Now() - m_origin < m_options.neighbours[number].end;
        if (m_floods[number])
        {
            states[number].received = m_floods[number]->GetReceived();
        }
        else
        {
            states[number].received = m_flows[number]->GetReceived();
            states[number].rtt = isThere ? m_flows[number]->GetRtt() : Time(0);
        }
    }
    return states;
}

std::optional<Time>
LasthopSimulatedBeside::GetCompletion(uint32_t arrival) const
{
    return m_arrivals[arrival] ? m_arrivals[arrival]->GetCompletion() : std::nullopt;
}

bool
LasthopSimulatedBeside::IsContentRight() const
{
    auto isRight = [](const auto& flow) { return !flow || flow->IsContentRight(); };
    return std::all_of(m_flows.begin(), m_flows.end(), isRight) &&
           std::all_of(m_arrivals.begin(), m_arrivals.end(), isRight);
}

uint32_t
LasthopSimulatedBeside::GetFailed() const
{
    auto hasFailed = [](const auto& flow) { return flow && flow->HasFailed(); };
    return std::count_if(m_flows.begin(), m_flows.end(), hasFailed) +
           std::count_if(m_arrivals.begin(), m_arrivals.end(), hasFailed);
}

} // namespace ns3
