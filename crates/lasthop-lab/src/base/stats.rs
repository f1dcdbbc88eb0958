// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Medians, and ratios with their interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Mean of paired ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Mean over the pairs.
    pub mean: f64,
    /// Its 95 % interval by Student's t; none for a single pair.
    pub interval: Option<(f64, f64)>,
}

/// The value in the middle, or the mean of the two there; none without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let high = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 {
        high
    } else {
        (sorted[middle - 1] + high) / 2.0
    })
}

/// 95 % interval of the mean of `values`, by Student's t; none for fewer than two.
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    let half = t.inverse_cdf(0.975) * (squares / (n - 1.0) / n).sqrt();
    Some((mean - half, mean + half))
}

impl Ratio {
    /// Over pairs of the same seed; none without pairs. A ratio to nothing is left out.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let pairs = pairs.iter().filter(|(_, below)| *below > 0.0);
        let ratios: Vec<f64> = pairs.map(|(above, below)| above / below).collect();
        if ratios.is_empty() {
            return None;
        }
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        Some(Self {
            mean,
            interval: interval(&ratios),
        })
    }

    /// Whether it surely lies below `limit`; without an interval, whether it does at all.
    pub fn is_below(self, limit: f64) -> bool {
        self.interval.map_or(self.mean, |(_, high)| high) < limit
    }
}

/// Rounds to so many decimals: digits beyond the noise only make lines longer.
pub(crate) fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn interval_of_three_seeds() {
        let ratio = Ratio::of(&[(9.0, 10.0), (10.0, 10.0), (11.0, 10.0)]).unwrap();
        let (low, high) = ratio.interval.unwrap();
        // t(0.975, 2) = 4.3027; 4.3027 × 0.1 / √3 = 0.2484
        assert!((ratio.mean - 1.0).abs() < 1e-12);
        assert!(
            (low - 0.7516).abs() < 1e-4 && (high - 1.2484).abs() < 1e-4,
            "{low} {high}"
        );
        assert!(!ratio.is_below(1.2) && ratio.is_below(1.25));
    }

    #[test]
    fn one_seed_has_no_interval() {
        let ratio = Ratio::of(&[(9.0, 10.0)]).unwrap();
        assert_eq!(ratio.interval, None);
        assert!(ratio.is_below(0.91) && !ratio.is_below(0.9));
        assert_eq!(Ratio::of(&[]), None);
        assert_eq!(Ratio::of(&[(1.0, 0.0)]), None);
    }

    #[test]
    fn equal_ratios_have_a_narrow_interval() {
        let ratio = Ratio::of(&[(1.0, 2.0), (2.0, 4.0)]).unwrap();
        assert_eq!(ratio.interval, Some((0.5, 0.5)));
    }

    #[test]
    fn rounding() {
        assert_eq!(rounded(1.23456, 3), 1.235);
        assert_eq!(rounded(-0.5, 0), -1.0);
    }
}
