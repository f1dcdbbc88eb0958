// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! CoDel (RFC 8289): drops at the head once the least sojourn time of an interval was above the
//! target, and then faster and faster until it is not.

use super::backlog::{Backlog, Waiting};
use super::discipline::Discipline;
use super::fifo::Fifo;
use crate::config::DirectionConfig;
use crate::label::Label;

/// Standing queue that is good enough (RFC 8289, section 4.4).
pub(super) const TARGET_NS: u64 = 5_000_000;
/// A time that the largest usual round trip fits into (section 4.3).
pub(super) const INTERVAL_NS: u64 = 100_000_000;
/// A full frame: with no more than that behind it, a frame is never dropped (section 5.4).
const MTU_BYTES: u64 = 1514;

/// State of one queue's CoDel, with the names of the RFC's pseudo-code (section 5.3).
#[derive(Debug, Default)]
pub(super) struct Law {
    /// When the sojourn time will have been above the target for an interval; none while it is
    /// not.
    first_above_ns: Option<u64>,
    drop_next_ns: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
}

/// What `dodequeue` found.
struct Head<T> {
    frame: Option<Waiting<T>>,
    ok_to_drop: bool,
}

impl Law {
    /// Takes the next frame out of `backlog`: `deque` of section 5.5.
    pub fn pop<T>(
        &mut self,
        backlog: &mut Backlog<T>,
        now_ns: u64,
        dropped: &mut Vec<Waiting<T>>,
    ) -> Option<Waiting<T>> {
        let head = self.dodequeue(backlog, now_ns);
        if self.dropping {
            if !head.ok_to_drop {
                self.dropping = false;
            }
            return self.go_on(head, backlog, now_ns, dropped);
        }
        if !head.ok_to_drop {
            return head.frame;
        }
        let frame = match self.signal(head, dropped) {
            Some(marked) => Some(marked),
            None => self.dodequeue(backlog, now_ns).frame,
        };
        self.dropping = true;
        // The rate that controlled the queue lately is a good one to begin with.
        let delta = self.count.wrapping_sub(self.last_count);
        let lately = now_ns.saturating_sub(self.drop_next_ns) < 16 * INTERVAL_NS;
        self.count = if delta > 1 && lately { delta } else { 1 };
        self.drop_next_ns = control_law(now_ns, self.count);
        self.last_count = self.count;
        frame
    }

    /// In the dropping state: signals as often as is due.
    fn go_on<T>(
        &mut self,
        mut head: Head<T>,
        backlog: &mut Backlog<T>,
        now_ns: u64,
        dropped: &mut Vec<Waiting<T>>,
    ) -> Option<Waiting<T>> {
        while self.dropping && now_ns >= self.drop_next_ns {
            self.count = self.count.wrapping_add(1);
            if let Some(marked) = self.signal(head, dropped) {
                self.drop_next_ns = control_law(self.drop_next_ns, self.count);
                return Some(marked);
            }
            head = self.dodequeue(backlog, now_ns);
            match head.ok_to_drop {
                true => self.drop_next_ns = control_law(self.drop_next_ns, self.count),
                false => self.dropping = false,
            }
        }
        head.frame
    }

    /// Drops the frame, or marks it and gives it back where the ends understand that (RFC 8290,
    /// section 5, and RFC 3168).
    fn signal<T>(&self, head: Head<T>, dropped: &mut Vec<Waiting<T>>) -> Option<Waiting<T>> {
        let mut frame = head.frame?;
        // ARP and the like are exempt: that signal is lost.
        if !frame.meta.lossy {
            return Some(frame);
        }
        if frame.label.ecn_capable {
            frame.marked = true;
            return Some(frame);
        }
        dropped.push(frame);
        None
    }

    /// Takes a frame out and judges it (section 5.4).
    fn dodequeue<T>(&mut self, backlog: &mut Backlog<T>, now_ns: u64) -> Head<T> {
        let Some(frame) = backlog.pop() else {
            self.first_above_ns = None;
            return Head {
                frame: None,
                ok_to_drop: false,
            };
        };
        let sojourn_ns = now_ns.saturating_sub(frame.arrival_ns);
        let mut ok_to_drop = false;
        if sojourn_ns < TARGET_NS || backlog.bytes() <= MTU_BYTES {
            self.first_above_ns = None;
        } else {
            let since_ns = *self.first_above_ns.get_or_insert(now_ns + INTERVAL_NS);
            ok_to_drop = now_ns >= since_ns;
        }
        Head {
            frame: Some(frame),
            ok_to_drop,
        }
    }
}

/// When to drop next: the interval shrinks with the square root of the drops (section 5.6).
fn control_law(t_ns: u64, count: u32) -> u64 {
    t_ns + (INTERVAL_NS as f64 / f64::from(count.max(1)).sqrt()) as u64
}

/// CoDel on one queue.
pub(super) struct Codel<T> {
    fifo: Fifo<T>,
    law: Law,
}

impl<T> Codel<T> {
    pub fn new(config: &DirectionConfig) -> Self {
        Self {
            fifo: Fifo::new(config),
            law: Law::default(),
        }
    }
}

impl<T: Send> Discipline<T> for Codel<T> {
    fn configure(&mut self, config: &DirectionConfig) {
        self.fifo.configure(config);
    }

    fn push(&mut self, frame: Waiting<T>, dropped: &mut Vec<Waiting<T>>) -> Result<(), Waiting<T>> {
        self.fifo.push(frame, dropped)
    }

    fn pop(&mut self, now_ns: u64, dropped: &mut Vec<Waiting<T>>) -> Option<Waiting<T>> {
        self.law.pop(&mut self.fifo.backlog, now_ns, dropped)
    }

    fn frames(&self) -> usize {
        self.fifo.frames()
    }

    fn backlog_mut(&mut self, label: &Label) -> &mut Backlog<T> {
        self.fifo.backlog_mut(label)
    }
}
