// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A connection as `flows -j` tells it. There may be ten thousand of them, so that the line is written
//! from what is known of it, without an object in between.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lasthop_core::bindings::{self as b, lh_flow_entry};
use serde::Serialize;

use crate::fields::{Field, round};

/// Fields of a line of `flows -j`, in order.
pub const FLOW_FIELDS: &[Field] = &[
    (
        "dev",
        "",
        "device; `DEVICE:POLICY` where a policy is for these connections",
    ),
    ("mh", "", "address on the lossy side"),
    ("mh_port", "", "its port"),
    ("fh", "", "address on the other side"),
    ("fh_port", "", "its port"),
    ("family", "", "4 or 6"),
    ("vlan", "", "array of VLAN identifiers, outermost first"),
    (
        "state",
        "",
        "`open`, `opening`, `closing`, `closed` or `reset`",
    ),
    ("sack", "", "true: both ends use selective acknowledgements"),
    ("age_s", "s", "since the flow was entered into the table"),
    ("idle_s", "s", "since its last packet"),
    (
        "una",
        "",
        "highest acknowledgement number from the lossy side",
    ),
    (
        "outstanding_bytes",
        "bytes",
        "sent towards the lossy side and not acknowledged",
    ),
    ("cached_segments", "", "segments in the cache"),
    (
        "srtt_us",
        "us",
        "smoothed local round-trip time; null: no sample",
    ),
    (
        "wired_rtt_us",
        "us",
        "least round-trip time to the other side; null: no sample",
    ),
    (
        "data_segments",
        "",
        "segments with data towards the lossy side",
    ),
    ("data_bytes", "bytes", "their payload"),
    (
        "local_retransmits",
        "",
        "segments sent again from the cache",
    ),
    ("suppressed_acks", "", "duplicate ACKs kept from the sender"),
    ("released_acks", "", "kept ACKs that were sent on after all"),
    (
        "upstream_lost",
        "",
        "segments that filled a gap left upstream of the agent",
    ),
    ("held", "", "true: a duplicate ACK is being kept back"),
    (
        "outage_s",
        "s",
        "since it was found to be cut off; null: it is not",
    ),
];

/// The object of `flows -j`; [`FLOW_FIELDS`] and [`crate::why::WHY_FIELDS`] say what each field is.
#[derive(Debug, Serialize)]
#[allow(missing_docs)] // documented where users read it
pub struct Connection<'a> {
    pub dev: &'a str,
    pub mh: IpAddr,
    pub mh_port: u16,
    pub fh: IpAddr,
    pub fh_port: u16,
    pub family: u8,
    pub vlan: Vec<u16>,
    pub state: &'static str,
    pub sack: bool,
    pub age_s: f64,
    pub idle_s: f64,
    pub una: u32,
    pub outstanding_bytes: u32,
    pub cached_segments: u32,
    pub srtt_us: Option<u64>,
    pub wired_rtt_us: Option<u64>,
    pub data_segments: u64,
    pub data_bytes: u64,
    pub local_retransmits: u64,
    pub suppressed_acks: u64,
    pub released_acks: u64,
    pub upstream_lost: u64,
    pub held: bool,
    pub outage_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_text: Option<String>,
}

impl<'a> Connection<'a> {
    /// What is known of it but for why it is helped or not ([`crate::why::explain`]); `now_ns`:
    /// CLOCK_MONOTONIC.
    pub fn of(device: &'a str, entry: &lh_flow_entry, now_ns: u64) -> Self {
        let (key, f) = (&entry.key, &entry.flow);
        let seconds_since = |ns: u64| round(now_ns.saturating_sub(ns) as f64 / 1e9);
        let sample = |ns: u64| (ns != 0).then_some(ns / 1000);
        let both = b::LH_FLOW_SACK_FH | b::LH_FLOW_SACK_MH;
        let tags = key.vlan.iter().filter(|tag| **tag != 0);
        Self {
            dev: device,
            mh: address(&key.mh, key.family),
            mh_port: key.mh_port,
            fh: address(&key.fh, key.family),
            fh_port: key.fh_port,
            family: key.family,
            vlan: tags.map(|tag| tag & 0xfff).collect(),
            state: state(f.flags),
            sack: f.flags & both == both || f.flags & b::LH_FLOW_SACK_SEEN != 0,
            age_s: seconds_since(entry.created_ns),
            idle_s: seconds_since(f.seen_ns),
            una: f.una,
            outstanding_bytes: f.max.wrapping_sub(f.una),
            cached_segments: f.ring.tail.wrapping_sub(f.ring.head),
            srtt_us: sample(f.rtt.srtt_ns),
            wired_rtt_us: sample(f.wired.rtt_ns),
            data_segments: f.nr_data,
            data_bytes: f.payload_bytes,
            local_retransmits: f.nr_retransmits,
            suppressed_acks: f.nr_suppressed,
            released_acks: f.nr_released,
            upstream_lost: f.nr_upstream_lost,
            held: f.flags & b::LH_FLOW_HELD != 0,
            outage_s: (f.outage.since_ns != 0).then(|| seconds_since(f.outage.since_ns)),
            why: None,
            why_text: None,
        }
    }
}

fn address(bytes: &[u8; 16], family: u8) -> IpAddr {
    if family == 4 {
        Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()
    } else {
        Ipv6Addr::from(*bytes).into()
    }
}

fn state(flags: u32) -> &'static str {
    let has = |bits: u32| flags & bits == bits;
    if has(b::LH_FLOW_RESET) {
        "reset"
    } else if has(b::LH_FLOW_FIN_FH_ACKED | b::LH_FLOW_FIN_MH_ACKED) {
        "closed"
    } else if flags & (b::LH_FLOW_FIN_FH | b::LH_FLOW_FIN_MH) != 0 {
        "closing"
    } else if has(b::LH_FLOW_FWD) {
        "open"
    } else {
        "opening"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fields::keys;
    use crate::report::flows_for_people;

    fn told(entry: &lh_flow_entry) -> Value {
        serde_json::to_value(Connection::of("wl0", entry, 2_000_000_000)).unwrap()
    }

    #[test]
    fn its_fields_are_documented() {
        let mut names: Vec<&str> = FLOW_FIELDS.iter().map(|(name, _, _)| *name).collect();
        let value = told(&lh_flow_entry::default());
        let mut has = keys(&value);
        has.sort_unstable();
        names.sort_unstable();
        assert_eq!(has, names);
    }

    #[test]
    fn connections_are_told() {
        let mut entry = lh_flow_entry::default();
        entry.key.family = 4;
        entry.key.mh[..4].copy_from_slice(&[10, 0, 0, 2]);
        entry.key.vlan[0] = 0x1007;
        entry.flow.flags = b::LH_FLOW_FWD | b::LH_FLOW_SACK_FH | b::LH_FLOW_SACK_MH;
        entry.flow.una = u32::MAX;
        entry.flow.max = 9;
        let value = told(&entry);
        assert_eq!(value["mh"], "10.0.0.2");
        assert_eq!(value["vlan"], json!([7]));
        assert_eq!(value["state"], "open");
        assert_eq!(value["sack"], true);
        assert_eq!(value["outstanding_bytes"], 10);
        assert_eq!(value["srtt_us"], Value::Null);
        assert_eq!(value["age_s"], 2.0);
        assert_eq!(value["outage_s"], Value::Null);
        entry.flow.outage.since_ns = 1_500_000_000;
        assert_eq!(told(&entry)["outage_s"], 0.5);
        let table = flows_for_people(&[value]);
        assert_eq!(table.lines().count(), 2);
        assert!(table.contains("10.0.0.2 0"), "{table}");
    }
}
