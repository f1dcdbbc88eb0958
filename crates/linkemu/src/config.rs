// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Configuration of a relay: JSON in, validated values out.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::net::IpAddr;

use crate::error::{Error, Result};
use crate::frame::FULL_FRAME_BYTES;
use crate::mac::MacConfig;
use crate::stations::{self, StationConfig};
use crate::trace::RateTrace;

const MAX_RATE_BPS: u64 = 1_000_000_000_000;
const MAX_DELAY_NS: u64 = 3_600_000_000_000;
const MAX_QUEUE_FRAMES: usize = 1_000_000;
const MAX_POLICE_BURST_BYTES: u64 = 1 << 40;
const MAX_BURST_FRAMES: f64 = 1e6;
/// Entries of a list; the control socket carries as many.
pub(crate) const MAX_LIST_ENTRIES: usize = 65_536;
const FIXED: &str = "can't change while the relay runs: start another";
/// `IFNAMSIZ` without the terminating zero.
const MAX_INTERFACE_NAME_BYTES: usize = 15;

/// A whole relay: two interfaces and what happens to frames between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the first interface.
    pub a: String,
    /// Name of the second interface.
    pub b: String,
    /// Seed of all random generators; the same seed and the same frames give the same losses.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Frames that arrive on `a` and leave on `b`.
    #[serde(default)]
    pub a_to_b: DirectionConfig,
    /// Frames that arrive on `b` and leave on `a`.
    #[serde(default)]
    pub b_to_a: DirectionConfig,
    /// An 802.11 medium that both directions share, in place of their rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacConfig>,
}

/// Queue discipline of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Aqm {
    /// First in, first out; what finds the queue full is dropped.
    #[default]
    Fifo,
    /// CoDel (RFC 8289) on one queue.
    Codel,
    /// FQ-CoDel (RFC 8290): a queue per flow, sparse flows first.
    FqCodel,
}

/// What one direction does to frames. The default is a wire without delay, limit or loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DirectionConfig {
    /// Link rate in bit/s; 0 is unlimited.
    pub rate_bps: u64,
    /// In place of `rate_bps`: `[rate in bit/s, nanoseconds for which it lasts]`, over and over
    /// from the relay's start. A frame on the air when the rate changes feels both.
    pub rate_wave: Vec<(u64, u64)>,
    /// In place of `rate_bps`: a trace in mahimahi's format, as the path of its file or as the
    /// list of milliseconds, over and over from the relay's start. A relative path starts where
    /// the relay was started.
    pub rate_trace: RateTrace,
    /// Propagation delay in nanoseconds, after the last bit has left.
    pub delay_ns: u64,
    /// Extra delay of each frame, uniform from 0 to this many nanoseconds; the order is kept.
    pub jitter_ns: u64,
    /// Extra delay in nanoseconds of each TCP connection in turn, in the order in which the relay
    /// first sees them (either direction counts, at most 65,536 of them). Order is kept within a
    /// connection only; frames that are not TCP get none.
    pub flow_delays_ns: Vec<u64>,
    /// Probability with which a frame is delayed by `reorder_delay_ns` and may be overtaken.
    pub reorder: f64,
    /// Extra delay in nanoseconds of the frames that `reorder` chooses.
    pub reorder_delay_ns: u64,
    /// Frames are delivered only at multiples of this many nanoseconds, all that have come by
    /// then together; 0 is off.
    pub batch_ns: u64,
    /// Frames that may wait (tail drop; with `fq_codel` half of the longest queue goes); the one
    /// in transmission is not counted.
    pub queue_frames: usize,
    /// Rate in bit/s of a policer in front of the queue, which drops what is beyond it; 0 is none.
    pub police_bps: u64,
    /// Bytes that it lets pass at once after a pause: the depth of its bucket.
    pub police_burst_bytes: u64,
    /// Queue discipline; it can't change while the relay runs.
    pub aqm: Aqm,
    /// A pure ACK takes the place of an older one of its connection that still waits, as long as
    /// it stands for at most so many; 0 and 1 are off.
    pub ack_thin: u32,
    /// Probability with which a frame is lost, 0 to 1.
    pub loss: f64,
    /// Share of the frames that are lost in bursts, 0 to `burst_frames` / (`burst_frames` + 1):
    /// between two bursts a frame arrives.
    pub burst_loss: f64,
    /// Mean number of frames of such a burst, 1 at least.
    pub burst_frames: f64,
    /// Bit-error rate, 0 to 1: a frame is lost with 1 − (1 − ber)^(8·bytes).
    pub ber: f64,
    /// Every so many frames one is lost; 0 is off. For tests that need to know which.
    pub loss_every: u64,
    /// Outages `[start, end)` in nanoseconds since the relay began: frames whose transmission
    /// ends inside one are lost.
    pub outages_ns: Vec<(u64, u64)>,
    /// Spare ARP, other frames that are not IP, and IPv6 neighbour discovery from all loss and
    /// from tail drop. A lost neighbour request stalls a host for a second, which no experiment
    /// about TCP means to measure.
    pub lossless_non_ip: bool,
    /// Receivers with links of their own, on the side of interface `b`; frames of all others take
    /// the link that the rest of these settings describes.
    pub stations: Vec<StationConfig>,
}

