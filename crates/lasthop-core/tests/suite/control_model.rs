// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The window controller's law (core/control.h) in floating point, beside the core: fed
//! with the same deliveries, both must want the same C, from 64 kbit/s to
//! 10 Gbit/s and over round trips of up to a minute. And its states: which may
//! follow which.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp};
use lasthop_core::{Config, Segment, parse};
use proptest::prelude::*;

use crate::bench::{Bench, answered};

const MSS: u32 = 1_460;
const WSCALE: u8 = 8;
const BIN_NS: u64 = 100_000_000;
/// Bounds of C.
const LEAST: f64 = 2.0 * MSS as f64 + (1 << WSCALE) as f64;
const MOST: f64 = (1u32 << 30) as f64;

/// What was delivered, per bin: the device's and the receiver's are the same here.
#[derive(Default)]
struct Bins {
    bytes: std::collections::BTreeMap<u64, f64>,
    /// Best rate of late of the receiver, which fades; as of the newest bin.
    best: f64,
}

impl Bins {
    fn add(&mut self, now_ns: u64, bytes: u32) {
        let bin = now_ns / BIN_NS;
        if let Some((&old, &last)) = self.bytes.last_key_value() {
            if old < bin {
                let faded = 1.0 - (bin - old) as f64 / 64.0;
                self.best = (self.best * faded.max(0.0)).max(last * 10.0);
            }
        }
        *self.bytes.entry(bin).or_default() += f64::from(bytes);
    }

    /// Best rate of the device in the last eight complete bins, bytes per second.
    fn device(&self, now_ns: u64) -> f64 {
        let bin = now_ns / BIN_NS;
        let range = self.bytes.range(bin.saturating_sub(8)..bin);
        range.map(|(_, b)| *b).fold(0.0, f64::max) * 10.0
    }

    /// Rate of the last whole bin.
    fn last(&self, now_ns: u64) -> f64 {
        let bin = (now_ns / BIN_NS).saturating_sub(1);
        self.bytes.get(&bin).copied().unwrap_or(0.0) * 10.0
    }
}

/// What the law goes by.
struct Seen {
    /// Unloaded round trip and queueing delay, s.
    base: f64,
    q: f64,
    /// The queue to aim at, s, and where the law comes to rest.
    target: f64,
    aim: f64,
    alpha: f64,
    /// Over a whole bin of late, bytes per second.
    mean: f64,
    /// What C would be at the best rate of late.
    known: f64,
    spare: bool,
    /// Twice what MH got in a round trip, and a burst.
    most: f64,
    /// What C is at least: an equal part of the rate without a queue, of ten segments at the most.
    fair: f64,
}

/// What it sets.
#[derive(Debug, Clone, Copy)]
struct Law {
    c: f64,
    goal: f64,
    calm: bool,
    step: f64,
}

/// The law of HELD: half a step of FAST, and if no queue is left how far C may grow with
/// the deliveries of the next interval.
fn law(old: &lh_control, x: &Seen) -> Law {
    let c = f64::from(old.c_bytes);
    let fast = c * x.base / (x.base + x.q) + x.alpha;
    let least = x.mean * x.base / 2.0 + x.alpha;
    let calm = x.q < x.target / 4.0;
    let mut step = f64::from(old.step);
    let mut goal: f64 = 0.0;
    if x.q < 2.0 * x.aim && c < x.known {
        goal = x.known;
    }
    if !calm {
        step = 0.0;
    } else if x.spare {
        goal = goal.max(x.most);
    } else if old.limited != 0 {
        goal = goal.max(c * (1.0 + step / 8.0));
        step = (2.0 * step).clamp(1.0, 4.0);
    }
    Law {
        c: ((c + fast) / 2.0).max(least).max(x.fair).clamp(LEAST, MOST),
        goal,
        calm,
        step,
    }
}

/// One step of a link: bytes per second, queue in microseconds, ACKs of two segments,
/// whether FH uses the window up.
#[derive(Debug, Clone)]
struct Phase {
    rate: u64,
    queue_us: u64,
    acks: u32,
    limited: bool,
}

fn phase() -> impl Strategy<Value = Phase> {
    let rate = prop_oneof![
        Just(8_000u64),
        Just(250_000),
        Just(2_500_000),
        Just(1_250_000_000),
        8_000u64..1_250_000_000,
    ];
    let queue = prop_oneof![0u64..4_000, 0u64..400_000];
    (rate, queue, 1u32..60, any::<bool>()).prop_map(|(rate, queue_us, acks, limited)| Phase {
        rate,
        queue_us,
        acks,
        limited,
    })
}

