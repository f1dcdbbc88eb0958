// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The flow tables of nftables, as the kernel tells: `nft -j` leaves out whether a table's flows
//! go to hardware, and `nft` may not be installed.

use anyhow::{Context, Result};
use netlink_packet_core::{
    DecodeError, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable, NlasIterator,
    parse_string, parse_u32_be,
};
use netlink_sys::protocols::NETLINK_NETFILTER;

use crate::netlink;

/// NFNL_SUBSYS_NFTABLES, in the upper half of a message's type; below it NFT_MSG_NEWFLOWTABLE and
/// NFT_MSG_GETFLOWTABLE.
const NEW_FLOW_TABLE: u16 = (10 << 8) | 22;
const GET_FLOW_TABLE: u16 = (10 << 8) | 23;
/// `struct nfgenmsg`: family, version, resource.
const HEADER_BYTES: usize = 4;
/// `enum nft_flowtable_attributes`.
const NAME: u16 = 2;
const HOOK: u16 = 3;
const FLAGS: u16 = 7;
/// NFTA_FLOWTABLE_HOOK_DEVS, in HOOK, and in that NFTA_DEVICE_NAME, or from Linux 6.17 on
/// NFTA_DEVICE_PREFIX, the `wlan` of `wlan*`.
const HOOK_DEVICES: u16 = 3;
const DEVICE_NAME: u16 = 1;
const DEVICE_PREFIX: u16 = 2;
/// NFT_FLOWTABLE_HW_OFFLOAD.
const HW_OFFLOAD: u32 = 1;

/// A flow table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowTable {
    /// Its name.
    pub name: String,
    /// The devices whose flows it takes.
    pub devices: Vec<String>,
    /// How the names of further ones begin, be they there or not.
    pub prefixes: Vec<String>,
    /// Its flows go to hardware.
    pub offload: bool,
}

impl FlowTable {
    /// All of this network namespace.
    ///
    /// # Errors
    /// A kernel without nftables, no right to ask (CAP_NET_ADMIN), or an unreadable answer.
    pub fn list() -> Result<Vec<Self>> {
        let mut tables = Vec::new();
        let take = |message| {
            if let Message::Table(table) = message {
                tables.push(table);
            }
        };
        netlink::dump(NETLINK_NETFILTER, Message::Ask, take).context("nftables")?;
        Ok(tables)
    }

    /// Whether it takes the flows of the device.
    pub fn takes(&self, device: &str) -> bool {
        let is_device = |name: &String| name == device;
        let begins = |prefix: &String| device.starts_with(prefix);
        self.devices.iter().any(is_device) || self.prefixes.iter().any(begins)
    }

    fn parse(attributes: &[u8]) -> Result<Self, DecodeError> {
        let mut table = Self::default();
        for attribute in NlasIterator::new(attributes) {
            let attribute = attribute?;
            match attribute.kind() {
                NAME => table.name = parse_string(attribute.value())?,
                FLAGS => table.offload = parse_u32_be(attribute.value())? & HW_OFFLOAD != 0,
                HOOK => table.parse_hook(attribute.value())?,
                _ => {}
            }
        }
        Ok(table)
    }

