// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What stands on this machine: one directory per run below [`STATE_DIR`], written before the
//! thing it describes is made, so that a lab that is killed at any moment leaves a record of
//! everything that `down` must remove.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use lasthop::config::DEFAULT_RUNTIME_DIR;
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::bed::namespace::NETNS_DIR;
use crate::bed::netns;
use crate::bed::process::ProcessId;
use crate::data::link::LinkOptions;

/// Directory with one directory per run.
pub const STATE_DIR: &str = "/run/lasthop-lab";
const RECORD_FILE: &str = "run.json";
const MAX_NAME_BYTES: usize = 32;
/// How long an agent may take to detach before it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Record of one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Run {
    /// Name, part of its namespaces' names.
    pub name: String,
    /// The lab that made it and takes it down itself; none: it stays until `down`.
    pub owner: Option<ProcessId>,
    /// Processes to end, in this order.
    pub processes: Vec<ProcessId>,
    /// The link it was built for.
    pub link: LinkOptions,
    /// Scheme of the agent that `up` started.
    pub scheme: Option<String>,
}

/// How a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Made by `up` and complete.
    Up,
    /// Belongs to a lab that runs now.
    Busy,
    /// Its lab died, or some of its processes did.
    Crashed,
}

impl Run {
    /// Claims a name and writes the first record, with the calling process as owner.
    ///
    /// # Errors
    /// A name that cannot be one, or that is taken; the directory cannot be written.
    pub fn claim(name: Option<&str>, link: &LinkOptions) -> Result<Self> {
        let name = match name {
            Some(name) => checked_name(name)?.to_owned(),
            None => unique_name(),
        };
        if has_namespaces(&name)? && !directory(&name).exists() {
            bail!("namespaces of a run {name} exist: `lasthop-lab down {name}` removes them");
        }
        let run = Self {
            name,
            owner: Some(ProcessId::of(std::process::id(), "lasthop-lab")?),
            processes: Vec::new(),
            link: link.clone(),
            scheme: None,
        };
        run.publish()?;
        Ok(run)
    }

    /// Makes the directory appear with the record in it, all at once: a directory without one
    /// would look like what a crash left, and a `down` at this moment would remove it.
    fn publish(&self) -> Result<()> {
        let own = directory(&self.name);
        let fresh = directory(&format!(".{}-{}", self.name, std::process::id()));
        fs::create_dir_all(&fresh)
            .with_context(|| format!("cannot create {}; are you root?", fresh.display()))?;
        let written = fs::write(fresh.join(RECORD_FILE), serde_json::to_string_pretty(self)?);
        // Fails if the other directory is there and not empty, that is, has a record.
        let renamed = written.and_then(|()| fs::rename(&fresh, &own));
        if renamed.is_err() {
            let _ = fs::remove_dir_all(&fresh);
        }
        match renamed {
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty => bail!(
                "a run {0} exists already: choose another name, or `lasthop-lab down {0}`",
                self.name
            ),
            other => other.with_context(|| format!("cannot create {}", own.display())),
        }
    }

    /// Its directory, also for the emulators' sockets and logs.
    pub fn directory(&self) -> PathBuf {
        directory(&self.name)
    }

    /// Writes the record; readers see the old or the new one, never half of it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self) -> Result<()> {
        let path = self.directory().join(RECORD_FILE);
        let fresh = path.with_extension("new");
        let text = serde_json::to_string_pretty(self)?;
        fs::write(&fresh, text)
            .and_then(|()| fs::rename(&fresh, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Records a process. Agents go first, so that they are ended while their network stands.
    ///
    /// # Errors
    /// The record cannot be written.
    pub fn add_process(&mut self, id: &ProcessId, first: bool) -> Result<()> {
        let at = if first { 0 } else { self.processes.len() };
        self.processes.insert(at, id.clone());
        self.save()
    }

    /// How it is doing.
    pub fn condition(&self) -> Condition {
        match &self.owner {
            Some(owner) if owner.is_alive() => Condition::Busy,
            Some(_) => Condition::Crashed,
            None if self.processes.iter().all(ProcessId::is_alive) => Condition::Up,
            None => Condition::Crashed,
        }
    }

    /// Ends its processes, removes its namespaces and its record; goes on after a failure and
    /// reports the first one.
    ///
    /// # Errors
    /// A process that does not end, a namespace or file that cannot be removed.
    pub fn remove(&self) -> Result<()> {
        let ended = self
            .processes
            .iter()
            .map(|process| process.end(Signal::SIGINT, STOP_PATIENCE));
        let results: Vec<Result<()>> = ended.collect();
        remove_namespaces(&self.name)?;
        results.into_iter().collect::<Result<()>>()?;
        match fs::remove_dir_all(self.directory()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(e).with_context(|| format!("cannot remove {}", self.directory().display()))
            }
            _ => Ok(()),
        }
    }
}

/// All runs with a record, by name. Directories whose record is missing or unreadable (a lab
/// killed at the very start) come as `None`.
///
/// # Errors
/// [`STATE_DIR`] cannot be read.
pub fn list() -> Result<BTreeMap<String, Option<Run>>> {
    let entries = match fs::read_dir(STATE_DIR) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        other => other.with_context(|| format!("cannot read {STATE_DIR}"))?,
    };
    let mut runs = BTreeMap::new();
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // One that is about to be published.
        if !name.starts_with('.') {
            runs.insert(name, read(&path));
        }
    }
    Ok(runs)
}

