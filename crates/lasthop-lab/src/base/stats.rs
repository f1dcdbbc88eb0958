// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Medians, and means' intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

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
        let (low, high) = interval(&[0.9, 1.0, 1.1]).unwrap();
        // t(0.975, 2) = 4.3027; 4.3027 × 0.1 / √3 = 0.2484
        assert!(
            (low - 0.7516).abs() < 1e-4 && (high - 1.2484).abs() < 1e-4,
            "{low} {high}"
        );
    }

    #[test]
    fn intervals_that_there_are_not() {
        assert_eq!(interval(&[0.9]), None);
        assert_eq!(interval(&[]), None);
        assert_eq!(interval(&[0.5, 0.5]), Some((0.5, 0.5)));
    }

    #[test]
    fn rounding() {
        assert_eq!(rounded(1.23456, 3), 1.235);
        assert_eq!(rounded(-0.5, 0), -1.0);
    }
}
