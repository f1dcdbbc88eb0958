// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! When a port is read: at each frame's arrival, or some frames at a time where the link's delay
//! leaves the time for it.
//!
//! The kernel notes when a frame arrives, so it may be read later, as long as it is in the model
//! before it could be due: the lookahead of conservative simulation (Chandy and Misra 1979). To be
//! woken up by each of them costs more than all else that is done for it. As with the kernel's own
//! NAPI a port whose frames come one after another is read at intervals, and one that is silent
//! wakes the relay with its next frame.

/// A delay below this leaves no time to wait.
const LEAST_DELAY_NS: u64 = 100_000;
/// The longest interval, some 40 full frames at 1 Gbit/s: they are read while they are in the
/// cache, and what the counters say is never older.
const MAX_INTERVAL_NS: u64 = 500_000;

/// What a reading has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing, or there is no interface to read from.
    Nothing,
    /// Frames, and all of them have been read.
    All,
    /// So many that some have been left.
    Part,
}

/// When to read a port next.
#[derive(Debug)]
pub struct Reading {
    /// `None`: as soon as there is something.
    next_ns: Option<u64>,
}

impl Reading {
    /// Of a port that has not been read.
    pub fn new() -> Self {
        Self { next_ns: None }
    }

    /// Whether the relay is to be woken up by the port's next frame.
    pub fn is_listening(&self) -> bool {
        self.next_ns.is_none()
    }

    /// When the port is to be read without being asked for.
    pub fn next_ns(&self) -> Option<u64> {
        self.next_ns
    }

    /// Whether to read in a turn at `now_ns`.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.next_ns.is_none_or(|next_ns| next_ns <= now_ns)
    }

    /// A reading has found all that arrived by `known_ns`, and on the link nothing takes less than
    /// `least_delay_ns`. Half of it is left for a relay that gets the processor late.
    pub fn on_read(&mut self, found: Found, known_ns: u64, least_delay_ns: u64) {
        let waits = found == Found::All && least_delay_ns >= LEAST_DELAY_NS;
        let interval_ns = (least_delay_ns / 2).min(MAX_INTERVAL_NS);
        self.next_ns = waits.then_some(known_ns + interval_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_busy_port_is_read_at_intervals_and_a_silent_one_wakes() {
        let mut reading = Reading::new();
        assert!(reading.is_listening() && reading.is_due(0));
        reading.on_read(Found::All, 7 * MS, 5 * MS);
        assert!(!reading.is_listening() && !reading.is_due(7 * MS));
        assert_eq!(reading.next_ns(), Some(7 * MS + MAX_INTERVAL_NS));
        assert!(reading.is_due(7 * MS + MAX_INTERVAL_NS));
        reading.on_read(Found::Nothing, 8 * MS, 5 * MS);
        assert!(reading.is_listening());
    }

    #[test]
    fn never_later_than_half_the_delay() {
        let mut reading = Reading::new();
        reading.on_read(Found::All, MS, 300_000);
        assert_eq!(reading.next_ns(), Some(MS + 150_000));
        reading.on_read(Found::Part, MS, 300_000);
        assert!(reading.is_due(MS), "the rest waits");
        reading.on_read(Found::All, MS, LEAST_DELAY_NS - 1);
        assert!(reading.is_listening(), "no time to wait");
    }
}
