// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A policer at the hop: what a provider does to a tariff that is used up.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::units;
use crate::data::segment::FULL_FRAME_BYTES;

/// What is beyond the rate is dropped; nothing waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Police {
    /// Rate that it lets pass.
    pub rate_bps: u64,
    /// What that rate carries in so long may pass at once.
    pub burst_ns: u64,
}

impl FromStr for Police {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write RATE,TIME, such as 10mbit,50ms";
        let Some((rate, burst)) = text.split_once(',') else {
            return Err(format!("`{text}` is no policer: {help}"));
        };
        let police = Self {
            rate_bps: units::rate_bps(rate)?,
            burst_ns: units::duration_ns(burst)?,
        };
        if police.rate_bps == 0 || police.burst_bytes() < FULL_FRAME_BYTES {
            return Err(format!("`{text}` lets no full frame pass: {help}"));
        }
        Ok(police)
    }
}

impl Police {
    /// What may pass at once.
    pub fn burst_bytes(&self) -> u64 {
        (u128::from(self.rate_bps) * u128::from(self.burst_ns) / 8_000_000_000) as u64
    }
}

impl fmt::Display for Police {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = units::show_rate(self.rate_bps);
        let burst = units::show_duration(self.burst_ns);
        write!(f, "policed to {rate} with bursts of {burst}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_rate_and_time() {
        let police: Police = "10mbit,50ms".parse().unwrap();
        assert_eq!(police.burst_bytes(), 62_500);
        assert_eq!(police.to_string(), "policed to 10mbit with bursts of 50ms");
        for wrong in ["10mbit", "10mbit,1ms", "0,50ms", "10mbit,50"] {
            assert!(wrong.parse::<Police>().is_err(), "{wrong}");
        }
    }
}
