// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The far end of a link: frames on their way, and how each of them leaves.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::effect::Passage;
use crate::frame::FrameMeta;
use crate::queue::Waiting;

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

/// Frames that leave a link at times that are known, the earliest first.
pub(crate) struct Exits<T> {
    flying: BinaryHeap<Reverse<Flying<T>>>,
    /// Latest delivery so far: no later frame is due earlier, unless an effect overtakes.
    last_delivery_ns: u64,
    /// Number of frames so far.
    sequence: u64,
}

impl<T> Exits<T> {
    pub fn new() -> Self {
        Self {
            flying: BinaryHeap::with_capacity(4096),
            last_delivery_ns: 0,
            sequence: 0,
        }
    }

    /// Lets a frame arrive as its passage says, and not before an earlier one unless it may.
    pub fn deliver(&mut self, frame: Waiting<T>, passage: &Passage, may_overtake: bool) {
        let mut delivery_ns = passage.delivery_ns();
        if !may_overtake {
            delivery_ns = delivery_ns.max(self.last_delivery_ns);
        }
        self.last_delivery_ns = delivery_ns;
        self.leave(frame, Fate::Delivered, delivery_ns);
    }

    /// Hands a frame to the caller at `due_ns`.
    pub fn leave(&mut self, frame: Waiting<T>, fate: Fate, due_ns: u64) {
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

    /// The frame that leaves first, whenever that is.
    pub fn pop(&mut self) -> Option<Exit<T>> {
        self.flying.pop().map(|Reverse(flying)| flying.exit)
    }

    /// When it leaves.
    pub fn first_due_ns(&self) -> Option<u64> {
        self.flying.peek().map(|Reverse(f)| f.exit.due_ns)
    }

    /// Frames on their way.
    pub fn len(&self) -> usize {
        self.flying.len()
    }
}
