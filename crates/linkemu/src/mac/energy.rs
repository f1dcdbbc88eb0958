// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What each station's radio does with its time, and what that costs.

use serde::{Deserialize, Serialize};

use super::config::MacConfig;

/// One station's account. The three times add up to that which has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Energy {
    /// Time in nanoseconds in which it sent.
    pub tx_ns: u64,
    /// In which it heard the other send, whatever became of that, and did not send itself.
    pub rx_ns: u64,
    /// In which it did neither.
    pub idle_ns: u64,
    /// Energy for all that, in microjoules.
    pub energy_uj: u64,
}

/// `[start, end)` of something on the air.
pub type Segment = (u64, u64);

/// The accounts of both stations.
#[derive(Debug, Default)]
pub struct Accounts {
    tx_ns: [u64; 2],
    rx_ns: [u64; 2],
}

impl Accounts {
    /// One exchange: what each station sent.
    pub fn add(&mut self, sent: &[Vec<Segment>; 2]) {
        for station in 0..2 {
            let (own, other) = (&sent[station], &sent[1 - station]);
            self.tx_ns[station] += total_ns(own);
            let both_ns: u64 = own
                .iter()
                .flat_map(|a| other.iter().map(|b| overlap_ns(*a, *b)))
                .sum();
            self.rx_ns[station] += total_ns(other) - both_ns;
        }
    }

    /// The account of one station as of `elapsed_ns`, which no exchange ends after.
    pub fn of(&self, station: usize, elapsed_ns: u64, config: &MacConfig) -> Energy {
        let (tx_ns, rx_ns) = (self.tx_ns[station], self.rx_ns[station]);
        let idle_ns = elapsed_ns.saturating_sub(tx_ns + rx_ns);
        let nanojoules = tx_ns as f64 * config.tx_watts
            + rx_ns as f64 * config.rx_watts
            + idle_ns as f64 * config.idle_watts;
        Energy {
            tx_ns,
            rx_ns,
            idle_ns,
            energy_uj: (nanojoules / 1e3).round() as u64,
        }
    }
}

/// Length of segments together.
pub fn total_ns(segments: &[Segment]) -> u64 {
    segments.iter().map(|(start, end)| end - start).sum()
}

fn overlap_ns(a: Segment, b: Segment) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::timing::Standard;

    #[test]
    fn who_sends_does_not_hear_the_other() {
        let mut accounts = Accounts::default();
        accounts.add(&[vec![(0, 1_000), (1_100, 1_200)], vec![(0, 1_150)]]);
        let config = MacConfig::new(Standard::B);
        let [a, b] = [0, 1].map(|station| accounts.of(station, 2_000, &config));
        assert_eq!((a.tx_ns, a.rx_ns, a.idle_ns), (1_100, 100, 800));
        assert_eq!((b.tx_ns, b.rx_ns, b.idle_ns), (1_150, 50, 800));
    }

    /// Kim and Chung (2007) print 26 to 39 J for 100 s: idle power makes most of it.
    #[test]
    fn joules() {
        const SECOND: u64 = 1_000_000_000;
        let mut accounts = Accounts::default();
        accounts.add(&[vec![(0, 20 * SECOND)], vec![(20 * SECOND, 30 * SECOND)]]);
        let energy = accounts.of(0, 100 * SECOND, &MacConfig::new(Standard::B));
        assert_eq!(energy.energy_uj, 12_000_000 + 3_000_000 + 21_000_000);
    }
}
