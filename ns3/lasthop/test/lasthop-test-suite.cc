/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// The agent in a chain FH - BS - MH of point-to-point links, before ns-3's own TCP.

#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/error-model.h"
#include "ns3/global-value.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/ipv4-header.h"
#include "ns3/lasthop-error-model.h"
#include "ns3/lasthop-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/pointer.h"
#include "ns3/ppp-header.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket.h"
#include "ns3/test.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"

#include <string>

using namespace ns3;

namespace
{

/// A transfer from FH over BS to MH.
struct Scenario
{
    std::string scheme{"rack"}; //!< of the agent; empty: no agent
    double loss{0.02};          //!< share of the packets that the last hop loses, either way
    bool sack{true};            //!< whether the hosts use SACK
    uint32_t bytes{1000000};    //!< to be transferred
    uint32_t seed{1};           //!< RngRun
    bool checksums{false};      //!< whether ns-3 calculates checksums
    bool fqCodel{false};        //!< ns-3's own queue disc before the last hop, not a long FIFO
    bool excluded{false};       //!< whether the agent is told to leave the connection alone
    bool late{false};           //!< whether the agent comes after the handshake, to brake by marks
};

/// What came of it.
struct Outcome
{
    uint64_t received{0};                     //!< bytes that MH's application got
    double seconds{0};                        //!< up to the last of them
    uint32_t senderRetransmits{0};            //!< segments that FH sent a second time
    std::map<std::string, uint64_t> counters; //!< the agent's
    std::map<std::string, uint64_t> traced;   //!< events that its traces told
};

/// Runs @p scenario: 10 Mbit/s and 50 ms to BS, 2 Mbit/s and 5 ms behind it.
Outcome
Transfer(const Scenario& scenario)
{
    Outcome outcome;
    Config::Reset();
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(scenario.seed);
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(scenario.checksums));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(scenario.sack));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(scenario.late ? "On" : "Off"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));

    NodeContainer nodes(3);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    link.SetChannelAttribute("Delay", StringValue("50ms"));
    auto wired = link.Install(nodes.Get(0), nodes.Get(1));
    link.SetDeviceAttribute("DataRate", StringValue("2Mbps"));
    link.SetChannelAttribute("Delay", StringValue("5ms"));
    auto radio = link.Install(nodes.Get(1), nodes.Get(2));
    for (uint32_t i = 0; i < 2; i++)
    {
        auto errors = CreateObject<RateErrorModel>();
        errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        errors->SetRate(scenario.loss);
        errors->AssignStreams(100 + i);
        radio.Get(i)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    }

    InternetStackHelper().Install(nodes);
    if (!scenario.fqCodel)
    {
        TrafficControlHelper queues;
        queues.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("1000p"));
        queues.Install(radio.Get(0));
    }
    Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    addresses.Assign(wired);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    auto interfaces = addresses.Assign(radio);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<LasthopAgent> agent;
    auto install = [&]() {
        LasthopHelper lasthop;
        lasthop.SetAttribute("Scheme", StringValue(scenario.scheme));
        if (scenario.late)
        {
            lasthop.SetAttribute("Clock", StringValue("always"));
        }
        agent = lasthop.Install(radio.Get(0));
        if (scenario.excluded)
        {
            agent->Exclude(5);
        }
        agent->TraceConnectWithoutContext(
            "Count",
            Callback<void, const std::string&, uint64_t>(
                [&outcome](const std::string& name, uint64_t n) { outcome.traced[name] += n; }));
        for (const std::string name :
             {"Cached", "Retransmitted", "Suppressed", "Released", "Edited", "Marked"})
        {
            agent->TraceConnectWithoutContext(
                name,
                Callback<void, Ptr<const Packet>, uint32_t>(
                    [&outcome, name](Ptr<const Packet>, uint32_t) { outcome.traced[name]++; }));
        }
    };
    if (scenario.late)
    {
        Simulator::Schedule(Seconds(0.2), install);
    }
    else if (!scenario.scheme.empty())
    {
        install();
    }

    // Segments of FH that begin below what it has sent already.
    uint32_t highest = 0;
    wired.Get(0)->TraceConnectWithoutContext(
        "PhyTxEnd", Callback<void, Ptr<const Packet>>([&](Ptr<const Packet> frame) {
            auto copy = frame->Copy();
            PppHeader ppp;
            Ipv4Header ip;
            TcpHeader tcp;
            copy->RemoveHeader(ppp);
            copy->RemoveHeader(ip);
            copy->RemoveHeader(tcp);
            if (copy->GetSize() > 0)
            {
                uint32_t end = tcp.GetSequenceNumber().GetValue() + copy->GetSize();
                outcome.senderRetransmits += end <= highest;
                highest = std::max(highest, end);
            }
        }));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), 5));
    source.SetAttribute("MaxBytes", UintegerValue(scenario.bytes));
    source.Install(nodes.Get(0)).Start(Seconds(0));
    PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5));
    auto sink = DynamicCast<PacketSink>(sinks.Install(nodes.Get(2)).Get(0));
    sink->TraceConnectWithoutContext("Rx",
                                     Callback<void, Ptr<const Packet>, const Address&>(
                                         [&outcome](Ptr<const Packet> packet, const Address&) {
                                             outcome.received += packet->GetSize();
                                             outcome.seconds = Simulator::Now().GetSeconds();
                                         }));

    Simulator::Stop(Seconds(600));
    Simulator::Run();
    if (agent)
    {
        outcome.counters = agent->GetCounters();
    }
    Simulator::Destroy();
    return outcome;
}

