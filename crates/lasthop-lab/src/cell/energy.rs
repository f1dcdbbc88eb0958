// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the hop's radios spend (`--mac`).

use serde::{Deserialize, Serialize};

use crate::base::stats::rounded;

/// The fields of a record about energy; null without a medium.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
#[serde(default)]
pub struct EnergyFigures {
    pub base_energy_j: Option<f64>,
    pub mobile_energy_j: Option<f64>,
    pub goodput_per_energy: Option<f64>,
}

impl EnergyFigures {
    /// Of what the base's radio and the mobile host's spent, in microjoules, for that goodput.
    pub fn new([base_uj, mobile_uj]: [u64; 2], goodput_mbit: f64) -> Self {
        let joules = |uj: u64| rounded(uj as f64 / 1e6, 3);
        let per_joule = |uj: u64| rounded(goodput_mbit * 1e3 / (uj as f64 / 1e6), 3);
        Self {
            base_energy_j: Some(joules(base_uj)),
            mobile_energy_j: Some(joules(mobile_uj)),
            goodput_per_energy: (mobile_uj > 0).then(|| per_joule(mobile_uj)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_per_energy_is_that_of_the_mobile_host() {
        // Kim and Chung 2007, at 5 %: 2.1 Mbit/s and 39 J.
        let figures = EnergyFigures::new([50_000_000, 39_000_000], 2.1);
        assert_eq!(figures.base_energy_j, Some(50.0));
        assert_eq!(figures.mobile_energy_j, Some(39.0));
        assert_eq!(figures.goodput_per_energy, Some(53.846));
        assert_eq!(EnergyFigures::new([0, 0], 1.0).goodput_per_energy, None);
    }
}
