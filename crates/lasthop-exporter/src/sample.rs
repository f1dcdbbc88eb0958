// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What all agents of this network namespace said at one time.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lasthop::ask::Silence;
use serde_json::{Value, json};

/// Why a device's agent, or the directory of their sockets, could not be asked.
pub fn reason(silence: Silence) -> &'static str {
    match silence {
        Silence::Gone => "gone",
        Silence::Busy => "busy",
        Silence::Late => "late",
        Silence::Forbidden => "forbidden",
        Silence::Broken => "broken",
    }
}

/// What became of asking the agent of one device.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// It answered.
    Up {
        /// The object of `lasthop status -j`.
        status: Value,
        /// Those of `lasthop peers -j`.
        peers: Vec<Value>,
    },
    /// It did not.
    Down {
        /// One word: see [`reason`].
        reason: &'static str,
        /// A sentence.
        text: String,
    },
}

/// How often which agent could not be asked, by device (empty: the directory of their sockets) and
/// reason, since the exporter began.
pub type Errors = BTreeMap<(String, &'static str), u64>;

/// What all agents said.
#[derive(Debug, Clone)]
pub struct Sample {
    /// When they had.
    pub at: SystemTime,
    /// How long that took.
    pub took: Duration,
    /// By device: those that are served, that were in the last hour, and that should be.
    pub devices: BTreeMap<String, Said>,
    /// Why nobody at all could be asked; none: they could.
    pub problem: Option<String>,
    /// How often who could not be asked so far.
    pub errors: Errors,
}

impl Sample {
    /// Seconds since 1970.
    pub fn at_s(&self) -> f64 {
        let since = self.at.duration_since(UNIX_EPOCH).unwrap_or_default();
        (since.as_secs_f64() * 1000.0).round() / 1000.0
    }

    /// Devices whose agents answered: name, `status`, `peers`.
    pub fn up(&self) -> impl Iterator<Item = (&str, &Value, &[Value])> {
        self.devices.iter().filter_map(|(name, said)| match said {
            Said::Up { status, peers } => Some((name.as_str(), status, peers.as_slice())),
            Said::Down { .. } => None,
        })
    }

    /// The object of `/api/v1/now`.
    pub fn json(&self) -> Value {
        let device = |(name, said): (&String, &Said)| match said {
            Said::Up { status, peers } => {
                json!({ "dev": name, "up": true, "status": status, "peers": peers })
            }
            Said::Down { reason, text } => {
                json!({ "dev": name, "up": false, "reason": reason, "text": text })
            }
        };
        json!({
            "at_s": self.at_s(),
            "devices": self.devices.iter().map(device).collect::<Vec<_>>(),
            "problem": self.problem,
        })
    }

    /// Why there is nothing to tell, in one line; none: at least one agent answered.
    pub fn nothing(&self) -> Option<String> {
        if self.up().next().is_some() {
            return None;
        }
        let said = self.devices.iter().filter_map(|(name, said)| match said {
            Said::Down { text, .. } => Some(format!("{name}: {text}")),
            Said::Up { .. } => None,
        });
        let all: Vec<String> = self.problem.iter().cloned().chain(said).collect();
        Some(if all.is_empty() {
            "no agent is attached in this network namespace: start one with `lasthop attach DEV`"
                .into()
        } else {
            all.join("; ")
        })
    }
}
