// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Loss by independent bit errors: longer frames are lost more often.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct BitErrors {
    ber: f64,
    random: Random,
}

pub(super) fn build(config: &DirectionConfig, random: Random) -> Box<dyn Effect> {
    Box::new(BitErrors {
        ber: config.ber,
        random,
    })
}

impl Effect for BitErrors {
    fn configure(&mut self, config: &DirectionConfig) {
        self.ber = config.ber;
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        if frame.lossy {
            passage.lost |= self.random.chance(frame_error_rate(self.ber, frame.bytes));
        }
    }
}

/// 1 − (1 − ber)^(8·bytes), by logarithms: the plain form loses all digits at rates such as 1e-10.
fn frame_error_rate(ber: f64, bytes: u32) -> f64 {
    if ber <= 0.0 {
        return 0.0; // keeps 0 · ∞ out of the corner cases
    }
    -f64::exp_m1(8.0 * f64::from(bytes) * f64::ln_1p(-ber))
}

#[cfg(test)]
mod tests {
    use super::super::lost_of;
    use super::*;
    use crate::config::Direction;

    #[test]
    fn formula() {
        for (ber, bytes, expected) in [
            (0.0, 1514, 0.0),
            (1.0, 60, 1.0),
            (0.5, 1, 1.0 - 0.5f64.powi(8)),
            (1e-5, 1514, 1.0 - (1.0 - 1e-5f64).powi(8 * 1514)),
            (1e-12, 1514, 1.2112e-8),
        ] {
            let rate = frame_error_rate(ber, bytes);
            assert!(
                (rate - expected).abs() <= expected * 1e-6,
                "{ber} {bytes}: {rate}"
            );
        }
    }

    #[test]
    fn longer_frames_are_lost_as_the_formula_says() {
        let config = DirectionConfig {
            ber: 1e-5,
            ..Default::default()
        };
        for bytes in [66, 1514] {
            let mut effect = build(&config, Random::new(1, Direction::AToB, "ber"));
            let lost = lost_of(effect.as_mut(), 200_000, bytes);
            let n = lost.len() as f64;
            let p = frame_error_rate(1e-5, bytes);
            let count = lost.iter().filter(|l| **l).count() as f64;
            assert!(
                (count - n * p).abs() < 4.0 * (n * p * (1.0 - p)).sqrt(),
                "{bytes}: {count}"
            );
        }
    }
}
