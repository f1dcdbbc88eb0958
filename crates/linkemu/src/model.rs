// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The link of one direction in virtual time: a queue, a transmitter, and frames in flight.
//!
//! Each frame starts at max(arrival, end of the previous transmission), and the effects say how
//! long it takes and whether it arrives. Nothing here depends on when the caller gets round to
//! ask, so a late caller shifts no later frame.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::config::{Direction, DirectionConfig};
use crate::effect::{self, Effect, Passage};
use crate::frame::FrameMeta;
use crate::label::Label;
use crate::queue::{self, Discipline, Waiting};

/// Answer to a frame that arrives.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<T> {
    /// The link has taken it; it comes back from [`LinkModel::pop_due`].
    Queued,
    /// The queue is full; here it is back.
    QueueDropped(T),
}

/// How a frame left the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives at the far end at its due time.
    Delivered,
    /// It was transmitted, and lost; its due time is the end of the transmission.
    Lost,
    /// It had to make room for others in a full queue.
    QueueDropped,
    /// The queue discipline dropped it in place of a transmission.
    AqmDropped,
    /// An ACK that gave up its place to a newer one.
    Thinned,
}

/// A frame that leaves the model.
#[derive(Debug, PartialEq, Eq)]
pub struct Exit<T> {
    /// What the caller pushed: a buffer, usually.
    pub token: T,
    /// The frame's summary.
    pub meta: FrameMeta,
    /// Delivered or lost.
    pub fate: Fate,
    /// Theoretical time of delivery or loss.
    pub due_ns: u64,
    /// The queue discipline wants it marked: congestion experienced.
    pub marked: bool,
}

/// In flight, ordered by due time and, among equals, by order of transmission.
struct Flying<T> {
    exit: Exit<T>,
    sequence: u64,
}

impl<T> Flying<T> {
    fn key(&self) -> (u64, u64) {
        (self.exit.due_ns, self.sequence)
    }
}

impl<T> PartialEq for Flying<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Flying<T> {}

impl<T> PartialOrd for Flying<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Flying<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// One direction of a link. `T` is whatever stands for the frame's bytes.
pub struct LinkModel<T> {
    queue: Box<dyn Discipline<T>>,
    ack_thin: u32,
    /// What the discipline has dropped, on its way to the caller; empty between calls.
    dropped: Vec<Waiting<T>>,
    flying: BinaryHeap<Reverse<Flying<T>>>,
    effects: Vec<Box<dyn Effect>>,
    may_overtake: bool,
    /// End of the latest transmission.
    link_free_ns: u64,
    /// Latest delivery so far: no later frame is due earlier, unless an effect overtakes.
    last_delivery_ns: u64,
    /// Number of transmissions so far.
    sequence: u64,
}

