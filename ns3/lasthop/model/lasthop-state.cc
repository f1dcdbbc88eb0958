/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-state.h"

#include "lasthop-departure.h"
#include "lasthop-params.h"

#include "lasthop-queue-disc.h"
#include "lasthop-wire.h"

#include "ns3/abort.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

namespace
{

/// The core takes a time of 0 for none, and a simulation begins there.
constexpr uint64_t CLOCK_START_NS = LH_SEC;

/// How often the table is looked through for connections that are over.
constexpr uint64_t SWEEP_NS = LH_SEC;

uint32_t
SchemeNumber(const std::string& name)
{
    std::string all;
    for (uint32_t id = 0; lhc_scheme_name(id); id++)
    {
        if (name == lhc_scheme_name(id))
        {
            return id;
        }
        all += std::string(all.empty() ? "" : ", ") + lhc_scheme_name(id);
    }
    NS_ABORT_MSG("LasthopAgent: Scheme \"" << name << "\" is unknown; there are " << all);
    return LH_SCHEME_none;
}

} // namespace

LasthopState::LasthopState(LasthopAgent* agent)
    : m_agent(agent),
      m_pool(agent->m_cacheSegments, MakeCallback(&LasthopState::Count, this))
{
    const auto& a = *agent;
    m_config = LasthopParams::Config(a.m_params);
    m_config.scheme = SchemeNumber(a.m_scheme);
    // Agents exchange no messages here, without which it repairs nothing.
    NS_ABORT_MSG_IF(lhc_policy(&m_config) & LH_POLICY_SEQUENCE,
                    "LasthopAgent: Scheme " << a.m_scheme << " needs to talk to an agent at the "
                                            << "hop's other end, and none does in ns-3");
}

uint64_t
LasthopState::NowNs()
{
    return CLOCK_START_NS + Simulator::Now().GetNanoSeconds();
}

bool
LasthopState::GoesByMac() const
{
    return lhc_policy(&m_config) & LH_POLICY_MAC;
}

lh_mac_report
LasthopState::Report(LasthopAgent::MacEvent event, Ptr<const Packet> packet)
{
    LasthopDeparture departure;
    lh_mac_report report{};
    packet->PeekPacketTag(departure);
    report.queued_ns = departure.GetNs();
    report.at_ns = NowNs();
    switch (event)
    {
    case LasthopAgent::MacEvent::DELIVERED:
        report.event = LH_MAC_DELIVERED;
        break;
    case LasthopAgent::MacEvent::UNDELIVERED:
        report.event = LH_MAC_UNDELIVERED;
        break;
    case LasthopAgent::MacEvent::GIVEN_UP:
        report.event = LH_MAC_GIVEN_UP;
        break;
    }
    return report;
}

int
LasthopState::Read(Ptr<const Packet> packet,
                   bool toMh,
                   std::vector<uint8_t>& bytes,
                   lh_segment& segment,
                   lh_flow_key& key)
{
    bytes = lasthop::FirstBytes(packet, LH_HDR_BYTES);
    return lhc_parse(bytes.data(), bytes.size(), packet->GetSize(), 0, 0, toMh, &segment, &key);
}

bool
LasthopState::Parse(Ptr<const Packet> packet,
                    bool toMh,
                    std::vector<uint8_t>& bytes,
                    lh_segment& segment,
                    lh_flow_key& key)
{
    switch (Read(packet, toMh, bytes, segment, key))
    {
    case LH_PARSED_TCP:
        if (m_agent->m_excluded.count(key.mh_port) + m_agent->m_excluded.count(key.fh_port) > 0)
        {
            Count(LH_C_bypass_filtered, 1);
            return false;
        }
        return true;
    case LH_PARSED_NOT_TCP:
        Count(LH_C_bypass_not_tcp, 1);
        return false;
    case LH_PARSED_FRAGMENT:
        Count(LH_C_bypass_fragment, 1);
        return false;
    default:
        Count(LH_C_bypass_malformed, 1);
        return false;
    }
}

void
LasthopState::Count(uint32_t counter, uint64_t n)
{
    m_counters[counter] += n;
    if (!m_agent->m_countTrace.IsEmpty())
    {
        m_agent->m_countTrace(lhc_counter_name(counter), n);
    }
}

lh_call
LasthopState::Call() const
{
    lh_call call{};
    call.now_ns = NowNs();
    call.cap_segments = std::min<uint32_t>(m_agent->m_flowSegments, LH_FLOW_SEGS);
    if (Scarce())
    {
        call.part_segments = Share();
        call.pool_segments = m_pool.GetLimit();
    }
    call.alive = 1;
    call.accepted = 1;
    call.handshakes = 1;
    return call;
}

/// Whether the cache gets scarce.
bool
LasthopState::Scarce() const
{
    uint32_t slots = m_pool.GetLimit();
    return m_pool.GetUsed() >= slots - slots / 4;
}

