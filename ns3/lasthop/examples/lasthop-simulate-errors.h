/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_SIMULATE_ERRORS_H
#define LASTHOP_SIMULATE_ERRORS_H

#include "ns3/error-model.h"
#include "ns3/packet.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/// Loses what any of its parts loses. Each of them sees every packet.
class LasthopAnyErrorModel : public ErrorModel
{
  public:
    /** @param file with numbers of packets to lose, from 0, upwards */
    void AddList(const std::string& file);
    /**
     * @param loss share of the packets
     * @param stream of random numbers
     */
    void AddLoss(double loss, int64_t stream);
    /**
     * @param ber bit-error rate
     * @param stream of random numbers
     */
    void AddBitErrors(double ber, int64_t stream);
    /**
     * @param text GoodInterval,BadInterval,GoodTime,BadTime of LasthopTwoStateErrorModel
     * @param stream of random numbers
     */
    void AddTwoState(const std::string& text, int64_t stream);
    /**
     * @param text Loss,MeanBurst of LasthopGilbertErrorModel
     * @param stream of random numbers
     */
    void AddBurst(const std::string& text, int64_t stream);
    /** @return packets lost so far. */
    uint64_t GetLost() const;

  private:
    bool DoCorrupt(Ptr<Packet> packet) override;
    void DoReset() override;

    std::vector<Ptr<ErrorModel>> m_models; //!< the parts
    uint64_t m_lost{0};                    //!< packets lost
};

/// Spares what is no packet of IP, of the frames that a Wi-Fi radio receives: answers, beacons.
class LasthopAirErrorModel : public ErrorModel
{
  public:
    /** @param errors what loses the others, and sees none but those */
    void SetErrors(Ptr<ErrorModel> errors);

  private:
    bool DoCorrupt(Ptr<Packet> packet) override;
    void DoReset() override;

    Ptr<ErrorModel> m_errors; //!< the other part
};

/**
 * @param text values with commas between them
 * @return the values
 */
std::vector<std::string> LasthopSplit(const std::string& text);

/**
 * Ends the program, for a mistake on its command line.
 *
 * @param what is wrong, and what to do
 */
[[noreturn]] void LasthopRefuse(const std::string& what);

} // namespace ns3

#endif /* LASTHOP_SIMULATE_ERRORS_H */
