/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_ERROR_MODEL_H
#define LASTHOP_ERROR_MODEL_H

#include "ns3/error-model.h"
#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"

namespace ns3
{

/**
 * @ingroup lasthop
 * @brief The modified two-state Markov model of the ns-2 study of Snoop.
 *
 * Good and bad states last for exponentially distributed times. Within each, errors come after
 * an exponentially distributed number of packets (of one at least, in whole ones). The defaults are
 * the study's: 166 and 2.6 packets, 0.66 s and 0.01 s (papers/snoop-ns2-evaluation.txt,
 * section 3.2, from the traces of Nguyen, Katz, Noble and Satyanarayanan, 1996).
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

} // namespace ns3

#endif /* LASTHOP_ERROR_MODEL_H */
