/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-simulate-links.h"

#include "ns3/boolean.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/ipv4.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/pointer.h"
#include "ns3/queue-size.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"

namespace ns3
{
namespace
{

/// Waits for a packet at most in the device: the queue disc holds the others.
constexpr uint32_t DEVICE_PACKETS = 1;
/// Where nothing takes time.
const std::string FREE_RATE = "100Gbps";
/// ns-3 looks at every interface and route of a node for every packet: more hosts are put into
/// groups, each with a router of its own.
constexpr uint32_t GROUP_HOSTS = 32;
constexpr uint32_t HOSTS_NETWORK = 0x0a800000; // 10.128.0.0, a /24 for each group
constexpr uint32_t GROUP_LINKS = 0x0a040000;   // 10.4.0.0, a /30 for each
/// Random numbers of a lossy link: of bit errors either way, two states, bursts, losses either way.
constexpr int64_t STREAMS_OF_HOP = 6;

PointToPointHelper
LinkHelper(const std::string& rate, Time delay)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, DEVICE_PACKETS)));
    return link;
}

Ptr<QueueDisc>
InstallQueue(Ptr<NetDevice> device,
             uint32_t packets,
             const std::string& aqm = "fifo",
             uint32_t held = DEVICE_PACKETS)
{
    QueueSizeValue size(QueueSize(QueueSizeUnit::PACKETS, packets - held));
    BooleanValue marks(true); // where ECN is agreed on
    TrafficControlHelper queue;
    if (aqm == "codel")
    {
        queue.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", size, "UseEcn", marks);
    }
    else if (aqm == "fq-codel")
    {
        queue.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", size, "UseEcn", marks);
    }
    else
    {
        queue.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", size);
    }
    return queue.Install(device).Get(0);
}

NetDeviceContainer
MakeLink(Ptr<Node> from, Ptr<Node> to, const std::string& rate, Time delay, uint32_t packets)
{
    auto devices = LinkHelper(rate, delay).Install(from, to);
    InstallQueue(devices.Get(0), packets);
    InstallQueue(devices.Get(1), packets);
    return devices;
}

void
DefaultRoute(Ptr<Node> node, Ipv4Address gateway)
{
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(gateway, 1);
}

/// What @p queue did is added to @p counts.
void
AddDrops(LasthopSimulatedLinks::Counts& counts, Ptr<QueueDisc> queue)
{
    const auto& stats = queue->GetStats();
    uint64_t late = 0;
    for (const auto& [reason, packets] : stats.nDroppedPacketsAfterDequeue)
    {
        // FqCoDel's queues tell it as their parent, in more words. It drops for want of room
        // there, too.
        bool byLaw = reason.find("Target exceeded") != std::string::npos;
        late += byLaw ? packets : 0;
    }
    counts.aqmDropped += late;
    counts.queueDropped += stats.nTotalDroppedPackets - late;
    counts.aqmMarked += stats.nTotalMarkedPackets;
}

} // namespace

LasthopSimulatedLinks::LasthopSimulatedLinks(const LasthopSimulateOptions& options)
    : m_options(options)
{
    m_nodes.Create(3);
    m_mobiles.Create(options.hosts);
    InternetStackHelper internet;
    internet.Install(m_nodes);
    internet.Install(m_mobiles);
    MakeWire();
    MakeBase();
    MakeHosts();
}

void
LasthopSimulatedLinks::MakeWire()
{
    auto wire = MakeLink(m_nodes.Get(0),
                         m_nodes.Get(1),
                         m_options.wiredRate,
                         m_options.wiredDelay,
                         m_options.wiredQueue);
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.255.252");
    auto wired = addresses.Assign(wire);
    m_fixedAddress = wired.GetAddress(0);
    DefaultRoute(m_nodes.Get(0), wired.GetAddress(1));
}

void
LasthopSimulatedLinks::MakeBase()
{
    auto base = m_nodes.Get(1);
    auto air = m_nodes.Get(2);
    auto devices = MakeSharedHop();
    m_base = devices.Get(0);
    m_air = devices.Get(1);
    Ipv4AddressHelper addresses("10.2.0.0", "255.255.255.252");
    auto hop = addresses.Assign(devices);
    if (m_wifi)
    {
        m_wifi->ResolveAddresses(hop);
    }
    DefaultRoute(air, hop.GetAddress(0));
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(base->GetObject<Ipv4>())
        ->AddNetworkRouteTo("10.128.0.0", "255.128.0.0", hop.GetAddress(1), 2);
}

NetDeviceContainer
LasthopSimulatedLinks::MakeSharedHop()
{
    auto base = m_nodes.Get(1);
    auto air = m_nodes.Get(2);
    if (!m_options.mac.standard.empty())
    {
        return MakeWifi();
    }
    return m_options.hostHops.empty()
               ? MakeHop(base, air, m_options.hop, 1)
               : MakeLink(base, air, FREE_RATE, Time(0), m_options.wiredQueue);
}

NetDeviceContainer
LasthopSimulatedLinks::MakeWifi()
{
    const auto& hop = m_options.hop;
    constexpr uint32_t HELD = LasthopSimulatedWifi::DEVICE_FRAMES;
    m_wifi = std::make_unique<LasthopSimulatedWifi>(m_options.mac, m_nodes.Get(1), m_nodes.Get(2));
    auto devices = m_wifi->GetDevices();
    m_down.push_back({InstallQueue(devices.Get(0), hop.queue, m_options.aqm, HELD),
                      MakeErrors(hop.loss, false, 1)});
    m_up.push_back({InstallQueue(devices.Get(1), hop.queueUp, m_options.aqm, HELD),
                    MakeErrors(hop.lossUp, true, 1)});
    m_wifi->SetErrors(false, m_down.back().errors);
    m_wifi->SetErrors(true, m_up.back().errors);
    return devices;
}

