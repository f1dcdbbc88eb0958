// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Losses that come in bursts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::units;

/// Errors of the hop in bursts (Gilbert's model).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Share of the packets that it loses in the long run.
    pub loss: f64,
    /// Mean number of packets that are lost in a row.
    pub mean_packets: f64,
}

impl FromStr for Burst {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write SHARE,PACKETS, such as 5%,4";
        let Some((loss, length)) = text.split_once(',') else {
            return Err(format!("`{text}` is no burst loss: {help}"));
        };
        let loss = units::fraction(loss)?;
        let mean_packets = length
            .parse::<f64>()
            .ok()
            .filter(|packets| *packets >= 1.0 && packets.is_finite())
            .ok_or_else(|| format!("`{length}` is no number of packets from 1 on: {help}"))?;
        // Between two bursts there is a packet that arrives.
        let most = mean_packets / (mean_packets + 1.0);
        if loss > most {
            return Err(format!(
                "`{text}`: bursts of {mean_packets} lose {:.0}% at the most",
                100.0 * most
            ));
        }
        Ok(Self { loss, mean_packets })
    }
}

impl fmt::Display for Burst {
    /// As the simulator reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.loss, self.mean_packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_share_and_length() {
        let burst: Burst = "5%,4".parse().unwrap();
        assert_eq!(burst.to_string(), "0.05,4");
        for wrong in ["5%", "5%,0.5", "90%,4", "5,4"] {
            assert!(wrong.parse::<Burst>().is_err(), "{wrong}");
        }
    }
}
