// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Human units on the command line: `20mbit`, `110ms`, `2%`, `20MB`, `1..5`. Times and sizes are
//! parsed as the agent's configuration is; what is the lab's own is how long and large they may be.
//!
//! A bare number is refused wherever the unit could be guessed wrongly; the message then shows
//! how to write it.

use std::ops::RangeInclusive;

use lasthop_units::Wrong;

/// Rates above this make the emulator's nanosecond arithmetic meaningless.
const MAX_RATE_BPS: f64 = 1e12;
/// One day: longer waits are typing errors.
const MAX_DURATION_NS: u64 = 86_400_000_000_000;
const MAX_SIZE_BYTES: u64 = 1_000_000_000_000;
const MAX_SEEDS: u64 = 1000;

/// Splits `20.5mbit` into the number and its unit.
fn split_number(text: &str) -> Result<(f64, &str), String> {
    lasthop_units::split(text).map_err(|_| no_number(text))
}

fn no_number(text: &str) -> String {
    format!("`{}` does not begin with a number", text.trim())
}

fn within(value: f64, range: RangeInclusive<f64>, text: &str, limits: &str) -> Result<f64, String> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(format!("`{text}` must be {limits}"))
    }
}

/// A link rate in bit/s: `250kbit`, `20mbit`, `1gbit` (powers of ten).
///
/// # Errors
/// No number, no or an unknown unit, below 1 bit/s or above 1 Tbit/s.
pub fn rate_bps(text: &str) -> Result<u64, String> {
    let (number, unit) = split_number(text)?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "bit" | "bps" => 1.0,
        "kbit" | "kbps" => 1e3,
        "mbit" | "mbps" => 1e6,
        "gbit" | "gbps" => 1e9,
        "" => {
            return Err(format!(
                "`{text}` has no unit: write for example {text}mbit"
            ));
        }
        _ => {
            return Err(format!(
                "`{unit}` is no unit of rate: use bit, kbit, mbit or gbit"
            ));
        }
    };
    let rate = within(
        number * scale,
        1.0..=MAX_RATE_BPS,
        text,
        "at least 1bit and at most 1000gbit",
    )?;
    Ok(rate.round() as u64)
}

/// A time span in nanoseconds: `300us`, `110ms`, `20s`, `2min`; a bare `0` needs no unit.
///
/// # Errors
/// No number, no or an unknown unit, longer than a day.
pub fn duration_ns(text: &str) -> Result<u64, String> {
    let too_long = || format!("`{text}` must be at most 24h");
    match lasthop_units::duration_ns(text) {
        Ok(ns) if ns > MAX_DURATION_NS => Err(too_long()),
        Ok(ns) => Ok(ns),
        Err(Wrong::Number) => Err(no_number(text)),
        Err(Wrong::Bare) => Err(format!(
            "`{text}` has no unit: write for example {text}ms or {text}s"
        )),
        Err(Wrong::Unit(unit)) => Err(format!(
            "`{unit}` is no unit of time: use us, ms, s, min or h"
        )),
        Err(Wrong::TooMuch) => Err(too_long()),
    }
}

/// A probability as a fraction of 1: `2%` or `0.02`.
///
/// # Errors
/// No number, an unknown unit, outside 0 to 1.
pub fn fraction(text: &str) -> Result<f64, String> {
    let (number, unit) = split_number(text)?;
    match unit {
        "%" => within(number / 100.0, 0.0..=1.0, text, "between 0% and 100%"),
        "" if number > 1.0 => Err(format!(
            "`{text}` is more than 1: write {text}% if per cent is meant"
        )),
        "" => within(number, 0.0..=1.0, text, "between 0 and 1"),
        _ => Err(format!(
            "`{unit}` is no unit of probability: write 2% or 0.02"
        )),
    }
}

/// An amount of data in bytes: `1500`, `20MB`, `64KiB` (MB is a million, MiB is 2^20).
///
/// # Errors
/// No number, an unknown unit, not a whole number of bytes, zero, or above 1 TB.
pub fn size_bytes(text: &str) -> Result<u64, String> {
    match lasthop_units::size_bytes(text) {
        Ok(bytes @ 1..=MAX_SIZE_BYTES) => Ok(bytes),
        Ok(_) | Err(Wrong::TooMuch) => {
            Err(format!("`{text}` must be at least 1B and at most 1000GB"))
        }
        Err(Wrong::Unit(unit)) => Err(format!(
            "`{unit}` is no unit of size: use B, kB, MB, GB, KiB, MiB or GiB"
        )),
        Err(Wrong::Number | Wrong::Bare) => Err(no_number(text)),
    }
}

