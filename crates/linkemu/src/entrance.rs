// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The near end of a link: the policer, the queue, and what becomes of frames that do not get beyond it.

use crate::config::{Direction, DirectionConfig};
use crate::exits::{Exits, Fate};
use crate::policer::Policer;
use crate::queue::{self, Discipline, Waiting};

/// A queue whose drops leave by themselves.
pub(crate) struct Entrance<T> {
    policer: Policer,
    queue: Box<dyn Discipline<T>>,
    ack_thin: u32,
    /// What the discipline has dropped, on its way out; empty between calls.
    dropped: Vec<Waiting<T>>,
}

impl<T: Send + 'static> Entrance<T> {
    pub fn new(config: &DirectionConfig, seed: u64, direction: Direction) -> Self {
        Self {
            policer: Policer::new(config),
            queue: queue::build(config, seed, direction),
            ack_thin: config.ack_thin,
            dropped: Vec::new(),
        }
    }

    pub fn configure(&mut self, config: &DirectionConfig) {
        self.policer.configure(config);
        self.queue.configure(config);
        self.ack_thin = config.ack_thin;
    }

    /// Takes a frame at its arrival, or gives it back for want of room or as the policer says. Others that make room for
    /// it leave by `exits`.
    pub fn push(&mut self, frame: Waiting<T>, exits: &mut Exits<T>) -> Result<(), Waiting<T>> {
        let arrival_ns = frame.arrival_ns;
        if !self.policer.lets_pass(&frame.meta, arrival_ns) {
            return Err(frame);
        }
        let frame = match self.thin(frame) {
            Ok(old) => {
                exits.leave(old, Fate::Thinned, arrival_ns);
                return Ok(());
            }
            Err(frame) => frame,
        };
        self.queue.push(frame, &mut self.dropped)?;
        self.let_dropped_leave(Fate::QueueDropped, arrival_ns, exits);
        Ok(())
    }

    /// The frame whose transmission begins at `now_ns`.
    pub fn pop(&mut self, now_ns: u64, exits: &mut Exits<T>) -> Option<Waiting<T>> {
        let next = self.queue.pop(now_ns, &mut self.dropped);
        self.let_dropped_leave(Fate::AqmDropped, now_ns, exits);
        next
    }

    /// Frames that wait.
    pub fn frames(&self) -> usize {
        self.queue.frames()
    }

    /// Puts an ACK in the place of an older one, and returns that; or gives the frame back.
    fn thin(&mut self, frame: Waiting<T>) -> Result<Waiting<T>, Waiting<T>> {
        if self.ack_thin < 2 || frame.label.ack.is_none() {
            return Err(frame);
        }
        let backlog = self.queue.backlog_mut(&frame.label);
        backlog.thin(frame, self.ack_thin)
    }

    fn let_dropped_leave(&mut self, fate: Fate, now_ns: u64, exits: &mut Exits<T>) {
        for frame in self.dropped.drain(..) {
            exits.leave(frame, fate, now_ns);
        }
    }
}
