/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// Scheme csnoop on a Wi-Fi hop: what the MAC reports is what the agent repairs.

#include "ns3/callback.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/error-model.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/lasthop-helper.h"
#include "ns3/mobility-helper.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/socket.h"
#include "ns3/ssid.h"
#include "ns3/string.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/test.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"
#include "ns3/wifi-helper.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-mpdu.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"
#include "ns3/wifi-psdu.h"
#include "ns3/wifi-tx-vector.h"
#include "ns3/yans-wifi-helper.h"

#include <algorithm>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

const Time ASSOCIATED = Seconds(1); //!< nothing is lost before, and nothing sent
constexpr uint16_t PORT = 5;
constexpr uint32_t PIECE = 4096; //!< most bytes that go to a socket at once

/// What is transferred: no two places less than a segment apart are alike for long.
uint8_t
Content(uint64_t at)
{
    return (at * at / 251 + at) & 0xff;
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

/// @return whether @p mpdu carries TCP, and not ARP.
bool
HasTcp(Ptr<const WifiMpdu> mpdu)
{
    constexpr uint32_t ARP_BYTES = 8 + 28; // with its LLC header
    return mpdu->GetHeader().HasData() && mpdu->GetPacket()->GetSize() > ARP_BYTES;
}

/// A transfer over FH - AP - STA.
struct Scenario
{
    std::string name;                 //!< of the case
    std::string scheme{"csnoop"};     //!< of the agents; empty: none
    bool up{false};                   //!< whether STA sends
    bool base{true};                  //!< whether AP has an agent
    bool mobile{false};               //!< whether STA has one
    uint32_t tries{1};                //!< attempts that a frame gets
    double loss{0.03};                //!< of what STA or AP, which gets the data, receives
    std::string undelivered{"final"}; //!< Undelivered of the agents
    bool blocks{false};               //!< 802.11n with A-MPDUs, else 802.11b with an ACK per frame
    uint32_t bytes{1500000};          //!< to be transferred
};

/// What came of it. Reports are those of the station that sends the data.
struct Outcome
{
    uint64_t received{0};     //!< bytes
    bool right{true};         //!< whether each was
    double seconds{0};        //!< up to the last of them
    uint64_t retransmits{0};  //!< segments that the sender sent again
    uint64_t acked{0};        //!< frames with data that the MAC traced as answered
    uint64_t timeouts{0};     //!< attempts that it traced as not answered
    uint64_t givenUp{0};      //!< frames that it traced as dropped after their last attempt
    Ptr<LasthopAgent> base;   //!< null: none
    Ptr<LasthopAgent> mobile; //!< null: none
};

/// The hosts, the links and the transfer of one scenario.
class Transfer
{
  public:
    explicit Transfer(const Scenario& scenario);
    ~Transfer();
    /// @return what came of it, once it is over.
    Outcome& Run();

  private:
    void MakeAir();
    void MakeLoss();
    void MakeAgents();
    void MakeTransfer(const Address& to);
    void Trace();
    void Fill(Ptr<Socket> socket, uint32_t space);
    void Read(Ptr<Socket> socket);
    void Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase> socket);

    /// @return the Wi-Fi device whose data are looked at.
    Ptr<WifiNetDevice> SendingDevice() const
    {
        return DynamicCast<WifiNetDevice>(m_air.Get(m_scenario.up ? 1 : 0));
    }

    const Scenario m_scenario;  //!< what is run
    Outcome m_outcome;          //!< what came of it
    NodeContainer m_nodes{3};   //!< FH, AP, STA
    NetDeviceContainer m_air;   //!< AP's and STA's device
    Ptr<Socket> m_listener;     //!< where the data arrive
    Ptr<Socket> m_sender;       //!< where they come from
    uint64_t m_written{0};      //!< bytes
    SequenceNumber32 m_highest; //!< that was sent
};

Transfer::Transfer(const Scenario& scenario)
    : m_scenario(scenario)
{
    Config::Reset();
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(1);
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    // Twice what the path holds. Repairs that wait longer than LRTO are not hidden any more.
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(65535));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue(m_scenario.blocks ? "64p" : "2p"));
    SetTries(m_scenario.tries);
    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue("20Mbps"));
    wire.SetChannelAttribute("Delay", StringValue("20ms"));
    auto wired = wire.Install(m_nodes.Get(0), m_nodes.Get(1));
    MakeAir();
    InternetStackHelper().Install(m_nodes);
    TrafficControlHelper queue; // never full, and in sight of the agents
    queue.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("100p"));
    queue.Install(m_air);
    Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    auto fixed = addresses.Assign(wired);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    auto air = addresses.Assign(m_air);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    MakeAgents();
    MakeLoss();
    Trace();
    MakeTransfer(InetSocketAddress(m_scenario.up ? fixed.GetAddress(0) : air.GetAddress(1), PORT));
}

