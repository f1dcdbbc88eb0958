// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Stands beside the agent and checks the invariants of docs/design.md, section 4, from
//! the outside: from what goes in and comes out, with as little knowledge of
//! the core's state as possible.

use std::collections::{HashMap, HashSet};

use crate::control_model::States;
use crate::sim::{Foreign, Params};
use crate::watch_edit::{edge_of, edited, like};
use lasthop_core::bindings::*;
use lasthop_core::{Agent, Config, Key, Outcome, Segment, parse};

/// Probes in an outage are this far apart at the least, scheme rack.
const PROBES_APART_NS: u64 = 32_000_000;

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
    /// As `last_tx_ns`, but not for what only touched it.
    whole_tx_ns: u64,
    end: usize,
    n_local: u32,
    n_dup: u32,
    /// Its last repair was the timer's.
    probed: bool,
    sacked: bool,
}

/// What FH saw last.
#[derive(Clone, Copy)]
struct Forwarded {
    ack: usize,
    flags: u16,
    edge: usize,
}

/// An ACK from MH and what the agent made of it.
struct Answer<'a> {
    s: &'a Segment,
    /// As MH sent it.
    own: Forwarded,
    flow: &'a lh_flow,
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
    /// Right edge of MH's own window, as of the last ACK that was not old.
    own_edge: usize,
    /// Nothing may be edited, nor kept back.
    foreign: Foreign,
    /// Latest departure among what MH has.
    delivered_tx_ns: u64,
    /// MH's last ACK.
    heard_ns: u64,
    /// MH was silent for longer than any answer takes: what departed before this, and has not
    /// arrived, is lost; and when that ended.
    lost_tx_ns: u64,
    over_ns: u64,
    /// Until when the kept ACK must be out or superseded.
    held_until_ns: Option<u64>,
    cached_segments: u64,
    states: States,
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
            own_edge: 0,
            foreign: match p.foreign {
                Foreign::Mptcp if !p.handshake => Foreign::Nothing, // nobody knows
                known => known,
            },
            delivered_tx_ns: 0,
            heard_ns: 0,
            lost_tx_ns: 0,
            over_ns: 0,
            held_until_ns: None,
            cached_segments: 0,
            states: States::default(),
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
        self.delivered_tx_ns = 0;
        self.lost_tx_ns = 0;
        if self.foreign == Foreign::Mptcp {
            self.foreign = Foreign::Nothing;
        }
        self.held_until_ns = None;
        self.states.forget();
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
        // A window probe claims nothing: it is not cached, nor booked as a copy.
        let flow = agent.keys().next().and_then(|key| agent.flow(key));
        let closed = |f: &lh_flow| f.hold.last_window == 0 || f.outage.frozen != 0;
        let probe = to - from == 1 && flow.is_some_and(|f| closed(f.raw()));
        let late = from < self.max;
        for byte in &mut self.bytes[from..to] {
            byte.passes += u32::from(!probe || byte.passes == 0);
            byte.late |= late && !probe;
        }
        self.max = self.max.max(to);
        // Others that it overlaps start anew as well.
        for (&first, sent) in &mut self.sent {
            if first < to && from < sent.end {
                sent.n_local = 0;
                sent.n_dup = 0;
                sent.last_tx_ns = now_ns;
            }
        }
        let sent = self.sent.entry(from).or_default();
        sent.versions.insert(packet.to_vec());
        // Newly cached, or longer (what is cached may be shorter than what has
        // passed): what was SACKed before does not count.
        let cached = agent.counter(LH_C_cached_segments);
        let stored = outcome.actions.is_some_and(|a| a.store().is_some());
        let other = sent.versions.iter().any(|v| v.len() != packet.len());
        if cached != self.cached_segments || to > sent.end || (stored && other) {
            self.cached_segments = cached;
            sent.sacked = false;
        }
        sent.last_tx_ns = now_ns;
        if to >= sent.end && to - from > 1 || sent.end == 0 {
            sent.whole_tx_ns = now_ns;
        }
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
        self.acks_in.insert(like(packet));
        let ack = self.place(s.ack);
        let own = Forwarded {
            ack,
            flags: s.flags,
            edge: self.place(edge_of(s, self.wscale)),
        };
        let Some(actions) = outcome.actions else {
            assert!(outcome.to_mh.is_empty() && outcome.to_fh.is_empty() && !outcome.dropped);
            return;
        };
        let flow = agent.flow(key).expect("known");
        if self.una.is_none_or(|una| ack > una) {
            self.held_until_ns = None; // it stands for what was kept
        }
        self.silence(ack, flow.raw().rtt.srtt_ns, now_ns);
        let current = self.una.is_none_or(|una| ack >= una);
        if current {
            self.learn(ack, s);
            self.pardon_head(now_ns);
            self.own_edge = own.edge;
        }
        let answer = Answer {
            s,
            own,
            flow: flow.raw(),
        };
        if outcome.dropped {
            self.may_drop(&answer);
            self.nr_held += u64::from(actions.hold);
        }
        if let Some(passed) = &outcome.passed {
            self.may_edit(packet, passed, &answer);
        }
        if actions.hold != 0 && flow.is_held() {
            let hold = flow.hold_ns(&self.config);
            self.held_until_ns.get_or_insert(now_ns + hold);
        }
        let passing = outcome.passed.as_ref().map(|passed| (ack, passed));
        self.released(outcome, passing, flow.raw());
        if let Some(passed) = &outcome.passed {
            // A new number, or a newer duplicate, stands for what was kept;
            // one that is neither does not.
            if !flow.is_held() {
                self.held_until_ns = None;
            }
            if current {
                let (t, _) = parse(passed, 0, None, false).expect("TCP");
                let edge = self.place(edge_of(&t, self.wscale));
                let known = self.forwarded.map_or(0, |f| f.edge);
                // Where it has been rounded it stays what it was.
                let edge = match known.min(own.edge) {
                    most if edge < most && edge != own.edge => most,
                    _ => edge,
                };
                self.forwarded = Some(Forwarded { edge, ..own });
                self.pure_edge = (s.payload_bytes == 0).then_some(edge);
            }
        }
        self.repairs(outcome, true, agent, key, now_ns);
        let edited = actions.window != LH_KEEP_WINDOW;
        self.states
            .turn(&self.config, flow.raw(), self.nr_repairs, edited);
    }

    pub fn on_timer(&mut self, outcome: &Outcome, agent: &Agent, key: &Key, now_ns: u64) {
        assert!(!outcome.dropped);
        let flow = agent.flow(key).expect("known").raw();
        self.released(outcome, None, flow);
        self.repairs(outcome, false, agent, key, now_ns);
        self.states.turn(&self.config, flow, self.nr_repairs, false);
    }

    /// Whether MH has been silent for as long as an outage takes at the least.
    fn quiet(&self, srtt_ns: u64, now_ns: u64) -> bool {
        now_ns - self.heard_ns >= self.config.slack_quiet_ns.max(2 * srtt_ns)
    }

    /// After an outage whatever departed more than a round trip ago, and has not arrived, may
    /// count as lost; and where a probe has brought what it repeated, and nothing else.
    fn silence(&mut self, ack: usize, srtt_ns: u64, now_ns: u64) {
        let head = self.una.and_then(|una| self.sent.get(&una));
        let probed = self.rack() && head.is_some_and(|head| head.probed && head.end == ack);
        if probed || self.quiet(srtt_ns, now_ns) {
            self.lost_tx_ns = now_ns.saturating_sub(srtt_ns);
            self.over_ns = now_ns;
        }
        self.heard_ns = now_ns;
    }

    /// What was tried in the outage does not count against the oldest segment; and each outage is a
    /// reason to repair the window.
    fn pardon_head(&mut self, now_ns: u64) {
        let una = self.una.unwrap_or(0);
        if !self.rack() || self.over_ns != now_ns {
            return;
        }
        for (&first, sent) in &mut self.sent {
            sent.n_dup = 0;
            if first <= una && sent.end > una {
                sent.n_local = sent.n_local.min(1);
            }
        }
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
        let una = self.una.unwrap_or(0);
        // By the first byte: what FH sends again may have other borders.
        let has = |first: usize| first < una || self.bytes[first].sacked;
        let delivered = self.sent.iter().filter(|(first, _)| has(**first));
        let latest = delivered.map(|(_, e)| e.last_tx_ns).max().unwrap_or(0);
        self.delivered_tx_ns = self.delivered_tx_ns.max(latest);
    }

    fn rack(&self) -> bool {
        self.config.scheme == LH_SCHEME_rack
    }

    fn sack(&self) -> bool {
        self.config.scheme == LH_SCHEME_sack
    }

    /// Whether the window controller has a say.
    fn braked(&self) -> bool {
        self.config.policy() & LH_POLICY_CONTROL != 0
    }

    fn slack(&self) -> bool {
        self.config.scheme == LH_SCHEME_slack
    }

    /// Invariants I3, I5 and I6.
    fn may_drop(&self, answer: &Answer) {
        let (s, own) = (answer.s, answer.own);
        let last = self.forwarded.expect("FH must know an ACK");
        assert_eq!(own.ack, last.ack, "what advances must pass");
        assert_eq!(s.payload_bytes, 0);
        assert_eq!(u32::from(s.opts) & LH_OPT_UNKNOWN, 0);
        self.may_hide(answer);
        let plenty = self.max + 2 * self.mss < last.edge;
        let clocked = self.usable(answer.flow) && answer.flow.control.state != 0;
        // A window that FH needs (section 3.10), unless the controller has a say in it.
        assert!(
            own.edge == last.edge
                || own.edge > last.edge && (clocked || plenty && !self.usable(answer.flow)),
            "a needed window must pass: {} after {}, {} sent",
            own.edge,
            last.edge,
            self.max
        );
        assert!(s.window != 0 || !self.braked() || own.edge == last.edge);
    }

    /// What `s` says of holes may be kept from FH.
    fn may_hide(&self, answer: &Answer) {
        let (s, own) = (answer.s, answer.own);
        let last = self.forwarded.expect("FH must know an ACK");
        let keep = LH_FIN | LH_SYN | LH_RST | LH_URG;
        assert_eq!(u32::from(s.flags) & keep, 0);
        let ecn = (LH_ECE | LH_CWR | LH_AE) as u16;
        assert_eq!((s.flags ^ last.flags) & ecn, 0, "ECN must pass");
        assert_eq!(u32::from(s.opts) & LH_OPT_MPTCP, 0);
        assert_eq!(self.foreign, Foreign::Nothing, "not ours to touch");
        if s.dsack != 0 {
            assert!(self.braked(), "DSACK must pass");
            let (from, to) = (self.place(s.sack[0].left), self.place(s.sack[0].right));
            let fresh = |b: &Byte| b.passes <= 1;
            assert!(self.bytes[from..to].iter().all(fresh), "FH's own copy");
        }
        let shows = |k: &lh_sack_block| self.place(k.right) > own.ack;
        if s.dsack != 0 && !s.sack_blocks().iter().skip(1).any(shows) {
            return; // of holes it says nothing
        }
        if own.ack >= self.max {
            // Nothing is missing: MH got something twice. Above, if the agent joined late.
            return;
        }
        let high = self.bytes.iter().rposition(|b| b.sacked);
        let blind = own.ack + usize::from(s.dsack == 0 && !self.sack);
        let upto = high.filter(|&h| h > own.ack).unwrap_or(blind);
        for (at, byte) in self.bytes.iter().enumerate().take(upto).skip(own.ack) {
            if !byte.sacked {
                assert_eq!(byte.passes, 1, "byte {at} is not ours to repair");
                assert!(!byte.late, "byte {at} was lost upstream");
            }
        }
    }

    /// The core's own word on whether it may edit windows; what it must not be
    /// is checked in may_edit().
    fn usable(&self, flow: &lh_flow) -> bool {
        let need = LH_FLOW_WSCALE | LH_FLOW_FWD;
        let wired = flow.wired.rtt_ns.max(flow.wired.now_ns);
        self.braked()
            && self.config.clock != 0
            && flow.flags & need == need
            && self.foreign == Foreign::Nothing
            && wired.max(flow.wired.before_ns) != 0
    }

    /// Granted once, an edge may move left by less than a unit of the scale, where what is
    /// granted does not fit whole units (RFC 7323 section 2.4), however many ACKs there are.
    fn stays(&self, edge: usize, known: usize) {
        assert!(edge + (1 << self.wscale) > known, "the edge moves left");
    }

    /// Invariant I16.
    fn may_edit(&self, came: &[u8], passed: &[u8], answer: &Answer) {
        let (s, own) = (answer.s, answer.own);
        let edit = edited(came, passed, s);
        if edit == Default::default() {
            return;
        }
        let mask = self.config.sack_mask;
        let heard = LH_POLICY_MAC | LH_POLICY_PARTNER;
        let auto = mask == LH_MASK_AUTO && self.config.policy() & heard != 0;
        let masks = (mask == LH_MASK_ON || auto) && !edit.window;
        assert!(self.braked() || self.sack() && masks, "not its to edit");
        assert_ne!(s.window, 0, "zero windows pass as they are");
        assert_eq!(self.foreign, Foreign::Nothing, "not ours to edit");
        if edit.blanked {
            self.may_hide(answer);
        }
        if !edit.window {
            return;
        }
        assert!(answer.flow.flags & LH_FLOW_WSCALE != 0, "unknown scale");
        let (t, _) = parse(passed, 0, None, false).expect("TCP");
        let edge = self.place(edge_of(&t, self.wscale));
        let known = self.forwarded.map_or(0, |f| f.edge);
        assert!(edge <= own.edge, "past the receiver's own");
        self.stays(edge, known.min(own.edge));
        assert_ne!(t.window, 0, "the agent never closes the window");
    }

    /// Invariants I1, I4 and I11. `passing`: number and bytes of the ACK of this call.
    fn released(&mut self, outcome: &Outcome, passing: Option<(usize, &Vec<u8>)>, flow: &lh_flow) {
        for packet in &outcome.to_fh {
            if self.closes_window(packet) {
                return;
            }
            assert!(
                self.acks_in.contains(&like(packet)),
                "MH never sent this ACK"
            );
            let (s, _) = parse(packet, 0, None, false).expect("TCP");
            let last = self.forwarded.expect("nothing first-seen");
            assert_eq!(self.place(s.ack), last.ack, "nothing first-seen");
            let edge = self.place(edge_of(&s, self.wscale));
            if let (Some(known), false) = (self.pure_edge, self.sack) {
                self.stays(edge, known.min(self.own_edge));
            }
            if self.usable(flow) {
                self.stays(edge, last.edge.min(self.own_edge));
                assert!(
                    edge <= last.edge.max(self.own_edge),
                    "past the receiver's own"
                );
            }
            match passing {
                Some((ack, bytes)) => assert_eq!((ack, bytes), (last.ack, packet)),
                None => {
                    self.forwarded = Some(Forwarded {
                        edge: edge.max(last.edge),
                        ..last
                    })
                }
            }
        }
        if !outcome.to_fh.is_empty() {
            let again = self.slack() && passing.is_none();
            assert!(self.held_until_ns.is_some() || again, "nothing was kept");
            assert!(outcome.to_fh.len() <= 3 && (self.foreign == Foreign::Nothing || !again));
            self.held_until_ns = None;
        }
    }

    /// The exception to invariant I16 that has a name: `freeze`.
    fn closes_window(&mut self, packet: &[u8]) -> bool {
        let (s, _) = parse(packet, 0, None, false).expect("TCP");
        if self.config.freeze == 0 || s.window != 0 || self.own_edge == self.place(s.ack) {
            return false;
        }
        let last = self.forwarded.expect("nothing first-seen");
        assert!(self.acks_in.contains(&like(packet)), "MH never sent it");
        assert_eq!(self.place(s.ack), last.ack, "nothing first-seen");
        assert_eq!(self.foreign, Foreign::Nothing, "not ours to touch");
        self.forwarded = Some(Forwarded {
            edge: last.ack,
            ..last
        });
        self.pure_edge = self.pure_edge.map(|_| last.ack);
        self.held_until_ns = None;
        true
    }

    /// Invariants I2, I9 and I10.
    fn repairs(&mut self, outcome: &Outcome, by_ack: bool, agent: &Agent, key: &Key, now_ns: u64) {
        let (una, rack, sack) = (self.una.unwrap_or(0), self.rack(), self.sack());
        let srtt_ns = agent.flow(key).map_or(0, |flow| flow.raw().rtt.srtt_ns);
        let quiet = self.quiet(srtt_ns, now_ns);
        for packet in &outcome.to_mh {
            let (s, _) = parse(packet, 0, None, true).expect("TCP");
            let (from, to) = (self.place(s.seq), self.place(s.end));
            let sent = self.sent.get_mut(&from).expect("it passed here");
            assert!(sent.versions.contains(packet), "a repair is verbatim");
            assert!(to > una, "acknowledged data is not sent again");
            assert!(!sent.sacked, "SACKed data is not sent again");
            let flow = agent.flow(key).expect("known");
            let by_order = (rack || sack) && flow.uses_sack();
            let due = now_ns - sent.last_tx_ns >= flow.raw().rtt.srtt_ns;
            let convicted = by_order
                && (sent.whole_tx_ns <= self.delivered_tx_ns || sent.whole_tx_ns < self.lost_tx_ns);
            if by_ack && sent.n_local > 0 {
                assert!(due || convicted, "one repair per local round trip");
            }
            assert!(!(by_ack && by_order) || convicted, "by time order only");
            // In an outage the head is probed beyond both, and each outage is a reason to send a
            // segment again. With rack only while MH is silent, and at intervals.
            let slack = self.config.scheme == LH_SCHEME_slack;
            let probe = rack && !by_ack && quiet && now_ns - sent.last_tx_ns >= PROBES_APART_NS;
            let head = from <= una && (slack || probe);
            sent.n_local += 1;
            sent.n_dup += u32::from(by_ack);
            sent.probed = !by_ack;
            assert!(head || sent.n_local <= self.config.max_local, "max_local");
            assert!(slack || by_order || sent.n_dup <= 2, "Click's limit");
            sent.last_tx_ns = now_ns;
            sent.whole_tx_ns = now_ns;
            self.nr_repairs += 1;
        }
    }
}
