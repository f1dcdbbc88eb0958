/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-wifi-reports.h"

#include "ns3/abort.h"
#include "ns3/llc-snap-header.h"
#include "ns3/simulator.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-mpdu.h"
#include "ns3/wifi-psdu.h"
#include "ns3/wifi-tx-vector.h"

#include <vector>

namespace ns3
{
namespace lasthop
{
namespace
{

constexpr uint16_t ETHERTYPE_IPV4 = 0x0800;
constexpr uint16_t ETHERTYPE_IPV6 = 0x86dd;

/// Adds to @p found what @p msdu has behind its LLC header, if that is a packet of IP.
void
AddPacket(std::vector<Ptr<const Packet>>& found, Ptr<const Packet> msdu)
{
    auto packet = msdu->Copy();
    LlcSnapHeader llc;
    if (packet->GetSize() < llc.GetSerializedSize())
    {
        return;
    }
    packet->RemoveHeader(llc);
    if (llc.GetType() == ETHERTYPE_IPV4 || llc.GetType() == ETHERTYPE_IPV6)
    {
        found.push_back(packet);
    }
}

/// @return the packets of IP that @p mpdu carries as wholes.
std::vector<Ptr<const Packet>>
Packets(Ptr<const WifiMpdu> mpdu)
{
    std::vector<Ptr<const Packet>> found;
    const auto& header = mpdu->GetHeader();
    if (!header.HasData() || header.IsMoreFragments() || header.GetFragmentNumber() > 0)
    {
        return found;
    }
    if (!header.IsQosData() || !header.IsQosAmsdu())
    {
        AddPacket(found, mpdu->GetPacket());
        return found;
    }
    for (auto msdu = mpdu->begin(); msdu != mpdu->end(); ++msdu)
    {
        AddPacket(found, msdu->first);
    }
    return found;
}

void
Tell(Ptr<LasthopAgent> agent, LasthopAgent::MacEvent event, Ptr<const WifiMpdu> mpdu)
{
    // Of the last attempt the MAC tells twice, and it has dropped the frame by now.
    if (event == LasthopAgent::MacEvent::UNDELIVERED && !mpdu->IsQueued())
    {
        return;
    }
    for (const auto& packet : Packets(mpdu))
    {
        agent->NotifyMac(event, packet);
    }
}

/// Afterwards, at the same time: what the agent sends would find the MAC at work with this frame.
void
TellSoon(Ptr<LasthopAgent> agent, LasthopAgent::MacEvent event, Ptr<const WifiMpdu> mpdu)
{
    if (mpdu->GetHeader().HasData())
    {
        Simulator::ScheduleNow(&Tell, agent, event, mpdu);
    }
}

void
Acked(Ptr<LasthopAgent> agent, Ptr<const WifiMpdu> mpdu)
{
    TellSoon(agent, LasthopAgent::MacEvent::DELIVERED, mpdu);
}

void
Nacked(Ptr<LasthopAgent> agent, Ptr<const WifiMpdu> mpdu)
{
    TellSoon(agent, LasthopAgent::MacEvent::UNDELIVERED, mpdu);
}

void
MpduTimedOut(Ptr<LasthopAgent> agent,
             uint8_t reason,
             Ptr<const WifiMpdu> mpdu,
             const WifiTxVector& txVector)
{
    TellSoon(agent, LasthopAgent::MacEvent::UNDELIVERED, mpdu);
}

void
PsduTimedOut(Ptr<LasthopAgent> agent,
             uint8_t reason,
             Ptr<const WifiPsdu> psdu,
             const WifiTxVector& txVector)
{
    for (const auto& mpdu : *PeekPointer(psdu))
    {
        TellSoon(agent, LasthopAgent::MacEvent::UNDELIVERED, mpdu);
    }
}

void
Dropped(Ptr<LasthopAgent> agent, WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu)
{
    bool wasTried = reason == WIFI_MAC_DROP_REACHED_RETRY_LIMIT ||
                    reason == WIFI_MAC_DROP_QOS_OLD_PACKET || mpdu->GetHeader().IsRetry();
    if (wasTried)
    {
        TellSoon(agent, LasthopAgent::MacEvent::GIVEN_UP, mpdu);
    }
}

} // namespace

void
ConnectWifiReports(Ptr<LasthopAgent> agent, Ptr<WifiNetDevice> device)
{
    auto mac = device->GetMac();
    NS_ABORT_MSG_IF(!mac, "LasthopAgent: give the Wi-Fi device its MAC first");
    mac->TraceConnectWithoutContext("AckedMpdu", MakeBoundCallback(&Acked, agent));
    mac->TraceConnectWithoutContext("NAckedMpdu", MakeBoundCallback(&Nacked, agent));
    mac->TraceConnectWithoutContext("MpduResponseTimeout", MakeBoundCallback(&MpduTimedOut, agent));
    mac->TraceConnectWithoutContext("PsduResponseTimeout", MakeBoundCallback(&PsduTimedOut, agent));
    mac->TraceConnectWithoutContext("DroppedMpdu", MakeBoundCallback(&Dropped, agent));
}

} // namespace lasthop
} // namespace ns3
