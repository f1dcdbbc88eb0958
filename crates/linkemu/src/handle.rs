// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What other threads hold of a running relay: its statistics, its settings, and the way to stop
//! it.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::config::{Config, Update};
use crate::error::{Error, Result};
use crate::mac::EventHub;
use crate::stats::Stats;

/// Shared between the relay and other threads.
pub struct RelayHandle {
    config: Mutex<Config>,
    /// Held by whoever changes the settings, for as long as that takes.
    changing: Mutex<()>,
    stats: Mutex<Stats>,
    config_changed: AtomicBool,
    stopped: AtomicBool,
    events: EventHub,
    /// Ends the relay's sleep.
    wake: EventFd,
}

impl RelayHandle {
    pub(crate) fn new(config: Config) -> Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = EventFd::from_value_and_flags(0, flags)
            .map_err(|e| Error::io("opening an eventfd", e.into()))?;
        let stats = Stats {
            a: config.a.clone(),
            b: config.b.clone(),
            ..Default::default()
        };
        Ok(Self {
            config: Mutex::new(config),
            changing: Mutex::new(()),
            stats: Mutex::new(stats),
            config_changed: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            events: EventHub::default(),
            wake,
        })
    }

    /// All counters as of the relay's last turn; they are consistent with each other.
    pub fn stats(&self) -> Stats {
        lock(&self.stats).clone()
    }

    /// The settings as of now.
    pub fn config(&self) -> Config {
        lock(&self.config).clone()
    }

    /// Changes the effects of one direction while the relay runs: for every frame whose
    /// transmission has not begun.
    ///
    /// # Errors
    /// An unknown key or a value out of range; nothing changes then.
    pub fn set(&self, update: &Update) -> Result<()> {
        // A change may read a trace, and the relay must not wait for a disk.
        let _one_at_a_time = lock(&self.changing);
        let mut config = self.config();
        config.apply(update)?;
        *lock(&self.config) = config;
        self.config_changed.store(true, Ordering::Release);
        self.wake();
        Ok(())
    }

    /// Makes [`crate::Relay::run`] return.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether there is a MAC that has news.
    pub(crate) fn has_mac(&self) -> bool {
        lock(&self.config).mac.is_some()
    }

    /// News of the MAC, on their way to whoever listens.
    pub(crate) fn events(&self) -> &EventHub {
        &self.events
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The settings, if they changed since the last call.
    pub(crate) fn take_changed_config(&self) -> Option<Config> {
        self.config_changed
            .swap(false, Ordering::AcqRel)
            .then(|| self.config())
    }

    /// Lets the relay write its counters, unless a reader holds them: it must not wait for one.
    pub(crate) fn try_publish(&self, write: impl FnOnce(&mut Stats)) {
        if let Ok(mut stats) = self.stats.try_lock() {
            write(&mut stats);
        }
    }

    /// Lets the relay write its counters for good.
    pub(crate) fn publish(&self, write: impl FnOnce(&mut Stats)) {
        write(&mut lock(&self.stats));
    }

    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    pub(crate) fn acknowledge_wake(&self) {
        // Fails only when nothing was written, which is fine.
        let _ = self.wake.read();
    }

    fn wake(&self) {
        // Fails only when the counter is at its limit, and then the relay wakes anyway.
        let _ = self.wake.write(1);
    }
}

/// The values are whole between any two statements, so a panic elsewhere leaves nothing broken.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
