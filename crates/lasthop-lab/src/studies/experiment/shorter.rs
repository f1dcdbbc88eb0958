// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Experiments made shorter, for a quick look: another text of the same experiment, so that what is
//! kept beside the results says what was run, and every other command goes by it.

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::only::{Only, points_mut};
use super::spec::same_x;
use crate::data::scheme;

/// The scheme that the files are about.
const OUR_SCHEME: &str = "rack";

/// Options by which something happens at a moment of the run, which must not end before.
const TIMED: [&str; 3] = ["outage", "neighbour", "start-gap"];

/// What is left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shorter {
    /// These seeds, as a file writes them.
    pub seeds: Option<String>,
    /// The first and the last of the axis' points that are left.
    pub ends_only: bool,
    /// `duration` and `warmup`, where a file gives them and nothing has a moment of its own.
    pub times: Vec<(&'static str, String)>,
    /// Only cells that have one of the values of each of these.
    pub only: Vec<Only>,
    /// A scheme in place of `rack`, unless a file has that series already.
    pub scheme: Option<String>,
    /// The agent's configuration, where a series does not say otherwise.
    pub agent: Option<Table>,
}

/// The text of an experiment with less in it; the text itself if nothing is asked, none if nothing is
/// left.
///
/// # Errors
/// It is no TOML.
pub fn shortened(text: &str, how: &Shorter) -> Result<Option<String>> {
    if *how == Shorter::default() {
        return Ok(Some(text.to_owned()));
    }
    let mut file: Table = toml::from_str(text).context("an experiment's file")?;
    if let Some(seeds) = &how.seeds {
        file.insert("seeds".to_owned(), seeds.clone().into());
    }
    for only in &how.only {
        if !only.keep(&mut file) {
            return Ok(None);
        }
    }
    if how.ends_only {
        keep_ends(&mut file);
    }
    let left = Left::of(&file);
    for (key, is_left) in [
        ("check", Left::has_check as Keep),
        ("figure", Left::has_figure),
    ] {
        if let Some(Value::Array(tables)) = file.get_mut(key) {
            tables.retain_mut(|table| table.as_table_mut().is_some_and(|t| is_left(&left, t)));
        }
    }
    if !is_timed(&file) {
        set_times(&mut file, &how.times);
    }
    change_agent(&mut file, how);
    Ok(Some(toml::to_string(&file)?))
}

/// Takes out of a condition or a figure what is said about what is not there any more; false: nothing
/// is left of it.
type Keep = fn(&Left, &mut Table) -> bool;

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
        .chain(tables(file, "across").flat_map(|axis| tables(axis, "points")))
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

/// First and last point.
fn keep_ends(file: &mut Table) {
    let points = file.get_mut("axis").and_then(points_mut);
    if let Some(points) = points.filter(|points| points.len() > 2) {
        points.drain(1..points.len() - 1);
    }
}

fn number(value: &Value) -> Option<f64> {
    let whole = value.as_integer().map(|whole| whole as f64);
    value.as_float().or(whole)
}

fn name_of(table: &Table) -> Option<&str> {
    table.get("name")?.as_str()
}

/// What there is still.
struct Left {
    xs: Vec<f64>,
    series: Vec<String>,
    /// Name of each further axis, and of its points.
    across: Vec<(String, Vec<String>)>,
}

impl Left {
    fn of(file: &Table) -> Self {
        let axis = |axis: &Table| {
            let points = axis.get("points").and_then(Value::as_array);
            let names = points.into_iter().flatten().filter_map(Value::as_table);
            let names = names.filter_map(name_of).map(str::to_owned).collect();
            Some((name_of(axis)?.to_owned(), names))
        };
        let names = tables(file, "series").filter_map(name_of);
        Self {
            xs: points(file)
                .filter_map(|point| number(point.get("x")?))
                .collect(),
            series: names.map(str::to_owned).collect(),
            across: tables(file, "across").filter_map(axis).collect(),
        }
    }

    fn has_x(&self, x: &Value) -> bool {
        number(x).is_some_and(|x| self.xs.iter().any(|left| same_x(*left, x)))
    }

    fn has_series(&self, name: &Value) -> bool {
        self.series.iter().any(|left| name.as_str() == Some(left))
    }

    /// Whether what stands under these keys is there, or nothing does.
    fn has(&self, table: &Table, keys: &[&str], is_left: fn(&Self, &Value) -> bool) -> bool {
        let named = keys.iter().filter_map(|key| table.get(*key));
        named.into_iter().all(|value| is_left(self, value))
    }

