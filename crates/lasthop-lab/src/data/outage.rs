// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! When the lossy hop lets nothing through.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::units;

/// A scheduled outage of the lossy hop, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// First moment of the outage, after the transfer began (`up`: after the emulator did).
    pub start_ns: u64,
    /// How long it lasts.
    pub length_ns: u64,
    /// From the beginning of one outage to that of the next; none: there is only one.
    pub period_ns: Option<u64>,
}

impl FromStr for Outage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(',').collect();
        if !(2..=3).contains(&parts.len()) {
            return Err(format!(
                "`{text}` is no outage: write START,LENGTH or START,LENGTH,PERIOD, such as 6s,300ms,5s"
            ));
        }
        let times = parts
            .iter()
            .map(|part| units::duration_ns(part))
            .collect::<Result<Vec<_>, _>>()?;
        let period_ns = times.get(2).copied();
        if times[1] == 0 || period_ns.is_some_and(|period| period <= times[1]) {
            return Err(format!(
                "`{text}`: the length must be above 0 and below the period"
            ));
        }
        Ok(Self {
            start_ns: times[0],
            length_ns: times[1],
            period_ns,
        })
    }
}

impl Outage {
    /// The outages that begin before `until_ns`, as `[start, end)` relative to the first moment
    /// of the transfer.
    pub fn intervals_ns(self, until_ns: u64) -> impl Iterator<Item = (u64, u64)> {
        // A single one is a period that never comes round.
        let period_ns = self.period_ns.unwrap_or(u64::MAX).max(1);
        let starts_ns = std::iter::successors(Some(self.start_ns), move |start_ns| {
            start_ns.checked_add(period_ns)
        });
        starts_ns
            .take_while(move |start_ns| *start_ns < until_ns)
            .map(move |start_ns| (start_ns, start_ns + self.length_ns))
    }

    /// Share of the window `[from_ns, to_ns)` during which the hop is out.
    pub fn share(self, from_ns: u64, to_ns: u64) -> f64 {
        let out_ns: u64 = self
            .intervals_ns(to_ns)
            .map(|(start_ns, end_ns)| end_ns.min(to_ns).saturating_sub(start_ns.max(from_ns)))
            .sum();
        out_ns as f64 / (to_ns.saturating_sub(from_ns)).max(1) as f64
    }
}
