// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Names of devices, which change while they are served: so do those of their places.

use super::options::Common;
use super::place::Place;

/// Where devices have exchanged their names among each other their places do so: each holds what another one wants.
pub(super) fn exchange(places: &mut [Place], common: &Common) {
    let wanted: Vec<Option<usize>> = places.iter().map(|of| holder(places, of)).collect();
    let mut done = vec![false; places.len()];
    for from in 0..places.len() {
        let Some(ring) = ring(&wanted, from).filter(|_| !done[from]) else {
            continue;
        };
        let before: Vec<String> = ring.iter().map(|&at| places[at].label()).collect();
        for pair in ring.windows(2) {
            let (low, high) = places.split_at_mut(pair[0].max(pair[1]));
            low[pair[0].min(pair[1])].exchange_names(&mut high[0]);
        }
        for (&at, before) in ring.iter().zip(before) {
            done[at] = true;
            places[at].say_renamed(&before, common);
        }
    }
}

/// The other place that has the name of the device of this one.
fn holder(places: &[Place], of: &Place) -> Option<usize> {
    let name = of.name_now().filter(|name| *name != of.name)?;
    let policy = &of.settings.policy;
    let has = |other: &Place| other.name == name && other.settings.policy == *policy;
    places.iter().position(has)
}

/// Who wants what the next one has, the last one what the first one has.
fn ring(wanted: &[Option<usize>], from: usize) -> Option<Vec<usize>> {
    let next = |at: &usize| wanted[*at];
    let way = std::iter::successors(Some(from), next).take(wanted.len() + 1);
    let back = way.clone().skip(1).position(|at| at == from)?;
    Some(way.take(back + 1).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_exchanges_names() {
        let wanted = [Some(1), Some(0), None, Some(2), Some(3)];
        assert_eq!(ring(&wanted, 0), Some(vec![0, 1]));
        assert_eq!(ring(&wanted, 1), Some(vec![1, 0]));
        for at in 2..5 {
            assert_eq!(ring(&wanted, at), None, "{at} waits for who stays");
        }
        let three = [Some(2), Some(0), Some(1), Some(1)];
        assert_eq!(ring(&three, 0), Some(vec![0, 2, 1]));
        assert_eq!(ring(&three, 3), None, "it only leads there");
    }
}
