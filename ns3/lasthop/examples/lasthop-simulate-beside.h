/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_SIMULATE_BESIDE_H
#define LASTHOP_SIMULATE_BESIDE_H

#include "lasthop-simulate-flow.h"
#include "lasthop-simulate-links.h"
#include "lasthop-simulate-options.h"

#include "ns3/lasthop-agent.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

/// UDP at a steady rate, from one moment to another.
class LasthopSimulatedFlood
{
  public:
    /**
     * @param from sends
     * @param to receives
     * @param address of the receiver and its port
     * @param neighbour rate on the hop, headers included, and the time
     */
    LasthopSimulatedFlood(Ptr<Node> from,
                          Ptr<Node> to,
                          const Address& address,
                          const LasthopNeighbour& neighbour);

    /** @return bytes of payload that have arrived. */
    uint64_t GetReceived() const;

  private:
    void Send();
    /// @param socket with packets to read
    void Read(Ptr<Socket> socket);

    Ptr<Socket> m_sender;   //!< connected to the other
    Ptr<Socket> m_receiver; //!< bound to the address
    Time m_gap;             //!< from one packet to the next
    Time m_end;             //!< no packet from then on
    uint64_t m_received{0}; //!< bytes
};

/// What goes over the link beside the flows that are measured: neighbours that the agent leaves
/// alone, and short transfers that arrive.
class LasthopSimulatedBeside
{
  public:
    /// What a neighbour has at one moment.
    struct State
    {
        uint64_t received{0}; //!< bytes
        Time rtt;             //!< smoothed round trip; 0: none
    };

    /**
     * @param options what goes beside
     * @param links that it takes
     * @param agents at the hop's ends
     */
    LasthopSimulatedBeside(const LasthopSimulateOptions& options,
                           const LasthopSimulatedLinks& links,
                           const std::vector<Ptr<LasthopAgent>>& agents);

    /** @param done called when the last transfer has arrived. */
    void SetDone(Callback<void> done);
    /** @return whether all transfers have arrived. */
    bool IsDone() const;
    /** @return neighbours now, in the order of the command line. */
    std::vector<State> GetNeighbours() const;
    /**
     * @param arrival number of a transfer
     * @return from its connect() to its last byte; none before
     */
    std::optional<Time> GetCompletion(uint32_t arrival) const;
    /** @return whether all bytes were the right ones. */
    bool IsContentRight() const;
    /** @return connections that TCP gave up. */
    uint32_t GetFailed() const;

  private:
    /// @param number of a neighbour
    /// @param agents that are to leave it alone
    void AddNeighbour(uint32_t number, const std::vector<Ptr<LasthopAgent>>& agents);
    /// @param number of an arrival
    void Arrive(uint32_t number);
    void ArrivalDone();

    const LasthopSimulateOptions& m_options; //!< what goes beside
    const LasthopSimulatedLinks& m_links;    //!< that it takes
    const Time m_origin;                     //!< from which times of the options count

    std::vector<std::unique_ptr<LasthopSimulatedFlow>> m_arrivals; //!< null: still to come
    /// By neighbour; null: it is the other kind.
    std::vector<std::unique_ptr<LasthopSimulatedFlow>> m_flows;
    std::vector<std::unique_ptr<LasthopSimulatedFlood>> m_floods; //!< the same
    uint32_t m_arrived{0};                                        //!< transfers that have ended
    Callback<void> m_done;                                        //!< to be told of the last one
};

} // namespace ns3

#endif /* LASTHOP_SIMULATE_BESIDE_H */
