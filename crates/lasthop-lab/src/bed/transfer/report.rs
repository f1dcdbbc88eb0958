// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What came of a transfer.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::flow::{Connection, Shared};
use super::moments::Moment;
use super::sockets::TcpInfo;

/// How often the senders' round-trip times and the receivers' bytes are read.
pub const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// How soon the sampler notices the end.
const SAMPLER_TICK: Duration = Duration::from_millis(20);

/// A sender's smoothed round-trip time at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttSample {
    /// Since the transfer began.
    pub at_ns: u64,
    /// Connection number.
    pub connection: usize,
    /// `tcpi_rtt`.
    pub rtt_us: u32,
}

/// What the receivers had read at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedSample {
    /// Since the transfer began.
    pub at_ns: u64,
    /// Per flow, over all of its connections.
    pub bytes: Vec<u64>,
}

/// What is read every [`SAMPLE_INTERVAL`].
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) rtt: Vec<RttSample>,
    pub(super) received: Vec<ReceivedSample>,
}

/// Counters of all flows at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Since the transfer began.
    pub at_ns: u64,
    /// Bytes read by the receiving application, per flow.
    pub received_bytes: Vec<u64>,
    /// What the kernel says about the sender of each connection; none before it is connected.
    pub senders: Vec<Option<TcpInfo>>,
}

impl Snapshot {
    pub(super) fn take(shared: &Shared) -> Self {
        Self {
            at_ns: shared.now_ns(),
            received_bytes: shared.received_by_flow(),
            senders: shared
                .connections
                .iter()
                .map(Connection::sender_info)
                .collect(),
        }
    }

    /// Bytes of all flows together.
    pub fn total_bytes(&self) -> u64 {
        self.received_bytes.iter().sum()
    }

    /// Segments sent again by all flows together.
    pub fn total_retransmits(&self) -> u64 {
        (0..self.senders.len())
            .map(|connection| self.retransmits(connection))
            .sum()
    }

    /// Segments sent again on one connection; 0 before it is connected.
    pub fn retransmits(&self, connection: usize) -> u64 {
        self.senders[connection].map_or(0, |info| info.retransmits)
    }

    /// Segments with data sent by all flows together, those sent again included.
    pub fn total_data_segments(&self) -> u64 {
        let senders = self.senders.iter().flatten();
        senders.map(|info| info.data_segments).sum()
    }
}

/// What came of one flow, or of one connection of a chain.
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
    /// Nothing is wrong but that bytes are missing: it was cut off before its end.
    pub cut_off: bool,
    /// Segments that the sender sent again.
    pub retransmits: u64,
}

/// What came of a transfer.
#[derive(Debug, Clone, Default)]
pub struct TransferReport {
    /// One per connection, so one per flow unless flows are chains: then round by round, and
    /// [`TransferReport::chain`] picks those of one flow.
    pub flows: Vec<FlowReport>,
    /// Flows side by side.
    pub parallel: usize,
    /// Round-trip times over the whole transfer.
    pub rtt: Vec<RttSample>,
    /// Bytes at the receivers over the whole transfer.
    pub received: Vec<ReceivedSample>,
    /// Both ends at short intervals, if [`super::Transfer::watch`] asked for it.
    pub moments: Vec<Moment>,
    /// From its beginning to its end.
    pub elapsed_ns: u64,
}

impl TransferReport {
    pub(super) fn new(
        shared: &Shared,
        end: &Snapshot,
        samples: Samples,
        moments: Vec<Moment>,
    ) -> Self {
        let report = |index: usize| {
            let flow = &shared.connections[index];
            let received_bytes = flow.received_bytes.load(Ordering::Relaxed);
            let opened_ns = flow.opened_ns.load(Ordering::SeqCst);
            let last_ns = flow.last_byte_ns.load(Ordering::Relaxed);
            let complete = flow.finished.load(Ordering::SeqCst) && flow.failure().is_none();
            let failure = match (flow.failure(), flow.wanted_bytes()) {
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
                cut_off: failure.is_some() && flow.failure().is_none(),
                failure,
                retransmits: end.retransmits(index),
            }
        };
        Self {
            flows: (0..shared.connections.len()).map(report).collect(),
            parallel: shared.parallel,
            rtt: samples.rtt,
            received: samples.received,
            moments,
            elapsed_ns: end.at_ns,
        }
    }

