// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Processor time of what stands in the packets' way, and of the machine.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use anyhow::{Context, Result};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};

/// Processor time since some beginning. Of two moments only the difference counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User and system time of the processes, all threads; none without any.
    pub processes_ns: Option<u64>,
    /// Run time of the BPF programs on devices; none without an agent.
    pub programs_ns: Option<u64>,
    /// What all processors of the machine were busy with, interrupts included.
    pub machine_ns: u64,
}

impl CpuTimes {
    /// Now, of these processes; `has_programs`: they are agents.
    ///
    /// # Errors
    /// One is gone, or the kernel does not tell.
    pub fn read(pids: &[i32], has_programs: bool) -> Result<Self> {
        let sum = |of: fn(i32) -> Result<u64>| pids.iter().map(|pid| of(*pid)).sum::<Result<u64>>();
        let processes_ns = (!pids.is_empty()).then(|| sum(process_ns));
        let programs_ns = has_programs.then(|| sum(programs_ns));
        Ok(Self {
            processes_ns: processes_ns.transpose()?,
            programs_ns: programs_ns.transpose()?,
            machine_ns: machine_ns()?,
        })
    }

    /// How much was spent since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let of = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            processes_ns: of(self.processes_ns, before.processes_ns),
            programs_ns: of(self.programs_ns, before.programs_ns),
            machine_ns: self.machine_ns.saturating_sub(before.machine_ns),
        }
    }
}

/// The clock of a process, which counts threads that ended, too, and goes by nanoseconds where
/// /proc/PID/stat has ticks.
fn process_ns(pid: i32) -> Result<u64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid));
    let time = clock.and_then(clock_gettime);
    let time = time.with_context(|| format!("processor time of process {pid}"))?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Run time of the programs that a process has put on devices. Others, which it runs by itself
/// (BPF_PROG_TEST_RUN), are in its own system time.
fn programs_ns(pid: i32) -> Result<u64> {
    let directory = format!("/proc/{pid}/fdinfo");
    let entries = fs::read_dir(&directory).with_context(|| format!("cannot read {directory}"))?;
    // A descriptor may be gone by now.
    let texts = entries
        .flatten()
        .map(|entry| fs::read_to_string(entry.path()));
    let texts: Vec<String> = texts.filter_map(io::Result::ok).collect();
    Ok(run_time_ns(texts.iter().map(String::as_str)))
}

/// From the descriptions of descriptors: links name programs, and programs their run time.
fn run_time_ns<'a>(descriptors: impl Iterator<Item = &'a str>) -> u64 {
    let (mut linked, mut run_ns) = (Vec::new(), BTreeMap::new());
    for text in descriptors {
        let number = |key: &str| -> Option<u64> {
            let value = text.lines().find_map(|line| line.strip_prefix(key))?;
            value.trim().parse().ok()
        };
        let Some(program) = number("prog_id:") else {
            continue;
        };
        match number("run_time_ns:") {
            Some(ns) => drop(run_ns.insert(program, ns)),
            None => linked.push(program),
        }
    }
    let of_linked = run_ns
        .iter()
        .filter(|(program, _)| linked.contains(program));
    of_linked.map(|(_, ns)| ns).sum()
}

fn machine_ns() -> Result<u64> {
    let per_second = sysconf(SysconfVar::CLK_TCK)?.context("no clock ticks")?;
    Ok(Ticks::now()?.busy * 1_000_000_000 / per_second as u64)
}

/// What all processors did since the machine started, in clock ticks (proc_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticks {
    /// user, nice, system, interrupts, softirqs; what guests take is in user's already.
    pub busy: u64,
    /// Nothing, or waiting for a device.
    pub idle: u64,
    /// What the hypervisor gave to others.
    pub stolen: u64,
}

impl Ticks {
    /// Until now.
    ///
    /// # Errors
    /// /proc/stat can't be read, or looks otherwise.
    pub fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
        Self::read(&text).context("/proc/stat: no line about all processors")
    }

    fn read(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<u64> = line
            .split_whitespace()
            .map_while(|word| word.parse().ok())
            .collect();
        match fields[..] {
            [user, nice, system, idle, iowait, irq, softirq, ..] => Some(Self {
                busy: user + nice + system + irq + softirq,
                idle: idle + iowait,
                stolen: fields.get(7).copied().unwrap_or(0),
            }),
            _ => None,
        }
    }
}

/// The kernel counts the run time of BPF programs while this is there, which costs each run two
/// readings of the clock.
#[derive(Debug)]
pub struct ProgramsAreTimed(#[allow(dead_code)] OwnedFd);

impl ProgramsAreTimed {
    /// From now on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn begin() -> Result<Self> {
        // SAFETY: a plain number.
        let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        if fd < 0 {
            let error = io::Error::from_raw_os_error(-fd);
            return Err(error).context("run time of BPF programs (BPF_ENABLE_STATS)");
        }
        // SAFETY: a descriptor that the kernel just gave us.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn programs_on_devices_count_once_and_others_not() {
        let program = |id: u32, ns: u32| {
            format!("pos:\t0\nprog_type:\t3\nprog_id:\t{id}\nrun_time_ns:\t{ns}\nrun_cnt:\t1\n")
        };
        let link = |id: u32| format!("link_type:\ttcx\nprog_id:\t{id}\nifindex:\t2\n");
        let texts = [
            program(7, 100),
            program(8, 50),
            program(9, 1000),
            program(7, 100),
            link(7),
            link(8),
            "pos:\t0\nflags:\t02\n".to_owned(),
        ];
        assert_eq!(run_time_ns(texts.iter().map(String::as_str)), 150);
        assert_eq!(run_time_ns([].into_iter()), 0);
    }

    #[test]
    fn what_processors_are_busy_with() {
        let text = "cpu  10 1 20 1000 7 3 5 9 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        let ticks = Ticks {
            busy: 39,
            idle: 1007,
            stolen: 9,
        };
        assert_eq!(Ticks::read(text), Some(ticks));
        assert_eq!(Ticks::read("intr 1 2 3\n"), None);
        assert_eq!(Ticks::read("cpu  1 2\n"), None);
    }

    #[test]
    fn a_process_that_works_spends_time() {
        let pid = std::process::id() as i32;
        let before = CpuTimes::read(&[pid], false).unwrap();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let spent = CpuTimes::read(&[pid], false).unwrap().since(&before);
        assert!(spent.processes_ns.unwrap() > 1_000_000, "{spent:?}");
        assert_eq!(spent.programs_ns, None);
        let nobody = CpuTimes::read(&[], false).unwrap();
        assert_eq!(nobody.processes_ns, None);
        // Above the highest number that the kernel gives.
        assert!(process_ns((4 << 20) + 1).is_err());
    }
}
