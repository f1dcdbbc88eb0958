// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Processor time of a machine's other processes: what a measurement of the whole machine has to
//! leave out where others work on it as well.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use nix::unistd::{SysconfVar, sysconf};

/// The kernel's threads are its children.
const KTHREADD: i32 = 2;

/// Of a process: its parent, and the time of it and of its children that ended, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: i32,
    ticks: u64,
}

/// Processor time of all processes so far but this one, what it started, and the kernel's threads.
/// Only the difference of two moments counts.
///
/// # Errors
/// The kernel does not tell.
pub fn others_ns() -> Result<u64> {
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc")
        .context("cannot read /proc")?
        .flatten()
    {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        // One that ended meanwhile is in its parent's time.
        let text = fs::read_to_string(entry.path().join("stat"));
        if let Some(process) = text.ok().and_then(|text| parsed(&text)) {
            processes.insert(pid, process);
        }
    }
    let per_second = sysconf(SysconfVar::CLK_TCK)?.context("no clock ticks")?;
    let ticks = others_ticks(&processes, std::process::id() as i32);
    Ok(ticks * 1_000_000_000 / per_second as u64)
}

/// From `/proc/PID/stat`.
fn parsed(text: &str) -> Option<Process> {
    // The name is in brackets and may hold brackets and blanks.
    let rest = &text[text.rfind(')')? + 2..];
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i64>().ok();
    let ticks: Option<i64> = (11..15).map(number).sum();
    Some(Process {
        parent: number(1)? as i32,
        ticks: u64::try_from(ticks?).ok()?,
    })
}

fn others_ticks(processes: &BTreeMap<i32, Process>, own: i32) -> u64 {
    let is_other = |pid: i32| {
        let next = |pid: &i32| processes.get(pid).map(|process| process.parent);
        !std::iter::successors(Some(pid), next).any(|pid| pid == own || pid == KTHREADD)
    };
    let others = processes.iter().filter(|(pid, _)| is_other(**pid));
    others.map(|(_, process)| process.ticks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let text = "7 (a) b (c)) S 3 7 7 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 99 0";
        let process = Process {
            parent: 3,
            ticks: 100,
        };
        assert_eq!(parsed(text), Some(process));
        assert_eq!(parsed("7 (a) S 3"), None);
        assert_eq!(parsed(""), None);
    }

    #[test]
    fn own_children_and_the_kernels_threads_are_no_others() {
        let process = |parent, ticks| Process { parent, ticks };
        let processes = BTreeMap::from([
            (1, process(0, 1)),
            (2, process(0, 10)),
            (3, process(2, 100)),
            (50, process(1, 1_000)),
            (51, process(50, 10_000)),
            (52, process(51, 100_000)),
            (60, process(1, 1_000_000)),
        ]);
        assert_eq!(others_ticks(&processes, 51), 1_001_001);
    }

    #[test]
    fn this_machine_tells() {
        assert!(others_ns().is_ok());
    }
}
