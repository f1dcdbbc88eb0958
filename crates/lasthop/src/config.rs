// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The configuration file: TOML, every key optional, unknown keys are errors.

use std::fmt::Display;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::{LH_TIMER_AFTER_DUP, LH_TIMER_ALWAYS, lh_config};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

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
                let text = String::deserialize(from)?;
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
    lrto_floor: Option<Time>,
    lrto_max: Option<Time>,
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
            bail!("{name}:{line}: {}", one_line(error.message()));
        }
    };
    file.check_ranges().map_err(|(key, error)| {
        anyhow::anyhow!("{name}:{}: {key}: {error}", line_of_key(text, key))
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

/// serde says "unknown field"; people call it a key.
fn one_line(message: &str) -> String {
    message
        .replace('\n', " ")
        .replace("unknown field", "unknown key")
        .replace('`', "'")
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

impl File {
    fn check_ranges(&self) -> Result<(), (&'static str, String)> {
        within("dup_thresh", self.dup_thresh, 1..=100)?;
        within("max_local", self.max_local, 1..=100)?;
        within("max_flows", self.max_flows, 1..=1_000_000)?;
        within("priority", self.priority, 0..=u32::MAX)?;
        time_within("lrto_floor", self.lrto_floor, "1ms"..="10s")?;
        time_within("lrto_max", self.lrto_max, "1ms"..="60s")?;
        time_within("hold_min", self.hold_min, "1ms"..="10s")?;
        time_within("hold_max", self.hold_max, "1ms"..="10s")?;
        time_within("idle", self.idle, "1s"..="1440min")?;
        let size = |value: Option<Size>| value.map(|Size(bytes)| bytes);
        within("cache_flow", size(self.cache_flow), 2048..=8 << 20)?;
        within("cache_total", size(self.cache_total), 256 << 10..=64 << 30)?;
        let defaults = lh_config::default();
        let ns = |value: Option<Time>, other: u64| value.map_or(other, |Time(ns)| ns);
        if ns(self.lrto_floor, defaults.lrto_floor_ns) > ns(self.lrto_max, defaults.lrto_max_ns) {
            return Err(("lrto_floor", "is above lrto_max".into()));
        }
        if ns(self.hold_min, defaults.hold_min_ns) > ns(self.hold_max, defaults.hold_max_ns) {
            return Err(("hold_min", "is above hold_max".into()));
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
        time(&mut config.hold_min_ns, self.hold_min);
        time(&mut config.hold_max_ns, self.hold_max);
        time(&mut config.idle_ns, self.idle);
        config.dup_thresh = self.dup_thresh.unwrap_or(config.dup_thresh);
        config.max_local = self.max_local.unwrap_or(config.max_local);
        config.strict_window = self.strict_window.map_or(config.strict_window, u32::from);
        config.queue_guard = self.queue_guard.map_or(config.queue_guard, u32::from);
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

fn scheme_id(name: &str) -> Result<u32> {
    let names: Vec<&str> = lasthop_core::schemes().map(|scheme| scheme.name).collect();
    lasthop_core::scheme_by_name(name)
        .with_context(|| format!("no scheme '{name}': have {}", names.join(", ")))
}

/// MemAvailable of this machine; 0 if it can't be told.
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
        assert!(
            unknown.starts_with("x.toml:3: unknown key 'dup_tresh'"),
            "{unknown}"
        );
        let time = error("# hm\nlrto_floor = \"80\"\n");
        assert!(
            time.starts_with("x.toml:2: ") && time.contains("80ms"),
            "{time}"
        );
        let range = error("\n\nmax_local = 0\n");
        assert_eq!(range, "x.toml:3: max_local: 0 is not from 1 to 100");
        let order = error("hold_min = \"2s\"\n");
        assert_eq!(order, "x.toml:1: hold_min: is above hold_max");
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
        assert!(File::default().setup("rack", 1 << 30).is_err());
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
        let defaults = File::default().setup("snoop", u64::MAX).unwrap();
        assert_eq!(setup.config, defaults.config);
        assert_eq!(setup.mark, defaults.mark);
        assert_eq!(setup.priority, defaults.priority);
        assert_eq!(setup.max_flows, defaults.max_flows);
        assert_eq!(setup.cache_total_bytes, defaults.cache_total_bytes);
        assert_eq!(setup.cache_flow_bytes, defaults.cache_flow_bytes);
        assert_eq!(file.runtime_dir(), Path::new(DEFAULT_RUNTIME_DIR));
        assert_eq!(shown.lines().count(), 20, "a key is missing");
        assert!(parse(EXAMPLE, "lasthop.example.toml").is_ok());
    }
}
