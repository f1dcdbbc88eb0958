// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How the lossy hop varies with time, and how the flows differ: options of the test bed beyond a
//! constant rate and delay.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};
use linkemu::RateTrace;
use serde::{Deserialize, Serialize};

use crate::base::units;
use crate::data::lte;
use crate::data::police::Police;
use crate::data::segment::FULL_FRAME_BYTES;
use crate::data::way::Way;

/// The detour of `--reorder` without a time of its own.
const DEFAULT_REORDER_DELAY_NS: u64 = 10_000_000;
/// In place of a trace's file: the synthetic one that comes with the program.
const OWN_TRACE: &str = "lte";

/// Frames that are overtaken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reorder {
    /// Share of the frames.
    pub share: f64,
    /// How much later they arrive.
    pub delay_ns: u64,
}

impl FromStr for Reorder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (share, delay) = match text.split_once(',') {
            None => (text, None),
            Some((share, delay)) => (share, Some(delay)),
        };
        let delay_ns = match delay.map(units::duration_ns).transpose()? {
            Some(0) => return Err(format!("`{text}`: the time must be above 0")),
            given => given.unwrap_or(DEFAULT_REORDER_DELAY_NS),
        };
        Ok(Self {
            share: units::fraction(share)?,
            delay_ns,
        })
    }
}

/// Rates of the hop in turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateWave {
    /// The rates, at least two.
    pub rates_bps: Vec<u64>,
    /// How long each of them lasts.
    pub step_ns: u64,
}

impl FromStr for RateWave {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(',').collect();
        let [rates @ .., step] = parts.as_slice() else {
            return Err("is empty".into());
        };
        if rates.len() < 2 {
            return Err(format!(
                "`{text}` is no wave: write RATE,RATE,TIME, such as 30mbit,10mbit,2s"
            ));
        }
        let rates_bps = rates
            .iter()
            .map(|rate| units::rate_bps(rate))
            .collect::<Result<Vec<_>, _>>()?;
        match units::duration_ns(step)? {
            0 => Err(format!("`{text}`: the time must be above 0")),
            step_ns => Ok(Self { rates_bps, step_ns }),
        }
    }
}

impl RateWave {
    fn mean_bps(&self) -> u64 {
        self.rates_bps.iter().sum::<u64>() / self.rates_bps.len() as u64
    }
}

impl fmt::Display for RateWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates: Vec<String> = self
            .rates_bps
            .iter()
            .copied()
            .map(units::show_rate)
            .collect();
        let step = units::show_duration(self.step_ns);
        write!(f, "{} for {step} each", rates.join("/"))
    }
}

/// A mahimahi trace. Whoever builds the link reads it again; here it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFile {
    /// Absolute path, or [`OWN_TRACE`].
    pub path: PathBuf,
    /// What it carries in full frames, on average over its length.
    pub mean_bps: u64,
}

impl FromStr for TraceFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trace = read_trace(Path::new(text)).map_err(|e| e.to_string())?;
        let path = match text {
            OWN_TRACE => OWN_TRACE.into(),
            file => std::path::absolute(file).map_err(|e| format!("{file}: {e}"))?,
        };
        let mean_bps = trace.full_frames_per_second() * 8.0 * FULL_FRAME_BYTES as f64;
        Ok(Self {
            path,
            mean_bps: mean_bps.round() as u64,
        })
    }
}

fn read_trace(path: &Path) -> linkemu::Result<RateTrace> {
    match path == Path::new(OWN_TRACE) {
        true => lte::trace(),
        false => RateTrace::read(path),
    }
}

impl TraceFile {
    /// What it holds.
    ///
    /// # Errors
    /// The file cannot be read any more.
    pub fn read(&self) -> linkemu::Result<RateTrace> {
        read_trace(&self.path)
    }
}

impl fmt::Display for TraceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.path.file_name().unwrap_or_default();
        let mean_mbit = self.mean_bps as f64 / 1e6;
        write!(f, "trace {} ({mean_mbit:.1}mbit)", name.to_string_lossy())
    }
}

/// What varies. All of it holds for the lossy hop in both directions, unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, clap::Args)]
#[serde(default)]
#[command(next_help_heading = "Link that varies")]
pub struct Variation {
    /// Extra delay of each frame, from 0 to TIME, in order: 5ms
    #[arg(long = "jitter", value_name = "TIME", default_value = "0", value_parser = units::duration_ns)]
    pub jitter_ns: u64,

