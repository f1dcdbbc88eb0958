// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A row of waiting frames and its bytes, and ACKs that give up their places in it.

use std::collections::VecDeque;

use crate::frame::FrameMeta;
use crate::label::Label;

/// A frame that waits for transmission.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    pub token: T,
    pub meta: FrameMeta,
    pub label: Label,
    pub arrival_ns: u64,
    /// Congestion was experienced, and is told by a mark in place of a drop (RFC 3168).
    pub marked: bool,
    /// ACKs in whose place this one stands.
    pub replaced: u32,
}

impl<T> Waiting<T> {
    /// A frame that has just arrived.
    pub fn new(token: T, meta: FrameMeta, label: Label, arrival_ns: u64) -> Self {
        Self {
            token,
            meta,
            label,
            arrival_ns,
            marked: false,
            replaced: 0,
        }
    }
}

/// Frames in the order of their arrival.
#[derive(Debug)]
pub(crate) struct Backlog<T> {
    frames: VecDeque<Waiting<T>>,
    bytes: u64,
}

impl<T> Backlog<T> {
    /// An empty row, with room for so many frames to begin with.
    pub fn with_capacity(frames: usize) -> Self {
        Self {
            frames: VecDeque::with_capacity(frames),
            bytes: 0,
        }
    }

    /// Adds a frame at the end.
    pub fn push(&mut self, frame: Waiting<T>) {
        self.bytes += u64::from(frame.meta.bytes);
        self.frames.push_back(frame);
    }

    /// Takes the first.
    pub fn pop(&mut self) -> Option<Waiting<T>> {
        let frame = self.frames.pop_front()?;
        self.bytes -= u64::from(frame.meta.bytes);
        Some(frame)
    }

    /// Frames that wait.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Puts an ACK in the place of an older one of its connection, which it makes superfluous,
    /// and returns that; or gives the ACK back. One ACK stands for `most` at the most.
    ///
    /// Only the connection's latest frame is looked at, so nothing overtakes. The place is the
    /// older one's: at the end of the row an ACK that is replaced again and again would never
    /// leave.
    pub fn thin(&mut self, mut ack: Waiting<T>, most: u32) -> Result<Waiting<T>, Waiting<T>> {
        let Some(newer) = ack.label.ack else {
            return Err(ack);
        };
        let mut latest = self.frames.iter_mut().rev();
        let Some(waiting) = latest.find(|frame| frame.label.flow == ack.label.flow) else {
            return Err(ack);
        };
        let superfluous = waiting.label.ack.is_some_and(|old| newer.supersedes(&old));
        if !superfluous || waiting.replaced + 1 >= most {
            return Err(ack);
        }
        ack.replaced = waiting.replaced + 1;
        self.bytes += u64::from(ack.meta.bytes);
        self.bytes -= u64::from(waiting.meta.bytes);
        Ok(std::mem::replace(waiting, ack))
    }
}
