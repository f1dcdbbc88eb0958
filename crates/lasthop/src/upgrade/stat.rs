// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What /proc/PID/stat says of a process (proc_pid_stat(5)).

use std::fs;

/// The whole line; none: there is no such process.
pub(super) fn of(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/stat")).ok()
}

/// What stands behind the process' name, which may have anything in it: its state first.
pub(super) fn field_in(stat: &str, at: usize) -> Option<&str> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(at)
}
