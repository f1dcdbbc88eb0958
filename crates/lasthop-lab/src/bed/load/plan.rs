// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What each connection of a load does, by its number and the seed alone.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::request::Request;

/// No draw is longer than so many times the mean.
const MOST_MEANS: f64 = 16.0;

/// Bytes of content that go each way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// From the opener.
    pub there_bytes: u32,
    /// And back to it.
    pub back_bytes: u32,
}

/// A load: so many connections that stay, some of them with traffic, and short ones all the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Connections that stay until the end.
    pub held: u32,
    /// Of these, those that go on asking.
    pub active: u32,
    /// Mean time from one exchange of an active connection to the next; each waits between half of it
    /// and half as much again.
    pub pause: Duration,
    /// Those that stay are opened so many per second.
    pub held_per_s: f64,
    /// Short connections opened per second, once those that stay are there.
    pub short_per_s: f64,
    /// The most of them under way; an opening that is due beyond is put off for good, and counted.
    pub short_most: u32,
    /// What an exchange carries, in the mean: of short connections, and the first of each other.
    pub short: Sizes,
    /// And the later ones.
    pub long: Sizes,
    /// A connection that gets on no more for so long has failed.
    pub patience: Duration,
    /// Seed of sizes, pauses and content.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            held: 0,
            active: 0,
            pause: Duration::from_secs(2),
            held_per_s: 2_000.0,
            short_per_s: 0.0,
            short_most: 4_000,
            short: Sizes {
                there_bytes: 300,
                back_bytes: 3_000,
            },
            long: Sizes {
                there_bytes: 500,
                back_bytes: 15_000,
            },
            patience: Duration::from_secs(60),
            seed: 1,
        }
    }
}

impl Plan {
    /// The most connections at a time.
    pub(super) fn most(&self) -> u64 {
        u64::from(self.held) + u64::from(self.short_most)
    }

    /// One part of `parts`, of which each is for a process of its own.
    pub(super) fn part(&self, index: u32, parts: u32) -> Self {
        let share = |all: u32| all / parts + u32::from(index < all % parts);
        Self {
            held: share(self.held),
            active: share(self.active).min(share(self.held)),
            held_per_s: self.held_per_s / f64::from(parts),
            short_per_s: self.short_per_s / f64::from(parts),
            short_most: share(self.short_most),
            seed: finalise(self.seed.wrapping_add(u64::from(index))),
            ..*self
        }
    }

    /// An exchange of a connection. Sizes are as of people's requests: many small, few large ones.
    pub(super) fn request(&self, id: u64, exchange: u32) -> Request {
        let draw = |mean: u32, what: u64| exponential(self.uniform(id, exchange, what), mean);
        let mean = match exchange {
            0 => self.short,
            _ => self.long,
        };
        Request {
            id,
            exchange,
            there_bytes: draw(mean.there_bytes, 0),
            back_bytes: draw(mean.back_bytes, 1),
            answerer_closes: false,
        }
    }

    /// The only exchange of a short connection, after which either end may close first.
    pub(super) fn short(&self, id: u64) -> Request {
        Request {
            answerer_closes: self.uniform(id, 0, 2) < 0.5,
            ..self.request(id, 0)
        }
    }

    /// How long an active connection waits after an exchange.
    pub(super) fn pause_ns(&self, id: u64, exchange: u32) -> u64 {
        let share = 0.5 + self.uniform(id, exchange, 3);
        (self.pause.as_nanos() as f64 * share) as u64
    }

    /// A number from 0 to 1 that follows from all of these.
    fn uniform(&self, id: u64, exchange: u32, what: u64) -> f64 {
        let mut z = self.seed;
        for word in [id, u64::from(exchange), what] {
            z = finalise(z.wrapping_add(word).wrapping_add(0x9e37_79b9_7f4a_7c15));
        }
        (z >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn finalise(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Exponentially distributed with that mean, no more than [`MOST_MEANS`] of it, one byte at least.
fn exponential(uniform: f64, mean: u32) -> u32 {
    let means = -(1.0 - uniform).max(f64::MIN_POSITIVE).ln();
    (means.min(MOST_MEANS) * f64::from(mean)).max(1.0) as u32
}

/// When the next of something regular is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    per_s: f64,
    done: u64,
}

impl Clock {
    pub(super) fn new(per_s: f64) -> Self {
        Self { per_s, done: 0 }
    }

    /// How many more should have been by now.
    pub(super) fn due(&self, now_ns: u64) -> u64 {
        ((now_ns as f64 * self.per_s / 1e9) as u64).saturating_sub(self.done)
    }

    /// How many there were.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    pub(super) fn count(&mut self) {
        self.done += 1;
    }

    /// Time until the next is due.
    pub(super) fn wait_ns(&self, now_ns: u64) -> Option<u64> {
        let next_ns = (self.done + 1) as f64 * 1e9 / self.per_s;
        (self.per_s > 0.0).then(|| (next_ns as u64 + 1).saturating_sub(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_pauses_are_as_asked_for() {
        let plan = Plan::default();
        let sizes = (0..20_000).map(|id| f64::from(plan.short(id).back_bytes));
        let mean = sizes.clone().sum::<f64>() / 20_000.0;
        assert!((2_900.0..3_100.0).contains(&mean), "{mean}");
        assert!(sizes.fold(0.0, f64::max) <= 16.0 * 3_000.0);
        let first = (0..1_000).filter(|id| plan.short(*id).answerer_closes);
        assert!((400..600).contains(&first.count()));
        for id in 0..1_000 {
            let ns = plan.pause_ns(id, 7);
            assert!((1_000_000_000..=3_000_000_000).contains(&ns), "{ns}");
        }
        assert_eq!(plan.request(5, 6), plan.request(5, 6));
        assert_ne!(plan.request(5, 6), Plan { seed: 2, ..plan }.request(5, 6));
    }

    #[test]
    fn parts_make_the_whole() {
        let plan = Plan {
            held: 25_000,
            active: 10_001,
            short_per_s: 2_000.0,
            ..Plan::default()
        };
        let parts: Vec<Plan> = (0..3).map(|index| plan.part(index, 3)).collect();
        let sum = |of: fn(&Plan) -> f64| parts.iter().map(of).sum::<f64>();
        assert_eq!(sum(|p| f64::from(p.held)), 25_000.0);
        assert_eq!(sum(|p| f64::from(p.active)), 10_001.0);
        assert_eq!(sum(|p| f64::from(p.short_most)), 4_000.0);
        assert!((sum(|p| p.short_per_s) - 2_000.0).abs() < 1e-6);
        assert_ne!(parts[0].seed, parts[1].seed);
        assert_ne!(parts[0].seed, Plan { seed: 2, ..plan }.part(0, 3).seed);
    }

    #[test]
    fn a_clock_catches_up_and_stands() {
        let mut clock = Clock::new(1_000.0);
        assert_eq!(clock.due(5_500_000), 5);
        clock.count();
        assert_eq!(clock.due(5_500_000), 4);
        let wait_ns = Clock::new(1_000.0).wait_ns(400_000).unwrap();
        assert!((600_000..601_000).contains(&wait_ns), "{wait_ns}");
        assert_eq!(Clock::new(0.0).wait_ns(1), None);
        assert_eq!(Clock::new(0.0).due(1 << 60), 0);
    }
}
