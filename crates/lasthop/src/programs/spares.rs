// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Free slots that CPUs have at hand. Asked for them, a CPU puts them aside with its next packet; one that no
//! packet comes by any more is visited, or a pool would be kept for ever for one of its numbers.

use anyhow::{Context, Result};
use lasthop_core::bindings::{LH_CB_FLOW, lh_counters};
use libbpf_rs::{MapCore, MapFlags};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::loaded::Loaded;
use super::program::Program;
use crate::bytes::{self, Plain};
use crate::skb::{SkbContext, test_run};
use crate::view::EMPTY;

/// The thread that asks.
const ME: Pid = Pid::from_raw(0);

/// A CPU's own, as it begins: `struct lh_env` of core/env.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct OfCpu {
    counters: lh_counters,
    slots_taken: i64,
    chunks_taken: i64,
    nr_spare: u32,
    spare: [u32; 64],
    asked: u64,
}

// SAFETY: integers, and what is between them is never looked at.
unsafe impl Plain for OfCpu {}

/// Runs a program, which then puts them aside, on each CPU that has some, and has not put them aside since
/// they were asked for by this `asked`.
///
/// # Errors
/// The kernel's. A CPU where this process may not be is left alone.
pub(super) fn visit(loaded: &Loaded, asked: u64) -> Result<()> {
    let key = 0u32.to_ne_bytes();
    let values = loaded
        .map("counters")?
        .lookup_percpu(&key, MapFlags::ANY)?
        .context("no counters")?;
    let mut away = None;
    for (cpu, value) in values.iter().enumerate() {
        let of: OfCpu = bytes::read(value).context("counters are too short")?;
        if of.nr_spare == 0 || of.asked >= asked {
            continue;
        }
        if away.is_none() {
            away = Some(Away::from_home()?);
        }
        let mut there = CpuSet::new();
        if there.set(cpu).is_ok() && sched_setaffinity(ME, &there).is_ok() {
            put_aside(loaded)?;
        }
    }
    Ok(())
}

/// Gives back a slot that there is not: what is to be done with any run is done.
fn put_aside(loaded: &Loaded) -> Result<()> {
    let mut context = SkbContext::default();
    context.cb[LH_CB_FLOW as usize] = u32::MAX;
    test_run(loaded.program(Program::Give)?, &EMPTY, &context, 1)?;
    Ok(())
}

/// Goes back to where this thread was allowed to be.
struct Away(CpuSet);

impl Away {
    fn from_home() -> Result<Self> {
        sched_getaffinity(ME).map(Self).context("CPUs")
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        if let Err(error) = sched_setaffinity(ME, &self.0) {
            tracing::warn!("CPUs of a thread: {error}");
        }
    }
}
