// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A process in the packets' way, an agent or what takes its place: ready when it says so, ended by
//! SIGINT.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bed::namespace::Namespace;
use crate::bed::process::{Lifetime, Managed};

/// How long it may take until it is ready, or says something that is waited for.
pub(super) const READY_PATIENCE: Duration = Duration::from_secs(30);
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// How long connections of its own may take to end by themselves.
const DRAIN_PATIENCE: Duration = Duration::from_millis(500);

/// The process. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Service {
    process: Managed,
}

impl Service {
    /// Starts it in `namespace`. `log` makes it a background process.
    pub(super) fn start(
        command: Command,
        role: &str,
        namespace: &Namespace,
        log: Option<PathBuf>,
    ) -> Result<Self> {
        // SIGTERM, not SIGKILL, when the lab dies: it can still clean up by itself.
        let lifetime = match log {
            Some(_) => Lifetime::Background,
            None => Lifetime::WithLab(Signal::SIGTERM),
        };
        let process = Managed::spawn(command, role, namespace, lifetime, log)?;
        Ok(Self { process })
    }

    pub(super) fn process(&self) -> &Managed {
        &self.process
    }

    pub(super) fn process_mut(&mut self) -> &mut Managed {
        &mut self.process
    }

    /// Waits for a line that begins with `prefix`.
    pub(super) fn wait_for_line(&mut self, prefix: &str) -> Result<String> {
        self.process.wait_for_line(prefix, READY_PATIENCE)
    }

    /// Waits until it ends by itself, with success.
    pub(super) fn wait(mut self) -> Result<()> {
        let status = self.process.wait(READY_PATIENCE)?;
        if !status.success() {
            bail!("{} ended by itself with {status} instead of 0", self.role());
        }
        Ok(())
    }

    /// SIGINT, and waits for the end, with success.
    pub(super) fn stop(mut self) -> Result<()> {
        self.process.check_running()?;
        let status = self.process.stop(Signal::SIGINT, STOP_PATIENCE)?;
        if !status.success() {
            bail!("{}: {status} after SIGINT instead of 0", self.role());
        }
        Ok(())
    }

    /// As [`Service::stop`], of one that waits for its connections to end: a second SIGINT after a
    /// moment resets them.
    pub(super) fn stop_twice(mut self) -> Result<()> {
        self.process.check_running()?;
        kill(Pid::from_raw(self.process.id().pid), Signal::SIGINT)?;
        match self.process.wait_or_none(DRAIN_PATIENCE)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("{}: {status} after SIGINT instead of 0", self.role()),
            None => self.stop(),
        }
    }

    fn role(&self) -> &str {
        &self.process.id().role
    }
}
