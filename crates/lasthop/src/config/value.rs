// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Values of the configuration file: read with their units and ranges, and shown as they are
//! written.

use std::ops::RangeInclusive;

use lasthop_core::{Kind, Param};
use toml::Value;

use crate::units;

pub fn text(value: &Value) -> Result<String, String> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| "write a text in quotes".to_owned())
}

/// A number with a unit, in quotes; without quotes or unit it gets the same sentence.
fn quantity(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

pub fn size(value: &Value, least: &str, most: &str) -> Result<u64, String> {
    let bytes = units::size_bytes(&quantity(value))?;
    match (units::size_bytes(least)?..=units::size_bytes(most)?).contains(&bytes) {
        true => Ok(bytes),
        false => Err(format!("must be from {least} to {most}")),
    }
}

pub fn count(value: &Value, range: RangeInclusive<u64>) -> Result<u64, String> {
    let number = value.as_integer().ok_or("write a whole number")?;
    match u64::try_from(number).ok().filter(|n| range.contains(n)) {
        Some(n) => Ok(n),
        None => Err(format!(
            "{number} is not from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

pub fn rules(value: &Value, exclude: bool) -> Result<Vec<String>, String> {
    let list = value
        .as_array()
        .ok_or("write a list of texts in brackets")?;
    let rules: Vec<String> = list.iter().map(text).collect::<Result<_, _>>()?;
    for rule in &rules {
        units::rule(rule, exclude)?;
    }
    Ok(rules)
}

/// The value of a parameter, in the unit of its kind.
pub fn param(param: &Param, value: &Value) -> Result<u64, String> {
    let range = param.range();
    let outside = || {
        format!(
            "must be from {} to {}",
            bare(param, *range.start()),
            bare(param, *range.end())
        )
    };
    match param.kind {
        Kind::Time => {
            let ns = units::duration_ns(&quantity(value))?;
            range.contains(&ns).then_some(ns).ok_or_else(outside)
        }
        Kind::Count => count(value, range),
        Kind::Flag => value
            .as_bool()
            .map(u64::from)
            .ok_or_else(|| "write true or false".to_owned()),
        Kind::Choice => choice(param, value),
        Kind::Ratio => {
            let number = value.as_float().ok_or("write a number such as 0.125")?;
            let value = (number * 1024.0).round();
            let inside = (*range.start() as f64..=*range.end() as f64).contains(&value);
            inside.then_some(value as u64).ok_or_else(outside)
        }
    }
}

fn choice(param: &Param, value: &Value) -> Result<u64, String> {
    let number = |word: &str| param.words().position(|w| w == word);
    let found = match value {
        Value::Boolean(false) => number("off"),
        Value::Boolean(true) => number("on").or_else(|| number("auto")),
        Value::String(word) => number(word),
        _ => None,
    };
    found.map(|n| n as u64).ok_or_else(|| {
        let words: Vec<String> = param.words().map(|word| format!("\"{word}\"")).collect();
        format!("write one of {}", words.join(", "))
    })
}

/// A value without quotes.
fn bare(param: &Param, value: u64) -> String {
    match param.kind {
        Kind::Time => time(value),
        _ => param.plain(value),
    }
}

/// A time in the largest unit that takes no fraction.
fn time(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    match units.iter().find(|(_, unit)| ns % unit == 0) {
        Some((name, unit)) => format!("{}{name}", ns / unit),
        None => format!("{ns}ns"),
    }
}

/// A value as a file has it.
pub fn shown(param: &Param, value: u64) -> String {
    match param.kind {
        Kind::Time | Kind::Choice => format!("\"{}\"", bare(param, value)),
        _ => bare(param, value),
    }
}

/// The values that a parameter may have, for people.
pub fn range_of(param: &Param) -> Option<String> {
    let (least, most) = (*param.range().start(), *param.range().end());
    match param.kind {
        Kind::Flag | Kind::Choice => None,
        _ => Some(format!("{} to {}", bare(param, least), bare(param, most))),
    }
}
