// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A constant link rate: the serialisation time of each frame. A rate that varies, as a wave or
//! a trace, takes its place.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct Rate {
    rate_bps: u64,
}

pub(super) fn build(config: &DirectionConfig, _: Random) -> Box<dyn Effect> {
    Box::new(Rate {
        rate_bps: constant_rate_bps(config),
    })
}

/// 0, which is no limit, while another effect sets the rate.
fn constant_rate_bps(config: &DirectionConfig) -> u64 {
    match config.rate_wave.is_empty() && config.rate_trace.is_empty() {
        true => config.rate_bps,
        false => 0,
    }
}

impl Effect for Rate {
    fn configure(&mut self, config: &DirectionConfig) {
        self.rate_bps = constant_rate_bps(config);
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        if self.rate_bps > 0 {
            // Rounded up: the link is never faster than it says.
            let bits_e9 = u64::from(frame.bytes) * 8 * 1_000_000_000;
            passage.departure_ns += bits_e9.div_ceil(self.rate_bps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Direction;

    #[test]
    fn serialisation_time() {
        for (rate_bps, bytes, expected_ns) in [
            (0, 1514, 0),
            (20_000_000, 1514, 605_600),
            (1_000_000_000, 60, 480),
            (7, 1, 1_142_857_143),
        ] {
            let config = DirectionConfig {
                rate_bps,
                ..Default::default()
            };
            let mut rate = build(&config, Random::new(1, Direction::AToB, "rate"));
            let mut passage = Passage::at(5);
            rate.apply(
                &FrameMeta {
                    bytes,
                    lossy: true,
                    tcp_data: false,
                    flow: None,
                },
                &mut passage,
            );
            assert_eq!(
                passage.departure_ns,
                5 + expected_ns,
                "{rate_bps} bit/s, {bytes} bytes"
            );
        }
    }
}
