// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The configuration file: TOML, every key optional, unknown keys are errors. Keys are the core's
//! parameters (core/params.h) and what concerns the host ([`keys`]).

pub mod keys;
mod setup;
mod value;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lasthop_core::{Config, Param, param_by_key, params};
use serde::{Deserialize, Serialize};
use toml::{Spanned, Value};

use crate::units;

/// Read if it exists and no other is named.
pub const DEFAULT_PATH: &str = "/etc/lasthop/lasthop.toml";
/// Where control sockets live.
pub const DEFAULT_RUNTIME_DIR: &str = "/run/lasthop";

/// Estimator and rules that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// RFC 6298 gains, repair on the first duplicate.
    Std,
    /// As ns-2.35 ran it: repair on the second duplicate, 100 packets per flow.
    Ns2,
}

/// What a file sets.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// Scheme of the agent.
    pub scheme: Option<String>,
    profile: Option<Profile>,
    /// The core's parameters, in the order of the file.
    params: Vec<(Param, u64)>,
    cache_flow_bytes: Option<u64>,
    cache_total_bytes: Option<u64>,
    max_flows: Option<u32>,
    memory_bytes: Option<u64>,
    mark: Option<(u32, u32)>,
    priority: Option<u32>,
    /// Only these are assisted.
    pub matches: Vec<String>,
    /// These are not.
    pub exclude: Vec<String>,
    runtime_dir: Option<PathBuf>,
    /// Keys by which other agents know us.
    pub key: Option<PathBuf>,
    /// Socket of a source of MAC events.
    pub mac_events: Option<PathBuf>,
    port: Option<u16>,
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
    let table: BTreeMap<String, Spanned<Value>> = match toml::from_str(text) {
        Ok(table) => table,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            bail!("{name}:{line}: {}", error.message().replace('\n', " "));
        }
    };
    let mut file = File::default();
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(_, value)| value.span().start);
    for (key, value) in entries {
        let line = line_of(text, value.span().start);
        file.set(&key, value.into_inner()).map_err(|error| {
            let line = line_of_quoted(text, line, &error);
            match names().any(|name| name == key) {
                true => anyhow::anyhow!("{name}:{line}: {key}: {error}"),
                false => anyhow::anyhow!("{name}:{line}: {error}"),
            }
        })?;
    }
    file.check_pairs().map_err(|(key, error)| {
        anyhow::anyhow!("{name}:{}: {key}: {error}", line_of_key(text, key))
    })?;
    Ok(file)
}

/// All keys: the host's and the core's parameters.
fn names() -> impl Iterator<Item = &'static str> {
    let host = keys::KEYS.iter().map(|key| key.key);
    host.chain(params().map(|param| param.key))
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

/// What to say of a key that there is not: the one that was meant, or all.
fn unknown(wrong: &str) -> String {
    let names: Vec<&str> = names().collect();
    let close = names
        .iter()
        .min_by_key(|name| strsim::levenshtein(wrong, name));
    match close.filter(|name| strsim::levenshtein(wrong, name) <= 2) {
        Some(meant) => format!("unknown key '{wrong}': did you mean '{meant}'?"),
        None => format!(
            "unknown key '{wrong}', expected one of {}",
            names.join(", ")
        ),
    }
}

impl File {
    fn set(&mut self, key: &str, value: Value) -> Result<(), String> {
        match key {
            "scheme" => {
                let name = value::text(&value)?;
                scheme_id(&name).map_err(|error| error.to_string())?;
                self.scheme = Some(name);
            }
            "profile" => {
                let profile = value.try_into();
                self.profile = Some(profile.map_err(|_| "write \"std\" or \"ns2\"")?);
            }
            "cache_flow" => self.cache_flow_bytes = Some(value::size(&value, "2KiB", "8MiB")?),
            "cache_total" => {
                self.cache_total_bytes = Some(value::size(&value, "256KiB", "64GiB")?);
            }
            "memory" => self.memory_bytes = Some(value::size(&value, "1MiB", "1024GiB")?),
            "max_flows" => self.max_flows = Some(value::count(&value, 1..=1_000_000)? as u32),
            "priority" => self.priority = Some(value::count(&value, 0..=u32::MAX.into())? as u32),
            "mark" => self.mark = Some(units::mark(&value::text(&value)?)?),
            "match" => self.matches = value::rules(&value, false)?,
            "exclude" => self.exclude = value::rules(&value, true)?,
            "key" => self.key = Some(value::text(&value)?.into()),
            "port" => self.port = Some(value::count(&value, 1..=65_535)? as u16),
            "mac_events" => self.mac_events = Some(value::text(&value)?.into()),
            "runtime_dir" => self.runtime_dir = Some(value::text(&value)?.into()),
            _ => {
                let param = param_by_key(key).ok_or_else(|| unknown(key))?;
                self.params.push((param, value::param(&param, &value)?));
            }
        }
        Ok(())
    }

    /// The parameters as this file has them.
    fn config(&self) -> Config {
        let mut config = match self.profile {
            Some(Profile::Ns2) => Config::ns2(),
            _ => Config::default(),
        };
        for (param, value) in &self.params {
            param.set(&mut config, *value);
        }
        config
    }

    /// Bounds that have to be in order. The one that the file sets is named, for the other has no
    /// line.
    fn check_pairs(&self) -> Result<(), (&'static str, String)> {
        let config = self.config();
        for (low, high) in [("lrto_floor", "lrto_max"), ("hold_min", "hold_max")] {
            let get = |key| param_by_key(key).map(|param| param.get(&config));
            if get(low) <= get(high) {
                continue;
            }
            return Err(
                match self.params.iter().any(|(param, _)| param.key == low) {
                    true => (low, format!("is above {high}")),
                    false => (high, format!("is below {low}")),
                },
            );
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

fn scheme_id(name: &str) -> Result<u32> {
    if let Some(id) = lasthop_core::scheme_by_name(name) {
        return Ok(id);
    }
    let names: Vec<&str> = lasthop_core::schemes().map(|scheme| scheme.name).collect();
    bail!("no scheme '{name}'; have: {}", names.join(", "))
}

#[cfg(test)]
mod tests;
