// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The network namespaces of runs: their names, made and removed.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};

use super::namespace::{NETNS_DIR, Namespace};
use super::process;
use crate::data::topology::is_host_name;

/// First part of every namespace's name.
const PREFIX: &str = "lasthop-";

/// Name of a run's namespace for `host`.
pub fn namespace_name(run: &str, host: &str) -> String {
    format!("{PREFIX}{run}-{host}")
}

/// The run that a namespace belongs to, if it is one of ours.
pub fn run_of_namespace(name: &str) -> Option<&str> {
    let (run, host) = name.strip_prefix(PREFIX)?.rsplit_once('-')?;
    is_host_name(host).then_some(run)
}

/// Names of all namespaces of this machine that have one.
///
/// # Errors
/// The directory cannot be read; that it does not exist is no error.
pub fn list_names() -> Result<Vec<String>> {
    let entries = match fs::read_dir(NETNS_DIR) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(|| format!("cannot read {NETNS_DIR}"))?,
    };
    entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// Those of one run.
///
/// # Errors
/// As [`list_names`].
pub fn names_of_run(run: &str) -> Result<Vec<String>> {
    let mut names = list_names()?;
    names.retain(|name| run_of_namespace(name) == Some(run));
    Ok(names)
}

/// Makes a namespace with a name for `ip netns`, its loopback up.
///
/// # Errors
/// Not root, no `ip`, or the name exists.
pub fn create(name: &str) -> Result<Namespace> {
    process::output(None, &["ip", "netns", "add", name])?;
    let namespace = Namespace::open(name)?;
    process::output(Some(&namespace), &["ip", "link", "set", "lo", "up"])?;
    Ok(namespace)
}

/// Removes a namespace's name; the kernel removes the rest with its last process or socket.
///
/// # Errors
/// `ip` fails; a name that is gone already is no error.
pub fn remove_name(name: &str) -> Result<()> {
    let path = Path::new(NETNS_DIR).join(name);
    if !path.exists() {
        return Ok(());
    }
    match process::output(None, &["ip", "netns", "delete", name]) {
        // Another one removes it, too, and was faster.
        Err(_) if !path.exists() => Ok(()),
        done => done.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runs() {
        assert_eq!(namespace_name("a-b", "air"), "lasthop-a-b-air");
        assert_eq!(run_of_namespace("lasthop-a-b-air"), Some("a-b"));
        assert_eq!(run_of_namespace("lasthop-a-b-bs2"), Some("a-b"));
        for other in ["lasthop-a-router", "else-a-fh", "lasthop-fh", "lasthop"] {
            assert_eq!(run_of_namespace(other), None, "{other}");
        }
    }
}
