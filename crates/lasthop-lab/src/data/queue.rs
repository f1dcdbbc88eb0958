// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How long a queue may become.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::segment::FULL_FRAME_BYTES;

/// The smallest queue that `bdp` gives, so that a short fat link still has one worth the name.
const MIN_BDP_QUEUE_PACKETS: u64 = 20;

/// Tail-drop limit of the lossy hop, each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Queue {
    /// One bandwidth-delay product of the whole path, at least 20 packets.
    #[default]
    Bdp,
    /// So many packets.
    Packets(u64),
}

impl FromStr for Queue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "bdp" {
            return Ok(Self::Bdp);
        }
        match text.parse::<u64>() {
            Ok(packets @ 1..=1_000_000) => Ok(Self::Packets(packets)),
            _ => Err(format!(
                "`{text}` is no queue: write bdp or a number of packets from 1 to 1000000"
            )),
        }
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bdp => f.write_str("bdp"),
            Self::Packets(packets) => packets.fmt(f),
        }
    }
}

impl Queue {
    /// So many packets, at a link of that rate on a path of that round trip.
    pub fn packets(self, rate_bps: u64, rtt_ns: u64) -> u64 {
        match self {
            Self::Packets(packets) => packets,
            Self::Bdp => {
                let bits = u128::from(rate_bps) * u128::from(rtt_ns) / 1_000_000_000;
                let packets = (bits / 8) as u64 / FULL_FRAME_BYTES;
                packets.clamp(MIN_BDP_QUEUE_PACKETS, 1_000_000)
            }
        }
    }
}
