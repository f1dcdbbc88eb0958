/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

// The scenario of the ns-2 study of Snoop (Nguyen 2002, sections 3 and 4; docs/design.md, 9):
//
//   FH ---- 10 Mbit/s, 10 or 100 ms ---- BS ---- 2 Mbit/s, two-state errors ---- MH
//
// One transfer without end; printed is the throughput in the unit of the wireless link's rate.
//
//   lasthop-two-state --scheme=snoop --wan=true --badInterval=2.6 --time=150 --RngRun=1

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/lasthop-error-model.h"
#include "ns3/lasthop-helper.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <iostream>

using namespace ns3;

int
main(int argc, char* argv[])
{
    std::string scheme = "snoop";
    std::string tcp = "ns3::TcpNewReno";
    bool wan = true;
    bool sack = false;
    bool ns2 = true;
    double badInterval = 2.6;
    double seconds = 150;
    std::string pcap;

    CommandLine command(__FILE__);
    command.AddValue("scheme", "of the agent: snoop, slack, sack or rack; none: no agent", scheme);
    command.AddValue("tcp", "the sender's congestion control", tcp);
    command.AddValue("sack", "whether the hosts use SACK", sack);
    command.AddValue("wan", "100 ms and 100 packets of window, else 10 ms and 15", wan);
    command.AddValue("ns2", "estimator and constants of ns-2.35 for snoop", ns2);
    command.AddValue("badInterval", "packets between errors in the bad state", badInterval);
    command.AddValue("time", "simulated seconds", seconds);
    command.AddValue("pcap", "file for what the agent sends of itself", pcap);
    command.Parse(argc, argv);

    const uint32_t packet = 1000; // bytes, section 3.2: 166 packets are 0.66 s at 2 Mbit/s
    const uint32_t window = wan ? 100 : 15;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(tcp)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    // Without SACK ns-3's resends whole windows with it; the study's is older (RFC 3042).
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(packet));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window * packet));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 * window * packet));

    NodeContainer nodes(3);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    link.SetChannelAttribute("Delay", StringValue(wan ? "100ms" : "10ms"));
    auto wired = link.Install(nodes.Get(0), nodes.Get(1));
    link.SetDeviceAttribute("DataRate", StringValue("2Mbps"));
    link.SetChannelAttribute("Delay", StringValue("1ms"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    auto wireless = link.Install(nodes.Get(1), nodes.Get(2));
    auto errors = CreateObject<LasthopTwoStateErrorModel>();
    errors->SetAttribute("BadInterval", DoubleValue(badInterval));
    wireless.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));

    InternetStackHelper().Install(nodes);
    TrafficControlHelper queue;
    queue.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue("50p"));
    queue.Install(wireless);
    queue.Install(wired); // in place of ns-3's default, which drops
    Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    addresses.Assign(wired);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    auto interfaces = addresses.Assign(wireless);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<LasthopAgent> agent;
    if (scheme != "none")
    {
        LasthopHelper lasthop;
        lasthop.SetAttribute("Scheme", StringValue(scheme));
        if (ns2 && scheme == "snoop")
        {
            lasthop.SetAttribute("RttProfile", StringValue("ns2"));
            lasthop.SetAttribute("DupThresh", UintegerValue(2));
            lasthop.SetAttribute("QueueGuard", BooleanValue(false));
            lasthop.SetAttribute("FlowSegments", UintegerValue(100)); // maxbufs_
        }
        agent = lasthop.Install(wireless.Get(0));
        if (!pcap.empty())
        {
            LasthopHelper::EnablePcap(pcap, agent);
        }
    }

    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), 5));
    source.Install(nodes.Get(0));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5));
    auto sinks = sink.Install(nodes.Get(2));

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    double bits = 8.0 * DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx();
    std::cout << "normalised throughput " << bits / seconds / 2e6 << std::endl;
    if (agent)
    {
        for (const auto& [name, value] : agent->GetCounters())
        {
            if (value)
            {
                std::cout << name << " " << value << std::endl;
            }
        }
    }
    Simulator::Destroy();
    return 0;
}
