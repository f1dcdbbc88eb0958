/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-simulate-wifi.h"

#include "lasthop-simulate-errors.h"

#include "ns3/arp-cache.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/mobility-helper.h"
#include "ns3/node-container.h"
#include "ns3/queue-size.h"
#include "ns3/simulator.h"
#include "ns3/ssid.h"
#include "ns3/sta-wifi-mac.h"
#include "ns3/string.h"
#include "ns3/txop.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-helper.h"
#include "ns3/wifi-mac-queue.h"
#include "ns3/wifi-mpdu.h"
#include "ns3/wifi-phy-state-helper.h"
#include "ns3/wifi-phy.h"
#include "ns3/yans-wifi-helper.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace ns3
{
namespace
{

/// Far above noise: only the error models lose anything, and collisions.
constexpr double SIGNAL_DBM = -40;
/// Behind those of the error models.
constexpr int64_t FIRST_STREAM = 1000;
/// As good as never: what waits is a packet or two, however slow the link is.
const Time LIFETIME = Hours(1);
/// Beacons come ten times a second.
const Time ASSOCIATION_PATIENCE = Seconds(10);

/// A physical layer: ns-3's names of it and of its rates.
struct Layer
{
    WifiStandard standard;          //!< by ns-3's number
    std::string prefix;             //!< beginning of the names of its rates
    std::vector<std::string> rates; //!< Mbit/s, the highest first
};

const std::vector<std::string> OFDM_RATES{"54", "48", "36", "24", "18", "12", "9", "6"};

const std::map<std::string, Layer> LAYERS{
    {"802.11a", {WIFI_STANDARD_80211a, "OfdmRate", OFDM_RATES}},
    {"802.11b", {WIFI_STANDARD_80211b, "DsssRate", {"11", "5.5", "2", "1"}}},
    {"802.11g", {WIFI_STANDARD_80211g, "ErpOfdmRate", OFDM_RATES}},
};

/// @return the layer that @p mac is of.
const Layer&
FindLayer(const LasthopMac& mac)
{
    auto found = LAYERS.find(mac.standard);
    if (found == LAYERS.end())
    {
        LasthopRefuse("--mac=" + mac.standard + ": write 802.11a, 802.11b or 802.11g");
    }
    return found->second;
}

/// @return the name that ns-3 has for the rate of @p mac: DsssRate5_5Mbps.
std::string
ModeName(const LasthopMac& mac, const Layer& layer)
{
    std::string rate = mac.rate.empty() ? layer.rates.front() : mac.rate;
    if (std::find(layer.rates.begin(), layer.rates.end(), rate) == layer.rates.end())
    {
        LasthopRefuse("--macRate=" + rate + ": " + mac.standard + " has no such rate");
    }
    std::replace(rate.begin(), rate.end(), '.', '_');
    return layer.prefix + rate + "Mbps";
}

/// Sets the attempts that a frame gets, by the name that this ns-3 has for it.
void
SetTries(uint32_t tries)
{
    UintegerValue value(tries);
    if (!Config::SetDefaultFailSafe("ns3::WifiMac::FrameRetryLimit", value))
    {
        Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", value);
        Config::SetDefault("ns3::WifiRemoteStationManager::MaxSlrc", value);
    }
}

YansWifiPhyHelper
PhyHelper()
{
    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::FixedRssLossModel", "Rss", DoubleValue(SIGNAL_DBM));
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    return phy;
}

} // namespace

uint64_t
LasthopSimulatedWifi::Radio::GetEnergyUj(const LasthopMac& mac, Time elapsed) const
{
    Time idle = elapsed - sent - received;
    double joules = sent.GetSeconds() * mac.sendWatts + received.GetSeconds() * mac.receiveWatts +
                    idle.GetSeconds() * mac.idleWatts;
    return std::llround(joules * 1e6);
}

LasthopSimulatedWifi::LasthopSimulatedWifi(const LasthopMac& mac,
                                           Ptr<Node> accessPoint,
                                           Ptr<Node> station)
{
    const auto& layer = FindLayer(mac);
    SetTries(mac.tries);
    auto phy = PhyHelper();
    WifiHelper wifi;
    wifi.SetStandard(layer.standard);
    wifi.SetRemoteStationManager(
        "ns3::ConstantRateWifiManager", "DataMode", StringValue(ModeName(mac, layer)));
    auto ssid = SsidValue(Ssid("lasthop"));
    WifiMacHelper macs;
    macs.SetType("ns3::ApWifiMac", "Ssid", ssid);
    m_devices = wifi.Install(phy, macs, accessPoint);
    macs.SetType("ns3::StaWifiMac", "Ssid", ssid);
    m_devices.Add(wifi.Install(phy, macs, station));
    wifi.AssignStreams(m_devices, FIRST_STREAM);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(NodeContainer(accessPoint, station));
    Prepare(0);
    Prepare(1);
}

void
LasthopSimulatedWifi::Prepare(uint32_t end)
{
    auto device = GetDevice(end);
    auto& radio = m_radios[end];
    auto queue = device->GetMac()->GetTxop()->GetWifiMacQueue();
    queue->SetAttribute("MaxSize",
                        QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, DEVICE_FRAMES)));
    queue->SetAttribute("MaxDelay", TimeValue(LIFETIME));
    device->GetMac()->TraceConnectWithoutContext(
        "DroppedMpdu",
        Callback<void, WifiMacDropReason, Ptr<const WifiMpdu>>(
            [&radio](WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu) {
                radio.givenUp +=
                    reason == WIFI_MAC_DROP_REACHED_RETRY_LIMIT && mpdu->GetHeader().HasData();
            }));
    device->GetPhy()->GetState()->TraceConnectWithoutContext(
        "State",
        Callback<void, Time, Time, WifiPhyState>([&radio](Time, Time length, WifiPhyState state) {
            if (state == WifiPhyState::TX)
            {
                radio.sent += length;
            }
            // A preamble makes the medium busy, what follows it is received.
            else if (state == WifiPhyState::RX || state == WifiPhyState::CCA_BUSY)
            {
                radio.received += length;
            }
        }));
}