/// An equal part of the cache for each connection.
uint32_t
LasthopState::Share() const
{
    uint32_t slots = m_pool.GetLimit();
    uint32_t active = std::count_if(m_flows.begin(), m_flows.end(), [](const auto& entry) {
        return entry.second.flow.ring.head != entry.second.flow.ring.tail;
    });
    return std::max<uint32_t>(slots / std::max<uint32_t>(active, 1), 4);
}

LasthopTracked*
LasthopState::Find(const lh_flow_key& key, bool opens)
{
    auto found = m_flows.find(key);
    if (found != m_flows.end())
    {
        return &found->second;
    }
    if (!opens)
    {
        return nullptr;
    }
    if (m_flows.size() >= m_agent->m_maxFlows)
    {
        Count(LH_C_bypass_table_full, 1);
        return nullptr;
    }
    LasthopTracked& tracked = m_flows[key];
    lhc_flow_init(&tracked.flow);
    lhc_peer_join(m_pool.Ops(), &tracked.flow, &key, NowNs());
    Count(LH_C_flows_created, 1);
    return &tracked;
}

/// Forgets what is closed or idle. By the way, not by a timer of its own, which would keep a
/// simulation going for ever.
void
LasthopState::Sweep()
{
    uint64_t now = NowNs();
    if (now - m_sweptNs < SWEEP_NS)
    {
        return;
    }
    m_sweptNs = now;
    std::vector<Work> released;
    for (auto entry = m_flows.begin(); entry != m_flows.end();)
    {
        LasthopTracked& tracked = entry->second;
        if (!lhc_flow_over(&tracked.flow, &m_config, now))
        {
            ++entry;
            continue;
        }
        lh_call call = Call();
        lh_actions actions{};
        lhc_on_release(m_pool.Ops(), &tracked.flow, &m_config, &call, &actions);
        actions.nr_retransmit = 0;
        actions.next_deadline_ns = 0;
        released.push_back(Finish(entry->first, tracked, actions, nullptr));
        lhc_flow_free(m_pool.Ops(), &tracked.flow);
        Count(LH_C_flows_removed, 1);
        entry = m_flows.erase(entry);
    }
    for (const auto& work : released)
    {
        CarryOut(work);
    }
}

void
LasthopState::SetDeadline(const lh_flow_key& key, LasthopTracked& tracked, uint64_t at)
{
    if (tracked.deadline)
    {
        m_timers.erase({tracked.deadline, key});
    }
    tracked.deadline = at;
    if (at)
    {
        m_timers.insert({at, key});
    }
}

bool
LasthopState::Edit(Ptr<const Packet>& packet,
                   uint16_t protocol,
                   std::vector<uint8_t>& bytes,
                   const lh_segment& segment,
                   const lh_actions& actions)
{
    if (!lasthop::CanEdit(segment.l4_offset, protocol) ||
        !lhc_edit_ack(bytes.data(), bytes.size(), &segment, &actions))
    {
        return false;
    }
    bytes.resize(segment.hdr_bytes);
    packet = lasthop::WithHeaders(packet, protocol, bytes);
    return true;
}

/// A copy of a held ACK with the window that FH shall get now.
LasthopPacket
LasthopState::EditHeld(const LasthopPacket& held, const lh_actions& actions)
{
    LasthopPacket copy = held;
    lh_segment segment;
    lh_flow_key key;
    lh_actions edits = actions;
    std::vector<uint8_t> bytes;

    edits.window = actions.held_window;
    edits.blank_sack = 0;
    if (Read(held.packet, false, bytes, segment, key) == LH_PARSED_TCP)
    {
        Edit(copy.packet, held.protocol, bytes, segment, edits);
    }
    return copy;
}

/// Collects what concerns both directions. @p ack: the packet of this call as it passes, if it
/// came from MH; copies of a held one are then of it, with the same number and newer blocks.
LasthopState::Work
LasthopState::Finish(const lh_flow_key& key,
                     LasthopTracked& tracked,
                     const lh_actions& actions,
                     const LasthopPacket* ack)
{
    Work work;
    for (uint32_t i = 0; i < actions.nr_retransmit; i++)
    {
        work.toMh.emplace_back(m_pool.At(actions.retransmit[i].slot), actions.retransmit[i].seq);
    }
    if (actions.emit_held && (ack || tracked.held.packet))
    {
        auto copy = ack ? *ack : EditHeld(tracked.held, actions);
        work.toFh.assign(actions.emit_held, {copy, tracked.flow.hold.fwd_ack});
    }
    SetDeadline(key, tracked, actions.next_deadline_ns);
    return work;
}

/// Last in every call: whoever gets a packet may send another one here at once.
void
LasthopState::CarryOut(const Work& work)
{
    for (const auto& [out, seq] : work.toMh)
    {
        if (out.queueDisc->Inject(out.packet, out.address, out.protocol, out.txQueue))
        {
            m_agent->m_retransmittedTrace(out.packet, seq);
        }
        else
        {
            Count(LH_C_retransmit_errors, 1);
        }
    }
    for (const auto& [out, number] : work.toFh)
    {
        m_agent->m_releasedTrace(out.packet, number);
        m_agent->Deliver(out.packet, out.protocol, out.address);
    }
    m_agent->Schedule();
}

} // namespace ns3
