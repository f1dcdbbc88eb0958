// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the threads of a transfer share: one entry per connection, and when to stop.
//!
//! A flow is one connection, or a chain of them one after the other. Connections are numbered
//! round by round: connection `c` belongs to flow `c % parallel`, and is its `c / parallel`-th.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use polling::Poller;
use socket2::Socket;

use super::content::Content;
use super::sockets::{self, TcpInfo};

/// State of one connection. Times are nanoseconds since the transfer began.
#[derive(Debug)]
pub struct Connection {
    /// What it carries.
    pub content: Content,
    /// How much of that; as long as there is nothing, it goes on.
    wanted_bytes: OnceLock<u64>,
    /// Bytes read by the receiving application and found right.
    pub received_bytes: AtomicU64,
    /// When the opener called connect(); `u64::MAX` before.
    pub opened_ns: AtomicU64,
    /// When the last byte so far was read; 0 before the first.
    pub last_byte_ns: AtomicU64,
    /// The receiver needs no more of it, or never will get it.
    pub finished: AtomicBool,
    /// Why it failed: the first reason only, later ones follow from it.
    failure: OnceLock<String>,
    /// The sending end, for `TCP_INFO`.
    sender: OnceLock<Arc<Socket>>,
}

/// State of a transfer.
#[derive(Debug)]
pub struct Shared {
    /// One per connection.
    pub connections: Vec<Connection>,
    /// Flows side by side, each a chain of connections.
    pub parallel: usize,
    /// Zero of all times.
    pub epoch: Instant,
    /// Senders whose connections go on write no more.
    pub ended: AtomicBool,
    /// Both sides leave their loops.
    pub stop: AtomicBool,
    /// When they do so by themselves, in nanoseconds since the transfer began; none: never.
    pub end_ns: Option<u64>,
    nr_finished: AtomicUsize,
    /// Wakes the side that opens the next connection of a chain.
    opener: OnceLock<Arc<Poller>>,
    /// Failure of a whole side, such as a poller that cannot be made.
    side_failure: Mutex<Option<String>>,
}

impl Connection {
    /// `wanted_bytes` of that content; none: it goes on until it is ended or stopped.
    pub(super) fn new(content: Content, wanted_bytes: Option<u64>) -> Self {
        Self {
            content,
            wanted_bytes: wanted_bytes.map_or_else(OnceLock::new, OnceLock::from),
            received_bytes: AtomicU64::new(0),
            opened_ns: AtomicU64::new(u64::MAX),
            last_byte_ns: AtomicU64::new(0),
            finished: AtomicBool::new(false),
            failure: OnceLock::new(),
            sender: OnceLock::new(),
        }
    }

    /// How much of its content it is to carry; none: that is not known yet.
    pub fn wanted_bytes(&self) -> Option<u64> {
        self.wanted_bytes.get().copied()
    }

    /// Its sender has written so much, and that is all.
    pub(super) fn set_wanted_bytes(&self, bytes: u64) {
        let _ = self.wanted_bytes.set(bytes);
    }

    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    pub(super) fn set_sender(&self, socket: &Arc<Socket>) {
        let _ = self.sender.set(Arc::clone(socket));
    }

    /// `TCP_INFO` of the sending end; none before it is connected.
    pub fn sender_info(&self) -> Option<TcpInfo> {
        sockets::tcp_info(self.sender.get()?).ok()
    }
}

impl Shared {
    pub(super) fn new(connections: Vec<Connection>, parallel: usize, end_ns: Option<u64>) -> Self {
        Self {
            connections,
            parallel,
            epoch: Instant::now(),
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            end_ns,
            nr_finished: AtomicUsize::new(0),
            opener: OnceLock::new(),
            side_failure: Mutex::new(None),
        }
    }

    /// Now, in nanoseconds since the transfer began.
    pub fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Whether both sides are to leave their loops.
    pub fn is_over(&self) -> bool {
        let stopped = self.stop.load(Ordering::SeqCst);
        stopped || self.end_ns.is_some_and(|end_ns| self.now_ns() >= end_ns)
    }

    /// Connections of each flow, one after the other.
    pub fn rounds(&self) -> usize {
        self.connections.len() / self.parallel
    }

    /// The connections of one flow, in their order.
    pub fn of_flow(&self, flow: usize) -> impl Iterator<Item = &Connection> {
        self.connections.iter().skip(flow).step_by(self.parallel)
    }

    /// Whether no connection will get another byte.
    pub fn all_finished(&self) -> bool {
        self.nr_finished.load(Ordering::SeqCst) == self.connections.len()
    }

    /// Bytes read by the receiving application, per flow, over all of its connections.
    pub fn received_by_flow(&self) -> Vec<u64> {
        let of_flow = |flow| {
            let connections = self.of_flow(flow);
            connections
                .map(|c| c.received_bytes.load(Ordering::Relaxed))
                .sum()
        };
        (0..self.parallel).map(of_flow).collect()
    }

    /// Bytes received over all connections.
    pub fn received_bytes(&self) -> u64 {
        self.connections
            .iter()
            .map(|connection| connection.received_bytes.load(Ordering::Relaxed))
            .sum()
    }

    pub(super) fn set_opener(&self, poller: &Arc<Poller>) {
        let _ = self.opener.set(Arc::clone(poller));
    }

    pub(super) fn finish(&self, index: usize) {
        if self.connections[index]
            .finished
            .swap(true, Ordering::SeqCst)
        {
            return;
        }
        self.nr_finished.fetch_add(1, Ordering::SeqCst);
        if let Some(opener) = self.opener.get().filter(|_| self.rounds() > 1) {
            // If it fails, the opener notices at its next tick.
            let _ = opener.notify();
        }
    }

    /// Records why a connection failed. What happens after the end was ordered is no failure.
    pub(super) fn fail(&self, index: usize, reason: String) {
        if self.is_over() {
            return;
        }
        let _ = self.connections[index].failure.set(reason);
        self.finish(index);
    }

    pub(super) fn fail_side(&self, reason: String) {
        let mut failure = self
            .side_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(reason);
        drop(failure);
        for index in 0..self.connections.len() {
            self.finish(index);
        }
    }

    pub(super) fn side_failure(&self) -> Option<String> {
        let failure = self
            .side_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        failure.clone()
    }
}
