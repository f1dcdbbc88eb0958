/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-helper.h"

#include "../model/lasthop-queue-disc.h"

#include "ns3/abort.h"
#include "ns3/mq-queue-disc.h"
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

/// As Wrap(); a device of many queues has a queue disc for each of them.
Ptr<QueueDisc>
WrapRoot(Ptr<LasthopAgent> agent, Ptr<QueueDisc> root)
{
    if (!DynamicCast<MqQueueDisc>(root))
    {
        return Wrap(agent, root);
    }
    auto all = CreateObject<MqQueueDisc>();
    for (std::size_t i = 0; i < root->GetNQueueDiscClasses(); i++)
    {
        auto outer = Wrap(agent, root->GetQueueDiscClass(i)->GetQueueDisc());
        outer->Keep(root);
        auto place = CreateObject<QueueDiscClass>();
        place->SetQueueDisc(outer);
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
    auto root = control->GetRootQueueDiscOnDevice(device);
    if (root)
    {
        control->DeleteRootQueueDiscOnDevice(device);
    }
    auto wrapped = WrapRoot(agent, root);
    control->SetRootQueueDiscOnDevice(device, wrapped);
    if (node->IsInitialized())
    {
        control->ScanDevices();
        wrapped->Initialize();
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
