// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Frames that are due: on their way into the second interface.

use std::collections::VecDeque;
use std::io;

use crate::clock::Clock;
use crate::model::Exit;
use crate::pool::{Buffer, Pool};
use crate::port::Port;
use crate::stats::DirectionStats;

/// How long a frame is offered again to an interface whose buffers are full.
const MAX_BUSY_NS: u64 = 50_000_000;

/// Delivered frames in order.
#[derive(Default)]
pub struct Outbox {
    frames: VecDeque<Exit<Buffer>>,
    /// Since when the interface has taken nothing for want of buffers.
    busy_since_ns: Option<u64>,
}

enum Refusal {
    /// Full buffers: try again soon.
    Busy,
    /// The interface is down or away.
    Gone,
    /// This frame only, such as one over the interface's MTU.
    Frame,
}

impl Outbox {
    /// Adds a frame that is due.
    pub fn push(&mut self, frame: Exit<Buffer>) {
        self.frames.push_back(frame);
    }

    /// Frames that the interface has not taken yet.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Sends all frames that the interface takes now; the rest stays for the next call.
    pub fn flush(
        &mut self,
        port: &mut Port,
        clock: &Clock,
        stats: &mut DirectionStats,
        pool: &mut Pool,
    ) {
        while !self.frames.is_empty() {
            let Some(socket) = port.socket() else {
                while self.fail_first(stats, pool) {}
                return;
            };
            match socket.send(self.frames.iter().map(|exit| exit.token.frame())) {
                Ok(sent) => self.on_sent(sent, clock.now_ns(), stats, pool),
                Err(error) => match refusal(&error) {
                    Refusal::Gone => port.mark_down(),
                    Refusal::Busy if self.may_wait(clock.now_ns()) => return,
                    Refusal::Busy | Refusal::Frame => {
                        self.fail_first(stats, pool);
                    }
                },
            }
        }
    }

    fn on_sent(&mut self, sent: usize, now_ns: u64, stats: &mut DirectionStats, pool: &mut Pool) {
        self.busy_since_ns = None;
        for exit in self.frames.drain(..sent) {
            stats.on_sent(&exit.meta, now_ns.saturating_sub(exit.due_ns));
            pool.give(exit.token);
        }
    }

    fn may_wait(&mut self, now_ns: u64) -> bool {
        let since_ns = *self.busy_since_ns.get_or_insert(now_ns);
        now_ns.saturating_sub(since_ns) < MAX_BUSY_NS
    }

    fn fail_first(&mut self, stats: &mut DirectionStats, pool: &mut Pool) -> bool {
        let Some(exit) = self.frames.pop_front() else {
            return false;
        };
        stats.tx_errors += 1;
        pool.give(exit.token);
        true
    }
}

fn refusal(error: &io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EINTR) => Refusal::Busy,
        Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => Refusal::Gone,
        _ => Refusal::Frame,
    }
}
