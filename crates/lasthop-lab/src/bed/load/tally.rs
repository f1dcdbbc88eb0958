// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What becomes of the connections of a load, counted by both of its threads.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use socket2::Socket;

use crate::bed::transfer::sockets;

/// Longest completion that is told apart from longer ones.
const MOST_US: u64 = 600_000_000;

/// Counts of a load so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Connections opened: connect() was called.
    pub opened: u64,
    /// Of these, those that stay until the end.
    pub held: u64,
    /// Those whose other end has answered.
    pub established: u64,
    /// Those that have done all that they were there for, and were closed by both ends.
    pub finished: u64,
    /// Openings that were due while as many as may be were under way.
    pub put_off: u64,
    /// Exchanges of which every byte was right.
    pub exchanges: u64,
    /// Content that was compared, both ways, in bytes.
    pub bytes: u64,
    /// Connections on which a byte differed, or one was missing or too many.
    pub content_errors: u64,
    /// Connections that somebody reset.
    pub resets: u64,
    /// Connections that got on no more for as long as the load waits.
    pub stuck: u64,
    /// Connections that failed in another way.
    pub other_failures: u64,
    /// Half of the exchanges took no longer, in us: from connect() or the question to the last byte.
    pub p50_us: u64,
    /// The same of 99 in 100.
    pub p99_us: u64,
    /// Since the load began.
    pub elapsed_ns: u64,
    /// What became of the first that failed.
    pub first_failure: Option<String>,
}

impl Tally {
    /// Connections that failed, in whatever way.
    pub fn failures(&self) -> u64 {
        self.content_errors + self.resets + self.stuck + self.other_failures
    }
}

/// What one process of a load has counted.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) tally: Tally,
    /// Times of exchanges in us, and how many took so long.
    times_us: Vec<(u64, u64)>,
    /// Connections that its answering end has open.
    pub(super) answering: u64,
    /// Of connections that stayed and have ended: segments that the answering end sent again, by the
    /// opener's address.
    pub(super) resent: BTreeMap<SocketAddr, u64>,
    /// Why it can't go on.
    pub(super) broken: Option<String>,
}

/// All processes' counts together.
pub(super) fn sum(parts: &[Part]) -> Tally {
    let mut sum = Tally::default();
    let mut times = times();
    for Part {
        tally, times_us, ..
    } in parts
    {
        for (total, n) in [
            (&mut sum.opened, tally.opened),
            (&mut sum.held, tally.held),
            (&mut sum.established, tally.established),
            (&mut sum.finished, tally.finished),
            (&mut sum.put_off, tally.put_off),
            (&mut sum.exchanges, tally.exchanges),
            (&mut sum.bytes, tally.bytes),
            (&mut sum.content_errors, tally.content_errors),
            (&mut sum.resets, tally.resets),
            (&mut sum.stuck, tally.stuck),
            (&mut sum.other_failures, tally.other_failures),
        ] {
            *total += n;
        }
        sum.elapsed_ns = sum.elapsed_ns.max(tally.elapsed_ns);
        if sum.first_failure.is_none() {
            sum.first_failure.clone_from(&tally.first_failure);
        }
        for (us, n) in times_us {
            times.saturating_record_n(*us, *n);
        }
    }
    (sum.p50_us, sum.p99_us) = (times.value_at_quantile(0.5), times.value_at_quantile(0.99));
    sum
}

fn times() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MOST_US, 2).expect("bounds in order, and two digits of five")
}

/// How a connection fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    Content,
    Reset,
    Stuck,
    Other,
}

/// How far the load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(super) enum Stage {
    /// Connections are opened.
    Runs,
    /// None is opened any more, those that there are come to their end.
    Ends,
    /// Nothing is waited for.
    Over,
}

/// What the threads of a load share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) epoch: Instant,
    pub(super) seed: u64,
    stage: AtomicU8,
    /// A side that could not go on.
    broken: Mutex<Option<String>>,
    pub(super) opened: AtomicU64,
    pub(super) held: AtomicU64,
    pub(super) established: AtomicU64,
    pub(super) finished: AtomicU64,
    pub(super) put_off: AtomicU64,
    pub(super) exchanges: AtomicU64,
    pub(super) bytes: AtomicU64,
    /// Connections that the answering end has open.
    pub(super) answering: AtomicU64,
    failures: [AtomicU64; 4],
    first_failure: Mutex<Option<String>>,
    resent: Mutex<BTreeMap<SocketAddr, u64>>,
    completion_us: Mutex<Histogram<u64>>,
}