void
LasthopSimulatedLinks::Settle()
{
    if (m_wifi)
    {
        m_wifi->Associate();
    }
}

NetDeviceContainer
LasthopSimulatedLinks::MakeHop(Ptr<Node> from, Ptr<Node> to, const LasthopHop& hop, int64_t stream)
{
    auto devices = LinkHelper(hop.rate, m_options.delay).Install(from, to);
    devices.Get(1)->SetAttribute("DataRate", StringValue(hop.rateUp));
    m_down.push_back({InstallQueue(devices.Get(0), hop.queue, m_options.aqm),
                      MakeErrors(hop.loss, false, stream)});
    m_up.push_back({InstallQueue(devices.Get(1), hop.queueUp, m_options.aqm),
                    MakeErrors(hop.lossUp, true, stream)});
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(m_down.back().errors));
    devices.Get(0)->SetAttribute("ReceiveErrorModel", PointerValue(m_up.back().errors));
    return devices;
}

Ptr<LasthopAnyErrorModel>
LasthopSimulatedLinks::MakeErrors(double loss, bool up, int64_t stream) const
{
    auto errors = CreateObject<LasthopAnyErrorModel>();
    // A stream of its own for each: equal ones whatever else is switched on.
    const auto& lost = up ? m_options.lostUp : m_options.lost;
    if (!lost.empty())
    {
        errors->AddList(lost);
    }
    if (loss > 0)
    {
        errors->AddLoss(loss, stream + (up ? 5 : 4));
    }
    if (m_options.ber > 0)
    {
        errors->AddBitErrors(m_options.ber, stream + (up ? 1 : 0));
    }
    if (!m_options.twoState.empty() && !up)
    {
        errors->AddTwoState(m_options.twoState, stream + 2);
    }
    // Two states are of one direction only: the other's stream is left.
    const auto& burst = up ? m_options.burstUp : m_options.burst;
    if (!burst.empty())
    {
        errors->AddBurst(burst, stream + (up ? 2 : 3));
    }
    return errors;
}

Ptr<Node>
LasthopSimulatedLinks::MakeGroup(uint32_t group, Ipv4Address network)
{
    auto air = m_nodes.Get(2);
    if (m_options.hosts <= GROUP_HOSTS)
    {
        return air;
    }
    auto router = CreateObject<Node>();
    InternetStackHelper().Install(router);
    auto devices = MakeLink(air, router, FREE_RATE, Time(0), m_options.wiredQueue);
    Ipv4AddressHelper addresses(Ipv4Address(GROUP_LINKS + 4 * group), "255.255.255.252");
    auto interfaces = addresses.Assign(devices);
    DefaultRoute(router, interfaces.GetAddress(0));
    Ipv4StaticRoutingHelper routing;
    auto table = routing.GetStaticRouting(air->GetObject<Ipv4>());
    auto device = air->GetObject<Ipv4>()->GetInterfaceForDevice(devices.Get(0));
    table->AddNetworkRouteTo(network, "255.255.255.0", interfaces.GetAddress(1), device);
    return router;
}

void
LasthopSimulatedLinks::MakeHosts()
{
    Ptr<Node> router;
    for (uint32_t host = 0; host < m_options.hosts; host++)
    {
        uint32_t group = host / GROUP_HOSTS;
        Ipv4Address network(HOSTS_NETWORK + 256 * group);
        if (host % GROUP_HOSTS == 0)
        {
            router = MakeGroup(group, network);
        }
        auto mobile = m_mobiles.Get(host);
        Time delay = m_wifi ? m_options.delay : Time(0);
        auto devices =
            m_options.hostHops.empty()
                ? MakeLink(router, mobile, FREE_RATE, delay, m_options.wiredQueue)
                : MakeHop(router, mobile, m_options.hostHops[host], 1 + STREAMS_OF_HOP * host);
        uint32_t link = network.Get() + 4 * (host % GROUP_HOSTS);
        Ipv4AddressHelper addresses(Ipv4Address(link), "255.255.255.252");
        auto interfaces = addresses.Assign(devices);
        DefaultRoute(mobile, interfaces.GetAddress(0));
        m_mobileAddresses.push_back(interfaces.GetAddress(1));
    }
}

Ptr<Node>
LasthopSimulatedLinks::GetFixed() const
{
    return m_nodes.Get(0);
}

Ipv4Address
LasthopSimulatedLinks::GetFixedAddress() const
{
    return m_fixedAddress;
}

Ptr<Node>
LasthopSimulatedLinks::GetMobile(uint32_t host) const
{
    return m_mobiles.Get(host);
}

Ipv4Address
LasthopSimulatedLinks::GetMobileAddress(uint32_t host) const
{
    return m_mobileAddresses[host];
}

uint32_t
LasthopSimulatedLinks::GetWindow(uint32_t host) const
{
    return m_options.hostHops.empty() ? 0 : m_options.hostHops[host].window;
}

Ptr<NetDevice>
LasthopSimulatedLinks::GetBaseDevice() const
{
    return m_base;
}

Ptr<NetDevice>
LasthopSimulatedLinks::GetMobileDevice() const
{
    return m_air;
}

const LasthopSimulatedWifi*
LasthopSimulatedLinks::GetWifi() const
{
    return m_wifi.get();
}

LasthopSimulatedLinks::Counts
LasthopSimulatedLinks::Count(bool up) const
{
    Counts counts;
    for (const auto& way : up ? m_up : m_down)
    {
        counts.lost += way.errors->GetLost();
        AddDrops(counts, way.queue);
    }
    return counts;
}

} // namespace ns3
