// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Who answers a data frame, and when.

use serde::{Deserialize, Serialize};

/// Who answers what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// An ACK for every frame, one SIFS after it.
    #[default]
    Ack,
    /// None: one try, and nobody knows (802.11e).
    NoAck,
    /// `block_frames` frames in one access, a SIFS apart, then a request and a BlockAck.
    BlockAckBurst,
    /// The same, but each frame contends for itself; the request follows the last one.
    BlockAckEach,
}

impl Policy {
    /// Whether frames are answered by the block.
    pub fn is_block(self) -> bool {
        matches!(self, Self::BlockAckBurst | Self::BlockAckEach)
    }
}
