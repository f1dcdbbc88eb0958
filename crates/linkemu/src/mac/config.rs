// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Settings of a medium: the `mac` block of a relay's configuration.

use serde::{Deserialize, Serialize};

use super::policy::Policy;
use super::room::Room;
use super::timing::{Preamble, Standard, Timing};
use crate::error::{Error, Result};
use crate::frame::FULL_FRAME_BYTES;

/// 802.11's default for long frames is 4 and for short ones 7 (clause 11, dot11ShortRetryLimit);
/// drivers take 7 for all.
const DEFAULT_TRIES: u32 = 7;
const MAX_TRIES: u32 = 255;
/// Best of the published range, 12 to 16 (Cabral, Segarra and Velez 2009).
const DEFAULT_BLOCK_FRAMES: usize = 16;
/// A limit has 16 bits, in units of 32 µs (IEEE 802.11-2007, clause 7.3.2.29).
const MAX_TXOP_NS: u64 = 65_535 * 32_000;
/// A station's AIFSN is at least 2, and has 4 bits (the same).
const AIFSN: std::ops::RangeInclusive<u32> = 2..=15;
/// The exponents of contention windows have 4 bits (the same).
const MAX_CW: u32 = (1 << 15) - 1;
/// A BlockAck's bitmap has room for so many (IEEE 802.11-2007, clause 7.2.1.8).
pub(super) const MAX_BLOCK_FRAMES: usize = 64;
const MAX_WATTS: f64 = 1e6;

/// What the losses of a direction count by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossPer {
    /// Each attempt meets its own fate.
    #[default]
    Attempt,
    /// The first attempt decides for all attempts of a packet: retries are of no use.
    Packet,
}

/// An 802.11 medium, which both directions of a relay share, in place of their rates. `loss`,
/// `burst_loss`, `ber`, `loss_every` and `outages_ns` of a direction act on its data frames,
/// attempt by attempt or packet by packet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MacConfig {
    /// Physical layer.
    pub standard: Standard,
    /// Rate of data frames in Mbit/s; the standard's highest by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<f64>,
    /// Rate of ACKs and the like in Mbit/s; by default the highest of 1 and 2 (802.11b) or 6, 12
    /// and 24 that is not above `rate_mbps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basic_rate_mbps: Option<f64>,
    /// 802.11b's; long by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preamble: Option<Preamble>,
    /// Who answers what.
    #[serde(default)]
    pub policy: Policy,
    /// Frames of a block at the most, 1 to 64; 16 by default. Nobody waits for a block to fill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_frames: Option<usize>,
    /// Attempts that a frame is given in all, 1 to 255; 7 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
    /// Limit of a transmission opportunity of EDCA in nanoseconds, 0 by default: an access then is
    /// one frame, or a block however long it is. Within a limit frames and blocks follow one
    /// another a SIFS apart, with their answers, as long as they fit in (clause 9.9.1.4); the first
    /// one goes in any case. Its stations are QoS stations: frames are two bytes longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txop_ns: Option<u64>,
    /// Slots of silence after a SIFS before a station of EDCA counts its backoff, 2 to 15
    /// (clause 9.9.1.3). By default a DIFS is waited for, which 2 are as well; with this frames have
    /// QoS control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aifsn: Option<u32>,
    /// Smallest contention window in slots, a power of two less 1; the standard's by default, 15
    /// (802.11b: 31).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,
    /// Largest, likewise; 1023 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,
    /// What the losses count by.
    #[serde(default)]
    pub loss_per: LossPer,
    /// Probability with which an ACK, a BlockAckReq or a BlockAck is lost, 0 to 1.
    #[serde(default)]
    pub control_loss: f64,
    /// Power of a radio that sends, in watts (Kim and Chung 2007).
    #[serde(default = "default_tx_watts")]
    pub tx_watts: f64,
    /// Power of one that receives (the same).
    #[serde(default = "default_rx_watts")]
    pub rx_watts: f64,
    /// Power of one that does neither. Kim and Chung do not say; an idle radio listens, so it is
    /// that of receiving, which is also what it takes to get at the joules that they print.
    #[serde(default = "default_rx_watts")]
    pub idle_watts: f64,
}

fn default_tx_watts() -> f64 {
    0.6
}

fn default_rx_watts() -> f64 {
    0.3
}

