/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// The agent on other devices than point-to-point ones, beside other traffic, and over IPv6.

#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/config.h"
#include "ns3/csma-helper.h"
#include "ns3/double.h"
#include "ns3/error-model.h"
#include "ns3/global-value.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/ipv6-address-helper.h"
#include "ns3/lasthop-helper.h"
#include "ns3/mobility-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/pointer.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/ssid.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-helper.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"
#include "ns3/yans-wifi-helper.h"

#include <fstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t BYTES = 300000; //!< of each transfer

/// A packet error model that loses the share @p loss.
Ptr<RateErrorModel>
Errors(double loss, int64_t stream)
{
    auto errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(loss);
    errors->AssignStreams(stream);
    return errors;
}

/// FH and BS with a wired link, and MHs behind a hop of some kind.
struct Cell
{
    NodeContainer wired{2};      //!< FH, BS
    NodeContainer mobile;        //!< MHs
    NetDeviceContainer backbone; //!< FH's and BS's wired device
    NetDeviceContainer hop;      //!< BS's device first, then the MHs'
};

Cell
MakeCell(const std::string& kind, uint32_t mobiles)
{
    Cell cell;
    cell.mobile.Create(mobiles);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    link.SetChannelAttribute("Delay", StringValue("20ms"));
    cell.backbone = link.Install(cell.wired);
    auto bs = cell.wired.Get(1);
    NodeContainer around(bs, cell.mobile);
    if (kind == "csma")
    {
        CsmaHelper csma;
        csma.SetChannelAttribute("DataRate", StringValue("5Mbps"));
        csma.SetChannelAttribute("Delay", StringValue("1ms"));
        csma.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("2p"));
        cell.hop = csma.Install(around);
        for (uint32_t i = 0; i <= mobiles; i++)
        {
            cell.hop.Get(i)->SetAttribute("ReceiveErrorModel", PointerValue(Errors(0.02, i + 1)));
        }
        return cell;
    }
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    WifiHelper wifi;
    wifi.SetStandard(kind == "wifi-qos" ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211g);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(kind == "wifi-qos" ? "HtMcs0" : "ErpOfdmRate6Mbps"));
    // Without block ACKs: under such losses ns-3's stall a station for good, with or without an
    // agent.
    auto none = UintegerValue(0);
    auto ssid = SsidValue(Ssid("lasthop"));
    WifiMacHelper mac;
    mac.SetType("ns3::ApWifiMac", "Ssid", ssid, "BE_MaxAmpduSize", none);
    cell.hop = wifi.Install(phy, mac, bs);
    mac.SetType("ns3::StaWifiMac", "Ssid", ssid, "BE_MaxAmpduSize", none);
    cell.hop.Add(wifi.Install(phy, mac, cell.mobile));
    wifi.AssignStreams(cell.hop, 1000);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(around);
    // A frame gets seven tries, so that few losses are left for TCP. Association and ARP don't.
    for (uint32_t i = 1; i <= mobiles; i++)
    {
        auto device = DynamicCast<WifiNetDevice>(cell.hop.Get(i));
        auto errors = Errors(0.45, i);
        errors->Disable();
        device->GetPhy()->SetPostReceptionErrorModel(errors);
        Simulator::Schedule(MilliSeconds(3100), &ErrorModel::Enable, errors);
    }
    return cell;
}

/// Gives IPv4 addresses and routes. @return the hop's interfaces, BS's first.
Ipv4InterfaceContainer
AssignIpv4(const Cell& cell)
{
    Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    addresses.Assign(cell.backbone);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    auto interfaces = addresses.Assign(cell.hop);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    return interfaces;
}

/// One transfer from FH to every MH.
class LasthopDeviceTestCase : public TestCase
{
  public:
    LasthopDeviceTestCase(const std::string& kind,
                          uint32_t mobiles,
                          bool ipv6 = false,
                          bool late = false,
                          bool padded = false)
        : TestCase(kind + ", " + std::to_string(mobiles) + " hosts" +
                   (ipv6 ? ", IPv6 from BS" : "") + (late ? ", installed while it runs" : "") +
                   (padded ? ", checksums and padding" : "")),
          m_kind(kind),
          m_mobiles(mobiles),
          m_ipv6(ipv6),
          m_late(late),
          m_padded(padded),
          m_bytes(kind == "csma" ? 4 * BYTES / mobiles : BYTES)
    {
    }

  private:
    void DoRun() override
    {
        Config::Reset();
        RngSeedManager::SetSeed(1);
        RngSeedManager::SetRun(1);
        // Bare ACKs of 40 bytes, which CSMA pads to 46.
        GlobalValue::Bind("ChecksumEnabled", BooleanValue(m_padded));
        Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(!m_padded));
        auto cell = MakeCell(m_kind, m_mobiles);
        InternetStackHelper().Install(NodeContainer(cell.wired, cell.mobile));
        std::vector<Address> sinkAddresses = Assign(cell);

