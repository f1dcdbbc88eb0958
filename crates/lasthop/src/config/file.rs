// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a configuration sets, key by key.

use std::path::PathBuf;

use anyhow::{Result, bail};
use lasthop_core::{Config, Param, param_by_key, params};
use serde::{Deserialize, Serialize};
use toml::Value;

use super::{keys, value};
use crate::{memory, units};

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
    pub(super) profile: Option<Profile>,
    /// The core's parameters, in the order of the file.
    pub(super) params: Vec<(Param, u64)>,
    pub(super) cache_flow_bytes: Option<u64>,
    pub(super) cache_total_bytes: Option<u64>,
    pub(super) max_flows: Option<u32>,
    /// None: `auto`, or not set.
    pub(super) memory_profile: Option<memory::Profile>,
    pub(super) memory_bytes: Option<u64>,
    pub(super) mark: Option<(u32, u32)>,
    pub(super) priority: Option<u32>,
    /// Only these are assisted.
    pub matches: Vec<String>,
    /// These are not.
    pub exclude: Vec<String>,
    pub(super) runtime_dir: Option<PathBuf>,
    /// Keys by which other agents know us.
    pub key: Option<PathBuf>,
    /// Socket of a source of MAC events.
    pub mac_events: Option<PathBuf>,
    pub(super) port: Option<u16>,
}

/// All keys: the host's and the core's parameters.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let host = keys::KEYS.iter().map(|key| key.key);
    host.chain(params().map(|param| param.key))
}

impl File {
    pub(super) fn set(&mut self, key: &str, value: Value) -> Result<(), String> {
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
            "cache_flow" => self.cache_flow_bytes = Some(keys::size(key, &value)?),
            "cache_total" => {
                self.cache_total_bytes = Some(keys::size(key, &value)?);
            }
            "memory" => self.memory_bytes = Some(keys::size(key, &value)?),
            "memory_profile" => {
                self.memory_profile = memory::Profile::parse(&value::text(&value)?)?;
            }
            "max_flows" => self.max_flows = Some(keys::count(key, &value)? as u32),
            "priority" => self.priority = Some(keys::count(key, &value)? as u32),
            "mark" => self.mark = Some(units::mark(&value::text(&value)?)?),
            "match" => self.matches = value::rules(&value, false)?,
            "exclude" => self.exclude = value::rules(&value, true)?,
            "key" => self.key = Some(value::text(&value)?.into()),
            "port" => self.port = Some(keys::count(key, &value)? as u16),
            "mac_events" => self.mac_events = Some(value::text(&value)?.into()),
            "runtime_dir" => self.runtime_dir = Some(value::text(&value)?.into()),
            _ => {
                let param = param_by_key(key).ok_or("there is no such key")?;
                self.params.push((param, value::param(&param, &value)?));
            }
        }
        Ok(())
    }

    /// The parameters as this file has them.
    pub(super) fn config(&self) -> Config {
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
    pub(super) fn check_pairs(&self) -> Result<(), (&'static str, String)> {
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

pub(super) fn scheme_id(name: &str) -> Result<u32> {
    if let Some(id) = lasthop_core::scheme_by_name(name) {
        return Ok(id);
    }
    let names: Vec<&str> = lasthop_core::schemes().map(|scheme| scheme.name).collect();
    bail!("no scheme '{name}'; have: {}", names.join(", "))
}
