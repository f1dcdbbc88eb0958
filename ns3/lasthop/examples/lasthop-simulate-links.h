/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_SIMULATE_LINKS_H
#define LASTHOP_SIMULATE_LINKS_H

#include "lasthop-simulate-errors.h"
#include "lasthop-simulate-options.h"
#include "lasthop-simulate-wifi.h"

#include "ns3/ipv4-address.h"
#include "ns3/net-device-container.h"
#include "ns3/node-container.h"
#include "ns3/queue-disc.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * The hosts of a run, and what lies between them.
 *
 * Either all mobile hosts share the hop from BS to "air", behind which nothing takes time. Or each
 * has a link of its own there, and the way to "air" takes no time: then what BS sends waits where
 * the agent's device cannot see it, as for the stations of the test bed. A hop on Wi-Fi is from the
 * access point BS to the station "air"; its delay lies behind it, since a MAC waits for its
 * answers.
 */
class LasthopSimulatedLinks
{
  public:
    /// What became of the frames of one direction of the lossy links.
    struct Counts
    {
        uint64_t lost{0};         //!< by errors
        uint64_t queueDropped{0}; //!< for want of room
        uint64_t aqmDropped{0};   //!< by the queue discipline, while there was room
        uint64_t aqmMarked{0};    //!< by it, in place of a drop
    };

    /** @param options what is built */
    explicit LasthopSimulatedLinks(const LasthopSimulateOptions& options);

    /** @return FH. */
    Ptr<Node> GetFixed() const;
    /** @return its address. */
    Ipv4Address GetFixedAddress() const;
    /**
     * @param host number of a mobile host
     * @return it
     */
    Ptr<Node> GetMobile(uint32_t host) const;
    /**
     * @param host number of a mobile host
     * @return its address
     */
    Ipv4Address GetMobileAddress(uint32_t host) const;
    /**
     * @param host number of a mobile host
     * @return bytes that it grants; 0: as by ns3::TcpSocket::RcvBufSize
     */
    uint32_t GetWindow(uint32_t host) const;
    /** @return BS's device towards the mobile hosts. */
    Ptr<NetDevice> GetBaseDevice() const;
    /** @return the device at the other end of the hop that all mobile hosts share. */
    Ptr<NetDevice> GetMobileDevice() const;
    /** @return the hop's radios, null: it has none. */
    const LasthopSimulatedWifi* GetWifi() const;
    /// Runs the simulation until the hop can carry packets.
    void Settle();
    /**
     * @param up whether from the mobile hosts, else to them
     * @return what was counted so far
     */
    Counts Count(bool up) const;

  private:
    /// One direction of a lossy link.
    struct Way
    {
        Ptr<QueueDisc> queue;             //!< before it
        Ptr<LasthopAnyErrorModel> errors; //!< on it
    };

    void MakeWire();
    void MakeBase();
    void MakeHosts();
    /// @return the devices of the hop that all mobile hosts share, BS's first
    NetDeviceContainer MakeSharedHop();
    /// @return the same on Wi-Fi
    NetDeviceContainer MakeWifi();
    /// @param group number of it
    /// @param network its hosts' addresses
    /// @return the router that its hosts are linked to
    Ptr<Node> MakeGroup(uint32_t group, Ipv4Address network);
    /// @param from end on the side of BS
    /// @param to other end
    /// @param hop what it is like
    /// @param stream first one of its random numbers
    /// @return its devices
    NetDeviceContainer MakeHop(Ptr<Node> from, Ptr<Node> to, const LasthopHop& hop, int64_t stream);
    /// @param loss share of the frames that are lost
    /// @param up whether on the way to BS
    /// @param stream first one of its random numbers
    /// @return the errors of one way
    Ptr<LasthopAnyErrorModel> MakeErrors(double loss, bool up, int64_t stream) const;

    const LasthopSimulateOptions& m_options;      //!< what is built
    NodeContainer m_nodes;                        //!< FH, BS, air
    NodeContainer m_mobiles;                      //!< MH 0, ...
    Ipv4Address m_fixedAddress;                   //!< FH's
    std::vector<Ipv4Address> m_mobileAddresses;   //!< the mobile hosts'
    Ptr<NetDevice> m_base;                        //!< BS's towards air
    Ptr<NetDevice> m_air;                         //!< air's towards BS
    std::unique_ptr<LasthopSimulatedWifi> m_wifi; //!< the hop's radios; null: none
    std::vector<Way> m_down;                      //!< lossy links, towards the mobile hosts
    std::vector<Way> m_up;                        //!< the same links, from them
};

} // namespace ns3

#endif /* LASTHOP_SIMULATE_LINKS_H */
