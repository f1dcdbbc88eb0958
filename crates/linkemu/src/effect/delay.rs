// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A constant propagation delay.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct Delay {
    delay_ns: u64,
}

pub(super) fn build(config: &DirectionConfig, _: Random) -> Box<dyn Effect> {
    Box::new(Delay {
        delay_ns: config.delay_ns,
    })
}

impl Effect for Delay {
    fn configure(&mut self, config: &DirectionConfig) {
        self.delay_ns = config.delay_ns;
    }

    fn apply(&mut self, _: &FrameMeta, passage: &mut Passage) {
        passage.delay_ns += self.delay_ns;
    }

    fn least_delay_ns(&self) -> u64 {
        self.delay_ns
    }
}
