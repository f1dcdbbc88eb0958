/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_SIMULATE_OPTIONS_H
#define LASTHOP_SIMULATE_OPTIONS_H

#include "ns3/nstime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/// A lossy link: the one that all hosts share, or that of one host.
struct LasthopHop
{
    std::string rate{"20Mbps"}; //!< from BS to MH
    std::string rateUp;         //!< from MH to BS; empty: as the other
    uint32_t queue{181};        //!< packets that may wait, from BS to MH
    uint32_t queueUp{0};        //!< from MH to BS; 0: as the other
    double loss{0};             //!< share of the frames, from BS to MH
    double lossUp{0};           //!< share of the frames, from MH to BS
    uint32_t window{0};         //!< bytes that MH grants; 0: ns3::TcpSocket::RcvBufSize
};

/// An 802.11 medium for both directions, in place of the rates of a hop.
struct LasthopMac
{
    std::string standard;     //!< 802.11a, 802.11b or 802.11g; empty: none
    std::string rate;         //!< of data, Mbit/s; empty: the standard's highest
    uint32_t tries{7};        //!< attempts that a frame gets in all
    double sendWatts{0.6};    //!< power of a radio that sends (Kim and Chung 2007)
    double receiveWatts{0.3}; //!< of one that receives (the same)
    double idleWatts{0.3};    //!< of one that does neither: it listens
};

/// A flow that the agent leaves alone.
struct LasthopNeighbour
{
    std::string kind; //!< congestion control, or rate of UDP
    Time start;       //!< when it begins
    Time end;         //!< when it ends
};

/// A short transfer.
struct LasthopArrival
{
    Time start;     //!< when it begins
    uint64_t bytes; //!< that it carries
};

/// What the command line of lasthop-simulate says.
struct LasthopSimulateOptions
{
    std::string scheme{"rack"};               //!< of the agent; "none": no agent
    std::string agents{"base"};               //!< ends of the hop that have one: or mobile, both
    LasthopMac mac;                           //!< of the hop
    std::string cc{"ns3::TcpNewReno"};        //!< congestion controls, by commas, flow by flow
    std::string aqm{"fifo"};                  //!< queue discipline of the hop
    LasthopHop hop;                           //!< that the hosts share; its losses are in files
    std::string wiredRate{"1Gbps"};           //!< of the wire
    Time delay{MilliSeconds(5)};              //!< of the hop, one way
    Time wiredDelay{MilliSeconds(50)};        //!< of the wire, one way
    uint32_t wiredQueue{4000};                //!< packets that may wait at the wire
    std::string lost;                         //!< file: numbers of the frames lost, BS to MH
    std::string lostUp;                       //!< the same from MH to BS
    double ber{0};                            //!< of the hop, both ways
    std::string twoState;                     //!< GoodInterval,BadInterval,GoodTime,BadTime
    std::string burst;                        //!< Loss,MeanBurst of Gilbert's model
    std::string burstUp;                      //!< the same from MH to BS
    uint32_t hosts{1};                        //!< mobile hosts
    std::vector<LasthopHop> hostHops;         //!< a link for each host; empty: they share the hop
    uint32_t flows{1};                        //!< connections, over the hosts in turn
    std::string direction{"down"};            //!< who sends: down, up or both
    Time startGap{0};                         //!< between two flows' starts
    uint64_t bytes{0};                        //!< of each flow; 0: no end
    Time warmup{0};                           //!< not measured
    Time duration{Seconds(20)};               //!< measured; with bytes: the most that it may take
    std::vector<LasthopNeighbour> neighbours; //!< beside the flows
    bool hasArrivals{false};                  //!< whether transfers arrive, be it none
    std::vector<LasthopArrival> arrivals;     //!< short transfers beside the flows
    std::string pcap;                         //!< what the agent sends of itself
};

/**
 * Reads the command line; a mistake on it ends the program.
 *
 * @param argc number of arguments
 * @param argv arguments
 * @return what they say
 */
LasthopSimulateOptions LasthopParse(int argc, char* argv[]);

} // namespace ns3

#endif /* LASTHOP_SIMULATE_OPTIONS_H */
