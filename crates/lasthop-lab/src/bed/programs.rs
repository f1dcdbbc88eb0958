// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How often and how long each BPF program ran that a process has put on a device. The kernel counts
//! while [`crate::bed::cpu::ProgramsAreTimed`] is there.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use anyhow::{Context, Result};

/// Runs of a program so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramRuns {
    /// How many.
    pub runs: u64,
    /// How long all took together.
    pub ns: u64,
}

impl ProgramRuns {
    /// Those since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            runs: self.runs.saturating_sub(before.runs),
            ns: self.ns.saturating_sub(before.ns),
        }
    }

    /// Mean time of one.
    pub fn mean_ns(self) -> f64 {
        self.ns as f64 / self.runs.max(1) as f64
    }
}

/// Of the programs `lh_egress` and `lh_ingress` on devices of process `pid`.
///
/// # Errors
/// The process is gone, or has no such program.
pub fn runs(pid: i32) -> Result<[ProgramRuns; 2]> {
    let mut found = [None, None];
    for id in linked(pid)? {
        let (name, runs) = info(id)?;
        match name.as_str() {
            "lh_egress" => found[0] = Some(runs),
            "lh_ingress" => found[1] = Some(runs),
            _ => {}
        }
    }
    let [egress, ingress] = found.map(|runs| runs.context("a program is on no device"));
    Ok([egress?, ingress?])
}

/// Numbers of the programs that links of a process are about.
fn linked(pid: i32) -> Result<Vec<u32>> {
    let directory = format!("/proc/{pid}/fdinfo");
    let entries = fs::read_dir(&directory).with_context(|| format!("cannot read {directory}"))?;
    let texts = entries
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok());
    Ok(texts.filter_map(|text| program_of_link(&text)).collect())
}

fn program_of_link(text: &str) -> Option<u32> {
    let field = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    field("link_type:")?;
    field("prog_id:")?.trim().parse().ok()
}

fn info(id: u32) -> Result<(String, ProgramRuns)> {
    let failed = |error: i32| io::Error::from_raw_os_error(-error);
    // SAFETY: a plain number.
    let fd = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) };
    if fd < 0 {
        return Err(failed(fd)).with_context(|| format!("BPF program {id}"));
    }
    // SAFETY: a descriptor that the kernel just gave us.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut bytes = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: `info` has so many bytes and lives through the call.
    let error =
        unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd.as_raw_fd(), &mut info, &mut bytes) };
    if error < 0 {
        return Err(failed(error)).with_context(|| format!("BPF program {id}"));
    }
    // SAFETY: the kernel ends names with a zero, and the field was zero before.
    let name = unsafe { CStr::from_ptr(info.name.as_ptr()) };
    let runs = ProgramRuns {
        runs: info.run_cnt,
        ns: info.run_time_ns,
    };
    Ok((name.to_string_lossy().into_owned(), runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_programs_and_programs_are_none() {
        let link = "pos:\t0\nlink_type:\ttcx\nlink_id:\t4\nprog_id:\t17\nifindex:\t2\n";
        assert_eq!(program_of_link(link), Some(17));
        assert_eq!(
            program_of_link("prog_type:\t3\nprog_id:\t17\nrun_cnt:\t1\n"),
            None
        );
        assert_eq!(program_of_link("pos:\t0\n"), None);
    }

    #[test]
    fn means_of_what_was_added() {
        let [before, now] = [(2, 100), (6, 300)].map(|(runs, ns)| ProgramRuns { runs, ns });
        assert_eq!(now.since(before).mean_ns(), 50.0);
        assert_eq!(before.since(now).mean_ns(), 0.0);
    }
}
