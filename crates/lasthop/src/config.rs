// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The configuration file: TOML, every key optional, unknown keys are errors.

mod clock;

use std::fmt::Display;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::{
    LH_CLOCK_ALWAYS, LH_CLOCK_AUTO, LH_CLOCK_OFF, LH_SUPPRESS_AUTO, LH_SUPPRESS_OFF,
    LH_SUPPRESS_ON, LH_TIMER_AFTER_DUP, LH_TIMER_ALWAYS, lh_config,
};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

pub use clock::{Clock, ClockWord};

use crate::agent::Setup;
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

    /// What the programs are loaded with, but for the device. `memory_bytes`: of this machine, of
    /// which the cache takes an eighth at the most by default.
    ///
    /// # Errors
    /// A scheme that isn't there, or a bad rule.
    pub fn setup(&self, scheme: &str, memory_bytes: u64) -> Result<Setup> {
        let mut config = match self.profile {
            Some(Profile::Ns2) => lh_config::ns2(),
            _ => lh_config::default(),
        };
        config.scheme = scheme_id(scheme)?;
        let time = |to: &mut u64, value: Option<Time>| {
            if let Some(Time(ns)) = value {
                *to = ns;
            }
        };
        time(&mut config.lrto_floor_ns, self.lrto_floor);
        time(&mut config.lrto_max_ns, self.lrto_max);
        time(&mut config.ns2_tick_ns, self.ns2_tick);
        time(&mut config.hold_min_ns, self.hold_min);
        time(&mut config.hold_max_ns, self.hold_max);
        time(&mut config.idle_ns, self.idle);
        config.dup_thresh = self.dup_thresh.unwrap_or(config.dup_thresh);
        config.max_local = self.max_local.unwrap_or(config.max_local);
        config.strict_window = self.strict_window.map_or(config.strict_window, u32::from);
        config.queue_guard = self.queue_guard.map_or(config.queue_guard, u32::from);
        config.clock = match self.clock {
            Some(Clock::May(false)) => LH_CLOCK_OFF,
            Some(Clock::May(true)) => LH_CLOCK_AUTO,
            Some(Clock::Word(ClockWord::Always)) => LH_CLOCK_ALWAYS,
            None => config.clock,
        };
        time(&mut config.target_ns, self.target);
        time(&mut config.slack_quiet_ns, self.slack_quiet);
        time(&mut config.rto_min_ns, self.rto_min);
        config.slack_bursts = self.slack_bursts.unwrap_or(config.slack_bursts);
        config.freeze = self.freeze.map_or(config.freeze, u32::from);
        config.handoff = self.handoff.unwrap_or(config.handoff);
        config.suppress = match self.suppress {
            Some(Suppress::Auto) => LH_SUPPRESS_AUTO,
            Some(Suppress::On) => LH_SUPPRESS_ON,
            Some(Suppress::Off) => LH_SUPPRESS_OFF,
            None => config.suppress,
        };
        config.timer_arm = match self.timer_arm {
            Some(TimerArm::AfterDup) => LH_TIMER_AFTER_DUP,
            Some(TimerArm::Always) => LH_TIMER_ALWAYS,
            None => config.timer_arm,
        };
        let base = Setup::default();
        // ns-2's maxbufs: 100 packets.
        let flow_default = match self.profile {
            Some(Profile::Ns2) => 100 * 2048,
            _ => base.cache_flow_bytes,
        };
        let rules = self.matches.iter().map(|text| units::rule(text, false));
        let rules = rules.chain(self.exclude.iter().map(|text| units::rule(text, true)));
        Ok(Setup {
            config,
            mark: self.mark.unwrap_or(base.mark),
            priority: self.priority.unwrap_or(base.priority),
            max_flows: self.max_flows.unwrap_or(base.max_flows),
            cache_total_bytes: self
                .cache_total
                .map_or_else(|| base.cache_total_bytes.min(memory_bytes / 8), |Size(b)| b),
            cache_flow_bytes: self.cache_flow.map_or(flow_default, |Size(bytes)| bytes),
            rules: rules
                .collect::<Result<_, _>>()
                .map_err(anyhow::Error::msg)?,
            ..base
        })
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

/// MemAvailable of this machine; no limit if it can't be told.
pub fn memory_available_bytes() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../lasthop.example.toml");

    fn error(text: &str) -> String {
        parse(text, "x.toml").unwrap_err().to_string()
    }

    #[test]
    fn errors_name_file_and_line() {
        let unknown = error("scheme = \"snoop\"\n\ndup_tresh = 1\n");
        assert_eq!(
            unknown,
            "x.toml:3: unknown key 'dup_tresh': did you mean 'dup_thresh'?"
        );
        let far = error("colour = 1\n");
        assert!(far.contains("'colour', expected one of"), "{far}");
        let time = error("# hm\nlrto_floor = \"80\"\n");
        assert!(
            time.starts_with("x.toml:2: ") && time.contains("80ms"),
            "{time}"
        );
        let range = error("\n\nmax_local = 0\n");
        assert_eq!(range, "x.toml:3: max_local: 0 is not from 1 to 100");
        let order = error("hold_min = \"2s\"\n");
        assert_eq!(order, "x.toml:1: hold_min: is above hold_max");
        let order = error("\n\nhold_max = \"10ms\"\n");
        assert_eq!(order, "x.toml:3: hold_max: is below hold_min");
        let order = error("\nlrto_max = \"50ms\"\n");
        assert_eq!(order, "x.toml:2: lrto_max: is below lrto_floor");
        let scheme = error("\nscheme = \"snack\"\n");
        assert!(
            scheme.starts_with("x.toml:2: scheme: scheme 'snack' is not built yet; have: none"),
            "{scheme}"
        );
        let bare = error("\nidle = 60\n");
        assert!(
            bare.starts_with("x.toml:2: idle: '60' is no time"),
            "{bare}"
        );
        let size = error("cache_flow = \"9MiB\"\n");
        assert_eq!(size, "x.toml:1: cache_flow: must be from 2KiB to 8MiB");
        let element = error("match = [\n \"10.0.0.0/8\",\n \"10.0.0.0/40\",\n]\n");
        assert!(
            element.starts_with("x.toml:3: match: '10.0.0.0/40'"),
            "{element}"
        );
        let kind = error("max_flows = \"many\"\n");
        assert!(
            kind.starts_with("x.toml:1: ") && !kind.contains('\n'),
            "{kind}"
        );
        let rule = error("idle = \"5s\"\nmatch = [\"10.0.0.0/40\"]\n");
        assert!(rule.starts_with("x.toml:2: match: '10.0.0.0/40'"), "{rule}");
        assert!(error("= 3").starts_with("x.toml:1: "));
    }

    #[test]
    fn words_have_a_distance() {
        assert_eq!(distance("dup_tresh", "dup_thresh"), 1);
        assert_eq!(distance("", "idle"), 4);
        assert_eq!(distance("mark", "mark"), 0);
    }

    #[test]
    fn outage_keys() {
        let text = "slack_bursts = 3\nslack_quiet = \"80ms\"\nrto_min = \"500ms\"\n\
                    freeze = true\nhandoff = 2\n";
        let config = parse(text, "x")
            .unwrap()
            .setup("slack", u64::MAX)
            .unwrap()
            .config;
        assert_eq!(config.scheme, lh_config::slack().scheme);
        assert_eq!(
            (config.slack_bursts, config.freeze, config.handoff),
            (3, 1, 2)
        );
        assert_eq!(
            (config.slack_quiet_ns, config.rto_min_ns),
            (80_000_000, 500_000_000)
        );
        for (text, message) in [
            (
                "slack_bursts = 0",
                "x:1: slack_bursts: 0 is not from 1 to 3",
            ),
            ("handoff = 4", "x:1: handoff: 4 is not from 0 to 3"),
            ("rto_min = \"61s\"", "x:1: rto_min: must be from 1ms to 60s"),
            (
                "slack_quiet = \"0ms\"",
                "x:1: slack_quiet: must be from 1ms to 10s",
            ),
        ] {
            assert_eq!(parse(text, "x").unwrap_err().to_string(), message);
        }
        let kind = parse("freeze = 1", "x").unwrap_err().to_string();
        assert!(kind.starts_with("x:1: freeze: "), "{kind}");
    }

    #[test]
    fn values_arrive() {
        let text = "profile = \"ns2\"\nmax_local = 3\nidle = \"5s\"\ncache_total = \"1MiB\"\n\
                    timer_arm = \"after_dup\"\nmark = \"0x10/0x30\"\nexclude = [\":22\"]\n";
        let setup = parse(text, "x").unwrap().setup("snoop", u64::MAX).unwrap();
        assert_eq!(setup.config.dup_thresh, 2);
        assert_eq!(setup.config.max_local, 3);
        assert_eq!(setup.config.idle_ns, 5_000_000_000);
        assert_eq!(setup.config.timer_arm, LH_TIMER_AFTER_DUP);
        assert_eq!(setup.cache_flow_bytes, 100 * 2048);
        assert_eq!(setup.cache_total_bytes, 1 << 20);
        assert_eq!(setup.mark, (0x10, 0x30));
        assert_eq!(setup.rules.len(), 1);
    }

    #[test]
    fn small_machines_get_a_small_cache() {
        let setup = File::default().setup("snoop", 128 << 20).unwrap();
        assert_eq!(setup.cache_total_bytes, 16 << 20);
        assert!(File::default().setup("snack", 1 << 30).is_err());
    }

    /// The example shows every key, with its default.
    #[test]
    fn example_holds_the_defaults() {
        let shown: String = EXAMPLE
            .lines()
            .filter_map(|line| line.strip_prefix("#:"))
            .map(|line| format!("{}\n", line.trim()))
            .collect();
        let file = parse(&shown, "lasthop.example.toml").unwrap();
        let setup = file
            .setup(file.scheme.as_deref().unwrap(), u64::MAX)
            .unwrap();
        let defaults = File::default().setup("rack", u64::MAX).unwrap();
        assert_eq!(setup.config, defaults.config);
        assert_eq!(setup.mark, defaults.mark);
        assert_eq!(setup.priority, defaults.priority);
        assert_eq!(setup.max_flows, defaults.max_flows);
        assert_eq!(setup.cache_total_bytes, defaults.cache_total_bytes);
        assert_eq!(setup.cache_flow_bytes, defaults.cache_flow_bytes);
        assert_eq!(file.runtime_dir(), Path::new(DEFAULT_RUNTIME_DIR));
        assert_eq!(shown.lines().count(), 29, "a key is missing");
        assert!(parse(EXAMPLE, "lasthop.example.toml").is_ok());
    }
}
