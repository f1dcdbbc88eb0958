// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! All devices of this network namespace and how they hang together, as rtnetlink tells. Not from
//! /sys, which shows the namespace that it was mounted in.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkInfo, LinkMessage, LinkXdp};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

/// What the kernel's own tools read at a time; messages of a dump are no longer.
const DUMP_BYTES: usize = 64 << 10;

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
                        if let LinkInfo::Kind(kind) = info {
                            link.kind = kind.to_string();
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
        let mut socket = Socket::new(NETLINK_ROUTE).context("rtnetlink")?;
        socket.bind_auto().context("rtnetlink")?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let ask = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let mut message = NetlinkMessage::new(NetlinkHeader::default(), ask.into());
        message.header.flags = NLM_F_DUMP | NLM_F_REQUEST;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        socket.send(&bytes, 0)?;
        let mut links = Self::default();
        let mut bytes = vec![0; DUMP_BYTES];
        loop {
            let length = socket.recv(&mut &mut bytes[..], 0)?;
            if links.take(&bytes[..length])? {
                return Ok(links);
            }
        }
    }

    /// True: that was the last part.
    fn take(&mut self, mut bytes: &[u8]) -> Result<bool> {
        while !bytes.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes)
                .context("rtnetlink: list of devices")?;
            match &message.payload {
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) => bail!("rtnetlink: {error}"),
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => {
                    let link = Link::of(link);
                    self.0.insert(link.ifindex, link);
                }
                _ => {}
            }
            let length = (message.header.length as usize).next_multiple_of(4);
            bytes = bytes.get(length.max(16)..).unwrap_or_default();
        }
        Ok(false)
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
        assert!(Links::default().take(&[0xff; 40]).is_err());
        assert!(!Links::default().take(&[]).unwrap());
    }
}
