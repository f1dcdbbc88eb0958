// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The relay's clock: nanoseconds of `CLOCK_MONOTONIC` since it began.

use nix::time::{ClockId, clock_gettime};

/// Time since a fixed beginning.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begin_ns: u64,
}

impl Clock {
    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self {
            begin_ns: read(ClockId::CLOCK_MONOTONIC),
        }
    }

    /// What `CLOCK_MONOTONIC` showed then.
    pub fn begin_ns(&self) -> u64 {
        self.begin_ns
    }

    /// Nanoseconds since the beginning.
    pub fn now_ns(&self) -> u64 {
        read(ClockId::CLOCK_MONOTONIC) - self.begin_ns
    }

    /// The wall clock, which stamps packets, and this clock just after it. In this order, so that
    /// a pause between the two readings makes a packet's arrival look late, never early.
    pub fn wall_and_now_ns(&self) -> (u64, u64) {
        (read(ClockId::CLOCK_REALTIME), self.now_ns())
    }
}

/// Processor time of the calling thread in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn read(id: ClockId) -> u64 {
    // These three clocks exist on every Linux; there is no error to handle.
    clock_gettime(id).map_or(0, |t| {
        t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
    })
}
