// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What both ends of all flows look like, at short intervals: for whoever wants to see what an
//! outage does to a sender.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::flow::{Connection, Shared};
use super::sockets::TcpInfo;

/// How soon the thread notices the end.
const TICK: Duration = Duration::from_millis(20);

/// All flows at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moment {
    /// Since the transfer began.
    pub at_ns: u64,
    /// Bytes read by the receiving application, per flow, over all of its connections.
    pub received_bytes: Vec<u64>,
    /// The sender of each flow's newest connection; none before it is connected.
    pub senders: Vec<Option<TcpInfo>>,
}

impl Moment {
    fn take(shared: &Shared) -> Self {
        Self {
            at_ns: shared.now_ns(),
            received_bytes: shared.received_by_flow(),
            senders: (0..shared.parallel)
                .map(|flow| newest_sender(shared, flow))
                .collect(),
        }
    }

    /// Bytes of all flows together.
    pub fn total_bytes(&self) -> u64 {
        self.received_bytes.iter().sum()
    }
}

fn newest_sender(shared: &Shared, flow: usize) -> Option<TcpInfo> {
    let opened = |c: &&Connection| c.opened_ns.load(Ordering::SeqCst) != u64::MAX;
    let newest = shared.of_flow(flow).take_while(opened).last()?;
    newest.sender_info()
}

/// Looks every `interval` until the end. A moment that the machine slept through is left out, not
/// made up for: two looks in a row would show the same.
pub(super) fn watch(shared: &Shared, interval: Duration) -> Vec<Moment> {
    let mut moments = Vec::new();
    let mut due = shared.epoch;
    while !shared.is_over() {
        let wait = due.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            thread::sleep(wait.min(TICK));
            continue;
        }
        moments.push(Moment::take(shared));
        while due <= Instant::now() {
            due += interval;
        }
    }
    moments
}
