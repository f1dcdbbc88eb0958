// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The configuration file: TOML, every key optional, unknown keys are errors.

mod clock;
mod setup;

use std::fmt::Display;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::lh_config;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

pub use clock::{Clock, ClockWord};

use crate::units;

/// Read if it exists and no other is named.
pub const DEFAULT_PATH: &str = "/etc/lasthop/lasthop.toml";
/// Where control sockets live.
pub const DEFAULT_RUNTIME_DIR: &str = "/run/lasthop";

/// A number with a human unit, kept in the base unit.
macro_rules! quantity {
    ($name:ident, $parse:path, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub u64);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                // A number without unit gets the same sentence as a wrong unit.
                let text = match toml::Value::deserialize(from)? {
                    toml::Value::String(text) => text,
                    other => other.to_string(),
                };
                $parse(&text).map(Self).map_err(de::Error::custom)
            }
        }
    };
}

quantity!(
    Time,
    units::duration_ns,
    "A time in nanoseconds, written as `80ms`."
);
quantity!(
    Size,
    units::size_bytes,
    "A size in bytes, written as `8MiB`."
);

/// Estimator and rules that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// RFC 6298 gains, repair on the first duplicate.
    Std,
    /// As ns-2.35 ran it: repair on the second duplicate, 100 packets per flow.
    Ns2,
}

/// When the local timer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimerArm {
    /// While anything is cached.
    Always,
    /// Only after a repair that a duplicate drove.
    AfterDup,
}

/// Which duplicate ACKs scheme `rack` keeps from the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Suppress {
    /// Those of flows that the window clock (or ECN) can brake.
    Auto,
    /// All that may be.
    On,
    /// None.
    Off,
}

/// The file's keys.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Scheme of the agent.
    pub scheme: Option<String>,
    profile: Option<Profile>,
    dup_thresh: Option<u32>,
    max_local: Option<u32>,
    timer_arm: Option<TimerArm>,
    strict_window: Option<bool>,
    queue_guard: Option<bool>,
    suppress: Option<Suppress>,
    clock: Option<Clock>,
    target: Option<Time>,
    slack_bursts: Option<u32>,
    slack_quiet: Option<Time>,
    rto_min: Option<Time>,
    freeze: Option<bool>,
    handoff: Option<u32>,
    lrto_floor: Option<Time>,
    lrto_max: Option<Time>,
    ns2_tick: Option<Time>,
    hold_min: Option<Time>,
    hold_max: Option<Time>,
    idle: Option<Time>,
    cache_flow: Option<Size>,
    cache_total: Option<Size>,
    max_flows: Option<u32>,
    memory: Option<Size>,
    #[serde(default, deserialize_with = "mark")]
    mark: Option<(u32, u32)>,
    priority: Option<u32>,
    /// Only these are assisted.
    #[serde(rename = "match", default)]
    pub matches: Vec<String>,
    /// These are not.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Directory of control sockets and locks.
    pub runtime_dir: Option<PathBuf>,
}

fn mark<'de, D: Deserializer<'de>>(from: D) -> Result<Option<(u32, u32)>, D::Error> {
    let text = String::deserialize(from)?;
    units::mark(&text).map(Some).map_err(de::Error::custom)
}

/// Reads a configuration file.
///
/// # Errors
/// `FILE:LINE: what is wrong`, in one line.
pub fn read(path: &Path) -> Result<File> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read the configuration {}", path.display()))?;
    parse(&text, &path.display().to_string())
}

/// Reads the file that is named, else the default one if it exists, else nothing.
///
/// # Errors
/// As [`read`].
pub fn read_or_default(path: Option<&Path>) -> Result<File> {
    match path {
        Some(path) => read(path),
        None if Path::new(DEFAULT_PATH).exists() => read(Path::new(DEFAULT_PATH)),
        None => Ok(File::default()),
    }
}

/// Parses a configuration; `name` goes into messages.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, name: &str) -> Result<File> {
    let file: File = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            bail!("{name}:{line}: {}", explain(text, line, error.message()));
        }
    };
    file.check_ranges().map_err(|(key, error)| {
        let line = line_of_key(text, key);
        anyhow::anyhow!(
            "{name}:{}: {key}: {error}",
            line_of_quoted(text, line, &error)
        )
    })?;
    Ok(file)
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

fn line_of_key(text: &str, key: &str) -> usize {
    let found = text.lines().position(|line| {
        line.trim_start()
            .strip_prefix(key)
            .is_some_and(|rest| rest.trim_start().starts_with('='))
    });
    found.map_or(1, |index| index + 1)
}

/// The line of the list element that an error quotes, at or after the line of its key.
fn line_of_quoted(text: &str, line: usize, error: &str) -> usize {
    let quoted = error
        .strip_prefix('\'')
        .and_then(|rest| rest.split_once('\''));
    let Some((element, _)) = quoted else {
        return line;
    };
    let mut below = text.lines().skip(line - 1);
    below
        .position(|l| l.contains(element))
        .map_or(line, |n| line + n)
}

