// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is to be served, and how: as the command line and the configuration say, read at start and
//! again on reload.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, bail};
use lasthop_core::bindings::{
    LH_MAX_RULES, LH_PARTNER_AUTO, LH_PARTNER_OFF, LH_PARTNER_ON, LH_POLICY_CHANNEL, LH_POLICY_MAC,
    LH_POLICY_SEQUENCE, LH_POLICY_TELLS, LH_ROLE_BASE, lh_config, lh_rule,
};

use crate::config::{Configuration, DEFAULT_PATH, File, Policy, is_pattern};
use crate::device;
use crate::memory::{Asked, Budget, Chosen, Part, Room};
use crate::programs::Setup;
use crate::role::Role;
use crate::units;

/// A policy of the same device that comes before, and the rules by which its connections are left to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    /// Its name.
    pub policy: String,
    /// They exclude what it is for.
    pub rules: Vec<lh_rule>,
}

/// What one device is served with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The section of the configuration that says so, a name or a pattern; empty: none.
    pub section: String,
    /// The policy whose connections these are; empty: those that are left.
    pub policy: String,
    /// Served because its name is like that of the section, and so only while it is there.
    pub guest: bool,
    /// Name of the scheme in `setup`.
    pub scheme: String,
    /// What the programs are loaded with, but for the device. Its rules are [`Settings::rules_beside`].
    pub setup: Setup,
    /// The rules that it has by itself.
    pub own_rules: Vec<lh_rule>,
    /// What it leaves to others, where those are served.
    pub left: Vec<Left>,
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
        if self.asked.max_flows.is_none() {
            self.setup.max_flows = of.setup.max_flows;
            self.part.max_flows = of.part.max_flows;
        }
        if self.asked.cache_total_bytes.is_none() {
            self.setup.cache_total_bytes = of.setup.cache_total_bytes;
            self.part.cache_total_bytes = of.part.cache_total_bytes;
        }
        self.memory = of.memory.clone();
    }
}

impl Settings {
    /// Its rules beside the policies that are served: what is for one that is not stays with the next one
    /// that it would be for, and in the end with the device's own agent.
    pub(super) fn rules_beside(&self, serves: impl Fn(&str) -> bool) -> Vec<lh_rule> {
        let left = self.left.iter().filter(|left| serves(&left.policy));
        let others = left.flat_map(|left| &left.rules);
        self.own_rules.iter().chain(others).copied().collect()
    }

    /// Whether connections get the same by both. What is beside that is for programs that are loaded later.
    pub(super) fn serves_as(&self, other: &Self) -> bool {
        let now = Self {
            asked: other.asked,
            memory: other.memory.clone(),
            own_rules: other.own_rules.clone(),
            left: other.left.clone(),
            ..self.clone()
        };
        now == *other
    }

    /// Whether both would go by what the same source says of one link.
    pub(super) fn share_a_mac(&self, other: &Self) -> bool {
        self.mac_events.is_some() && self.mac_events == other.mac_events
    }

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
    /// The scheme that was ordered only watches: all connections are its, whatever policies there are, it
    /// sends no messages, and there is as little room for packets as there may be.
    pub watch: bool,
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
    /// Whether there was a configuration file.
    pub has_file: bool,
    /// What the maps of all may take.
    pub budget: Budget,
    /// Sections for devices that may come, each with what such a device is served with.
    pub patterns: Patterns,
}

/// Sections for devices that may come.
#[derive(Debug, Clone)]
pub struct Patterns {
    all: Configuration,
    settings: BTreeMap<String, Vec<Settings>>,
}

impl Patterns {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// What the device of that name is to be served with, each policy by itself, if no section has its
    /// name, but one is for it.
    pub fn settings_of(&self, device: &str) -> &[Settings] {
        let section = self
            .all
            .section_of(device)
            .map_or("", |(section, _)| section);
        self.settings.get(section).map_or(&[], Vec::as_slice)
    }
}

/// A device, or with none a place for one that may come, and what the files say of it or of some of its
/// connections.
#[derive(Clone)]
struct Entry<'a> {
    device: Option<String>,
    section: &'a str,
    file: &'a File,
    /// None: what no policy is for.
    policy: Option<&'a Policy>,
    /// Policies whose connections are not of this one.
    before: Vec<&'a Policy>,
}

impl Entry<'_> {
    fn name(&self) -> &str {
        self.device.as_deref().unwrap_or(self.section)
    }

    /// What the files say, with rules that cover none of the connections that are left alone.
    fn file(&self) -> File {
        let mut file = self.policy.map_or(self.file, |policy| &policy.file).clone();
        if self.policy.is_some() {
            file.exclude.clone_from(&self.file.exclude);
        }
        let alone = self.before.iter().filter(|policy| policy.leave_alone);
        let others = alone.flat_map(|policy| &policy.file.matches);
        file.exclude.extend(others.cloned());
        file
    }

    /// What is left to policies that are served.
    fn left(&self) -> Result<Vec<Left>, String> {
        let served = self.before.iter().filter(|policy| !policy.leave_alone);
        let left = served.map(|policy| {
            let rules = policy.file.matches.iter();
            Ok(Left {
                policy: policy.name.clone(),
                rules: rules
                    .map(|text| units::rule(text, true))
                    .collect::<Result<_, _>>()?,
            })
        });
        left.collect()
    }
}

