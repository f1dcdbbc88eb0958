// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The wiring: devices, addresses, routes and neighbours of the five hosts.
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
//! Neighbours are entered by hand, and duplicate address detection, router solicitation and
//! multicast reports are off: nothing but the transfers takes numbers from the emulators'
//! generators, and no lost ARP request stalls a host for a second.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::data::host::Host;

/// The base station's device towards the lossy hop, on which the agent is attached.
pub const LOSSY_DEVICE: &str = "wl0";
/// The device of FH, MH, and of the base station towards the wire.
pub const WIRED_DEVICE: &str = "eth0";
/// Hosts that the lossy network has addresses for, with some to spare.
pub const MOST_HOSTS: usize = 250;
/// Bytes of an IP packet that fit into a frame.
pub const MTU_BYTES: u32 = 1500;

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

/// One end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Host it belongs to.
    pub host: Host,
    /// Name of the device there.
    pub device: &'static str,
    /// Last byte of its address; emulators have none.
    address: Option<u8>,
}

/// A veth pair. `net` numbers the IP network that it is part of (1: wired, 2: lossy).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cable {
    /// The end that has an address.
    pub end: Port,
    /// The end at the emulator.
    pub emulator: Port,
    net: u8,
}

const fn cable(
    host: Host,
    device: &'static str,
    address: u8,
    emulator: Host,
    at: &'static str,
    net: u8,
) -> Cable {
    Cable {
        end: Port {
            host,
            device,
            address: Some(address),
        },
        emulator: Port {
            host: emulator,
            device: at,
            address: None,
        },
        net,
    }
}

/// All cables from FH to MH.
pub const CABLES: [Cable; 4] = [
    cable(Host::Fh, WIRED_DEVICE, 2, Host::Wan, "fh", 1),
    cable(Host::Bs, WIRED_DEVICE, 1, Host::Wan, "bs", 1),
    LOSSY_CABLE,
    cable(Host::Mh, WIRED_DEVICE, 2, Host::Air, "mh", 2),
];
/// Last byte of the first mobile host's address.
const FIRST_MOBILE: u8 = 2;
/// The cable between the base station's lossy device and its emulator.
pub const LOSSY_CABLE: Cable = cable(Host::Bs, LOSSY_DEVICE, 1, Host::Air, "bs", 2);

/// Address of one of the hosts that talk IP; of the base station that on the lossy hop.
///
/// # Panics
/// For the emulators, which have none.
pub fn address(host: Host, family: Family) -> IpAddr {
    match host {
        Host::Fh => ip(1, 2, family),
        Host::Mh => mobile_address(0, family),
        Host::Bs => ip(2, 1, family),
        other => panic!("{} has no address", other.name()),
    }
}

/// Address of one of the mobile hosts, of which all but the first exist on request only.
pub fn mobile_address(host: usize, family: Family) -> IpAddr {
    ip(2, FIRST_MOBILE + host as u8, family)
}

fn ip(net: u8, last: u8, family: Family) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::new(10, net, 0, last).into(),
        Family::V6 => {
            Ipv6Addr::new(0xfd00 + u16::from(net), 0, 0, 0, 0, 0, 0, u16::from(last)).into()
        }
    }
}

fn mac(net: u8, last: u8) -> String {
    format!("02:00:00:00:{net:02x}:{last:02x}")
}

/// `ip -batch` lines for the emulator's namespace that make a cable. The other end is made in its
/// own namespace at once, so that no device ever shows up in the caller's.
pub fn make_cable(cable: &Cable, other_namespace: &str) -> String {
    let (end, emulator) = (&cable.end, &cable.emulator);
    let mac = mac(cable.net, end.address.unwrap_or(0));
    format!(
        "link add {} type veth peer name {} netns {other_namespace} address {mac}\n\
         link set {} addrgenmode none\nlink set {} up\n",
        emulator.device, end.device, emulator.device, emulator.device
    )
}

/// `ip -batch` lines for the namespace of `cable.end`: up, addresses, neighbour. Also right after
/// the device went down and came up again, which removes them.
pub fn configure_end(cable: &Cable) -> String {
    let Port {
        device,
        address: Some(last),
        ..
    } = cable.end
    else {
        return String::new();
    };
    let peer = 3 - last;
    let mut lines =
        format!("link set {device} addrgenmode none\nlink set {device} mtu {MTU_BYTES} up\n");
    for (family, prefix, flags) in [(Family::V4, 24, ""), (Family::V6, 64, " nodad")] {
        lines.push_str(&format!(
            "address replace {}/{prefix} dev {device}{flags}\n\
             neighbour replace {} lladdr {} dev {device} nud permanent\n",
            ip(cable.net, last, family),
            ip(cable.net, peer, family),
            mac(cable.net, peer),
        ));
    }
    lines
}