impl Default for DirectionConfig {
    fn default() -> Self {
        Self {
            rate_bps: 0,
            rate_wave: Vec::new(),
            rate_trace: RateTrace::default(),
            delay_ns: 0,
            jitter_ns: 0,
            flow_delays_ns: Vec::new(),
            reorder: 0.0,
            reorder_delay_ns: 0,
            batch_ns: 0,
            queue_frames: 1000,
            police_bps: 0,
            police_burst_bytes: 0,
            aqm: Aqm::default(),
            ack_thin: 0,
            loss: 0.0,
            burst_loss: 0.0,
            burst_frames: 4.0,
            ber: 0.0,
            loss_every: 0,
            outages_ns: Vec::new(),
            lossless_non_ip: true,
            stations: Vec::new(),
        }
    }
}

/// One of the two directions of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From interface `a` to interface `b`.
    AToB,
    /// From interface `b` to interface `a`.
    BToA,
}

impl Direction {
    /// Both directions, in the order in which the relay stores them.
    pub const ALL: [Self; 2] = [Self::AToB, Self::BToA];

    /// Position in [`Direction::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Name as in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::AToB => "a_to_b",
            Self::BToA => "b_to_a",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a change is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// From interface `a` to interface `b`.
    AToB,
    /// From interface `b` to interface `a`.
    BToA,
    /// The medium of both.
    Mac,
}

/// A change at run time: only the keys that are named change.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Update {
    /// What to change.
    pub dir: Target,
    /// Keys of [`DirectionConfig`], or of [`MacConfig`], with their new values.
    #[serde(flatten)]
    pub changes: Map<String, Value>,
}

impl Update {
    /// Parses `{"dir": "a_to_b", "loss": 0.02}`.
    ///
    /// # Errors
    /// Text that is not such an object; the values are checked when the change is applied.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::config("set", e.to_string()))
    }
}

impl Config {
    /// Parses and validates a configuration.
    ///
    /// # Errors
    /// Text that is not JSON, unknown or missing keys, values out of range; the key is named.
    pub fn from_json(text: &str) -> Result<Self> {
        let config: Self =
            serde_json::from_str(text).map_err(|e| Error::config("config", e.to_string()))?;
        config.validate()?;
        Ok(config)
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value out of range, with its key.
    pub fn validate(&self) -> Result<()> {
        check_interface("a", &self.a)?;
        check_interface("b", &self.b)?;
        if self.a == self.b {
            return Err(Error::config(
                "b",
                format!("must differ from a, both are {}", self.a),
            ));
        }
        Direction::ALL
            .into_iter()
            .try_for_each(|d| self.direction(d).validate(d))?;
        self.mac
            .as_ref()
            .map_or(Ok(()), |mac| self.validate_mac(mac))
    }

    fn validate_mac(&self, mac: &MacConfig) -> Result<()> {
        mac.validate()?;
        for direction in Direction::ALL {
            if let Some(key) = self.direction(direction).key_that_contradicts_mac() {
                let problem = "contradicts mac, whose medium both directions share: leave it out";
                return Err(Error::config(format!("{direction}.{key}"), problem));
            }
        }
        Ok(())
    }

    /// Settings of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionConfig {
        match direction {
            Direction::AToB => &self.a_to_b,
            Direction::BToA => &self.b_to_a,
        }
    }

    /// Applies a change.
    ///
    /// # Errors
    /// An unknown key or a value out of range; the configuration is then as before.
    pub fn apply(&mut self, update: &Update) -> Result<()> {
        let mut changed = self.clone();
        match update.dir {
            Target::AToB => changed.a_to_b = self.a_to_b.patched(Direction::AToB, update)?,
            Target::BToA => changed.b_to_a = self.b_to_a.patched(Direction::BToA, update)?,
            Target::Mac => changed.mac = Some(self.patched_mac(update)?),
        }
        changed.validate()?;
        *self = changed;
        Ok(())
    }

