/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_STATE_H
#define LASTHOP_STATE_H

#include "lasthop-agent.h"
#include "lasthop-pool.h"

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace ns3
{

/// An order of connections.
struct LasthopKeyLess
{
    bool operator()(const lh_flow_key& a, const lh_flow_key& b) const
    {
        return std::memcmp(&a, &b, sizeof(a)) < 0;
    }
};

/// The deadline of a connection.
using LasthopTimer = std::pair<uint64_t, lh_flow_key>;

/// The order of deadlines; equal ones by their connections, so that a run can be repeated.
struct LasthopTimerLess
{
    bool operator()(const LasthopTimer& a, const LasthopTimer& b) const
    {
        return a.first != b.first ? a.first < b.first : LasthopKeyLess()(a.second, b.second);
    }
};

/// One connection.
struct LasthopTracked
{
    lh_flow flow;         //!< the core's own record
    LasthopPacket held;   //!< the newest ACK that was kept back
    uint64_t deadline{0}; //!< the core's time; 0: no timer
};

/// The core's side of an agent: configuration, connections, memory.
struct LasthopState
{
    using Flows = std::map<lh_flow_key, LasthopTracked, LasthopKeyLess>;

    /// What is to be done once the core's state is up to date.
    struct Work
    {
        std::vector<std::pair<LasthopPacket, uint32_t>> toMh; //!< repairs, by sequence number
        std::vector<std::pair<LasthopPacket, uint32_t>> toFh; //!< released ACKs, by number
    };

    /** @param agent whose attributes hold */
    explicit LasthopState(LasthopAgent* agent);

    /** @return the simulation's time as the core is told, ns; never 0, which is none. */
    static uint64_t NowNs();

    /**
     * @param counter enum lh_counter
     * @param n how much it grows
     */
    void Count(uint32_t counter, uint64_t n);

    /** @return what holds for a call now. */
    lh_call Call() const;

    /** @return whether the scheme goes by what the MAC reports. */
    bool GoesByMac() const;

    /**
     * @param event what the MAC tells
     * @param packet of which it does, with its tags
     * @return the same for the core
     */
    static lh_mac_report Report(LasthopAgent::MacEvent event, Ptr<const Packet> packet);

    /**
     * As Parse(), of a packet that was counted when it passed.
     *
     * @param packet from its network layer header on
     * @param toMh whether it goes to the lossy link
     * @param bytes its first bytes, set
     * @param segment its values, set
     * @param key its connection, set
     * @return enum lh_parsed
     */
    static int Read(Ptr<const Packet> packet,
                    bool toMh,
                    std::vector<uint8_t>& bytes,
                    lh_segment& segment,
                    lh_flow_key& key);

    /**
     * @param packet from its network layer header on
     * @param toMh whether it goes to the lossy link
     * @param bytes its first bytes, set
     * @param segment its values, set
     * @param key its connection, set
     * @return whether it is a TCP segment to be looked at; counted otherwise
     */
    bool Parse(Ptr<const Packet> packet,
               bool toMh,
               std::vector<uint8_t>& bytes,
               lh_segment& segment,
               lh_flow_key& key);

    /**
     * @param key of a connection
     * @param opens whether it is entered into the table if it is new
     * @return its record, null: none
     */
    LasthopTracked* Find(const lh_flow_key& key, bool opens);

    /// Forgets what is closed or idle.
    void Sweep();

    /**
     * Carries the edits of an ACK out.
     *
     * @param packet the ACK from its network layer header on; set to the edited copy
     * @param protocol EtherType
     * @param bytes its first bytes, of Parse(); edited
     * @param segment its values
     * @param actions what the core asks for
     * @return whether something has changed
     */
    static bool Edit(Ptr<const Packet>& packet,
                     uint16_t protocol,
                     std::vector<uint8_t>& bytes,
                     const lh_segment& segment,
                     const lh_actions& actions);

    /**
     * Collects what a call of the core asks for in either direction, and sets the timer.
     *
     * @param key of the connection
     * @param tracked its record
     * @param actions of the call
     * @param ack the packet of the call as it passes, if it came from MH, else null: copies of
     *        a held one are then of it, with the same number and newer blocks
     * @return what is to be done
     */
    Work Finish(const lh_flow_key& key,
                LasthopTracked& tracked,
                const lh_actions& actions,
                const LasthopPacket* ack);

    /**
     * Last in every call: whoever gets a packet may send another one here at once.
     *
     * @param work of Finish()
     */
    void CarryOut(const Work& work);

    LasthopAgent* m_agent;                             //!< owns us
    lh_config m_config{};                              //!< from its attributes
    LasthopPool m_pool;                                //!< the cache
    Flows m_flows;                                     //!< the table
    std::set<LasthopTimer, LasthopTimerLess> m_timers; //!< the deadlines, earliest first
    std::array<uint64_t, LH_NR_COUNTERS> m_counters{}; //!< by enum lh_counter

  private:
    bool Scarce() const;
    uint32_t Share() const;
    void SetDeadline(const lh_flow_key& key, LasthopTracked& tracked, uint64_t at);
    static LasthopPacket EditHeld(const LasthopPacket& held, const lh_actions& actions);

    uint64_t m_sweptNs{0}; //!< when Sweep() last looked
};

} // namespace ns3

#endif /* LASTHOP_STATE_H */
