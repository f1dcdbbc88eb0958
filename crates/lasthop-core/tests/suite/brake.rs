// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whom the agent brakes, and by what it knows whose a loss is: one small test per
//! rule of core/back.h, core/sample.h, core/queue.h and core/device.h; of core/window.h in window.rs.

use std::collections::{BTreeSet, VecDeque};

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp};
use lasthop_core::{Actions, Config, Flow, Key, MSEC_NS, SEC_NS, Segment, parse};

use crate::bench::{Bench, DELIVERED, answered};
use crate::rack::rig;
use crate::rig::{Rig, rig_with};

pub const MSS: u32 = 1_000;

/// A flow of which everything is known that the controller needs to edit windows.
pub fn bench(config: Config, wscale: u8) -> Bench {
    let mut b = Bench::new();
    b.config = config;
    b.data(0, MSS);
    let f = b.flow.raw_mut();
    f.conn.mss = MSS as u16;
    f.flags |= LH_FLOW_WSCALE | LH_FLOW_FWD;
    f.conn.wscale_mh = wscale;
    f.wired.rtt_ns = 90 * MSEC_NS;
    f.rtt.min_ns = 10 * MSEC_NS;
    f.rtt.srtt_ns = 10 * MSEC_NS;
    b
}

/// MH acknowledges, at `tsval` by its own clock.
pub fn stamped(b: &mut Bench, ack: u32, tsval: u32) -> Actions {
    b.segment_from_mh(&Segment {
        ack,
        flags: LH_ACK as u16,
        window: 1_000,
        opts: LH_OPT_TS as u8,
        tsval,
        wscale: LH_WSCALE_NONE as u8,
        ..Segment::default()
    })
}

// The way back (back.h).

/// MH's clock of `hz` ticks from `start` on; ACKs every 10 ms for so long, each made
/// `late_ns` before it comes.
struct Clock {
    hz: u64,
    start: u32,
    ns: u64,
}

impl Clock {
    fn run(&mut self, b: &mut Bench, span_ns: u64, late_ns: u64) {
        let end = self.ns + span_ns;
        while self.ns < end {
            self.ns += 10 * MSEC_NS;
            b.now_ns += 10 * MSEC_NS;
            let made = (self.ns - late_ns) * self.hz / SEC_NS;
            stamped(b, 0, self.start.wrapping_add(made as u32));
        }
    }
}

fn clock(hz: u64, start: u32) -> (Bench, Clock) {
    let clock = Clock {
        hz,
        start,
        ns: 5 * SEC_NS,
    };
    (bench(Config::default(), 7), clock)
}

#[test]
fn the_rate_of_mhs_clock_is_one_of_those_in_use() {
    for hz in [10, 100, 250, 1_000, 1_000_000] {
        // A queue on the way back makes an estimate wrong by that much.
        for off in [90, 100, 110] {
            let (mut b, mut clock) = clock(hz * off / 100, 7);
            clock.run(&mut b, 1_200 * MSEC_NS, 0);
            let tick = u64::from(b.flow.raw().back.tick_ns);
            assert_eq!(tick, SEC_NS / hz, "{hz} Hz, {off} %");
        }
    }
    for hz in [5, 50, 500, 10_000] {
        let (mut b, mut clock) = clock(hz, 7);
        clock.run(&mut b, 3 * SEC_NS, 200 * MSEC_NS);
        let back = b.flow.raw().back;
        assert_eq!((back.tick_ns, back.now_ns), (0, 0), "{hz} Hz: nobody's");
    }
}

/// However the clock stands, and while it wraps.
#[test]
fn a_queue_on_the_way_back_is_told_apart() {
    for hz in [10, 100, 250, 1_000, 1_000_000] {
        let tick = SEC_NS / hz;
        let wraps = 0u32.wrapping_sub((8 * hz) as u32);
        for start in [0, 1 << 31, wraps] {
            let (mut b, mut clock) = clock(hz, start);
            clock.run(&mut b, 2 * SEC_NS, 0);
            assert_eq!(b.flow.raw().back.now_ns, 0);
            clock.run(&mut b, 2 * SEC_NS, 300 * MSEC_NS);
            let seen = b.flow.raw().back.now_ns;
            let most = 300 * MSEC_NS + tick;
            assert!(
                seen <= most && seen + 2 * tick >= 300 * MSEC_NS,
                "{hz} Hz: {seen}"
            );
            clock.run(&mut b, SEC_NS, 0);
            assert_eq!(b.flow.raw().back.now_ns, 0, "{hz} Hz: it has drained");
            // For long: that is the way itself.
            clock.run(&mut b, 21 * SEC_NS, 300 * MSEC_NS);
            assert_eq!(b.flow.raw().back.now_ns, 0, "{hz} Hz");
        }
    }
}

