// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Cells of an experiment that are wanted by an option of `compare`: its file without all others.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::base::units;
use crate::studies::campaign::CompareLine;

/// Name of the further axis whose points are wanted by name, and of what a file without it is.
const VARIANT: &str = "variant";
/// See there.
const NO_VARIANT: &str = "base";

/// Values of an option, or names of variants.
#[derive(Debug, Clone, PartialEq)]
pub struct Only {
    option: &'static str,
    wanted: BTreeSet<String>,
}

impl Only {
    /// The values as people write them; none: whatever there is.
    ///
    /// # Errors
    /// One is none that `compare` takes.
    pub fn new(option: &'static str, wanted: &[String]) -> Result<Option<Self>, String> {
        let wanted = wanted.iter().map(|value| {
            if option != VARIANT {
                CompareLine::check_value(option, value)
                    .map_err(|what| format!("--{option} {value}: {what}"))?;
            }
            Ok(canonical(option, value))
        });
        let wanted: BTreeSet<String> = wanted.collect::<Result<_, String>>()?;
        Ok((!wanted.is_empty()).then_some(Self { option, wanted }))
    }

    /// What it is about.
    pub fn option(&self) -> &'static str {
        self.option
    }

    fn wants(&self, value: &str) -> bool {
        self.wanted.contains(&canonical(self.option, value))
    }

    /// Takes out points and series that have another value. Returns whether anything is left.
    pub(super) fn keep(&self, file: &mut Table) -> bool {
        let shared = file.get("setup").cloned();
        let default = |holder: Option<&Value>| default(self.option, [shared.as_ref(), holder]);
        let mut is_given = false;
        for holders in holders(file, self.option) {
            let given = |holder: &Value| value(holder, self.option);
            if holders.iter().any(|holder| given(holder).is_some()) {
                is_given = true;
                holders.retain(|holder| {
                    self.wants(&given(holder).unwrap_or_else(|| default(Some(holder))))
                });
                if holders.is_empty() {
                    return false;
                }
            }
        }
        is_given || self.wants(&default(None))
    }
}

/// Values of an option that a file has, as it writes them; the default if it writes none.
pub fn values(file: &Table, option: &str) -> Vec<String> {
    let mut file = file.clone();
    let mut all: Vec<String> = holders(&mut file, option)
        .into_iter()
        .flat_map(|holders| holders.iter().filter_map(|h| value(h, option)))
        .collect();
    let shared = file.get("setup");
    all.extend(shared.and_then(|shared| value(shared, option)));
    if all.is_empty() {
        all.push(default(option, [shared, None]));
    }
    all
}

/// Lists of what may give the option: points of each axis, and series.
fn holders<'a>(file: &'a mut Table, option: &str) -> Vec<&'a mut Vec<Value>> {
    let mut lists = Vec::new();
    for (key, value) in file {
        match (key.as_str(), value) {
            ("axis", axis) => lists.extend(points_mut(axis)),
            ("across", Value::Array(across)) => {
                let is_meant = |axis: &&mut Value| {
                    let name = axis.get("name").and_then(Value::as_str);
                    option != VARIANT || name == Some(VARIANT)
                };
                lists.extend(across.iter_mut().filter(is_meant).filter_map(points_mut));
            }
            ("series", Value::Array(series)) if option != VARIANT => lists.push(series),
            _ => {}
        }
    }
    lists
}

/// Points of an axis.
pub(super) fn points_mut(axis: &mut Value) -> Option<&mut Vec<Value>> {
    axis.get_mut("points")?.as_array_mut()
}

