/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_POOL_H
#define LASTHOP_POOL_H

#include "ns3/address.h"
#include "ns3/packet.h"
#include "ns3/ptr.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "core.h" // lasthop's core/

namespace ns3
{

class LasthopQueueDisc;

/**
 * @ingroup lasthop
 * @brief One packet as the agent keeps it: from its network layer header on.
 */
struct LasthopPacket
{
    Ptr<const Packet> packet;        //!< with its IPv4 or IPv6 header
    Address address;                 //!< link address: of the receiver, or whom it came from
    uint16_t protocol{0};            //!< EtherType
    uint8_t txQueue{0};              //!< index of the device's queue that it was for
    Ptr<LasthopQueueDisc> queueDisc; //!< on whose way out it was seen; null: it came in
};

/**
 * @ingroup lasthop
 * @brief The memory that the core borrows from its host (core/core.h, lh_host_ops).
 *
 * Not part of the module's interface.
 */
class LasthopPool
{
  public:
    /**
     * @param slots most packets that are lent at a time
     * @param count called for each event that the core counts: its number, and how many
     */
    LasthopPool(uint32_t slots, Callback<void, uint32_t, uint64_t> count);
    ~LasthopPool();

    // The core keeps pointers into it for the length of a call.
    LasthopPool(const LasthopPool&) = delete;
    LasthopPool& operator=(const LasthopPool&) = delete;

    /** @return the callbacks over this pool, for one call of the core. */
    const lh_host_ops* Ops() const;

    /**
     * @param slot one that the core has taken
     * @return the packet in it, to be read or set
     */
    LasthopPacket& At(uint32_t slot);

    /** @return packets that are lent now. */
    uint32_t GetUsed() const;

    /** @return packets that can be lent at most. */
    uint32_t GetLimit() const;

    /** @return bytes of packets, of the records about them, and of what the flows share. */
    uint64_t GetBytes() const;

  private:
    static lh_chunk* Chunk(void* ctx, uint32_t id);
    static int GetChunk(void* ctx, uint32_t* id);
    static void PutChunk(void* ctx, uint32_t id);
    static int GetSlot(void* ctx, uint32_t* slot);
    static void PutSlot(void* ctx, uint32_t slot);
    static void Count(void* ctx, uint32_t counter, uint64_t n);

    uint32_t m_limit;                                //!< slots at most
    Callback<void, uint32_t, uint64_t> m_count;      //!< who hears of events
    std::vector<std::unique_ptr<lh_chunk>> m_chunks; //!< each at an address of its own
    std::vector<uint32_t> m_freeChunks;              //!< indices into m_chunks
    std::vector<LasthopPacket> m_slots;              //!< packets
    std::vector<uint32_t> m_freeSlots;               //!< indices into m_slots
    std::vector<uint64_t> m_device;                  //!< struct lh_device, zeroed
    lh_host_ops m_ops;                               //!< the callbacks above
};

} // namespace ns3

#endif /* LASTHOP_POOL_H */