/// serde's message for people: "unknown field" is a key, and a message about a value names its key.
fn explain(text: &str, line: usize, message: &str) -> String {
    let message = message.replace('\n', " ").replace('`', "'");
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let mut names = rest.split('\'').skip(1).step_by(2);
        let wrong = names.next().unwrap_or_default();
        let close = names.min_by_key(|name| distance(wrong, name));
        return match close.filter(|name| distance(wrong, name) <= 2) {
            Some(meant) => format!("unknown key '{wrong}': did you mean '{meant}'?"),
            None => format!("unknown key {rest}"),
        };
    }
    let source = text.lines().nth(line - 1).unwrap_or_default();
    let key = source.split_once('=').map_or("", |(key, _)| key.trim());
    if key.is_empty() || message.contains("key") {
        return message;
    }
    format!("{key}: {message}")
}

/// Letters to change, add or leave out to get from one word to the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

fn within<T: PartialOrd + Display>(
    key: &'static str,
    value: Option<T>,
    range: RangeInclusive<T>,
) -> Result<(), (&'static str, String)> {
    match value {
        Some(value) if !range.contains(&value) => Err((
            key,
            format!("{value} is not from {} to {}", range.start(), range.end()),
        )),
        _ => Ok(()),
    }
}

fn time_within(
    key: &'static str,
    value: Option<Time>,
    range: RangeInclusive<&str>,
) -> Result<(), (&'static str, String)> {
    let ns = |text: &str| units::duration_ns(text).unwrap_or_default();
    match value {
        Some(Time(value)) if !(ns(range.start())..=ns(range.end())).contains(&value) => Err((
            key,
            format!("must be from {} to {}", range.start(), range.end()),
        )),
        _ => Ok(()),
    }
}

fn size_within(
    key: &'static str,
    value: Option<Size>,
    range: RangeInclusive<&str>,
) -> Result<(), (&'static str, String)> {
    let bytes = |text: &str| units::size_bytes(text).unwrap_or_default();
    match value {
        Some(Size(value)) if !(bytes(range.start())..=bytes(range.end())).contains(&value) => {
            Err((
                key,
                format!("must be from {} to {}", range.start(), range.end()),
            ))
        }
        _ => Ok(()),
    }
}

impl File {
    fn check_ranges(&self) -> Result<(), (&'static str, String)> {
        within("dup_thresh", self.dup_thresh, 1..=100)?;
        within("max_local", self.max_local, 1..=100)?;
        within("slack_bursts", self.slack_bursts, 1..=3)?;
        within("handoff", self.handoff, 0..=3)?;
        within("max_flows", self.max_flows, 1..=1_000_000)?;
        if let Some(scheme) = &self.scheme {
            scheme_id(scheme).map_err(|error| ("scheme", error.to_string()))?;
        }
        time_within("lrto_floor", self.lrto_floor, "1ms"..="10s")?;
        time_within("lrto_max", self.lrto_max, "1ms"..="60s")?;
        time_within("ns2_tick", self.ns2_tick, "1ms"..="10s")?;
        time_within("hold_min", self.hold_min, "1ms"..="10s")?;
        time_within("hold_max", self.hold_max, "1ms"..="10s")?;
        time_within("slack_quiet", self.slack_quiet, "1ms"..="10s")?;
        time_within("rto_min", self.rto_min, "1ms"..="60s")?;
        time_within("target", self.target, "500us"..="1s")?;
        time_within("idle", self.idle, "1s"..="1440min")?;
        size_within("cache_flow", self.cache_flow, "2KiB"..="8MiB")?;
        size_within("cache_total", self.cache_total, "256KiB"..="64GiB")?;
        size_within("memory", self.memory, "1MiB"..="1024GiB")?;
        let defaults = lh_config::default();
        let ns = |value: Option<Time>, other: u64| value.map_or(other, |Time(ns)| ns);
        // The one that the file sets is named, for the other has no line.
        if ns(self.lrto_floor, defaults.lrto_floor_ns) > ns(self.lrto_max, defaults.lrto_max_ns) {
            return Err(match self.lrto_floor {
                Some(_) => ("lrto_floor", "is above lrto_max".into()),
                None => ("lrto_max", "is below lrto_floor".into()),
            });
        }
        if ns(self.hold_min, defaults.hold_min_ns) > ns(self.hold_max, defaults.hold_max_ns) {
            return Err(match self.hold_min {
                Some(_) => ("hold_min", "is above hold_max".into()),
                None => ("hold_max", "is below hold_min".into()),
            });
        }
        for (key, rules, exclude) in [
            ("match", &self.matches, false),
            ("exclude", &self.exclude, true),
        ] {
            for text in rules {
                units::rule(text, exclude).map_err(|error| (key, error))?;
            }
        }
        Ok(())
    }

    /// Directory of control sockets and locks.
    pub fn runtime_dir(&self) -> PathBuf {
        self.runtime_dir
            .clone()
            .unwrap_or_else(|| DEFAULT_RUNTIME_DIR.into())
    }
}

/// Schemes of the papers that are still to come: who asks for one has not mistyped.
const PLANNED: [&str; 4] = ["sack", "snack", "csnoop", "dproxy"];

fn scheme_id(name: &str) -> Result<u32> {
    if let Some(id) = lasthop_core::scheme_by_name(name) {
        return Ok(id);
    }
    let names: Vec<&str> = lasthop_core::schemes().map(|scheme| scheme.name).collect();
    let names = names.join(", ");
    if PLANNED.contains(&name) {
        bail!("scheme '{name}' is not built yet; have: {names}");
    }
    bail!("no scheme '{name}'; have: {names}")
}

#[cfg(test)]
mod tests;
