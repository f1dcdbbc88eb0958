// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Reading the configuration again: which devices are served, and each of them how.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use serde_json::Value;

use super::change::told;
use super::guests::Guests;
use super::options::Common;
use super::place::{Place, label};
use super::places::{bring_up, serves, settle};
use super::settings::{Orders, Settings, Wanted};
use crate::control::Question;
use crate::device;
use crate::memory::Budget;

/// A reload that is under way: programs are being loaded.
#[derive(Default)]
pub(super) struct Reload {
    /// Who wants to know what came of it.
    asked: Vec<Question>,
    lines: Vec<Value>,
    /// Who is not attached yet, and is being tried.
    trying: Vec<Trying>,
}

/// A place that was not attached when the files were read.
struct Trying {
    ordered: String,
    policy: String,
    /// What came of the files for it, where its device is away.
    what: &'static str,
}

fn find(places: &[Place], ordered: &str, policy: &str) -> Option<usize> {
    let mut all = places.iter();
    all.position(|place| place.is_ordered(ordered, policy))
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
                reload.tell_of_later(&budget.keys_of_change(&after), places);
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
            let stays = anyhow!(
                "runtime_dir stays {} until the process is started anew",
                common.runtime_dir.display()
            );
            self.lines.push(told(None, "failed", Some(&stays)));
        }
        self.keep_wanted(&wanted, common, places);
        // Not for what was to follow before.
        places.iter_mut().for_each(|place| place.following = None);
        let is_live = |name: &str, policy: &str, places: &[Place]| {
            find(places, name, policy).is_some_and(|at| places[at].live.is_some())
        };
        let (live, others): (Vec<_>, Vec<_>) = wanted
            .devices
            .into_iter()
            .partition(|(name, settings)| is_live(name, &settings.policy, places));
        // Those first: whether there is memory for a policy decides whose its connections are.
        for (name, settings) in others {
            self.add((name, settings), (common, &wanted.budget), places);
        }
        for (name, mut settings) in live {
            let Some(at) = find(places, &name, &settings.policy) else {
                continue;
            };
            settings.setup.rules = settings.rules_beside(|policy| serves(places, at, policy));
            self.lines.extend(places[at].change(settings));
        }
    }

    /// Says which of the files' keys are new, but only for what is attached from now on.
    fn tell_of_later(&mut self, keys: &[&str], places: &[Place]) {
        if keys.is_empty() || places.iter().all(|place| place.live.is_none()) {
            return;
        }
        let later = anyhow!(
            "{}: what is attached keeps the memory that it has until it is attached anew",
            keys.join(", ")
        );
        self.lines.push(told(None, "unchanged", Some(&later)));
    }

    /// Has one attached that is not, if its device is there. What comes of that is told in the end.
    fn add(
        &mut self,
        (ordered, settings): (String, Settings),
        (common, budget): (&Common, &Budget),
        places: &mut Vec<Place>,
    ) {
        let policy = settings.policy.clone();
        let real = device::real_name(&ordered);
        let called = label(&real, &policy);
        let found = find(places, &ordered, &policy);
        let what = match found {
            Some(at) => places[at].try_change(settings),
            None => Place::claim(&real, &ordered, settings, common).map(|place| {
                places.push(place);
                Some("added")
            }),
        };
        match what {
            Ok(what) => {
                let at = found.unwrap_or(places.len() - 1);
                places[at].try_anew();
                bring_up(places, at, common, budget);
                self.trying.push(Trying {
                    ordered,
                    policy,
                    what: what.unwrap_or("changed"),
                });
            }
            Err(error) => self.lines.push(told(Some(&called), "failed", Some(&error))),
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
        for line in places.iter_mut().filter_map(Place::follow_up) {
            // Other rules may have followed what came of the files.
            let is_older =
                |other: &Value| other["dev"] == line["dev"] && other["reload"] != "removed";
            self.lines.retain(|other| !is_older(other));
            self.lines.push(line);
        }
        self.look_at_those_tried(places);
        settle(places);
        if !self.trying.is_empty() || places.iter().any(|place| place.following.is_some()) {
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

    fn look_at_those_tried(&mut self, places: &mut [Place]) {
        for one in std::mem::take(&mut self.trying) {
            let Some(at) = find(places, &one.ordered, &one.policy) else {
                continue; // one that was served while its device was there, and that is gone
            };
            let line = match places[at].outcome() {
                Some(Ok(true)) => places[at].told("added"),
                Some(Ok(false)) => places[at].told(one.what),
                Some(Err(why)) => told(Some(&places[at].label()), "failed", Some(&why)),
                None => {
                    self.trying.push(one);
                    continue;
                }
            };
            self.lines.push(line);
        }
    }
}
