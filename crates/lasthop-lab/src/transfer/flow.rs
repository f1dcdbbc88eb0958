// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the threads of a transfer share: one entry per flow, and when to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use socket2::Socket;

use super::content::Content;
use super::sockets::{self, TcpInfo};

/// State of one flow. Times are nanoseconds since the transfer began.
#[derive(Debug)]
pub struct Flow {
    /// What it carries.
    pub content: Content,
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
    /// One per flow.
    pub flows: Vec<Flow>,
    /// Bytes that each flow carries; none: it goes on until stopped.
    pub bytes_per_flow: Option<u64>,
    /// Zero of all times.
    pub epoch: Instant,
    /// Both sides leave their loops.
    pub stop: AtomicBool,
    finished_flows: AtomicUsize,
    /// Failure of a whole side, such as a poller that cannot be made.
    side_failure: Mutex<Option<String>>,
}

impl Flow {
    pub(super) fn new(content: Content) -> Self {
        Self {
            content,
            received_bytes: AtomicU64::new(0),
            opened_ns: AtomicU64::new(u64::MAX),
            last_byte_ns: AtomicU64::new(0),
            finished: AtomicBool::new(false),
            failure: OnceLock::new(),
            sender: OnceLock::new(),
        }
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
    pub(super) fn new(flows: Vec<Flow>, bytes_per_flow: Option<u64>) -> Self {
        Self {
            flows,
            bytes_per_flow,
            epoch: Instant::now(),
            stop: AtomicBool::new(false),
            finished_flows: AtomicUsize::new(0),
            side_failure: Mutex::new(None),
        }
    }

    /// Now, in nanoseconds since the transfer began.
    pub fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Whether no flow will get another byte.
    pub fn all_finished(&self) -> bool {
        self.finished_flows.load(Ordering::SeqCst) == self.flows.len()
    }

    /// Bytes received over all flows.
    pub fn received_bytes(&self) -> u64 {
        self.flows
            .iter()
            .map(|flow| flow.received_bytes.load(Ordering::Relaxed))
            .sum()
    }

    pub(super) fn finish(&self, index: usize) {
        if !self.flows[index].finished.swap(true, Ordering::SeqCst) {
            self.finished_flows.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Records why a flow failed. What happens after the end was ordered is no failure.
    pub(super) fn fail(&self, index: usize, reason: String) {
        if self.stop.load(Ordering::SeqCst) {
            return;
        }
        let _ = self.flows[index].failure.set(reason);
        self.finish(index);
    }

    pub(super) fn fail_side(&self, reason: String) {
        let mut failure = self
            .side_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(reason);
        drop(failure);
        for index in 0..self.flows.len() {
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
