/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-queue-disc.h"

#include "lasthop-departure.h"
#include "lasthop-state.h"
#include "lasthop-wire.h"

#include "ns3/drop-tail-queue.h"
#include "ns3/log.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/object-factory.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("LasthopQueueDisc");

NS_OBJECT_ENSURE_REGISTERED(LasthopQueueDisc);

TypeId
LasthopQueueDisc::GetTypeId()
{
    static TypeId tid = TypeId("ns3::LasthopQueueDisc")
                            .SetParent<QueueDisc>()
                            .SetGroupName("Lasthop")
                            .AddConstructor<LasthopQueueDisc>();
    return tid;
}

LasthopQueueDisc::LasthopQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::NO_LIMITS)
{
}

LasthopQueueDisc::~LasthopQueueDisc() = default;

void
LasthopQueueDisc::SetAgent(Ptr<LasthopAgent> agent)
{
    m_agent = agent;
}

void
LasthopQueueDisc::Keep(Ptr<QueueDisc> former)
{
    m_former = former;
}

void
LasthopQueueDisc::DoDispose()
{
    m_agent = nullptr;
    QueueDisc::DoDispose();
}

bool
LasthopQueueDisc::Inject(Ptr<const Packet> packet,
                         const Address& address,
                         uint16_t protocol,
                         uint8_t txQueue)
{
    auto item = lasthop::MakeItem(packet, address, protocol);
    if (!item)
    {
        return false;
    }
    item->SetTxQueueIndex(txQueue);
    m_injecting = true;
    bool taken = Enqueue(item);
    m_injecting = false;
    Run();
    return taken;
}

void
LasthopQueueDisc::Restore(const std::vector<Ptr<QueueDiscItem>>& items)
{
    m_injecting = true;
    for (const auto& item : items)
    {
        Enqueue(item);
    }
    m_injecting = false;
    Run();
}

bool
LasthopQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    if (m_injecting || !m_agent)
    {
        return Place(item);
    }
    auto packet = lasthop::WholePacket(item);
    if (!packet)
    {
        return Place(item);
    }
    Address address = item->GetAddress();
    uint16_t protocol = item->GetProtocol();
    uint8_t txQueue = item->GetTxQueueIndex();
    bool taken = Place(item);
    m_agent->Egress(this, packet, taken ? item : nullptr, address, protocol, txQueue);
    return taken;
}

bool
LasthopQueueDisc::Place(Ptr<QueueDiscItem> item)
{
    LasthopDeparture departure(LasthopState::NowNs());
    item->GetPacket()->ReplacePacketTag(departure);
    if (GetNQueueDiscClasses() > 0)
    {
        return GetQueueDiscClass(0)->GetQueueDisc()->Enqueue(item);
    }
    if (GetInternalQueue(0)->GetNPackets() > 0)
    {
        DropBeforeEnqueue(item, DEVICE_FULL_DROP);
        return false;
    }
    return GetInternalQueue(0)->Enqueue(item);
}

Ptr<QueueDiscItem>
LasthopQueueDisc::DoDequeue()
{
    return GetNQueueDiscClasses() > 0 ? GetQueueDiscClass(0)->GetQueueDisc()->Dequeue()
                                      : GetInternalQueue(0)->Dequeue();
}

Ptr<const QueueDiscItem>
LasthopQueueDisc::DoPeek()
{
    return GetNQueueDiscClasses() > 0 ? GetQueueDiscClass(0)->GetQueueDisc()->Peek()
                                      : GetInternalQueue(0)->Peek();
}

bool
LasthopQueueDisc::CheckConfig()
{
    if (GetNPacketFilters() > 0 || GetNQueueDiscClasses() > 1 ||
        (GetNQueueDiscClasses() == 1 && GetNInternalQueues() > 0))
    {
        NS_LOG_ERROR("LasthopQueueDisc takes one child at most, no filters and no queues");
        return false;
    }
    if (GetNQueueDiscClasses() == 0 && GetNInternalQueues() == 0)
    {
        auto queue = CreateObject<DropTailQueue<QueueDiscItem>>();
        queue->SetMaxSize(QueueSize("1p"));
        AddInternalQueue(queue);
    }
    if (GetNQueueDiscClasses() == 1)
    {
        // Only a root gets it, and FqCoDel takes its quantum from the device behind.
        GetQueueDiscClass(0)->GetQueueDisc()->SetNetDeviceQueueInterface(
            GetNetDeviceQueueInterface());
    }
    return true;
}

void
LasthopQueueDisc::InitializeParams()
{
}

} // namespace ns3
