// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The link emulators: processes of `linkemu`, one per emulator host.

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use linkemu::{Config, Direction, DirectionStats, Stats, control};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::bed::namespace::Namespace;
use crate::bed::process::{self, Lifetime, Managed};

const READY_PATIENCE: Duration = Duration::from_secs(10);
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// A running emulator. Direction `a_to_b` is downstream, from FH towards MH.
#[derive(Debug)]
pub struct Emulator {
    process: Managed,
    control: PathBuf,
    host: String,
}

/// Counters of the emulators between FH and MH; `a_to_b` is downstream in each.
#[derive(Debug, Clone, Default)]
pub struct EmulatorStats {
    /// Between FH and BS.
    pub wan: Stats,
    /// The lossy hop, between BS and MH; of several the first.
    pub air: Stats,
    /// The hops behind it.
    pub further: Vec<Stats>,
}

impl EmulatorStats {
    /// All lossy hops.
    fn hops(&self) -> impl Iterator<Item = &Stats> {
        iter::once(&self.air).chain(&self.further)
    }

    /// A counter of the lossy hops in one direction, that of all of them together.
    pub fn of_hops(&self, direction: Direction, counter: fn(&DirectionStats) -> u64) -> u64 {
        let hops = self.hops().map(|hop| match direction {
            Direction::AToB => counter(&hop.a_to_b),
            Direction::BToA => counter(&hop.b_to_a),
        });
        hops.sum()
    }
}

impl Emulator {
    /// Starts the emulator of `host` in its namespace and waits until it relays.
    ///
    /// # Errors
    /// No `linkemu`, or it refuses.
    pub fn start(
        host: &str,
        config: &Config,
        namespace: &Namespace,
        directory: &Path,
        background: bool,
    ) -> Result<Self> {
        let file = |suffix: &str| directory.join(format!("{host}.{suffix}"));
        let config_path = file("config.json");
        let control = file("sock");
        fs::write(&config_path, serde_json::to_string_pretty(config)?)
            .with_context(|| format!("cannot write {}", config_path.display()))?;
        let mut command = Command::new(process::find_binary("linkemu")?);
        command.arg("run").arg("--config").arg(&config_path);
        command.arg("--control").arg(&control);
        let (lifetime, log) = if background {
            (Lifetime::Background, Some(file("log")))
        } else {
            (Lifetime::WithLab(Signal::SIGKILL), None)
        };
        let role = format!("linkemu {host}");
        let mut process = Managed::spawn(command, &role, namespace, lifetime, log)?;
        process.wait_for_line("linkemu: relaying", READY_PATIENCE)?;
        Ok(Self {
            process,
            control,
            host: host.to_owned(),
        })
    }

    /// The process.
    pub fn process(&self) -> &Managed {
        &self.process
    }

    pub(crate) fn process_mut(&mut self) -> &mut Managed {
        &mut self.process
    }

    /// Name of the host that it runs on.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its control socket.
    pub fn control(&self) -> &Path {
        &self.control
    }

    /// Its counters.
    ///
    /// # Errors
    /// It does not answer.
    pub fn stats(&self) -> Result<Stats> {
        let answer = self.request("stats")?;
        serde_json::from_str(&answer)
            .with_context(|| format!("linkemu {}: cannot read its counters", self.host))
    }

    /// Changes one direction: `{"dir": "a_to_b", "loss": 0.02}`.
    ///
    /// # Errors
    /// It does not answer, or refuses the change.
    pub fn set(&self, change: &Value) -> Result<()> {
        let answer = self.request(&format!("set {change}"))?;
        let parsed: Value = serde_json::from_str(&answer).unwrap_or_default();
        if parsed.get("ok") != Some(&Value::Bool(true)) {
            bail!("linkemu {}: refuses {change}: {answer}", self.host);
        }
        Ok(())
    }

    fn request(&self, line: &str) -> Result<String> {
        control::request(&self.control, line)
            .with_context(|| format!("linkemu {} does not answer", self.host))
    }

    /// Ends it.
    ///
    /// # Errors
    /// It had to be killed.
    pub fn stop(&mut self) -> Result<()> {
        self.process.stop(Signal::SIGTERM, STOP_PATIENCE).map(drop)
    }
}

/// In every note of [`distortion`], and in no other.
pub const DISTORTED: &str = "could not keep up";

/// Warns of what would make a measurement worthless: the emulator itself was too slow, or saw
/// frames that no link would carry.
pub fn distortion(stats: &EmulatorStats) -> Option<String> {
    let hops = stats.hops().enumerate().map(|(index, hop)| match index {
        0 => ("air".to_owned(), hop),
        _ => (format!("air{}", index + 1), hop),
    });
    for (name, stats) in iter::once(("wan".to_owned(), &stats.wan)).chain(hops) {
        for direction in [&stats.a_to_b, &stats.b_to_a] {
            let kernel = direction.rx_kernel_drops;
            let overflow = direction.overflow_frames;
            let oversize = direction.oversize_frames;
            if kernel + overflow + oversize > 0 {
                return Some(format!(
                    "emulator {name} {DISTORTED} and distorted the link: {kernel} frames dropped \
                     by the kernel, {overflow} for want of memory, {oversize} oversize"
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(down: u64, up: u64) -> Stats {
        let mut stats = Stats::default();
        (stats.a_to_b.data_lost, stats.b_to_a.data_lost) = (down, up);
        stats
    }

    #[test]
    fn counters_are_those_of_all_hops_together() {
        let mut stats = EmulatorStats {
            wan: hop(1000, 1000),
            air: hop(1, 10),
            further: vec![hop(2, 20), hop(3, 30)],
        };
        let lost = |stats: &EmulatorStats, way| stats.of_hops(way, |d| d.data_lost);
        assert_eq!(lost(&stats, Direction::AToB), 6);
        assert_eq!(lost(&stats, Direction::BToA), 60);
        assert_eq!(distortion(&stats), None);
        stats.further[1].b_to_a.overflow_frames = 1;
        let note = distortion(&stats).unwrap();
        assert!(note.contains("emulator air3") && note.contains(DISTORTED));
    }
}