fn kbps(mbps: f64) -> u32 {
    // Saturates on what is no rate at all, which then is none of the standard's.
    (mbps * 1_000.0).round() as u32
}

impl MacConfig {
    /// A medium with everything else at its default.
    pub fn new(standard: Standard) -> Self {
        Self {
            standard,
            rate_mbps: None,
            basic_rate_mbps: None,
            preamble: None,
            policy: Policy::default(),
            block_frames: None,
            tries: None,
            txop_ns: None,
            aifsn: None,
            cw_min: None,
            cw_max: None,
            loss_per: LossPer::default(),
            control_loss: 0.0,
            tx_watts: default_tx_watts(),
            rx_watts: default_rx_watts(),
            idle_watts: default_rx_watts(),
        }
    }

    /// Attempts per frame.
    pub fn tries(&self) -> u32 {
        match self.policy {
            Policy::NoAck => 1,
            _ => self.tries.unwrap_or(DEFAULT_TRIES),
        }
    }

    /// Frames of a block.
    pub fn block_frames(&self) -> usize {
        match self.policy {
            Policy::Ack | Policy::NoAck => 1,
            _ => self.block_frames.unwrap_or(DEFAULT_BLOCK_FRAMES),
        }
    }

    /// Limit of a transmission opportunity in nanoseconds; 0 for one exchange per access.
    pub fn txop_ns(&self) -> u64 {
        self.txop_ns.unwrap_or(0)
    }

    /// All times of this medium; it must be valid.
    pub fn timing(&self) -> Timing {
        let preamble = self.preamble.unwrap_or(Preamble::Long);
        let (data_kbps, control_kbps) = (self.data_kbps(), self.control_kbps());
        let standard = Timing::new(self.standard, preamble, data_kbps, control_kbps);
        Timing {
            qos: self.policy.is_block() || self.txop_ns() > 0 || self.aifsn.is_some(),
            aifsn: self.aifsn.unwrap_or(standard.aifsn),
            cw_min: self.cw_min.unwrap_or(standard.cw_min),
            cw_max: self.cw_max.unwrap_or(standard.cw_max),
            ..standard
        }
    }

    fn data_kbps(&self) -> u32 {
        let highest = self.standard.rates_kbps().last().copied();
        self.rate_mbps.map_or(highest.unwrap_or(0), kbps)
    }

    fn control_kbps(&self) -> u32 {
        let data_kbps = self.data_kbps();
        let basic = self.standard.basic_rates_kbps().iter().copied();
        let highest = basic.filter(|rate| *rate <= data_kbps).max();
        self.basic_rate_mbps.map_or(highest.unwrap_or(0), kbps)
    }

