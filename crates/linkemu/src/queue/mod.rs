// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What waits in front of a link, and who goes next: one queue discipline per file.
//!
//! A discipline lives in virtual time as the rest of the model does: the link asks for the next
//! frame at the very moment at which the one before has left, however late the caller is.

use serde::{Deserialize, Serialize};

use crate::config::{Direction, DirectionConfig};
use crate::frame::FrameMeta;
use crate::label::Label;
use crate::random::Random;

pub(crate) mod backlog;
mod codel;
mod fifo;
mod fq_codel;

use self::backlog::Backlog;

/// Queue discipline of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Aqm {
    /// First in, first out; what finds the queue full is dropped.
    #[default]
    Fifo,
    /// CoDel (RFC 8289) on one queue.
    Codel,
    /// FQ-CoDel (RFC 8290): a queue per flow, sparse flows first.
    FqCodel,
}

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

/// Frames in front of a link. The link's model calls [`Discipline::pop`] only when a transmission
/// may begin, and at that time.
pub(crate) trait Discipline<T>: Send {
    /// Takes over new settings; what waits beyond a smaller limit stays.
    fn configure(&mut self, config: &DirectionConfig);

    /// Takes a frame, or gives it back for want of room. Others that have to go in its stead are
    /// added to `dropped`.
    fn push(&mut self, frame: Waiting<T>, dropped: &mut Vec<Waiting<T>>) -> Result<(), Waiting<T>>;

    /// The frame whose transmission begins at `now_ns`; those that the discipline drops to get
    /// there are added to `dropped`. Some as long as [`Discipline::frames`] is above 0.
    fn pop(&mut self, now_ns: u64, dropped: &mut Vec<Waiting<T>>) -> Option<Waiting<T>>;

    /// Frames that wait.
    fn frames(&self) -> usize;

    /// The row in which a frame with this label waits.
    fn backlog_mut(&mut self, label: &Label) -> &mut Backlog<T>;
}

/// The discipline that a direction asks for.
pub(crate) fn build<T: Send + 'static>(
    config: &DirectionConfig,
    seed: u64,
    direction: Direction,
) -> Box<dyn Discipline<T>> {
    match config.aqm {
        Aqm::Fifo => Box::new(fifo::Fifo::new(config)),
        Aqm::Codel => Box::new(codel::Codel::new(config)),
        Aqm::FqCodel => {
            let perturbation = Random::new(seed, direction, "fq_codel").bits();
            Box::new(fq_codel::FqCodel::new(config, perturbation))
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