fn read(directory: &Path) -> Option<Run> {
    let text = fs::read_to_string(directory.join(RECORD_FILE)).ok()?;
    serde_json::from_str(&text).ok()
}

/// The run of that name, or the only one that stands if no name is given.
///
/// # Errors
/// None of that name; no name and none or several runs.
pub fn find(name: Option<&str>) -> Result<Run> {
    let mut runs: Vec<Run> = list()?.into_values().flatten().collect();
    if let Some(name) = name {
        let found = runs.into_iter().find(|run| run.name == name);
        return found.with_context(|| format!("no run {name}: `lasthop-lab list` shows all"));
    }
    match runs.len() {
        0 => bail!("no run stands: `lasthop-lab up` makes one"),
        1 => Ok(runs.remove(0)),
        _ => {
            let names: Vec<String> = runs.into_iter().map(|run| run.name).collect();
            bail!("several runs stand ({}): name one", names.join(", "))
        }
    }
}

/// Removes whatever is left under a name, with a record or without.
///
/// # Errors
/// Nothing of that name, or something cannot be removed.
pub fn remove(name: &str) -> Result<()> {
    let runs = list()?;
    match runs.get(name) {
        Some(Some(run)) => return run.remove(),
        Some(None) => {
            fs::remove_dir_all(directory(name))
                .with_context(|| format!("cannot remove {}", directory(name).display()))?;
        }
        None if !has_namespaces(name)? => bail!("no run {name}: `lasthop-lab list` shows all"),
        None => {}
    }
    remove_namespaces(name)
}

/// Whether nothing is left under a name.
///
/// # Errors
/// The directory of namespaces cannot be read.
pub fn is_gone(name: &str) -> Result<bool> {
    Ok(!directory(name).exists() && !has_namespaces(name)?)
}

fn has_namespaces(run: &str) -> Result<bool> {
    Ok(!netns::names_of_run(run)?.is_empty())
}

/// Names of namespaces that bear our name but belong to no recorded run.
///
/// # Errors
/// The directories cannot be read.
pub fn orphans() -> Result<Vec<String>> {
    // These first: a run is recorded before it has any.
    let names = netns::list_names()?;
    let runs = list()?;
    let mut names: Vec<String> = names
        .iter()
        .filter_map(|n| netns::run_of_namespace(n))
        .filter(|run| !runs.contains_key(*run))
        .map(str::to_owned)
        .collect();
    names.dedup();
    names.sort();
    names.dedup();
    Ok(names)
}

fn remove_namespaces(run: &str) -> Result<()> {
    let removed: Vec<Result<()>> = netns::names_of_run(run)?
        .iter()
        .map(|name| {
            remove_sockets(name);
            netns::remove_name(name)
        })
        .collect();
    removed.into_iter().collect()
}

/// What agents have left there that were killed; with nothing left it is not there.
fn remove_sockets(namespace: &str) {
    if let Ok(found) = fs::metadata(Path::new(NETNS_DIR).join(namespace)) {
        let directory = Path::new(DEFAULT_RUNTIME_DIR).join(found.ino().to_string());
        let _ = fs::remove_dir_all(directory);
    }
}

fn directory(name: &str) -> PathBuf {
    Path::new(STATE_DIR).join(name)
}

fn checked_name(name: &str) -> Result<&str> {
    let fits = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.starts_with('-')
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
    if !fits {
        bail!(
            "`{name}` is no name for a run: use up to {MAX_NAME_BYTES} lower-case letters, digits, - and _"
        );
    }
    Ok(name)
}

/// Process number and the clock in base 36: short, and new even when one process makes many at once.
fn unique_name() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_micros() as u64);
    let after = |last: u64| Some(now.max(last + 1));
    // Never fails: it always has a next one.
    let last = LAST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, after)
        .unwrap_or_default();
    let mut value = now.max(last + 1) % 36u64.pow(5);
    let mut tail = String::new();
    for _ in 0..5 {
        tail.push(char::from_digit((value % 36) as u32, 36).unwrap_or('0'));
        value /= 36;
    }
    format!("{}{tail}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "demo-1", "under_score"] {
            assert_eq!(checked_name(good).unwrap(), good);
        }
        for bad in ["", "Upper", "a/b", "..", "-a", "a b", &"x".repeat(33)] {
            assert!(checked_name(bad).is_err(), "{bad}");
        }
        assert!(checked_name(&unique_name()).is_ok());
    }

    #[test]
    fn names_of_their_own() {
        let many = || (0..1_000).map(|_| unique_name()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(many)).collect();
        let names = threads.into_iter().flat_map(|t| t.join().unwrap());
        let names: std::collections::BTreeSet<_> = names.collect();
        assert_eq!(names.len(), 4_000);
    }
}
