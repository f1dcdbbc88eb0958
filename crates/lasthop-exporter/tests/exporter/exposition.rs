// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A strict reader of both formats, written from their grammars and not from ours: what it refuses
//! Prometheus may refuse as well.

use std::collections::{BTreeMap, BTreeSet};

/// A series: the metric's name and the labels, sorted, unescaped.
pub type Key = (String, Vec<(String, String)>);
/// Values by series.
pub type Series = BTreeMap<Key, f64>;

/// A family's metadata.
#[derive(Default)]
struct Family {
    name: String,
    kind: String,
    unit: String,
}

/// Reads OpenMetrics 1.0 text, or with `text` Prometheus' format 0.0.4.
pub fn read(input: &str, text: bool) -> Result<Series, String> {
    let body = if text {
        input
    } else {
        input.strip_suffix("# EOF\n").ok_or("no # EOF at the end")?
    };
    let body = body.strip_suffix('\n').ok_or("the last line has no end")?;
    let (mut series, mut seen, mut family) = (Series::new(), BTreeSet::new(), Family::default());
    for line in body.split('\n') {
        let wrong = |what: &str| format!("{what}: {line}");
        if let Some(rest) = line.strip_prefix("# ") {
            let (key, rest) = rest.split_once(' ').ok_or(wrong("metadata"))?;
            let (name, value) = rest.split_once(' ').ok_or(wrong("metadata"))?;
            if family.name != name {
                if !seen.insert(name.to_owned()) {
                    return Err(wrong("a family in two places"));
                }
                family = Family {
                    name: name.to_owned(),
                    ..Family::default()
                };
            }
            match key {
                "TYPE" if family.kind.is_empty() => family.kind = value.to_owned(),
                "UNIT" if !text && family.unit.is_empty() => family.unit = value.to_owned(),
                "HELP" if !value.contains(['\\', '"']) => {}
                _ => return Err(wrong("metadata")),
            }
            continue;
        }
        let (key, value) = sample(line).ok_or(wrong("no sample"))?;
        if key.0 != of_family(&family, text) {
            return Err(wrong("a sample of another family"));
        }
        if !family.unit.is_empty() && !family.name.ends_with(&format!("_{}", family.unit)) {
            return Err(wrong("the name doesn't end in the unit"));
        }
        if family.kind == "counter" && (value < 0.0 || !key.0.ends_with("_total")) {
            return Err(wrong("no counter"));
        }
        if series.insert(key, value).is_some() {
            return Err(wrong("a series twice"));
        }
    }
    Ok(series)
}

/// How the samples of a family are called.
fn of_family(family: &Family, text: bool) -> String {
    match family.kind.as_str() {
        _ if text => family.name.clone(),
        "counter" => format!("{}_total", family.name),
        "info" => format!("{}_info", family.name),
        _ => family.name.clone(),
    }
}

fn is_name(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn sample(line: &str) -> Option<(Key, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (key, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            if !is_name(key) || labels.iter().any(|(k, _)| k == key) {
                return None;
            }
            labels.push((key.to_owned(), value));
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    labels.sort();
    let value = rest.strip_prefix(' ')?;
    let clean = is_name(name) && !value.contains(' ');
    clean.then_some(((name.to_owned(), labels), value.parse().ok()?))
}

/// The text up to the closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[i + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            }),
            c => value.push(c),
        }
    }
    None
}

#[test]
fn what_is_wrong_is_refused() {
    let good = "# HELP a_b_bytes x\n# TYPE a_b_bytes counter\n# UNIT a_b_bytes bytes\na_b_bytes_total{d=\"x\\\"\"} 1\n# EOF\n";
    assert_eq!(read(good, false).unwrap().len(), 1);
    for (from, to) in [
        ("# EOF\n", ""),
        ("_total", ""),
        ("bytes_total{d", "bits_total{d"),
        ("# UNIT a_b_bytes bytes", "# UNIT a_b_bytes seconds"),
        ("} 1", "} -1"),
        ("} 1", "}  1"),
        ("} 1\n", "} 1\na_b_bytes_total{d=\"x\\\"\"} 2\n"),
        ("\\\"", "\\x"),
        ("# TYPE a_b_bytes counter\n", ""),
    ] {
        let bad = good.replacen(from, to, 1);
        assert!(bad != good && read(&bad, false).is_err(), "{bad}");
    }
}