    fn patched_mac(&self, update: &Update) -> Result<MacConfig> {
        let refuse = |problem: String| Error::config("mac", problem);
        let Some(mac) = &self.mac else {
            let problem = "there is none, and none can be set up while the relay runs";
            return Err(refuse(problem.to_owned()));
        };
        let patched: MacConfig =
            patched(mac, &update.changes).map_err(|e| refuse(e.to_string()))?;
        match mac.fixed_key_changed_by(&patched) {
            Some(fixed) => Err(Error::config(format!("mac.{fixed}"), FIXED)),
            None => Ok(patched),
        }
    }
}

impl DirectionConfig {
    /// Goes through JSON, so that a new key needs no second list of optional fields.
    fn patched(&self, direction: Direction, update: &Update) -> Result<Self> {
        let key = direction.name();
        // A trace that does not change stays as it was read: its file may have changed or gone.
        let keeps_trace = !update.changes.contains_key("rate_trace");
        let mut rest = self.clone();
        rest.rate_trace = RateTrace::default();
        let mut patched = patched(&rest, &update.changes)
            .map_err(|e: serde_json::Error| Error::config(key, e.to_string()))?;
        if keeps_trace {
            patched.rate_trace = self.rate_trace.clone();
        }
        patched.validate(direction)?;
        if let Some(fixed) = self.fixed_key_changed_by(&patched) {
            return Err(Error::config(format!("{key}.{fixed}"), FIXED));
        }
        Ok(patched)
    }

    /// A station's link, as a direction of its own.
    pub(crate) fn of_station(&self, station: &StationConfig) -> Self {
        let mut link = self.clone();
        link.stations = Vec::new();
        if let Some(rate_bps) = station.rate_bps {
            link.rate_bps = rate_bps;
            link.rate_wave = Vec::new();
            link.rate_trace = RateTrace::default();
        }
        link.loss = station.loss.unwrap_or(link.loss);
        link.queue_frames = station.queue_frames.unwrap_or(link.queue_frames);
        link
    }

