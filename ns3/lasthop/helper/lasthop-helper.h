/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_HELPER_H
#define LASTHOP_HELPER_H

#include "ns3/attribute.h"
#include "ns3/lasthop-agent.h"
#include "ns3/net-device-container.h"
#include "ns3/object-factory.h"
#include "ns3/queue-disc.h"

#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup lasthop
 * @brief Puts agents on the devices of base stations that face a lossy link.
 *
 * The internet stack has to be on the node before. Where queue discs shall stay in use,
 * install after the addresses are assigned, which is when ns-3 puts its own ones there.
 */
class LasthopHelper
{
  public:
    LasthopHelper();

    /**
     * @param name of an attribute of LasthopAgent
     * @param value for the agents that are installed from here on
     */
    void SetAttribute(const std::string& name, const AttributeValue& value);

    /**
     * @param device that faces the lossy link
     * @return its agent, which is also aggregated to the device
     */
    Ptr<LasthopAgent> Install(Ptr<NetDevice> device) const;

    /**
     * @param devices that face lossy links
     * @return an agent for each, in their order
     */
    std::vector<Ptr<LasthopAgent>> Install(const NetDeviceContainer& devices) const;

    /**
     * Writes what an agent sends of itself, repairs and released ACKs, into a file.
     *
     * @param file name of the file, raw IP packets in pcap's format
     * @param agent the agent
     */
    static void EnablePcap(const std::string& file, Ptr<LasthopAgent> agent);

  private:
    ObjectFactory m_factory; //!< makes the agents
};

} // namespace ns3

#endif /* LASTHOP_HELPER_H */
