/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_SIMULATE_FLOW_H
#define LASTHOP_SIMULATE_FLOW_H

#include "ns3/address.h"
#include "ns3/callback.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/sequence-number.h"
#include "ns3/socket.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-socket-base.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ns3
{

/**
 * One TCP connection that carries bytes that both ends know, and what is counted of it.
 *
 * The sender's application always has more to send, up to a limit if there is one; the receiver
 * compares what it reads.
 */
class LasthopSimulatedFlow
{
  public:
    /// What the sender's TCP has done since the connection began.
    struct Sent
    {
        uint64_t segments{0};    //!< with data, retransmissions included
        uint64_t retransmits{0}; //!< segments sent again
        uint64_t timeouts{0};    //!< retransmission timeouts
    };

    /**
     * @param number of the flow, which its bytes depend on
     * @param limitBytes after so many the sender closes; 0: never
     */
    LasthopSimulatedFlow(uint32_t number, uint64_t limitBytes);

    /**
     * @param node of the receiver, which listens
     * @param port that it listens on
     * @param window bytes that it grants; 0: as by ns3::TcpSocket::RcvBufSize
     */
    void Listen(Ptr<Node> node, uint16_t port, uint32_t window = 0);

    /** @param control of the sender's congestion, a type of ns-3 */
    void SetControl(const std::string& control);

    /**
     * @param node of the sender
     * @param to address of the receiver and its port
     */
    void Connect(Ptr<Node> node, const Address& to);

    /// Cuts it off: the receiver reads no more, and resets the connection.
    void Stop();

    /** @return bytes that the receiver has read. */
    uint64_t GetReceived() const;

    /** @return whether all of them were the right ones. */
    bool IsContentRight() const;

    /** @return whether TCP gave the connection up. */
    bool HasFailed() const;

    /** @return from Connect() until the last byte was read; none before. */
    std::optional<Time> GetCompletion() const;

    /** @return what the sender has sent. */
    const Sent& GetSent() const;

    /** @return the newest round trip that the sender knows, smoothed; 0: none yet. */
    Time GetRtt() const;

    /** @param done called when the last byte has been read. */
    void SetDone(Callback<void> done);

  private:
    /// @param socket that can take more
    /// @param space bytes that it can take
    void Fill(Ptr<Socket> socket, uint32_t space);
    /// @param socket that the connection came in on
    /// @param from the sender
    void Accept(Ptr<Socket> socket, const Address& from);
    /// @param socket whose connection was given up, or never came about
    void Fail(Ptr<Socket> socket);
    /// @param socket with bytes to read
    void Read(Ptr<Socket> socket);
    /// @param socket with bytes that nobody reads
    void Refuse(Ptr<Socket> socket);
    /// @param packet without its header
    /// @param header its header
    /// @param socket the sender's
    void CountSegment(Ptr<const Packet> packet,
                      const TcpHeader& header,
                      Ptr<const TcpSocketBase> socket);
    /// @param before the timeout before
    /// @param now the timeout from here on
    void CountTimeout(Time before, Time now);
    /// @param before the round trip before
    /// @param now the round trip from here on
    void KeepRtt(Time before, Time now);

    /// @param at number of a byte of the flow
    /// @return it, with the next ones behind it
    const uint8_t* Content(uint64_t at) const;

    std::string m_control;      //!< of congestion; empty: the node's
    uint64_t m_limit;           //!< bytes to send; 0: without end
    uint64_t m_shift;           //!< where in the common content it begins
    Ptr<Socket> m_listener;     //!< the receiver's door
    Ptr<Socket> m_receiver;     //!< its end
    Ptr<Socket> m_sender;       //!< the other end
    uint64_t m_written{0};      //!< bytes that the sender's socket took
    uint64_t m_received{0};     //!< bytes read
    bool m_right{true};         //!< all as they should be
    bool m_failed{false};       //!< whether the connection was given up
    bool m_stopped{false};      //!< whether Stop() was called
    Time m_begun;               //!< when Connect() was called
    std::optional<Time> m_took; //!< from there to the last byte
    Sent m_sent;                //!< what is counted
    bool m_hasSent{false};      //!< whether m_highest holds
    SequenceNumber32 m_highest; //!< behind the last byte sent
    Time m_rtt;                 //!< newest round trip
    Callback<void> m_done;      //!< to be told of the end
};

} // namespace ns3

#endif /* LASTHOP_SIMULATE_FLOW_H */