    /// The same of a list, out of which the rest is taken.
    fn keep(&self, table: &mut Table, key: &str, is_left: impl Fn(&Self, &Value) -> bool) -> bool {
        let Some(Value::Array(list)) = table.get_mut(key) else {
            return true;
        };
        list.retain(|value| is_left(self, value));
        !list.is_empty()
    }

    fn has_check(&self, check: &mut Table) -> bool {
        let has_pair = |left: &Self, pair: &Value| pair.get(0).is_some_and(|x| left.has_x(x));
        self.has(check, &["of", "to"], Self::has_series)
            && self.has(check, &["to_at"], Self::has_x)
            && self.keep(check, "at", Self::has_x)
            && self.keep(check, "to_reported", has_pair)
            && self.has_places(check)
    }

    fn has_figure(&self, figure: &mut Table) -> bool {
        self.has(figure, &["to"], Self::has_series)
            && self.has(figure, &["at"], Self::has_x)
            && self.keep(figure, "series", Self::has_series)
            && self.has_places(figure)
    }

    /// Points of the axis among those that are named; all of them where none is.
    fn meant<'a>(&'a self, named: Option<&Value>, axis: &str) -> Vec<&'a str> {
        let list = named.and_then(|named| named.get(axis)?.as_array());
        let is_named =
            |point: &&str| list.is_none_or(|l| l.iter().any(|n| n.as_str() == Some(point)));
        let own = self.across.iter().filter(|(name, _)| name == axis);
        let points = own.flat_map(|(_, points)| points.iter().map(String::as_str));
        points.filter(is_named).collect()
    }

    /// Whether `where` and `except` leave a combination. Points that are gone are taken out of both.
    fn has_places(&self, table: &mut Table) -> bool {
        let (only, except) = (table.get("where").cloned(), table.get("except").cloned());
        let wanted = |axis: &str| self.meant(only.as_ref(), axis);
        let left_out = |axis: &str| self.meant(except.as_ref(), axis);
        let axes = || self.across.iter().map(|(name, _)| name.as_str());
        if axes().any(|axis| wanted(axis).is_empty()) {
            return false;
        }
        // Only what all axes name is left out.
        let is_kept = |axis: &str| wanted(axis).iter().any(|p| !left_out(axis).contains(p));
        if except.is_some() && !axes().any(is_kept) {
            return false;
        }
        let leaves_out = axes().all(|axis| !left_out(axis).is_empty());
        if !leaves_out {
            table.remove("except");
        }
        for key in ["where", "except"] {
            let Some(Value::Table(named)) = table.get_mut(key) else {
                continue;
            };
            for (name, points) in &self.across {
                self.keep(named, name, |_, point| {
                    points.iter().any(|p| point.as_str() == Some(p))
                });
            }
        }
        true
    }
}

/// Another scheme, another configuration.
fn change_agent(file: &mut Table, how: &Shorter) {
    let names = tables(file, "series").filter_map(name_of);
    let names: Vec<String> = names.map(str::to_owned).collect();
    let mut renamed = Vec::new();
    if let Some(Value::Array(series)) = file.get_mut("series") {
        series.retain_mut(|series| {
            let Some(series) = series.as_table_mut() else {
                return true;
            };
            configure(series, how.agent.as_ref());
            let Some((old, new)) = change_scheme(series, how.scheme.as_deref()) else {
                return true;
            };
            // Under this name the file has the other scheme already.
            let is_there = old != new && names.contains(&new);
            renamed.push((old, new));
            !is_there
        });
    }
    for key in ["check", "figure"] {
        if let Some(Value::Array(tables)) = file.get_mut(key) {
            tables.retain_mut(|table| {
                let table = table.as_table_mut();
                table.is_none_or(|table| {
                    rename(table, &renamed);
                    !is_about_itself(table)
                })
            });
        }
    }
}

/// Adds to the configuration of a series' agent what it does not say itself.
fn configure(series: &mut Table, agent: Option<&Table>) {
    let name = series.get("scheme").and_then(Value::as_str);
    let has_agent = name.is_none_or(scheme::has_agent);
    let (true, Some(agent)) = (has_agent, agent) else {
        return;
    };
    let mut merged = agent.clone();
    // That is the series' own.
    merged.remove("scheme");
    if let Some(Value::Table(own)) = series.remove("agent") {
        merged.extend(own);
    }
    series.insert("agent".to_owned(), merged.into());
}

/// Puts another scheme in place of ours. Returns the series' old and new name.
fn change_scheme(series: &mut Table, scheme: Option<&str>) -> Option<(String, String)> {
    let scheme = scheme?;
    if series.get("scheme")?.as_str() != Some(OUR_SCHEME) {
        return None;
    }
    let old = name_of(series)?.to_owned();
    for key in ["scheme", "name", "label"] {
        if let Some(Value::String(text)) = series.get_mut(key) {
            *text = text.replace(OUR_SCHEME, scheme);
        }
    }
    Some((old, name_of(series)?.to_owned()))
}

