// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! FQ-CoDel (RFC 8290): flows are hashed to queues, queues take turns by bytes (DRR++) with those
//! that have just begun to send first, and CoDel works on each.

use std::collections::VecDeque;

use super::backlog::{Backlog, Waiting};
use super::codel::Law;
use super::discipline::{Discipline, EXEMPT_HEADROOM_FRAMES};
use crate::config::DirectionConfig;
use crate::label::Label;
use crate::random::splitmix64;

/// Queues that flows are hashed to (RFC 8290, section 5.2.4).
const QUEUES: usize = 1024;
/// Bytes of a turn: a full frame (section 5.2.3).
const QUANTUM_BYTES: i64 = 1514;
/// The most that an overflow drops at once (section 4.1).
const MOST_DROPPED: usize = 64;

/// Which list a queue is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

struct FlowQueue<T> {
    backlog: Backlog<T>,
    law: Law,
    /// Bytes that it may still send in this turn; may be overdrawn by a frame.
    credits: i64,
    list: List,
}

/// The queues, and the two lists of those that have or had something.
pub(super) struct FqCodel<T> {
    limit_frames: usize,
    frames: usize,
    perturbation: u64,
    queues: Vec<FlowQueue<T>>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// ARP and the like: before all others, subject to nothing but their own limit.
    exempt: Backlog<T>,
}

impl<T> FqCodel<T> {
    pub fn new(config: &DirectionConfig, perturbation: u64) -> Self {
        let queue = |_| FlowQueue {
            backlog: Backlog::with_capacity(0),
            law: Law::default(),
            credits: 0,
            list: List::None,
        };
        Self {
            limit_frames: config.queue_frames,
            frames: 0,
            perturbation,
            queues: (0..QUEUES).map(queue).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            exempt: Backlog::with_capacity(0),
        }
    }

    /// The queue of a flow. Which flows share one depends on the seed (section 4.1).
    pub(super) fn queue_of(&self, label: &Label) -> usize {
        (splitmix64(label.flow ^ self.perturbation) % QUEUES as u64) as usize
    }

    /// Makes room: half of the queue with the most bytes goes, from its head (section 4.1).
    fn overflow(&mut self, dropped: &mut Vec<Waiting<T>>) {
        let fattest = self.queues.iter_mut().max_by_key(|q| q.backlog.bytes());
        let Some(queue) = fattest else {
            return;
        };
        let count = queue.backlog.len().div_ceil(2).min(MOST_DROPPED);
        for _ in 0..count {
            dropped.extend(queue.backlog.pop());
        }
        self.frames -= count;
    }

    /// The queue whose turn it is, and the list at whose head it stands.
    fn head(&self) -> Option<(List, usize)> {
        let new = self.new.front().map(|index| (List::New, *index));
        new.or_else(|| self.old.front().map(|index| (List::Old, *index)))
    }

    /// Takes the queue at the head of a list out of it, and puts it into another.
    fn move_head(&mut self, from: List, to: List) {
        let index = match from {
            List::New => self.new.pop_front(),
            _ => self.old.pop_front(),
        };
        if let Some(index) = index {
            self.queues[index].list = to;
            if to == List::Old {
                self.old.push_back(index);
            }
        }
    }
}

impl<T: Send> Discipline<T> for FqCodel<T> {
    fn configure(&mut self, config: &DirectionConfig) {
        self.limit_frames = config.queue_frames;
    }

    /// Section 4.1.
    fn push(&mut self, frame: Waiting<T>, dropped: &mut Vec<Waiting<T>>) -> Result<(), Waiting<T>> {
        if !frame.meta.lossy {
            if self.exempt.len() >= EXEMPT_HEADROOM_FRAMES {
                return Err(frame);
            }
            self.exempt.push(frame);
            return Ok(());
        }
        let index = self.queue_of(&frame.label);
        let queue = &mut self.queues[index];
        queue.backlog.push(frame);
        self.frames += 1;
        if queue.list == List::None {
            queue.list = List::New;
            queue.credits = QUANTUM_BYTES;
            self.new.push_back(index);
        }
        if self.frames > self.limit_frames {
            self.overflow(dropped);
        }
        Ok(())
    }

    /// Section 4.2.
    fn pop(&mut self, now_ns: u64, dropped: &mut Vec<Waiting<T>>) -> Option<Waiting<T>> {
        if let Some(frame) = self.exempt.pop() {
            return Some(frame);
        }
        loop {
            let (list, index) = self.head()?;
            let queue = &mut self.queues[index];
            if queue.credits <= 0 {
                queue.credits += QUANTUM_BYTES;
                self.move_head(list, List::Old);
                continue;
            }
            let before = dropped.len();
            let frame = queue.law.pop(&mut queue.backlog, now_ns, dropped);
            self.frames -= dropped.len() - before;
            let Some(frame) = frame else {
                // From the new list it goes to the old one first, else a flow could always be new
                // by letting its queue run empty.
                let to = match list {
                    List::New => List::Old,
                    _ => List::None,
                };
                self.move_head(list, to);
                continue;
            };
            queue.credits -= i64::from(frame.meta.bytes);
            self.frames -= 1;
            return Some(frame);
        }
    }

    fn frames(&self) -> usize {
        self.frames + self.exempt.len()
    }

    fn backlog_mut(&mut self, label: &Label) -> &mut Backlog<T> {
        let index = self.queue_of(label);
        &mut self.queues[index].backlog
    }
}
