// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Looking for devices that went or came back, and for policies that are served since or no longer: then the
//! device's other agents have to go by other rules.

use anyhow::Result;

use super::place::Place;
use super::places::{bring_up, settle};
use super::{Daemon, names};

impl Daemon<'_> {
    /// Looks for devices that went or came back. True: it is time to end.
    pub(super) fn look(&mut self) -> Result<bool> {
        names::exchange(&mut self.places, &self.common);
        for index in 0..self.places.len() {
            let place = &mut self.places[index];
            if place.follows(&self.common) {
                continue;
            }
            if place.is_gone(self.options.once, &self.common) && self.options.once {
                return Ok(true);
            }
            bring_up(&mut self.places, index, &self.common, &self.budget);
        }
        self.places
            .retain(|place| !place.is_guest() || place.live.is_some() || place.is_there());
        // A reload does so itself, and the process that is about to take over reads the files.
        if self.reload.is_none() && self.next.is_none() {
            self.places.iter_mut().for_each(Place::follow_up_unasked);
            settle(&mut self.places);
        }
        Ok(false)
    }
}