    /// What makes up the queues in which frames may wait, and so stays as it is.
    fn fixed_key_changed_by(&self, patched: &Self) -> Option<&'static str> {
        fn addresses(config: &DirectionConfig) -> impl Iterator<Item = &[IpAddr]> {
            config.stations.iter().map(|s| &s.addresses[..])
        }
        if self.aqm != patched.aqm {
            return Some("aqm");
        }
        (!addresses(self).eq(addresses(patched))).then_some("stations.addresses")
    }

    /// What sets a rate or a link of its own.
    fn key_that_contradicts_mac(&self) -> Option<&'static str> {
        let contradictions = [
            ("rate_bps", self.rate_bps != 0),
            ("rate_wave", !self.rate_wave.is_empty()),
            ("rate_trace", !self.rate_trace.is_empty()),
            ("stations", !self.stations.is_empty()),
        ];
        contradictions
            .into_iter()
            .find(|(_, is)| *is)
            .map(|(key, _)| key)
    }

    fn validate(&self, direction: Direction) -> Result<()> {
        self.find_problem().map_or(Ok(()), |(key, problem)| {
            Err(Error::config(format!("{direction}.{key}"), problem))
        })
    }

    /// The first key whose value is out of range or contradicts another, and what to do about it.
    fn find_problem(&self) -> Option<(&'static str, String)> {
        self.problem_of_numbers()
            .or_else(|| self.problem_of_rates())
            .or_else(|| self.problem_of_lists())
            .or_else(|| self.problem_of_stations())
    }

    fn problem_of_stations(&self) -> Option<(&'static str, String)> {
        let problem = stations::problem_of(&self.stations);
        let of_one = |station: &StationConfig| {
            let (key, problem) = self.of_station(station).find_problem()?;
            Some(format!("{key} {problem}"))
        };
        let problem = problem.or_else(|| self.stations.iter().find_map(of_one))?;
        Some(("stations", problem))
    }

    fn problem_of_numbers(&self) -> Option<(&'static str, String)> {
        for (key, value, max) in [
            ("rate_bps", self.rate_bps, MAX_RATE_BPS),
            ("police_bps", self.police_bps, MAX_RATE_BPS),
            (
                "police_burst_bytes",
                self.police_burst_bytes,
                MAX_POLICE_BURST_BYTES,
            ),
            ("delay_ns", self.delay_ns, MAX_DELAY_NS),
            ("jitter_ns", self.jitter_ns, MAX_DELAY_NS),
            ("reorder_delay_ns", self.reorder_delay_ns, MAX_DELAY_NS),
            ("batch_ns", self.batch_ns, MAX_DELAY_NS),
        ] {
            if value > max {
                return Some((key, format!("must be at most {max}, is {value}")));
            }
        }
        if !(1..=MAX_QUEUE_FRAMES).contains(&self.queue_frames) {
            let is = self.queue_frames;
            return Some((
                "queue_frames",
                format!("must be 1 to {MAX_QUEUE_FRAMES}, is {is}"),
            ));
        }
        if self.police_bps > 0 && self.police_burst_bytes < u64::from(FULL_FRAME_BYTES) {
            let is = self.police_burst_bytes;
            let problem = format!(
                "must be {FULL_FRAME_BYTES} at least with police_bps, is {is}: no full frame would pass"
            );
            return Some(("police_burst_bytes", problem));
        }
        for (key, probability) in [
            ("loss", self.loss),
            ("ber", self.ber),
            ("reorder", self.reorder),
        ] {
            // The range also refuses NaN.
            if !(0.0..=1.0).contains(&probability) {
                return Some((key, format!("must be between 0 and 1, is {probability}")));
            }
        }
        let idle = self.reorder > 0.0 && self.reorder_delay_ns == 0;
        idle.then(|| {
            let problem = "must be above 0 with reorder, else nothing is overtaken";
            ("reorder_delay_ns", problem.to_owned())
        })
        .or_else(|| self.problem_of_bursts())
    }

    fn problem_of_bursts(&self) -> Option<(&'static str, String)> {
        let (share, frames) = (self.burst_loss, self.burst_frames);
        // The ranges also refuse NaN.
        if !(1.0..=MAX_BURST_FRAMES).contains(&frames) {
            let problem = format!("must be 1 to {MAX_BURST_FRAMES}, is {frames}");
            return Some(("burst_frames", problem));
        }
        let most = frames / (frames + 1.0);
        (!(0.0..=most).contains(&share)).then(|| {
            let problem =
                format!("must be between 0 and {most:.3} with bursts of {frames}, is {share}");
            ("burst_loss", problem)
        })
    }

    fn problem_of_rates(&self) -> Option<(&'static str, String)> {
        if !self.rate_wave.is_empty() && !self.rate_trace.is_empty() {
            let problem = "contradicts rate_trace: set one of them to []";
            return Some(("rate_wave", problem.to_owned()));
        }
        let is_good = |(rate_bps, duration_ns): &&(u64, u64)| {
            (1..=MAX_RATE_BPS).contains(rate_bps) && (1..=MAX_DELAY_NS).contains(duration_ns)
        };
        let bad = self.rate_wave.iter().find(|step| !is_good(step));
        bad.map(|(rate_bps, duration_ns)| {
            let problem = format!(
                "[{rate_bps}, {duration_ns}] must be a rate of 1 to {MAX_RATE_BPS} \
                 for 1 to {MAX_DELAY_NS} ns"
            );
            ("rate_wave", problem)
        })
    }

    fn problem_of_lists(&self) -> Option<(&'static str, String)> {
        if let Some((start, end)) = self.outages_ns.iter().find(|(start, end)| start >= end) {
            return Some((
                "outages_ns",
                format!("[{start}, {end}] must end after it starts"),
            ));
        }
        if let Some(delay) = self.flow_delays_ns.iter().find(|d| **d > MAX_DELAY_NS) {
            return Some((
                "flow_delays_ns",
                format!("must be at most {MAX_DELAY_NS} each, one is {delay}"),
            ));
        }
        for (key, entries) in [
            ("rate_wave", self.rate_wave.len()),
            ("flow_delays_ns", self.flow_delays_ns.len()),
        ] {
            if entries > MAX_LIST_ENTRIES {
                return Some((
                    key,
                    format!("must have at most {MAX_LIST_ENTRIES} entries, has {entries}"),
                ));
            }
        }
        None
    }
}

/// Settings with some keys replaced: an object with what does not change, and those.
fn patched<S: Serialize + DeserializeOwned>(
    settings: &S,
    changes: &Map<String, Value>,
) -> std::result::Result<S, serde_json::Error> {
    let mut value = serde_json::to_value(settings)?;
    if let Value::Object(map) = &mut value {
        map.extend(changes.clone());
    }
    serde_json::from_value(value)
}

fn default_seed() -> u64 {
    1
}

fn check_interface(key: &str, name: &str) -> Result<()> {
    let fits = (1..=MAX_INTERFACE_NAME_BYTES).contains(&name.len());
    if !fits || name.contains(|c: char| c == '/' || c == '\0' || c.is_whitespace()) {
        return Err(Error::config(
            key,
            format!("{name:?} is not an interface name"),
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
