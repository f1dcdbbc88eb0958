/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-agent.h"

#include "lasthop-params.h"
#include "lasthop-queue-disc.h"
#include "lasthop-state.h"

#include "ns3/boolean.h"
#include "ns3/error-model.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/queue-item.h"
#include "ns3/queue.h"
#include "ns3/simple-channel.h"
#include "ns3/simple-net-device.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <vector>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("LasthopAgent");

NS_OBJECT_ENSURE_REGISTERED(LasthopAgent);

namespace
{

/// Keeps the node's receive callback, which a node tells its devices only.
class CallbackTap : public SimpleNetDevice
{
  public:
    void SetReceiveCallback(NetDevice::ReceiveCallback callback) override
    {
        m_callback = callback;
    }

    NetDevice::ReceiveCallback m_callback; //!< the node's
};

} // namespace

TypeId
LasthopAgent::GetTypeId()
{
    static TypeId tid = LasthopParams::AddTo(
        TypeId("ns3::LasthopAgent")
            .SetParent<Object>()
            .SetGroupName("Lasthop")
            .AddConstructor<LasthopAgent>()
            .AddAttribute("Scheme",
                          "What repairs losses: rack, snoop, slack, sack, csnoop by what the MAC "
                          "reports, or none, which only observes.",
                          StringValue("rack"),
                          MakeStringAccessor(&LasthopAgent::m_scheme),
                          MakeStringChecker())
            .AddAttribute("SeesQueue",
                          "Whether what the queue drops is known. It is not in Linux.",
                          BooleanValue(true),
                          MakeBooleanAccessor(&LasthopAgent::m_seesQueue),
                          MakeBooleanChecker())
            .AddAttribute("MaxFlows",
                          "Connections at most; further ones pass unassisted.",
                          UintegerValue(65536),
                          MakeUintegerAccessor(&LasthopAgent::m_maxFlows),
                          MakeUintegerChecker<uint32_t>(1, 1048576))
            .AddAttribute("FlowSegments",
                          "Cached packets per connection at most.",
                          UintegerValue(16384),
                          MakeUintegerAccessor(&LasthopAgent::m_flowSegments),
                          MakeUintegerChecker<uint32_t>(4, 16384))
            .AddAttribute("CacheSegments",
                          "Cached packets at most, of all connections together.",
                          UintegerValue(131072),
                          MakeUintegerAccessor(&LasthopAgent::m_cacheSegments),
                          MakeUintegerChecker<uint32_t>(4, 16777216))
            .AddTraceSource("Cached",
                            "A segment was cached, with its sequence number.",
                            MakeTraceSourceAccessor(&LasthopAgent::m_cachedTrace),
                            "ns3::LasthopAgent::PacketTracedCallback")
            .AddTraceSource("Retransmitted",
                            "A cached segment was sent again, with its sequence number.",
                            MakeTraceSourceAccessor(&LasthopAgent::m_retransmittedTrace),
                            "ns3::LasthopAgent::PacketTracedCallback")
            .AddTraceSource("Suppressed",
                            "An ACK was kept from the sender, with its number.",
                            MakeTraceSourceAccessor(&LasthopAgent::m_suppressedTrace),
                            "ns3::LasthopAgent::PacketTracedCallback")
            .AddTraceSource("Released",
                            "An ACK that was kept, or a copy of it, went on to the sender.",
                            MakeTraceSourceAccessor(&LasthopAgent::m_releasedTrace),
                            "ns3::LasthopAgent::PacketTracedCallback")
            .AddTraceSource(
                "Edited",
                "An ACK went on with another window (the brake) or without SACK blocks.",
                MakeTraceSourceAccessor(&LasthopAgent::m_editedTrace),
                "ns3::LasthopAgent::PacketTracedCallback")
            .AddTraceSource("Marked",
                            "A data packet was marked Congestion Experienced by the brake.",
                            MakeTraceSourceAccessor(&LasthopAgent::m_markedTrace),
                            "ns3::LasthopAgent::PacketTracedCallback")
            .AddTraceSource(
                "Count",
                "A counter grows: its name, and how much. All that the core does is counted.",
                MakeTraceSourceAccessor(&LasthopAgent::m_countTrace),
                "ns3::LasthopAgent::CountTracedCallback"));
    return tid;
}

LasthopAgent::LasthopAgent() = default;

LasthopAgent::~LasthopAgent() = default;

void
LasthopAgent::DoDispose()
{
    m_event.Cancel();
    m_state.reset();
    // Whoever listens may hold a file open until then (LasthopHelper::EnablePcap).
    m_retransmittedTrace = TracedCallback<Ptr<const Packet>, uint32_t>();
    m_releasedTrace = TracedCallback<Ptr<const Packet>, uint32_t>();
    m_device = nullptr;
    m_up = NetDevice::ReceiveCallback();
    Object::DoDispose();
}

