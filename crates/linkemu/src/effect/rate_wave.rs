// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A link rate that changes on schedule: `rate_wave` lists rates and how long each lasts, over
//! and over from the relay's start. A frame on the air when the rate changes sends its first
//! bits at the old rate and the rest at the new one.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

/// Work is counted in bits × 10⁹, of which a rate in bit/s does so many per nanosecond.
const WORK_PER_BYTE: u128 = 8 * 1_000_000_000;

/// One rate of the wave.
struct Step {
    rate_bps: u64,
    /// When it begins within the period, and the work that the link has done by then.
    begin_ns: u64,
    begin_work: u128,
}

#[derive(Default)]
struct RateWave {
    steps: Vec<Step>,
    period_ns: u64,
    /// Work of a whole period.
    period_work: u128,
}

pub(super) fn build(config: &DirectionConfig, _: Random) -> Box<dyn Effect> {
    Box::new(RateWave::new(&config.rate_wave))
}

impl RateWave {
    fn new(rates: &[(u64, u64)]) -> Self {
        let mut wave = Self::default();
        for (rate_bps, duration_ns) in rates {
            wave.steps.push(Step {
                rate_bps: *rate_bps,
                begin_ns: wave.period_ns,
                begin_work: wave.period_work,
            });
            wave.period_ns += duration_ns;
            wave.period_work += u128::from(*rate_bps) * u128::from(*duration_ns);
        }
        wave
    }

    /// When a transmission of so much work ends that begins at `start_ns`. In closed form: the
    /// work done since the relay began, forwards to the start and back from the end.
    fn end_ns(&self, start_ns: u64, work: u128) -> u64 {
        let (periods, into_ns) = (start_ns / self.period_ns, start_ns % self.period_ns);
        let step = &self.steps[self.steps.partition_point(|s| s.begin_ns <= into_ns) - 1];
        let at_start =
            step.begin_work + u128::from(step.rate_bps) * u128::from(into_ns - step.begin_ns);
        let at_end = at_start + work;
        let (more_periods, left) = (at_end / self.period_work, at_end % self.period_work);
        let step = &self.steps[self.steps.partition_point(|s| s.begin_work <= left) - 1];
        // Rounded up: the link is never faster than it says.
        let step_ns = (left - step.begin_work).div_ceil(u128::from(step.rate_bps)) as u64;
        (periods + more_periods as u64) * self.period_ns + step.begin_ns + step_ns
    }
}

impl Effect for RateWave {
    fn configure(&mut self, config: &DirectionConfig) {
        *self = Self::new(&config.rate_wave);
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        if !self.steps.is_empty() {
            let work = u128::from(frame.bytes) * WORK_PER_BYTE;
            passage.departure_ns = self.end_ns(passage.departure_ns, work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lossy_frame;
    use super::*;
    use crate::config::Direction;

    /// 1000 bytes take 1 ms at the first rate and 4 ms at the second; they alternate every 10 ms.
    const FAST_BPS: u64 = 8_000_000;
    const SLOW_BPS: u64 = 2_000_000;
    const MS: u64 = 1_000_000;

    fn departure_ns(wave: &[(u64, u64)], start_ns: u64, bytes: u32) -> u64 {
        let config = DirectionConfig {
            rate_wave: wave.to_vec(),
            ..Default::default()
        };
        let mut effect = build(&config, Random::new(1, Direction::AToB, "rate_wave"));
        let mut passage = Passage::at(start_ns);
        effect.apply(&lossy_frame(bytes), &mut passage);
        passage.departure_ns
    }

    #[test]
    fn mixed_time_when_the_rate_changes_in_mid_frame() {
        let wave = [(FAST_BPS, 10 * MS), (SLOW_BPS, 10 * MS)];
        for (start_ns, bytes, expected_ns) in [
            (0, 1000, MS),
            (9 * MS, 1000, 10 * MS),
            (10 * MS, 1000, 14 * MS),
            // Half of the bits at each rate, in both orders.
            (9 * MS + MS / 2, 1000, 12 * MS),
            (18 * MS, 1000, 20 * MS + MS / 2),
            (40 * MS + 9 * MS + MS / 2, 1000, 52 * MS),
            // 12,500 bytes are a whole period's work, 10,000 and 2,500.
            (5 * MS, 5000 + 2500 + 12_500, 40 * MS),
            (5 * MS, 5000 + 2500 + 12_500 + 1000, 41 * MS),
            (3, 0, 3),
        ] {
            assert_eq!(
                departure_ns(&wave, start_ns, bytes),
                expected_ns,
                "{start_ns} ns, {bytes} bytes"
            );
        }
        assert_eq!(departure_ns(&[], 7, 1000), 7);
    }

    #[test]
    fn one_step_is_a_constant_rate_and_steps_of_a_nanosecond_are_no_trouble() {
        assert_eq!(departure_ns(&[(7, 5)], 0, 1), 1_142_857_143);
        let mixed = departure_ns(&[(1, 1), (3, 1)], 0, 1514);
        assert_eq!(mixed, 1514 * 8 * 1_000_000_000 / 2);
    }
}