/// Whether a condition or figure measures a series against itself at the same place.
fn is_about_itself(table: &Table) -> bool {
    let Some(to) = table.get("to") else {
        return false;
    };
    let is_elsewhere = table.contains_key("to_at") || table.contains_key("shift");
    let series = table.get("series").and_then(Value::as_array);
    let all_same = series.is_some_and(|series| series.iter().all(|name| name == to));
    (table.get("of") == Some(to) && !is_elsewhere) || all_same
}

/// Gives the series that a condition or figure names their new names.
fn rename(table: &mut Table, renamed: &[(String, String)]) {
    let new = |value: &mut Value| {
        let found = renamed.iter().find(|(old, _)| value.as_str() == Some(old));
        if let Some((_, name)) = found {
            *value = name.as_str().into();
        }
    };
    for key in ["of", "to"] {
        table.get_mut(key).into_iter().for_each(new);
    }
    if let Some(Value::Array(list)) = table.get_mut("series") {
        list.iter_mut().for_each(new);
        let names = std::mem::take(list);
        for name in names {
            if !list.contains(&name) {
                list.push(name);
            }
        }
    }
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
        let text = shortened(FILE, &how).unwrap().unwrap();
        toml::from_str(&text).unwrap()
    }

    fn texts(file: &Table) -> Vec<&str> {
        let checks = tables(file, "check");
        checks.filter_map(|check| check["text"].as_str()).collect()
    }

    #[test]
    fn nothing_asked_nothing_changed() {
        let same = shortened(FILE, &Shorter::default()).unwrap();
        assert_eq!(same.as_deref(), Some(FILE));
    }

    #[test]
    fn seeds_and_duration() {
        let how = |timed: &str| {
            let how = Shorter {
                seeds: Some("1..2".to_owned()),
                times: vec![("duration", "5s".to_owned()), ("warmup", "1s".to_owned())],
                ..Shorter::default()
            };
            let text = shortened(&FILE.replace("cc = \"bbr\"", timed), &how);
            let text = text.unwrap().unwrap();
            let file: Table = toml::from_str(&text).unwrap();
            assert_eq!(file["seeds"].as_str(), Some("1..2"));
            assert_eq!(file["axis"]["points"].as_array().unwrap().len(), 3);
            assert!(!file["setup"].as_table().unwrap().contains_key("warmup"));
            file["setup"]["duration"].as_str().unwrap().to_owned()
        };
        assert_eq!(how("cc = \"bbr\""), "5s");
        assert_eq!(how("neighbour = \"bbr,4s,16s\""), "20s", "it has its time");
        let across = "[[across]]\nname = \"a\"\npoints = [{ name = \"b\", outage = \"1s,1s\" }]";
        let how = Shorter {
            times: vec![("duration", "5s".to_owned())],
            ..Shorter::default()
        };
        let text = shortened(&format!("{FILE}{across}"), &how)
            .unwrap()
            .unwrap();
        assert!(!text.contains("5s"));
        let pages = FILE.replace("duration = \"20s\"", "page = true");
        let how = Shorter {
            times: vec![("duration", "5s".to_owned())],
            ..Shorter::default()
        };
        let text = shortened(&pages, &how).unwrap().unwrap();
        assert!(!text.contains("5s"));
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
        assert_eq!(texts(&file), ["everywhere", "at both", "as reported"]);
        assert_eq!(checks[1]["at"].as_array().unwrap().len(), 1);
        assert_eq!(checks[2]["to_reported"].as_array().unwrap().len(), 1);
    }

    const ACROSS: &str = r#"
