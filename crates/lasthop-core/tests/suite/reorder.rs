// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A hop that reorders and loses nothing: 50 Mbit/s, 10 ms there and back, where one segment of
//! 50 takes a detour of 3 ms and a dozen others overtake it. Every repair is one too many.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use lasthop_core::bindings::*;
use lasthop_core::{Config, MSEC_NS, parse};

use crate::ends::Random;
use crate::rig::{Rig, WSCALE, ns, rig_with, wire};

const LEN: i64 = 1_000;
const SEGMENTS: i64 = 8_000;
const WIRED_NS: u64 = 5 * MSEC_NS;
const HOP_NS: u64 = 5 * MSEC_NS;
const SERIAL_NS: u64 = 200_000;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    AtAgent(i64),
    AtMh(i64),
    FromMh(Vec<u8>),
    AtFh(Vec<u8>),
}

struct Hop {
    rig: Rig,
    random: Random,
    /// By time, then by when they were due.
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    free_ns: u64,
    /// So long at a time and so often nothing gets over the hop: the machine that plays it pauses.
    pause_ns: (u64, u64),
    /// FH: acknowledged, sent, permitted; and its own window.
    una: i64,
    next: i64,
    edge: i64,
    window: i64,
    /// MH: what it wants next, and what it has above that.
    ack: i64,
    above: BTreeSet<i64>,
    detours: u64,
    detour_ns: u64,
}

impl Hop {
    fn new(window: i64, pause_ns: (u64, u64)) -> Self {
        Self {
            rig: rig_with(Config::default(), true),
            random: Random(1),
            queue: BinaryHeap::new(),
            free_ns: 0,
            pause_ns,
            una: 0,
            next: 0,
            edge: 100 * LEN,
            window,
            ack: 0,
            above: BTreeSet::new(),
            detours: 0,
            detour_ns: 3 * MSEC_NS,
        }
    }

    fn push(&mut self, at: u64, event: Event) {
        self.queue.push(Reverse((at, at, event)));
    }

    /// Comes off the hop, later if that pauses.
    fn cross(&mut self, due: u64, event: Event) {
        let (long, every) = self.pause_ns;
        let at = match every > 0 && due % every < long {
            true => due - due % every + long,
            false => due,
        };
        self.queue.push(Reverse((at, due, event)));
    }

    fn depart(&mut self, now: u64, seq: i64) {
        self.free_ns = self.free_ns.max(now) + SERIAL_NS;
        let detour = self.random.chance(20);
        self.detours += u64::from(detour);
        let due = self.free_ns + HOP_NS + if detour { self.detour_ns } else { 0 };
        self.cross(due, Event::AtMh(seq));
    }

    fn repairs(&mut self, now: u64, packets: &[Vec<u8>]) {
        for packet in packets {
            let (s, _) = parse(packet, 0, None, true).expect("TCP");
            self.depart(now, i64::from(s.seq.wrapping_sub(wire(0))));
        }
    }

    /// FH sends what both windows permit.
    fn pump(&mut self, now: u64) {
        let most = (self.una + self.window * LEN).min(SEGMENTS * LEN);
        while self.next + LEN <= most.min(self.edge) {
            self.push(now + WIRED_NS, Event::AtAgent(self.next));
            self.next += LEN;
        }
    }

    /// What MH answers: its number, and up to three blocks, the newest first.
    fn answer(&mut self, now: u64, seq: i64) {
        let again = seq < self.ack || !self.above.insert(seq);
        while self.above.remove(&self.ack) {
            self.ack += LEN;
        }
        let mut blocks: Vec<(i64, i64)> = Vec::new();
        for &at in &self.above {
            match blocks.last_mut() {
                Some(last) if last.1 == at => last.1 = at + LEN,
                _ => blocks.push((at, at + LEN)),
            }
        }
        if let Some(i) = blocks.iter().position(|b| b.0 <= seq && seq < b.1) {
            blocks[..=i].rotate_right(1);
        }
        if again {
            blocks.insert(0, (seq, seq + LEN)); // RFC 2883
        }
        blocks.truncate(3);
        let packet = self.rig.pure(self.ack, &blocks).to_fh(&self.rig.ends);
        self.cross(now + HOP_NS, Event::FromMh(packet));
    }

    fn handle(&mut self, now: u64, event: Event) {
        match event {
            Event::AtAgent(seq) => {
                let packet = self.rig.segment(seq, LEN as usize).to_mh(&self.rig.ends);
                self.rig.agent.on_egress(&packet, now);
                self.depart(now, seq);
            }
            Event::AtMh(seq) => self.answer(now, seq),
            Event::FromMh(packet) => {
                let out = self.rig.agent.on_ingress(&packet, now);
                self.repairs(now, &out.to_mh);
                for packet in out.to_fh.into_iter().chain(out.passed) {
                    self.push(now + WIRED_NS, Event::AtFh(packet));
                }
            }
            Event::AtFh(packet) => {
                let (s, _) = parse(&packet, 0, None, false).expect("TCP");
                self.una = self.una.max(i64::from(s.ack.wrapping_sub(wire(0))));
                self.edge = self.edge.max(self.una + (i64::from(s.window) << WSCALE));
                self.pump(now);
            }
        }
    }

    /// Until all is acknowledged. @return repairs, and segments that took the detour.
    fn run(mut self) -> (u64, u64) {
        self.pump(ns(200));
        while self.una < SEGMENTS * LEN {
            let event = self.queue.peek().map(|Reverse((at, ..))| *at);
            let due = self.rig.agent.next_deadline();
            let now = event
                .into_iter()
                .chain(due)
                .min()
                .expect("something is under way");
            if due == Some(now) {
                for (_, out) in self.rig.agent.on_timer(now) {
                    self.repairs(now, &out.to_mh);
                    for packet in out.to_fh {
                        self.push(now + WIRED_NS, Event::AtFh(packet));
                    }
                }
            } else if let Some(Reverse((_, _, event))) = self.queue.pop() {
                self.handle(now, event);
            }
        }
        assert!(self.rig.count(LH_C_reordered) > 0);
        (self.rig.count(LH_C_local_retransmits), self.detours)
    }
}

/// The first detours teach how long to wait.
#[test]
fn patience_is_learned_from_a_few_detours() {
    for window in [60, 110] {
        let (repairs, detours) = Hop::new(window, (0, 0)).run();
        assert!(detours > 100, "{detours} detours");
        assert!(repairs <= 4, "{repairs} repairs for {detours} detours");
    }
}

/// So they do on a machine that pauses, which makes clumps of ACKs. What is left are probes into
/// long silences. (End to end such pauses passed for forgotten patience, but the repairs there
/// were for what the sender's bursts had made overflow.)
#[test]
fn pauses_do_not_unlearn_it() {
    for (long, every) in [(5, 50), (30, 300), (60, 400)] {
        let pause = (long * MSEC_NS, every * MSEC_NS);
        for window in [60, 110] {
            let (repairs, detours) = Hop::new(window, pause).run();
            assert!(
                repairs <= detours / 4,
                "{repairs} repairs for {detours} detours, pauses of {long} ms"
            );
        }
    }
}

/// By then the repair may have come first: MH's DSACK tells.
#[test]
fn detours_as_long_as_the_hop_teach_as_well() {
    for ms in [8, 9, 12, 15, 18] {
        let mut hop = Hop::new(60, (0, 0));
        hop.detour_ns = ms * MSEC_NS;
        let (repairs, detours) = hop.run();
        assert!(
            repairs <= detours / 5,
            "{ms} ms: {repairs} repairs for {detours} detours"
        );
    }
}
