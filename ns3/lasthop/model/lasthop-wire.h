/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_WIRE_H
#define LASTHOP_WIRE_H

#include "ns3/address.h"
#include "ns3/packet.h"
#include "ns3/queue-item.h"

#include <cstdint>
#include <vector>

namespace ns3
{
/// Packets between ns-3's classes and the bytes of their headers. Not part of the interface.
namespace lasthop
{

/**
 * @param item a packet beside its network layer header
 * @return a copy of it that has the header; null: neither IPv4 nor IPv6
 */
Ptr<Packet> WholePacket(Ptr<const QueueDiscItem> item);

/**
 * @param packet with its network layer header
 * @param address link address of the receiver
 * @param protocol EtherType
 * @return the header beside the rest, as queues want it; null: neither IPv4 nor IPv6
 */
Ptr<QueueDiscItem> MakeItem(Ptr<const Packet> packet, const Address& address, uint16_t protocol);

/**
 * @param packet any
 * @param most how many bytes are wanted
 * @return its first bytes, all if it has fewer
 */
std::vector<uint8_t> FirstBytes(Ptr<const Packet> packet, uint32_t most);

/**
 * @param tcpOffset where the TCP header begins
 * @param protocol EtherType
 * @return whether nothing stands between the IP header and it, as WithHeaders() needs it
 */
bool CanEdit(uint32_t tcpOffset, uint16_t protocol);

/**
 * Puts other network and TCP headers before the payload of @p packet, with its tags.
 *
 * @param packet with its network layer header
 * @param protocol EtherType
 * @param bytes the new headers
 * @return the edited copy
 */
Ptr<Packet> WithHeaders(Ptr<const Packet> packet,
                        uint16_t protocol,
                        const std::vector<uint8_t>& bytes);

} // namespace lasthop
} // namespace ns3

#endif /* LASTHOP_WIRE_H */
