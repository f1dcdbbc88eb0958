// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What `status` tells of the link and its receivers: what the core has noted of them for its own
//! use (core/device.h), read and not judged.

use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lasthop_core::bindings::{LH_BIN_NS, LH_DEVICE_BINS, lh_device, lh_peer};
use serde_json::{Value, json};

use crate::bytes;
use crate::fields::{Field, round};

/// Receivers that `status` shows at the most: those heard last.
pub const RECEIVERS_MAX: usize = 64;

/// Fields of an object of `receivers` in `status -j`, in order.
pub const RECEIVER_FIELDS: &[Field] = &[
    ("addr", "", "its address"),
    (
        "idle_s",
        "s",
        "since something was delivered to it, or a connection to it began",
    ),
    ("active_flows", "", "its connections with something cached"),
    (
        "rate_bytes_per_s",
        "bytes/s",
        "payload that it acknowledged in the best tenth of a second of late; fades by a sixty-fourth in each",
    ),
    (
        "srtt_us",
        "us",
        "smoothed local round-trip time; null: no sample",
    ),
    (
        "rtt_min_us",
        "us",
        "the least of late, taken for that of an empty queue; null: no sample",
    ),
    (
        "queue_us",
        "us",
        "how long the last sample of the last second had waited before the hop; null: there was none, or the scheme doesn't ask",
    ),
];

/// Of receivers heard longer ago a place may be another's by now (core/device.c).
const HEARD_NS: u64 = 60_000_000_000;
/// A queue that nobody has measured for so long may be gone.
const QUEUE_NS: u64 = 1_000_000_000;
/// Bins over which the goodput is averaged: five seconds, of the six that there are.
const GOODPUT_BINS: u64 = 50;

/// A copy of what the flows of one device share, taken while they go on.
pub(crate) struct Hop(Vec<u8>);

impl Hop {
    /// From the bytes of a `struct lh_device`; none if there are too few.
    pub(crate) fn of(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() >= offset_of!(lh_device, peer)).then_some(Self(bytes))
    }

    fn word(&self, offset: usize) -> u64 {
        bytes::read(&self.0[offset..]).unwrap_or(0)
    }

    /// Smoothed local round trip of all flows; none: no sample.
    fn srtt_us(&self) -> Option<u64> {
        sample(self.word(offset_of!(lh_device, srtt_ns)))
    }

    /// Payload bytes per second that receivers acknowledged, mean of the last whole bins.
    fn goodput(&self, now_ns: u64) -> u64 {
        let (now, newest) = (
            now_ns / u64::from(LH_BIN_NS),
            self.word(offset_of!(lh_device, bin)),
        );
        let bytes = |bin: u64| {
            let place = (bin % u64::from(LH_DEVICE_BINS)) as usize;
            self.word(offset_of!(lh_device, bytes) + place * size_of::<u64>())
        };
        // Nothing was delivered since the newest bin, whose places hold what is long past.
        let delivered: u64 = (now.saturating_sub(GOODPUT_BINS)..now)
            .filter(|bin| *bin <= newest)
            .map(bytes)
            .sum();
        delivered * 1_000_000_000 / (GOODPUT_BINS * u64::from(LH_BIN_NS))
    }

    /// Those that have a place and were heard lately, the last one first.
    fn receivers(&self, now_ns: u64) -> Vec<lh_peer> {
        let start = offset_of!(lh_device, peer);
        let places = self.0[start..].chunks_exact(size_of::<lh_peer>());
        let mut found: Vec<lh_peer> = places
            .skip(1) // all those without a place
            .filter_map(bytes::read::<lh_peer>)
            .filter(|p| p.seen_ns != 0 && now_ns.saturating_sub(heard_ns(p)) < HEARD_NS)
            .collect();
        found.sort_by_key(|p| (std::cmp::Reverse(heard_ns(p)), p.addr));
        found
    }

    /// The fields that `status` has of the hop.
    pub(crate) fn status(&self, now_ns: u64) -> HopStatus {
        let receivers = self.receivers(now_ns);
        let queues = receivers.iter().filter_map(|p| queue_us(p, now_ns));
        HopStatus {
            goodput_bytes_per_s: self.goodput(now_ns),
            srtt_us: self.srtt_us(),
            queue_us: queues.max(),
            receivers_heard: receivers.len(),
            receivers: receivers
                .iter()
                .take(RECEIVERS_MAX)
                .map(|p| receiver(p, now_ns))
                .collect(),
        }
    }
}

/// What `status` has of the hop; the default is that of a device that is away.
#[derive(Default)]
pub(crate) struct HopStatus {
    pub(crate) goodput_bytes_per_s: u64,
    pub(crate) srtt_us: Option<u64>,
    pub(crate) queue_us: Option<u64>,
    pub(crate) receivers_heard: usize,
    pub(crate) receivers: Vec<Value>,
}

fn sample(ns: u64) -> Option<u64> {
    (ns != 0).then_some(ns / 1000)
}

fn heard_ns(p: &lh_peer) -> u64 {
    p.seen_ns.max(p.delivered_ns)
}

