// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What takes the agent's place on the base station: a process of `lasthop split`, of `lasthop-lab
//! passthrough`, or of PEPsal.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use nix::sys::signal::Signal;

use crate::bed::namespace::Namespace;
use crate::bed::process::{self, Managed};
use crate::bed::service::Service;
use crate::bed::{agent, passthrough, pepsal};
use crate::data::baseline::Baseline;

/// What the lab's own executable is called.
const LAB: &str = "lasthop-lab";

/// A baseline that has the packets of a device. Dropping it kills it.
#[derive(Debug)]
pub struct ProxyHandle {
    service: Service,
    baseline: Baseline,
}

/// Finds the program of a baseline.
///
/// # Errors
/// It is nowhere; the message says what to do.
pub fn find_program(baseline: Baseline) -> Result<PathBuf> {
    match baseline {
        Baseline::Split => process::find_binary(agent::BINARY),
        Baseline::Passthrough => process::find_binary(LAB),
        Baseline::Pepsal => pepsal::find(),
    }
}

impl ProxyHandle {
    /// Starts it on `device` in `namespace`; returns once new connections go through it. `excluded`:
    /// `--exclude PREFIX:PORT` and the like, which only `split` follows. `log` makes it a background
    /// process.
    pub(super) fn start(
        baseline: Baseline,
        (namespace, device): (&Namespace, &str),
        excluded: &[&str],
        log: Option<PathBuf>,
    ) -> Result<Self> {
        let mut command = Command::new(find_program(baseline)?);
        match baseline {
            Baseline::Split => command.args(["split", device]).args(excluded),
            Baseline::Passthrough => command.args(["passthrough", device]),
            Baseline::Pepsal => command.args(pepsal::ARGUMENTS),
        };
        let mut service = Service::start(command, baseline.name(), namespace, log)?;
        match baseline {
            Baseline::Split => drop(service.wait_for_line("lasthop: splitting")?),
            Baseline::Passthrough => drop(service.wait_for_line(passthrough::READY)?),
            Baseline::Pepsal => pepsal::redirect(namespace, service.process_mut())?,
        }
        Ok(Self { service, baseline })
    }

    /// Which one it is.
    pub fn baseline(&self) -> Baseline {
        self.baseline
    }

    /// The process.
    pub fn process(&self) -> &Managed {
        self.service.process()
    }

    pub(super) fn process_mut(&mut self) -> &mut Managed {
        self.service.process_mut()
    }

    /// Fails with its last words if it has ended.
    ///
    /// # Errors
    /// It has ended.
    pub fn check_running(&mut self) -> Result<()> {
        self.process_mut().check_running()
    }

    /// Ends it, and the connections that it still has of its own.
    ///
    /// # Errors
    /// It had ended before, fails, or has to be killed.
    pub fn stop(mut self) -> Result<()> {
        match self.baseline {
            Baseline::Split => self.service.stop_twice(),
            Baseline::Passthrough => self.service.stop(),
            // It has no handler, so that the signal itself ends it.
            Baseline::Pepsal => {
                self.check_running()?;
                let process = self.process_mut();
                process
                    .stop(Signal::SIGINT, pepsal::STOP_PATIENCE)
                    .map(drop)
            }
        }
    }

    /// SIGKILL: it gets no chance to clean up.
    ///
    /// # Errors
    /// The system refuses.
    pub fn kill(mut self) -> Result<()> {
        self.process_mut().kill()
    }
}
