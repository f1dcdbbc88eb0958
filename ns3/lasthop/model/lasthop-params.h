/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef LASTHOP_PARAMS_H
#define LASTHOP_PARAMS_H

#include "ns3/type-id.h"

#include "core.h"

#include <cstdint>
#include <map>

namespace ns3
{

class LasthopAgent;

/**
 * @ingroup lasthop
 *
 * The core's parameters (core/params.h) as attributes of an agent: lrto_floor is LrtoFloor, a time;
 * and so on for whatever the core has.
 */
class LasthopParams
{
  public:
    /// What is set, by the parameter's number, in the unit of its field.
    using Values = std::map<uint32_t, uint64_t>;

    /**
     * @param tid type of the agent
     * @return the same with an attribute for each parameter
     */
    static TypeId AddTo(TypeId tid);

    /**
     * @param agent an agent
     * @return what was set of its parameters
     */
    static Values& Of(LasthopAgent& agent);

    /**
     * @param values what is set; the core's defaults hold for the rest
     * @return the configuration, but for its scheme
     */
    static lh_config Config(const Values& values);
};

} // namespace ns3

#endif // LASTHOP_PARAMS_H
