// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! An application that writes pieces: answers, frames, the lines of a terminal. What counts is how
//! long each takes.

use std::collections::VecDeque;

use super::{Event, World};

/// Of one connection.
#[derive(Debug, Default)]
pub struct Chunks {
    /// Under way: the byte after its last, and when it was written.
    open: VecDeque<(u64, u64)>,
    /// How long each took, of those written from then on.
    pub took_ms: Vec<f64>,
    from_ns: u64,
}

impl Chunks {
    pub fn new(from_ns: u64) -> Self {
        Self {
            from_ns,
            ..Self::default()
        }
    }

    /// MH has all bytes up to `next`.
    pub fn received(&mut self, next: u64, now_ns: u64) {
        while let Some((end, written_ns)) = self.open.front().copied() {
            if next < end {
                break;
            }
            self.open.pop_front();
            if written_ns >= self.from_ns {
                self.took_ms.push((now_ns - written_ns) as f64 / 1e6);
            }
        }
    }
}

impl World {
    /// The next piece is written, and the one after it will be.
    pub(super) fn chunk(&mut self, i: usize) {
        let now = self.now_ns;
        let Some((bytes, every_ns)) = self.conns[i].spec.chunks else {
            return;
        };
        if !self.conns[i].stopped {
            self.push(now + every_ns, Event::Chunk(i));
        }
        self.with_sender(i, |s, now, out| {
            s.written += bytes;
            s.pump(now, out);
        });
        let c = &mut self.conns[i];
        c.chunks.open.push_back((c.sender.written, now));
    }
}