/// Every byte arrives once, whatever the scheme, and the traces tell what the counters count.
class LasthopCompleteTestCase : public TestCase
{
  public:
    explicit LasthopCompleteTestCase(const Scenario& scenario)
        : TestCase("all bytes arrive: scheme " + scenario.scheme +
                   (scenario.sack ? ", SACK" : ", no SACK") +
                   (scenario.checksums ? ", checksums" : "") +
                   (scenario.fqCodel ? ", FqCoDel" : "")),
          m_scenario(scenario)
    {
    }

  private:
    void DoRun() override
    {
        Outcome outcome = Transfer(m_scenario);
        NS_TEST_EXPECT_MSG_EQ(outcome.received, m_scenario.bytes, "bytes at MH");
        auto& counters = outcome.counters;
        auto& traced = outcome.traced;
        bool repairs = m_scenario.scheme != "none";
        NS_TEST_EXPECT_MSG_EQ((counters["local_retransmits"] > 0), repairs, "repairs");
        NS_TEST_EXPECT_MSG_EQ(traced["Retransmitted"],
                              counters["local_retransmits"] - counters["retransmit_errors"],
                              "each repair is traced");
        NS_TEST_EXPECT_MSG_EQ(traced["Released"], counters["released_acks"], "released ACKs");
        // rack lets some go on without their SACK blocks.
        uint64_t hidden = counters["suppressed_acks"] + counters["dsacks_dropped"];
        NS_TEST_EXPECT_MSG_EQ((traced["Suppressed"] > 0), (hidden > 0), "suppressed ACKs");
        NS_TEST_EXPECT_MSG_EQ((traced["Suppressed"] <= hidden), true, "suppressed ACKs");
        uint64_t edited = counters["windows_edited"];
        NS_TEST_EXPECT_MSG_EQ((edited > 0), (m_scenario.scheme == "rack"), "it brakes");
        NS_TEST_EXPECT_MSG_EQ((traced["Edited"] > 0), (edited > 0), "edited ACKs");
        NS_TEST_EXPECT_MSG_EQ((traced["Edited"] >= edited), true, "edited ACKs");
        NS_TEST_EXPECT_MSG_EQ((traced["Cached"] >= counters["cached_segments"]), true, "cached");
        NS_TEST_EXPECT_MSG_EQ(traced["local_retransmits"],
                              counters["local_retransmits"],
                              "counted events are traced by name");
        NS_TEST_EXPECT_MSG_EQ((counters["data_bytes"] >= m_scenario.bytes), true, "bytes seen");
    }

    Scenario m_scenario;
};

/// Who comes too late to know the window's scale brakes by marks.
class LasthopMarkTestCase : public TestCase
{
  public:
    LasthopMarkTestCase()
        : TestCase("marks where the window is unknown")
    {
    }

