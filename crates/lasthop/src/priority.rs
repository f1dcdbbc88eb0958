// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Who goes first on the processor.

/// Above this process, who carries other people's traffic.
const FIRST: i32 = -10;
/// Formatting a long table and loading programs, which takes a second or more of a core, is nobody's traffic:
/// a ninth of the weight of who carries it. No less, for somebody waits: behind all else that a busy
/// machine does a reload took more than its minute.
const USUAL: i32 = 0;

fn set(nice: i32) -> bool {
    // SAFETY: no pointers; 0 means this process, or of a thread that has begun its work that alone.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) == 0 }
}

/// Of this process, before it has threads: what has to be in time.
pub fn raise() {
    if !set(FIRST) {
        tracing::info!("no right to a higher priority: repairs by timer may come late");
    }
}

/// Of this thread: it answers somebody, or loads programs, while others have to be served.
pub fn of_thread() {
    set(USUAL);
}