Transfer::~Transfer()
{
    m_outcome = Outcome();
    Simulator::Destroy();
    Config::Reset();
}

void
Transfer::MakeAir()
{
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    WifiHelper wifi;
    wifi.SetStandard(m_scenario.blocks ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode",
                                 StringValue(m_scenario.blocks ? "HtMcs3" : "DsssRate11Mbps"));
    auto ssid = SsidValue(Ssid("lasthop"));
    WifiMacHelper mac;
    mac.SetType("ns3::ApWifiMac", "Ssid", ssid);
    m_air = wifi.Install(phy, mac, m_nodes.Get(1));
    mac.SetType("ns3::StaWifiMac", "Ssid", ssid);
    m_air.Add(wifi.Install(phy, mac, m_nodes.Get(2)));
    wifi.AssignStreams(m_air, 1000);
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(NodeContainer(m_nodes.Get(1), m_nodes.Get(2)));
}

void
Transfer::MakeLoss()
{
    auto errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(m_scenario.loss);
    errors->AssignStreams(1);
    errors->Disable();
    Simulator::Schedule(ASSOCIATED + MilliSeconds(200), &ErrorModel::Enable, errors);
    auto device = DynamicCast<WifiNetDevice>(m_air.Get(m_scenario.up ? 0 : 1));
    device->GetPhy()->SetPostReceptionErrorModel(errors);
}

void
Transfer::MakeAgents()
{
    if (m_scenario.scheme.empty())
    {
        return;
    }
    LasthopHelper lasthop;
    lasthop.SetAttribute("Scheme", StringValue(m_scenario.scheme));
    lasthop.SetAttribute("Undelivered", StringValue(m_scenario.undelivered));
    if (m_scenario.base)
    {
        m_outcome.base = lasthop.Install(m_air.Get(0));
    }
    if (m_scenario.mobile)
    {
        lasthop.SetAttribute("Role", StringValue("mobile"));
        m_outcome.mobile = lasthop.Install(m_air.Get(1));
    }
}

void
Transfer::Trace()
{
    auto mac = SendingDevice()->GetMac();
    mac->TraceConnectWithoutContext(
        "AckedMpdu", Callback<void, Ptr<const WifiMpdu>>([this](Ptr<const WifiMpdu> mpdu) {
            m_outcome.acked += HasTcp(mpdu);
        }));
    mac->TraceConnectWithoutContext(
        "MpduResponseTimeout",
        Callback<void, uint8_t, Ptr<const WifiMpdu>, const WifiTxVector&>(
            [this](uint8_t, Ptr<const WifiMpdu> mpdu, const WifiTxVector&) {
                m_outcome.timeouts += HasTcp(mpdu);
            }));
    mac->TraceConnectWithoutContext(
        "DroppedMpdu",
        Callback<void, WifiMacDropReason, Ptr<const WifiMpdu>>(
            [this](WifiMacDropReason reason, Ptr<const WifiMpdu> mpdu) {
                m_outcome.givenUp += reason == WIFI_MAC_DROP_REACHED_RETRY_LIMIT && HasTcp(mpdu);
            }));
}

void
Transfer::MakeTransfer(const Address& to)
{
    auto from = m_nodes.Get(m_scenario.up ? 2 : 0);
    m_listener =
        Socket::CreateSocket(m_nodes.Get(m_scenario.up ? 0 : 2), TcpSocketFactory::GetTypeId());
    m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    m_listener->Listen();
    m_listener->SetAcceptCallback(
        MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
        Callback<void, Ptr<Socket>, const Address&>([this](Ptr<Socket> socket, const Address&) {
            socket->SetRecvCallback(MakeCallback(&Transfer::Read, this));
        }));
    m_sender = Socket::CreateSocket(from, TcpSocketFactory::GetTypeId());
    m_sender->TraceConnectWithoutContext("Tx", MakeCallback(&Transfer::Sent, this));
    m_sender->SetSendCallback(MakeCallback(&Transfer::Fill, this));
    Simulator::ScheduleWithContext(from->GetId(), ASSOCIATED, [this, to] {
        m_sender->Bind();
        m_sender->Connect(to);
    });
}

