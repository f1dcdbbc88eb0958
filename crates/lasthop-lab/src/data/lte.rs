// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A trace of an LTE-like downlink. Synthetic: nothing here was measured.
//!
//! The rate wanders as a radio link's does, slowly between about 3 and 40 Mbit/s and from one 10 ms to
//! the next, with fades of 100 to 500 ms every few seconds in which hardly anything gets through. The
//! numbers were chosen to look like published cellular traces, not fitted to any.

use linkemu::RateTrace;
use rand_mt::Mt;

const SEED: u32 = 3;
const LENGTH_MS: u64 = 60_000;
const STEP_MS: u64 = 10;
/// What a mahimahi trace counts per opportunity.
const OPPORTUNITY_BITS: f64 = 1504.0 * 8.0;
const LEAST_MBIT: f64 = 3.0;
const MOST_MBIT: f64 = 40.0;
const CENTRE_MBIT: f64 = 16.0;
/// The logarithm of the rate returns to its centre within this time ...
const RETURN_MS: f64 = 2500.0;
/// ... from excursions of this standard deviation.
const SPREAD: f64 = 0.7;
const FADE_EVERY_MS: f64 = 5000.0;
const FADE_MS: (f64, f64) = (100.0, 500.0);
/// What a fade leaves of the rate.
const FADE_SHARE: f64 = 0.02;

/// The trace, the same on every machine: sums are rounded far above what arithmetic may differ by.
pub fn trace() -> linkemu::Result<RateTrace> {
    RateTrace::new(opportunities_ms(&rates_mbit()))
}

/// Uniform from 0 to 1, with the 53 bits of a `double` (genrand_res53 of Matsumoto and Nishimura).
fn uniform(rng: &mut Mt) -> f64 {
    let (high, low) = (rng.next_u32() >> 5, rng.next_u32() >> 6);
    (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
}

/// Roughly Gaussian: the sum of twelve uniform numbers, with variance 1.
fn normal(rng: &mut Mt) -> f64 {
    (0..12).fold(0.0, |sum, _| sum + uniform(rng)) - 6.0
}

/// One rate per `STEP_MS`: an Ornstein-Uhlenbeck walk of the logarithm, and fades.
fn rates_mbit() -> Vec<f64> {
    let step_ms = STEP_MS as f64;
    let pull = step_ms / RETURN_MS;
    let kick = SPREAD * (2.0 * pull).sqrt();
    let mut rng = Mt::new_with_key([SEED]);
    let (mut excursion, mut fade_left_ms) = (0.0, 0.0);
    let step = |_| {
        excursion += kick * normal(&mut rng) - pull * excursion;
        let rate = (CENTRE_MBIT * f64::exp(excursion)).clamp(LEAST_MBIT, MOST_MBIT);
        if fade_left_ms <= 0.0 && uniform(&mut rng) < step_ms / FADE_EVERY_MS {
            fade_left_ms = FADE_MS.0 + (FADE_MS.1 - FADE_MS.0) * uniform(&mut rng);
        }
        let share = if fade_left_ms > 0.0 { FADE_SHARE } else { 1.0 };
        fade_left_ms -= step_ms;
        to_thousandths(rate * share)
    };
    (0..LENGTH_MS / STEP_MS).map(step).collect()
}

/// A time for every full packet that the rates have room for.
fn opportunities_ms(rates_mbit: &[f64]) -> Vec<u64> {
    let (mut times_ms, mut now_ms, mut bits) = (Vec::new(), 0, 0.0);
    for rate_mbit in rates_mbit {
        for _ in 0..STEP_MS {
            now_ms += 1;
            bits = to_thousandths(bits + rate_mbit * 1000.0);
            while bits >= OPPORTUNITY_BITS {
                bits -= OPPORTUNITY_BITS;
                times_ms.push(now_ms);
            }
        }
    }
    // The last time is the period, whether or not a packet fits there.
    if times_ms.last() != Some(&LENGTH_MS) {
        times_ms.push(LENGTH_MS);
    }
    times_ms
}

fn to_thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Results are compared with earlier ones: the trace must stay what it was, to the byte.
    #[test]
    fn it_is_always_the_same() {
        const SHA256: &str = "87f53bf139013c93268bb97219d014f353720b2cde6b42c99f611963793005bf";
        let times = opportunities_ms(&rates_mbit());
        let text: String = times.iter().map(|time| format!("{time}\n")).collect();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("lte.trace");
        std::fs::write(&file, text).unwrap();
        let sum = Command::new("sha256sum").arg(&file).output().unwrap();
        let sum = String::from_utf8(sum.stdout).unwrap();
        assert_eq!(sum.split(' ').next(), Some(SHA256));
    }

    #[test]
    fn it_is_what_it_is_said_to_be() {
        let rates = rates_mbit();
        let clear = || rates.iter().filter(|rate| **rate >= LEAST_MBIT / 2.0);
        assert!(clear().all(|rate| (LEAST_MBIT..=MOST_MBIT).contains(rate)));
        let faded = rates.len() - clear().count();
        assert!((100..1000).contains(&faded), "{faded} steps in fades");
        assert_eq!(trace().unwrap().period_ms(), LENGTH_MS);
    }
}
