// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! All devices of this network namespace and how they hang together, as rtnetlink tells. Not from
//! /sys, which shows the namespace that it was mounted in.

use std::collections::HashMap;

use anyhow::{Context, Result};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoGeneve, InfoVxlan, LinkAttribute, LinkInfo, LinkMessage, LinkXdp,
};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::netlink;

/// A device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Link {
    /// Its index.
    pub ifindex: u32,
    /// Its name.
    pub name: String,
    /// `bridge`, `vlan`, `openvswitch`; empty for hardware.
    pub kind: String,
    /// The bridge, bond or switch that it is a port of.
    pub controller: Option<u32>,
    /// The device below a VLAN and the like.
    pub below: Option<u32>,
    /// Its queueing discipline.
    pub qdisc: String,
    /// A tunnel to wherever each packet's route says, not its bytes (`external`).
    pub external: bool,
    /// The XDP program on it.
    pub xdp: Option<u32>,
}

impl Link {
    fn of(message: &LinkMessage) -> Self {
        let mut link = Self {
            ifindex: message.header.index,
            ..Self::default()
        };
        let mut elsewhere = false;
        for attribute in &message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name.clone_from(name),
                LinkAttribute::Qdisc(name) => link.qdisc.clone_from(name),
                LinkAttribute::Controller(index) => link.controller = Some(*index),
                LinkAttribute::Link(index) => link.below = Some(*index),
                LinkAttribute::LinkNetNsId(_) => elsewhere = true,
                LinkAttribute::LinkInfo(infos) => {
                    for info in infos {
                        match info {
                            LinkInfo::Kind(kind) => link.kind = kind.to_string(),
                            LinkInfo::Data(data) => link.external = external(data),
                            _ => {}
                        }
                    }
                }
                LinkAttribute::Xdp(parts) => link.xdp = parts.iter().find_map(program),
                _ => {}
            }
        }
        if elsewhere || link.kind == "veth" {
            link.below = None; // the other end, or an index of another namespace
        }
        link
    }
}

fn external(data: &InfoData) -> bool {
    match data {
        InfoData::Vxlan(parts) => parts.contains(&InfoVxlan::CollectMetadata(true)),
        InfoData::Geneve(parts) => parts.contains(&InfoGeneve::CollectMetadata),
        _ => false,
    }
}

fn program(part: &LinkXdp) -> Option<u32> {
    match part {
        LinkXdp::ProgId(id)
        | LinkXdp::DrvProgId(id)
        | LinkXdp::SkbProgId(id)
        | LinkXdp::HwProgId(id) => Some(*id),
        _ => None,
    }
}

/// The devices by their indices.
#[derive(Debug, Default)]
pub struct Links(pub HashMap<u32, Link>);

impl Links {
    /// Asks the kernel.
    ///
    /// # Errors
    /// No rtnetlink, or an answer that can't be read.
    pub fn list() -> Result<Self> {
        let mut links = Self::default();
        let ask = RouteNetlinkMessage::GetLink(LinkMessage::default());
        netlink::dump(NETLINK_ROUTE, ask, |message| links.take(&message)).context("rtnetlink")?;
        Ok(links)
    }

    fn take(&mut self, message: &RouteNetlinkMessage) {
        if let RouteNetlinkMessage::NewLink(link) = message {
            let link = Link::of(link);
            self.0.insert(link.ifindex, link);
        }
    }

    /// The devices through which what this one sends leaves: ports, or the one below a VLAN.
    pub fn lower(&self, ifindex: u32) -> Vec<&Link> {
        let below = self.0.get(&ifindex).and_then(|link| link.below);
        let mut lower: Vec<&Link> = self
            .0
            .values()
            .filter(|link| link.controller == Some(ifindex))
            .chain(below.and_then(|index| self.0.get(&index)))
            .filter(|link| link.ifindex != ifindex)
            .collect();
        lower.sort_by_key(|link| link.ifindex);
        lower
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_namespace_has_a_loopback() {
        let links = Links::list().unwrap();
        let lo = links.0.values().find(|link| link.name == "lo").unwrap();
        assert_eq!(lo.ifindex, 1);
        assert_eq!(lo.controller, None);
        assert!(links.lower(1).is_empty());
    }

    #[test]
    fn ports_and_what_is_below() {
        let link = |ifindex, name: &str, controller, below| Link {
            ifindex,
            name: name.into(),
            controller,
            below,
            ..Link::default()
        };
        let all = [
            link(1, "lo", None, None),
            link(2, "br0", None, None),
            link(3, "wl0", Some(2), None),
            link(4, "eth0.5", Some(2), Some(5)),
            link(5, "eth0", None, None),
        ];
        let links = Links(all.map(|link| (link.ifindex, link)).into());
        let names = |ifindex| -> Vec<String> {
            let lower = links.lower(ifindex);
            lower.iter().map(|link| link.name.clone()).collect()
        };
        assert_eq!(names(2), ["wl0", "eth0.5"]);
        assert_eq!(names(4), ["eth0"]);
        assert!(names(5).is_empty());
    }

    #[test]
    fn nonsense_is_an_error() {
        let read = |bytes| netlink::entries(bytes, &mut |_: RouteNetlinkMessage| {});
        assert!(read(&[0xff; 40]).is_err());
        assert!(!read(&[]).unwrap());
    }
}
