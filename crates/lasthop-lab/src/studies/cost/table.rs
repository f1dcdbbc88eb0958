// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Forwarding, round by round, as medians with and without.

use super::lines::{Forwarding, Line};
use crate::base::stats::median;
use crate::data::scheme::NO_AGENT;

/// Medians of what was measured of one helper at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Who stood there.
    pub helper: String,
    /// Of what grows.
    pub x: f64,
    /// Gbit per second.
    pub gbit_s: f64,
    /// Processor time per Gbit, of the whole machine.
    pub s_per_gbit: f64,
    /// That less the one of nobody in the same round: the median, the least and the greatest.
    pub share: Option<[f64; 3]>,
    /// Part of the machine's time that others had, at the most.
    pub others: f64,
}

/// All of an axis, in the order of measuring.
pub fn cells(lines: &[Line], axis: &str) -> Vec<Cell> {
    let of_axis: Vec<&Forwarding> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Forwarding(one) if one.axis == axis => Some(one),
            _ => None,
        })
        .collect();
    let mut places: Vec<(f64, &str)> = Vec::new();
    for one in &of_axis {
        let place = (one.x, one.helper.as_str());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let cell = |(x, helper): (f64, &str)| {
        let own = of_axis
            .iter()
            .filter(|one| one.x == x && one.helper == helper);
        let own: Vec<&Forwarding> = own.copied().collect();
        cell(&own, &of_axis)
    };
    places.into_iter().filter_map(cell).collect()
}

fn cell(own: &[&Forwarding], all: &[&Forwarding]) -> Option<Cell> {
    let first = own.first()?;
    let middle =
        |of: fn(&Forwarding) -> f64| median(&own.iter().map(|one| of(one)).collect::<Vec<_>>());
    let others = own.iter().map(|one| one.others());
    Some(Cell {
        helper: first.helper.clone(),
        x: first.x,
        gbit_s: middle(|one| one.gbit / one.seconds)?,
        s_per_gbit: middle(|one| one.cpu_s_per_gbit)?,
        share: share(own, all),
        others: others.fold(0.0, f64::max),
    })
}

/// Of nobody there is none.
fn share(own: &[&Forwarding], all: &[&Forwarding]) -> Option<[f64; 3]> {
    let more = own.iter().filter(|one| one.helper != NO_AGENT);
    let more = more.filter_map(|one| {
        let without = all.iter().find(|other| {
            other.helper == NO_AGENT && other.x == one.x && other.round == one.round
        })?;
        Some(one.cpu_s_per_gbit - without.cpu_s_per_gbit)
    });
    let more: Vec<f64> = more.collect();
    Some([
        median(&more)?,
        more.iter().copied().reduce(f64::min)?,
        more.iter().copied().reduce(f64::max)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(helper: &str, round: u32, cost: f64) -> Line {
        Line::Forwarding(Forwarding {
            axis: "gro".into(),
            x: 1.0,
            helper: helper.into(),
            round,
            seconds: 2.0,
            gbit: 20.0,
            machine_s: 4.0,
            others_s: 1.0,
            cpu_s_per_gbit: cost,
        })
    }

    #[test]
    fn what_the_agent_adds_is_told_round_by_round() {
        let lines = [
            line("none", 1, 0.1),
            line("rack", 1, 0.15),
            line("none", 2, 0.3),
            line("rack", 2, 0.32),
            line("rack", 3, 9.0),
        ];
        let cells = cells(&lines, "gro");
        let [none, rack] = &cells[..] else {
            panic!("{cells:?}");
        };
        assert_eq!((none.share, none.gbit_s, none.others), (None, 10.0, 0.25));
        let [middle, least, most] = rack.share.unwrap();
        assert!((middle - 0.035).abs() < 1e-9 && (least - 0.02).abs() < 1e-9);
        assert!((most - 0.05).abs() < 1e-9);
        assert_eq!(rack.s_per_gbit, 0.32);
        assert!(super::cells(&lines, "flows").is_empty());
    }
}