  private:
    void DoRun() override
    {
        Scenario scenario;
        scenario.bytes = 3000000;
        scenario.late = true;
        auto outcome = Transfer(scenario);
        NS_TEST_EXPECT_MSG_EQ(outcome.received, scenario.bytes, "bytes at MH");
        NS_TEST_EXPECT_MSG_GT(outcome.traced["Marked"], 0, "marks");
        NS_TEST_EXPECT_MSG_EQ(outcome.traced["Marked"], outcome.counters["ce_marks"], "are traced");
    }
};

/// Repairs are kept from the sender, and the transfer is faster than without an agent.
class LasthopGainTestCase : public TestCase
{
  public:
    explicit LasthopGainTestCase(const std::string& scheme)
        : TestCase("faster than TCP at 2 % loss: scheme " + scheme),
          m_scheme(scheme)
    {
    }

  private:
    void DoRun() override
    {
        double with = 0;
        double without = 0;
        uint64_t repeated = 0;
        uint64_t plain = 0;
        for (uint32_t seed = 1; seed <= 5; seed++)
        {
            Scenario scenario;
            scenario.seed = seed;
            scenario.scheme = m_scheme;
            auto outcome = Transfer(scenario);
            with += outcome.seconds;
            repeated += outcome.senderRetransmits;
            scenario.scheme = "none";
            outcome = Transfer(scenario);
            without += outcome.seconds;
            plain += outcome.senderRetransmits;
        }
        NS_TEST_EXPECT_MSG_GT(without / with, 1.5, "gain");
        NS_TEST_EXPECT_MSG_LT(repeated * 3, plain * 2, "what the sender had to send again");
    }

    std::string m_scheme;
};

/// Without losses nothing happens, and an agent that only observes changes nothing at all.
class LasthopNoHarmTestCase : public TestCase
{
  public:
    LasthopNoHarmTestCase()
        : TestCase("no harm")
    {
    }

  private:
    void DoRun() override
    {
        Scenario scenario;
        scenario.loss = 0;
        scenario.scheme = "";
        auto plain = Transfer(scenario);
        for (const std::string scheme : {"none", "snoop", "slack", "rack", "sack"})
        {
            scenario.scheme = scheme;
            auto outcome = Transfer(scenario);
            NS_TEST_EXPECT_MSG_EQ(outcome.received, plain.received, scheme);
            // ns-3 delays the ACK of a lone segment by 200 ms, the local timer waits for 80.
            NS_TEST_EXPECT_MSG_LT(outcome.counters["local_retransmits"], 3, scheme);
            NS_TEST_EXPECT_MSG_LT(outcome.seconds, plain.seconds * 1.02, scheme);
        }
        scenario.loss = 0.02;
        scenario.scheme = "";
        plain = Transfer(scenario);
        scenario.scheme = "none";
        auto observed = Transfer(scenario);
        NS_TEST_EXPECT_MSG_EQ(observed.seconds, plain.seconds, "to the nanosecond");
        NS_TEST_EXPECT_MSG_EQ(observed.senderRetransmits, plain.senderRetransmits, "the same");
    }
};

/// What it is told to leave alone goes as if there were no agent, and is counted.
class LasthopExcludeTestCase : public TestCase
{
  public:
    LasthopExcludeTestCase()
        : TestCase("an excluded connection")
    {
    }

  private:
    void DoRun() override
    {
        Scenario scenario;
        scenario.scheme = "";
        auto plain = Transfer(scenario);
        scenario.scheme = "rack";
        scenario.excluded = true;
        auto outcome = Transfer(scenario);
        NS_TEST_EXPECT_MSG_EQ(outcome.seconds, plain.seconds, "to the nanosecond");
        NS_TEST_EXPECT_MSG_EQ(outcome.counters["data_bytes"], 0, "bytes looked at");
        uint64_t segments = scenario.bytes / 1000;
        NS_TEST_EXPECT_MSG_GT(outcome.counters["bypass_filtered"], segments, "data and ACKs");
    }
};

/// The same seed gives the same run.
class LasthopRepeatTestCase : public TestCase
{
  public:
    LasthopRepeatTestCase()
        : TestCase("a seed repeats a run")
    {
    }

