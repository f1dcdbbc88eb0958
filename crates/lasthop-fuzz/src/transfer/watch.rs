// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What holds whatever anybody sends: repairs are copies of what was sent, so many per copy; FH
//! gets nothing but what came from MH, and no more window than that granted.

use std::collections::HashMap;

use lasthop_core::bindings::{LH_ACK, LH_FIN, LH_RST, LH_SYN, LH_URG};
use lasthop_core::packet::checksum_ok;
use lasthop_core::{Outcome, Segment, parse, seq_before};

/// Probes of a silent receiver are so far apart at the least (core/outage.h).
const PROBES_NS: u64 = 32_000_000;

/// Copies of its last ACK that a mobile host makes when the link is up, at the most (`handoff`).
const COPIES: u64 = 3;

struct Sent {
    first_ns: u64,
    repaired: u64,
}

/// What has been seen so far.
pub struct Watch {
    max_local: u64,
    /// Times that the link was said to be up: each may have the oldest sent at once.
    links: u64,
    sent: HashMap<Vec<u8>, Sent>,
    /// First and last numbers of all of it: whatever touches a segment has it count as sent anew.
    ranges: Vec<(u32, u32)>,
    /// The largest window that an ACK of this number came with.
    windows: HashMap<u32, u16>,
}

fn segment(packet: &[u8], to_mh: bool) -> Segment {
    parse(packet, 0, None, to_mh).expect("TCP").0
}

impl Watch {
    /// `max_local` as in the configuration.
    pub fn new(max_local: u32) -> Self {
        Self {
            max_local: max_local.into(),
            links: 0,
            sent: HashMap::new(),
            ranges: Vec::new(),
            windows: HashMap::new(),
        }
    }

    /// Towards MH, by whomever.
    pub fn sends(&mut self, packet: &[u8], now_ns: u64) {
        self.sent.entry(packet.to_vec()).or_insert(Sent {
            first_ns: now_ns,
            repaired: 0,
        });
        if let Ok((s, _)) = parse(packet, 0, None, true) {
            self.ranges.push((s.seq, s.end));
        }
    }

    /// The link was said to be up.
    pub fn link(&mut self) {
        self.links += 1;
    }

    /// From MH, or whoever says so, and what became of it.
    pub fn answers(&mut self, packet: &[u8], outcome: &Outcome) {
        let Ok((s, _)) = parse(packet, 0, None, false) else {
            assert!(!outcome.dropped && outcome.passed.is_none());
            return;
        };
        let most = self.windows.entry(s.ack).or_default();
        *most = s.window.max(*most);
        let bare = s.payload_bytes == 0
            && u32::from(s.flags) & (LH_ACK | LH_SYN | LH_FIN | LH_RST | LH_URG) == LH_ACK;
        // What becomes of data is order.rs' to see.
        let data = s.seq != s.end && u32::from(s.flags) & LH_SYN == 0;
        assert!(bare || data || !outcome.dropped, "kept back: no mere ACK");
        let Some(passed) = &outcome.passed else {
            return;
        };
        assert_eq!(passed.len(), packet.len());
        let p = segment(passed, false);
        assert_eq!((p.seq, p.ack, p.flags), (s.seq, s.ack, s.flags));
        assert!(p.window <= s.window, "a window wider than MH's");
        assert!(checksum_ok(passed) || !checksum_ok(packet));
    }

    /// From the agent towards MH. After each of so many `outages`
    /// the oldest has its tries anew.
    pub fn repairs(&mut self, packet: &[u8], now_ns: u64, outages: u64) {
        let sent = self
            .sent
            .get_mut(packet)
            .expect("a repair of what was never sent");
        sent.repaired += 1;
        let probes = (now_ns - sent.first_ns) / PROBES_NS;
        let copies = COPIES * self.links;
        let tries = |times| self.max_local * (times + self.links + outages) + copies;
        if sent.repaired <= tries(1) + probes {
            return; // it was sent once, and how often else takes a look at all that was
        }
        let s = segment(packet, true);
        let touches = |r: &&(u32, u32)| seq_before(r.0, s.end) && seq_before(s.seq, r.1);
        let times = self.ranges.iter().filter(touches).count() as u64;
        assert!(
            sent.repaired <= tries(times) + probes,
            "repaired {} times, sent {times}",
            sent.repaired
        );
    }

    /// From the agent towards FH: an ACK that was kept.
    pub fn releases(&mut self, packet: &[u8]) {
        let s = segment(packet, false);
        assert_eq!(s.payload_bytes, 0);
        let most = self.windows.get(&s.ack).expect("an ACK that MH never sent");
        assert!(s.window <= *most, "a window wider than MH's");
        assert!(checksum_ok(packet));
    }
}
