// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Stands beside the agent and checks the invariants of SPEC section 7 from
//! the outside: from what goes in and comes out, with as little knowledge of
//! the core's state as possible.

use std::collections::{HashMap, HashSet};

use crate::sim::Params;
use lasthop_core::bindings::*;
use lasthop_core::{Agent, Config, Key, Outcome, Segment, parse};

/// What has passed of one byte of the stream since the agent knows the flow.
#[derive(Clone, Copy, Default)]
struct Byte {
    passes: u32,
    /// It came below the highest byte: lost or reordered upstream.
    late: bool,
    sacked: bool,
}

#[derive(Default)]
struct Sent {
    versions: HashSet<Vec<u8>>,
    last_tx_ns: u64,
    end: usize,
    n_local: u32,
    n_dup: u32,
    sacked: bool,
}

/// What FH saw last.
#[derive(Clone, Copy)]
struct Forwarded {
    ack: usize,
    flags: u16,
    edge: usize,
}

pub struct Watch {
    config: Config,
    base: u32,
    wscale: u8,
    mss: usize,
    bytes: Vec<Byte>,
    /// Forwarded data by its first byte.
    sent: HashMap<usize, Sent>,
    acks_in: HashSet<Vec<u8>>,
    una: Option<usize>,
    max: usize,
    forwarded: Option<Forwarded>,
    /// The window's edge in the last pure ACK that passed, if nothing with
    /// payload came after it.
    pure_edge: Option<usize>,
    sack: bool,
    /// Until when the kept ACK must be out or superseded.
    held_until_ns: Option<u64>,
    cached_segments: u64,
    pub nr_held: u64,
    pub nr_repairs: u64,
}

impl Watch {
    pub fn new(p: &Params, total: usize, wscale: u8, mss: usize) -> Self {
        Self {
            config: p.config,
            base: p.base,
            wscale,
            mss,
            bytes: vec![Byte::default(); total + 1],
            sent: HashMap::new(),
            acks_in: HashSet::new(),
            una: None,
            max: 0,
            forwarded: None,
            pure_edge: None,
            sack: p.sack,
            held_until_ns: None,
            cached_segments: 0,
            nr_held: 0,
            nr_repairs: 0,
        }
    }

    pub fn started(&mut self, at: usize) {
        self.una = Some(at);
        self.max = at;
    }

    /// The handshake's last ACK and window.
    pub fn handshake(&mut self, ack: usize, edge: usize) {
        self.forwarded = Some(Forwarded {
            ack,
            flags: 0,
            edge,
        });
    }

    /// User space died or came back: timers were not served.
    pub fn pardon(&mut self) {
        if self.held_until_ns.is_some() {
            self.held_until_ns = Some(u64::MAX);
        }
    }

    /// The agent has lost its memory of the flow.
    pub fn forgotten(&mut self) {
        self.bytes.fill(Byte::default());
        self.sent.clear();
        self.una = None;
        self.max = 0;
        self.forwarded = None;
        self.pure_edge = None;
        self.held_until_ns = None;
    }

    fn place(&self, seq: u32) -> usize {
        seq.wrapping_sub(self.base) as usize
    }

    /// Called before anything happens at `now_ns`.
    pub fn tick(&self, now_ns: u64) {
        if let Some(until) = self.held_until_ns {
            assert!(now_ns <= until, "an ACK is kept for too long");
        }
    }

    pub fn on_egress(
        &mut self,
        packet: &[u8],
        s: &Segment,
        outcome: &Outcome,
        agent: &Agent,
        now_ns: u64,
    ) {
        assert!(!outcome.dropped, "data always goes on");
        assert!(outcome.to_mh.is_empty() && outcome.to_fh.is_empty());
        let (from, to) = (self.place(s.seq), self.place(s.end));
        if from == to {
            return;
        }
        if self.una.is_none() {
            self.started(from);
        }
        let late = from < self.max;
        for byte in &mut self.bytes[from..to] {
            byte.passes += 1;
            byte.late |= late;
        }
        self.max = self.max.max(to);
        // Others that it overlaps start anew as well.
        for (&first, sent) in &mut self.sent {
            if first < to && from < sent.end {
                sent.n_local = 0;
                sent.n_dup = 0;
            }
        }
        let sent = self.sent.entry(from).or_default();
        sent.versions.insert(packet.to_vec());
        // Newly cached, or longer: what was SACKed before does not count.
        let cached = agent.counter(LH_C_cached_segments);
        if cached != self.cached_segments || to > sent.end {
            self.cached_segments = cached;
            sent.sacked = false;
        }
        sent.last_tx_ns = now_ns;
        sent.end = sent.end.max(to);
    }

    pub fn on_ingress(
        &mut self,
        packet: &[u8],
        s: &Segment,
        outcome: &Outcome,
        agent: &Agent,
        key: &Key,
        now_ns: u64,
    ) {
        self.acks_in.insert(packet.to_vec());
        let ack = self.place(s.ack);
        let window = s.ack.wrapping_add(u32::from(s.window) << self.wscale);
        let seen = Forwarded {
            ack,
            flags: s.flags,
            edge: self.place(window),
        };
        let known = outcome.actions.is_some();
        if known && self.una.is_some_and(|una| ack >= una) {
            self.learn(ack, s);
        }
        if outcome.dropped {
            self.may_drop(s, &seen);
            let hold = agent.flow(key).expect("known").hold_ns(&self.config);
            self.held_until_ns.get_or_insert(now_ns + hold);
            self.nr_held += 1;
        }
        self.released(outcome, Some((&seen, packet)));
        if !outcome.dropped && known {
            // A new number, or a newer duplicate, stands for what was kept;
            // one that is neither does not.
            if !agent.flow(key).expect("known").is_held() {
                self.held_until_ns = None;
            }
            if Some(ack) >= self.una {
                self.forwarded = Some(seen);
                self.pure_edge = (s.payload_bytes == 0).then_some(seen.edge);
            }
        }
        let duplicate = outcome.actions.is_some_and(|_| !outcome.to_mh.is_empty());
        self.repairs(outcome, duplicate, agent, key, now_ns);
    }