    /// Share of the frames that arrive TIME later and are overtaken: 1%,5ms [TIME: 10ms]
    #[arg(long, value_name = "SHARE[,TIME]")]
    pub reorder: Option<Reorder>,

    /// Deliver only every TIME, all that came since then together: 10ms
    #[arg(long = "batch", value_name = "TIME", default_value = "0", value_parser = units::duration_ns)]
    pub batch_ns: u64,

    /// Rates in turn, each for TIME, from the emulator's start: 30mbit,10mbit,2s; --rate (then by
    /// default their mean) only sizes --queue bdp
    #[arg(
        long = "rate-wave",
        value_name = "RATE,RATE,TIME",
        conflicts_with_all = ["rate_trace", "rate_trace_up"]
    )]
    pub rate_wave: Option<RateWave>,

    /// Mahimahi trace of the rate from BS to MH, or lte: a synthetic one like a phone's; --rate
    /// (then by default its mean) sizes --queue bdp and stays the rate from MH to BS
    #[arg(long = "rate-trace", value_name = "FILE")]
    pub rate_trace: Option<TraceFile>,

    /// The same from MH to BS, for --direction up or on top of --rate-trace
    #[arg(long = "rate-trace-up", value_name = "FILE")]
    pub rate_trace_up: Option<TraceFile>,

    /// A policer drops what comes from BS to MH beyond RATE, but for bursts of TIME at that rate: 10mbit,50ms
    #[arg(long, value_name = "RATE,TIME")]
    pub police: Option<Police>,

    /// Unloaded round trip of each flow in turn, as the flows appear: 20ms,50ms,200ms. The wired
    /// part delays FH's frames by what is missing to it, so --rtt must be the least of them
    #[arg(long = "flow-rtt", value_name = "LIST", value_delimiter = ',', value_parser = units::duration_ns)]
    pub flow_rtt_ns: Vec<u64>,
}

impl Variation {
    /// Mean rate of the wave, or of a direction's trace; none if that direction has a constant
    /// rate.
    pub fn mean_rate_bps(&self, way: Way) -> Option<u64> {
        let trace = self.trace(way).map(|trace| trace.mean_bps);
        self.rate_wave.as_ref().map(RateWave::mean_bps).or(trace)
    }

    /// Trace of one direction.
    pub fn trace(&self, way: Way) -> Option<&TraceFile> {
        match way {
            Way::Down => self.rate_trace.as_ref(),
            Way::Up => self.rate_trace_up.as_ref(),
        }
    }

    /// Checks what the options do not know of each other.
    ///
    /// # Errors
    /// A wave besides a trace, or a flow whose round trip is shorter than `rtt_ns`.
    pub fn validate(&self, rtt_ns: u64) -> Result<()> {
        let traced = self.rate_trace.is_some() || self.rate_trace_up.is_some();
        if self.rate_wave.is_some() && traced {
            bail!("--rate-wave and --rate-trace both set the hop's rate: leave one out");
        }
        if let Some(least_ns) = self.flow_rtt_ns.iter().min().filter(|ns| **ns < rtt_ns) {
            let least = units::show_duration(*least_ns);
            bail!(
                "--flow-rtt {least} is shorter than --rtt {}: give --rtt {least}",
                units::show_duration(rtt_ns)
            );
        }
        Ok(())
    }

    /// What differs from a constant link, for people; empty if nothing does.
    pub fn summary(&self) -> String {
        let time = units::show_duration;
        let mut parts = Vec::new();
        parts.extend(self.rate_wave.as_ref().map(ToString::to_string));
        parts.extend(
            self.rate_trace
                .as_ref()
                .map(|trace| format!("down {trace}")),
        );
        parts.extend(
            self.rate_trace_up
                .as_ref()
                .map(|trace| format!("up {trace}")),
        );
        if self.jitter_ns > 0 {
            parts.push(format!("jitter {}", time(self.jitter_ns)));
        }
        parts.extend(self.reorder.map(|Reorder { share, delay_ns }| {
            format!("{}% overtaken by {}", share * 100.0, time(delay_ns))
        }));
        if self.batch_ns > 0 {
            parts.push(format!("batches of {}", time(self.batch_ns)));
        }
        parts.extend(self.police.map(|police| police.to_string()));
        if !self.flow_rtt_ns.is_empty() {
            let rtts: Vec<String> = self.flow_rtt_ns.iter().copied().map(time).collect();
            parts.push(format!("flows' rtt {}", rtts.join("/")));
        }
        parts.iter().map(|part| format!(", {part}")).collect()
    }
}

#[cfg(test)]
#[path = "variation_tests.rs"]
mod tests;
