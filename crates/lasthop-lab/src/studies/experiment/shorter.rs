// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Experiments made shorter, for a quick look: another text of the same experiment, so that what is
//! kept beside the results says what was run, and every other command goes by it.

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::spec::same_x;

/// Options by which something happens at a moment of the run, which must not end before.
const TIMED: [&str; 3] = ["outage", "neighbour", "start-gap"];

/// What is left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shorter {
    /// These seeds, as a file writes them.
    pub seeds: Option<String>,
    /// The first and the last point of the axis only.
    pub ends_only: bool,
    /// `duration` and `warmup`, where a file gives them and nothing has a moment of its own.
    pub times: Vec<(&'static str, String)>,
}

/// The text of an experiment with less in it; the text itself if nothing is asked.
///
/// # Errors
/// It is no TOML.
pub fn shortened(text: &str, how: &Shorter) -> Result<String> {
    if *how == Shorter::default() {
        return Ok(text.to_owned());
    }
    let mut file: Table = toml::from_str(text).context("an experiment's file")?;
    if let Some(seeds) = &how.seeds {
        file.insert("seeds".to_owned(), seeds.clone().into());
    }
    if how.ends_only {
        keep_ends(&mut file);
    }
    if !is_timed(&file) {
        set_times(&mut file, &how.times);
    }
    Ok(toml::to_string(&file)?)
}

fn set_times(file: &mut Table, times: &[(&str, String)]) {
    let Some(Value::Table(setup)) = file.get_mut("setup") else {
        return;
    };
    for (key, time) in times {
        if let Some(value) = setup.get_mut(*key) {
            *value = time.as_str().into();
        }
    }
}

/// Whether something happens at a moment of its own.
fn is_timed(file: &Table) -> bool {
    tables(file, "series")
        .filter_map(|series| series.get("options")?.as_table())
        .chain(points(file).filter_map(Value::as_table))
        .chain(file.get("setup").and_then(Value::as_table))
        .any(|options| TIMED.iter().any(|timed| options.contains_key(*timed)))
}

fn tables<'a>(file: &'a Table, key: &str) -> impl Iterator<Item = &'a Table> {
    let list = file.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_table)
}

fn points(file: &Table) -> impl Iterator<Item = &Value> {
    let points = file
        .get("axis")
        .and_then(|axis| axis.get("points")?.as_array());
    points.into_iter().flatten()
}

/// First and last point, and the conditions that they decide.
fn keep_ends(file: &mut Table) {
    let all: Vec<Value> = points(file).cloned().collect();
    let ends = match &all[..] {
        [first, .., last] => vec![first.clone(), last.clone()],
        _ => return,
    };
    let xs: Vec<f64> = ends
        .iter()
        .filter_map(|point| number(point.get("x")?))
        .collect();
    if let Some(Value::Table(axis)) = file.get_mut("axis") {
        axis.insert("points".to_owned(), Value::Array(ends));
    }
    if let Some(Value::Array(checks)) = file.get_mut("check") {
        checks.retain_mut(|check| check.as_table_mut().is_some_and(|check| keep(check, &xs)));
    }
}

fn number(value: &Value) -> Option<f64> {
    let whole = value.as_integer().map(|whole| whole as f64);
    value.as_float().or(whole)
}

/// Takes out of a condition what is said about other points; false: nothing is left of it.
fn keep(check: &mut Table, xs: &[f64]) -> bool {
    let is_left = |x: &Value| number(x).is_some_and(|x| xs.iter().any(|left| same_x(*left, x)));
    if check.get("to_at").is_some_and(|x| !is_left(x)) {
        return false;
    }
    if let Some(Value::Array(at)) = check.get_mut("at") {
        at.retain(is_left);
        return !at.is_empty();
    }
    if let Some(Value::Array(pairs)) = check.get_mut("to_reported") {
        pairs.retain(|pair| pair.get(0).is_some_and(is_left));
        return !pairs.is_empty();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
seeds = "1..5"
[setup]
duration = "20s"
rate = "2mbit"
[axis]
points = [{ x = 1, flows = 1 }, { x = 8, flows = 8 }, { x = 20.5, flows = 20 }]
[[series]]
name = "rack"
options = { cc = "bbr" }
[[check]]
text = "everywhere"
[[check]]
text = "in the middle"
at = [8]
[[check]]
text = "at both"
at = [8, 20.5]
[[check]]
text = "against the middle"
to_at = 8
[[check]]
text = "as reported"
to_reported = [[1, 2.0], [8, 3.0]]
"#;

    fn with(how: Shorter) -> Table {
        let text = shortened(FILE, &how).unwrap();
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn nothing_asked_nothing_changed() {
        assert_eq!(shortened(FILE, &Shorter::default()).unwrap(), FILE);
    }

    #[test]
    fn seeds_and_duration() {
        let how = |timed: &str| {
            let how = Shorter {
                seeds: Some("1..2".to_owned()),
                times: vec![("duration", "5s".to_owned()), ("warmup", "1s".to_owned())],
                ends_only: false,
            };
            let text = shortened(&FILE.replace("cc = \"bbr\"", timed), &how).unwrap();
            let file: Table = toml::from_str(&text).unwrap();
            assert_eq!(file["seeds"].as_str(), Some("1..2"));
            assert_eq!(file["axis"]["points"].as_array().unwrap().len(), 3);
            assert!(!file["setup"].as_table().unwrap().contains_key("warmup"));
            file["setup"]["duration"].as_str().unwrap().to_owned()
        };
        assert_eq!(how("cc = \"bbr\""), "5s");
        assert_eq!(how("neighbour = \"bbr,4s,16s\""), "20s", "it has its time");
        let pages = FILE.replace("duration = \"20s\"", "page = true");
        let how = Shorter {
            times: vec![("duration", "5s".to_owned())],
            ..Shorter::default()
        };
        assert!(!shortened(&pages, &how).unwrap().contains("5s"));
    }

    #[test]
    fn the_ends_and_what_is_said_of_them() {
        let file = with(Shorter {
            ends_only: true,
            ..Shorter::default()
        });
        let xs: Vec<f64> = points(&file).filter_map(|p| number(p.get("x")?)).collect();
        assert_eq!(xs, [1.0, 20.5]);
        let checks: Vec<&Table> = tables(&file, "check").collect();
        let texts: Vec<&str> = checks.iter().filter_map(|c| c["text"].as_str()).collect();
        assert_eq!(texts, ["everywhere", "at both", "as reported"]);
        assert_eq!(checks[1]["at"].as_array().unwrap().len(), 1);
        assert_eq!(checks[2]["to_reported"].as_array().unwrap().len(), 1);
    }
}