impl<T: Send + 'static> LinkModel<T> {
    /// An idle link with the effects of `config`, their generators seeded for `direction`.
    pub fn new(config: &DirectionConfig, seed: u64, direction: Direction) -> Self {
        let effects = effect::chain(config, seed, direction);
        Self {
            queue: queue::build(config, seed, direction),
            ack_thin: config.ack_thin,
            dropped: Vec::new(),
            flying: BinaryHeap::with_capacity(4096),
            may_overtake: effects.iter().any(|e| e.may_overtake()),
            effects,
            link_free_ns: 0,
            last_delivery_ns: 0,
            sequence: 0,
        }
    }

    /// Takes over new settings. They hold for every frame whose transmission has not begun;
    /// frames that wait beyond a smaller queue limit stay.
    pub fn configure(&mut self, config: &DirectionConfig) {
        self.queue.configure(config);
        self.ack_thin = config.ack_thin;
        self.effects.iter_mut().for_each(|e| e.configure(config));
        self.may_overtake = self.effects.iter().any(|e| e.may_overtake());
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
        let frame = Waiting {
            token,
            meta,
            label,
            arrival_ns,
            marked: false,
            replaced: 0,
        };
        let frame = match self.thin(frame) {
            Ok(old) => {
                self.leave(old, Fate::Thinned, arrival_ns);
                return Verdict::Queued;
            }
            Err(frame) => frame,
        };
        if let Err(refused) = self.queue.push(frame, &mut self.dropped) {
            return Verdict::QueueDropped(refused.token);
        }
        self.let_dropped_leave(Fate::QueueDropped, arrival_ns);
        if self.link_free_ns <= arrival_ns {
            // Whatever waited has begun by now: this frame finds the link idle.
            self.transmit_next(arrival_ns);
        }
        Verdict::Queued
    }

    /// Puts an ACK in the place of an older one, and returns that; or gives the frame back.
    fn thin(&mut self, frame: Waiting<T>) -> Result<Waiting<T>, Waiting<T>> {
        if self.ack_thin < 2 || frame.label.ack.is_none() {
            return Err(frame);
        }
        let backlog = self.queue.backlog_mut(&frame.label);
        backlog.thin(frame, self.ack_thin)
    }

    /// The next frame that has left the link by `now_ns`, in order of due time.
    pub fn pop_due(&mut self, now_ns: u64) -> Option<Exit<T>> {
        self.first_due_ns(now_ns)?;
        self.flying.pop().map(|Reverse(flying)| flying.exit)
    }

    /// Due time of what [`LinkModel::pop_due`] would return.
    pub(crate) fn first_due_ns(&mut self, now_ns: u64) -> Option<u64> {
        self.advance(now_ns);
        let due_ns = self.flying.peek().map(|Reverse(f)| f.exit.due_ns);
        due_ns.filter(|due_ns| *due_ns <= now_ns)
    }

    /// When [`LinkModel::pop_due`] should be called next; `None` while the link is empty.
    pub fn next_due_ns(&self) -> Option<u64> {
        let due_ns = self.flying.peek().map(|Reverse(f)| f.exit.due_ns);
        // A waiting frame leaves after those in flight, so its start needs no wake-up of its own
        // unless it may overtake them.
        if due_ns.is_some() && !self.may_overtake {
            return due_ns;
        }
        let start_ns = (self.queue.frames() > 0).then_some(self.link_free_ns);
        due_ns.into_iter().chain(start_ns).min()
    }

    /// Frames that wait for transmission.
    pub fn queue_frames(&self) -> usize {
        self.queue.frames()
    }

    /// Frames in transmission or on their way.
    pub fn in_flight_frames(&self) -> usize {
        self.flying.len()
    }

    /// Starts every transmission that begins by `now_ns`. What waits has found the link busy, so
    /// each begins when the one before ends.
    fn advance(&mut self, now_ns: u64) {
        while self.queue.frames() > 0 && self.link_free_ns <= now_ns {
            self.transmit_next(self.link_free_ns);
        }
    }

    fn transmit_next(&mut self, start_ns: u64) {
        let next = self.queue.pop(start_ns, &mut self.dropped);
        self.let_dropped_leave(Fate::AqmDropped, start_ns);
        if let Some(frame) = next {
            self.transmit(frame, start_ns);
        }
    }

    fn let_dropped_leave(&mut self, fate: Fate, now_ns: u64) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for frame in dropped.drain(..) {
            self.leave(frame, fate, now_ns);
        }
        self.dropped = dropped; // keeps its memory
    }

    fn transmit(&mut self, frame: Waiting<T>, start_ns: u64) {
        let mut passage = Passage::at(start_ns);
        for effect in &mut self.effects {
            effect.apply(&frame.meta, &mut passage);
        }
        self.link_free_ns = passage.departure_ns;
        let (fate, due_ns) = if passage.lost {
            (Fate::Lost, passage.departure_ns)
        } else {
            (Fate::Delivered, self.delivery_ns(&passage))
        };
        self.leave(frame, fate, due_ns);
    }

    /// Hands a frame to the caller at `due_ns`.
    fn leave(&mut self, frame: Waiting<T>, fate: Fate, due_ns: u64) {
        let exit = Exit {
            token: frame.token,
            meta: frame.meta,
            fate,
            due_ns,
            marked: frame.marked,
        };
        self.flying.push(Reverse(Flying {
            exit,
            sequence: self.sequence,
        }));
        self.sequence += 1;
    }

    fn delivery_ns(&mut self, passage: &Passage) -> u64 {
        let mut delivery_ns = passage.delivery_ns();
        if !self.may_overtake {
            delivery_ns = delivery_ns.max(self.last_delivery_ns);
        }
        self.last_delivery_ns = delivery_ns;
        delivery_ns
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