  private:
    void DoRun() override
    {
        auto first = Transfer(Scenario());
        auto second = Transfer(Scenario());
        NS_TEST_EXPECT_MSG_EQ(first.seconds, second.seconds, "time");
        NS_TEST_EXPECT_MSG_EQ((first.counters == second.counters), true, "counters");
    }
};

/// The shares and lengths that the error models promise.
class LasthopErrorModelTestCase : public TestCase
{
  public:
    LasthopErrorModelTestCase()
        : TestCase("error models")
    {
    }

  private:
    void DoRun() override
    {
        const uint32_t packets = 400000;
        auto packet = Create<Packet>(1000);
        auto gilbert = CreateObject<LasthopGilbertErrorModel>();
        gilbert->SetAttribute("Loss", DoubleValue(0.05));
        gilbert->SetAttribute("MeanBurst", DoubleValue(4));
        gilbert->AssignStreams(1);
        uint32_t lost = 0;
        uint32_t bursts = 0;
        bool before = false;
        for (uint32_t i = 0; i < packets; i++)
        {
            bool now = gilbert->IsCorrupt(packet);
            lost += now;
            bursts += now && !before;
            before = now;
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(double(lost) / packets, 0.05, 0.003, "share");
        NS_TEST_EXPECT_MSG_EQ_TOL(double(lost) / bursts, 4, 0.2, "length of a burst");

        auto list = CreateObject<LasthopListErrorModel>();
        list->SetLost({0, 3, 4});
        for (uint32_t again = 0; again < 2; again++)
        {
            for (uint32_t i = 0; i < 8; i++)
            {
                bool listed = i == 0 || i == 3 || i == 4;
                NS_TEST_EXPECT_MSG_EQ(list->IsCorrupt(packet), listed, "number " << i);
            }
            list->Reset();
        }

        // Rarer errors than a double can tell from none: no packet is lost, and not each of them.
        auto rare = CreateObject<LasthopTwoStateErrorModel>();
        rare->SetAttribute("GoodInterval", DoubleValue(1e18));
        rare->AssignStreams(3);
        lost = 0;
        for (uint32_t i = 0; i < 1000; i++)
        {
            lost += rare->IsCorrupt(packet);
        }
        NS_TEST_EXPECT_MSG_EQ(lost, 0, "of 1000 packets, one of 1e18");

        // A packet each 4 ms: in the long run 1/166 in 0.66 of 0.67 s, 1/2.6 in the rest.
        auto states = CreateObject<LasthopTwoStateErrorModel>();
        states->AssignStreams(2);
        lost = 0;
        for (uint32_t i = 0; i < packets; i++)
        {
            Simulator::Schedule(MilliSeconds(4 * i),
                                [&lost, states, packet] { lost += states->IsCorrupt(packet); });
        }
        Simulator::Run();
        Simulator::Destroy();
        double expected = (0.66 / 166 + 0.01 / 2.6) / 0.67;
        NS_TEST_EXPECT_MSG_EQ_TOL(double(lost) / packets, expected, 0.03 * expected, "share");
    }
};

} // namespace

class LasthopTestSuite : public TestSuite
{
  public:
    LasthopTestSuite()
        : TestSuite("lasthop")
    {
        for (const std::string scheme : {"none", "snoop", "slack", "rack", "sack"})
        {
            for (bool sack : {false, true})
            {
                Scenario scenario;
                scenario.scheme = scheme;
                scenario.sack = sack;
                AddTestCase(new LasthopCompleteTestCase(scenario));
                scenario.checksums = true;
                AddTestCase(new LasthopCompleteTestCase(scenario));
                scenario.fqCodel = true;
                AddTestCase(new LasthopCompleteTestCase(scenario));
            }
        }
        AddTestCase(new LasthopMarkTestCase);
        AddTestCase(new LasthopGainTestCase("snoop"));
        AddTestCase(new LasthopGainTestCase("rack"));
        AddTestCase(new LasthopNoHarmTestCase);
        AddTestCase(new LasthopExcludeTestCase);
        AddTestCase(new LasthopRepeatTestCase);
        AddTestCase(new LasthopErrorModelTestCase);
    }
};

static LasthopTestSuite g_lasthopTestSuite; //!< registers itself