/// What the controller reckons by is the way there.
#[test]
fn a_queue_on_the_way_back_is_no_queue_before_the_hop() {
    let (mut b, mut clock) = clock(1_000, 0);
    clock.run(&mut b, 2 * SEC_NS, 0);
    let mut ack = MSS;
    for late in [0, 80] {
        for _ in 0..5 {
            for _ in 0..2 {
                b.data(ack, MSS);
                ack += MSS;
            }
            b.now_ns += (10 + late) * MSEC_NS;
            clock.ns += (10 + late) * MSEC_NS;
            stamped(&mut b, ack, ((clock.ns / MSEC_NS) - late) as u32);
        }
        let recent = b.flow.raw().queue.recent_ns;
        assert_eq!(recent[0], recent[3], "{late}: {recent:?}");
        assert!(
            (10 * MSEC_NS..=12 * MSEC_NS).contains(&recent[0]),
            "{recent:?}"
        );
    }
}

// What an ACK teaches (sample.h).

/// One of a single segment may have waited for a second that did not come (RFC 1122 section
/// 4.2.3.2): the sojourn is that or less. Where MH has not waited for long, it is a sample.
#[test]
fn an_ack_that_may_have_been_delayed_shows_no_queue() {
    let mut b = bench(Config::default(), 7);
    let mut next = MSS;
    let mut sample_ms = |segments: u32, ms: u64| {
        for _ in 0..segments {
            b.data(next, MSS);
            next += MSS;
        }
        b.now_ns += ms * MSEC_NS;
        b.ack(next - MSS * u32::from(segments > 2));
        b.flow.raw().queue.recent_ns[0] / MSEC_NS
    };
    assert_eq!(sample_ms(2, 20), 20);
    assert_eq!(sample_ms(1, 60), 20, "perhaps delayed");
    assert_eq!(
        sample_ms(1, 12),
        12,
        "less than is known: no delay makes that"
    );
    assert_eq!(sample_ms(2, 60), 60, "sent at once");
}

// Whose loss (queue.h).

/// A sender that never pauses, a segment each millisecond, and a receiver with SACK
/// that acknowledges two segments at a time and whatever comes out of order.
pub struct Line {
    ms: u64,
    pub sent: i64,
    under_way: VecDeque<(u64, i64)>,
    lost: BTreeSet<i64>,
    una: i64,
    above: BTreeSet<i64>,
    waits: bool,
    pub resent: Vec<u32>,
    /// When which of these arrives: they overtake the queue.
    repairs: VecDeque<(u64, i64)>,
    /// ACKs with blocks above una that FH got to see as MH sent them.
    pub shown: usize,
    /// An agent at MH's end tells of each gap as it comes; behind what has arrived.
    pub tells: bool,
    /// Segments arrive at multiples of so many milliseconds only.
    pub batch: u64,
    max: i64,
}

impl Line {
    pub fn new(ms: u64, sent: i64) -> Self {
        Self {
            ms,
            sent,
            under_way: VecDeque::new(),
            lost: BTreeSet::new(),
            una: sent,
            above: BTreeSet::new(),
            waits: false,
            resent: Vec::new(),
            repairs: VecDeque::new(),
            shown: 0,
            tells: false,
            batch: 1,
            max: sent,
        }
    }

    /// Goes on for `span` milliseconds while the sojourn goes from what it was to
    /// `to`. `lose`: which of the segments are lost, counted from 0.
    pub fn run(
        &mut self,
        rig: &mut Rig,
        span: u64,
        (from, to): (u64, u64),
        lose: impl Fn(u64) -> bool,
    ) {
        for i in 0..span {
            self.ms += 1;
            let sojourn = (from * (span - i) + to * i) / span;
            rig.data(self.ms, self.sent, MSS as usize);
            if lose(i) {
                self.lost.insert(self.sent);
            } else {
                let arrives = self.under_way.back().map_or(0, |&(at, _)| at);
                let arrives = arrives.max((self.ms + sojourn).next_multiple_of(self.batch));
                self.under_way.push_back((arrives, self.sent));
            }
            self.sent += i64::from(MSS);
            while self.under_way.front().is_some_and(|&(at, _)| at <= self.ms) {
                let (_, seq) = self.under_way.pop_front().expect("one");
                self.arrives(rig, seq);
            }
            while self.repairs.front().is_some_and(|&(at, _)| at <= self.ms) {
                let (_, seq) = self.repairs.pop_front().expect("one");
                self.arrives(rig, seq);
            }
            let seen = rig.timer(self.ms);
            self.repaired(seen.resent);
            let due = rig.deadline();
            assert!(due.is_none_or(|at| at >= self.ms), "a timer that spins");
            rig.timer(self.ms);
            assert_eq!(due, rig.deadline(), "a timer that spins");
        }
    }

