// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The sending end of one direction: frames that the MAC has taken from the queue and not done
//! with, and what of them goes out in an access.

use std::collections::VecDeque;

use super::config::MAX_BLOCK_FRAMES;
use super::events::{Event, EventKind, Headers};
use super::policy::Policy;
use super::receiver::{ahead, next_sequence};
use super::room::Room;
use crate::config::Direction;
use crate::frame::FrameMeta;
use crate::queue::Waiting;

/// A frame in the hands of the MAC.
pub struct Held<T> {
    /// Until the receiver has it: what is sent after that is a copy.
    pub frame: Option<Waiting<T>>,
    pub meta: FrameMeta,
    pub sequence: u16,
    pub attempts: u32,
    /// What the first attempt met, where that decides for all.
    pub first_lost: Option<bool>,
    /// The latest attempt came through.
    pub heard: bool,
    queued_ns: u64,
    head_ns: u64,
    headers: Option<Headers>,
}

impl<T> Held<T> {
    /// News of its latest attempt.
    pub fn event(&self, kind: EventKind, direction: Direction, at_ns: u64) -> Event {
        Event {
            kind,
            direction,
            attempt: self.attempts,
            frame_bytes: self.meta.bytes,
            queued_ns: self.queued_ns,
            head_ns: self.head_ns,
            at_ns,
            headers: self.headers.clone(),
        }
    }
}

/// What a station does with an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Places in [`Sender::held`] of the frames that it sends.
    pub frames: std::ops::Range<usize>,
    /// It asks for a BlockAck after them.
    pub asks: bool,
}

/// What a sender keeps.
pub struct Sender<T> {
    pub held: VecDeque<Held<T>>,
    /// Frames of the block that were sent since the last request.
    pub sent: usize,
    /// A frame of a block was given up, which the receiver does not know.
    pub must_skip: bool,
    /// Requests in vain while there is nothing but that to tell.
    pub skips: u32,
    /// It has a place in the contention.
    pub contends: bool,
    next_sequence: u16,
}

impl<T> Sender<T> {
    pub fn new() -> Self {
        Self {
            held: VecDeque::new(),
            sent: 0,
            must_skip: false,
            skips: 0,
            contends: false,
            next_sequence: 0,
        }
    }

    /// Whether it has anything to send.
    pub fn wants(&self) -> bool {
        !self.held.is_empty() || self.must_skip
    }

    /// Takes a frame that has come to the head of the queue.
    pub fn take(&mut self, frame: Waiting<T>, headers: Option<Headers>, head_ns: u64) {
        self.held.push_back(Held {
            meta: frame.meta,
            sequence: self.next_sequence,
            attempts: 0,
            first_lost: None,
            heard: false,
            queued_ns: frame.arrival_ns,
            head_ns,
            headers,
            frame: Some(frame),
        });
        self.next_sequence = next_sequence(self.next_sequence);
    }

    /// The first number that the receiver may still have to wait for.
    pub fn first_sequence(&self) -> u16 {
        let oldest = self.held.front();
        oldest.map_or(self.next_sequence, |held| held.sequence)
    }

    /// Whether a new frame is within reach of the bitmap.
    fn has_room(&self) -> bool {
        usize::from(ahead(self.next_sequence, self.first_sequence())) < MAX_BLOCK_FRAMES
    }

    /// Lengths of its first frames.
    pub fn lengths(&self, count: usize) -> impl Iterator<Item = u32> {
        self.held.iter().take(count).map(|held| held.meta.bytes)
    }

    /// What goes out now. `take_one` brings one more frame from the queue, if there is one, and
    /// `has_more` tells whether there is.
    pub fn plan(
        &mut self,
        room: &Room,
        block_frames: usize,
        mut take_one: impl FnMut(&mut Self) -> bool,
        has_more: impl Fn() -> bool,
    ) -> Plan {
        let is_block = room.policy.is_block();
        let sends = self.sent.saturating_add(room.most_frames(block_frames));
        let within_reach = |sender: &Self| !is_block || sender.has_room();
        // The last one that it takes may find no room: then it is the first of the next access.
        while self.held.len() < sends
            && within_reach(self)
            && room.holds(self.lengths(self.held.len()))
            && take_one(self)
        {}
        let mut end = sends.min(self.held.len());
        while end > self.sent + 1 && !room.holds(self.lengths(end)) {
            end -= 1;
        }
        let full = end == block_frames;
        let more = self.held.len() > end || (self.has_room() && has_more());
        let asks_now = room.policy == Policy::BlockAckBurst || full || !more;
        Plan {
            frames: self.sent..end,
            asks: is_block && asks_now,
        }
    }
}
