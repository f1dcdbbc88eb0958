// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What `lasthop-simulate` prints.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What it prints, all of the measured time unless it says otherwise.
#[derive(Debug, Deserialize)]
pub(super) struct Raw {
    /// How long that was.
    pub measured_ns: u64,
    /// Read by each flow's receiver.
    pub received_bytes: Vec<u64>,
    /// The same of all uploads beside downloads.
    pub uploaded_bytes: u64,
    /// From each flow's connect() to its last byte; null without one.
    pub completion_ns: Vec<Option<u64>>,
    /// Whether every byte was right, warm-up included.
    pub content_ok: bool,
    /// Connections that TCP gave up, or that never came about.
    pub failed: u32,
    /// Version of ns-3.
    pub ns3: String,
    /// With data, sent by all senders.
    pub segments: u64,
    /// Of these, sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets lost by the hop in the data direction.
    pub link_lost: u64,
    /// Packets that its queue had no room for.
    pub queue_dropped: u64,
    /// Packets that its queue discipline dropped while there was room.
    pub aqm_dropped: u64,
    /// Packets that it marked instead.
    pub aqm_marked: u64,
    /// Every 100 ms of the whole run.
    pub samples: Vec<RawSample>,
    /// Of the whole run.
    pub events: u64,
    /// What the whole run took, in s of processor time.
    pub cpu_s: f64,
    /// The most that the agent held; null without one.
    pub agent_memory_bytes: Option<u64>,
    /// Growth of its counters, by their names in `lasthop status -j`.
    pub agent: Option<BTreeMap<String, u64>>,
    /// Of the hop, the base's first; null if it has none.
    pub radios: Option<[RawRadio; 2]>,
    /// When each short transfer began, and how long it took; null: for ever. Null without any.
    pub arrivals_ns: Option<Vec<(u64, Option<u64>)>>,
}

/// What one radio did.
#[derive(Debug, Deserialize)]
pub(super) struct RawRadio {
    /// In microjoules.
    pub energy_uj: u64,
    /// Frames with data of which its MAC made the last attempt in vain.
    pub given_up: u64,
}

/// How far all are at one moment.
#[derive(Debug, Deserialize)]
pub(super) struct RawSample {
    /// Since the beginning.
    pub at_ns: u64,
    /// Read by each flow's receiver until then.
    pub received_bytes: Vec<u64>,
    /// Smoothed round trip of each sender; 0: none.
    pub rtt_us: Vec<u32>,
    /// Both of the neighbours.
    pub neighbours_received_bytes: Vec<u64>,
    pub neighbours_rtt_us: Vec<u32>,
}