void
LasthopAgent::Attach(Ptr<NetDevice> device)
{
    NS_ABORT_MSG_IF(m_device, "LasthopAgent: one agent serves one device");
    NS_ABORT_MSG_IF(!device->GetNode(), "LasthopAgent: add the device to its node first");
    auto tap = CreateObject<CallbackTap>();
    device->GetNode()->AddDevice(tap);
    m_up = tap->m_callback;
    m_device = device;
    device->SetReceiveCallback(MakeCallback(&LasthopAgent::Ingress, this));
}

Ptr<NetDevice>
LasthopAgent::GetDevice() const
{
    return m_device;
}

LasthopState&
LasthopAgent::State()
{
    if (!m_state)
    {
        m_state = std::make_unique<LasthopState>(this);
    }
    return *m_state;
}

void
LasthopAgent::Egress(Ptr<LasthopQueueDisc> queueDisc,
                     Ptr<const Packet> packet,
                     Ptr<QueueDiscItem> item,
                     const Address& address,
                     uint16_t protocol,
                     uint8_t txQueue)
{
    LasthopState& state = State();
    std::vector<uint8_t> bytes;
    lh_segment segment;
    lh_flow_key key;
    if (!state.Parse(packet, true, bytes, segment, key))
    {
        return;
    }
    state.Sweep();
    // Only what opens a connection or carries data starts a flow.
    LasthopTracked* tracked =
        state.Find(key, !(segment.flags & LH_RST) && segment.seq != segment.end);
    if (!tracked)
    {
        return;
    }
    lh_call call = state.Call();
    lh_actions actions{};
    call.accepted = item || !m_seesQueue;
    lhc_on_data(state.m_pool.Ops(), &tracked->flow, &state.m_config, &segment, &call, &actions);
    if (actions.store_slot != LH_NO_SLOT)
    {
        state.m_pool.At(actions.store_slot) = {packet, address, protocol, txQueue, queueDisc};
        m_cachedTrace(packet, segment.seq);
    }
    if (actions.mark_ce && item && item->Mark())
    {
        m_markedTrace(packet, segment.seq);
    }
    state.CarryOut(state.Finish(key, *tracked, actions, nullptr));
}

bool
LasthopAgent::Ingress(Ptr<NetDevice> device,
                      Ptr<const Packet> packet,
                      uint16_t protocol,
                      const Address& from)
{
    LasthopState& state = State();
    std::vector<uint8_t> bytes;
    lh_segment segment;
    lh_flow_key key;
    if (!state.Parse(packet, false, bytes, segment, key))
    {
        return m_up(device, packet, protocol, from);
    }
    state.Sweep();
    LasthopTracked* tracked = state.Find(key, (segment.flags & (LH_SYN | LH_RST)) == LH_SYN);
    if (!tracked)
    {
        return m_up(device, packet, protocol, from);
    }
    lh_call call = state.Call();
    lh_actions actions{};
    if (!tracked->flow.peer)
    {
        lhc_peer_join(state.m_pool.Ops(), &tracked->flow, &key, call.now_ns);
    }
    lhc_on_ack(state.m_pool.Ops(), &tracked->flow, &state.m_config, &segment, &call, &actions);
    LasthopPacket ack{packet, from, protocol, 0, nullptr};
    if (actions.hold)
    {
        tracked->held = ack;
    }
    if (LasthopState::Edit(ack.packet, protocol, bytes, segment, actions))
    {
        m_editedTrace(ack.packet, segment.ack);
    }
    auto work = state.Finish(key, *tracked, actions, &ack);
    if (actions.verdict == LH_DROP)
    {
        m_suppressedTrace(packet, segment.ack);
    }
    state.CarryOut(work);
    return actions.verdict == LH_DROP || m_up(device, ack.packet, protocol, from);
}

bool
LasthopAgent::InContext() const
{
    return Simulator::GetContext() == m_device->GetNode()->GetId();
}

void
LasthopAgent::Deliver(Ptr<const Packet> packet, uint16_t protocol, Address from)
{
    if (!m_device)
    {
        return;
    }
    if (!InContext())
    {
        Simulator::ScheduleWithContext(m_device->GetNode()->GetId(),
                                       Time(0),
                                       &LasthopAgent::Deliver,
                                       Ptr<LasthopAgent>(this),
                                       packet,
                                       protocol,
                                       from);
        return;
    }
    m_up(m_device, packet->Copy(), protocol, from);
}

void
LasthopAgent::Exclude(uint16_t port)
{
    m_excluded.insert(port);
}

