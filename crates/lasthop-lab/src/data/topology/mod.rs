// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a test bed consists of, as data: hosts, the links between them with an emulator in the middle
//! of each, and where agents stand. `wiring` turns it into commands, `values` holds those in use.
//!
//! ```text
//!  fh            wan               bs              air             mh
//! ┌──────┐    ┌────────┐     ┌────────────┐     ┌────────┐     ┌──────┐
//! │  eth0├────┤fh    bs├─────┤eth0     wl0├─────┤bs    mh├─────┤eth0  │
//! └──────┘    └────────┘     └────────────┘     └────────┘     └──────┘
//! 10.1.0.2     linkemu     10.1.0.1  10.2.0.1    linkemu      10.2.0.2
//! fd01::2     a = fh,      fd01::1    fd02::1   a = bs,        fd02::2
//!             b = bs                            b = mh
//! ```
//! These five are [`Topology::five_hosts`]; with `--hops` there is a [`Topology::chain`]. In any other one, too, a link numbers the IP network
//! that it carries, a router has its first address, and the other end the second.

mod values;
mod wiring;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

pub use self::wiring::{Cable, Port};
use super::host::Host;

/// The base station's device towards the lossy hop, on which the agent is attached.
pub const LOSSY_DEVICE: &str = "wl0";
/// The device of FH, MH, and of the base station towards the wire.
pub const WIRED_DEVICE: &str = "eth0";
/// Hosts that the lossy network has addresses for, with some to spare.
pub const MOST_HOSTS: usize = 250;
/// Bytes of an IP packet that fit into a frame.
pub const MTU_BYTES: u32 = 1500;
/// Last byte of the address of a link's end that is no router, and of its first receiver.
const FAR_END: u8 = 2;

/// IP version of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Family {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

impl std::str::FromStr for Family {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "4" => Ok(Self::V4),
            "6" => Ok(Self::V6),
            _ => Err(format!("`{text}` is no IP version: write 4 or 6")),
        }
    }
}

impl std::fmt::Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::V4 => "4",
            Self::V6 => "6",
        })
    }
}

/// What a host is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Connections begin and end there. It has one link.
    End,
    /// It forwards.
    Router,
    /// It relays the frames of a link, and has no address.
    Emulator,
}

/// A host that talks IP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Station {
    /// That of a [`Host`], perhaps with a number: `bs2`.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// How many receivers an end stands for, each with an address of its own.
    pub receivers: usize,
}

/// What a link does to its frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// The wire of the link's options.
    Wire,
    /// Their lossy hop.
    Hop {
        /// Share of the frames lost in both directions, in place of theirs.
        loss: Option<f64>,
    },
}

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the host.
    pub host: String,
    /// Its device.
    pub device: String,
}

/// Two hosts with an emulator between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Name of the emulator's host.
    pub emulator: String,
    /// The end towards FH.
    pub up: Place,
    /// The end towards MH.
    pub down: Place,
    /// Number of its IP network.
    pub net: u8,
    /// What it does to its frames.
    pub kind: Kind,
}

/// Everything that stands in a test bed. The links form a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// The hosts that talk IP.
    pub stations: Vec<Station>,
    /// What joins them.
    pub links: Vec<Link>,
    /// Where agents stand.
    pub agents: Vec<Place>,
}

impl Place {
    /// A device of a host.
    pub fn new(host: &str, device: &str) -> Self {
        Self {
            host: host.to_owned(),
            device: device.to_owned(),
        }
    }
}

impl Topology {
    /// Finds what could not be built.
    ///
    /// # Errors
    /// Hosts or devices that are named twice or not at all, an end with several links.
    pub fn check(&self) -> Result<()> {
        let mut names: Vec<&str> = self.stations.iter().map(|s| s.name.as_str()).collect();
        names.extend(self.links.iter().map(|link| link.emulator.as_str()));
        for (index, name) in names.iter().enumerate() {
            ensure!(is_host_name(name), "`{name}` is no name of a host");
            ensure!(!names[..index].contains(name), "two hosts called {name}");
        }
        let places: Vec<&Place> = self.links.iter().flat_map(|l| [&l.up, &l.down]).collect();
        for (index, place) in places.iter().enumerate() {
            let Place { host, device } = place;
            let Some(station) = self.station(host) else {
                bail!("a link ends at {host}, which is no host");
            };
            let links = places.iter().filter(|p| p.host == *host).count();
            ensure!(
                station.role == Role::Router || links == 1,
                "{host} has several links and does not forward"
            );
            ensure!(
                !places[..index].contains(place),
                "two links end at {device} of {host}"
            );
        }
        for agent in &self.agents {
            ensure!(
                places.contains(&agent),
                "no {} at {} for the agent",
                agent.device,
                agent.host
            );
        }
        let nets = self.links.iter().map(|link| link.net);
        let distinct: std::collections::BTreeSet<u8> = nets.collect();
        ensure!(
            distinct.len() == self.links.len(),
            "two links of one network"
        );
        ensure!(
            self.links.len() + 1 == self.stations.len(),
            "the links do not form a tree"
        );
        Ok(())
    }

