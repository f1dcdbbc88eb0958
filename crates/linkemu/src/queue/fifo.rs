// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! First in, first out, with tail drop.

use super::backlog::{Backlog, Waiting};
use super::discipline::{Discipline, EXEMPT_HEADROOM_FRAMES};
use crate::config::DirectionConfig;
use crate::label::Label;

/// Made at the start, so that a run begins with warm memory.
const INITIAL_FRAMES: usize = 4096;

/// One row with a limit.
pub(super) struct Fifo<T> {
    limit_frames: usize,
    pub(super) backlog: Backlog<T>,
}

impl<T> Fifo<T> {
    pub fn new(config: &DirectionConfig) -> Self {
        Self {
            limit_frames: config.queue_frames,
            backlog: Backlog::with_capacity(config.queue_frames.min(INITIAL_FRAMES)),
        }
    }
}

impl<T: Send> Discipline<T> for Fifo<T> {
    fn configure(&mut self, config: &DirectionConfig) {
        self.limit_frames = config.queue_frames;
    }

    fn push(&mut self, frame: Waiting<T>, _: &mut Vec<Waiting<T>>) -> Result<(), Waiting<T>> {
        let limit = match frame.meta.lossy {
            true => self.limit_frames,
            false => self.limit_frames + EXEMPT_HEADROOM_FRAMES,
        };
        if self.backlog.len() >= limit {
            return Err(frame);
        }
        self.backlog.push(frame);
        Ok(())
    }

    fn pop(&mut self, _: u64, _: &mut Vec<Waiting<T>>) -> Option<Waiting<T>> {
        self.backlog.pop()
    }

    fn frames(&self) -> usize {
        self.backlog.len()
    }

    fn backlog_mut(&mut self, _: &Label) -> &mut Backlog<T> {
        &mut self.backlog
    }
}