/// A device, or a place for one, with its policies: first what none of them is for.
fn with_policies<'a>(
    all: &'a Configuration,
    device: Option<String>,
    (section, file): (&'a str, &'a File),
) -> Vec<Entry<'a>> {
    let of_section = all
        .policies
        .iter()
        .filter(|policy| policy.section == section);
    let policies: Vec<&Policy> = of_section.collect();
    let rest = Entry {
        device,
        section,
        file,
        policy: None,
        before: policies.clone(),
    };
    let each = policies.iter().enumerate().map(|(i, policy)| Entry {
        policy: Some(policy),
        before: policies[..i].to_vec(),
        ..rest.clone()
    });
    let helped = each.filter(|entry| entry.policy.is_none_or(|policy| !policy.leave_alone));
    let mut entries: Vec<Entry<'a>> = helped.collect();
    entries.insert(0, rest);
    entries
}

/// What agents at the two ends say to each other, and a MAC's reports, are one agent's per device.
fn check_policy(entry: &Entry<'_>, setup: &Setup, scheme: &str) -> Result<()> {
    const OF_A_DEVICE: u32 = LH_POLICY_MAC | LH_POLICY_CHANNEL | LH_POLICY_SEQUENCE;
    if setup.rules.len() > LH_MAX_RULES as usize {
        bail!(
            "{} match and exclude rules, those of policies before it included, at most {LH_MAX_RULES}",
            setup.rules.len()
        );
    }
    match entry.policy {
        Some(policy) if setup.config.policy() & OF_A_DEVICE != 0 => bail!(
            "scheme {scheme} is for a device as a whole: write it in the section [device.{}]",
            policy.section
        ),
        _ => Ok(()),
    }
}

/// Whether there is an agent to talk to at the other end (`enum lh_partner_mode`): without a key nobody's
/// word counts. A device has one agent that does.
fn partner(entry: &Entry<'_>, setup: &Setup, has_key: bool) -> Result<u32> {
    let at_the_base = lh_config {
        role: LH_ROLE_BASE,
        ..setup.config
    };
    let tells = at_the_base.policy() & LH_POLICY_TELLS != 0;
    match setup.config.partner {
        _ if entry.policy.is_some() => Ok(LH_PARTNER_OFF),
        LH_PARTNER_AUTO => Ok(u32::from(has_key)),
        LH_PARTNER_ON if tells && !has_key => bail!(
            "partner = true, and no key: have one by lasthop key new > FILE, copy it to the other end, and say key = \"FILE\" at both"
        ),
        said => Ok(said),
    }
}

/// Those that the command line names.
fn named<'a>(all: &'a Configuration, names: &[String]) -> Vec<Entry<'a>> {
    let entries = |name: &String| {
        let section = all.section_of(name).unwrap_or(("", &all.common));
        with_policies(all, Some(name.clone()), section)
    };
    names.iter().flat_map(entries).collect()
}

/// Those that have a section, there or not, and of the devices that are there those for which a pattern is.
/// Memory is divided so that each pattern has it for so many.
fn of_sections<'a>(all: &'a Configuration, there: &[String]) -> Vec<Entry<'a>> {
    const PLACES_LEAST: usize = 2;
    let mut entries = Vec::new();
    for (section, file) in &all.devices {
        let mut add = |device| entries.extend(with_policies(all, device, (section, file)));
        if !is_pattern(section) {
            add(Some(section.clone()));
            continue;
        }
        let is_for = |name: &&String| all.section_of(name).is_some_and(|(s, _)| s == section);
        let found: Vec<&String> = there.iter().filter(is_for).collect();
        let missing = PLACES_LEAST.saturating_sub(found.len());
        found.into_iter().for_each(|name| add(Some(name.clone())));
        (0..missing).for_each(|_| add(None));
    }
    entries
}

impl Wanted {
    /// A file that was there and is gone orders nothing: whoever replaces it is between two steps, or it is lost.
    ///
    /// # Errors
    /// It is gone. `had_file`: it was there.
    pub(super) fn unless_lost(self, had_file: bool) -> Result<Self> {
        if had_file && !self.has_file {
            bail!(
                "{DEFAULT_PATH} was there before and is gone: put it back, or an empty file to have what is left"
            );
        }
        Ok(self)
    }
}

/// Why a daemon would not begin with these files, each line of which is right: their sections share the
/// memory, and what one asks for goes together or does not. None: it would, or a line is wrong.
pub fn refusal(config: Option<&Path>) -> Option<Error> {
    let orders = Orders {
        config: config.map(Into::into),
        devices: Devices::Sections,
        overrides: Overrides::default(),
    };
    Configuration::read_or_default(config).ok()?;
    orders.read(0).err()
}