void
LasthopAgent::NotifyLink(bool up)
{
    if (!m_state)
    {
        return;
    }
    LasthopState& state = *m_state;
    std::vector<LasthopState::Work> works;
    for (auto& [key, tracked] : state.m_flows)
    {
        if (tracked.flow.ring.head == tracked.flow.ring.tail)
        {
            continue;
        }
        lh_call call = state.Call();
        lh_actions actions{};
        lhc_on_link(state.m_pool.Ops(), &tracked.flow, &state.m_config, up, &call, &actions);
        works.push_back(state.Finish(key, tracked, actions, nullptr));
    }
    for (const auto& work : works)
    {
        state.CarryOut(work);
    }
}

void
LasthopAgent::NotifyMac(MacEvent event, Ptr<const Packet> packet)
{
    if (!m_device || !m_state || !m_state->GoesByMac())
    {
        return;
    }
    LasthopState& state = *m_state;
    std::vector<uint8_t> bytes;
    lh_segment segment;
    lh_flow_key key;
    if (LasthopState::Read(packet, true, bytes, segment, key) != LH_PARSED_TCP)
    {
        return;
    }
    LasthopTracked* tracked = state.Find(key, false);
    if (!tracked)
    {
        state.Count(LH_C_mac_strangers, 1);
        return;
    }
    lh_call call = state.Call();
    lh_actions actions{};
    lh_mac_report report = LasthopState::Report(event, packet);
    lhc_on_mac(
        state.m_pool.Ops(), &tracked->flow, &state.m_config, &segment, &report, &call, &actions);
    state.CarryOut(state.Finish(key, *tracked, actions, nullptr));
}

void
LasthopAgent::Expire()
{
    if (!m_state)
    {
        return;
    }
    LasthopState& state = *m_state;
    uint64_t now = LasthopState::NowNs();
    m_eventAt = 0;
    std::vector<LasthopState::Work> works;
    while (!state.m_timers.empty() && state.m_timers.begin()->first <= now)
    {
        const lh_flow_key key = state.m_timers.begin()->second;
        LasthopTracked& tracked = state.m_flows.find(key)->second;
        lh_call call = state.Call();
        lh_actions actions{};
        lhc_on_timer(state.m_pool.Ops(), &tracked.flow, &state.m_config, &call, &actions);
        // A deadline that stays due would keep simulated time from going on.
        if (actions.next_deadline_ns && actions.next_deadline_ns <= now)
        {
            actions.next_deadline_ns = now + 1;
        }
        works.push_back(state.Finish(key, tracked, actions, nullptr));
    }
    for (const auto& work : works)
    {
        state.CarryOut(work);
    }
    Schedule();
}

void
LasthopAgent::Schedule()
{
    if (!m_state)
    {
        return;
    }
    if (!InContext())
    {
        // What the timer releases goes up the stack of our node.
        Simulator::ScheduleWithContext(m_device->GetNode()->GetId(),
                                       Time(0),
                                       &LasthopAgent::Schedule,
                                       Ptr<LasthopAgent>(this));
        return;
    }
    const auto& timers = m_state->m_timers;
    uint64_t at = timers.empty() ? 0 : timers.begin()->first;
    if (at == m_eventAt)
    {
        return;
    }
    m_event.Cancel();
    m_eventAt = at;
    if (at)
    {
        uint64_t now = LasthopState::NowNs();
        m_event =
            Simulator::Schedule(NanoSeconds(at > now ? at - now : 0), &LasthopAgent::Expire, this);
    }
}

uint64_t
LasthopAgent::GetCounter(const std::string& name) const
{
    for (uint32_t id = 0; id < LH_NR_COUNTERS; id++)
    {
        if (name == lhc_counter_name(id))
        {
            return m_state ? m_state->m_counters[id] : 0;
        }
    }
    NS_ABORT_MSG("LasthopAgent: no counter has the name " << name);
    return 0;
}

std::map<std::string, uint64_t>
LasthopAgent::GetCounters() const
{
    std::map<std::string, uint64_t> counters;
    for (uint32_t id = 0; id < LH_NR_COUNTERS; id++)
    {
        counters[lhc_counter_name(id)] = m_state ? m_state->m_counters[id] : 0;
    }
    return counters;
}

uint32_t
LasthopAgent::GetNFlows() const
{
    return m_state ? m_state->m_flows.size() : 0;
}

uint32_t
LasthopAgent::GetNCached() const
{
    return m_state ? m_state->m_pool.GetUsed() : 0;
}

uint64_t
LasthopAgent::GetMemoryBytes() const
{
    return m_state ? m_state->m_pool.GetBytes() + m_state->m_flows.size() * sizeof(LasthopTracked)
                   : 0;
}

} // namespace ns3
