// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the stations of a hop with a MAC took to send.

use crate::bed::counters::Counters;
use crate::cell::energy::EnergyFigures;
use crate::data::link::LinkOptions;
use crate::data::way::Way;

/// Each station sends one way, and has its account there.
pub(super) fn figures(
    link: &LinkOptions,
    before: &Counters,
    after: &Counters,
    goodput_mbit: f64,
) -> EnergyFigures {
    if link.mac.is_none() {
        return EnergyFigures::default();
    }
    let ways = [Way::Down, Way::Up].map(Way::emulator_direction);
    let energy_uj = ways.map(|way| after.hop_growth(before, way, |d| d.energy.energy_uj));
    EnergyFigures::new(energy_uj, goodput_mbit)
}
