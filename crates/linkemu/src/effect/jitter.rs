// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Jitter: an extra delay of each frame, uniform in [0, `jitter_ns`]. The link stays a FIFO: a
//! frame that draws less than its predecessor waits for it, as behind a MAC that retransmits.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct Jitter {
    jitter_ns: u64,
    /// Latest delivery so far. The order is kept here and not left to the model, which gives up
    /// on it altogether once some other effect may overtake.
    last_delivery_ns: u64,
    random: Random,
}

pub(super) fn build(config: &DirectionConfig, random: Random) -> Box<dyn Effect> {
    Box::new(Jitter {
        jitter_ns: config.jitter_ns,
        last_delivery_ns: 0,
        random,
    })
}

impl Effect for Jitter {
    fn configure(&mut self, config: &DirectionConfig) {
        self.jitter_ns = config.jitter_ns;
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        // ARP and the like come at times of their own: they take no number, so that the data's
        // delays do not depend on them. A lost frame takes one, and holds nobody up.
        if frame.lossy {
            let share = self.random.unit();
            // Below 2⁵³ ns (104 days) nothing is lost in the conversion.
            passage.delay_ns += (share * (self.jitter_ns + 1) as f64) as u64;
        }
        if passage.lost {
            return;
        }
        let wait_ns = self.last_delivery_ns.saturating_sub(passage.delivery_ns());
        // Off means off, also right after a change: the model keeps order where it has to.
        if self.jitter_ns > 0 {
            passage.delay_ns += wait_ns;
        }
        self.last_delivery_ns = passage.delivery_ns();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{deliveries_of, lossy_frame};
    use super::*;
    use crate::config::Direction;

    const JITTER_NS: u64 = 1_000_000;

    fn deliveries(spacing_ns: u64, seed: u64) -> Vec<u64> {
        let config = DirectionConfig {
            jitter_ns: JITTER_NS,
            ..Default::default()
        };
        let mut effect = build(&config, Random::new(seed, Direction::AToB, "jitter"));
        deliveries_of(effect.as_mut(), 20_000, spacing_ns)
    }

    #[test]
    fn uniform_between_zero_and_the_limit() {
        // Too far apart to wait for each other.
        for seed in [1, 2] {
            let spacing_ns = 2 * JITTER_NS;
            let delays_ns: Vec<u64> = deliveries(spacing_ns, seed)
                .iter()
                .zip(0..)
                .map(|(delivery_ns, i)| delivery_ns - i * spacing_ns)
                .collect();
            let n = delays_ns.len() as f64;
            assert!(delays_ns.iter().all(|delay_ns| *delay_ns <= JITTER_NS));
            // Each tenth of the range holds a tenth of the frames, within 4.5 σ.
            let sigma = (n * 0.1 * 0.9).sqrt();
            for tenth in 0..10 {
                let count = delays_ns
                    .iter()
                    .filter(|delay_ns| (**delay_ns * 10 / (JITTER_NS + 1)) == tenth)
                    .count() as f64;
                assert!((count - n / 10.0).abs() < 4.5 * sigma, "{tenth}: {count}");
            }
        }
    }

    #[test]
    fn order_is_kept_and_nothing_is_delayed_by_more_than_the_limit() {
        let deliveries = deliveries(10_000, 3);
        assert!(deliveries.windows(2).all(|pair| pair[0] <= pair[1]));
        let within = |(delivery_ns, i): (&u64, u64)| *delivery_ns - i * 10_000 <= JITTER_NS;
        assert!(deliveries.iter().zip(0..).all(within));
    }

    #[test]
    fn exempt_frames_take_no_number_but_keep_the_order() {
        let config = DirectionConfig {
            jitter_ns: JITTER_NS,
            ..Default::default()
        };
        let mut with_arp = build(&config, Random::new(1, Direction::AToB, "jitter"));
        let mut without = build(&config, Random::new(1, Direction::AToB, "jitter"));
        let arp = FrameMeta {
            lossy: false,
            ..lossy_frame(42)
        };
        for i in 0..100 {
            let pass = |effect: &mut dyn Effect, frame: &FrameMeta| {
                let mut passage = Passage::at(i);
                effect.apply(frame, &mut passage);
                passage.delivery_ns()
            };
            let data_ns = pass(with_arp.as_mut(), &lossy_frame(1514));
            assert_eq!(data_ns, pass(without.as_mut(), &lossy_frame(1514)));
            assert_eq!(pass(with_arp.as_mut(), &arp), data_ns);
        }
    }
}