void
Transfer::Fill(Ptr<Socket> socket, uint32_t space)
{
    while (m_written < m_scenario.bytes && socket->GetTxAvailable() > 0)
    {
        uint64_t left = m_scenario.bytes - m_written;
        std::vector<uint8_t> bytes(std::min<uint64_t>({PIECE, left, socket->GetTxAvailable()}));
        for (uint32_t i = 0; i < bytes.size(); i++)
        {
            bytes[i] = Content(m_written + i);
        }
        if (socket->Send(Create<Packet>(bytes.data(), bytes.size())) < 0)
        {
            return;
        }
        m_written += bytes.size();
    }
}

void
Transfer::Read(Ptr<Socket> socket)
{
    uint8_t bytes[PIECE];
    for (int got; (got = socket->Recv(bytes, sizeof(bytes), 0)) > 0;)
    {
        for (int i = 0; i < got; i++)
        {
            m_outcome.right = m_outcome.right && bytes[i] == Content(m_outcome.received + i);
        }
        m_outcome.received += got;
        m_outcome.seconds = (Simulator::Now() - ASSOCIATED).GetSeconds();
    }
    if (m_outcome.received >= m_scenario.bytes)
    {
        // What is under way arrives, and is reported.
        Simulator::Stop(Seconds(1));
    }
}

void
Transfer::Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase> socket)
{
    if (packet->GetSize() == 0)
    {
        return;
    }
    auto end = header.GetSequenceNumber() + SequenceNumber32(packet->GetSize());
    m_outcome.retransmits += header.GetSequenceNumber() < m_highest;
    m_highest = std::max(m_highest, end);
}

Outcome&
Transfer::Run()
{
    Simulator::Stop(Seconds(120));
    Simulator::Run();
    return m_outcome;
}

/// A scenario, and what has to hold whatever it is.
class LasthopWifiTestCase : public TestCase
{
  public:
    explicit LasthopWifiTestCase(const Scenario& scenario)
        : TestCase("Wi-Fi, " + scenario.name),
          m_scenario(scenario)
    {
    }

  private:
    void DoRun() override
    {
        Transfer transfer(m_scenario);
        auto& outcome = transfer.Run();
        NS_TEST_EXPECT_MSG_EQ(outcome.received, m_scenario.bytes, "bytes");
        NS_TEST_EXPECT_MSG_EQ(outcome.right, true, "content");
        for (const auto& agent : {outcome.base, outcome.mobile})
        {
            if (agent)
            {
                NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("retransmit_errors"), 0, "all were sent");
            }
        }
        Check(outcome);
    }

    /// @param outcome what came of it
    virtual void Check(const Outcome& outcome) = 0;

  protected:
    const Scenario m_scenario; //!< what is run
};

/// Every frame that the MAC of the sending end gives up is repaired at that end, and FH and the
/// mobile host hardly hear of it.
class LasthopWifiRepairTestCase : public LasthopWifiTestCase
{
    using LasthopWifiTestCase::LasthopWifiTestCase;

    void Check(const Outcome& outcome) override
    {
        auto agent = m_scenario.up ? outcome.mobile : outcome.base;
        NS_TEST_EXPECT_MSG_GT(outcome.givenUp, 20, "losses");
        NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("mac_given_up"), outcome.givenUp, "given up");
        NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("mac_delivered"), outcome.acked, "delivered");
        NS_TEST_EXPECT_MSG_EQ(
            agent->GetCounter("mac_undelivered"), outcome.timeouts - outcome.givenUp, "attempts");
        NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("mac_strangers"), 0, "all are known");
        // But for what had arrived, and only its answer was lost.
        uint64_t repairs = agent->GetCounter("retransmits_mac");
        NS_TEST_EXPECT_MSG_GT(repairs + outcome.givenUp / 10, outcome.givenUp, "repairs");
        NS_TEST_EXPECT_MSG_LT(repairs, outcome.givenUp + 1, "no more repairs than losses");
        NS_TEST_EXPECT_MSG_LT(outcome.retransmits, outcome.givenUp / 10 + 1, "of the sender");
    }
};

/// With `undelivered = attempt` each attempt that fails counts as a loss; but this MAC, which holds
/// up what comes behind, delivers the frame before anything shows that the hop carries again.
class LasthopWifiAttemptTestCase : public LasthopWifiTestCase
{
    using LasthopWifiTestCase::LasthopWifiTestCase;

