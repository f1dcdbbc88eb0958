/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_WIFI_REPORTS_H
#define LASTHOP_WIFI_REPORTS_H

#include "lasthop-agent.h"

#include "ns3/wifi-net-device.h"

namespace ns3
{
/// Not part of the interface: LasthopHelper calls it.
namespace lasthop
{

/**
 * Has the MAC of @p device tell @p agent of every frame that it sends, by its trace sources:
 *
 * - AckedMpdu: delivered;
 * - NAckedMpdu, MpduResponseTimeout, PsduResponseTimeout: undelivered, if the MAC keeps the frame;
 * - DroppedMpdu: given up, if it was tried. What never was (no room, or too old before its turn)
 * the queue has lost, and the queue's losses are the sender's.
 *
 * Each MSDU of an A-MSDU is a frame of its own here. Nothing is told of fragments, of which only
 * the first one has headers, and of multi-user transmissions that were not answered.
 *
 * @param agent on the device
 * @param device whose MAC is there already
 */
void ConnectWifiReports(Ptr<LasthopAgent> agent, Ptr<WifiNetDevice> device);

} // namespace lasthop
} // namespace ns3

#endif /* LASTHOP_WIFI_REPORTS_H */
