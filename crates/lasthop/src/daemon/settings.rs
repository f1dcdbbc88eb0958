// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is to be served, and how: as the command line and the configuration say, read at start and
//! again on reload.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use lasthop_core::bindings::LH_POLICY_MAC;

use crate::config::{Configuration, File};
use crate::memory::{Asked, Budget, Chosen, Part, Room};
use crate::programs::Setup;
use crate::role::Role;

/// What one device is served with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Name of the scheme in `setup`.
    pub scheme: String,
    /// What the programs are loaded with, but for the device.
    pub setup: Setup,
    /// Where the keys are by which other agents know us; none: no messages.
    pub keys: Option<PathBuf>,
    /// Socket of a source of MAC events, or `mac80211`; none: schemes that go by them are refused.
    pub mac_events: Option<PathBuf>,
    /// Which sizes of `setup` were asked for.
    pub asked: Asked,
    /// By which rule the others fit.
    pub memory: Chosen,
    /// The sizes that it was given of the memory of all; `setup` has less where less was left.
    pub part: Part,
}

impl Settings {
    /// Where no size is asked for the one that there is stays: what fitted once goes on fitting.
    pub(super) fn keep_sizes(&mut self, of: &Self) {
        let (setup, there) = (&mut self.setup, &of.setup);
        if self.asked.max_flows.is_none() {
            setup.max_flows = there.max_flows;
        }
        if self.asked.cache_total_bytes.is_none() {
            setup.cache_total_bytes = there.cache_total_bytes;
        }
        if !self.asked.sets_sizes() {
            self.part = of.part;
        }
        self.memory = of.memory.clone();
    }
}

impl Settings {
    /// Has the programs loaded with these sizes.
    pub(super) fn resize(&mut self, part: Part) {
        self.setup.max_flows = part.max_flows;
        self.setup.cache_total_bytes = part.cache_total_bytes;
    }
}

/// What the command line of `attach` says; it wins.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// --scheme
    pub scheme: Option<String>,
    /// --role
    pub role: Option<Role>,
    /// --match, beside the file's
    pub matches: Vec<String>,
    /// --exclude, beside the file's
    pub exclude: Vec<String>,
    /// --key
    pub key: Option<PathBuf>,
    /// --mac-events
    pub mac_events: Option<PathBuf>,
}

/// Which devices are served.
#[derive(Debug, Clone)]
pub enum Devices {
    /// These, by any of their names (`attach`).
    Named(Vec<String>),
    /// Those that have a section in the configuration (`daemon`).
    Sections,
}

/// Where it is said what is to be served.
#[derive(Debug, Clone)]
pub struct Orders {
    /// Configuration file; none: the default one, if there is one.
    pub config: Option<PathBuf>,
    /// Which devices.
    pub devices: Devices,
    /// What the command line says beside the file.
    pub overrides: Overrides,
}

/// What was ordered.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The devices, in order, each with what it is served with.
    pub devices: Vec<(String, Settings)>,
    /// Directory of control sockets and locks.
    pub runtime_dir: PathBuf,
    /// What the maps of all may take.
    pub budget: Budget,
}

impl Orders {
    /// Reads the files. `taken_bytes`: what the maps of those that are served take by now.
    ///
    /// # Errors
    /// `FILE:LINE: what is wrong`, or what else can't be served.
    pub fn read(&self, taken_bytes: u64) -> Result<Wanted> {
        let all = Configuration::read_or_default(self.config.as_deref())?;
        let names: Vec<String> = match &self.devices {
            Devices::Named(names) => names.clone(),
            Devices::Sections => all.devices.keys().cloned().collect(),
        };
        let file_of = |name| all.devices.get(name).unwrap_or(&all.common);
        let asked: Vec<Asked> = names.iter().map(|name| file_of(name).memory()).collect();
        let budget = Budget::new(&all.common.memory(), Room::of_this_machine(taken_bytes));
        let parts = budget.divide(&asked)?;
        let mut devices: Vec<(String, Settings)> = Vec::new();
        for (name, part) in names.iter().zip(&parts) {
            let settings = self.settings(file_of(name).clone(), &names, part, &budget);
            let settings = match &self.devices {
                Devices::Named(_) => settings?,
                Devices::Sections => settings.with_context(|| format!("device {name}"))?,
            };
            let shared = devices.iter().find(|(_, other)| {
                settings.mac_events.is_some() && other.mac_events == settings.mac_events
            });
            if let Some((other, _)) = shared {
                bail!(
                    "mac_events is one link's, but {other} and {name} have the same: attach devices one by one, or give each its own"
                );
            }
            devices.push((name.clone(), settings));
        }
        Ok(Wanted {
            devices,
            runtime_dir: all.common.runtime_dir(),
            budget,
        })
    }

    fn settings(
        &self,
        mut file: File,
        names: &[String],
        part: &Part,
        budget: &Budget,
    ) -> Result<Settings> {
        let over = &self.overrides;
        file.matches.extend(over.matches.iter().cloned());
        file.exclude.extend(over.exclude.iter().cloned());
        file.key = over.key.clone().or(file.key);
        file.mac_events = over.mac_events.clone().or(file.mac_events);
        let scheme = over.scheme.clone().or_else(|| file.scheme.clone());
        let scheme = scheme.unwrap_or_else(|| "rack".into());
        let mut setup = file.setup_within(&scheme, part)?;
        if let Some(role) = over.role {
            setup.config.role = role.number(names)?;
        }
        let mac_events = match setup.config.policy() & LH_POLICY_MAC {
            0 => None, // others have no use for it
            _ => file.mac_events.clone(),
        };
        if setup.config.policy() & LH_POLICY_MAC != 0 && mac_events.is_none() {
            bail!(
                "scheme {scheme} goes by what the link's MAC reports: say where with --mac-events mac80211 or a socket"
            );
        }
        Ok(Settings {
            scheme,
            setup,
            keys: file.key.clone(),
            mac_events,
            asked: file.memory(),
            memory: budget.chosen.clone(),
            part: *part,
        })
    }
}
