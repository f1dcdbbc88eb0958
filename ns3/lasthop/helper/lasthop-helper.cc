/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-helper.h"

#include "../model/lasthop-queue-disc.h"
#include "../model/lasthop-wifi-reports.h"

#include "ns3/abort.h"
#include "ns3/mq-queue-disc.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/node.h"
#include "ns3/simulator.h"
#include "ns3/trace-helper.h"
#include "ns3/traffic-control-layer.h"

namespace ns3
{
namespace
{

/// @return a queue disc that shows @p agent what leaves through @p inner, which may be null.
Ptr<LasthopQueueDisc>
Wrap(Ptr<LasthopAgent> agent, Ptr<QueueDisc> inner)
{
    auto outer = CreateObject<LasthopQueueDisc>();
    outer->SetAgent(agent);
    if (inner)
    {
        auto place = CreateObject<QueueDiscClass>();
        place->SetQueueDisc(inner);
        outer->AddQueueDiscClass(place);
    }
    return outer;
}

/// One way out of a device: its queue disc, and what the former one held.
struct WayOut
{
    Ptr<LasthopQueueDisc> queueDisc;         //!< ours
    std::vector<Ptr<QueueDiscItem>> backlog; //!< to be put back
};

/// Wraps @p inner, which may be null and may hold packets.
WayOut
MakeWayOut(Ptr<LasthopAgent> agent, Ptr<QueueDisc> inner)
{
    WayOut way;
    while (inner && inner->GetNPackets() > 0)
    {
        auto item = inner->Dequeue();
        if (!item)
        {
            break; // it has its reasons to wait
        }
        if (item->GetSize() == item->GetPacket()->GetSize())
        {
            // It has its header already: the device had refused it once.
            agent->GetDevice()->Send(item->GetPacket(), item->GetAddress(), item->GetProtocol());
        }
        else
        {
            way.backlog.push_back(item);
        }
    }
    way.queueDisc = Wrap(agent, inner);
    return way;
}

/// A device of many queues has a queue disc for each of them.
Ptr<QueueDisc>
WrapRoot(Ptr<LasthopAgent> agent, Ptr<QueueDisc> root, std::vector<WayOut>& ways)
{
    auto device = agent->GetDevice()->GetObject<NetDeviceQueueInterface>();
    std::size_t queues = device ? device->GetNTxQueues() : 1;
    bool many = root ? bool(DynamicCast<MqQueueDisc>(root)) : queues > 1;
    if (!many)
    {
        ways.push_back(MakeWayOut(agent, root));
        return ways.back().queueDisc;
    }
    auto all = CreateObject<MqQueueDisc>();
    for (std::size_t i = 0; i < (root ? root->GetNQueueDiscClasses() : queues); i++)
    {
        ways.push_back(
            MakeWayOut(agent, root ? root->GetQueueDiscClass(i)->GetQueueDisc() : nullptr));
        ways.back().queueDisc->Keep(root);
        auto place = CreateObject<QueueDiscClass>();
        place->SetQueueDisc(ways.back().queueDisc);
        all->AddQueueDiscClass(place);
    }
    return all;
}

void
WritePacket(Ptr<PcapFileWrapper> file, Ptr<const Packet> packet, uint32_t number)
{
    file->Write(Simulator::Now(), packet);
}

} // namespace

LasthopHelper::LasthopHelper()
{
    m_factory.SetTypeId(LasthopAgent::GetTypeId());
}

void
LasthopHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    m_factory.Set(name, value);
}

Ptr<LasthopAgent>
LasthopHelper::Install(Ptr<NetDevice> device) const
{
    auto node = device->GetNode();
    NS_ABORT_MSG_IF(!node, "LasthopHelper: the device is on no node");
    auto control = node->GetObject<TrafficControlLayer>();
    NS_ABORT_MSG_IF(!control, "LasthopHelper: install the internet stack on the node first");
    NS_ABORT_MSG_IF(device->GetObject<LasthopAgent>(), "LasthopHelper: the device has an agent");
    auto agent = m_factory.Create<LasthopAgent>();
    agent->Attach(device);
    device->AggregateObject(agent);
    if (auto wifi = DynamicCast<WifiNetDevice>(device))
    {
        lasthop::ConnectWifiReports(agent, wifi);
    }
    auto root = control->GetRootQueueDiscOnDevice(device);
    if (root)
    {
        control->DeleteRootQueueDiscOnDevice(device);
    }
    std::vector<WayOut> ways;
    auto wrapped = WrapRoot(agent, root, ways);
    control->SetRootQueueDiscOnDevice(device, wrapped);
    if (node->IsInitialized())
    {
        control->ScanDevices();
        wrapped->Initialize();
        for (const auto& way : ways)
        {
            way.queueDisc->Restore(way.backlog);
        }
    }
    return agent;
}

std::vector<Ptr<LasthopAgent>>
LasthopHelper::Install(const NetDeviceContainer& devices) const
{
    std::vector<Ptr<LasthopAgent>> agents;
    for (auto device = devices.Begin(); device != devices.End(); ++device)
    {
        agents.push_back(Install(*device));
    }
    return agents;
}

void
LasthopHelper::EnablePcap(const std::string& file, Ptr<LasthopAgent> agent)
{
    PcapHelper pcap;
    auto wrapper = pcap.CreateFile(file, std::ios::out, PcapHelper::DLT_RAW);
    agent->TraceConnectWithoutContext("Retransmitted", MakeBoundCallback(&WritePacket, wrapper));
    agent->TraceConnectWithoutContext("Released", MakeBoundCallback(&WritePacket, wrapper));
}

} // namespace ns3
