/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-error-model.h"

#include "ns3/abort.h"
#include "ns3/double.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(LasthopTwoStateErrorModel);
NS_OBJECT_ENSURE_REGISTERED(LasthopGilbertErrorModel);
NS_OBJECT_ENSURE_REGISTERED(LasthopListErrorModel);

TypeId
LasthopTwoStateErrorModel::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::LasthopTwoStateErrorModel")
            .SetParent<ErrorModel>()
            .SetGroupName("Lasthop")
            .AddConstructor<LasthopTwoStateErrorModel>()
            .AddAttribute("GoodInterval",
                          "Mean number of packets from one error to the next in the good state.",
                          DoubleValue(166),
                          MakeDoubleAccessor(&LasthopTwoStateErrorModel::m_goodInterval),
                          MakeDoubleChecker<double>(0.001))
            .AddAttribute("BadInterval",
                          "Mean number of packets from one error to the next in the bad state.",
                          DoubleValue(2.6),
                          MakeDoubleAccessor(&LasthopTwoStateErrorModel::m_badInterval),
                          MakeDoubleChecker<double>(0.001))
            .AddAttribute("GoodTime",
                          "Mean length of the good state.",
                          TimeValue(Seconds(0.66)),
                          MakeTimeAccessor(&LasthopTwoStateErrorModel::m_goodTime),
                          MakeTimeChecker(NanoSeconds(1)))
            .AddAttribute("BadTime",
                          "Mean length of the bad state.",
                          TimeValue(Seconds(0.01)),
                          MakeTimeAccessor(&LasthopTwoStateErrorModel::m_badTime),
                          MakeTimeChecker(NanoSeconds(1)));
    return tid;
}

LasthopTwoStateErrorModel::LasthopTwoStateErrorModel()
    : m_random(CreateObject<ExponentialRandomVariable>())
{
}

LasthopTwoStateErrorModel::~LasthopTwoStateErrorModel() = default;

int64_t
LasthopTwoStateErrorModel::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

void
LasthopTwoStateErrorModel::Draw()
{
    double mean = m_bad ? m_badInterval : m_goodInterval;
    // Rounded up to whole packets, an exponential of this scale has the mean that is asked for.
    m_left = mean > 1 ? std::ceil(-m_random->GetValue() / std::log1p(-1 / mean)) : 1;
}

bool
LasthopTwoStateErrorModel::DoCorrupt(Ptr<Packet> packet)
{
    Time now = Simulator::Now();
    if (!m_started)
    {
        m_started = true;
        m_until = now + m_goodTime * m_random->GetValue();
        Draw();
    }
    while (now >= m_until)
    {
        m_bad = !m_bad;
        m_until += (m_bad ? m_badTime : m_goodTime) * m_random->GetValue();
        Draw();
    }
    m_left -= 1;
    if (m_left >= 1)
    {
        return false;
    }
    Draw();
    return true;
}

void
LasthopTwoStateErrorModel::DoReset()
{
    m_started = false;
    m_bad = false;
}

TypeId
LasthopGilbertErrorModel::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::LasthopGilbertErrorModel")
            .SetParent<ErrorModel>()
            .SetGroupName("Lasthop")
            .AddConstructor<LasthopGilbertErrorModel>()
            .AddAttribute("Loss",
                          "Share of the packets that is lost in the long run.",
                          DoubleValue(0.01),
                          MakeDoubleAccessor(&LasthopGilbertErrorModel::m_loss),
                          MakeDoubleChecker<double>(0, 0.99))
            .AddAttribute("MeanBurst",
                          "Mean number of packets that are lost in a row.",
                          DoubleValue(4),
                          MakeDoubleAccessor(&LasthopGilbertErrorModel::m_meanBurst),
                          MakeDoubleChecker<double>(1));
    return tid;
}

LasthopGilbertErrorModel::LasthopGilbertErrorModel()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

LasthopGilbertErrorModel::~LasthopGilbertErrorModel() = default;

int64_t
LasthopGilbertErrorModel::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

bool
LasthopGilbertErrorModel::DoCorrupt(Ptr<Packet> packet)
{
    // In balance, the bad state's share is the loss: toBad / (toBad + toGood).
    double toGood = 1 / m_meanBurst;
    double toBad = toGood * m_loss / (1 - m_loss);
    NS_ABORT_MSG_IF(toBad > 1,
                    "LasthopGilbertErrorModel: so much loss needs a longer MeanBurst, of "
                        << m_loss / (1 - m_loss) << " at least");
    m_bad = m_random->GetValue() < (m_bad ? 1 - toGood : toBad);
    return m_bad;
}

void
LasthopGilbertErrorModel::DoReset()
{
    m_bad = false;
}

TypeId
LasthopListErrorModel::GetTypeId()
{
    static TypeId tid = TypeId("ns3::LasthopListErrorModel")
                            .SetParent<ErrorModel>()
                            .SetGroupName("Lasthop")
                            .AddConstructor<LasthopListErrorModel>();
    return tid;
}

LasthopListErrorModel::LasthopListErrorModel() = default;

LasthopListErrorModel::~LasthopListErrorModel() = default;

void
LasthopListErrorModel::SetLost(const std::vector<uint64_t>& numbers)
{
    NS_ABORT_MSG_UNLESS(std::is_sorted(numbers.begin(), numbers.end()),
                        "LasthopListErrorModel: the numbers must go upwards");
    m_lost = numbers;
    DoReset();
}

bool
LasthopListErrorModel::DoCorrupt(Ptr<Packet> packet)
{
    bool lost = m_next < m_lost.size() && m_lost[m_next] == m_packets;
    m_next += lost;
    m_packets++;
    return lost;
}

void
LasthopListErrorModel::DoReset()
{
    m_next = 0;
    m_packets = 0;
}

} // namespace ns3