/// How often the model was compared: the law, cuts, growth, LETTING.
#[derive(Debug, Default)]
struct Compared {
    law: u32,
    cut: u32,
    grown: u32,
    letting: u32,
}

struct Run {
    b: Bench,
    bins: Bins,
    wired_ns: u64,
    /// What the hop adds to sojourns by itself, as known before the ACK at hand: no more than it pauses.
    unsteady_ns: u64,
    compared: Compared,
}

/// MH's clock stands still: no wired sample but the one at hand, nor any of the way back.
fn pure(ack: u32) -> Segment {
    Segment {
        ack,
        flags: LH_ACK as u16,
        window: 1,
        opts: LH_OPT_TS as u8,
        tsval: 1 << 30,
        wscale: LH_WSCALE_NONE as u8,
        ..Segment::default()
    }
}

fn secs(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Near enough for integers and half a millisecond's deliveries.
fn near(got: u32, want: f64) -> bool {
    (f64::from(got) - want).abs() <= (0.01 * want).max(2.0 * f64::from(MSS))
}

impl Run {
    fn new(local_us: u64, wired_us: u64, clock: u32) -> Self {
        let mut b = Bench::new();
        b.config = Config {
            clock,
            ..Config::default()
        };
        let ends = Ends::v4(1);
        let (_, key) = parse(&Tcp::default().to_mh(&ends), 0, None, true).expect("TCP");
        answered(&mut b.flow);
        b.host.set_peer(&mut b.flow, &key, b.now_ns);
        b.data(0, MSS);
        let f = b.flow.raw_mut();
        f.conn.mss = MSS as u16;
        f.flags |= LH_FLOW_WSCALE | LH_FLOW_FWD;
        f.conn.wscale_mh = WSCALE;
        f.wired.rtt_ns = wired_us * 1_000;
        f.rtt.min_ns = local_us * 1_000;
        f.rtt.srtt_ns = f.rtt.min_ns;
        f.delivery.stride_now = 2; // it keeps no ACK of two
        Self {
            b,
            bins: Bins::default(),
            wired_ns: wired_us * 1_000,
            unsteady_ns: 0,
            compared: Compared::default(),
        }
    }

    /// Segments of `bytes` leave `gap_ns` apart, and every other one is acknowledged a
    /// sojourn later, with the one before; ACKs keep the order of the segments.
    fn flight(&mut self, p: &Phase, local_us: u64) -> Result<(), TestCaseError> {
        // A millisecond's worth, or a segment.
        let bytes = (p.rate / 1_000).clamp(u64::from(MSS), 16_000_000);
        let gap_ns = bytes * 1_000_000_000 / p.rate;
        let sojourn_ns = (local_us + p.queue_us) * 1_000;
        let start = self.b.now_ns;
        let mut events: Vec<(u64, bool)> = Vec::new();
        for i in 0..2 * u64::from(p.acks) {
            events.push((start + i * gap_ns, false));
            if i % 2 == 1 {
                events.push((start + i * gap_ns + sojourn_ns, true));
            }
        }
        events.sort_unstable();
        let mut acked = self.b.flow.raw().max;
        for (at, ack) in events {
            self.b.now_ns = at;
            if ack {
                acked = acked.wrapping_add(2 * bytes as u32);
                if p.limited {
                    self.b.flow.raw_mut().control.limited |= 1;
                }
                self.acknowledge(acked, sojourn_ns)?;
            } else {
                let max = self.b.flow.raw().max;
                self.b.data(max, bytes as u32);
                // It stands for many, and is not what a segment is taken to be from here on.
                self.b.flow.raw_mut().conn.mss = MSS as u16;
            }
        }
        Ok(())
    }

    fn peer(&self) -> lh_peer {
        *self.b.host.peer(self.b.flow.raw().peer)
    }

    fn acknowledge(&mut self, ack: u32, sojourn_ns: u64) -> Result<(), TestCaseError> {
        let segment = pure(ack);
        let (old, peer) = (*self.b.flow.raw(), self.peer());
        let pause_ns = old.queue.gap_ns.max(old.queue.gap_now_ns);
        self.unsteady_ns = if 2 * old.queue.gap_ns < 5 * self.b.config.target_ns {
            0
        } else {
            peer.idle_ns.min(pause_ns)
        };
        let out = self.b.segment_from_mh(&segment);
        let bytes = self
            .b
            .flow
            .raw()
            .delivery
            .bytes
            .wrapping_sub(old.delivery.bytes);
        self.bins.add(self.b.now_ns, bytes);
        let c = self.b.flow.raw().control;
        let (was, is) = (u32::from(old.control.state), u32::from(c.state));
        if is == LH_CONTROL_FREE {
            prop_assert_eq!(out.window, LH_KEEP_WINDOW);
            self.compared.letting += u32::from(was == LH_CONTROL_LETTING);
            return Ok(());
        }
        prop_assert!(
            (LEAST..=MOST).contains(&f64::from(c.c_bytes)),
            "C is {}",
            c.c_bytes
        );
        match (was, is) {
            (LH_CONTROL_HELD, LH_CONTROL_HELD) => {
                self.compare(&old.control, &peer, sojourn_ns, bytes)
            }
            (LH_CONTROL_LETTING, LH_CONTROL_LETTING) => self.lets(&old.control),
            (LH_CONTROL_FREE, LH_CONTROL_HELD) | (LH_CONTROL_HELD, LH_CONTROL_LETTING) => Ok(()),
            other => Err(TestCaseError::fail(format!("states {other:?}"))),
        }
    }

    fn ended(&self) -> bool {
        let c = self.b.flow.raw().control;
        c.interval_ns == self.b.now_ns && c.nr_samples == 0
    }

    /// In LETTING C grows by a sixteenth per interval, while FH uses it up.
    fn lets(&mut self, old: &lh_control) -> Result<(), TestCaseError> {
        let c = f64::from(old.c_bytes);
        if !self.ended() || old.settling != 0 {
            prop_assert_eq!(self.b.flow.raw().control.c_bytes, old.c_bytes);
            return Ok(());
        }
        prop_assert!(old.limited != 0, "what FH does not use up is no brake");
        let want = (c * 17.0 / 16.0).clamp(LEAST, MOST);
        prop_assert!(near(self.b.flow.raw().control.c_bytes, want));
        self.compared.letting += 1;
        Ok(())
    }

    fn seen(&self, now: &lh_flow, q: f64) -> Seen {
        let p = self.peer();
        let t = secs(self.b.config.target_ns);
        let mss = f64::from(MSS);
        let rate = self.bins.best;
        // Two segments are no queue on a slow link.
        let least = if rate > 0.0 { 2.0 * mss / rate } else { 0.0 };
        let pauses = 2.0 * secs(now.queue.gap_ns.max(now.queue.gap_now_ns));
        // Four times as much for a flow that has just begun.
        let young = if now.control.age < 5 { 4.0 * t } else { t };
        let target = pauses.max(least).clamp(t, 5.0 * t).max(young);
        let lmin = match (p.lmin_now_ns, p.lmin_before_ns) {
            (now, 0) => now,
            (now, before) => now.min(before),
        };
        let base = secs(lmin + self.wired_ns);
        // The device's share, but no more than the receiver's own rate makes, and a little.
        let share = self.bins.device(self.b.now_ns) * target;
        let share = share.min(rate * target + mss / 2.0);
        Seen {
            base,
            q: (q - secs(lmin) - secs(self.unsteady_ns)).max(0.0),
            target,
            aim: if rate > 0.0 {
                target.max(mss / rate)
            } else {
                target
            },
            alpha: share.max(mss),
            mean: now
                .delivery
                .bin_before
                .iter()
                .copied()
                .max()
                .map_or(0.0, f64::from)
                * 10.0,
            known: rate * base,
            most: 2.0 * f64::from(now.control.round_bytes) + 10.0 * mss,
            spare: p.busy_ns == 0 || self.bins.last(self.b.now_ns) < 0.75 * rate,
            // Of one flow, whose part is all.
            fair: if now.control.age < 5 {
                0.0
            } else {
                (0.75 * self.bins.last(self.b.now_ns) * base).min(10.0 * mss)
            },
        }
    }

    fn compare(
        &mut self,
        old: &lh_control,
        peer: &lh_peer,
        sojourn_ns: u64,
        bytes: u32,
    ) -> Result<(), TestCaseError> {
        let flow = *self.b.flow.raw();
        let c = flow.control;
        // A trial of the queue has its own rules (lh_control_doubt).
        if peer.trial_end_ns != 0 || self.peer().trial_end_ns != 0 || old.nr_samples == 0 {
            return Ok(());
        }
        let queue = |x: &Seen| {
            let least = flow.queue.recent_ns.iter().copied().min().unwrap_or(0);
            secs(least) - x.base + secs(self.wired_ns) - secs(self.unsteady_ns)
        };
        if !self.ended() {
            let x = self.seen(&flow, secs(sojourn_ns));
            return self.within(old, &x, queue(&x), bytes);
        }
        let mean = (old.sum_ns + sojourn_ns) as f64 / f64::from(old.nr_samples + 1);
        let mut x = self.seen(&flow, mean / 1e9);
        let round = f64::from(old.round_bytes.max(c.round_bytes));
        x.most = 2.0 * round + 10.0 * f64::from(MSS);
        // What is cut is left alone until the queue shows it, and what is on its way to the last
        // goal may have gone on before.
        let far = queue(&x) > 2.0 * x.aim;
        if old.settling != 0 || far || old.goal_bytes > old.c_bytes {
            return Ok(());
        }
        // Where a yes or no is close, either will do.
        let close = |a: f64, b: f64| (a - b).abs() < 0.02 * b;
        let known_close = close(f64::from(old.c_bytes), x.known);
        if close(x.q, x.target / 4.0) || close(x.q, 2.0 * x.aim) || known_close {
            return Ok(());
        }
        let spare_close = close(self.bins.last(self.b.now_ns), 0.75 * self.bins.best);
        let want = law(old, &x);
        prop_assert!(
            near(c.c_bytes, want.c),
            "C is {}, the model's {want:?}, from {}",
            c.c_bytes,
            old.c_bytes
        );
        prop_assert!(
            near(c.goal_bytes, want.goal.min(2.0 * MOST)) || spare_close,
            "the goal is {}, the model's {want:?}, from {}",
            c.goal_bytes,
            old.c_bytes
        );
        prop_assert_eq!(c.calm != 0, want.calm);
        prop_assert!(f64::from(c.step) == want.step || spare_close);
        self.compared.law += 1;
        Ok(())
    }

    /// Within an interval C is cut if far too much stands, and grows if nothing does.
    fn within(
        &mut self,
        old: &lh_control,
        x: &Seen,
        queue: f64,
        bytes: u32,
    ) -> Result<(), TestCaseError> {
        let flow = self.b.flow.raw();
        let c = flow.control;
        let from = f64::from(old.c_bytes);
        if queue > 4.2 * x.aim && flow.delivery.rate_last != 0 && old.settling == 0 {
            let mut carried = flow.delivery.rate_last as f64 * x.base;
            if x.base > 2.0 * secs(BIN_NS) {
                carried = carried.max(f64::from(c.round_bytes));
            }
            let want = (carried + x.alpha).clamp(LEAST, MOST).min(from);
            prop_assert!(near(c.c_bytes, want), "cut to {}, not {want}", c.c_bytes);
            prop_assert!(c.calm == 0);
            self.compared.cut += 1;
        } else if queue > 1.05 * x.aim && queue < 3.8 * x.aim {
            prop_assert_eq!(c.c_bytes, old.c_bytes);
        } else if queue < 0.95 * x.aim {
            let round = self
                .b
                .flow
                .raw()
                .delivery
                .bytes
                .wrapping_sub(c.round_delivered);
            let round = c.round_bytes.max(round);
            let most = 2.0 * f64::from(round) + 10.0 * f64::from(MSS);
            let most = most.min(f64::from(old.goal_bytes));
            let want = if from < most {
                (from + f64::from(bytes)).min(most).clamp(LEAST, MOST)
            } else {
                from
            };
            prop_assert!(near(c.c_bytes, want), "grown to {}, not {want}", c.c_bytes);
            self.compared.grown += u32::from(want > from);
        }
        Ok(())
    }
}

fn run(
    local_us: u64,
    wired_us: u64,
    clock: u32,
    phases: &[Phase],
) -> Result<Compared, TestCaseError> {
    let mut run = Run::new(local_us, wired_us, clock);
    let now_ns = run.b.now_ns;
    if clock == LH_CLOCK_AUTO {
        let c = &mut run.b.flow.raw_mut().control;
        c.state = LH_CONTROL_LETTING as u8;
        c.c_bytes = 100_000;
        c.interval_ns = now_ns;
    }
    for p in phases {
        run.flight(p, local_us)?;
        run.b.now_ns += 1_000_000;
    }
    Ok(run.compared)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_core_follows_the_model(
        local_us in prop_oneof![500u64..50_000, Just(10_000)],
        wired_us in prop_oneof![1_000u64..400_000, Just(59_000_000)],
        clock in prop_oneof![4 => Just(LH_CLOCK_ALWAYS), 1 => Just(LH_CLOCK_AUTO)],
        phases in proptest::collection::vec(phase(), 1..8),
    ) {
        run(local_us, wired_us, clock, &phases)?;
    }
}

/// The property must reach what it is there to compare.
#[test]
fn a_steady_queue_is_compared() {
    let phase = |queue_us, limited| Phase {
        rate: 2_500_000,
        queue_us,
        acks: 2_000,
        limited,
    };
    let phases = [
        phase(0, true),
        phase(8_000, true),
        phase(0, true),
        phase(7_000, false),
        phase(30_000, false),
    ];
    let n = run(10_000, 100_000, LH_CLOCK_ALWAYS, &phases).expect("the model agrees");
    assert!(n.law > 20 && n.cut > 0 && n.grown > 0, "compared {n:?}");
    let phases = [phase(0, true), phase(0, false)];
    let n = run(10_000, 100_000, LH_CLOCK_AUTO, &phases).expect("the model agrees");
    assert!(n.letting > 10, "compared {n:?}");
}

/// The states and what leads from one to another, as FH's packets and MH's show it.
#[derive(Debug, Default)]
pub struct States {
    last: u32,
    hidden: bool,
}

impl States {
    /// A call is over. `repairs`: those that have been made so far, by whatever.
    pub fn turn(&mut self, config: &Config, flow: &lh_flow, repairs: u64, edited: bool) {
        let now = u32::from(flow.control.state);
        let from = std::mem::replace(&mut self.last, now);
        assert!(
            !edited || now != LH_CONTROL_FREE,
            "nobody was deprived of anything"
        );
        self.hidden |= repairs > 0 || config.clock == LH_CLOCK_ALWAYS;
        assert!(
            now == LH_CONTROL_FREE || self.hidden,
            "a brake for losses that were shown"
        );
        assert!(
            (from, now) != (LH_CONTROL_FREE, LH_CONTROL_LETTING),
            "there is nothing to let go"
        );
        assert!(now == LH_CONTROL_FREE || config.clock != LH_CLOCK_OFF);
    }

    /// The agent has lost its memory of the flow.
    pub fn forget(&mut self) {
        self.last = LH_CONTROL_FREE;
    }
}

/// One loss of the link's: HELD, then LETTING once that is long ago, then FREE.
#[test]
fn held_by_a_loss_let_go_without() {
    let mut run = Run::new(10_000, 90_000, LH_CLOCK_AUTO);
    let phase = |acks, limited| Phase {
        rate: 1_460_000,
        queue_us: 0,
        acks,
        limited,
    };
    run.flight(&phase(50, true), 10_000).expect("FREE");
    assert_eq!(u32::from(run.b.flow.raw().control.state), LH_CONTROL_FREE);
    // The first of three is lost.
    let from = run.b.flow.raw().max;
    run.b.flow.raw_mut().flags |= LH_FLOW_SACK_FH | LH_FLOW_SACK_MH;
    for i in 0..3 {
        run.b.data(from + i * MSS, MSS);
    }
    run.b.now_ns += 10_000_000;
    let mut sack = Segment {
        nr_sack: 1,
        ..pure(from)
    };
    sack.sack[0] = lh_sack_block {
        left: from + MSS,
        right: from + 3 * MSS,
    };
    let out = run.b.segment_from_mh(&sack);
    assert_eq!(out.retransmits().len(), 1);
    assert_eq!(u32::from(run.b.flow.raw().control.state), LH_CONTROL_HELD);
    run.b.now_ns += 10_000_000;
    run.b.segment_from_mh(&pure(from + 3 * MSS));
    let mut seen = vec![(LH_CONTROL_HELD, run.b.now_ns)];
    for i in 0..40 {
        // FH has little to send after three seconds.
        run.flight(&phase(50, i < 28), 10_000)
            .expect("the model agrees");
        let now = u32::from(run.b.flow.raw().control.state);
        if seen.last().is_some_and(|s| s.0 != now) {
            seen.push((now, run.b.now_ns));
        }
    }
    let states: Vec<u32> = seen.iter().map(|s| s.0).collect();
    assert_eq!(
        states,
        [LH_CONTROL_HELD, LH_CONTROL_LETTING, LH_CONTROL_FREE]
    );
    let spent = |i: usize| seen[i].1 - seen[i - 1].1;
    assert!(spent(1) > 1_900_000_000, "two seconds without a loss");
    assert!(spent(2) > 500_000_000, "while FH uses it up");
    assert!(run.compared.letting > 5);
}
