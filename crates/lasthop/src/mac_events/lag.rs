// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How long the MAC's reports take to us: a repair can't be sooner.

use std::fmt;

/// Times that are kept, the last ones.
const KEPT: usize = 4096;

/// From the MAC's answer until the core was told, for each report.
#[derive(Debug, Default)]
pub struct Lag {
    last_us: Vec<u32>,
    reports: u64,
}

impl Lag {
    /// A report of what was at `at_ns` is done with.
    pub fn note(&mut self, at_ns: u64, now_ns: u64) {
        let lag_us = u32::try_from(now_ns.saturating_sub(at_ns) / 1000).unwrap_or(u32::MAX);
        let at = (self.reports % KEPT as u64) as usize;
        match self.last_us.get_mut(at) {
            Some(place) => *place = lag_us,
            None => self.last_us.push(lag_us),
        }
        self.reports += 1;
    }

    /// Reports so far.
    pub fn reports(&self) -> u64 {
        self.reports
    }
}

impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.last_us.clone();
        sorted.sort_unstable();
        let quantile = |percent| {
            let last = sorted.len().saturating_sub(1);
            sorted.get(last * percent / 100).copied().unwrap_or(0)
        };
        write!(
            f,
            "{} reports of the MAC, known after {} us (median), {} us (99 %), {} us at the most",
            self.reports,
            quantile(50),
            quantile(99),
            quantile(100)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_summed_up() {
        let mut lag = Lag::default();
        for us in (0..KEPT as u64 + 1).rev() {
            lag.note(5000, 5000 + us * 1000);
        }
        assert_eq!(lag.reports(), 4097);
        assert_eq!(
            lag.to_string(),
            "4097 reports of the MAC, known after 2047 us (median), 4054 us (99 %), 4095 us at the most"
        );
        lag.note(9, 3); // a clock ahead
    }

    #[test]
    fn none_at_all() {
        let text = Lag::default().to_string();
        assert!(text.starts_with("0 reports"), "{text}");
    }
}