impl Orders {
    /// Reads the files. `taken_bytes`: what the maps of those that are served take by now.
    ///
    /// # Errors
    /// `FILE:LINE: what is wrong`, or what else can't be served.
    pub fn read(&self, taken_bytes: u64) -> Result<Wanted> {
        let all = Configuration::read_or_default(self.config.as_deref())?;
        let mut entries = match &self.devices {
            Devices::Named(names) => named(&all, names),
            Devices::Sections => of_sections(&all, &device::names()),
        };
        if self.overrides.watch {
            entries.retain(|entry| entry.policy.is_none());
            entries.iter_mut().for_each(|entry| entry.before.clear());
        }
        let alone = entries.iter().filter(|entry| entry.policy.is_none());
        let names: Vec<String> = alone.filter_map(|e| e.device.clone()).collect();
        let sizes = |entry: &Entry<'_>| {
            let asked = entry.file().memory();
            match self.overrides.watch {
                true => asked.without_cache(),
                false => asked,
            }
        };
        let asked: Vec<Asked> = entries.iter().map(sizes).collect();
        let budget = Budget::new(&all.common.memory(), Room::of_this_machine(taken_bytes));
        let parts = budget.divide(&asked)?;
        let mut devices: Vec<(String, Settings)> = Vec::new();
        let mut patterns = BTreeMap::new();
        for (entry, part) in entries.iter().zip(&parts) {
            let settings = self.settings(entry, &names, part, &budget);
            let settings = match (entry.policy, &self.devices) {
                (Some(policy), _) => settings.with_context(|| policy.named())?,
                (None, Devices::Named(_)) => settings?,
                (None, Devices::Sections) => {
                    settings.with_context(|| format!("device {}", entry.name()))?
                }
            };
            if settings.guest {
                let of_section: &mut Vec<Settings> =
                    patterns.entry(settings.section.clone()).or_default();
                of_section.retain(|other| other.policy != settings.policy);
                of_section.push(settings.clone());
            }
            let Some(name) = &entry.device else { continue };
            if let Some((other, _)) = devices
                .iter()
                .find(|(_, other)| settings.share_a_mac(other))
            {
                bail!(
                    "mac_events is one link's, but {other} and {name} have the same: attach devices one by one, or give each its own"
                );
            }
            devices.push((name.clone(), settings));
        }
        Ok(Wanted {
            devices,
            runtime_dir: all.common.runtime_dir(),
            has_file: all.has_file,
            budget,
            patterns: Patterns {
                settings: patterns,
                all,
            },
        })
    }

    fn settings(
        &self,
        entry: &Entry<'_>,
        names: &[String],
        part: &Part,
        budget: &Budget,
    ) -> Result<Settings> {
        let (over, mut file) = (&self.overrides, entry.file());
        file.matches.extend(over.matches.iter().cloned());
        file.exclude.extend(over.exclude.iter().cloned());
        if over.watch {
            file.key = None;
        } else if entry.policy.is_none() {
            file.key = over.key.clone().or(file.key);
            file.mac_events = over.mac_events.clone().or(file.mac_events);
        }
        let over_scheme = over.scheme.clone().filter(|_| entry.policy.is_none());
        let scheme = over_scheme.or_else(|| file.scheme.clone());
        let scheme = scheme.unwrap_or_else(|| "rack".into());
        let mut setup = file.setup_within(&scheme, part)?;
        let left = entry.left().map_err(Error::msg)?;
        let own_rules = setup.rules.clone();
        let others = left.iter().flat_map(|left| &left.rules);
        setup.rules.extend(others.copied());
        setup.shared = entry.policy.is_some() || !entry.before.is_empty();
        setup.config.partner = partner(entry, &setup, file.key.is_some())?;
        check_policy(entry, &setup, &scheme)?;
        if let Some(role) = over.role {
            setup.config.role = role.number(names)?;
        }
        let mac_events = match setup.config.policy() & LH_POLICY_MAC {
            0 => None, // others have no use for it
            _ => file.mac_events.clone(),
        };
        if setup.config.policy() & LH_POLICY_MAC != 0 && mac_events.is_none() {
            bail!(
                "scheme {scheme} goes by what the link's MAC reports: say where by `mac_events` in the file, or `--mac-events` of attach: mac80211 or a socket"
            );
        }
        Ok(Settings {
            section: entry.section.to_owned(),
            policy: entry.policy.map_or(String::new(), |p| p.name.clone()),
            guest: is_pattern(entry.section) && matches!(self.devices, Devices::Sections),
            scheme,
            setup,
            own_rules,
            left,
            keys: file.key.clone(),
            mac_events,
            asked: file.memory(),
            memory: budget.chosen.clone(),
            part: *part,
        })
    }
}

#[cfg(test)]
mod tests;
