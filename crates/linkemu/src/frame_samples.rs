// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Frames for unit tests.

use crate::frame::FrameMeta;

/// A full TCP segment.
pub(crate) const FULL: FrameMeta = FrameMeta {
    bytes: 1514,
    lossy: true,
    tcp_data: true,
    flow: None,
};

/// What is subject neither to loss nor to tail drop.
pub(crate) const ARP: FrameMeta = FrameMeta {
    bytes: 42,
    lossy: false,
    tcp_data: false,
    flow: None,
};

/// At this rate [`FULL`] takes exactly one millisecond.
pub(crate) const MS_PER_FRAME_BPS: u64 = 12_112_000;