/// `ip -batch` lines for either end of the lossy hop that add what the mobile hosts after the first
/// need: they are addresses of one namespace, and neighbours with one device.
pub fn configure_more_hosts(cable: &Cable, hosts: usize) -> String {
    let device = cable.end.device;
    let mut lines = String::new();
    for host in 1..hosts {
        for (family, prefix, flags) in [(Family::V4, 24, ""), (Family::V6, 64, " nodad")] {
            let address = mobile_address(host, family);
            lines.push_str(&match (cable.end.host, cable.net) {
                (Host::Mh, _) => {
                    format!("address replace {address}/{prefix} dev {device}{flags}\n")
                }
                (Host::Bs, 2) => format!(
                    "neighbour replace {address} lladdr {} dev {device} nud permanent\n",
                    mac(2, FIRST_MOBILE)
                ),
                _ => return lines,
            });
        }
    }
    lines
}

/// `ip -batch` lines for an end host's default routes, followed by attributes such as `rto_min 500ms`.
pub fn default_routes(cable: &Cable, attributes: &str) -> String {
    [Family::V4, Family::V6]
        .map(|family| {
            let gateway = ip(cable.net, 1, family);
            let device = cable.end.device;
            format!("route replace default via {gateway} dev {device}{attributes}\n")
        })
        .concat()
}

/// `ip -batch` lines that give the base station's own route over the hop the attributes of an end's;
/// nothing without any.
pub fn hop_routes(attributes: &str) -> String {
    let net = |family| match family {
        Family::V4 => ("10.2.0.0/24", " proto kernel scope link src 10.2.0.1"),
        Family::V6 => ("fd02::/64", " proto kernel metric 256"),
    };
    let line = |family| {
        let (prefix, kind) = net(family);
        format!("route replace {prefix} dev {LOSSY_DEVICE}{kind}{attributes}\n")
    };
    match attributes.is_empty() {
        true => String::new(),
        false => [Family::V4, Family::V6].map(line).concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_know_each_other() {
        let fh = configure_end(&CABLES[0]);
        assert!(
            fh.contains("address replace 10.1.0.2/24 dev eth0\n"),
            "{fh}"
        );
        assert!(
            fh.contains("neighbour replace 10.1.0.1 lladdr 02:00:00:00:01:01"),
            "{fh}"
        );
        let wl0 = configure_end(&LOSSY_CABLE);
        assert!(
            wl0.contains("address replace fd02::1/64 dev wl0 nodad"),
            "{wl0}"
        );
        assert!(
            wl0.contains("neighbour replace fd02::2 lladdr 02:00:00:00:02:02"),
            "{wl0}"
        );
    }

    #[test]
    fn the_base_stations_own_route() {
        let routes = hop_routes(" rto_min 500ms");
        assert!(
            routes.contains("10.2.0.0/24 dev wl0 proto kernel scope link src 10.2.0.1 rto_min")
        );
        assert!(routes.contains("fd02::/64 dev wl0 proto kernel metric 256 rto_min 500ms\n"));
        assert_eq!(hop_routes(""), "");
        assert_eq!(address(Host::Bs, Family::V4).to_string(), "10.2.0.1");
    }

    #[test]
    fn further_hosts_are_addresses_at_one_end_and_neighbours_at_the_other() {
        let mh = configure_more_hosts(&CABLES[3], 3);
        assert!(
            mh.contains("address replace 10.2.0.3/24 dev eth0\n"),
            "{mh}"
        );
        assert!(mh.contains("address replace fd02::4/64 dev eth0 nodad\n"));
        let wl0 = configure_more_hosts(&LOSSY_CABLE, 3);
        let neighbour = "neighbour replace fd02::3 lladdr 02:00:00:00:02:02 dev wl0";
        assert!(wl0.contains(neighbour), "{wl0}");
        assert_eq!((mh.lines().count(), wl0.lines().count()), (4, 4));
        assert_eq!(configure_more_hosts(&LOSSY_CABLE, 1), "");
        for wired in &CABLES[..2] {
            assert_eq!(configure_more_hosts(wired, 3), "");
        }
        let last = mobile_address(MOST_HOSTS - 1, Family::V4);
        assert_eq!(last.to_string(), "10.2.0.251");
    }

    #[test]
    fn both_default_routes_carry_the_attributes() {
        let routes = default_routes(&CABLES[3], " initcwnd 2");
        assert!(routes.contains("default via 10.2.0.1 dev eth0 initcwnd 2\n"));
        assert!(routes.contains("default via fd02::1 dev eth0 initcwnd 2\n"));
    }
}
