// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What every queue discipline has in common.

use super::backlog::{Backlog, Waiting};
use crate::config::DirectionConfig;
use crate::label::Label;

/// Frames exempt from loss (ARP and the like) are exempt from tail drop too, but only so many at
/// a time: a flood of them must not grow the queue without bound.
pub(crate) const EXEMPT_HEADROOM_FRAMES: usize = 64;

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
