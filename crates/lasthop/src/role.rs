// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! At which end of the lossy hop a device is, as far as the routes tell.

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::{LH_ROLE_BASE, LH_ROLE_MOBILE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{RouteAttribute, RouteMessage};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::device;
use crate::netlink;

/// What `--role` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Role {
    /// The receivers are at the hop's other end, or close to it
    Base,
    /// The rest of the network is: receivers are far beyond
    Mobile,
    /// `mobile` if the default route leads over the device, else `base`
    Auto,
}

impl Role {
    /// The core's number for it (`enum lh_role`), for these devices.
    ///
    /// # Errors
    /// The devices are at different ends, or the routes can't be read.
    pub fn number(self, devices: &[String]) -> Result<u32> {
        match self {
            Self::Base => Ok(LH_ROLE_BASE),
            Self::Mobile => Ok(LH_ROLE_MOBILE),
            Self::Auto => by_routes(devices),
        }
    }
}

fn by_routes(devices: &[String]) -> Result<u32> {
    if let Some(name) = devices.iter().find(|name| device::ifindex(name).is_none()) {
        bail!("--role auto: there is no device {name}: say --role base or --role mobile");
    }
    let ways_out = default_routes().context("--role auto: the routes can't be read")?;
    let mobile = |name: &String| device::ifindex(name).is_some_and(|i| ways_out.contains(&i));
    let nr_mobile = devices.iter().filter(|name| mobile(name)).count();
    match nr_mobile {
        0 => Ok(LH_ROLE_BASE),
        n if n == devices.len() => Ok(LH_ROLE_MOBILE),
        _ => bail!(
            "--role auto: the default route leads over {} and not over all of {}; attach them one by one, with --role base and --role mobile",
            devices.iter().find(|name| mobile(name)).map_or("", |n| n),
            devices.join(", ")
        ),
    }
}

/// Indices of the devices over which everything goes that has no other way.
fn default_routes() -> Result<Vec<u32>> {
    let mut found = Vec::new();
    let ask = RouteNetlinkMessage::GetRoute(RouteMessage::default());
    netlink::dump(NETLINK_ROUTE, ask, |message| {
        if let RouteNetlinkMessage::NewRoute(route) = message {
            found.extend(ways(&route));
        }
    })?;
    Ok(found)
}

/// The devices of a default route; of another none.
fn ways(route: &RouteMessage) -> Vec<u32> {
    if route.header.destination_prefix_length != 0 {
        return Vec::new();
    }
    let mut ways = Vec::new();
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Oif(index) => ways.push(*index),
            RouteAttribute::MultiPath(hops) => {
                ways.extend(hops.iter().map(|hop| hop.interface_index));
            }
            _ => {}
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_default_routes_are_ways_out() {
        let mut route = RouteMessage::default();
        route.attributes.push(RouteAttribute::Oif(7));
        assert_eq!(ways(&route), [7]);
        route.header.destination_prefix_length = 24;
        assert!(ways(&route).is_empty());
    }

    #[test]
    fn a_device_that_is_not_there_has_no_role() {
        let number = Role::Auto.number(&["no-such-device".into()]);
        assert!(number.unwrap_err().to_string().contains("no-such-device"));
    }
}