    void Check(const Outcome& outcome) override
    {
        auto agent = outcome.base;
        NS_TEST_EXPECT_MSG_EQ(outcome.givenUp, 0, "seven attempts are enough");
        NS_TEST_EXPECT_MSG_GT(outcome.timeouts, 20, "losses");
        NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("mac_undelivered"), outcome.timeouts, "attempts");
        NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("retransmits_mac"), 0, "repairs");
        NS_TEST_EXPECT_MSG_EQ(outcome.retransmits, 0, "of the sender");
    }
};

/// The MAC repairs by itself, or nothing is lost: there is nothing to do.
class LasthopWifiIdleTestCase : public LasthopWifiTestCase
{
    using LasthopWifiTestCase::LasthopWifiTestCase;

    void Check(const Outcome& outcome) override
    {
        for (const auto& agent : {outcome.base, outcome.mobile})
        {
            NS_TEST_EXPECT_MSG_GT(agent->GetCounter("mac_delivered"), 100, "delivered");
            NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("mac_given_up"), 0, "given up");
            NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("retransmits_mac"), 0, "repairs");
            NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("suppressed_acks"), 0, "held back");
        }
        NS_TEST_EXPECT_MSG_EQ(outcome.retransmits, 0, "of the sender");
    }
};

/// Other schemes are told, too, and take no notice.
class LasthopWifiOtherTestCase : public LasthopWifiTestCase
{
    using LasthopWifiTestCase::LasthopWifiTestCase;

    void Check(const Outcome& outcome) override
    {
        NS_TEST_EXPECT_MSG_EQ(outcome.base->GetCounter("mac_delivered"), 0, "delivered");
        NS_TEST_EXPECT_MSG_EQ(outcome.base->GetCounter("mac_given_up"), 0, "given up");
        NS_TEST_EXPECT_MSG_GT(outcome.base->GetCounter("local_retransmits"), 20, "repairs");
    }
};

/// Frames in blocks: their bitmaps tell, frame by frame.
class LasthopWifiBlockTestCase : public LasthopWifiTestCase
{
    using LasthopWifiTestCase::LasthopWifiTestCase;

    void Check(const Outcome& outcome) override
    {
        auto agent = outcome.base;
        NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("mac_delivered"), outcome.acked, "delivered");
        NS_TEST_EXPECT_MSG_GT(agent->GetCounter("mac_undelivered"), 10, "attempts");
        NS_TEST_EXPECT_MSG_EQ(agent->GetCounter("mac_given_up"), outcome.givenUp, "given up");
    }
};

} // namespace

class LasthopWifiTestSuite : public TestSuite
{
  public:
    LasthopWifiTestSuite()
        : TestSuite("lasthop-wifi")
    {
        Scenario down;
        down.name = "down, agent at the base";
        AddTestCase(new LasthopWifiRepairTestCase(down));
        Scenario both = down;
        both.name = "down, agents at both ends";
        both.mobile = true;
        AddTestCase(new LasthopWifiRepairTestCase(both));
        both.name = "up, agents at both ends";
        both.up = true;
        AddTestCase(new LasthopWifiRepairTestCase(both));
        Scenario up = both;
        up.name = "up, agent at the mobile end alone";
        up.base = false;
        AddTestCase(new LasthopWifiRepairTestCase(up));
        Scenario attempt = down;
        attempt.name = "down, seven attempts, each of which counts";
        attempt.tries = 7;
        attempt.undelivered = "attempt";
        AddTestCase(new LasthopWifiAttemptTestCase(attempt));
        Scenario idle = both;
        idle.up = false;
        idle.tries = 7;
        idle.name = "down, seven attempts";
        AddTestCase(new LasthopWifiIdleTestCase(idle));
        idle.loss = 0;
        idle.name = "down, nothing is lost";
        AddTestCase(new LasthopWifiIdleTestCase(idle));
        idle.up = true;
        idle.name = "up, nothing is lost";
        AddTestCase(new LasthopWifiIdleTestCase(idle));
        Scenario other = down;
        other.name = "rack takes no notice of the MAC";
        other.scheme = "rack";
        AddTestCase(new LasthopWifiOtherTestCase(other));
        Scenario blocks = down;
        blocks.name = "802.11n, blocks of frames";
        blocks.blocks = true;
        blocks.tries = 7;
        AddTestCase(new LasthopWifiBlockTestCase(blocks));
    }
};

static LasthopWifiTestSuite g_lasthopWifiTestSuite; //!< registers itself
