// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The two link emulators: processes of `linkemu`, one per emulator host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use linkemu::{Config, DirectionConfig, RateTrace, Stats, control};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::netns::{Host, Namespace};
use crate::options::LinkOptions;
use crate::process::{self, Lifetime, Managed};
use crate::transfer::Way;

const READY_PATIENCE: Duration = Duration::from_secs(10);
const STOP_PATIENCE: Duration = Duration::from_secs(2);
/// The wired part loses nothing, but it has generators too: they must differ from the hop's.
const WIRED_SEED_MASK: u64 = 0x5749_5245;

/// A running emulator. Direction `a_to_b` is downstream, from FH towards MH.
#[derive(Debug)]
pub struct Emulator {
    process: Managed,
    control: PathBuf,
    host: Host,
}

/// Counters of both emulators; `a_to_b` is downstream in each.
#[derive(Debug, Clone, Default)]
pub struct EmulatorStats {
    /// Between FH and BS.
    pub wan: Stats,
    /// The lossy hop, between BS and MH.
    pub air: Stats,
}

/// Configuration of the wired part.
pub fn wan_config(link: &LinkOptions) -> Config {
    let direction = DirectionConfig {
        rate_bps: link.wired_rate_bps,
        delay_ns: (link.rtt_ns - link.local_rtt_ns) / 2,
        queue_frames: link.wired_queue_packets as usize,
        ..DirectionConfig::default()
    };
    // One direction is enough, and this is where the first SYN of FH comes by.
    let flow_rtt_ns = link.variation.flow_rtt_ns.iter();
    let flow_delays_ns = flow_rtt_ns
        .map(|rtt_ns| rtt_ns.saturating_sub(link.rtt_ns))
        .collect();
    Config {
        a: "fh".into(),
        b: "bs".into(),
        seed: link.seed ^ WIRED_SEED_MASK,
        a_to_b: DirectionConfig {
            flow_delays_ns,
            ..direction.clone()
        },
        b_to_a: direction,
    }
}

/// Configuration of the lossy hop, without outages: their times count from the transfer's start.
///
/// # Errors
/// A trace cannot be read any more.
pub fn air_config(link: &LinkOptions) -> Result<Config> {
    Ok(Config {
        a: "bs".into(),
        b: "mh".into(),
        seed: link.seed,
        a_to_b: air_direction(link, Way::Down)?,
        b_to_a: air_direction(link, Way::Up)?,
    })
}

fn air_direction(link: &LinkOptions, way: Way) -> Result<DirectionConfig> {
    let variation = &link.variation;
    let rate_trace = match variation.trace(way) {
        Some(trace) => RateTrace::read(&trace.path)?,
        None => RateTrace::default(),
    };
    let rate_wave = variation.rate_wave.as_ref().map_or(Vec::new(), |wave| {
        let steps = wave.rates_bps.iter();
        steps.map(|rate_bps| (*rate_bps, wave.step_ns)).collect()
    });
    Ok(DirectionConfig {
        rate_bps: link.constant_rate_bps(way),
        rate_wave,
        rate_trace,
        delay_ns: link.local_rtt_ns / 2,
        jitter_ns: variation.jitter_ns,
        batch_ns: link.batch_ns(way),
        reorder: variation.reorder.map_or(0.0, |reorder| reorder.share),
        reorder_delay_ns: variation.reorder.map_or(0, |reorder| reorder.delay_ns),
        queue_frames: link.queue_packets_of(way) as usize,
        loss: way.random_loss(link),
        ber: link.ber,
        aqm: link.aqm,
        ack_thin: link.ack_thin(way),
        stations: link.stations(way),
        ..DirectionConfig::default()
    })
}

impl Emulator {
    /// Starts the emulator of `host` in its namespace and waits until it relays.
    ///
    /// # Errors
    /// No `linkemu`, or it refuses.
    pub fn start(
        host: Host,
        config: &Config,
        namespace: &Namespace,
        directory: &Path,
        background: bool,
    ) -> Result<Self> {
        let file = |suffix: &str| directory.join(format!("{}.{suffix}", host.name()));
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
        let role = format!("linkemu {}", host.name());
        let mut process = Managed::spawn(command, &role, namespace, lifetime, log)?;
        process.wait_for_line("linkemu: relaying", READY_PATIENCE)?;
        Ok(Self {
            process,
            control,
            host,
        })
    }

    /// The process.
    pub fn process(&self) -> &Managed {
        &self.process
    }

    pub(crate) fn process_mut(&mut self) -> &mut Managed {
        &mut self.process
    }

    /// Its counters.
    ///
    /// # Errors
    /// It does not answer.
    pub fn stats(&self) -> Result<Stats> {
        let answer = self.request("stats")?;
        serde_json::from_str(&answer)
            .with_context(|| format!("linkemu {}: cannot read its counters", self.host.name()))
    }

    /// Changes one direction: `{"dir": "a_to_b", "loss": 0.02}`.
    ///
    /// # Errors
    /// It does not answer, or refuses the change.
    pub fn set(&self, change: &Value) -> Result<()> {
        let answer = self.request(&format!("set {change}"))?;
        let parsed: Value = serde_json::from_str(&answer).unwrap_or_default();
        if parsed.get("ok") != Some(&Value::Bool(true)) {
            bail!("linkemu {}: refuses {change}: {answer}", self.host.name());
        }
        Ok(())
    }

    fn request(&self, line: &str) -> Result<String> {
        control::request(&self.control, line)
            .with_context(|| format!("linkemu {} does not answer", self.host.name()))
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
    for (name, stats) in [("wan", &stats.wan), ("air", &stats.air)] {
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

    #[test]
    fn delays_add_up_to_the_round_trip() {
        let link = LinkOptions::default();
        let (wan, air) = (wan_config(&link), air_config(&link).unwrap());
        let round_trip =
            wan.a_to_b.delay_ns + wan.b_to_a.delay_ns + air.a_to_b.delay_ns + air.b_to_a.delay_ns;
        assert_eq!(round_trip, link.rtt_ns);
        assert_eq!(air.a_to_b.delay_ns * 2, link.local_rtt_ns);
        wan.validate().unwrap();
        air.validate().unwrap();
    }

    #[test]
    fn loss_per_direction() {
        let link = LinkOptions {
            loss: 0.02,
            loss_up: Some(0.0),
            ..LinkOptions::default()
        };
        let air = air_config(&link).unwrap();
        assert_eq!((air.a_to_b.loss, air.b_to_a.loss), (0.02, 0.0));
        assert_eq!(wan_config(&link).a_to_b.loss, 0.0);
    }
}
