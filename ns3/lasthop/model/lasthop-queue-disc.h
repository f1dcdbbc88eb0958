/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_QUEUE_DISC_H
#define LASTHOP_QUEUE_DISC_H

#include "lasthop-agent.h"

#include "ns3/queue-disc.h"

#include <vector>

namespace ns3
{

/**
 * @ingroup lasthop
 * @brief Shows its agent what leaves, then hands it to the queue disc that was there before.
 *
 * Without a child it holds one packet at most, and drops where the device's own queue is
 * full, as the traffic control layer does without any queue disc.
 */
class LasthopQueueDisc : public QueueDisc
{
  public:
    /**
     * @brief Get the type ID.
     * @return the object TypeId
     */
    static TypeId GetTypeId();
    LasthopQueueDisc();
    ~LasthopQueueDisc() override;

    /** @param agent whom to show what leaves */
    void SetAgent(Ptr<LasthopAgent> agent);

    /** @param former parent of the child: a child tells every parent it ever had what happens */
    void Keep(Ptr<QueueDisc> former);

    /**
     * Sends a packet again: it does not pass the agent a second time.
     *
     * @param packet from its IPv4 or IPv6 header on
     * @param address link address of the receiver
     * @param protocol EtherType
     * @param txQueue index of the device's queue
     * @return whether the queue took it
     */
    bool Inject(Ptr<const Packet> packet,
                const Address& address,
                uint16_t protocol,
                uint8_t txQueue);

    /**
     * Takes over what the child held before it was our child.
     *
     * @param items packets beside their headers, in order
     */
    void Restore(const std::vector<Ptr<QueueDiscItem>>& items);

    // Reasons for dropping packets
    static constexpr const char* DEVICE_FULL_DROP = "Device queue full"; //!< and no child

  protected:
    void DoDispose() override;

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    Ptr<const QueueDiscItem> DoPeek() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    /**
     * @param item goes into the child, or the one place for a packet
     * @return whether there was room
     */
    bool Place(Ptr<QueueDiscItem> item);

    Ptr<LasthopAgent> m_agent; //!< null: nobody looks
    Ptr<QueueDisc> m_former;   //!< of Keep()
    bool m_injecting{false};   //!< the packet of this call is the agent's own
};

} // namespace ns3

#endif /* LASTHOP_QUEUE_DISC_H */
