// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The wiring: devices, addresses, routes and neighbours, as lines for `ip -batch`.
//!
//! Neighbours are entered by hand, and duplicate address detection, router solicitation and
//! multicast reports are off: nothing but the transfers takes numbers from the emulators'
//! generators, and no lost ARP request stalls a host for a second.

use super::{Family, Kind, Link, MTU_BYTES, Place, Role, Topology, ip, network, receiver_ip};

const FAMILIES: [Family; 2] = [Family::V4, Family::V6];

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name of the host it belongs to.
    pub host: String,
    /// Name of the device there.
    pub device: String,
}

/// A veth pair from a host to an emulator.
#[derive(Debug, Clone, PartialEq)]
pub struct Cable {
    /// The end that has an address.
    pub end: Port,
    /// The end at the emulator.
    pub emulator: Port,
    /// What the host is there for.
    pub role: Role,
    /// What the link does to its frames.
    pub kind: Kind,
    net: u8,
    /// Last byte of the address.
    last: u8,
    /// Receivers at this end, and at the other one.
    receivers: [usize; 2],
    /// What is beyond the other end.
    beyond: Vec<u8>,
}

impl Topology {
    /// All cables: two for each link, whose emulator calls its devices after the hosts.
    pub fn cables(&self) -> Vec<Cable> {
        let both = |link: &Link| {
            let Link { up, down, .. } = link;
            [self.cable(link, up, down), self.cable(link, down, up)]
        };
        self.links.iter().flat_map(both).collect()
    }

    /// The cable that ends there.
    pub fn cable_at(&self, host: &str, device: &str) -> Option<Cable> {
        let ends = |cable: &Cable| cable.end.host == host && cable.end.device == device;
        self.cables().into_iter().find(ends)
    }

    fn cable(&self, link: &Link, at: &Place, other: &Place) -> Cable {
        let port = |host: &str, device: &str| Port {
            host: host.to_owned(),
            device: device.to_owned(),
        };
        let receivers = |place: &Place| self.station(&place.host).map_or(1, |s| s.receivers);
        Cable {
            end: port(&at.host, &at.device),
            emulator: port(&link.emulator, &at.host),
            role: self.station(&at.host).map_or(Role::End, |s| s.role),
            kind: link.kind,
            net: link.net,
            last: self.last_byte(link, at),
            receivers: [receivers(at), receivers(other)],
            beyond: self.beyond(link, at),
        }
    }

    /// The networks to which the way leads over a link, its own aside.
    fn beyond(&self, link: &Link, at: &Place) -> Vec<u8> {
        let others = self.links.iter().filter(|other| other.net != link.net);
        let far = others.filter(|other| {
            let path = self.path(&at.host, &other.down.host);
            let leads = |path: &[&Link]| path.first().is_some_and(|first| first.net == link.net);
            leads(&path) && !other.touches(&at.host)
        });
        far.map(|other| other.net).collect()
    }
}

fn mac(net: u8, last: u8) -> String {
    format!("02:00:00:00:{net:02x}:{last:02x}")
}

/// How `ip` is told of an address: length of the prefix, and flags.
fn prefix(family: Family) -> (u8, &'static str) {
    match family {
        Family::V4 => (24, ""),
        Family::V6 => (64, " nodad"),
    }
}

impl Cable {
    /// Lines for the emulator's namespace that make the cable. The other end is made in its own
    /// namespace at once, so that no device ever shows up in the caller's.
    pub fn make(&self, other_namespace: &str) -> String {
        let mac = mac(self.net, self.last);
        let (there, here) = (&self.end.device, &self.emulator.device);
        format!(
            "link add {here} type veth peer name {there} netns {other_namespace} address {mac}\n\
             link set {here} addrgenmode none\nlink set {here} up\n"
        )
    }

    /// Lines for the namespace of the end: up, addresses, neighbours. Also right after the device
    /// went down and came up again, which removes them.
    pub fn configure(&self) -> String {
        let device = &self.end.device;
        let (own, peer) = (self.last, 3 - self.last);
        let mut lines =
            format!("link set {device} addrgenmode none\nlink set {device} mtu {MTU_BYTES} up\n");
        for family in FAMILIES {
            let (length, flags) = prefix(family);
            lines.push_str(&format!(
                "address replace {}/{length} dev {device}{flags}\n\
                 neighbour replace {} lladdr {} dev {device} nud permanent\n",
                ip(self.net, own, family),
                ip(self.net, peer, family),
                mac(self.net, peer),
            ));
        }
        lines + &self.further_receivers()
    }

    /// What the receivers after the first need: they are addresses at one end, and neighbours at
    /// the other.
    fn further_receivers(&self) -> String {
        let device = &self.end.device;
        let [here, there] = self.receivers;
        let mut lines = String::new();
        for family in FAMILIES {
            let (length, flags) = prefix(family);
            let address = |receiver| receiver_ip(self.net, receiver, family);
            for own in (1..here).map(address) {
                lines.push_str(&format!(
                    "address replace {own}/{length} dev {device}{flags}\n"
                ));
            }
            let mac = mac(self.net, 3 - self.last);
            for other in (1..there).map(address) {
                lines.push_str(&format!(
                    "neighbour replace {other} lladdr {mac} dev {device} nud permanent\n"
                ));
            }
        }
        lines
    }

    /// Lines for the routes of the end, followed by attributes such as `rto_min 500ms`: an end sends
    /// everything over its link, a router what lies beyond it.
    pub fn routes(&self, attributes: &str) -> String {
        let device = &self.end.device;
        let mut lines = String::new();
        for family in FAMILIES {
            let gateway = ip(self.net, 3 - self.last, family);
            let networks = match self.role {
                Role::Router => self
                    .beyond
                    .iter()
                    .map(|net| network(*net, family))
                    .collect(),
                _ => vec!["default".to_owned()],
            };
            for network in networks {
                lines.push_str(&format!(
                    "route replace {network} via {gateway} dev {device}{attributes}\n"
                ));
            }
        }
        lines
    }

    /// Lines that give a router's own route over the link the attributes of an end's; nothing without
    /// any.
    pub fn own_routes(&self, attributes: &str) -> String {
        let line = |family| {
            let kind = match family {
                Family::V4 => format!(
                    " proto kernel scope link src {}",
                    ip(self.net, self.last, family)
                ),
                Family::V6 => " proto kernel metric 256".to_owned(),
            };
            let (network, device) = (network(self.net, family), &self.end.device);
            format!("route replace {network} dev {device}{kind}{attributes}\n")
        };
        match attributes.is_empty() {
            true => String::new(),
            false => FAMILIES.map(line).concat(),
        }
    }
}

#[cfg(test)]
#[path = "wiring_tests.rs"]
mod tests;
