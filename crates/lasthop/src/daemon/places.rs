// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What one place is to another: whose a device is, whose a policy's connections are, and what memory the
//! others take.

use super::options::Common;
use super::place::Place;
use crate::device;
use crate::memory::Budget;

/// Goes on with attaching to the device of the place at `index`, if that is there.
pub(super) fn bring_up(places: &mut [Place], index: usize, common: &Common, budget: &Budget) {
    places[index].go_on_opening();
    let Some(ifindex) = device::ifindex(&places[index].name) else {
        return;
    };
    let others = taken_by_others(places, index);
    match who_serves(places, ifindex, index) {
        Some(other) => places[index].waits_for(&other),
        None => places[index].come_back(common, budget, &others),
    }
}

/// Has every agent leave to policies what those can serve, and no more: connections of one that can't be
/// attached are helped by the device's own agent until it can.
pub(super) fn settle(places: &mut [Place]) {
    for index in 0..places.len() {
        let place = &places[index];
        if place.settings.left.is_empty() || !place.is_at_rest() {
            continue;
        }
        let rules = place.settings.rules_beside(|p| serves(places, index, p));
        if rules != place.settings.setup.rules {
            places[index].go_by(rules);
        }
    }
}

/// Whether a policy of the device at `index` has its connections.
pub(super) fn serves(places: &[Place], index: usize, policy: &str) -> bool {
    let of = &places[index];
    let ifindex = of.live.as_ref().map(|live| live.ifindex);
    let same = |place: &&Place| place.name == of.name || ifindex.is_some_and(|i| place.is_on(i));
    let mut named = places.iter().filter(|p| p.settings.policy == policy);
    named.find(same).is_some_and(Place::is_served)
}

/// The place that serves the device of that index, for the connections that the one at `of` is for. It may be
/// called otherwise.
fn who_serves(places: &[Place], ifindex: u32, of: usize) -> Option<String> {
    let policy = &places[of].settings.policy;
    let mut same = places.iter().filter(|p| p.settings.policy == *policy);
    same.find(|p| p.is_on(ifindex)).map(Place::label)
}

/// What the maps take of all places but one.
fn taken_by_others(places: &[Place], index: usize) -> Vec<u64> {
    let others = places.iter().enumerate().filter(|(i, _)| *i != index);
    let taken = others.map(|(_, place)| place.taken_bytes());
    taken.filter(|bytes| *bytes > 0).collect()
}
