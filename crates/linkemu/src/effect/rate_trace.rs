// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A link that sends when a recorded one could: `rate_trace` is a list of delivery opportunities
//! in mahimahi's format, see [`RateTrace`]. What an opportunity does not use is lost once no frame
//! waits; several small frames may share one, and a large frame may need several.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;
use crate::trace::{OPPORTUNITY_BYTES, RateTrace};

const NS_PER_MS: u64 = 1_000_000;
/// mahimahi counts IP packets with the four bytes that its TUN device puts in front, and no
/// Ethernet header: a full frame of 1,514 bytes then takes exactly one opportunity.
const ETHERNET_BYTES: u64 = 14;
const TUN_BYTES: u64 = 4;

/// One opportunity: an entry of the list in one of its repetitions.
#[derive(Clone, Copy)]
struct Opportunity {
    repetition: u64,
    index: usize,
}

struct Replay {
    trace: RateTrace,
    /// The opportunity that the last frame ended in, and its bytes that are left over.
    current: Option<(Opportunity, u64)>,
}

pub(super) fn build(config: &DirectionConfig, _: Random) -> Box<dyn Effect> {
    Box::new(Replay {
        trace: config.rate_trace.clone(),
        current: None,
    })
}

impl Replay {
    fn time_ns(&self, at: Opportunity) -> u64 {
        let into_ms = self.trace.opportunities_ms()[at.index];
        (at.repetition * self.trace.period_ms() + into_ms) * NS_PER_MS
    }

    fn after(&self, at: Opportunity) -> Opportunity {
        if at.index + 1 < self.trace.opportunities_ms().len() {
            return Opportunity {
                index: at.index + 1,
                ..at
            };
        }
        Opportunity {
            repetition: at.repetition + 1,
            index: 0,
        }
    }

    /// The first opportunity that is not before `time_ns`.
    fn first_from(&self, time_ns: u64) -> Opportunity {
        let (time_ms, period_ms) = (time_ns.div_ceil(NS_PER_MS), self.trace.period_ms());
        let (mut repetition, mut into_ms) = (time_ms / period_ms, time_ms % period_ms);
        if into_ms == 0 && repetition > 0 {
            // The end of one repetition is the beginning of the next, and its entries come first.
            (repetition, into_ms) = (repetition - 1, period_ms);
        }
        let opportunities_ms = self.trace.opportunities_ms();
        Opportunity {
            repetition,
            index: opportunities_ms.partition_point(|at_ms| *at_ms < into_ms),
        }
    }
}

impl Effect for Replay {
    fn configure(&mut self, config: &DirectionConfig) {
        if self.trace != config.rate_trace {
            self.trace = config.rate_trace.clone();
            self.current = None;
        }
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        if self.trace.is_empty() {
            return;
        }
        let start_ns = passage.departure_ns;
        // A frame that starts later than the last opportunity was not there to share it.
        let (mut at, mut left_bytes) = match self.current {
            Some((at, left)) if start_ns <= self.time_ns(at) => (at, left),
            _ => (self.first_from(start_ns), OPPORTUNITY_BYTES),
        };
        let mut need_bytes = u64::from(frame.bytes).saturating_sub(ETHERNET_BYTES) + TUN_BYTES;
        while need_bytes > left_bytes {
            need_bytes -= left_bytes;
            (at, left_bytes) = (self.after(at), OPPORTUNITY_BYTES);
        }
        self.current = Some((at, left_bytes - need_bytes));
        passage.departure_ns = self.time_ns(at);
    }
}

#[cfg(test)]
mod tests {
    use super::super::lossy_frame;
    use super::*;
    use crate::config::Direction;

    const MS: u64 = NS_PER_MS;

    fn replay(opportunities_ms: &[u64]) -> Box<dyn Effect> {
        let config = DirectionConfig {
            rate_trace: RateTrace::new(opportunities_ms.to_vec()).unwrap(),
            ..Default::default()
        };
        build(&config, Random::new(1, Direction::AToB, "rate_trace"))
    }

    /// Departures of frames that all wait from the beginning on.
    fn departures_ms(effect: &mut dyn Effect, frames_bytes: &[u32]) -> Vec<u64> {
        let mut free_ns = 0;
        let depart = |bytes: &u32| {
            let mut passage = Passage::at(free_ns);
            effect.apply(&lossy_frame(*bytes), &mut passage);
            free_ns = passage.departure_ns;
            free_ns / MS
        };
        frames_bytes.iter().map(depart).collect()
    }

    #[test]
    fn a_full_frame_takes_one_opportunity_and_the_list_repeats() {
        let mut effect = replay(&[2, 5, 5, 10]);
        let departures = departures_ms(effect.as_mut(), &[1514; 9]);
        assert_eq!(departures, [2, 5, 5, 10, 12, 15, 15, 20, 22]);
    }

    #[test]
    fn small_frames_share_and_large_ones_need_several() {
        // As mahimahi counts: 760 − 10 bytes are 750 of 1504, so two fit and the third spills.
        let mut effect = replay(&[1, 2, 3, 4]);
        assert_eq!(departures_ms(effect.as_mut(), &[760; 5]), [1, 1, 2, 2, 3]);
        let mut effect = replay(&[1, 2, 3, 4]);
        // 9014 − 10 bytes are 5 opportunities and 1484 bytes; 20 bytes are left of the sixth.
        assert_eq!(departures_ms(effect.as_mut(), &[9014, 30, 30]), [6, 6, 7]);
    }

    #[test]
    fn what_nobody_uses_is_lost() {
        let mut effect = replay(&[1, 2, 3, 10]);
        let mut depart = |start_ns, bytes| {
            let mut passage = Passage::at(start_ns);
            effect.apply(&lossy_frame(bytes), &mut passage);
            passage.departure_ns
        };
        assert_eq!(depart(0, 110), MS);
        // Later than the opportunity whose rest it could have had, by however little.
        assert_eq!(depart(MS + 1, 110), 2 * MS);
        assert_eq!(depart(2 * MS, 110), 2 * MS);
        assert_eq!(depart(3 * MS + 1, 1514), 10 * MS);
        // Three repetitions went by unused.
        assert_eq!(depart(40 * MS, 1514), 40 * MS);
        assert_eq!(depart(40 * MS, 1514), 41 * MS);
    }

    #[test]
    fn an_entry_at_zero_follows_the_last_one_at_the_same_time() {
        let mut effect = replay(&[0, 4]);
        let departures = departures_ms(effect.as_mut(), &[1514; 5]);
        assert_eq!(departures, [0, 4, 4, 8, 8]);
    }
}
