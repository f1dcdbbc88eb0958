// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Settings of the stations of a link: receivers behind one device that each have a rate, a loss
//! or a queue of their own, as the stations of a Wi-Fi access point or the modems of a head end.

use std::collections::HashSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Bounds what is searched for each frame.
const MAX_STATIONS: usize = 1024;

/// One station. What it does not say is as the direction has it; queue and transmitter are its own
/// in any case.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StationConfig {
    /// Its addresses, of either family. They can't change while the relay runs.
    pub addresses: Vec<IpAddr>,
    /// In place of the direction's rate, wave or trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// In place of the direction's loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// In place of the direction's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_frames: Option<usize>,
}

/// What is wrong with a list of stations, apart from their numbers, if anything is.
pub(crate) fn problem_of(stations: &[StationConfig]) -> Option<String> {
    if stations.len() > MAX_STATIONS {
        let given = stations.len();
        return Some(format!("must be at most {MAX_STATIONS}, are {given}"));
    }
    if let Some(nameless) = stations.iter().position(|s| s.addresses.is_empty()) {
        return Some(format!("station {nameless} has no addresses"));
    }
    let mut seen = HashSet::new();
    let mut addresses = stations.iter().flat_map(|s| &s.addresses);
    let twice = addresses.find(|address| !seen.insert(**address))?;
    Some(format!("{twice} is an address of two stations"))
}