    fn repaired(&mut self, numbers: Vec<u32>) {
        for seq in numbers {
            self.resent.push(seq);
            self.repairs.push_back((self.ms + 10, i64::from(seq)));
        }
    }

    fn resends(&mut self, actions: &Actions) {
        let base = crate::rig::BASE;
        let numbers = actions.retransmits().iter();
        self.repaired(numbers.map(|r| r.seq.wrapping_sub(base)).collect());
    }

    fn arrives(&mut self, rig: &mut Rig, seq: i64) {
        if self.tells && seq > self.max {
            let gap = (crate::rig::wire(self.max), crate::rig::wire(seq));
            let now_ns = crate::rig::ns(self.ms);
            let out = rig.agent.on_partner(&rig.key.clone(), &[gap], now_ns);
            self.resends(&out.actions.expect("known"));
        }
        self.max = self.max.max(seq + i64::from(MSS));
        if seq >= self.una {
            self.above.insert(seq);
        }
        let next = self.una;
        while self.above.remove(&self.una) {
            self.una += i64::from(MSS);
        }
        if self.above.is_empty() && self.una == next + i64::from(MSS) && !self.waits {
            self.waits = true;
            return;
        }
        self.waits = false;
        let mut blocks: Vec<(i64, i64)> = Vec::new();
        for &seq in self.above.iter().rev() {
            match blocks.last_mut() {
                Some(b) if b.0 == seq + i64::from(MSS) => b.0 = seq,
                _ => blocks.push((seq, seq + i64::from(MSS))),
            }
        }
        blocks.truncate(3);
        let packet = rig.pure(self.una, &blocks).to_fh(&rig.ends);
        let out = rig.agent.on_ingress(&packet, crate::rig::ns(self.ms));
        self.resends(&out.actions.expect("known"));
        let blanked = out.actions.is_some_and(|a| a.blank_sack != 0);
        self.shown += usize::from(!blocks.is_empty() && out.passed.is_some() && !blanked);
    }
}

pub fn state(rig: &Rig) -> u32 {
    u32::from(rig.flow().raw().control.state)
}

/// A queue that grows to 50 ms within seconds, and stays.
fn standing(rig: &mut Rig) -> Line {
    let mut line = Line::new(300, 0);
    line.run(rig, 3_000, (10, 60), |_| false);
    line.run(rig, 300, (60, 60), |_| false);
    assert_eq!(state(rig), LH_CONTROL_FREE, "nothing was hidden");
    line
}

#[test]
fn a_loss_at_the_longest_queue_is_fhs() {
    let mut rig = rig(true);
    let mut line = standing(&mut rig);
    line.run(&mut rig, 100, (60, 60), |i| i == 20);
    assert_eq!(line.resent, []);
    assert!(line.shown > 0);
    assert_eq!(rig.count(LH_C_overflow_suspected), 1);
    assert_eq!(rig.count(LH_C_windows_edited), 0);
    assert_eq!(state(&rig), LH_CONTROL_FREE);
    assert!(rig.flow().has(LH_FLOW_OVERFLOW));
}

#[test]
fn a_loss_at_a_short_queue_is_repaired_and_its_sender_braked() {
    let mut rig = rig(true);
    let mut line = standing(&mut rig);
    line.run(&mut rig, 100, (60, 10), |_| false);
    line.run(&mut rig, 1_000, (10, 10), |_| false);
    let lost = line.sent as u32 + 20 * MSS;
    line.run(&mut rig, 35, (10, 10), |i| i == 20);
    assert_eq!(line.resent, [lost]);
    assert_eq!(line.shown, 0);
    assert_eq!(rig.count(LH_C_overflow_suspected), 0);
    assert_eq!(state(&rig), LH_CONTROL_HELD);
}

