// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Devices that a pattern's section is for: taken up when they come, and let go when they are gone.

use std::collections::BTreeMap;

use anyhow::{Error, Result, bail};

use super::options::Common;
use super::place::Place;
use super::settings::{Patterns, Settings, Wanted};
use crate::device;

/// What the files have said of them, and what was said of devices that could not be taken up.
pub(super) struct Guests {
    patterns: Patterns,
    /// Whether there was a configuration file.
    pub(super) had_file: bool,
    complaints: BTreeMap<String, String>,
}

impl Guests {
    pub(super) fn of(wanted: &Wanted) -> Self {
        Self {
            patterns: wanted.patterns.clone(),
            had_file: wanted.has_file,
            complaints: BTreeMap::new(),
        }
    }

    /// Whether there is nobody to wait for.
    pub(super) fn are_none(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Looks for devices that have come, and makes a place for each.
    pub(super) fn take_up(&mut self, places: &mut Vec<Place>, common: &Common) {
        if self.are_none() {
            return;
        }
        let there = device::names();
        self.complaints.retain(|name, _| there.contains(name));
        for name in there {
            for settings in self.patterns.settings_of(&name) {
                if places.iter().any(|place| serves(place, &name, settings)) {
                    continue;
                }
                match place(&name, settings, places, common) {
                    Ok(place) => places.push(place), // and looked at like one that came back
                    Err(error) => complain(&mut self.complaints, &name, &error),
                }
            }
        }
    }
}

/// Once for each reason.
fn complain(complaints: &mut BTreeMap<String, String>, name: &str, error: &Error) {
    let complaint = format!("{error:#}");
    if complaints.get(name) != Some(&complaint) {
        tracing::warn!("{name}: {complaint}");
        complaints.insert(name.to_owned(), complaint);
    }
}

fn serves(place: &Place, name: &str, settings: &Settings) -> bool {
    let index_of = |place: &Place| place.live.as_ref().map(|live| live.ifindex);
    let is_it = || index_of(place).is_some_and(|index| Some(index) == device::ifindex(name));
    place.settings.policy == settings.policy && (place.name == name || is_it())
}

fn place(name: &str, settings: &Settings, places: &[Place], common: &Common) -> Result<Place> {
    let other = places.iter().find(|p| settings.share_a_mac(&p.settings));
    if let Some(other) = other {
        bail!(
            "mac_events is one link's, and {} has it: give each a section with its own",
            other.name
        );
    }
    Place::claim(name, settings.clone(), common)
}