    pub fn on_timer(&mut self, outcome: &Outcome, agent: &Agent, key: &Key, now_ns: u64) {
        assert!(!outcome.dropped);
        self.released(outcome, None);
        self.repairs(outcome, false, agent, key, now_ns);
    }

    fn learn(&mut self, ack: usize, s: &Segment) {
        self.una = self.una.max(Some(ack));
        let blocks = s.sack_blocks().iter().skip(usize::from(s.dsack));
        for block in blocks {
            let (from, to) = (self.place(block.left), self.place(block.right));
            if to > self.max || to <= ack {
                continue;
            }
            for byte in &mut self.bytes[from.max(ack)..to] {
                byte.sacked = true;
            }
            for (&first, sent) in &mut self.sent {
                sent.sacked |= first >= from && sent.end <= to;
            }
        }
    }

    /// Invariants 3, 5 and 6.
    fn may_drop(&self, s: &Segment, seen: &Forwarded) {
        let last = self.forwarded.expect("FH must know an ACK");
        assert_eq!(seen.ack, last.ack, "what advances must pass");
        assert_eq!(s.payload_bytes, 0);
        let keep = LH_FIN | LH_SYN | LH_RST | LH_URG;
        assert_eq!(u32::from(s.flags) & keep, 0);
        let ecn = (LH_ECE | LH_CWR | LH_AE) as u16;
        assert_eq!((s.flags ^ last.flags) & ecn, 0, "ECN must pass");
        assert_eq!(s.dsack, 0, "DSACK must pass");
        let foreign = LH_OPT_MPTCP | LH_OPT_UNKNOWN;
        assert_eq!(u32::from(s.opts) & foreign, 0);
        // A window that FH needs (Q17).
        let plenty = self.max + 2 * self.mss < last.edge;
        assert!(
            seen.edge == last.edge || seen.edge > last.edge && plenty,
            "a needed window must pass: {} after {}, {} sent",
            seen.edge,
            last.edge,
            self.max
        );
        let high = self.bytes.iter().rposition(|b| b.sacked);
        let upto = high.filter(|&h| h > seen.ack).unwrap_or(seen.ack + 1);
        for (at, byte) in self.bytes.iter().enumerate().take(upto).skip(seen.ack) {
            if !byte.sacked {
                assert_eq!(byte.passes, 1, "byte {at} is not ours to repair");
                assert!(!byte.late, "byte {at} was lost upstream");
            }
        }
    }

    /// Invariants 1, 4 and 11.
    fn released(&mut self, outcome: &Outcome, passing: Option<(&Forwarded, &[u8])>) {
        for packet in &outcome.to_fh {
            assert!(self.acks_in.contains(packet), "MH never sent this ACK");
            let (s, _) = parse(packet, 0, None, false).expect("TCP");
            let last = self.forwarded.expect("nothing first-seen");
            assert_eq!(self.place(s.ack), last.ack, "nothing first-seen");
            if let (Some(edge), false) = (self.pure_edge, self.sack) {
                let window = s.ack.wrapping_add(u32::from(s.window) << self.wscale);
                assert!(self.place(window) >= edge, "the edge moves left");
            }
            if let Some((seen, bytes)) = passing {
                assert_eq!((seen.ack, bytes), (last.ack, packet.as_slice()));
            }
        }
        if !outcome.to_fh.is_empty() {
            assert!(self.held_until_ns.is_some(), "nothing was kept");
            self.held_until_ns = None;
        }
    }

    /// Invariants 2, 9 and 10.
    fn repairs(&mut self, outcome: &Outcome, by_ack: bool, agent: &Agent, key: &Key, now_ns: u64) {
        let una = self.una.unwrap_or(0);
        for packet in &outcome.to_mh {
            let (s, _) = parse(packet, 0, None, true).expect("TCP");
            let (from, to) = (self.place(s.seq), self.place(s.end));
            let sent = self.sent.get_mut(&from).expect("it passed here");
            assert!(sent.versions.contains(packet), "a repair is verbatim");
            assert!(to > una, "acknowledged data is not sent again");
            assert!(!sent.sacked, "SACKed data is not sent again");
            if by_ack && sent.n_local > 0 {
                let srtt = agent.flow(key).expect("known").raw().srtt_ns;
                let since = now_ns - sent.last_tx_ns;
                assert!(since >= srtt, "one repair per local round trip");
            }
            sent.n_local += 1;
            sent.n_dup += u32::from(by_ack);
            assert!(sent.n_local <= self.config.max_local, "max_local");
            assert!(sent.n_dup <= 2, "Click's limit");
            sent.last_tx_ns = now_ns;
            self.nr_repairs += 1;
        }
    }
}
