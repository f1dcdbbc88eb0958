// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What came of a transfer.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::RTT_INTERVAL;
use super::flow::{Flow, Shared};
use super::sockets::TcpInfo;

/// How soon the sampler notices the end.
const SAMPLER_TICK: Duration = Duration::from_millis(20);

/// A sender's smoothed round-trip time at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttSample {
    /// Since the transfer began.
    pub at_ns: u64,
    /// Flow number.
    pub flow: usize,
    /// `tcpi_rtt`.
    pub rtt_us: u32,
}

/// Counters of all flows at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Since the transfer began.
    pub at_ns: u64,
    /// Bytes read by the receiving application, per flow.
    pub received_bytes: Vec<u64>,
    /// What the kernel says about each sender; none before it is connected.
    pub senders: Vec<Option<TcpInfo>>,
}

impl Snapshot {
    pub(super) fn take(shared: &Shared) -> Self {
        let received = |f: &Flow| f.received_bytes.load(Ordering::Relaxed);
        Self {
            at_ns: shared.now_ns(),
            received_bytes: shared.flows.iter().map(received).collect(),
            senders: shared.flows.iter().map(Flow::sender_info).collect(),
        }
    }

    /// Bytes of all flows together.
    pub fn total_bytes(&self) -> u64 {
        self.received_bytes.iter().sum()
    }

    /// Segments sent again by all flows together.
    pub fn total_retransmits(&self) -> u64 {
        (0..self.senders.len())
            .map(|flow| self.retransmits(flow))
            .sum()
    }

    /// Segments sent again by one flow; 0 before it is connected.
    pub fn retransmits(&self, flow: usize) -> u64 {
        self.senders[flow].map_or(0, |info| info.retransmits)
    }
}

/// What came of one flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowReport {
    /// Bytes read by the receiving application.
    pub received_bytes: u64,
    /// Every byte received is right, none is missing that should be there, and the stream ended
    /// as it should.
    pub content_ok: bool,
    /// When connect() was called, since the transfer began.
    pub opened_ns: u64,
    /// From connect() to the last byte read; none if bytes are missing, or there is no last one.
    pub completion_ns: Option<u64>,
    /// Why it failed.
    pub failure: Option<String>,
    /// Segments that the sender sent again.
    pub retransmits: u64,
}

/// What came of a transfer.
#[derive(Debug, Clone, Default)]
pub struct TransferReport {
    /// Per flow.
    pub flows: Vec<FlowReport>,
    /// Round-trip times over the whole transfer.
    pub rtt: Vec<RttSample>,
    /// From its beginning to its end.
    pub elapsed_ns: u64,
}

impl TransferReport {
    pub(super) fn new(shared: &Shared, end: &Snapshot, rtt: Vec<RttSample>) -> Self {
        let flow = |index: usize| {
            let flow = &shared.flows[index];
            let received_bytes = flow.received_bytes.load(Ordering::Relaxed);
            let opened_ns = flow.opened_ns.load(Ordering::SeqCst);
            let last_ns = flow.last_byte_ns.load(Ordering::Relaxed);
            let complete = flow.finished.load(Ordering::SeqCst) && flow.failure().is_none();
            let failure = match (flow.failure(), shared.bytes_per_flow) {
                (Some(failure), _) => Some(failure.to_owned()),
                (None, Some(wanted)) if !complete => {
                    let quiet_s = end.at_ns.saturating_sub(last_ns) as f64 / 1e9;
                    let sender = end.senders[index]
                        .map_or_else(|| "not connected".into(), |info| info.to_string());
                    Some(format!(
                        "only {received_bytes} of {wanted} bytes within the deadline, the last \
                         {quiet_s:.1} s ago; sender: {sender}"
                    ))
                }
                _ => None,
            };
            FlowReport {
                received_bytes,
                content_ok: failure.is_none(),
                opened_ns,
                completion_ns: complete.then(|| last_ns.saturating_sub(opened_ns)),
                failure,
                retransmits: end.retransmits(index),
            }
        };
        Self {
            flows: (0..shared.flows.len()).map(flow).collect(),
            rtt,
            elapsed_ns: end.at_ns,
        }
    }

    /// Whether the content of every flow is right.
    pub fn content_ok(&self) -> bool {
        self.flows.iter().all(|flow| flow.content_ok)
    }

    /// Why the first failed flow failed, with its number.
    pub fn first_failure(&self) -> Option<String> {
        let failed = self.flows.iter().enumerate();
        failed
            .filter_map(|(index, flow)| Some(format!("flow {index}: {}", flow.failure.as_ref()?)))
            .next()
    }

    /// Bytes of all flows together.
    pub fn total_bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.received_bytes).sum()
    }

    /// From the first flow's connect() to the last byte of the last; none unless all completed.
    pub fn completion_ns(&self) -> Option<u64> {
        let first_ns = self.flows.iter().map(|flow| flow.opened_ns).min()?;
        let ends_ns = self
            .flows
            .iter()
            .map(|flow| Some(flow.opened_ns + flow.completion_ns?));
        let last_ns = ends_ns.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        Some(last_ns - first_ns)
    }
}

/// Why the first failed flow failed, for messages.
pub(super) fn first_failure(shared: &Shared) -> Option<String> {
    let mut flows = shared.flows.iter().enumerate();
    shared
        .side_failure()
        .or_else(|| flows.find_map(|(i, f)| Some(format!("(flow {i}: {})", f.failure()?))))
}

/// Reads the senders' round-trip times until the end. Flows that are finished are left out: what
/// an idle connection remembers is no measurement.
pub(super) fn sample_rtt(shared: &Shared) -> Vec<RttSample> {
    let mut samples = Vec::new();
    let mut due = shared.epoch + RTT_INTERVAL;
    while !shared.stop.load(Ordering::SeqCst) {
        let wait = due.saturating_duration_since(std::time::Instant::now());
        if !wait.is_zero() {
            thread::sleep(wait.min(SAMPLER_TICK));
            continue;
        }
        due += RTT_INTERVAL;
        let at_ns = shared.now_ns();
        for (flow, state) in shared.flows.iter().enumerate() {
            if state.finished.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(info) = state.sender_info().filter(|info| info.rtt_us > 0) {
                let rtt_us = info.rtt_us;
                samples.push(RttSample {
                    at_ns,
                    flow,
                    rtt_us,
                });
            }
        }
    }
    samples
}