fn queue_us(p: &lh_peer, now_ns: u64) -> Option<u64> {
    let fresh = p.queue_at_ns != 0 && now_ns.saturating_sub(p.queue_at_ns) < QUEUE_NS;
    fresh.then_some(p.queue_ns / 1000)
}

/// The family isn't kept: no host's IPv6 address ends in twelve zeros.
fn address(addr: [u8; 16]) -> IpAddr {
    match addr {
        [a, b, c, d, rest @ ..] if rest == [0; 12] => Ipv4Addr::new(a, b, c, d).into(),
        _ => Ipv6Addr::from(addr).into(),
    }
}

fn receiver(p: &lh_peer, now_ns: u64) -> Value {
    let least = [p.lmin_now_ns, p.lmin_before_ns];
    let least = least.into_iter().filter(|ns| *ns != 0).min();
    json!({
        "addr": address(p.addr),
        "idle_s": round(now_ns.saturating_sub(heard_ns(p)) as f64 / 1e9),
        "active_flows": p.active,
        "rate_bytes_per_s": p.rate,
        "srtt_us": sample(p.srtt_ns),
        "rtt_min_us": least.and_then(sample),
        "queue_us": queue_us(p, now_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_NS: u64 = 1_000_000_000_000;

    /// A device of which `fill` has written some.
    fn hop(fill: impl FnOnce(&mut lh_device)) -> Hop {
        let mut device = Box::<lh_device>::default();
        fill(&mut device);
        Hop::of(bytes::of(&*device).to_vec()).unwrap()
    }

    fn peer(last: u8, heard_ns: u64) -> lh_peer {
        let mut addr = [0; 16];
        addr[..4].copy_from_slice(&[10, 0, 0, last]);
        lh_peer {
            addr,
            seen_ns: heard_ns,
            ..lh_peer::default()
        }
    }

    #[test]
    fn receivers_have_the_documented_fields() {
        let value = receiver(&peer(1, NOW_NS), NOW_NS);
        let mut there = crate::fields::keys(&value);
        let mut documented: Vec<_> = RECEIVER_FIELDS.iter().map(|(name, _, _)| *name).collect();
        there.sort_unstable();
        documented.sort_unstable();
        assert_eq!(there, documented);
    }

    #[test]
    fn those_heard_last_come_first_and_no_more_than_fit() {
        let status = hop(|d| {
            for i in 0..100 {
                d.peer[1 + i] = peer(i as u8, NOW_NS - 1_000_000 * i as u64);
            }
            d.peer[0] = peer(200, NOW_NS); // all others
            d.peer[500] = peer(201, NOW_NS - HEARD_NS); // may be replaced
        })
        .status(NOW_NS);
        assert_eq!(status.receivers_heard, 100);
        assert_eq!(status.receivers.len(), RECEIVERS_MAX);
        let addr = |i: usize| status.receivers[i]["addr"].as_str().unwrap();
        assert_eq!((addr(0), addr(63)), ("10.0.0.0", "10.0.0.63"));
    }

    #[test]
    fn a_receiver_is_told() {
        let of = |fill: fn(&mut lh_peer)| {
            let mut p = peer(2, NOW_NS - 2_500_000_000);
            fill(&mut p);
            receiver(&p, NOW_NS)
        };
        let value = of(|p| {
            (p.lmin_now_ns, p.lmin_before_ns) = (0, 10_000_000);
            (p.srtt_ns, p.rate, p.active) = (12_000_000, 2_500_000, 3);
            (p.queue_ns, p.queue_at_ns) = (7_000_000, NOW_NS - QUEUE_NS + 1);
        });
        let expected = json!({
            "addr": "10.0.0.2", "idle_s": 2.5, "active_flows": 3, "rate_bytes_per_s": 2_500_000,
            "srtt_us": 12_000, "rtt_min_us": 10_000, "queue_us": 7_000,
        });
        assert_eq!(value, expected);
        let silent = of(|p| (p.queue_ns, p.queue_at_ns) = (7_000_000, NOW_NS - QUEUE_NS));
        assert_eq!(silent["queue_us"], Value::Null);
        assert_eq!(silent["rtt_min_us"], Value::Null);
        let six = address("2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
        assert_eq!(six.to_string(), "2001:db8::1");
    }

    /// Bins of 100 ms: five seconds of them count, the present one does not, nor do those that were
    /// full a round of the ring ago.
    #[test]
    fn goodput_is_of_the_last_five_seconds() {
        let now = NOW_NS / u64::from(LH_BIN_NS);
        let full = |newest: u64| {
            hop(|d| {
                d.bin = newest;
                d.bytes = [1_000; 64];
            })
        };
        assert_eq!(full(now).goodput(NOW_NS), 10_000);
        assert_eq!(full(now - 25).goodput(NOW_NS), 5_200);
        assert_eq!(full(now - 51).goodput(NOW_NS), 0);
        assert_eq!(full(0).goodput(NOW_NS), 0);
    }

    #[test]
    fn too_few_bytes_are_no_device() {
        assert!(Hop::of(vec![0; offset_of!(lh_device, peer) - 1]).is_none());
    }
}