/// Who can't be braked is not HELD, and his queue does not answer to C: its overflows are his.
#[test]
fn a_loss_does_not_hold_whom_no_window_brakes() {
    let config = Config {
        clock: LH_CLOCK_OFF,
        ..Config::default()
    };
    let mut rig = rig_with(config, true);
    let mut line = Line::new(300, 0);
    line.run(&mut rig, 50, (10, 10), |i| i == 20);
    assert_eq!(line.resent, [20 * MSS]);
    assert_eq!(state(&rig), LH_CONTROL_FREE);
    assert_eq!(rig.count(LH_C_clock_engaged), 0);
    line.run(&mut rig, 1_500, (10, 60), |_| false);
    line.run(&mut rig, 100, (60, 60), |i| i == 20);
    assert_eq!(line.resent.len(), 1);
    assert_eq!(rig.count(LH_C_overflow_suspected), 1);
}

#[test]
fn without_the_guard_every_loss_is_the_links() {
    let config = Config {
        queue_guard: 0,
        ..Config::default()
    };
    let mut rig = rig_with(config, true);
    let mut line = standing(&mut rig);
    let lost = line.sent as u32 + 20 * MSS;
    line.run(&mut rig, 85, (60, 60), |i| i == 20);
    assert_eq!(line.resent[0], lost);
    assert_eq!(state(&rig), LH_CONTROL_HELD);
}

/// Reordering of long ago has taught patience; where that ends, it is not clear yet whose
/// loss it was, or it is not ours although FH has sent it again. run() looks at the timer.
#[test]
fn patience_with_a_loss_that_is_not_ours_does_not_spin() {
    for pattern in [false, true] {
        let mut rig = rig(true);
        rig.burst(200, 0, 1_000, 4);
        ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
        ack!(rig, 214, 3_000 => pass);
        ack!(rig, 216, 4_000 => pass);
        assert!(rig.flow().raw().order.reo_ns > 0);
        let mut line = Line::new(3_000, 4_000);
        line.run(&mut rig, 200, (10, 10), |_| false);
        if pattern {
            line.run(&mut rig, 150, (10, 60), |_| false);
            line.run(&mut rig, 100, (60, 70), |i| i == 10);
            continue;
        }
        line.run(&mut rig, 3_000, (10, 60), |_| false);
        line.run(&mut rig, 300, (60, 60), |_| false);
        line.run(&mut rig, 90, (60, 60), |i| i == 10);
        assert_eq!(rig.count(LH_C_overflow_suspected), 1);
        let lost = *line.lost.first().expect("one");
        rig.data(line.ms, lost, MSS as usize);
        line.run(&mut rig, 300, (60, 60), |_| false);
    }
}

// Receivers (device.h).

pub fn key(mh: u8) -> Key {
    let ends = Ends {
        mh: ([10, 0, 0, mh], 5_000).into(),
        ..Ends::v4(1)
    };
    parse(&Tcp::default().to_mh(&ends), 0, None, true)
        .expect("TCP")
        .1
}

/// `n` flows to one receiver.
struct Crowd {
    b: Bench,
    flows: Vec<(Flow, u32)>,
}

impl Crowd {
    fn new(n: usize) -> Self {
        let mut b = Bench::new();
        b.config = Config::default();
        let flows = (0..n)
            .map(|_| {
                let mut flow = Flow::new();
                answered(&mut flow);
                b.host.set_peer(&mut flow, &key(1), b.now_ns);
                (flow, 0)
            })
            .collect();
        b.now_ns += 19 * SEC_NS; // a bin of bins begins at a multiple of 1.6 s
        b.now_ns -= b.now_ns % (1_600 * MSEC_NS);
        Self { b, flows }
    }

    /// `bytes` to flow `i`.
    fn deliver(&mut self, i: usize, bytes: u32) {
        let (flow, seq) = &mut self.flows[i];
        std::mem::swap(&mut self.b.flow, flow);
        self.b.data(*seq, bytes);
        *seq += bytes;
        self.b.ack(*seq);
        std::mem::swap(&mut self.b.flow, flow);
    }

    fn peer(&self) -> lh_peer {
        *self.b.host.peer(self.flows[0].0.raw().peer)
    }

    fn pass(&mut self, bins: u64) {
        self.b.now_ns += bins * 100 * MSEC_NS;
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for (flow, _) in &mut self.flows {
            self.b.host.free(flow);
        }
    }
}

