// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Bytes over time, and what lies between two moments.

use crate::bed::transfer::ReceivedSample;

/// Bytes that had arrived at moments one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series(Vec<(u64, u64)>);

impl Series {
    /// Of all flows of a transfer that began `later_ns` after the moment that times count from.
    pub fn of(samples: &[ReceivedSample], later_ns: u64) -> Self {
        let sample = |sample: &ReceivedSample| (sample.at_ns + later_ns, sample.bytes.iter().sum());
        Self(samples.iter().map(sample).collect())
    }

    /// One more moment, after all the others.
    pub fn push(&mut self, at_ns: u64, bytes: u64) {
        self.0.push((at_ns, bytes));
    }

    /// The last moment.
    pub fn last_ns(&self) -> Option<u64> {
        self.0.last().map(|(at_ns, _)| *at_ns)
    }

    /// Mbit/s from one moment to another, or to the last sample if that comes before; none if
    /// nothing lies between.
    pub fn mbit(&self, from_ns: u64, to_ns: u64) -> Option<f64> {
        let to_ns = to_ns.min(self.last_ns()?);
        if to_ns <= from_ns {
            return None;
        }
        let bytes = self.bytes_at(to_ns) - self.bytes_at(from_ns);
        Some(bytes * 8000.0 / (to_ns - from_ns) as f64)
    }

    /// On the straight line between the samples before and after.
    fn bytes_at(&self, at_ns: u64) -> f64 {
        let after = self.0.partition_point(|(sample_ns, _)| *sample_ns < at_ns);
        let (before_ns, before) = match after {
            0 => (0, 0),
            _ => self.0[after - 1],
        };
        let Some((after_ns, bytes)) = self.0.get(after).copied() else {
            return before as f64;
        };
        let part = (at_ns - before_ns) as f64 / (after_ns - before_ns).max(1) as f64;
        before as f64 + part * bytes.saturating_sub(before) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_two_moments() {
        let mut series = Series::default();
        assert_eq!(series.mbit(0, 10), None);
        for (at_ns, bytes) in [(1000, 0), (2000, 100), (3000, 300)] {
            series.push(at_ns, bytes);
        }
        let mbit = |from_ns, to_ns| series.mbit(from_ns, to_ns).map(|mbit| mbit.round());
        assert_eq!(mbit(1000, 3000), Some(1200.0)); // 300 bytes in 2 µs
        assert_eq!(mbit(1500, 2500), Some(1200.0)); // 50 to 200
        assert_eq!(mbit(2000, 9000), Some(1600.0));
        assert_eq!(mbit(0, 1000), Some(0.0));
        assert_eq!(mbit(3000, 9000), None);
    }

    #[test]
    fn all_flows_of_a_transfer_count() {
        let sample = |at_ns, bytes: [u64; 2]| ReceivedSample {
            at_ns,
            bytes: bytes.to_vec(),
        };
        let series = Series::of(&[sample(0, [0, 0]), sample(1000, [10, 20])], 500);
        assert_eq!(series.last_ns(), Some(1500));
        assert_eq!(series.mbit(500, 1500), Some(240.0));
    }
}
