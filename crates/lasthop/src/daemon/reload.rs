// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Reading the configuration again: which devices are served, and each of them how.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::change::told;
use super::guests::Guests;
use super::options::Common;
use super::place::{Place, label};
use super::settings::{Orders, Wanted};
use crate::control::Question;
use crate::device;
use crate::memory::Budget;

/// A reload that is under way: programs are being loaded.
#[derive(Default)]
pub(super) struct Reload {
    /// Who wants to know what came of it.
    asked: Vec<Question>,
    lines: Vec<Value>,
}

impl Reload {
    /// Reads what is ordered, and begins to do it. What is wrong in the files leaves all as it is.
    pub(super) fn begin(
        orders: &Orders,
        common: &Common,
        (budget, guests): (&mut Budget, &mut Guests),
        places: &mut Vec<Place>,
    ) -> Self {
        let mut reload = Self::default();
        let taken = places.iter().map(Place::taken_bytes).sum();
        let wanted = orders.read(taken);
        match wanted.and_then(|wanted| wanted.unless_lost(guests.had_file)) {
            Ok(wanted) => {
                let after = wanted.budget.clone();
                *guests = Guests::of(&wanted);
                reload.change(wanted, common, places);
                let taken = places.iter().map(Place::taken_bytes);
                let taken: Vec<u64> = taken.filter(|bytes| *bytes > 0).collect();
                after.warn_of_more(taken.len(), taken.iter().sum());
                *budget = after;
            }
            Err(error) => {
                tracing::warn!("still as before: {error:#}");
                reload.lines.push(told(None, "failed", Some(&error)));
            }
        }
        reload
    }

    /// One more who wants to know.
    pub(super) fn asked_by(&mut self, question: Question) {
        self.asked.push(question);
    }

    fn change(&mut self, wanted: Wanted, common: &Common, places: &mut Vec<Place>) {
        if wanted.runtime_dir != common.runtime_dir {
            tracing::warn!("runtime_dir stays what it was until the process is started anew");
        }
        self.keep_wanted(&wanted, common, places);
        for (name, settings) in wanted.devices {
            let real = device::real_name(&name);
            let called = label(&real, &settings.policy);
            let place = places
                .iter_mut()
                .filter(|place| place.settings.policy == settings.policy)
                .find(|place| place.ordered == name);
            let line = match place {
                Some(place) => place.change(settings),
                None => match Place::claim(&real, settings, common) {
                    Ok(mut place) => {
                        place.ordered = name;
                        places.push(place); // and looked at like one that came back
                        Some(told(Some(&called), "added", None))
                    }
                    Err(error) => Some(told(Some(&called), "failed", Some(&error))),
                },
            };
            self.lines.extend(line);
        }
    }

    /// Lets those go that no section is for. One is for the device that is called so by now; by the name that
    /// it was ordered by a place is known only where none is for the one that it has, and nobody else has that.
    fn keep_wanted(&mut self, wanted: &Wanted, common: &Common, places: &mut Vec<Place>) {
        let order = |name: &str, policy: &str| (name.to_owned(), policy.to_owned());
        let mut kept = BTreeSet::new();
        let mut called = BTreeMap::new();
        for (name, settings) in &wanted.devices {
            let (real, policy) = (device::real_name(name), &settings.policy);
            let is_it = |place: &&mut Place| place.name == real && place.settings.policy == *policy;
            if let Some(place) = places.iter_mut().find(is_it) {
                place.ordered.clone_from(name);
                called.insert(order(name, policy), real);
            }
            kept.insert(order(name, policy));
        }
        places.retain_mut(|place| {
            let by = order(&place.ordered, &place.settings.policy);
            let stays = match called.get(&by) {
                Some(real) => *real == place.name,
                None => kept.contains(&by),
            };
            if !stays {
                place.leave(common);
                self.lines.push(told(Some(&place.label()), "removed", None));
            }
            stays
        });
    }

    /// Goes on. True: all is done, and who asked has been told.
    pub(super) fn goes_on(&mut self, places: &mut [Place]) -> bool {
        let done = places.iter_mut().filter_map(Place::follow_up);
        self.lines.extend(done);
        if places.iter().any(|place| place.following.is_some()) {
            return false;
        }
        let failed = |line: &&Value| line["reload"] == "failed";
        for line in self.lines.iter().filter(failed) {
            tracing::warn!("reload: {line}");
        }
        let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        for question in self.asked.drain(..) {
            question.say(text.clone());
        }
        true
    }
}