/// What a point or a series gives.
fn value(holder: &Value, option: &str) -> Option<String> {
    let key = if option == VARIANT { "name" } else { option };
    let own = holder.get("options").and_then(|options| options.get(key));
    text(own.or(holder.get(key))?)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What `compare` takes for an option beside those that these tables give, which may decide it: a rate
/// that varies has a mean.
fn default(option: &str, given: [Option<&Value>; 2]) -> String {
    let command = CompareLine::command();
    let mut options = command.get_arguments();
    let Some(own) = options.find(|arg| arg.get_long() == Some(option)) else {
        return NO_VARIANT.to_owned();
    };
    let is_known = |key: &str| {
        command
            .get_arguments()
            .any(|arg| arg.get_long() == Some(key))
    };
    let tables = given.into_iter().flatten();
    let tables = tables.flat_map(|table| [Some(table), table.get("options")]);
    let args = tables.flatten().filter_map(Value::as_table).flatten();
    let args = args
        .filter(|(key, _)| is_known(key))
        .filter_map(|(key, value)| Some(format!("--{key}={}", text(value)?)));
    let args: Vec<String> = args.collect();
    let parsed = command.clone().try_get_matches_from(args).ok();
    let raw = parsed.and_then(|line| Some(line.get_raw(own.get_id().as_str())?.next()?.to_owned()));
    let declared = || own.get_default_values().first().map(|v| v.into());
    let value: Option<std::ffi::OsString> = raw.or_else(declared);
    value.unwrap_or_default().to_string_lossy().into_owned()
}

/// One text for equal values.
fn canonical(option: &str, value: &str) -> String {
    let number = match option {
        "loss" => units::fraction(value).map(|share| share.to_string()),
        "rtt" => units::duration_ns(value).map(|ns| ns.to_string()),
        "rate" => units::rate_bps(value).map(|bps| bps.to_string()),
        _ => Ok(value.to_owned()),
    };
    number.unwrap_or_else(|_| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
[setup]
rtt = "110ms"
[axis]
points = [{ x = 0, loss = "0%" }, { x = 2, loss = 0.02 }, { x = 5, loss = "5%" }]
[[across]]
name = "variant"
points = [{ name = "wave", rate-wave = "3mbit,1mbit,2s" }, { name = "wired", rate = "100mbit" }]
[[series]]
name = "reno"
options = { cc = "reno" }
[[series]]
name = "bbr"
options = { cc = "bbr" }
"#;

    fn left(option: &'static str, wanted: &[&str]) -> Option<Table> {
        let mut file: Table = toml::from_str(FILE).unwrap();
        let wanted: Vec<String> = wanted.iter().map(|w| (*w).to_owned()).collect();
        let only = Only::new(option, &wanted).unwrap().unwrap();
        only.keep(&mut file).then_some(file)
    }

    fn names(file: &Table, path: &str) -> Vec<String> {
        let list = match path {
            "series" => file["series"].as_array(),
            _ => file["across"][0]["points"].as_array(),
        };
        let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
        list.unwrap().iter().map(name).collect()
    }

    #[test]
    fn values_however_they_are_written() {
        let file = left("loss", &["2%", "0.05"]).unwrap();
        let points = file["axis"]["points"].as_array().unwrap();
        assert_eq!(points.len(), 2);
        assert_eq!(points[0]["x"].as_integer(), Some(2));
        assert!(left("loss", &["3%"]).is_none());
    }

    #[test]
    fn wherever_they_are_given() {
        assert_eq!(names(&left("cc", &["bbr"]).unwrap(), "series"), ["bbr"]);
        assert!(left("rtt", &["0.11s"]).is_some() && left("rtt", &["20ms"]).is_none());
        // What says nothing of a rate has that of `compare`: as it varies, the mean.
        assert_eq!(names(&left("rate", &["mean"]).unwrap(), "across"), ["wave"]);
        assert!(left("rate", &["20mbit"]).is_none());
        assert_eq!(
            names(&left("rate", &["100mbit"]).unwrap(), "across"),
            ["wired"]
        );
        assert!(left("queue", &["20"]).is_none() && left("queue", &["bdp"]).is_some());
    }

    #[test]
    fn variants_have_names() {
        assert_eq!(
            names(&left("variant", &["wave"]).unwrap(), "across"),
            ["wave"]
        );
        assert!(left("variant", &["base"]).is_none());
        let mut file: Table = toml::from_str("[axis]\npoints = [{ x = 0 }]").unwrap();
        let base = Only::new("variant", &["base".to_owned()]).unwrap().unwrap();
        assert!(base.keep(&mut file));
        assert_eq!(
            values(&toml::from_str(FILE).unwrap(), "variant"),
            ["wave", "wired"]
        );
        assert_eq!(values(&file, "variant"), ["base"]);
        assert_eq!(values(&file, "rate"), ["20mbit"]);
    }

    #[test]
    fn mistakes() {
        let error = Only::new("loss", &["2".to_owned()]).unwrap_err();
        assert!(
            error.starts_with("--loss 2: ") && error.contains("2%"),
            "{error}"
        );
        assert_eq!(Only::new("cc", &[]), Ok(None));
    }
}
