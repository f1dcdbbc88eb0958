// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Independent loss of each frame with a fixed probability.

use super::passage::{Effect, Passage};
use crate::config::{Direction, DirectionConfig};
use crate::frame::FrameMeta;
use crate::random::Random;

/// Its name, and that of its random stream.
pub(super) const NAME: &str = "loss";

struct Bernoulli {
    loss: f64,
    random: Random,
}

pub(super) fn build(config: &DirectionConfig, random: Random) -> Box<dyn Effect> {
    Box::new(Bernoulli {
        loss: config.loss,
        random,
    })
}

/// Numbers, from 0 and upwards, of the frames that independent loss takes of the first `frames` that
/// are subject to loss: so that another host of the link can lose the same ones.
pub fn lost_frames(
    seed: u64,
    direction: Direction,
    loss: f64,
    frames: u64,
) -> impl Iterator<Item = u64> {
    let mut random = Random::new(seed, direction, NAME);
    (0..frames).filter(move |_| random.chance(loss))
}

impl Effect for Bernoulli {
    fn configure(&mut self, config: &DirectionConfig) {
        self.loss = config.loss;
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        // One number per lossy frame whatever the probability: a higher one then loses the same
        // frames and more, which makes runs with different loss comparable.
        passage.lost |= frame.lossy && self.random.chance(self.loss);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lost_of;
    use super::*;

    fn lost(loss: f64, seed: u64) -> Vec<bool> {
        let config = DirectionConfig {
            loss,
            ..Default::default()
        };
        let mut effect = build(&config, Random::new(seed, Direction::AToB, "loss"));
        lost_of(effect.as_mut(), 200_000, 1514)
    }

    fn count(lost: &[bool]) -> f64 {
        lost.iter().filter(|l| **l).count() as f64
    }

    #[test]
    fn rate_is_within_four_standard_deviations() {
        for loss in [0.0, 0.001, 0.02, 0.2, 1.0] {
            for seed in [1, 2, 3] {
                let lost = lost(loss, seed);
                let n = lost.len() as f64;
                let sigma = (n * loss * (1.0 - loss)).sqrt();
                assert!(
                    (count(&lost) - n * loss).abs() <= 4.0 * sigma,
                    "{loss}, seed {seed}"
                );
            }
        }
    }

    /// Losses are independent: a frame after a lost one is lost no more often than any other.
    #[test]
    fn losses_do_not_cluster() {
        let lost = lost(0.1, 1);
        let pairs = lost.windows(2).filter(|w| w[0] && w[1]).count() as f64;
        let expected = lost.len() as f64 * 0.01;
        assert!(
            (pairs - expected).abs() < 4.0 * expected.sqrt(),
            "{pairs} of {expected}"
        );
    }

    #[test]
    fn higher_probability_loses_the_same_frames_and_more() {
        let (few, many) = (lost(0.02, 5), lost(0.05, 5));
        assert!(few.iter().zip(&many).all(|(few, many)| !few | many));
    }
}
