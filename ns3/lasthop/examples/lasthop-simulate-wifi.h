/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_SIMULATE_WIFI_H
#define LASTHOP_SIMULATE_WIFI_H

#include "lasthop-simulate-options.h"

#include "ns3/error-model.h"
#include "ns3/ipv4-interface-container.h"
#include "ns3/net-device-container.h"
#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy-state.h"

#include <array>
#include <cstdint>

namespace ns3
{

/// An access point and one station on 802.11: a lossy hop whose MAC has something to report.
class LasthopSimulatedWifi
{
  public:
    /// What one radio has done.
    struct Radio
    {
        Time sent;           //!< how long it sent
        Time received;       //!< how long it heard the other one, and did not send
        uint64_t givenUp{0}; //!< frames with data that its MAC dropped after the last attempt

        /**
         * @param mac what it draws
         * @param elapsed of which the times above are parts
         * @return microjoules
         */
        uint64_t GetEnergyUj(const LasthopMac& mac, Time elapsed) const;
    };

    using Radios = std::array<Radio, 2>; //!< the access point's, the station's

    /// Frames that a device holds at most, the one on the air among them.
    static constexpr uint32_t DEVICE_FRAMES = 2;

    /**
     * @param mac what it is like
     * @param accessPoint a node without such a device
     * @param station another one
     */
    LasthopSimulatedWifi(const LasthopMac& mac, Ptr<Node> accessPoint, Ptr<Node> station);
    // Trace sources know where it is.
    LasthopSimulatedWifi(const LasthopSimulatedWifi&) = delete;
    LasthopSimulatedWifi& operator=(const LasthopSimulatedWifi&) = delete;

    /** @return the access point's device and the station's. */
    NetDeviceContainer GetDevices() const;

    /**
     * @param up whether of what the access point receives, else the station
     * @param errors what its radio loses, attempt by attempt: of packets of IP only
     */
    void SetErrors(bool up, Ptr<ErrorModel> errors);

    /**
     * Tells either end the link address of the other, which no frame can be lost for then.
     *
     * @param interfaces of the devices, in their order
     */
    void ResolveAddresses(const Ipv4InterfaceContainer& interfaces);

    /// Runs the simulation until the station is associated.
    void Associate();

    /** @return what they have done so far. */
    const Radios& GetRadios() const;

  private:
    /// @param end 0: the access point, 1: the station
    Ptr<WifiNetDevice> GetDevice(uint32_t end) const;
    /// @param end whose device is set up, and observed from here on
    void Prepare(uint32_t end);

    NetDeviceContainer m_devices; //!< the access point's, the station's
    Radios m_radios;              //!< what they have done
    bool m_associated{false};     //!< whether Associate() is over
};

} // namespace ns3

#endif /* LASTHOP_SIMULATE_WIFI_H */
