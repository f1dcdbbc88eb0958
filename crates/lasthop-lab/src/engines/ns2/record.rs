// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From what the scenario printed to the record of a cell.

use serde::Deserialize;

use super::arguments;
use crate::bed::transfer::RttSample;
use crate::cell::bounds::Bounds;
use crate::cell::flows::{MeasuredFlows, Sent};
use crate::cell::measure;
use crate::cell::options::{Cell, CompareOptions};
use crate::cell::outcome::Outcome;
use crate::cell::record::Record;
use crate::data::segment::{FULL_FRAME_BYTES, FullSegment};
use crate::data::topology::MTU_BYTES;
use crate::data::way::Way;

/// What it prints, all of the measured time unless it says otherwise.
#[derive(Debug, Deserialize)]
pub(super) struct Raw {
    /// Version of ns-2.
    pub ns2: String,
    /// In order, by the receiver.
    pub received_bytes: u64,
    /// With data, sent by the sender.
    pub segments: u64,
    /// Of these, sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets lost by the hop in the data direction.
    pub link_lost: u64,
    /// Packets that its queue had no room for.
    pub queue_dropped: u64,
    /// Sent again by Snoop; null without it.
    pub local_retransmits: Option<u64>,
    /// ACKs that it kept back.
    pub suppressed_acks: Option<u64>,
    /// Every 100 ms of the whole run: when, in ns; bytes received until then; smoothed round trip in
    /// us, 0 for none.
    pub samples: Vec<(u64, u64, u32)>,
}

/// No packet has content in ns-2: what counts is that packets arrive in order.
pub(super) fn outcome(options: &CompareOptions, cell: &Cell, raw: &Raw) -> Outcome {
    Outcome {
        record: record(options, cell, raw),
        failure: None,
        notes: Vec::new(),
    }
}

fn record(options: &CompareOptions, cell: &Cell, raw: &Raw) -> Record {
    let traffic = &options.traffic;
    let (from_ns, span_ns) = (traffic.warmup_ns, traffic.duration_ns);
    let rate_bps = raw.received_bytes as f64 * 8e9 / span_ns as f64;
    let rtt: Vec<RttSample> = raw.samples.iter().filter_map(rtt_sample).collect();
    let flows = MeasuredFlows {
        from_ns,
        span_ns,
        bytes: raw.received_bytes,
        rates_mbit: vec![rate_bps / 1e6],
        host_goodputs_bps: vec![rate_bps],
        bounds: bounds(options),
        rtt: &rtt,
        completions_ns: None,
        sent: Sent {
            segments: raw.segments,
            retransmits: raw.retransmits,
            tail_probes: 0,
            timeouts: raw.timeouts,
        },
        upload: None,
    };
    Record {
        simulator: Some(raw.ns2.clone()),
        local_retransmits: raw.local_retransmits,
        link_lost: raw.link_lost,
        queue_dropped: raw.queue_dropped,
        suppressed_acks: raw.suppressed_acks,
        content_ok: true,
        ..flows.record(options, cell)
    }
}

fn rtt_sample(&(at_ns, _, rtt_us): &(u64, u64, u32)) -> Option<RttSample> {
    (rtt_us > 0).then_some(RttSample {
        at_ns,
        connection: 0,
        rtt_us,
    })
}

/// As on the test bed, with packets in place of frames: ns-2 sends no link header.
fn bounds(options: &CompareOptions) -> Bounds {
    let link = &options.link;
    let full = arguments::full_segment(options);
    let full = FullSegment {
        frame_bytes: full.frame_bytes - (FULL_FRAME_BYTES - u64::from(MTU_BYTES)),
        ..full
    };
    let random = measure::mean_loss(link, full, Way::Down, None);
    let loss = 1.0 - (1.0 - random) * (1.0 - options.engine.mean_loss());
    let bound_bps = measure::bound_bps(link, full, Way::Down, loss);
    Bounds::shared(bound_bps, 1, 1)
}
