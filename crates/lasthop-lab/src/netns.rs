// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Network namespaces: made, entered by one thread or one child, removed.
//!
//! Nothing here uses `ip netns exec`: it gives its child a new `/sys` and with it an empty
//! `/sys/fs/bpf`, in which the agent's pinned maps would be invisible to everyone else.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};

use crate::process;

/// Where `ip netns` keeps the names.
pub const NETNS_DIR: &str = "/run/netns";
/// First part of every namespace's name.
const PREFIX: &str = "lasthop-";

/// One of the five hosts, in the order of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Host {
    /// Fixed host, at the wired end.
    Fh,
    /// Emulator of the wide-area part between FH and BS.
    Wan,
    /// Base station: the router on which the agent runs.
    Bs,
    /// Emulator of the lossy hop between BS and MH.
    Air,
    /// Mobile host, beyond the lossy hop.
    Mh,
}

impl Host {
    /// All hosts from the fixed to the mobile one.
    pub const ALL: [Self; 5] = [Self::Fh, Self::Wan, Self::Bs, Self::Air, Self::Mh];

    /// Name as in the namespace's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fh => "fh",
            Self::Wan => "wan",
            Self::Bs => "bs",
            Self::Air => "air",
            Self::Mh => "mh",
        }
    }
}

/// Name of a run's namespace for `host`.
pub fn namespace_name(run: &str, host: Host) -> String {
    format!("{PREFIX}{run}-{}", host.name())
}

/// The run that a namespace belongs to, if it is one of ours.
pub fn run_of_namespace(name: &str) -> Option<&str> {
    let (run, host) = name.strip_prefix(PREFIX)?.rsplit_once('-')?;
    Host::ALL.iter().any(|h| h.name() == host).then_some(run)
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

/// Removes a namespace's name; the kernel removes the rest with its last process or socket.
///
/// # Errors
/// `ip` fails; a name that is gone already is no error.
pub fn remove_name(name: &str) -> Result<()> {
    if !Path::new(NETNS_DIR).join(name).exists() {
        return Ok(());
    }
    process::output(None, &["ip", "netns", "delete", name]).map(drop)
}

/// An open network namespace; clones refer to the same one.
#[derive(Debug, Clone)]
pub struct Namespace {
    name: String,
    file: Arc<File>,
}

impl Namespace {
    /// Makes a namespace with a name for `ip netns`, its loopback up.
    ///
    /// # Errors
    /// Not root, no `ip`, or the name exists.
    pub fn create(name: &str) -> Result<Self> {
        process::output(None, &["ip", "netns", "add", name])?;
        let namespace = Self::open(name)?;
        process::output(Some(&namespace), &["ip", "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Opens an existing one.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn open(name: &str) -> Result<Self> {
        let path: PathBuf = Path::new(NETNS_DIR).join(name);
        let file = File::open(&path)
            .with_context(|| format!("cannot open the network namespace {}", path.display()))?;
        Ok(Self {
            name: name.to_owned(),
            file: Arc::new(file),
        })
    }

    /// Its name in `ip netns`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Descriptor for a child that enters between fork and exec.
    pub(crate) fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Moves the calling thread into the namespace, for good.
    ///
    /// # Errors
    /// Missing privilege.
    pub fn enter(&self) -> Result<()> {
        setns(self.file.as_fd(), CloneFlags::CLONE_NEWNET)
            .with_context(|| format!("cannot enter the network namespace {}", self.name))
    }

    /// Runs `work` on a thread of its own inside the namespace and waits for it. Sockets that it
    /// opens stay in the namespace wherever they are used later.
    ///
    /// # Errors
    /// The namespace cannot be entered, or `work` panicked.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| -> Result<T> {
                self.enter()?;
                Ok(work())
            });
            match thread.join() {
                Ok(result) => result,
                Err(panic) => Err(panic_error(&self.name, panic.as_ref())),
            }
        })
    }

    /// Sets a sysctl below `/proc/sys/net`, such as `ipv4.ip_forward`. False: this kernel has none
    /// of that name.
    ///
    /// # Errors
    /// The value is refused.
    pub fn set_sysctl(&self, key: &str, value: &str) -> Result<bool> {
        // Device names may hold dots, so the caller writes slashes where that matters.
        let path = if key.contains('/') {
            format!("/proc/sys/net/{key}")
        } else {
            format!("/proc/sys/net/{}", key.replace('.', "/"))
        };
        if !Path::new("/proc/sys/net").is_dir() {
            bail!("/proc/sys/net is missing: mount /proc");
        }
        match self.run(|| fs::write(&path, value))? {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e).with_context(|| format!("cannot write {value:?} to {path}")),
        }
    }

    /// Writes an attribute of a device, `/sys/class/net/DEVICE/NAME`. `/sys` shows the devices of
    /// the namespace in which it was mounted, so the thread that writes mounts its own.
    ///
    /// # Errors
    /// No such attribute, or the value is refused.
    pub fn set_device_attribute(&self, device: &str, name: &str, value: &str) -> Result<()> {
        let path = format!("/sys/class/net/{device}/{name}");
        let write = || -> io::Result<()> {
            let none = None::<&str>;
            unshare(CloneFlags::CLONE_NEWNS)?;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
            mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none)?;
            fs::write(&path, value)
        };
        self.run(write)?
            .with_context(|| format!("cannot write {value:?} to {path} in {}", self.name))
    }
}

fn panic_error(name: &str, panic: &(dyn std::any::Any + Send)) -> anyhow::Error {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    anyhow!("a thread in the network namespace {name} panicked: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runs() {
        assert_eq!(namespace_name("a-b", Host::Air), "lasthop-a-b-air");
        assert_eq!(run_of_namespace("lasthop-a-b-air"), Some("a-b"));
        for other in ["lasthop-a-router", "else-a-fh", "lasthop-fh", "lasthop"] {
            assert_eq!(run_of_namespace(other), None, "{other}");
        }
    }
}