[axis]
points = [{ x = 1, flows = 1 }, { x = 8, flows = 8 }]
[[across]]
name = "variant"
points = [{ name = "wave", rate-wave = "3mbit,1mbit,2s" }, { name = "lte", rate-trace = "lte" }, { name = "plain" }]
[[across]]
name = "cc"
points = [{ name = "reno", cc = "reno" }, { name = "bbr", cc = "bbr" }]
[[series]]
name = "none"
scheme = "none"
[[series]]
name = "the-rack"
label = "CUBIC, rack"
scheme = "rack"
[[check]]
text = "no harm"
of = "the-rack"
to = "none"
except = { variant = ["wave", "lte"], cc = ["bbr"] }
[[check]]
text = "where it varies"
of = "the-rack"
where = { variant = ["wave", "lte"] }
[[figure]]
text = "both"
series = ["none", "the-rack"]
"#;

    /// Of these values of options, what conditions are left.
    fn only(parts: &[(&'static str, &str)]) -> Table {
        let only = parts.iter().map(|(option, wanted)| {
            let wanted = Only::new(option, &[(*wanted).to_owned()]);
            wanted.unwrap().unwrap()
        });
        let how = Shorter {
            only: only.collect(),
            ..Shorter::default()
        };
        toml::from_str(&shortened(ACROSS, &how).unwrap().unwrap()).unwrap()
    }

    #[test]
    fn what_is_said_of_points_that_are_gone_goes_too() {
        let plain = only(&[("variant", "plain")]);
        assert_eq!(texts(&plain), ["no harm"]);
        assert!(plain["check"][0].get("except").is_none());
        let wave = only(&[("variant", "wave")]);
        assert_eq!(texts(&wave), ["no harm", "where it varies"]);
        let except = &wave["check"][0]["except"];
        assert_eq!(except["variant"].as_array().unwrap().len(), 1);
        let wave_bbr = only(&[("variant", "wave"), ("cc", "bbr")]);
        assert_eq!(texts(&wave_bbr), ["where it varies"]);
        let reno = only(&[("cc", "reno")]);
        assert!(reno["check"][0].get("except").is_none());
    }

    #[test]
    fn nothing_left_is_no_experiment() {
        let how = Shorter {
            only: vec![Only::new("cc", &["cubic".to_owned()]).unwrap().unwrap()],
            ..Shorter::default()
        };
        assert_eq!(shortened(ACROSS, &how).unwrap(), None);
    }

    #[test]
    fn another_scheme_and_configuration() {
        let how = Shorter {
            scheme: Some("slack".to_owned()),
            agent: Some(toml::from_str("dup_thresh = 2\nscheme = \"rack\"").unwrap()),
            ..Shorter::default()
        };
        let text = shortened(ACROSS, &how).unwrap().unwrap();
        let file: Table = toml::from_str(&text).unwrap();
        let [none, slack] = &file["series"].as_array().unwrap()[..] else {
            panic!("{text}");
        };
        assert!(none.get("agent").is_none());
        assert_eq!(slack["name"].as_str(), Some("the-slack"));
        assert_eq!(slack["label"].as_str(), Some("CUBIC, slack"));
        assert_eq!(slack["agent"]["dup_thresh"].as_integer(), Some(2));
        assert!(slack["agent"].get("scheme").is_none(), "the series' own");
        assert_eq!(file["check"][0]["of"].as_str(), Some("the-slack"));
        assert_eq!(file["figure"][0]["series"][1].as_str(), Some("the-slack"));
    }

    #[test]
    fn a_series_that_is_there_already_is_no_second_one() {
        let text = format!(
            "{ACROSS}[[series]]\nname = \"the-slack\"\nscheme = \"slack\"\nagent = {{ freeze = true }}\n\
             [[check]]\ntext = \"as the other\"\nof = \"the-rack\"\nto = \"the-slack\"\n\
             [[figure]]\nseries = [\"the-rack\", \"the-slack\"]\nto = \"the-slack\"\n\
             [[figure]]\nseries = [\"the-rack\", \"the-slack\"]"
        );
        let how = Shorter {
            scheme: Some("slack".to_owned()),
            agent: Some(toml::from_str("dup_thresh = 2\nfreeze = false").unwrap()),
            ..Shorter::default()
        };
        let text = shortened(&text, &how).unwrap().unwrap();
        let file: Table = toml::from_str(&text).unwrap();
        let names: Vec<&str> = tables(&file, "series").filter_map(name_of).collect();
        assert_eq!(names, ["none", "the-slack"]);
        let agent = &file["series"][1]["agent"];
        assert_eq!(agent["freeze"].as_bool(), Some(true), "its own");
        assert_eq!(agent["dup_thresh"].as_integer(), Some(2));
        assert_eq!(texts(&file), ["no harm", "where it varies"]);
        let figures: Vec<usize> = tables(&file, "figure")
            .map(|figure| figure["series"].as_array().unwrap().len())
            .collect();
        assert_eq!(figures, [2, 1]);
    }

    #[test]
    fn the_ends_are_those_of_what_is_left() {
        let how = Shorter {
            ends_only: true,
            only: vec![Only::new("flows", &["8".to_owned()]).unwrap().unwrap()],
            ..Shorter::default()
        };
        let xs: Vec<f64> = points(&with(how))
            .filter_map(|p| number(p.get("x")?))
            .collect();
        assert_eq!(xs, [8.0]);
    }
}