#[test]
fn a_receivers_rate_is_that_of_all_its_flows_and_fades() {
    let mut c = Crowd::new(3);
    assert_ne!(c.flows[0].0.raw().peer, 0);
    for i in 0..3 {
        c.deliver(i, 100_000);
        c.deliver(i, 100_000);
    }
    assert_eq!(c.peer().rate, 0, "the bin is not over");
    c.pass(1);
    c.deliver(0, 1_000);
    let p = c.peer();
    assert_eq!((p.rate, p.rate_before), (6_000_000, 6_000_000));
    assert_eq!((p.flows_before, p.flows), (3, 1));
    c.pass(1);
    c.deliver(0, 1_000);
    let p = c.peer();
    assert_eq!((p.rate, p.rate_before), (6_000_000 - 93_750, 10_000));
    assert_eq!((p.flows_before, p.flows), (1, 1));
    // A pause: the bin before is not the last whole one.
    c.pass(10);
    c.deliver(0, 1_000);
    let p = c.peer();
    assert_eq!((p.rate_before, p.flows_before), (0, 0));
    assert_eq!(p.rate, 5_906_250 - 10 * (5_906_250 / 64));
    c.pass(64);
    c.deliver(0, 1_000);
    assert_eq!(c.peer().rate, 10_000, "forgotten but for the last bin");
}

#[test]
fn a_crowd_is_counted_over_longer() {
    let mut c = Crowd::new(40);
    // Each flow has a segment per 1.6 s.
    for _ in 0..2 {
        for i in 0..40 {
            c.deliver(i, 1_000);
            c.b.now_ns += 40 * MSEC_NS;
        }
    }
    let p = c.peer();
    assert!(p.flows <= 3 && p.flows_before <= 3);
    assert_eq!((p.crowd_before, p.crowd), (40, 40));
    c.pass(40);
    c.deliver(0, 1_000);
    assert_eq!((c.peer().crowd_before, c.peer().crowd), (0, 1));
}

/// The device's own is made of all receivers.
#[test]
fn a_fresh_flow_takes_its_receivers_round_trip() {
    let mut rig = rig(true);
    // Where others are is far away.
    let other = Ends {
        mh: ([10, 9, 8, 7], 5_000).into(),
        ..Ends::v4(9)
    };
    for i in 0..20 {
        let ms = 1_000 + 500 * i;
        for k in 0..2 {
            let data = Tcp {
                seq: (2 * i as u32 + k) * MSS,
                payload: vec![0; MSS as usize],
                ..Tcp::default()
            };
            rig.agent.on_egress(&data.to_mh(&other), crate::rig::ns(ms));
        }
        let ack = Tcp {
            ack: (2 * i as u32 + 2) * MSS,
            ..Tcp::default()
        };
        rig.agent
            .on_ingress(&ack.to_fh(&other), crate::rig::ns(ms + 400));
    }
    for i in 0..4 {
        let (ms, seq) = (20_000 + 100 * i as u64, 2_000 * i);
        data!(rig, ms, seq, 1_000);
        data!(rig, ms, seq + 1_000, 1_000);
        ack!(rig, ms + 12, seq + 2_000 => pass);
    }
    rig.ends = Ends::v4(2);
    rig.key = parse(&rig.bare().to_mh(&rig.ends), 0, None, true)
        .expect("TCP")
        .1;
    rig.fh_sends(21_000, rig.fh_syn(LH_SYN, &[]));
    assert_eq!(rig.deadline(), Some(21_000 + 2 * 12 + 4));
    assert_eq!(rig.flow().raw().rtt.srtt_ns, 0, "it has none of its own");
}

// What could not be cached (agent.h).

#[test]
fn an_ack_for_uncached_bytes_books_so_much_at_most() {
    for (len, ack) in [(3_000_000, 3_001_000), (3_000_000, 500_000), (0, 1_000)] {
        let mut b = bench(Config::default(), 7);
        b.cap = 1;
        if len > 0 {
            b.data(MSS, len);
        }
        b.now_ns += 20 * MSEC_NS;
        b.ack(ack);
        let most = DELIVERED + MSS + LH_UNCACHED_MOST.min(ack - MSS);
        assert_eq!(b.flow.raw().delivery.bytes, most, "{ack}");
    }
}

const LH_UNCACHED_MOST: u32 = 1 << 20;

/// A number that somebody made up is no delivery at all.
#[test]
fn an_ack_beyond_everything_books_nothing() {
    let mut b = bench(Config::default(), 7);
    b.now_ns += 20 * MSEC_NS;
    b.ack(1 << 30);
    assert_eq!(b.flow.raw().delivery.bytes, DELIVERED);
}
