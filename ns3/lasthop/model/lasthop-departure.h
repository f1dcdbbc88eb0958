/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_DEPARTURE_H
#define LASTHOP_DEPARTURE_H

#include "ns3/tag.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup lasthop
 * @brief When a packet came to the queue before the lossy link.
 *
 * Copies of a segment are told apart by it: the MAC reports of each (core/mac.h).
 */
class LasthopDeparture : public Tag
{
  public:
    /**
     * @brief Get the type ID.
     * @return the object TypeId
     */
    static TypeId GetTypeId();
    LasthopDeparture() = default;

    /** @param atNs the time, as the core is told */
    explicit LasthopDeparture(uint64_t atNs);

    /** @return the time, as the core is told; 0: unknown. */
    uint64_t GetNs() const;

    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(TagBuffer buffer) const override;
    void Deserialize(TagBuffer buffer) override;
    void Print(std::ostream& os) const override;

  private:
    uint64_t m_atNs{0}; //!< the time
};

} // namespace ns3

#endif /* LASTHOP_DEPARTURE_H */