        Ptr<LasthopAgent> agent;
        LasthopHelper lasthop;
        // Wi-Fi repairs its losses itself, and no other would make the agent edit a window.
        lasthop.SetAttribute("Clock", StringValue("always"));
        auto install = [&] { agent = lasthop.Install(cell.hop.Get(0)); };
        if (m_late)
        {
            Simulator::Schedule(MilliSeconds(3400), install);
        }
        else
        {
            install();
        }

        std::vector<uint64_t> received(m_mobiles);
        for (uint32_t i = 0; i < m_mobiles; i++)
        {
            BulkSendHelper source("ns3::TcpSocketFactory", sinkAddresses[i]);
            source.SetAttribute("MaxBytes", UintegerValue(m_bytes));
            source.Install(cell.wired.Get(m_ipv6 ? 1 : 0)).Start(Seconds(3));
            Address any = m_ipv6 ? Address(Inet6SocketAddress(Ipv6Address::GetAny(), 5))
                                 : Address(InetSocketAddress(Ipv4Address::GetAny(), 5));
            PacketSinkHelper sinks("ns3::TcpSocketFactory", any);
            sinks.Install(cell.mobile.Get(i))
                .Get(0)
                ->TraceConnectWithoutContext(
                    "Rx",
                    Callback<void, Ptr<const Packet>, const Address&>(
                        [&received, i](Ptr<const Packet> packet, const Address&) {
                            received[i] += packet->GetSize();
                        }));
        }
        Simulator::Stop(Seconds(300));
        Simulator::Run();
        for (uint32_t i = 0; i < m_mobiles; i++)
        {
            NS_TEST_EXPECT_MSG_EQ(received[i], m_bytes, "bytes at host " << i);
        }
        GlobalValue::Bind("ChecksumEnabled", BooleanValue(false));
        // Who comes late does not know how windows are scaled.
        NS_TEST_EXPECT_MSG_EQ((agent->GetCounter("windows_edited") > 0), !m_late, "edited");
        NS_TEST_EXPECT_MSG_GT(agent->GetCounter("cached_segments"), 100, "cached");
        NS_TEST_EXPECT_MSG_GT(agent->GetCounter("local_retransmits"), 0, "repaired");
        NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("retransmit_errors"), 0, "all were sent");
        NS_TEST_EXPECT_MSG_EQ((agent->GetCounter("flows_created") >= m_mobiles), true, "flows");
        NS_TEST_EXPECT_MSG_GT(agent->GetMemoryBytes(), 60000, "more than the device record");
        Simulator::Destroy();
    }

    /// Gives addresses and routes, and says where the sinks are.
    std::vector<Address> Assign(const Cell& cell)
    {
        std::vector<Address> sinks;
        if (!m_ipv6)
        {
            auto interfaces = AssignIpv4(cell);
            for (uint32_t i = 1; i <= m_mobiles; i++)
            {
                sinks.emplace_back(InetSocketAddress(interfaces.GetAddress(i), 5));
            }
            return sinks;
        }
        // The sender is BS itself: no routes are needed, and its TCP answers within our calls.
        Ipv6AddressHelper addresses;
        addresses.SetBase("2001:db8:2::", Ipv6Prefix(64));
        auto hop = addresses.Assign(cell.hop);
        for (uint32_t i = 1; i <= m_mobiles; i++)
        {
            sinks.emplace_back(Inet6SocketAddress(hop.GetAddress(i, 1), 5));
        }
        return sinks;
    }

    std::string m_kind; //!< csma, wifi or wifi-qos
    uint32_t m_mobiles; //!< hosts behind the hop
    bool m_ipv6;        //!< IPv6, and the sender is BS
    bool m_late;        //!< the agent comes while the transfers run
    bool m_padded;      //!< ns-3 calculates checksums, and short frames are padded
    uint32_t
        m_bytes; //!< of each transfer. Long ones stall in ns-3's Wi-Fi, with and without an agent
};

/// The word about the link may come from anywhere, and makes the agent speak to the sender.
class LasthopLinkTestCase : public TestCase
{
  public:
    explicit LasthopLinkTestCase(bool freeze)
        : TestCase(freeze ? "link down and up, freeze" : "link down and up, handoff"),
          m_freeze(freeze)
    {
    }

