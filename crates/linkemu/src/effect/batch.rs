// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Delivery in batches, as by a TDMA frame or an aggregating MAC: only at multiples of
//! `batch_ns` since the relay began. Whatever would arrive within a period arrives together at
//! its end. This comes after the rate, so a batch holds what the link carries in a period, and
//! last of all, so that nothing is ever delivered in between.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct Batch {
    batch_ns: u64,
}

pub(super) fn build(config: &DirectionConfig, _: Random) -> Box<dyn Effect> {
    Box::new(Batch {
        batch_ns: config.batch_ns,
    })
}

impl Effect for Batch {
    fn configure(&mut self, config: &DirectionConfig) {
        self.batch_ns = config.batch_ns;
    }

    fn apply(&mut self, _: &FrameMeta, passage: &mut Passage) {
        if self.batch_ns > 0 {
            // Rounding up never swaps two frames; those of one batch leave in their order.
            let into_period_ns = passage.delivery_ns() % self.batch_ns;
            passage.delay_ns += (self.batch_ns - into_period_ns) % self.batch_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::deliveries_of;
    use super::*;
    use crate::config::Direction;

    #[test]
    fn rounds_up_to_the_end_of_the_period() {
        let config = |batch_ns| DirectionConfig {
            batch_ns,
            ..Default::default()
        };
        let mut effect = build(&config(10), Random::new(1, Direction::AToB, "batch"));
        let deliveries = deliveries_of(effect.as_mut(), 6, 5);
        assert_eq!(deliveries, [0, 10, 10, 20, 20, 30]);
        effect.configure(&config(0));
        assert_eq!(deliveries_of(effect.as_mut(), 3, 5), [0, 5, 10]);
    }
}