Ptr<WifiNetDevice>
LasthopSimulatedWifi::GetDevice(uint32_t end) const
{
    return DynamicCast<WifiNetDevice>(m_devices.Get(end));
}

NetDeviceContainer
LasthopSimulatedWifi::GetDevices() const
{
    return m_devices;
}

void
LasthopSimulatedWifi::SetErrors(bool up, Ptr<ErrorModel> errors)
{
    auto air = CreateObject<LasthopAirErrorModel>();
    air->SetErrors(errors);
    GetDevice(up ? 0 : 1)->GetPhy()->SetPostReceptionErrorModel(air);
}

void
LasthopSimulatedWifi::ResolveAddresses(const Ipv4InterfaceContainer& interfaces)
{
    for (uint32_t end = 0; end < 2; end++)
    {
        auto [ipv4, number] = interfaces.Get(end);
        auto cache = DynamicCast<Ipv4L3Protocol>(ipv4)->GetInterface(number)->GetArpCache();
        auto entry = cache->Add(interfaces.GetAddress(1 - end));
        entry->SetMacAddress(m_devices.Get(1 - end)->GetAddress());
        entry->MarkPermanent();
    }
}

void
LasthopSimulatedWifi::Associate()
{
    auto mac = DynamicCast<StaWifiMac>(GetDevice(1)->GetMac());
    mac->TraceConnectWithoutContext("Assoc", Callback<void, Mac48Address>([this](Mac48Address) {
                                        if (!m_associated)
                                        {
                                            Simulator::Stop();
                                        }
                                    }));
    auto patience = Simulator::Schedule(ASSOCIATION_PATIENCE, [] { Simulator::Stop(); });
    Simulator::Run();
    patience.Cancel();
    m_associated = true;
    if (!mac->IsAssociated())
    {
        LasthopRefuse("the station finds no access point");
    }
}

const LasthopSimulatedWifi::Radios&
LasthopSimulatedWifi::GetRadios() const
{
    return m_radios;
}

} // namespace ns3