  private:
    void DoRun() override
    {
        Config::Reset();
        Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
        auto cell = MakeCell("csma", 1);
        InternetStackHelper().Install(NodeContainer(cell.wired, cell.mobile));
        auto interfaces = AssignIpv4(cell);
        LasthopHelper lasthop;
        lasthop.SetAttribute("Scheme", StringValue("slack"));
        lasthop.SetAttribute("Freeze", BooleanValue(m_freeze));
        lasthop.SetAttribute("Handoff", UintegerValue(m_freeze ? 0 : 3));
        auto agent = lasthop.Install(cell.hop.Get(0));
        BulkSendHelper source("ns3::TcpSocketFactory",
                              InetSocketAddress(interfaces.GetAddress(1), 5));
        source.SetAttribute("MaxBytes", UintegerValue(5 * BYTES));
        source.Install(cell.wired.Get(0));
        uint64_t received = 0;
        PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5))
            .Install(cell.mobile.Get(0))
            .Get(0)
            ->TraceConnectWithoutContext("Rx",
                                         Callback<void, Ptr<const Packet>, const Address&>(
                                             [&received](Ptr<const Packet> packet, const Address&) {
                                                 received += packet->GetSize();
                                             }));
        // Scheduled here, these are events of no node. Nothing passes in between.
        for (uint32_t i = 0; i < 2; i++)
        {
            auto loses = Errors(1, i);
            loses->Disable();
            cell.hop.Get(i)->SetAttribute("ReceiveErrorModel", PointerValue(loses));
            Simulator::Schedule(MilliSeconds(1000), &ErrorModel::Enable, loses);
            Simulator::Schedule(MilliSeconds(2500), &ErrorModel::Disable, loses);
        }
        Simulator::Schedule(MilliSeconds(1000), &LasthopAgent::NotifyLink, agent, false);
        Simulator::Schedule(MilliSeconds(2500), &LasthopAgent::NotifyLink, agent, true);
        Simulator::Stop(Seconds(300));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(received, 5 * BYTES, "bytes");
        NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("outages"), 1, "noticed");
        NS_TEST_EXPECT_MSG_GT(agent->GetCounter(m_freeze ? "freezes" : "handoff_acks"), 0, "told");
        Simulator::Destroy();
        Config::Reset();
    }

    bool m_freeze; //!< which way the sender is told
};

/// The file holds what the agent sent of itself, and nothing else.
class LasthopPcapTestCase : public TestCase
{
  public:
    LasthopPcapTestCase()
        : TestCase("pcap of what the agent sends")
    {
    }

  private:
    void DoRun() override
    {
        Config::Reset();
        auto cell = MakeCell("csma", 1);
        InternetStackHelper().Install(NodeContainer(cell.wired, cell.mobile));
        auto interfaces = AssignIpv4(cell);
        auto agent = LasthopHelper().Install(cell.hop.Get(0));
        std::string name = CreateTempDirFilename("lasthop.pcap");
        LasthopHelper::EnablePcap(name, agent);
        BulkSendHelper source("ns3::TcpSocketFactory",
                              InetSocketAddress(interfaces.GetAddress(1), 5));
        source.SetAttribute("MaxBytes", UintegerValue(BYTES));
        source.Install(cell.wired.Get(0));
        PacketSinkHelper("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5))
            .Install(cell.mobile.Get(0));
        Simulator::Stop(Seconds(60));
        Simulator::Run();
        uint64_t sent = agent->GetCounter("local_retransmits") + agent->GetCounter("released_acks");
        Simulator::Destroy();

        // Six words, the last of which is the link type; then records: two times, two lengths.
        std::ifstream file(name, std::ios::binary);
        uint32_t header[6] = {};
        file.read(reinterpret_cast<char*>(header), sizeof(header));
        NS_TEST_ASSERT_MSG_EQ(file.good(), true, "a header");
        NS_TEST_EXPECT_MSG_EQ(header[5], 101, "raw IP");
        uint64_t found = 0;
        uint32_t record[4];
        while (file.read(reinterpret_cast<char*>(record), sizeof(record)))
        {
            std::vector<char> bytes(record[2]);
            file.read(bytes.data(), bytes.size());
            NS_TEST_ASSERT_MSG_EQ(file.good(), true, "the bytes of a packet");
            NS_TEST_EXPECT_MSG_EQ(int(bytes.at(0)), 0x45, "an IPv4 header");
            found++;
        }
        NS_TEST_EXPECT_MSG_GT(sent, 0, "something was sent");
        NS_TEST_EXPECT_MSG_EQ(found, sent, "packets in the file");
    }
};

} // namespace

class LasthopDeviceTestSuite : public TestSuite
{
  public:
    LasthopDeviceTestSuite()
        : TestSuite("lasthop-devices")
    {
        for (const std::string kind : {"csma", "wifi", "wifi-qos"})
        {
            AddTestCase(new LasthopDeviceTestCase(kind, 1));
            AddTestCase(new LasthopDeviceTestCase(kind, 4));
            AddTestCase(new LasthopDeviceTestCase(kind, 4, false, true));
        }
        AddTestCase(new LasthopDeviceTestCase("csma", 1, true));
        AddTestCase(new LasthopDeviceTestCase("csma", 1, false, false, true));
        AddTestCase(new LasthopLinkTestCase(false));
        AddTestCase(new LasthopLinkTestCase(true));
        AddTestCase(new LasthopPcapTestCase);
    }
};

static LasthopDeviceTestSuite g_lasthopDeviceTestSuite; //!< registers itself
