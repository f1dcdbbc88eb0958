// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Times and sizes as people write them: `110ms`, `1h 30min`, `20MB`, `64KiB`.
//!
//! The names of the units are those of humantime and bytesize, capitals or not where no two units
//! differ by them. A number may have a fraction or an exponent, which neither of them takes in full.
//! How long or how large a value may be is for the caller to say.

use std::time::Duration;

use bytesize::Unit;

/// Values from here on are typing errors, and do not fit into 64 bits for long.
const MOST: f64 = 1e19;

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// It does not begin with a number.
    Number,
    /// It is a number alone, and what is meant cannot be known.
    Bare,
    /// No unit is called like this.
    Unit(String),
    /// No program can mean so much.
    TooMuch,
}

/// Splits `20.5mbit` into the number and its unit, blanks aside.
///
/// # Errors
/// No number at the beginning.
pub fn split(text: &str) -> Result<(f64, &str), Wrong> {
    let text = text.trim();
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    // Exponents, as in a bit-error rate, are only recognised where a digit or sign follows, so
    // that no unit that begins with an e is mistaken for one.
    let end = exponent_end(text, end);
    let number = text[..end].parse::<f64>().map_err(|_| Wrong::Number)?;
    Ok((number, text[end..].trim_start()))
}

fn exponent_end(text: &str, end: usize) -> usize {
    let rest = &text.as_bytes()[end..];
    if !matches!(rest.first(), Some(b'e' | b'E')) {
        return end;
    }
    let sign = usize::from(matches!(rest.get(1), Some(b'-' | b'+')));
    let digits = rest[1 + sign..]
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .count();
    match digits {
        0 => end,
        _ => end + 1 + sign + digits,
    }
}

/// A time span in nanoseconds: `300us`, `110ms`, `2min`, `1h 30min`; a bare `0` needs no unit.
///
/// # Errors
/// No number, no or an unknown unit, more than 64 bits hold.
pub fn duration_ns(text: &str) -> Result<u64, Wrong> {
    let (number, unit) = split(text)?;
    if unit.is_empty() {
        return match number {
            0.0 => Ok(0),
            _ => Err(Wrong::Bare),
        };
    }
    match unit_of_time(unit) {
        Some(unit) => rounded(number * unit.as_nanos() as f64),
        None => sum_ns(text).ok_or_else(|| Wrong::Unit(unit.to_owned())),
    }
}

/// One of a unit: `MS` is no other than `ms`, but `M` is a month and `m` a minute.
fn unit_of_time(unit: &str) -> Option<Duration> {
    let one = |unit: &str| humantime::parse_duration(&format!("1{unit}")).ok();
    let is_name = !unit.contains(|c: char| c.is_ascii_digit() || c.is_whitespace());
    let known = || one(unit).or_else(|| one(&unit.to_lowercase()));
    is_name.then(known).flatten()
}

/// Several spans, one after the other.
fn sum_ns(text: &str) -> Option<u64> {
    let sum = humantime::parse_duration(text.trim()).ok()?;
    u64::try_from(sum.as_nanos()).ok()
}

/// An amount of data in bytes: `1500`, `20MB`, `64KiB` (MB is a million, MiB is 2^20).
///
/// # Errors
/// No number, an unknown unit, more than 64 bits hold.
pub fn size_bytes(text: &str) -> Result<u64, Wrong> {
    let (number, unit) = split(text)?;
    let one = match unit {
        "" => Unit::Byte,
        name => name.parse().map_err(|_| Wrong::Unit(name.to_owned()))?,
    };
    rounded(number * one)
}

fn rounded(value: f64) -> Result<u64, Wrong> {
    match value {
        0.0..MOST => Ok(value.round() as u64),
        _ => Err(Wrong::TooMuch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_their_units() {
        assert_eq!(split(" 2.5 mbit "), Ok((2.5, "mbit")));
        assert_eq!(split("1e-5"), Ok((1e-5, "")));
        assert_eq!(split("1e"), Ok((1.0, "e")));
        assert_eq!(split("+3s"), Ok((3.0, "s")));
        for text in ["", "ms", "-1s", "nan s", "1.2.3s"] {
            assert_eq!(split(text), Err(Wrong::Number), "{text}");
        }
    }

    #[test]
    fn times() {
        for (text, ns) in [
            ("80ms", 80_000_000),
            ("80 MS", 80_000_000),
            ("1.5s", 1_500_000_000),
            ("0.1us", 100),
            ("3µs", 3000),
            ("1e-3s", 1_000_000),
            ("2min", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("1h 30min", 5_400_000_000_000),
            ("1min30s", 90_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(duration_ns(text), Ok(ns), "{text}");
        }
        assert_eq!(duration_ns("110"), Err(Wrong::Bare));
        assert_eq!(duration_ns("5 parsecs"), Err(Wrong::Unit("parsecs".into())));
        assert_eq!(duration_ns("1h 3x"), Err(Wrong::Unit("h 3x".into())));
        assert_eq!(duration_ns("99999h"), Ok(359_996_400_000_000_000));
        assert_eq!(duration_ns("1e19ns"), Err(Wrong::TooMuch));
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("8MiB", 8 << 20),
            ("8MB", 8_000_000),
            ("2.3kB", 2300),
            ("2.3 k", 2300),
            ("65536", 65_536),
            ("1GiB", 1 << 30),
            ("0", 0),
        ] {
            assert_eq!(size_bytes(text), Ok(bytes), "{text}");
        }
        assert_eq!(size_bytes("5x"), Err(Wrong::Unit("x".into())));
        assert_eq!(size_bytes("99EB"), Err(Wrong::TooMuch));
    }
}
