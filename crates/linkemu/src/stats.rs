// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Counters. Every received frame ends in exactly one place, so at any time
//! `received_frames = sent + lost + queue_dropped + aqm_dropped + thinned_acks + overflow +
//! tx_errors + queue + in_flight`.

use serde::{Deserialize, Serialize};

use crate::frame::FrameMeta;
use crate::mac::Energy;

/// Counters of one direction since the relay began. Frames with a TCP payload are counted again
/// under `data_`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectionStats {
    /// Frames read from the first interface and given to the link.
    pub received_frames: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Frames handed to the second interface.
    pub sent_frames: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Frames that found the queue full.
    pub queue_dropped_frames: u64,
    /// Frames that the link lost after transmission.
    pub lost_frames: u64,
    /// TCP data frames among `received_frames`.
    pub data_received: u64,
    /// TCP data frames among `sent_frames`.
    pub data_sent: u64,
    /// TCP data frames among `queue_dropped_frames`.
    pub data_queue_dropped: u64,
    /// TCP data frames among `lost_frames`.
    pub data_lost: u64,
    /// Frames that the queue discipline dropped at its head.
    #[serde(default)]
    pub aqm_dropped_frames: u64,
    /// TCP data frames among them.
    #[serde(default)]
    pub data_aqm_dropped: u64,
    /// Frames that it marked instead: congestion experienced.
    #[serde(default)]
    pub aqm_marked_frames: u64,
    /// ACKs that gave up their places to newer ones.
    #[serde(default)]
    pub thinned_acks: u64,
    /// Frames that wait at this moment.
    pub queue_frames: u64,
    /// The most that ever waited.
    pub queue_max_frames: u64,
    /// Frames in transmission, on their way, or due and not yet taken by the second interface.
    pub in_flight_frames: u64,
    /// Frames over [`crate::MAX_FRAME_BYTES`], and super-packets that could not be cut into frames
    /// (neither TCP nor UDP, or over 64 KiB), dropped and not in `received_frames`.
    pub oversize_frames: u64,
    /// Frames dropped because the relay's own memory was full; the emulation is then wrong.
    pub overflow_frames: u64,
    /// Frames that the kernel dropped because the relay did not read fast enough; likewise.
    pub rx_kernel_drops: u64,
    /// Frames that the second interface refused, or that came due while it was down.
    pub tx_errors: u64,
    /// The latest that a frame was sent after its theoretical time, in nanoseconds.
    pub late_max_ns: u64,
    /// Sum of the same over all sent frames: divided by `sent_frames`, the mean.
    pub late_total_ns: u64,
    /// Of the MAC, if there is one.
    #[serde(default)]
    pub mac: MacStats,
    /// Account of the radio that sends in this direction.
    #[serde(default)]
    pub energy: Energy,
}

/// Counters of the MAC in one direction; all 0 without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacStats {
    /// Data frames on the air, each time counted.
    pub attempts: u64,
    /// Those that were not their frame's first.
    pub retries: u64,
    /// Those that met a frame of the other direction on the air.
    pub collisions: u64,
    /// Frames that were given up after their last attempt (whether or not they had come through).
    pub final_drops: u64,
    /// Frames that came through again after their ACK had been lost, and were filtered.
    pub duplicates: u64,
    /// Time on the air in nanoseconds of this direction's frames, requests, and their answers.
    pub airtime_ns: u64,
}

/// Counters of a whole relay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Name of the first interface.
    pub a: String,
    /// Name of the second interface.
    pub b: String,
    /// Nanoseconds since the relay began: the time base of outages.
    pub elapsed_ns: u64,
    /// Processor time of the relay's thread in nanoseconds, at most 50 ms old.
    pub cpu_ns: u64,
    /// How often an interface went down or away.
    pub interface_downs: u64,
    /// From `a` to `b`.
    pub a_to_b: DirectionStats,
    /// From `b` to `a`.
    pub b_to_a: DirectionStats,
}

impl DirectionStats {
    pub(crate) fn on_received(&mut self, meta: &FrameMeta) {
        self.received_frames += 1;
        self.received_bytes += u64::from(meta.bytes);
        self.data_received += u64::from(meta.tcp_data);
    }

    pub(crate) fn on_queue_dropped(&mut self, meta: &FrameMeta) {
        self.queue_dropped_frames += 1;
        self.data_queue_dropped += u64::from(meta.tcp_data);
    }

    pub(crate) fn on_lost(&mut self, meta: &FrameMeta) {
        self.lost_frames += 1;
        self.data_lost += u64::from(meta.tcp_data);
    }

    pub(crate) fn on_aqm_dropped(&mut self, meta: &FrameMeta) {
        self.aqm_dropped_frames += 1;
        self.data_aqm_dropped += u64::from(meta.tcp_data);
    }

    pub(crate) fn on_sent(&mut self, meta: &FrameMeta, late_ns: u64) {
        self.sent_frames += 1;
        self.sent_bytes += u64::from(meta.bytes);
        self.data_sent += u64::from(meta.tcp_data);
        self.late_max_ns = self.late_max_ns.max(late_ns);
        self.late_total_ns += late_ns;
    }
}