impl Shared {
    pub(super) fn new(seed: u64) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            epoch: Instant::now(),
            seed,
            stage: AtomicU8::new(Stage::Runs as u8),
            broken: Mutex::new(None),
            opened: zero(),
            held: zero(),
            established: zero(),
            finished: zero(),
            put_off: zero(),
            exchanges: zero(),
            bytes: zero(),
            answering: zero(),
            failures: [zero(), zero(), zero(), zero()],
            first_failure: Mutex::new(None),
            resent: Mutex::new(BTreeMap::new()),
            completion_us: Mutex::new(times()),
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    pub(super) fn stage(&self) -> Stage {
        match self.stage.load(Ordering::SeqCst) {
            0 => Stage::Runs,
            1 => Stage::Ends,
            _ => Stage::Over,
        }
    }

    pub(super) fn go_to(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Ordering::SeqCst);
    }

    pub(super) fn break_off(&self, why: String) {
        held(&self.broken).get_or_insert(why);
        self.go_to(Stage::Over);
    }

    /// An exchange is complete, and every byte of it was right.
    pub(super) fn exchanged(&self, took_ns: u64) {
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        held(&self.completion_us).saturating_record((took_ns / 1000).clamp(1, MOST_US));
    }

    /// A connection failed. What happens after the load was cut off is no failure.
    pub(super) fn fail(&self, failure: Failure, why: impl FnOnce() -> String) {
        if self.stage() == Stage::Over {
            return;
        }
        self.failures[failure as usize].fetch_add(1, Ordering::Relaxed);
        held(&self.first_failure).get_or_insert_with(why);
    }

    /// Takes note of what a connection's end has sent again.
    pub(super) fn note_resent(&self, socket: &Socket) {
        let peer = socket.peer_addr().ok().and_then(|peer| peer.as_socket());
        if let (Some(peer), Ok(info)) = (peer, sockets::tcp_info(socket)) {
            held(&self.resent).insert(peer, info.retransmits);
        }
    }

    pub(super) fn part(&self) -> Part {
        let times = held(&self.completion_us);
        let recorded = times.iter_recorded();
        let times_us = recorded.map(|at| (at.value_iterated_to(), at.count_since_last_iteration()));
        let times_us = times_us.collect();
        drop(times);
        Part {
            tally: self.tally(),
            times_us,
            answering: self.answering.load(Ordering::SeqCst),
            resent: held(&self.resent).clone(),
            broken: held(&self.broken).clone(),
        }
    }

    fn tally(&self) -> Tally {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let failed = |failure: Failure| of(&self.failures[failure as usize]);
        let times = held(&self.completion_us);
        Tally {
            opened: of(&self.opened),
            held: of(&self.held),
            established: of(&self.established),
            finished: of(&self.finished),
            put_off: of(&self.put_off),
            exchanges: of(&self.exchanges),
            bytes: of(&self.bytes),
            content_errors: failed(Failure::Content),
            resets: failed(Failure::Reset),
            stuck: failed(Failure::Stuck),
            other_failures: failed(Failure::Other),
            p50_us: times.value_at_quantile(0.5),
            p99_us: times.value_at_quantile(0.99),
            elapsed_ns: self.now_ns(),
            first_failure: held(&self.first_failure).clone(),
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_count_by_kind_until_it_is_over() {
        let shared = Shared::new(1);
        shared.fail(Failure::Reset, || "first".into());
        shared.fail(Failure::Content, || "second".into());
        shared.exchanged(5_000_000);
        let tally = shared.tally();
        assert_eq!((tally.resets, tally.content_errors, tally.stuck), (1, 1, 0));
        assert_eq!(tally.failures(), 2);
        assert_eq!(tally.first_failure.as_deref(), Some("first"));
        assert!((4_900..5_100).contains(&tally.p99_us), "{}", tally.p99_us);
        let both = sum(&[shared.part(), shared.part()]);
        assert_eq!((both.failures(), both.exchanges), (4, 2));
        assert!((4_900..5_100).contains(&both.p50_us), "{}", both.p50_us);
        shared.go_to(Stage::Over);
        shared.go_to(Stage::Ends); // it does not begin anew
        shared.fail(Failure::Stuck, || "late".into());
        assert_eq!(shared.tally().failures(), 2);
        assert_eq!(shared.stage(), Stage::Over);
    }
}
