// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What figures show and conditions judge: a field of `compare -j`, or arithmetic with some of them.

use exmex::prelude::*;
use serde_json::Value;

use super::line::Line;
use crate::base::fields::Field;
use crate::cell::record::FIELDS;

/// Whether it can be evaluated.
///
/// # Errors
/// It names what is no numeric field, or is no arithmetic.
pub(super) fn check(metric: &str) -> Result<(), String> {
    let (named, position) = field_of(metric);
    let fits = |field: &Field| match field.unit.starts_with("list") {
        true => true,
        false => position.is_none() && !is_text(field),
    };
    if FIELDS.iter().any(|f| f.name == named && fits(f)) {
        return Ok(());
    }
    let no_field = |name: &str| {
        format!("`{name}` is no field of compare -j with a number: `lasthop-lab fields` lists them")
    };
    if metric.chars().all(|c| !is_arithmetic(c)) {
        return Err(no_field(metric));
    }
    let parsed = exmex::parse::<f64>(metric);
    let parsed = parsed.map_err(|error| format!("`{metric}` is no arithmetic: {error}"))?;
    let is_scalar = |name: &str| {
        let field = FIELDS.iter().find(|field| field.name == name);
        field.is_some_and(|field| !field.unit.starts_with("list") && !is_text(field))
    };
    if parsed.var_names().is_empty() {
        return Err(format!("`{metric}` names no field of compare -j"));
    }
    match parsed.var_names().iter().find(|name| !is_scalar(name)) {
        Some(unknown) => Err(no_field(unknown)),
        None => Ok(()),
    }
}

/// Whether it holds no number.
fn is_text(field: &Field) -> bool {
    ["name", "text"].contains(&field.unit)
}

fn is_arithmetic(character: char) -> bool {
    character.is_whitespace() || "+-*/^()".contains(character)
}

/// Of one run. A time that never came is infinite; if anything else is null, there is no value.
pub(super) fn value(line: &Line, metric: &str) -> Option<f64> {
    let record = serde_json::to_value(&line.record).ok()?;
    let of_field = |name: &str| {
        let never = is_time(name).then_some(f64::INFINITY);
        number(&record, name).or(never)
    };
    if !metric.chars().any(is_arithmetic) {
        return of_field(metric);
    }
    let parsed = exmex::parse::<f64>(metric).ok()?;
    let values = parsed.var_names().iter().map(|name| of_field(name));
    parsed.eval(&values.collect::<Option<Vec<f64>>>()?).ok()
}

fn is_time(metric: &str) -> bool {
    let (named, _) = field_of(metric);
    let is_time = |field: &Field| field.name == named && field.unit.ends_with("ms");
    FIELDS.iter().any(is_time)
}

/// A field as a number, `host_efficiency[0]` being the first of a list; none if it is null or no
/// number.
fn number(record: &Value, name: &str) -> Option<f64> {
    let (field, position) = field_of(name);
    let value = record.get(field)?;
    let value = match position {
        Some(position) => value.get(position)?,
        None => value,
    };
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        _ => None,
    }
}

/// Field of a metric, and the position in it that the metric names.
fn field_of(metric: &str) -> (&str, Option<usize>) {
    let indexed = || {
        let (field, rest) = metric.strip_suffix(']')?.split_once('[')?;
        Some((field, rest.parse().ok()?))
    };
    match indexed() {
        Some((field, position)) => (field, Some(position)),
        None => (metric, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::experiment::line::tests::line;

    #[test]
    fn fields_by_name() {
        let mut line = line(1.0, "tcp", 1, 2.5);
        for (metric, expected) in [
            ("goodput_mbit", Some(2.5)),
            ("content_ok", Some(1.0)),
            ("completion_ms", Some(f64::INFINITY)),
            ("late_flow_share_s", None),
            ("cc", None),
            ("host_rtt_p95_ms[0]", Some(120.0)),
            ("cc[0]", None),
            ("cc[x]", None),
        ] {
            assert_eq!(value(&line, metric), expected, "{metric}");
        }
        line.record.completion_ms = Some(12.0);
        assert_eq!(value(&line, "completion_ms"), Some(12.0));
    }

    #[test]
    fn arithmetic() {
        let mut line = line(1.0, "rack", 1, 2.5);
        line.record.rate_mbit = 20.0;
        let over_base = "rtt_p95_ms - rtt_ms - 12.112 / rate_mbit";
        assert_eq!(check(over_base), Ok(()));
        let value_ms = value(&line, over_base).unwrap();
        assert!((value_ms - 9.3944).abs() < 1e-9, "{value_ms}");
        let beyond = "local_retransmits - 1.1 * (link_lost + queue_dropped)";
        assert_eq!(check(beyond), Ok(()));
        assert_eq!(value(&line, beyond), None, "there is no agent");
        line.record.local_retransmits = Some(100);
        assert!((value(&line, beyond).unwrap() + 10.0).abs() < 1e-9);
        line.record.rtt_p95_ms = None;
        assert_eq!(value(&line, over_base), Some(f64::INFINITY));
    }

    #[test]
    fn every_numeric_field_can_be_reckoned_with() {
        let is_number = |field: &&Field| !field.unit.starts_with("list") && !is_text(field);
        for field in FIELDS.iter().filter(is_number) {
            assert_eq!(check(&format!("1 + {}", field.name)), Ok(()));
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (metric, said) in [
            ("goodputs", "`goodputs` is no field"),
            ("jain[0]", "`jain[0]` is no field"),
            ("1.1 * lost", "`lost` is no field"),
            ("cc", "`cc` is no field"),
            ("1 + cc", "`cc` is no field"),
            ("1 + page_loads_ms", "`page_loads_ms` is no field"),
            ("jain * (1 + jain", "is no arithmetic"),
            ("1 / 0", "`1 / 0` names no field"),
        ] {
            let error = check(metric).unwrap_err();
            assert!(error.contains(said), "{metric}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
