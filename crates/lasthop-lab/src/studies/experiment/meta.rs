// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Where results come from: `meta.json` beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::planned::Planned;
use crate::base::files::write_whole;
use crate::data::profile::{self, Profile};
use crate::data::topology::Role;

/// Name of the file.
pub const FILE: &str = "meta.json";
const TCP_SYSCTLS: &str = "/proc/sys/net/ipv4";

/// What `meta.json` holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Name of the experiment.
    pub experiment: String,
    /// Version of the lab.
    pub version: String,
    /// `git` revision of the lab's source, or `unknown`.
    pub revision: String,
    /// Release of the running kernel.
    pub kernel: String,
    /// CPUs that the lab may use.
    pub cpus: usize,
    /// Words of the command that made the latest runs, but for `--out`; empty: not known.
    #[serde(default)]
    pub command: Vec<String>,
    /// Seeds that this command asked for; empty: not known.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// Runs at a time; 0: they were made elsewhere.
    pub jobs: u16,
    /// When the latest runs began, in s since 1970.
    pub started_s: u64,
    /// What the lab sets on the end hosts, per profile.
    pub profiles: BTreeMap<String, BTreeMap<String, String>>,
    /// TCP's settings of the machine, which hold for what the profiles leave alone.
    pub sysctls: BTreeMap<String, String>,
}

/// Revision of the source that this program was built from.
pub fn revision() -> &'static str {
    option_env!("LASTHOP_REVISION").unwrap_or("unknown")
}

/// Release of the running kernel.
pub fn kernel() -> String {
    nix::sys::utsname::uname().map_or_else(
        |_| "unknown".to_owned(),
        |name| name.release().to_string_lossy().into_owned(),
    )
}

/// The time, in s since 1970.
pub fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

impl Meta {
    /// Of this machine, now.
    pub(crate) fn here(planned: &Planned, cpus: usize, jobs: u16) -> Self {
        let named = |(key, value): (&str, &str)| (format!("net.{key}"), value.to_owned());
        let profiles = Profile::value_variants().iter();
        let profiles =
            profiles.filter_map(|p| Some((*p, p.to_possible_value()?.get_name().to_owned())));
        Self {
            experiment: planned.experiment.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: revision().to_owned(),
            kernel: kernel(),
            cpus,
            command: planned.command.clone(),
            seeds: planned.seeds.clone(),
            jobs,
            started_s: now_s(),
            profiles: profiles
                .map(|(profile, name)| {
                    let set = profile::sysctls(Role::End, profile);
                    (name, set.into_iter().map(named).collect())
                })
                .collect(),
            sysctls: tcp_sysctls(),
        }
    }

    /// Writes it into `directory`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        write_whole(&directory.join(FILE), &text)
    }

    /// Reads that of `directory`; none without one.
    pub fn read(directory: &Path) -> Option<Self> {
        let text = fs::read_to_string(directory.join(FILE)).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// `net.ipv4.tcp_*` with their values; keys and secrets are not readable as text and left out.
fn tcp_sysctls() -> BTreeMap<String, String> {
    let entries = fs::read_dir(TCP_SYSCTLS).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().to_str()?.to_owned();
            if !name.starts_with("tcp_") || name.contains("key") {
                return None;
            }
            let value = fs::read_to_string(entry.path()).ok()?;
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            Some((format!("net.ipv4.{name}"), value))
        })
        .collect()
}
