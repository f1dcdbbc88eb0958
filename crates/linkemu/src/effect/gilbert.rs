// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Loss in bursts: Gilbert's model (1960), a good state that loses nothing and a bad one that loses
//! every frame. A state lasts for frames, not for time: what the hop does while nobody sends does
//! not show.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct Gilbert {
    /// Probability that a frame after a lost one arrives.
    to_good: f64,
    /// Probability that a frame after one that arrived is lost.
    to_bad: f64,
    bad: bool,
    random: Random,
}

pub(super) fn build(config: &DirectionConfig, random: Random) -> Box<dyn Effect> {
    let mut effect = Gilbert {
        to_good: 1.0,
        to_bad: 0.0,
        bad: false,
        random,
    };
    effect.configure(config);
    Box::new(effect)
}

impl Effect for Gilbert {
    fn configure(&mut self, config: &DirectionConfig) {
        let share = config.burst_loss;
        self.to_good = 1.0 / config.burst_frames;
        // In the long run share = to_bad / (to_bad + to_good).
        self.to_bad = self.to_good * share / (1.0 - share);
        // Switched off within a burst it loses nothing more.
        self.bad &= share > 0.0;
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        if !frame.lossy {
            return;
        }
        // One number per lossy frame whatever the probabilities, as for independent loss.
        let drawn = self.random.unit();
        self.bad = match self.bad {
            true => drawn >= self.to_good,
            false => drawn < self.to_bad,
        };
        passage.lost |= self.bad;
    }
}

#[cfg(test)]
mod tests {
    use super::super::lost_of;
    use super::*;
    use crate::config::Direction;

    const FRAMES: usize = 400_000;

    fn lost(burst_loss: f64, burst_frames: f64, seed: u64) -> Vec<bool> {
        let config = DirectionConfig {
            burst_loss,
            burst_frames,
            ..Default::default()
        };
        let mut effect = build(&config, Random::new(seed, Direction::AToB, "gilbert"));
        lost_of(effect.as_mut(), FRAMES, 1514)
    }

    fn lengths(lost: &[bool]) -> Vec<f64> {
        let runs = lost.chunk_by(|a, b| a == b);
        let bad = runs.filter(|run| run[0]);
        bad.map(|run| run.len() as f64).collect()
    }

    #[test]
    fn switched_off_within_a_burst_it_loses_nothing_more() {
        let long = DirectionConfig {
            burst_loss: 0.5,
            burst_frames: 1_000.0,
            ..Default::default()
        };
        let mut effect = build(&long, Random::new(1, Direction::AToB, "gilbert"));
        while !lost_of(effect.as_mut(), 1, 1514)[0] {}
        effect.configure(&DirectionConfig {
            burst_loss: 0.0,
            ..long
        });
        assert!(!lost_of(effect.as_mut(), 100, 1514).contains(&true));
    }

    #[test]
    fn share_and_mean_length_are_as_asked_for() {
        for (share, frames) in [
            (0.01, 4.0),
            (0.05, 4.0),
            (0.3, 2.0),
            (0.1, 20.0),
            (0.5, 1.0),
        ] {
            for seed in [1, 2, 3] {
                let lost = lost(share, frames, seed);
                let bursts = lengths(&lost);
                let is = bursts.iter().sum::<f64>() / FRAMES as f64;
                let mean = bursts.iter().sum::<f64>() / bursts.len() as f64;
                // A burst's length is geometric: its deviation is about its mean.
                let slack = 5.0 / (bursts.len() as f64).sqrt();
                assert!(
                    (mean / frames - 1.0).abs() < slack,
                    "{share} {frames}: {mean}"
                );
                assert!(
                    (is / share - 1.0).abs() < 2.0 * slack,
                    "{share} {frames}: {is}"
                );
            }
        }
    }

    #[test]
    fn bursts_of_one_are_never_two() {
        assert!(
            lengths(&lost(0.3, 1.0, 1))
                .iter()
                .all(|length| *length == 1.0)
        );
    }

    #[test]
    fn nothing_is_lost_without_a_share_and_the_state_ends_with_it() {
        assert!(!lost(0.0, 4.0, 1).contains(&true));
        let mut config = DirectionConfig {
            burst_loss: 0.9,
            burst_frames: 1_000.0,
            ..Default::default()
        };
        let mut effect = build(&config, Random::new(1, Direction::AToB, "gilbert"));
        assert!(lost_of(effect.as_mut(), 1_000, 1514).contains(&true));
        config.burst_loss = 0.0;
        config.burst_frames = 1.0;
        effect.configure(&config);
        assert!(!lost_of(effect.as_mut(), 1_000, 1514)[1..].contains(&true));
    }
}
