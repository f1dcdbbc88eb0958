// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the service manager hears of us (sd_notify(3)); without one nobody does.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use sd_notify::NotifyState;

/// The service manager, if there is one.
pub(super) struct Manager {
    /// It hears us.
    listens: bool,
    /// It wants signs of life.
    watches: bool,
}

impl Manager {
    /// As the environment tells: NOTIFY_SOCKET, WATCHDOG_USEC.
    pub(super) fn from_environment() -> Self {
        let mut usec = 0;
        Self {
            listens: std::env::var_os("NOTIFY_SOCKET").is_some(),
            watches: sd_notify::watchdog_enabled(false, &mut usec),
        }
    }

    /// Whether it is told anything, each time by a connection of its own.
    pub(super) fn listens(&self) -> bool {
        self.listens
    }

    fn tell(&self, states: &[NotifyState<'_>]) {
        if let Err(error) = sd_notify::notify(false, states) {
            tracing::debug!("service manager: {error}");
        }
    }

    /// All is attached that can be, or served as it was reloaded.
    pub(super) fn ready(&self, devices: usize) {
        let status = format!("serving {devices} device(s)");
        self.tell(&[NotifyState::Ready, NotifyState::Status(&status)]);
    }

    /// This process is the service from now on. Whether signs of life are wanted only the first one hears;
    /// where they are not, they are ignored.
    pub(super) fn is_main(&mut self) {
        self.watches = self.listens;
        self.tell(&[NotifyState::MainPid(std::process::id())]);
    }

    /// The configuration is being read again; [`Manager::ready`] ends that.
    pub(super) fn reloading(&self) {
        // For Type=notify-reload; other types ignore the time.
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
        self.tell(&[
            NotifyState::Reloading,
            NotifyState::MonotonicUsec(now.as_micros() as i128),
        ]);
    }

    /// A sign of life, beside that for the programs.
    pub(super) fn alive(&self) {
        if self.watches {
            self.tell(&[NotifyState::Watchdog]);
        }
    }

    /// The end has begun.
    pub(super) fn stopping(&self) {
        self.tell(&[NotifyState::Stopping]);
    }
}