    /// The host of that name, if it is one that talks IP.
    pub fn station(&self, name: &str) -> Option<&Station> {
        self.stations.iter().find(|station| station.name == name)
    }

    /// Names and roles of all hosts, emulators among them: from FH on, link by link.
    pub fn hosts(&self) -> Vec<(&str, Role)> {
        let mut hosts: Vec<(&str, Role)> = Vec::new();
        let role = |name: &str| self.station(name).map_or(Role::End, |s| s.role);
        for link in &self.links {
            let Link { up, down, .. } = link;
            for host in [
                (up.host.as_str(), role(&up.host)),
                (link.emulator.as_str(), Role::Emulator),
                (down.host.as_str(), role(&down.host)),
            ] {
                if !hosts.contains(&host) {
                    hosts.push(host);
                }
            }
        }
        hosts
    }

    /// The lossy hops between two hosts, in their order.
    pub fn hops_between(&self, from: &str, to: &str) -> Vec<&Link> {
        let mut path = self.path(from, to);
        path.retain(|link| link.kind != Kind::Wire);
        path
    }

    /// The lossy hops between FH and MH, the first base station's first.
    pub fn hops(&self) -> Vec<&Link> {
        self.hops_between(Host::Fh.name(), Host::Mh.name())
    }

    /// The links from one host to another; none if no way leads there.
    fn path(&self, from: &str, to: &str) -> Vec<&Link> {
        fn walk<'a>(all: &'a [Link], path: &mut Vec<&'a Link>, at: &str, to: &str) -> bool {
            if at == to {
                return true;
            }
            for link in all.iter().filter(|link| link.touches(at)) {
                if path.iter().any(|used| used.net == link.net) {
                    continue;
                }
                path.push(link);
                if walk(all, path, &link.beyond(at).host, to) {
                    return true;
                }
                path.pop();
            }
            false
        }
        let mut path = Vec::new();
        walk(&self.links, &mut path, from, to);
        path
    }

    /// Last byte of the address of one end of a link.
    fn last_byte(&self, link: &Link, at: &Place) -> u8 {
        let is_router = |place: &Place| {
            let station = self.station(&place.host);
            station.is_some_and(|station| station.role == Role::Router)
        };
        match (is_router(&link.up), is_router(&link.down)) {
            (true, false) | (false, true) if is_router(at) => 1,
            (true, false) | (false, true) => FAR_END,
            _ if *at == link.up => 1,
            _ => FAR_END,
        }
    }

    /// Address of a host; of a router that towards MH, of an end its first.
    ///
    /// # Panics
    /// For a host without any: an emulator, or none of this topology.
    pub fn address(&self, host: Host, family: Family) -> IpAddr {
        let name = host.name();
        let links = || self.links.iter();
        let link = links().find(|link| link.up.host == name && link.kind != Kind::Wire);
        let link = link.or_else(|| links().find(|link| link.touches(name)));
        let Some(link) = link else {
            panic!("{name} has no address");
        };
        ip(link.net, self.last_byte(link, link.end_at(name)), family)
    }

    /// Address of one of the receivers that an end stands for.
    ///
    /// # Panics
    /// For a host without any address.
    pub fn receiver_address(&self, host: Host, receiver: usize, family: Family) -> IpAddr {
        match self.links.iter().find(|link| link.touches(host.name())) {
            Some(link) => receiver_ip(link.net, receiver, family),
            None => panic!("{} has no address", host.name()),
        }
    }
}

impl Link {
    fn touches(&self, host: &str) -> bool {
        self.up.host == host || self.down.host == host
    }

    /// The end at a host.
    fn end_at(&self, host: &str) -> &Place {
        match self.up.host == host {
            true => &self.up,
            false => &self.down,
        }
    }

    /// The other end.
    fn beyond(&self, host: &str) -> &Place {
        match self.up.host == host {
            true => &self.down,
            false => &self.up,
        }
    }
}

/// Whether a test bed may have a host of that name: that of one of the five, perhaps with a number.
pub fn is_host_name(name: &str) -> bool {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Host::ALL.iter().any(|host| host.name() == base)
}

/// Address of one of the five hosts that talk IP; of the base station that on the lossy hop.
///
/// # Panics
/// For the emulators, which have none.
pub fn address(host: Host, family: Family) -> IpAddr {
    Topology::five_hosts(1).address(host, family)
}

/// Address of one of the mobile hosts, of which all but the first exist on request only.
pub fn mobile_address(host: usize, family: Family) -> IpAddr {
    Topology::five_hosts(1).receiver_address(Host::Mh, host, family)
}

fn receiver_ip(net: u8, receiver: usize, family: Family) -> IpAddr {
    ip(net, FAR_END + receiver as u8, family)
}

fn ip(net: u8, last: u8, family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::new(10, net, 0, last).into(),
        Family::V6 => {
            Ipv6Addr::new(0xfd00 + u16::from(net), 0, 0, 0, 0, 0, 0, u16::from(last)).into()
        }
    }
}

/// A network with its prefix.
fn network(net: u8, family: Family) -> String {
    match family {
        Family::V4 => format!("10.{net}.0.0/24"),
        Family::V6 => format!("fd{net:02x}::/64"),
    }
}
