// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The window clock's law (core/clock.h) in floating point, beside the core: fed
//! with the same deliveries, both must want the same C, from 64 kbit/s to
//! 10 Gbit/s and over round trips of up to a minute.

use lasthop_core::bindings::*;
use lasthop_core::{Config, Segment};
use proptest::prelude::*;

use crate::bench::Bench;

const MSS: u32 = 1_460;
const BIN_NS: u64 = 100_000_000;

/// What the model needs to know of the device: bytes delivered per bin.
#[derive(Default)]
struct Bins(std::collections::BTreeMap<u64, f64>);

impl Bins {
    fn add(&mut self, now_ns: u64, bytes: u32) {
        *self.0.entry(now_ns / BIN_NS).or_default() += f64::from(bytes);
    }

    /// Best rate of the last `n` complete bins, bytes per second.
    fn best(&self, now_ns: u64, n: u64) -> f64 {
        let bin = now_ns / BIN_NS;
        let range = self.0.range(bin.saturating_sub(n)..bin);
        range.map(|(_, b)| *b).fold(0.0, f64::max) * 10.0
    }
}

/// The state of the clock before a sample, and what holds for it.
struct Before {
    clock: lh_clock,
    lmin: f64,
    base: f64,
    alpha: f64,
}

fn target(config: &Config, clock: &lh_clock) -> f64 {
    let t = config.target_ns as f64;
    (2.0 * clock.gap_ns.max(clock.gap_now_ns) as f64).clamp(t, 5.0 * t)
}

fn before(b: &Bench, bins: &Bins, wired_ns: u64) -> Before {
    let f = b.flow.raw();
    let t = target(&b.config, &f.clock);
    Before {
        clock: f.clock,
        lmin: f.rtt_min_ns as f64,
        base: (f.rtt_min_ns + wired_ns) as f64,
        alpha: (bins.best(b.now_ns, 8) * t / 1e9).max(f64::from(MSS)),
    }
}

/// The law: what C becomes at the end of an interval whose samples had the mean
/// `mean`, within the bounds that the flow's own rates give.
fn law(x: &Before, mean: f64, after: &lh_clock, bins: &Bins, now_ns: u64, t: f64) -> f64 {
    let c = f64::from(x.clock.c_bytes);
    let q = (mean - x.lmin).max(0.0);
    let next = if q >= t / 4.0 {
        (c + c * x.base / (x.base + q) + x.alpha) / 2.0
    } else if x.clock.limited != 0 {
        let known = bins.best(now_ns, 64) * x.base / 1e9 + x.alpha;
        let step = f64::from(x.clock.step.clamp(1, 4));
        if c < known { known } else { c + c * step / 8.0 }
    } else {
        c
    };
    let most = after.rate.iter().copied().max().unwrap_or(0) as f64;
    let most = 3.0 * most * x.base / 1e9 + x.alpha;
    // The floor is half of what the flow had over a whole bin.
    let mean = after.bin_before.iter().copied().max().unwrap_or(0) as f64 * 10.0;
    let least = mean * x.base / 2e9 + x.alpha;
    let bounded = next.clamp(least, least.max(most));
    bounded.clamp(4.0 * f64::from(MSS), f64::from(1 << 30))
}

/// One step of a link: bytes per second, queue in microseconds, segments.
#[derive(Debug, Clone)]
struct Phase {
    rate: u64,
    queue_us: u64,
    acks: u32,
}

fn phase() -> impl Strategy<Value = Phase> {
    let rate = prop_oneof![
        Just(8_000u64),
        Just(250_000),
        Just(2_500_000),
        Just(1_250_000_000),
        8_000u64..1_250_000_000,
    ];
    (rate, prop_oneof![0u64..4_000, 0u64..400_000], 1u32..60).prop_map(|(rate, queue_us, acks)| {
        Phase {
            rate,
            queue_us,
            acks,
        }
    })
}

struct Run {
    b: Bench,
    bins: Bins,
    wired_ns: u64,
    /// How often the model's law was compared.
    compared: u32,
}

impl Run {
    fn new(local_us: u64, wired_us: u64) -> Self {
        let mut b = Bench::new();
        b.config = Config::default();
        b.data(0, MSS);
        let f = b.flow.raw_mut();
        f.mss = MSS as u16;
        f.flags |= LH_FLOW_WSCALE | LH_FLOW_FWD;
        f.wscale_mh = 8;
        f.wired_rtt_ns = wired_us * 1_000;
        f.rtt_min_ns = local_us * 1_000;
        f.srtt_ns = f.rtt_min_ns;
        Self {
            b,
            bins: Bins::default(),
            wired_ns: wired_us * 1_000,
            compared: 0,
        }
    }

