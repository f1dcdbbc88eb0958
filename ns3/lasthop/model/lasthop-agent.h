/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_AGENT_H
#define LASTHOP_AGENT_H

#include "ns3/address.h"
#include "ns3/event-id.h"
#include "ns3/net-device.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/packet.h"
#include "ns3/traced-callback.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

/**
 * @defgroup lasthop TCP-aware agent before a lossy link
 */

namespace ns3
{

class LasthopQueueDisc;
class QueueDiscItem;
struct LasthopState;

/**
 * @ingroup lasthop
 * @brief The agent on the device of a base station that faces a lossy link.
 *
 * It keeps TCP segments on their way out until they are acknowledged, sends again what
 * got lost, and keeps the repairs out of the sender's sight. The algorithms are those of
 * lasthop's core, which is the same code in the kernel and here; this class lends it
 * packets, time and memory.
 *
 * Outbound packets pass a LasthopQueueDisc, as under Linux the egress hook comes before
 * the queue; inbound ones are taken where the device hands them to its node. Use
 * LasthopHelper to install both.
 *
 * Attributes are read when the first packet comes.
 */
class LasthopAgent : public Object
{
  public:
    /**
     * @brief Get the type ID.
     * @return the object TypeId
     */
    static TypeId GetTypeId();
    LasthopAgent();
    ~LasthopAgent() override;

    LasthopAgent(const LasthopAgent&) = delete;
    LasthopAgent& operator=(const LasthopAgent&) = delete;

    /**
     * Takes over what @p device receives. Once, and after the device was added to its node.
     *
     * @param device the device that faces the lossy link
     */
    void Attach(Ptr<NetDevice> device);

    /** @return the device, null before Attach(). */
    Ptr<NetDevice> GetDevice() const;

    /**
     * A packet leaves towards the lossy link. Called by LasthopQueueDisc.
     *
     * @param queueDisc the place that it passes, where its repairs go, too
     * @param packet the packet with its network layer header
     * @param item the same as it stands in the queue, for a mark of congestion; null: dropped
     * @param address link address of the receiver
     * @param protocol EtherType
     * @param txQueue index of the device's queue that it is for
     */
    void Egress(Ptr<LasthopQueueDisc> queueDisc,
                Ptr<const Packet> packet,
                Ptr<QueueDiscItem> item,
                const Address& address,
                uint16_t protocol,
                uint8_t txQueue);

    /**
     * The link went down or came up (schemes `rack` and `slack`, docs/design.md, 5.4 and 5.5).
     *
     * @param up whether it is up now
     */
    void NotifyLink(bool up);

    /// What a MAC knows of a frame that it has sent (docs/mac-events.md).
    enum class MacEvent
    {
        DELIVERED,   //!< it was answered
        UNDELIVERED, //!< an attempt was not, and another one follows
        GIVEN_UP     //!< the last attempt was not
    };

    /**
     * The MAC of the device reports, for scheme `csnoop` (docs/design.md, 5.10). LasthopHelper has
     * WifiNetDevices do so; for other devices this may be called from anywhere but from within
     * their Send().
     *
     * @param event what became of the frame, now
     * @param packet that it carried, from the network layer header on, with the tags that it had
     */
    void NotifyMac(MacEvent event, Ptr<const Packet> packet);

    /**
     * Leaves connections alone that have this port at either end, as `lasthop attach --exclude`
     * does. To be called before they begin.
     *
     * @param port in question
     */
    void Exclude(uint16_t port);

    /**
     * @param name of a counter, as in `lasthop status -j`
     * @return its value; no such counter is a fatal error
     */
    uint64_t GetCounter(const std::string& name) const;

    /** @return all counters by their names. */
    std::map<std::string, uint64_t> GetCounters() const;

    /** @return connections in the table. */
    uint32_t GetNFlows() const;

    /** @return packets in the cache. */
    uint32_t GetNCached() const;

    /** @return bytes of memory: packets, records about them, connections. */
    uint64_t GetMemoryBytes() const;

    /**
     * TracedCallback signature for a packet and a sequence or acknowledgement number of it.
     *
     * @param packet with its network layer header
     * @param number sequence number of a segment, acknowledgement number of an ACK
     */
    typedef void (*PacketTracedCallback)(Ptr<const Packet> packet, uint32_t number);

    /**
     * TracedCallback signature for a counted event.
     *
     * @param name of the counter
     * @param n how much it grows
     */
    typedef void (*CountTracedCallback)(const std::string& name, uint64_t n);

  protected:
    void DoDispose() override;

  private:
    /**
     * What the device has received.
     *
     * @param device ours
     * @param packet from its network layer header on
     * @param protocol EtherType
     * @param from link address
     * @return whether anybody took it
     */
    bool Ingress(Ptr<NetDevice> device,
                 Ptr<const Packet> packet,
                 uint16_t protocol,
                 const Address& from);

    /** @return our state, made from the attributes at the first packet. */
    LasthopState& State();

    /// @return whether this is an event of our node, as what goes up its stack has to be.
    bool InContext() const;

    /**
     * Hands a packet to our node, in an event of it.
     *
     * @param packet from its network layer header on
     * @param protocol EtherType
     * @param from link address
     */
    void Deliver(Ptr<const Packet> packet, uint16_t protocol, Address from);

    /// Runs the timers that are due.
    void Expire();
    /// Sets the one event for the earliest of all timers.
    void Schedule();

    /// The core's parameters that were set, by number, in the unit of each (lasthop-params.h).
    std::map<uint32_t, uint64_t> m_params;
    // Other attributes; units and meaning stand in GetTypeId().
    std::string m_scheme;     //!< Scheme
    bool m_seesQueue;         //!< SeesQueue
    uint32_t m_maxFlows;      //!< MaxFlows
    uint32_t m_flowSegments;  //!< FlowSegments
    uint32_t m_cacheSegments; //!< CacheSegments

    friend class LasthopParams;
    friend struct LasthopState;

    std::set<uint16_t> m_excluded; //!< ports of connections that are left alone

    Ptr<NetDevice> m_device;               //!< faces the lossy link
    NetDevice::ReceiveCallback m_up;       //!< our node, as the device knew it
    std::unique_ptr<LasthopState> m_state; //!< what is the core's
    EventId m_event;                       //!< the earliest timer
    uint64_t m_eventAt{0};                 //!< when it is due, in the core's time; 0: none

    TracedCallback<Ptr<const Packet>, uint32_t> m_cachedTrace;        //!< Cached
    TracedCallback<Ptr<const Packet>, uint32_t> m_retransmittedTrace; //!< Retransmitted
    TracedCallback<Ptr<const Packet>, uint32_t> m_suppressedTrace;    //!< Suppressed
    TracedCallback<Ptr<const Packet>, uint32_t> m_releasedTrace;      //!< Released
    TracedCallback<Ptr<const Packet>, uint32_t> m_editedTrace;        //!< Edited
    TracedCallback<Ptr<const Packet>, uint32_t> m_markedTrace;        //!< Marked
    TracedCallback<const std::string&, uint64_t> m_countTrace;        //!< Count
};

} // namespace ns3

#endif /* LASTHOP_AGENT_H */
