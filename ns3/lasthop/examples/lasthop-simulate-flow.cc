/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "lasthop-simulate-flow.h"

#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-address.h"
#include "ns3/simulator.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

namespace
{

/// Prime, so that a piece that is out of place by any power of two, or by some segments, is seen.
constexpr uint32_t PERIOD = 65521;
/// The most that is handed to a socket at once.
constexpr uint32_t PIECE = 16384;

/// @return what all flows send, each from another byte on: a piece from anywhere in a period.
std::vector<uint8_t>
MakeContent()
{
    std::vector<uint8_t> content(PERIOD + PIECE);
    uint32_t state = 1;
    for (uint32_t i = 0; i < content.size(); i++)
    {
        // Numerical Recipes' generator; the upper bits are the good ones.
        state = state * 1664525U + 1013904223U;
        content[i] = i < PERIOD ? state >> 24 : content[i - PERIOD];
    }
    return content;
}

} // namespace

LasthopSimulatedFlow::LasthopSimulatedFlow(uint32_t number, uint64_t limitBytes)
    : m_limit(limitBytes),
      m_shift(number * 40503ULL % PERIOD)
{
}

const uint8_t*
LasthopSimulatedFlow::Content(uint64_t at) const
{
    static const std::vector<uint8_t> content = MakeContent();
    return &content[(at + m_shift) % PERIOD];
}

void
LasthopSimulatedFlow::Listen(Ptr<Node> node, uint16_t port, uint32_t window)
{
    m_listener = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    if (window > 0)
    {
        m_listener->SetAttribute("RcvBufSize", UintegerValue(window));
    }
    m_listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    m_listener->Listen();
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&LasthopSimulatedFlow::Accept, this));
}

void
LasthopSimulatedFlow::SetControl(const std::string& control)
{
    m_control = control;
}

void
LasthopSimulatedFlow::Connect(Ptr<Node> node, const Address& to)
{
    m_begun = Simulator::Now();
    if (!m_control.empty())
    {
        node->GetObject<TcpL4Protocol>()->SetAttribute(
            "SocketType", TypeIdValue(TypeId::LookupByName(m_control)));
    }
    m_sender = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    m_sender->TraceConnectWithoutContext("Tx",
                                         MakeCallback(&LasthopSimulatedFlow::CountSegment, this));
    m_sender->TraceConnectWithoutContext("RTO",
                                         MakeCallback(&LasthopSimulatedFlow::CountTimeout, this));
    m_sender->TraceConnectWithoutContext("RTT", MakeCallback(&LasthopSimulatedFlow::KeepRtt, this));
    m_sender->SetSendCallback(MakeCallback(&LasthopSimulatedFlow::Fill, this));
    auto fail = MakeCallback(&LasthopSimulatedFlow::Fail, this);
    m_sender->SetConnectCallback(MakeNullCallback<void, Ptr<Socket>>(), fail);
    m_sender->SetCloseCallbacks(MakeNullCallback<void, Ptr<Socket>>(), fail);
    m_failed = m_sender->Bind() != 0 || m_sender->Connect(to) != 0;
}

void
LasthopSimulatedFlow::Fill(Ptr<Socket> socket, uint32_t space)
{
    while (!m_stopped && (m_limit == 0 || m_written < m_limit) && socket->GetTxAvailable() > 0)
    {
        uint64_t bytes = std::min(PIECE, socket->GetTxAvailable());
        bytes = m_limit ? std::min(bytes, m_limit - m_written) : bytes;
        auto packet = Create<Packet>(Content(m_written), bytes);
        if (socket->Send(packet) < 0)
        {
            return; // asked again when there is room
        }
        m_written += bytes;
    }
    if (m_limit > 0 && m_written == m_limit && !m_stopped)
    {
        m_written++; // once
        socket->Close();
    }
}

void
LasthopSimulatedFlow::Accept(Ptr<Socket> socket, const Address& from)
{
    m_receiver = socket;
    socket->SetCloseCallbacks(MakeNullCallback<void, Ptr<Socket>>(),
                              MakeCallback(&LasthopSimulatedFlow::Fail, this));
    socket->SetRecvCallback(MakeCallback(&LasthopSimulatedFlow::Read, this));
}

void
LasthopSimulatedFlow::Fail(Ptr<Socket> socket)
{
    // An end that has everything may be left alone by the other one.
    m_failed = m_failed || (!m_took && !m_stopped);
}

void
LasthopSimulatedFlow::Read(Ptr<Socket> socket)
{
    uint8_t bytes[PIECE];
    for (int got; (got = socket->Recv(bytes, sizeof(bytes), 0)) > 0;)
    {
        m_right = m_right && std::equal(bytes, bytes + got, Content(m_received));
        m_received += got;
    }
    if (m_limit > 0 && m_received >= m_limit && !m_took)
    {
        m_right = m_right && m_received == m_limit;
        m_took = Simulator::Now() - m_begun;
        if (!m_done.IsNull())
        {
            m_done();
        }
    }
}

void
LasthopSimulatedFlow::Stop()
{
    m_stopped = true;
    if (m_receiver)
    {
        m_receiver->SetRecvCallback(MakeCallback(&LasthopSimulatedFlow::Refuse, this));
    }
    else if (m_sender)
    {
        m_sender->Close();
    }
}

void
LasthopSimulatedFlow::Refuse(Ptr<Socket> socket)
{
    // ns-3 has no abort(): a socket that is closed with bytes unread resets its connection. Not
    // here, where it still works on the segment that it got.
    socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
    Simulator::ScheduleNow([socket] { socket->Close(); });
}

void
LasthopSimulatedFlow::CountSegment(Ptr<const Packet> packet,
                                   const TcpHeader& header,
                                   Ptr<const TcpSocketBase> socket)
{
    if (packet->GetSize() == 0)
    {
        return;
    }
    m_sent.segments++;
    SequenceNumber32 end = header.GetSequenceNumber() + SequenceNumber32(packet->GetSize());
    if (m_hasSent && header.GetSequenceNumber() < m_highest)
    {
        m_sent.retransmits++;
    }
    if (!m_hasSent || end > m_highest)
    {
        m_highest = end;
    }
    m_hasSent = true;
}

void
LasthopSimulatedFlow::CountTimeout(Time before, Time now)
{
    // Nothing else than a timeout doubles it to the nanosecond.
    if (m_hasSent && now == before + before)
    {
        m_sent.timeouts++;
    }
}

void
LasthopSimulatedFlow::KeepRtt(Time before, Time now)
{
    m_rtt = now;
}

uint64_t
LasthopSimulatedFlow::GetReceived() const
{
    return m_received;
}

bool
LasthopSimulatedFlow::IsContentRight() const
{
    return m_right;
}

bool
LasthopSimulatedFlow::HasFailed() const
{
    return m_failed;
}

std::optional<Time>
LasthopSimulatedFlow::GetCompletion() const
{
    return m_took;
}

const LasthopSimulatedFlow::Sent&
LasthopSimulatedFlow::GetSent() const
{
    return m_sent;
}

Time
LasthopSimulatedFlow::GetRtt() const
{
    return m_rtt;
}

void
LasthopSimulatedFlow::SetDone(Callback<void> done)
{
    m_done = done;
}

} // namespace ns3