    /// Segments of `bytes` leave `gap_ns` apart, and each is acknowledged a sojourn
    /// later; ACKs keep the order of the segments.
    fn flight(&mut self, p: &Phase, local_us: u64) -> Result<(), TestCaseError> {
        // A millisecond's worth, or a segment.
        let bytes = (p.rate / 1_000).clamp(u64::from(MSS), 16_000_000);
        let gap_ns = bytes * 1_000_000_000 / p.rate;
        let sojourn_ns = (local_us + p.queue_us) * 1_000;
        let start = self.b.now_ns;
        let mut events: Vec<(u64, bool)> = Vec::new();
        for i in 0..u64::from(p.acks) {
            events.push((start + i * gap_ns, false));
            events.push((start + i * gap_ns + sojourn_ns, true));
        }
        events.sort_unstable();
        let mut acked = self.b.flow.raw().max;
        for (at, ack) in events {
            self.b.now_ns = at;
            if ack {
                acked = acked.wrapping_add(bytes as u32);
                self.acknowledge(acked, sojourn_ns)?;
            } else {
                let max = self.b.flow.raw().max;
                self.b.data(max, bytes as u32);
                // It stands for many, and is not what a segment is taken to be from here on.
                self.b.flow.raw_mut().mss = MSS as u16;
            }
        }
        Ok(())
    }

    fn acknowledge(&mut self, ack: u32, sojourn_ns: u64) -> Result<(), TestCaseError> {
        let segment = Segment {
            ack,
            flags: LH_ACK as u16,
            window: 1,
            // FH never answers this: no wired sample but the one at hand.
            opts: LH_OPT_TS as u8,
            tsval: ack.wrapping_add(1 << 30),
            wscale: LH_WSCALE_NONE as u8,
            ..Segment::default()
        };
        let old = before(&self.b, &self.bins, self.wired_ns);
        let delivered = self.b.flow.raw().delivered;
        self.b.segment_from_mh(&segment);
        let bytes = self.b.flow.raw().delivered.wrapping_sub(delivered);
        self.bins.add(self.b.now_ns, bytes);
        self.compare(&old, sojourn_ns)
    }

    fn compare(&mut self, old: &Before, sojourn_ns: u64) -> Result<(), TestCaseError> {
        let c = self.b.flow.raw().clock;
        if c.engaged == 0 {
            return Ok(());
        }
        prop_assert!(
            (4 * MSS..=1 << 30).contains(&c.c_bytes),
            "C is {}",
            c.c_bytes
        );
        let ended = c.interval_ns == self.b.now_ns && c.nr_samples == 0;
        let plain = old.clock.engaged != 0 && old.clock.settling == 0 && c.settling == 0;
        // A cut at once (q > 4T) has its own rule.
        let far = old.lmin + 4.0 * self.b.config.target_ns as f64;
        let cut = c.recent_ns.iter().all(|&r| r as f64 > far);
        // So has a queue that may be none (lh_clock_doubt).
        let cut = cut || c.trial != 0 || old.clock.trial != 0;
        // And one that is still on its way to the last interval's goal.
        let cut = cut || old.clock.goal_bytes > old.clock.c_bytes;
        if !ended || !plain || cut || old.clock.nr_samples == 0 {
            return Ok(());
        }
        let mean = (old.clock.sum_ns + sojourn_ns) as f64 / f64::from(old.clock.nr_samples + 1);
        let x = before(&self.b, &self.bins, self.wired_ns);
        // The target and hence alpha are those of the sample's moment: the gap was
        // smoothed with it.
        let t = target(&self.b.config, &c);
        let x = Before {
            clock: old.clock,
            alpha: x.alpha,
            ..x
        };
        let want = law(&x, mean, &c, &self.bins, self.b.now_ns, t);
        let got = f64::from(c.goal_bytes);
        prop_assert!(c.c_bytes == c.goal_bytes.min(old.clock.c_bytes));
        let slack = (0.01 * want).max(2.0 * f64::from(MSS));
        let from = old.clock.c_bytes;
        prop_assert!(
            (got - want).abs() <= slack,
            "C is {got}, the model's {want}, from {from}"
        );
        self.compared += 1;
        Ok(())
    }
}

fn run(local_us: u64, wired_us: u64, phases: &[Phase]) -> Result<u32, TestCaseError> {
    let mut run = Run::new(local_us, wired_us);
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
        phases in proptest::collection::vec(phase(), 1..8),
    ) {
        run(local_us, wired_us, &phases)?;
    }
}

/// The property must reach what it is there to compare.
#[test]
fn a_steady_queue_is_compared() {
    let phase = |queue_us| Phase {
        rate: 2_500_000,
        queue_us,
        acks: 4_000,
    };
    let n = run(
        10_000,
        100_000,
        &[phase(0), phase(20_000), phase(8_000), phase(30_000)],
    );
    let n = n.expect("the model agrees");
    assert!(n > 20, "compared {n} times");
}
