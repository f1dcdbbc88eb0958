/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-pool.h"

#include "lasthop-queue-disc.h"

#include "ns3/assert.h"

namespace ns3
{

LasthopPool::LasthopPool(uint32_t slots, Callback<void, uint32_t, uint64_t> count)
    : m_limit(slots),
      m_count(count),
      m_device((lhc_device_bytes() + sizeof(uint64_t) - 1) / sizeof(uint64_t)),
      m_ops{}
{
    m_ops.ctx = this;
    m_ops.device = reinterpret_cast<lh_device*>(m_device.data());
    m_ops.chunk = &LasthopPool::Chunk;
    m_ops.get_chunk = &LasthopPool::GetChunk;
    m_ops.put_chunk = &LasthopPool::PutChunk;
    m_ops.get_slot = &LasthopPool::GetSlot;
    m_ops.put_slot = &LasthopPool::PutSlot;
    m_ops.count = &LasthopPool::Count;
}

LasthopPool::~LasthopPool() = default;

const lh_host_ops*
LasthopPool::Ops() const
{
    return &m_ops;
}

LasthopPacket&
LasthopPool::At(uint32_t slot)
{
    NS_ASSERT_MSG(slot < m_slots.size(), "the core names slots that it has");
    return m_slots[slot];
}

uint32_t
LasthopPool::GetUsed() const
{
    return m_slots.size() - m_freeSlots.size();
}

uint32_t
LasthopPool::GetLimit() const
{
    return m_limit;
}

uint64_t
LasthopPool::GetBytes() const
{
    uint64_t bytes = m_device.size() * sizeof(uint64_t);
    bytes += m_chunks.size() * sizeof(lh_chunk);
    bytes += m_slots.size() * sizeof(LasthopPacket);
    for (const auto& slot : m_slots)
    {
        bytes += slot.packet ? slot.packet->GetSize() : 0;
    }
    return bytes;
}

lh_chunk*
LasthopPool::Chunk(void* ctx, uint32_t id)
{
    auto* pool = static_cast<LasthopPool*>(ctx);
    return id < pool->m_chunks.size() ? pool->m_chunks[id].get() : nullptr;
}

int
LasthopPool::GetChunk(void* ctx, uint32_t* id)
{
    // 64 records each, at least one of them with a packet but for a few.
    auto* pool = static_cast<LasthopPool*>(ctx);
    if (!pool->m_freeChunks.empty())
    {
        *id = pool->m_freeChunks.back();
        pool->m_freeChunks.pop_back();
        *pool->m_chunks[*id] = lh_chunk{};
        return 1;
    }
    if (pool->m_chunks.size() >= pool->m_limit + 64)
    {
        return 0;
    }
    *id = pool->m_chunks.size();
    pool->m_chunks.push_back(std::make_unique<lh_chunk>());
    return 1;
}

void
LasthopPool::PutChunk(void* ctx, uint32_t id)
{
    static_cast<LasthopPool*>(ctx)->m_freeChunks.push_back(id);
}

int
LasthopPool::GetSlot(void* ctx, uint32_t* slot)
{
    auto* pool = static_cast<LasthopPool*>(ctx);
    if (!pool->m_freeSlots.empty())
    {
        *slot = pool->m_freeSlots.back();
        pool->m_freeSlots.pop_back();
        return 1;
    }
    if (pool->m_slots.size() >= pool->m_limit)
    {
        return 0;
    }
    *slot = pool->m_slots.size();
    pool->m_slots.emplace_back();
    return 1;
}

void
LasthopPool::PutSlot(void* ctx, uint32_t slot)
{
    auto* pool = static_cast<LasthopPool*>(ctx);
    pool->m_slots[slot] = LasthopPacket();
    pool->m_freeSlots.push_back(slot);
}

void
LasthopPool::Count(void* ctx, uint32_t counter, uint64_t n)
{
    static_cast<LasthopPool*>(ctx)->m_count(counter, n);
}

} // namespace ns3
