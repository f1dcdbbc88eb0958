/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_ERROR_MODEL_H
#define LASTHOP_ERROR_MODEL_H

#include "ns3/error-model.h"
#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * @ingroup lasthop
 * @brief The modified two-state Markov model of the ns-2 study of Snoop.
 *
 * Good and bad states last for exponentially distributed times. Within each, errors come after
 * an exponentially distributed number of packets (of one at least, in whole ones). The defaults are
 * the study's: 166 and 2.6 packets, 0.66 s and 0.01 s (Nguyen 2002, section
 * 3.2, from the traces of Nguyen, Katz, Noble and Satyanarayanan, 1996; docs/design.md, 9).
 */
class LasthopTwoStateErrorModel : public ErrorModel
{
  public:
    /**
     * @brief Get the type ID.
     * @return the object TypeId
     */
    static TypeId GetTypeId();
    LasthopTwoStateErrorModel();
    ~LasthopTwoStateErrorModel() override;

    /**
     * @param stream first stream index to use
     * @return how many are used
     */
    int64_t AssignStreams(int64_t stream);

  private:
    bool DoCorrupt(Ptr<Packet> packet) override;
    void DoReset() override;

    /// Draws how many packets pass before the next error in the present state.
    void Draw();

    double m_goodInterval; //!< GoodInterval
    double m_badInterval;  //!< BadInterval
    Time m_goodTime;       //!< GoodTime
    Time m_badTime;        //!< BadTime

    Ptr<ExponentialRandomVariable> m_random; //!< of mean 1
    bool m_started{false};                   //!< a packet has come
    bool m_bad{false};                       //!< the state
    Time m_until;                            //!< the state's end
    double m_left{0};                        //!< packets up to the next error
};

/**
 * @ingroup lasthop
 * @brief Gilbert's model for a wanted share of lost packets and a mean length of bursts.
 *
 * In the bad state every packet is lost, in the good one none.
 */
class LasthopGilbertErrorModel : public ErrorModel
{
  public:
    /**
     * @brief Get the type ID.
     * @return the object TypeId
     */
    static TypeId GetTypeId();
    LasthopGilbertErrorModel();
    ~LasthopGilbertErrorModel() override;

    /**
     * @param stream first stream index to use
     * @return how many are used
     */
    int64_t AssignStreams(int64_t stream);

  private:
    bool DoCorrupt(Ptr<Packet> packet) override;
    void DoReset() override;

    double m_loss;      //!< Loss
    double m_meanBurst; //!< MeanBurst

    Ptr<UniformRandomVariable> m_random; //!< between 0 and 1
    bool m_bad{false};                   //!< the state
};

/**
 * @ingroup lasthop
 * @brief Loses the packets with the numbers of a list, counted as they come.
 *
 * As ns-3's ReceiveListErrorModel, which walks its whole list for every packet. With the list that
 * lasthop-lab draws, a simulation loses the same frames as the test bed does.
 */
class LasthopListErrorModel : public ErrorModel
{
  public:
    /**
     * @brief Get the type ID.
     * @return the object TypeId
     */
    static TypeId GetTypeId();
    LasthopListErrorModel();
    ~LasthopListErrorModel() override;

    /** @param numbers of the packets to lose, from 0, upwards */
    void SetLost(const std::vector<uint64_t>& numbers);

  private:
    bool DoCorrupt(Ptr<Packet> packet) override;
    void DoReset() override;

    std::vector<uint64_t> m_lost; //!< numbers of packets
    size_t m_next{0};             //!< place of the next one there
    uint64_t m_packets{0};        //!< packets so far
};

} // namespace ns3

#endif /* LASTHOP_ERROR_MODEL_H */
