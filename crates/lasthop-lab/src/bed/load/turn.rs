// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What both ends of a load share: what came of a socket's turn, and how it fails.

use std::io::{self, ErrorKind};
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::tally::{Failure, Shared};
use crate::bed::transfer::content::Content;

pub(super) const BUFFER_BYTES: usize = 64 * 1024;
/// Bytes moved per turn and connection, so that one does not starve the others.
pub(super) const TURN_BYTES: u64 = 256 * 1024;
/// How long a side may take to notice that the load ends.
pub(super) const TICK: Duration = Duration::from_millis(20);
/// Accepted, opened, asked again or ended in a row, so that those that there are get on.
pub(super) const BATCH: usize = 64;

/// What came of a socket's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It goes on when there is what it waits for already.
    Waits,
    /// It goes on when it can be written.
    Writes,
    /// It goes on when it can be read.
    Reads,
    /// The exchange is complete, and nothing is under way.
    Answered,
    /// Both ends have closed.
    Over,
}

/// How a connection failed, and why.
pub(super) type Failed = (Failure, String);

/// Compares what has come, and counts it.
pub(super) fn compare(
    shared: &Shared,
    content: Content,
    at: u64,
    got: &[u8],
) -> Result<(), Failed> {
    shared.bytes.fetch_add(got.len() as u64, Ordering::Relaxed);
    match content.first_wrong(at, got) {
        Some(position) => Err((
            Failure::Content,
            format!("content differs at byte {position}"),
        )),
        None => Ok(()),
    }
}

pub(super) fn failure_of(error: io::Error) -> Failed {
    let kind = match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused | ErrorKind::BrokenPipe => {
            Failure::Reset
        }
        ErrorKind::TimedOut => Failure::Stuck,
        _ => Failure::Other,
    };
    (kind, error.to_string())
}

/// Whether it is to be tried again later.
pub(super) fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
