// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Who goes on in a run's namespaces once their names are gone: what somebody started there by hand keeps
//! its namespace, with all devices in it, and no list shows that any more.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::namespace::NETNS_DIR;
use super::netns;

/// A run's namespaces, by what stays when their names go.
pub struct Inside(Vec<(u64, u64)>);

fn id(path: PathBuf) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl Inside {
    /// Those that stand.
    ///
    /// # Errors
    /// The directory of their names cannot be read.
    pub fn of(run: &str) -> Result<Self> {
        let names = netns::names_of_run(run)?.into_iter();
        let ids = names.filter_map(|name| id(Path::new(NETNS_DIR).join(name)));
        Ok(Self(ids.collect()))
    }

    /// Processes that are in one of them, each with its name.
    ///
    /// # Errors
    /// /proc cannot be read.
    pub fn processes(&self) -> Result<Vec<(u32, String)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let entry = entry?;
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
                continue;
            };
            let is_in = id(entry.path().join("ns/net")).is_some_and(|id| self.0.contains(&id));
            if is_in {
                let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
                found.push((pid, name.trim().to_owned()));
            }
        }
        Ok(found)
    }
}
