// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Devices that a pattern's section is for: taken up when they come, and let go when they are gone. And those
//! that somebody else serves, until that one ends.

use std::collections::BTreeMap;

use anyhow::{Error, Result, bail};

use super::options::Common;
use super::place::{Place, label};
use super::settings::{Patterns, Settings, Wanted};
use crate::device::{self, real_name};

/// What was said last of each device that could not be taken up, and of each policy of one.
type Complaints = BTreeMap<(String, String), String>;

/// What the files have said of them, and what was said of devices that could not be taken up.
pub(super) struct Guests {
    patterns: Patterns,
    /// Devices that are to be served whether they are there or not.
    ordered: Vec<(String, Settings)>,
    /// Whether there was a configuration file.
    pub(super) had_file: bool,
    complaints: Complaints,
}

impl Guests {
    pub(super) fn of(wanted: &Wanted) -> Self {
        Self {
            patterns: wanted.patterns.clone(),
            ordered: {
                let named = wanted.devices.iter().filter(|(_, of)| !of.guest);
                named.cloned().collect()
            },
            had_file: wanted.has_file,
            complaints: BTreeMap::new(),
        }
    }

    /// Whether there is nobody to wait for.
    pub(super) fn are_none(&self) -> bool {
        self.patterns.is_empty() && self.ordered.is_empty()
    }

    /// What keeps a device, or a policy of one, from being taken up.
    pub(super) fn complain(&mut self, name: &str, policy: &str, error: &Error) {
        complain(&mut self.complaints, (name.into(), policy.into()), error);
    }

    /// Looks for devices that have come, or that nobody else serves any more, and makes a place for each.
    pub(super) fn take_up(&mut self, places: &mut Vec<Place>, common: &Common) {
        self.take_up_ordered(places, common);
        if self.patterns.is_empty() {
            return;
        }
        let there = device::names();
        let named: Vec<String> = self
            .ordered
            .iter()
            .map(|(name, _)| real_name(name))
            .collect();
        self.complaints
            .retain(|(name, _), _| there.contains(name) || named.contains(name));
        for name in there {
            for settings in self.patterns.settings_of(&name) {
                let index = || device::ifindex(&name);
                if is_served(places, &name, &settings.policy, index) {
                    continue;
                }
                match place(&name, settings, places, common) {
                    Ok(mut place) => {
                        place.open_or_complain();
                        places.push(place); // and looked at like one that came back
                    }
                    Err(error) => {
                        let of = (name.clone(), settings.policy.clone());
                        complain(&mut self.complaints, of, &error);
                    }
                }
            }
        }
    }

    fn take_up_ordered(&mut self, places: &mut Vec<Place>, common: &Common) {
        for (name, settings) in &self.ordered {
            if places.iter().any(|p| p.is_ordered(name, &settings.policy)) {
                continue;
            }
            let real = real_name(name);
            match Place::claim(&real, name, settings.clone(), common) {
                Ok(mut place) => {
                    place.open_or_complain();
                    places.push(place);
                }
                Err(error) => {
                    let of = (real, settings.policy.clone());
                    complain(&mut self.complaints, of, &error);
                }
            }
        }
    }
}

/// Once for each reason. @return whether it was said.
fn complain(complaints: &mut Complaints, of: (String, String), error: &Error) -> bool {
    let complaint = format!("{error:#}");
    let is_new = complaints.get(&of) != Some(&complaint);
    if is_new {
        let label = label(&of.0, &of.1);
        match complaint.strip_prefix(&label) {
            Some(_) => tracing::warn!("{complaint}; waiting for that"),
            None => tracing::warn!("{label}: {complaint}; waiting for that"),
        }
        complaints.insert(of, complaint);
    }
    is_new
}

/// Whether the device of that name is served already, perhaps by the name that it had. That takes system calls
/// (`index`), for each place that there is too many: of a hundred devices some 5,000 a second, in which nobody
/// is served.
fn is_served(
    places: &[Place],
    name: &str,
    policy: &str,
    index: impl FnOnce() -> Option<u32>,
) -> bool {
    let mut alike = places.iter().filter(|p| p.settings.policy == policy);
    alike.clone().any(|place| place.name == name)
        || index().is_some_and(|index| alike.any(|place| place.is_on(index)))
}

fn place(name: &str, settings: &Settings, places: &[Place], common: &Common) -> Result<Place> {
    let other = places.iter().find(|p| settings.share_a_mac(&p.settings));
    if let Some(other) = other {
        bail!(
            "mac_events is one link's, and {} has it: give each a section with its own",
            other.name
        );
    }
    Place::claim(name, name, settings.clone(), common)
}

#[cfg(test)]
mod tests {
    use super::super::place::tests::waiting;
    use super::*;

    /// Its index is asked for at most once, however many there are.
    #[test]
    fn whether_it_is_served_takes_one_look() {
        let dirs: Vec<_> = (0..20).map(|_| tempfile::tempdir().unwrap()).collect();
        let places: Vec<Place> = dirs
            .iter()
            .map(|dir| waiting(dir.path(), None, None))
            .collect();
        let asked = std::cell::Cell::new(0);
        let served = |name: &str, policy: &str| {
            asked.set(0);
            is_served(&places, name, policy, || {
                asked.set(asked.get() + 1);
                None
            })
        };
        assert!(served("none0", ""));
        assert_eq!(asked.get(), 0);
        assert!(!served("none1", ""));
        assert_eq!(asked.get(), 1);
        assert!(!served("none0", "voice"));
    }

    /// Two policies of a device each have their reason, which is said once.
    #[test]
    fn what_is_wrong_is_said_once_for_each_policy() {
        let mut complaints = Complaints::new();
        let mut look = |policy: &str, why: &'static str| {
            let of = ("wlan0".to_owned(), policy.to_owned());
            complain(&mut complaints, of, &Error::msg(why))
        };
        assert!(look("", "taken by process 7") && look("voice", "taken by process 8"));
        assert!(!look("", "taken by process 7") && !look("voice", "taken by process 8"));
        assert!(look("voice", "no memory") && !look("", "taken by process 7"));
    }
}
