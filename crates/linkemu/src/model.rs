// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The link of one direction in virtual time: a queue, a transmitter, and frames in flight.
//!
//! Each frame starts at max(arrival, end of the previous transmission), and the effects say how
//! long it takes and whether it arrives. Nothing here depends on when the caller gets round to
//! ask, so a late caller shifts no later frame.

use crate::config::{Direction, DirectionConfig};
use crate::effect::{Chain, Passage, Stage};
use crate::entrance::Entrance;
use crate::exits::Exits;
pub use crate::exits::{Exit, Fate};
use crate::frame::FrameMeta;
use crate::label::Label;
use crate::queue::Waiting;

/// Answer to a frame that arrives.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<T> {
    /// The link has taken it; it comes back from [`LinkModel::pop_due`].
    Queued,
    /// The queue is full; here it is back.
    QueueDropped(T),
}

/// One direction of a link. `T` is whatever stands for the frame's bytes.
pub struct LinkModel<T> {
    entrance: Entrance<T>,
    effects: Chain,
    exits: Exits<T>,
    may_overtake: bool,
    /// From the beginning of a transmission to the delivery it is never less than this.
    least_delay_ns: u64,
    /// End of the latest transmission.
    link_free_ns: u64,
}

impl<T: Send + 'static> LinkModel<T> {
    /// An idle link with the effects of `config`, their generators seeded for `direction`.
    pub fn new(config: &DirectionConfig, seed: u64, direction: Direction) -> Self {
        let stages = [Stage::Transmission, Stage::Loss, Stage::Delay];
        let effects = Chain::new(config, seed, direction, &stages);
        Self {
            entrance: Entrance::new(config, seed, direction),
            may_overtake: effects.may_overtake(),
            least_delay_ns: effects.least_delay_ns(),
            effects,
            exits: Exits::new(),
            link_free_ns: 0,
        }
    }

    /// Takes over new settings. They hold for every frame whose transmission has not begun;
    /// frames that wait beyond a smaller queue limit stay.
    pub fn configure(&mut self, config: &DirectionConfig) {
        self.entrance.configure(config);
        self.effects.configure(config);
        self.may_overtake = self.effects.may_overtake();
        self.least_delay_ns = self.effects.least_delay_ns();
    }

    /// A frame reaches the link at `arrival_ns`; arrivals never go back in time.
    pub fn push(&mut self, meta: FrameMeta, token: T, arrival_ns: u64) -> Verdict<T> {
        self.push_labelled(meta, Label::default(), token, arrival_ns)
    }

    /// As [`LinkModel::push`], of a frame with what queue disciplines look at.
    pub fn push_labelled(
        &mut self,
        meta: FrameMeta,
        label: Label,
        token: T,
        arrival_ns: u64,
    ) -> Verdict<T> {
        self.advance(arrival_ns);
        let frame = Waiting::new(token, meta, label, arrival_ns);
        if let Err(refused) = self.entrance.push(frame, &mut self.exits) {
            return Verdict::QueueDropped(refused.token);
        }
        if self.link_free_ns <= arrival_ns && self.entrance.frames() > 0 {
            // Whatever waited has begun by now: this frame finds the link idle.
            self.transmit_next(arrival_ns);
        }
        Verdict::Queued
    }

    /// The next frame that has left the link by `now_ns`, in order of due time. All frames that
    /// arrived by then have been pushed.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<Exit<T>> {
        self.pop_due_of(now_ns, now_ns)
    }

    /// The same, of a caller who has pushed what arrived by `known_ns` alone. It misses nothing as
    /// long as that is no further back than [`LinkModel::least_delay_ns`].
    pub(crate) fn pop_due_of(&mut self, known_ns: u64, now_ns: u64) -> Option<Exit<T>> {
        self.first_due_ns(known_ns, now_ns)?;
        self.exits.pop()
    }

    /// Due time of what [`LinkModel::pop_due_of`] would return.
    pub(crate) fn first_due_ns(&mut self, known_ns: u64, now_ns: u64) -> Option<u64> {
        self.advance(known_ns.min(now_ns));
        let due_ns = self.exits.first_due_ns();
        due_ns.filter(|due_ns| *due_ns <= now_ns)
    }

    /// When [`LinkModel::pop_due`] should be called next; `None` while the link is empty.
    pub fn next_due_ns(&self) -> Option<u64> {
        let due_ns = self.exits.first_due_ns();
        // A waiting frame leaves after those in flight, so it needs no wake-up of its own unless
        // it may overtake them.
        if due_ns.is_some() && !self.may_overtake {
            return due_ns;
        }
        let waits = self.entrance.frames() > 0;
        let least_ns = waits.then_some(self.link_free_ns + self.least_delay_ns);
        due_ns.into_iter().chain(least_ns).min()
    }

    /// A frame takes no less than this from its arrival to its delivery.
    pub(crate) fn least_delay_ns(&self) -> u64 {
        self.least_delay_ns
    }

    /// Frames that wait for transmission.
    pub fn queue_frames(&self) -> usize {
        self.entrance.frames()
    }

    /// Frames in transmission or on their way.
    pub fn in_flight_frames(&self) -> usize {
        self.exits.len()
    }

    /// Starts every transmission that begins by `now_ns`. What waits has found the link busy, so
    /// each begins when the one before ends.
    fn advance(&mut self, now_ns: u64) {
        while self.entrance.frames() > 0 && self.link_free_ns <= now_ns {
            self.transmit_next(self.link_free_ns);
        }
    }

    fn transmit_next(&mut self, start_ns: u64) {
        if let Some(frame) = self.entrance.pop(start_ns, &mut self.exits) {
            self.transmit(frame, start_ns);
        }
    }

    fn transmit(&mut self, frame: Waiting<T>, start_ns: u64) {
        let mut passage = Passage::at(start_ns);
        self.effects.apply(&frame.meta, &mut passage);
        self.link_free_ns = passage.departure_ns;
        if passage.lost {
            self.exits.leave(frame, Fate::Lost, passage.departure_ns);
        } else {
            self.exits.deliver(frame, &passage, self.may_overtake);
        }
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
