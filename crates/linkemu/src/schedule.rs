// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How the relay's thread gets the processor in time.

/// The least real-time priority, for a link is not busy because a host is: the kernel's own
/// emulator, netem, goes before all processes, too. Niceness does not get there. It counts among
/// the processes of a session alone where the kernel groups by sessions (autogroup), and since
/// Linux 6.6 (EEVDF) who wakes up waits for the slice of who runs. An overloaded relay starves the
/// hosts under test of all but the 5 % that the kernel keeps for others, but then they send less.
const REAL_TIME_PRIORITY: libc::c_int = 1;

/// Where that is not permitted: enough to get ahead of most.
const NICENESS: libc::c_int = -15;

/// Lets the calling thread run, and its timers fire, close to when they should. What is not
/// permitted is left as it is, for it only costs precision.
pub fn prefer_this_thread() {
    let slack_ns: libc::c_ulong = 1; // the default lets the kernel delay each timer by 50 µs
    let this_thread = 0;
    // Whatever it might start is not to be preferred with it.
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    let priority = libc::sched_param {
        sched_priority: REAL_TIME_PRIORITY,
    };
    // SAFETY: all calls take plain numbers, or read `priority`, and change nothing but this
    // thread's scheduling.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns);
        if libc::sched_setscheduler(this_thread, policy, &raw const priority) < 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS);
        }
    }
}
