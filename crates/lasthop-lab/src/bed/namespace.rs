// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! An open network namespace, which one thread or one child enters.
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

/// Where `ip netns` keeps the names.
pub const NETNS_DIR: &str = "/run/netns";

/// An open network namespace; clones refer to the same one.
#[derive(Debug, Clone)]
pub struct Namespace {
    name: String,
    file: Arc<File>,
}

impl Namespace {
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
