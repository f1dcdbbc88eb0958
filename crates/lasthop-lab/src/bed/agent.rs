// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The agent on the base station: a process of `lasthop`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::bed::namespace::Namespace;
use crate::bed::process::{self, Managed};
use crate::bed::service::Service;
use crate::data::topology::LOSSY_DEVICE;

/// Name of the agent's executable.
pub const BINARY: &str = "lasthop";

/// The scheme that only watches.
const OBSERVER: &str = "shadow";

/// An agent that is attached to a device, `wl0` unless it was put elsewhere. Dropping it kills it.
#[derive(Debug)]
pub struct AgentHandle {
    service: Service,
    namespace: Namespace,
    device: String,
    /// By which it was ordered; a daemon's is in its file.
    scheme: String,
}

impl AgentHandle {
    /// `lasthop attach DEVICE --scheme SCHEME ARGS...` in `namespace`; returns once it is attached.
    /// `log` makes it a background process.
    pub(crate) fn start(
        (namespace, device): (&Namespace, &str),
        scheme: &str,
        args: &[&str],
        log: Option<PathBuf>,
    ) -> Result<Self> {
        let mut command = Command::new(process::find_binary(BINARY)?);
        command.args(["attach", device, "--scheme", scheme]);
        command.args(args);
        let ready = format!("{BINARY}: attached to {device}");
        Ok(Self {
            scheme: scheme.to_owned(),
            ..Self::begin(command, &ready, (namespace, device), log)?
        })
    }

    /// `lasthop daemon --config CONFIG` in `namespace`, which is to serve `device` among others; returns
    /// once that is attached, or taken over from the daemon that there is.
    pub(crate) fn daemon(
        (namespace, device): (&Namespace, &str),
        config: &Path,
        take_over: bool,
    ) -> Result<Self> {
        let mut command = Command::new(process::find_binary(BINARY)?);
        command.args(["daemon", "--config"]).arg(config);
        command.args(take_over.then_some("--take-over"));
        let ready = match take_over {
            true => format!("{BINARY}: {device} taken over"),
            // With what follows the name: a policy's agent is called DEVICE:POLICY.
            false => format!("{BINARY}: attached to {device} ("),
        };
        Self::begin(command, &ready, (namespace, device), None)
    }

    /// Starts it, and waits until it says that it is ready.
    fn begin(
        command: Command,
        ready: &str,
        (namespace, device): (&Namespace, &str),
        log: Option<PathBuf>,
    ) -> Result<Self> {
        let mut service = Service::start(command, BINARY, namespace, log)?;
        service.wait_for_line(ready)?;
        Ok(Self {
            service,
            namespace: namespace.clone(),
            device: device.to_owned(),
            scheme: String::new(),
        })
    }

    /// Waits until it prints another line that begins with `prefix`, such as that it is attached
    /// to a device that came back.
    ///
    /// # Errors
    /// It ends or stays silent.
    pub fn wait_for_line(&mut self, prefix: &str) -> Result<String> {
        self.service.wait_for_line(prefix)
    }

    /// Waits until it ends by itself, with success.
    ///
    /// # Errors
    /// It goes on, or fails.
    pub fn wait(self) -> Result<()> {
        self.service.wait()
    }

    /// Its process number.
    pub fn pid(&self) -> i32 {
        self.process().id().pid
    }

    /// The process.
    pub fn process(&self) -> &Managed {
        self.service.process()
    }

    pub(crate) fn process_mut(&mut self) -> &mut Managed {
        self.service.process_mut()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.process_mut().is_running()
    }

    /// The object that `lasthop status -j` prints for its device.
    ///
    /// # Errors
    /// The agent has ended, the command fails, or does not mention the device.
    pub fn status(&mut self) -> Result<Value> {
        self.process_mut().check_running()?;
        status_of(&self.namespace, &self.device)
    }

    /// What it observes, if its scheme only does that: the object that `lasthop observe -j` prints; else
    /// null.
    ///
    /// # Errors
    /// The command fails, or prints something else.
    pub fn observed(&self) -> Result<Value> {
        if self.scheme != OBSERVER {
            return Ok(Value::Null);
        }
        let mut command = Command::new(process::find_binary(BINARY)?);
        command.args(["observe", "-j", "--duration", "0s", &self.device]);
        let what = "lasthop observe -j";
        let text = process::run_to_end(Some(&self.namespace), command, what)?;
        serde_json::from_str(text.trim()).with_context(|| format!("`{what}` prints no object"))
    }

    /// SIGINT, and waits until it has detached.
    ///
    /// # Errors
    /// It had ended before, fails, or has to be killed.
    pub fn stop(self) -> Result<()> {
        self.service.stop()
    }

    /// SIGKILL: the agent gets no chance to clean up.
    ///
    /// # Errors
    /// The system refuses.
    pub fn kill(mut self) -> Result<()> {
        self.process_mut().kill()
    }
}

/// Why no agent can run on a test bed of this machine; none if one can.
pub fn why_not() -> Option<&'static str> {
    if !nix::unistd::geteuid().is_root() {
        Some("network namespaces and BPF need root")
    } else if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        Some("the kernel has no BTF")
    } else {
        None
    }
}

/// The object that `lasthop status -j` prints for `wl0` in `namespace`.
///
/// # Errors
/// The command fails, or does not mention `wl0`.
pub fn status(namespace: &Namespace) -> Result<Value> {
    status_of(namespace, LOSSY_DEVICE)
}

fn status_of(namespace: &Namespace, device: &str) -> Result<Value> {
    let mut command = Command::new(process::find_binary(BINARY)?);
    command.args(["status", "-j"]);
    let text = process::run_to_end(Some(namespace), command, "lasthop status -j")?;
    parse_status(&text, device)
}

fn parse_status(text: &str, device: &str) -> Result<Value> {
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|object| object["dev"] == device)
        .with_context(|| format!("`lasthop status -j` says nothing about {device}"))
}

/// What the agent can be told of its device's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// Nothing comes through.
    Down,
    /// It is back.
    Up,
}

/// Runs `lasthop link DEVICE down` or `up` in `namespace`.
///
/// # Errors
/// The command fails; the message holds its error output.
pub fn tell_link(namespace: &Namespace, device: &str, state: LinkState) -> Result<()> {
    let word = match state {
        LinkState::Down => "down",
        LinkState::Up => "up",
    };
    let mut command = Command::new(process::find_binary(BINARY)?);
    command.args(["link", device, word]).stdin(Stdio::null());
    let what = format!("{BINARY} link {device} {word}");
    // Entered here, so that the message is the same for every run.
    let run = || process::run_to_end(None, command, &what).map(drop);
    namespace.run(run)?
}

/// Arguments that hand a configuration file to the agent.
pub fn config_args(config: Option<&Path>) -> Vec<String> {
    config.map_or_else(Vec::new, |path| {
        vec!["--config".into(), path.to_string_lossy().into_owned()]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_line_of_status_is_found() {
        let text =
            "{\"dev\":\"eth0\"}\nnoise\n{\"dev\":\"wl0\",\"counters\":{\"local_retransmits\":7}}\n";
        let status = parse_status(text, "wl0").unwrap();
        assert_eq!(status["counters"]["local_retransmits"], 7);
        assert!(
            parse_status("", "wl0")
                .unwrap_err()
                .to_string()
                .contains("wl0")
        );
    }
}
