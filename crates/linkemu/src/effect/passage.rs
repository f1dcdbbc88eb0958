// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A frame's way across a link, and what every effect on it has in common.

use crate::config::DirectionConfig;
use crate::frame::FrameMeta;

/// How a frame crosses the link, as far as the effects so far have decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// When the frame's transmission begins.
    pub start_ns: u64,
    /// When its last bit has left and the link is free for the next frame.
    pub departure_ns: u64,
    /// From departure to delivery at the far end.
    pub delay_ns: u64,
    /// The frame uses the link's time but does not arrive.
    pub lost: bool,
}

impl Passage {
    /// A passage that takes no time.
    pub fn at(start_ns: u64) -> Self {
        Self {
            start_ns,
            departure_ns: start_ns,
            delay_ns: 0,
            lost: false,
        }
    }

    /// When the frame arrives at the far end, if it does.
    pub fn delivery_ns(&self) -> u64 {
        self.departure_ns.saturating_add(self.delay_ns)
    }
}

/// One property of a link in one direction.
pub trait Effect: Send {
    /// Takes over new settings; random state goes on.
    fn configure(&mut self, config: &DirectionConfig);

    /// Acts on a frame whose transmission begins at `passage.start_ns`. Called once per frame, in
    /// the order of transmission. Effects that lose frames leave those alone that are not
    /// [`FrameMeta::lossy`].
    fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage);

    /// The least that it adds to the delay of any frame from now on.
    fn least_delay_ns(&self) -> u64 {
        0
    }

    /// Whether a later frame may be delivered before an earlier one. Unless an effect says so,
    /// the link keeps frames in order even when its delay shrinks.
    fn may_overtake(&self) -> bool {
        false
    }
}
