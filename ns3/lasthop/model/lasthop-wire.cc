/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-wire.h"

#include "ns3/ipv4-header.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-header.h"
#include "ns3/ipv6-queue-disc-item.h"
#include "ns3/node.h"
#include "ns3/tcp-header.h"

#include <algorithm>

namespace ns3
{
namespace lasthop
{
namespace
{

constexpr uint16_t ETHERTYPE_IPV4 = 0x0800;
constexpr uint16_t ETHERTYPE_IPV6 = 0x86dd;
constexpr uint8_t PROTOCOL_TCP = 6;

uint32_t
PayloadBytes(const Ipv4Header& ip)
{
    return ip.GetPayloadSize();
}

uint32_t
PayloadBytes(const Ipv6Header& ip)
{
    return ip.GetPayloadLength();
}

/// The TCP header of @p bytes behind an IP header of type @p Ip, and that one.
template <typename Ip>
Ptr<Packet>
Exchange(Ptr<const Packet> packet, const std::vector<uint8_t>& bytes)
{
    Ip ip;
    Ip oldIp;
    TcpHeader tcp;
    TcpHeader oldTcp;
    // Peeked at, since the metadata of packets made of bytes know of no headers.
    uint32_t ipBytes = Create<Packet>(bytes.data(), bytes.size())->PeekHeader(ip);
    Create<Packet>(bytes.data() + ipBytes, bytes.size() - ipBytes)->PeekHeader(tcp);
    auto copy = packet->Copy();
    copy->RemoveHeader(oldIp);
    // Short frames are padded, and a checksum covers no padding.
    if (copy->GetSize() > PayloadBytes(oldIp))
    {
        copy->RemoveAtEnd(copy->GetSize() - PayloadBytes(oldIp));
    }
    copy->RemoveHeader(oldTcp);
    if (Node::ChecksumEnabled())
    {
        tcp.EnableChecksums();
        tcp.InitializeChecksum(ip.GetSource(), ip.GetDestination(), PROTOCOL_TCP);
    }
    copy->AddHeader(tcp);
    if constexpr (std::is_same_v<Ip, Ipv4Header>)
    {
        if (Node::ChecksumEnabled())
        {
            ip.EnableChecksum();
        }
    }
    copy->AddHeader(ip);
    return copy;
}

} // namespace

Ptr<Packet>
WholePacket(Ptr<const QueueDiscItem> item)
{
    if (auto v4 = DynamicCast<const Ipv4QueueDiscItem>(item))
    {
        auto packet = v4->GetPacket()->Copy();
        packet->AddHeader(v4->GetHeader());
        return packet;
    }
    if (auto v6 = DynamicCast<const Ipv6QueueDiscItem>(item))
    {
        auto packet = v6->GetPacket()->Copy();
        packet->AddHeader(v6->GetHeader());
        return packet;
    }
    return nullptr;
}

Ptr<QueueDiscItem>
MakeItem(Ptr<const Packet> packet, const Address& address, uint16_t protocol)
{
    auto rest = packet->Copy();
    if (protocol == ETHERTYPE_IPV4)
    {
        Ipv4Header ip;
        rest->RemoveHeader(ip);
        if (Node::ChecksumEnabled())
        {
            ip.EnableChecksum();
        }
        return Create<Ipv4QueueDiscItem>(rest, address, protocol, ip);
    }
    if (protocol == ETHERTYPE_IPV6)
    {
        Ipv6Header ip;
        rest->RemoveHeader(ip);
        return Create<Ipv6QueueDiscItem>(rest, address, protocol, ip);
    }
    return nullptr;
}

std::vector<uint8_t>
FirstBytes(Ptr<const Packet> packet, uint32_t most)
{
    std::vector<uint8_t> bytes(std::min(packet->GetSize(), most));
    packet->CopyData(bytes.data(), bytes.size());
    return bytes;
}

bool
CanEdit(uint32_t tcpOffset, uint16_t protocol)
{
    return tcpOffset == (protocol == ETHERTYPE_IPV6 ? 40 : 20);
}

Ptr<Packet>
WithHeaders(Ptr<const Packet> packet, uint16_t protocol, const std::vector<uint8_t>& bytes)
{
    return protocol == ETHERTYPE_IPV6 ? Exchange<Ipv6Header>(packet, bytes)
                                      : Exchange<Ipv4Header>(packet, bytes);
}

} // namespace lasthop
} // namespace ns3