    fn parse_hook(&mut self, hook: &[u8]) -> Result<(), DecodeError> {
        for attribute in NlasIterator::new(hook) {
            let attribute = attribute?;
            if attribute.kind() != HOOK_DEVICES {
                continue;
            }
            for device in NlasIterator::new(attribute.value()) {
                let device = device?;
                match device.kind() {
                    DEVICE_NAME => self.devices.push(parse_string(device.value())?),
                    DEVICE_PREFIX => self.prefixes.push(parse_string(device.value())?),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// What is said about flow tables.
#[derive(Debug)]
enum Message {
    /// The question for all of them.
    Ask,
    Table(FlowTable),
    Other,
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        GET_FLOW_TABLE
    }

    fn buffer_len(&self) -> usize {
        HEADER_BYTES
    }

    /// Of any family.
    fn serialize(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
}

impl NetlinkDeserializable for Message {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        match payload.get(HEADER_BYTES..) {
            Some(attributes) if header.message_type == NEW_FLOW_TABLE => {
                Ok(Self::Table(FlowTable::parse(attributes)?))
            }
            _ => Ok(Self::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What nft 1.0.6 sends (--debug=mnl), of which the kernel gives back the attributes:
    /// `table inet f { flowtable a { hook ingress priority 0; devices = { eth10, wl0 }; flags
    /// offload; } flowtable b { hook ingress priority 0; devices = { eth1 }; } }`.
    const TWO_TABLES: &str = "\
        58000000 160a0100 02000000 00000000 01000000 \
        06000100 66000000 06000200 61000000 2c000380 08000100 00000000 08000200 00000000 \
        18000380 08000100 776c3000 0a000100 65746831 30000000 08000700 00000001 \
        50000000 160a0100 03000000 00000000 01000000 \
        06000100 66000000 06000200 62000000 24000380 08000100 00000000 08000200 00000000 \
        10000380 09000100 65746831 00000000 08000700 00000000";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        let pairs = digits.chunks(2);
        pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    fn tables(datagram: &[u8]) -> Result<Vec<FlowTable>> {
        let mut found = Vec::new();
        let take = &mut |message| {
            if let Message::Table(table) = message {
                found.push(table);
            }
        };
        assert!(!netlink::entries(datagram, take)?);
        Ok(found)
    }

    #[test]
    fn tables_are_read() {
        let table = |name: &str, devices: &[&str], offload| FlowTable {
            name: name.into(),
            devices: devices.iter().map(|name| (*name).into()).collect(),
            offload,
            ..FlowTable::default()
        };
        assert_eq!(
            tables(&bytes(TWO_TABLES)).unwrap(),
            [
                table("a", &["wl0", "eth10"], true),
                table("b", &["eth1"], false)
            ]
        );
        assert!(tables(&[]).unwrap().is_empty());
    }

    /// `flowtable a { hook ingress priority 0; devices = { eth1, wlan* }; flags offload; }` as Linux
    /// from 6.17 on gives it back: a prefix is an attribute of its own, without the asterisk.
    #[test]
    fn devices_may_be_named_by_how_they_begin() {
        const PREFIX: &str = "\
            5c000000 160a0200 02000000 00000000 01000000 \
            06000100 66000000 06000200 61000000 30000380 08000100 00000000 08000200 00000000 \
            1c000380 09000100 65746831 00000000 09000200 776c616e 00000000 08000700 00000001";
        let tables = tables(&bytes(PREFIX)).unwrap();
        let [table] = &tables[..] else {
            panic!("{tables:?}")
        };
        assert_eq!(
            (&table.devices[..], &table.prefixes[..]),
            (&["eth1".into()][..], &["wlan".into()][..])
        );
        assert!(table.offload);
        for (device, takes) in [
            ("wlan0", true),
            ("wlan", true),
            ("eth1", true),
            ("eth10", false),
            ("wla", false),
        ] {
            assert_eq!(table.takes(device), takes, "{device}");
        }
    }

    /// Cut or changed anywhere it is read or refused, but never a panic.
    #[test]
    fn nonsense_is_survived() {
        let whole = bytes(TWO_TABLES);
        for at in 0..whole.len() {
            let _ = tables(&whole[..at]);
            for value in [0, 1, 3, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                changed[4] = 0x16; // or it would be the list's end
                let _ = tables(&changed);
            }
        }
        assert!(tables(&whole[..60]).is_err());
    }

    /// With nftables in the kernel and the right to ask there is a list; most are empty.
    #[test]
    fn this_namespace_is_asked() {
        match FlowTable::list() {
            Ok(tables) => assert!(tables.iter().all(|table| !table.name.is_empty())),
            Err(error) => {
                let text = format!("{error:#}");
                assert!(text.starts_with("nftables: "), "{text}");
            }
        }
    }
}