    /// What it carries one way while nobody sends the other way and nothing is lost, in bit/s of
    /// full Ethernet frames.
    pub fn capacity_bps(&self) -> u64 {
        let timing = self.timing();
        let access_ns = timing.aifs_ns() + u64::from(timing.cw_min) * timing.slot_ns / 2;
        let limit_ns = self.txop_ns();
        let room = Room {
            timing,
            policy: self.policy,
            left_ns: (limit_ns > 0).then_some(limit_ns),
        };
        let (mut frames, span_ns) = room.fill(self.block_frames(), FULL_FRAME_BYTES);
        let mut all_ns = access_ns + span_ns;
        if self.policy == Policy::BlockAckEach {
            frames = self.block_frames() as u64;
            let asking_ns = timing.sifs_ns + timing.block_ack_request_ns();
            all_ns = frames * all_ns + asking_ns + timing.sifs_ns + timing.block_ack_ns();
        }
        frames * u64::from(FULL_FRAME_BYTES) * 8 * 1_000_000_000 / all_ns
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value out of range or combination that can't be, with its key.
    pub fn validate(&self) -> Result<()> {
        let problem = self.find_problem();
        problem.map_or(Ok(()), |(key, problem)| {
            Err(Error::config(format!("mac.{key}"), problem))
        })
    }

    /// The first key whose value is out of range or contradicts another, and what to do about it.
    fn find_problem(&self) -> Option<(&'static str, String)> {
        self.problem_of_rates()
            .or_else(|| self.problem_of_policy())
            .or_else(|| self.problem_of_access())
            .or_else(|| self.problem_of_numbers())
    }

    fn problem_of_rates(&self) -> Option<(&'static str, String)> {
        let rates = self.standard.rates_kbps();
        let (data_kbps, control_kbps) = (self.data_kbps(), self.control_kbps());
        for (key, rate_kbps) in [("rate_mbps", data_kbps), ("basic_rate_mbps", control_kbps)] {
            if !rates.contains(&rate_kbps) {
                let mbps: Vec<f64> = rates.iter().map(|kbps| f64::from(*kbps) / 1e3).collect();
                return Some((key, format!("must be one of {mbps:?}")));
            }
        }
        if control_kbps > data_kbps {
            let problem = "must not be above rate_mbps: answers never go faster than the data";
            return Some(("basic_rate_mbps", problem.to_owned()));
        }
        let preamble = self.preamble?;
        if self.standard != Standard::B {
            return Some(("preamble", "is 802.11b's: leave it out".to_owned()));
        }
        (preamble == Preamble::Short && control_kbps == 1_000).then(|| {
            let problem =
                "can't be short at 1 Mbit/s: set rate_mbps and basic_rate_mbps to 2 or more";
            ("preamble", problem.to_owned())
        })
    }

    fn problem_of_policy(&self) -> Option<(&'static str, String)> {
        if self.block_frames.is_some() && !self.policy.is_block() {
            let problem = "needs policy block_ack_burst or block_ack_each".to_owned();
            return Some(("block_frames", problem));
        }
        if !(1..=MAX_BLOCK_FRAMES).contains(&self.block_frames()) {
            let is = self.block_frames();
            return Some((
                "block_frames",
                format!("must be 1 to {MAX_BLOCK_FRAMES}, is {is}"),
            ));
        }
        let unanswered = self.policy == Policy::NoAck;
        if unanswered && self.tries.is_some_and(|tries| tries != 1) {
            return Some(("tries", "is 1 with policy no_ack: leave it out".to_owned()));
        }
        (unanswered && self.control_loss != 0.0).then(|| {
            let problem = "contradicts policy no_ack, which has no answers to lose";
            ("control_loss", problem.to_owned())
        })
    }

    fn problem_of_access(&self) -> Option<(&'static str, String)> {
        let (aifsn, timing) = (self.aifsn.unwrap_or(*AIFSN.start()), self.timing());
        if self.txop_ns() > MAX_TXOP_NS {
            return Some(("txop_ns", format!("must be 0 to {MAX_TXOP_NS}")));
        }
        if self.txop_ns() > 0 && self.policy == Policy::BlockAckEach {
            let problem = "contradicts policy block_ack_each, where each frame contends for itself";
            return Some(("txop_ns", problem.to_owned()));
        }
        if !AIFSN.contains(&aifsn) {
            return Some(("aifsn", format!("must be 2 to 15, is {aifsn}")));
        }
        for (key, cw) in [("cw_min", timing.cw_min), ("cw_max", timing.cw_max)] {
            if cw > MAX_CW || !(cw + 1).is_power_of_two() {
                let problem = format!("must be a power of two less 1, up to {MAX_CW}, is {cw}");
                return Some((key, problem));
            }
        }
        (timing.cw_min > timing.cw_max).then(|| {
            let is = timing.cw_max;
            ("cw_min", format!("must not be above cw_max, which is {is}"))
        })
    }

    fn problem_of_numbers(&self) -> Option<(&'static str, String)> {
        let tries = self.tries();
        if !(1..=MAX_TRIES).contains(&tries) {
            return Some(("tries", format!("must be 1 to {MAX_TRIES}, is {tries}")));
        }
        // The ranges also refuse NaN.
        if !(0.0..=1.0).contains(&self.control_loss) {
            let problem = format!("must be between 0 and 1, is {}", self.control_loss);
            return Some(("control_loss", problem));
        }
        let watts = [
            ("tx_watts", self.tx_watts),
            ("rx_watts", self.rx_watts),
            ("idle_watts", self.idle_watts),
        ];
        let bad = watts
            .into_iter()
            .find(|(_, watts)| !(0.0..=MAX_WATTS).contains(watts));
        bad.map(|(key, watts)| (key, format!("must be 0 to {MAX_WATTS}, is {watts}")))
    }

    /// What makes up the state of both ends, and so stays as it is while the relay runs.
    pub(crate) fn fixed_key_changed_by(&self, patched: &Self) -> Option<&'static str> {
        let watts = |config: &Self| (config.tx_watts, config.rx_watts, config.idle_watts);
        let windows = |config: &Self| (config.cw_min, config.cw_max);
        match patched {
            _ if self.standard != patched.standard => Some("standard"),
            _ if self.policy != patched.policy => Some("policy"),
            _ if self.block_frames != patched.block_frames => Some("block_frames"),
            _ if windows(self) != windows(patched) => Some("cw_min and cw_max"),
            _ if watts(self) != watts(patched) => Some("tx_watts, rx_watts and idle_watts"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> std::result::Result<MacConfig, String> {
        let config: MacConfig = serde_json::from_str(json).map_err(|e| e.to_string())?;
        let problem = config.find_problem();
        problem.map_or(Ok(config), |(key, what)| Err(format!("{key} {what}")))
    }

    #[test]
    fn a_standard_is_enough() {
        for (standard, data_kbps, control_kbps) in [
            ("802.11a", 54_000, 24_000),
            ("802.11b", 11_000, 2_000),
            ("802.11g", 54_000, 24_000),
        ] {
            let config = parse(&format!(r#"{{"standard":"{standard}"}}"#)).unwrap();
            assert_eq!(config, MacConfig::new(config.standard));
            assert_eq!(
                (config.data_kbps(), config.control_kbps()),
                (data_kbps, control_kbps)
            );
            assert_eq!((config.tries(), config.block_frames()), (7, 1));
        }
        let slow = parse(r#"{"standard":"802.11a","rate_mbps":18}"#).unwrap();
        assert_eq!(slow.control_kbps(), 12_000);
        let edca =
            parse(r#"{"standard":"802.11a","aifsn":3,"cw_min":7,"txop_ns":2048000}"#).unwrap();
        let timing = edca.timing();
        assert_eq!((timing.aifs_ns(), timing.cw_min), (16_000 + 3 * 9_000, 7));
        assert!(timing.qos && timing.cw_max == 1023);
        let block = parse(r#"{"standard":"802.11a","policy":"block_ack_each"}"#).unwrap();
        assert!(block.timing().qos && block.block_frames() == 16);
    }

    #[test]
    fn every_mistake_names_its_key() {
        for (json, key) in [
            (r#"{}"#, "standard"),
            (r#"{"standard":"802.11n"}"#, "802.11n"),
            (r#"{"standard":"802.11b","rate":11}"#, "rate"),
            (r#"{"standard":"802.11b","rate_mbps":54}"#, "rate_mbps"),
            (r#"{"standard":"802.11b","rate_mbps":-1}"#, "rate_mbps"),
            (
                r#"{"standard":"802.11a","rate_mbps":6,"basic_rate_mbps":24}"#,
                "basic_rate_mbps",
            ),
            (r#"{"standard":"802.11a","preamble":"long"}"#, "preamble"),
            (
                r#"{"standard":"802.11b","rate_mbps":1,"preamble":"short"}"#,
                "preamble",
            ),
            (r#"{"standard":"802.11b","policy":"none"}"#, "none"),
            (r#"{"standard":"802.11b","block_frames":4}"#, "block_frames"),
            (
                r#"{"standard":"802.11b","policy":"block_ack_burst","block_frames":65}"#,
                "block_frames",
            ),
            (
                r#"{"standard":"802.11b","policy":"no_ack","tries":3}"#,
                "tries",
            ),
            (
                r#"{"standard":"802.11b","policy":"no_ack","control_loss":0.1}"#,
                "control_loss",
            ),
            (r#"{"standard":"802.11a","txop_ns":3000000000}"#, "txop_ns"),
            (
                r#"{"standard":"802.11a","policy":"block_ack_each","txop_ns":2048000}"#,
                "txop_ns",
            ),
            (r#"{"standard":"802.11a","aifsn":1}"#, "aifsn"),
            (r#"{"standard":"802.11a","cw_min":8}"#, "cw_min"),
            (r#"{"standard":"802.11a","cw_min":2047}"#, "cw_min"),
            (r#"{"standard":"802.11a","cw_max":65535}"#, "cw_max"),
            (r#"{"standard":"802.11b","tries":0}"#, "tries"),
            (r#"{"standard":"802.11b","control_loss":2}"#, "control_loss"),
            (r#"{"standard":"802.11b","idle_watts":-1}"#, "idle_watts"),
        ] {
            let text = parse(json).unwrap_err();
            assert!(text.contains(key) && !text.contains('\n'), "{json}: {text}");
        }
    }
}
