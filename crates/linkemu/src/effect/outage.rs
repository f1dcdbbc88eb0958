// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheduled outages: frames whose transmission ends inside one are lost.

use super::passage::{Effect, Passage};
use crate::config::DirectionConfig;
use crate::frame::FrameMeta;
use crate::random::Random;

struct Outages {
    /// Sorted and disjoint `[start, end)`.
    outages_ns: Vec<(u64, u64)>,
}

pub(super) fn build(config: &DirectionConfig, _: Random) -> Box<dyn Effect> {
    Box::new(Outages {
        outages_ns: merged(&config.outages_ns),
    })
}

impl Effect for Outages {
    fn configure(&mut self, config: &DirectionConfig) {
        self.outages_ns = merged(&config.outages_ns);
    }

    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        let end_ns = passage.departure_ns;
        let after = self
            .outages_ns
            .partition_point(|(start, _)| *start <= end_ns);
        let inside = after > 0 && end_ns < self.outages_ns[after - 1].1;
        passage.lost |= inside && frame.lossy;
    }
}

/// Sorted, overlapping ones joined, so that one binary search decides.
fn merged(outages_ns: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut sorted = outages_ns.to_vec();
    sorted.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(sorted.len());
    for (start, end) in sorted {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Direction;

    #[test]
    fn only_frames_that_end_inside_are_lost() {
        let outages_ns = vec![(500, 600), (100, 200), (150, 300)];
        let config = DirectionConfig {
            outages_ns,
            ..Default::default()
        };
        let mut effect = build(&config, Random::new(1, Direction::AToB, "outage"));
        let mut lost_at = |departure_ns, lossy| {
            let mut passage = Passage {
                departure_ns,
                ..Passage::at(0)
            };
            effect.apply(
                &FrameMeta {
                    bytes: 100,
                    lossy,
                    tcp_data: false,
                    flow: None,
                },
                &mut passage,
            );
            passage.lost
        };
        let ends = [0, 99, 100, 250, 299, 300, 499, 500, 599, 600, u64::MAX];
        let lost: Vec<u64> = ends.into_iter().filter(|end| lost_at(*end, true)).collect();
        assert_eq!(lost, [100, 250, 299, 500, 599]);
        assert!(!lost_at(150, false));
    }

    #[test]
    fn overlaps_merge() {
        assert_eq!(merged(&[(5, 9), (1, 3), (3, 4), (6, 7)]), [(1, 4), (5, 9)]);
    }
}
