// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Reordering: a share of the frames takes a detour of `reorder_delay_ns`, and those behind may
//! overtake them. Frames that do not take it keep their order among themselves.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct Reorder {
    share: f64,
    delay_ns: u64,
    random: Random,
}

pub(super) fn build(config: &DirectionConfig, random: Random) -> Box<dyn Effect> {
    Box::new(Reorder {
        share: config.reorder,
        delay_ns: config.reorder_delay_ns,
        random,
    })
}

impl Effect for Reorder {
    fn configure(&mut self, config: &DirectionConfig) {
        self.share = config.reorder;
        self.delay_ns = config.reorder_delay_ns;
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        // As with loss: one number per lossy frame, so that a greater share sends the same frames
        // on the detour and more.
        if frame.lossy && self.random.chance(self.share) {
            passage.delay_ns += self.delay_ns;
        }
    }

    fn may_overtake(&self) -> bool {
        self.share > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::deliveries_of;
    use super::*;
    use crate::config::Direction;

    fn detours(share: f64, seed: u64) -> Vec<bool> {
        let config = DirectionConfig {
            reorder: share,
            reorder_delay_ns: 7,
            ..Default::default()
        };
        let mut effect = build(&config, Random::new(seed, Direction::AToB, "reorder"));
        assert_eq!(effect.may_overtake(), share > 0.0);
        let deliveries = deliveries_of(effect.as_mut(), 50_000, 0);
        deliveries
            .iter()
            .map(|delivery_ns| *delivery_ns == 7)
            .collect()
    }

    #[test]
    fn share_is_within_four_standard_deviations() {
        for share in [0.0, 0.01, 0.3, 1.0] {
            for seed in [1, 2, 3] {
                let detours = detours(share, seed);
                let n = detours.len() as f64;
                let count = detours.iter().filter(|detour| **detour).count() as f64;
                let sigma = (n * share * (1.0 - share)).sqrt();
                assert!((count - n * share).abs() <= 4.0 * sigma, "{share}: {count}");
            }
        }
    }

    #[test]
    fn a_greater_share_takes_the_same_frames_and_more() {
        let (few, many) = (detours(0.02, 5), detours(0.05, 5));
        assert!(few.iter().zip(&many).all(|(few, many)| !few | many));
    }
}