/// One seed, or a range with both ends: `7`, `1..5`.
///
/// # Errors
/// No number, an empty range or one of more than 1,000 seeds.
pub fn seed_range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let seed = |s: &str| {
        s.parse::<u64>()
            .map_err(|_| format!("`{s}` is no seed: use whole numbers, such as 1,2,7 or 1..5"))
    };
    let Some((first, last)) = text.split_once("..") else {
        let only = seed(text)?;
        return Ok(only..=only);
    };
    let (first, last) = (seed(first)?, seed(last.trim_start_matches('='))?);
    if first > last || last - first >= MAX_SEEDS {
        return Err(format!(
            "`{text}` must run upwards and name at most {MAX_SEEDS} seeds"
        ));
    }
    Ok(first..=last)
}

/// Seeds as [`seed_range`] takes them, joined by commas.
pub fn show_seeds(seeds: &[RangeInclusive<u64>]) -> String {
    let show = |seeds: &RangeInclusive<u64>| match (seeds.start(), seeds.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}..{last}"),
    };
    seeds.iter().map(show).collect::<Vec<_>>().join(",")
}

/// A rate as people write it: `20mbit`, `1.5gbit`.
pub fn show_rate(rate_bps: u64) -> String {
    let (scale, unit) = match rate_bps {
        0..1_000 => (1.0, "bit"),
        1_000..1_000_000 => (1e3, "kbit"),
        1_000_000..1_000_000_000 => (1e6, "mbit"),
        _ => (1e9, "gbit"),
    };
    format!("{}{unit}", rate_bps as f64 / scale)
}

/// A time span as people write it: `110ms`, `2.5s`.
pub fn show_duration(duration_ns: u64) -> String {
    let (scale, unit) = match duration_ns {
        0 => return "0s".to_owned(),
        1..1_000_000 => (1e3, "us"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{}{unit}", duration_ns as f64 / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        for (text, expected) in [
            ("20mbit", 20_000_000),
            ("1gbit", 1_000_000_000),
            ("2.5 Mbit", 2_500_000),
            ("9600bit", 9600),
            ("64kbps", 64_000),
        ] {
            assert_eq!(rate_bps(text), Ok(expected), "{text}");
        }
        for (text, hint) in [
            ("20", "20mbit"),
            ("mbit", "number"),
            ("20mb", "unit of rate"),
            ("0mbit", "at least"),
            ("-1mbit", "number"),
            ("9999gbit", "at most"),
        ] {
            assert!(rate_bps(text).unwrap_err().contains(hint), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, expected) in [
            ("110ms", 110_000_000),
            ("0.5s", 500_000_000),
            ("300us", 300_000),
            ("2min", 120_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(duration_ns(text), Ok(expected), "{text}");
        }
        for (text, hint) in [
            ("110", "110ms"),
            ("5 parsecs", "unit of time"),
            ("25h", "24h"),
        ] {
            assert!(duration_ns(text).unwrap_err().contains(hint), "{text}");
        }
    }

    #[test]
    fn fractions() {
        for (text, expected) in [
            ("2%", 0.02),
            ("0.02", 0.02),
            ("0", 0.0),
            ("100%", 1.0),
            ("1e-5", 1e-5),
        ] {
            assert!((fraction(text).unwrap() - expected).abs() < 1e-12, "{text}");
        }
        for (text, hint) in [
            ("2", "2%"),
            ("101%", "100%"),
            ("2ms", "probability"),
            ("1e", "probability"),
        ] {
            assert!(fraction(text).unwrap_err().contains(hint), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("20MB", 20_000_000),
            ("64KiB", 65_536),
            ("1500", 1500),
            ("1.5kB", 1500),
        ] {
            assert_eq!(size_bytes(text), Ok(expected), "{text}");
        }
        for (text, hint) in [("0", "at least"), ("5x", "unit of size"), ("", "number")] {
            assert!(size_bytes(text).unwrap_err().contains(hint), "{text}");
        }
    }

    #[test]
    fn seeds() {
        assert_eq!(seed_range("7"), Ok(7..=7));
        assert_eq!(seed_range("1..5"), Ok(1..=5));
        for text in ["5..1", "a", "1..99999", ""] {
            assert!(seed_range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shown_values_parse_back() {
        for rate in [9600, 64_000, 20_000_000, 2_500_000_000] {
            assert_eq!(rate_bps(&show_rate(rate)), Ok(rate));
        }
        for time in [300_000, 110_000_000, 2_500_000_000] {
            assert_eq!(duration_ns(&show_duration(time)), Ok(time));
        }
    }
}
