/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-departure.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(LasthopDeparture);

TypeId
LasthopDeparture::GetTypeId()
{
    static TypeId tid = TypeId("ns3::LasthopDeparture")
                            .SetParent<Tag>()
                            .SetGroupName("Lasthop")
                            .AddConstructor<LasthopDeparture>();
    return tid;
}

LasthopDeparture::LasthopDeparture(uint64_t atNs)
    : m_atNs(atNs)
{
}

uint64_t
LasthopDeparture::GetNs() const
{
    return m_atNs;
}

TypeId
LasthopDeparture::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
LasthopDeparture::GetSerializedSize() const
{
    return sizeof(m_atNs);
}

void
LasthopDeparture::Serialize(TagBuffer buffer) const
{
    buffer.WriteU64(m_atNs);
}

void
LasthopDeparture::Deserialize(TagBuffer buffer)
{
    m_atNs = buffer.ReadU64();
}

void
LasthopDeparture::Print(std::ostream& os) const
{
    os << "departure=" << m_atNs << "ns";
}

} // namespace ns3
