// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The process that serves the device meanwhile: this program, as `attach`, for itself.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// The scheme that only watches.
pub(super) const SCHEME: &str = "shadow";

/// What is to be observed.
pub struct Order {
    /// The device that faces the lossy link.
    pub device: String,
    /// Configuration file; none: the default one.
    pub config: Option<PathBuf>,
    /// --match
    pub matches: Vec<String>,
    /// --exclude
    pub exclude: Vec<String>,
}

/// It goes when we go, however we do.
pub(super) struct Process {
    child: Child,
    /// Its events; at their end it is gone.
    events: BufReader<ChildStdout>,
}

impl Process {
    /// Begins, and waits until the device is served.
    ///
    /// # Errors
    /// It can't be: what it says of the reason.
    pub(super) fn start(order: &Order) -> Result<Self> {
        let program = std::env::current_exe().context("who we are")?;
        let mut command = Command::new(program);
        command.args(["attach", "--json", "--once", "--watch", "--scheme", SCHEME]);
        if let Some(config) = &order.config {
            command.arg("--config").arg(config);
        }
        for (word, rules) in [("--match", &order.matches), ("--exclude", &order.exclude)] {
            rules.iter().for_each(|rule| {
                command.args([word, rule]);
            });
        }
        command.args(["--", &order.device]);
        // An interrupt of the terminal's is for us, who end it once it has told the last.
        command.process_group(0);
        // SAFETY: prctl() is async-signal-safe, and touches nothing of ours.
        unsafe {
            command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGTERM)?));
        }
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the agent")?;
        let events = child.stdout.take().context("no standard output")?;
        let mut process = Self {
            child,
            events: BufReader::new(events),
        };
        process.wait_for("attached")?;
        Ok(process)
    }

    /// Reads on until it says that.
    fn wait_for(&mut self, event: &str) -> Result<()> {
        let mut line = String::new();
        while self.events.read_line(&mut line)? > 0 {
            let told = serde_json::from_str::<Value>(&line).unwrap_or_default();
            if told["event"] == event {
                return Ok(());
            }
            line.clear();
        }
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut said)?;
        }
        let _ = self.child.wait();
        let said = said.trim();
        bail!("{}", said.strip_prefix("lasthop: ").unwrap_or(said))
    }

    /// Whether it has ended. Called when there is something to read of it, never waits.
    pub(super) fn is_gone(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    /// Has it take the programs off the device.
    ///
    /// # Errors
    /// It failed with that.
    pub(super) fn end(mut self) -> Result<()> {
        if self.is_gone() {
            return Ok(());
        }
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM)
            .context("cannot end the agent")?;
        let status = self.child.wait().context("the agent's end")?;
        match status.success() {
            true => Ok(()),
            false => bail!("the agent ended with {status}"),
        }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.get_ref().as_fd()
    }
}