    /// The connections of one flow, in their order.
    pub fn chain(&self, flow: usize) -> impl Iterator<Item = &FlowReport> + Clone {
        self.flows.iter().skip(flow).step_by(self.parallel)
    }

    /// From a flow's first connect() to its last byte; none unless all its connections completed.
    pub fn flow_completion_ns(&self, flow: usize) -> Option<u64> {
        span_ns(self.chain(flow))
    }

    /// From the first connect() to the last byte of the flows that go to one of `hosts` in turn;
    /// none unless all their connections completed.
    pub fn host_completion_ns(&self, host: usize, hosts: usize) -> Option<u64> {
        let flows = (host..self.parallel).step_by(hosts);
        span_ns(flows.flat_map(|flow| self.chain(flow)))
    }

    /// Whether the content of every connection is right.
    pub fn content_ok(&self) -> bool {
        self.flows.iter().all(|c| c.content_ok)
    }

    /// Why the first failed connection failed, with its flow's number.
    pub fn first_failure(&self) -> Option<String> {
        let mut failed = self.flows.iter().enumerate();
        failed.find_map(|(index, connection)| {
            let failure = connection.failure.as_ref()?;
            let flow = index % self.parallel;
            Some(match index / self.parallel {
                _ if self.flows.len() == self.parallel => format!("flow {flow}: {failure}"),
                round => format!("flow {flow}, transfer {round}: {failure}"),
            })
        })
    }

    /// Bytes of all connections together.
    pub fn total_bytes(&self) -> u64 {
        self.flows.iter().map(|c| c.received_bytes).sum()
    }

    /// From the first connect() to the last byte of all; none unless all completed.
    pub fn completion_ns(&self) -> Option<u64> {
        span_ns(self.flows.iter())
    }
}

fn span_ns<'a>(connections: impl Iterator<Item = &'a FlowReport> + Clone) -> Option<u64> {
    let first_ns = connections.clone().map(|c| c.opened_ns).min()?;
    let ends_ns = connections.map(|c| Some(c.opened_ns + c.completion_ns?));
    let last_ns = ends_ns.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    Some(last_ns - first_ns)
}

/// Why the first failed connection failed, for messages.
pub(super) fn first_failure(shared: &Shared) -> Option<String> {
    let mut connections = shared.connections.iter().enumerate();
    shared.side_failure().or_else(|| {
        connections
            .find_map(|(i, c)| Some(format!("(flow {}: {})", i % shared.parallel, c.failure()?)))
    })
}

/// Reads bytes and the senders' round-trip times until the end. A connection of which nothing has
/// been acknowledged since the last reading gives no round-trip time: what an idle or finished one,
/// or one that waits for its timeout, remembers is no measurement. Of 400 flows that begin at once
/// half remember nothing but their handshake, for ten seconds and more.
pub(super) fn sample(shared: &Shared) -> Samples {
    let mut samples = Samples::default();
    let mut acked_bytes = vec![0; shared.connections.len()];
    let mut due = shared.epoch + SAMPLE_INTERVAL;
    while !shared.is_over() {
        let wait = due.saturating_duration_since(std::time::Instant::now());
        if !wait.is_zero() {
            thread::sleep(wait.min(SAMPLER_TICK));
            continue;
        }
        due += SAMPLE_INTERVAL;
        let at_ns = shared.now_ns();
        let bytes = shared.received_by_flow();
        samples.received.push(ReceivedSample { at_ns, bytes });
        for (connection, state) in shared.connections.iter().enumerate() {
            if state.finished.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(info) = state.sender_info().filter(|info| info.rtt_us > 0) {
                let before = std::mem::replace(&mut acked_bytes[connection], info.acked_bytes);
                if info.acked_bytes == before {
                    continue;
                }
                let rtt_us = info.rtt_us;
                samples.rtt.push(RttSample {
                    at_ns,
                    connection,
                    rtt_us,
                });
            }
        }
    }
    samples
}
