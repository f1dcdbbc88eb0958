// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Free slots that CPUs have at hand. Asked for them, a CPU puts them aside with its next packet; one that no
//! packet comes by any more is visited, or a pool would be kept for ever for one of its numbers.

use anyhow::{Context, Result};
use lasthop_core::bindings::{LH_CB_FLOW, lh_of_cpu};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::loaded::Loaded;
use super::program::Program;
use crate::skb::{SkbContext, test_run};
use crate::view::{EMPTY, of_cpus};

/// The thread that asks.
const ME: Pid = Pid::from_raw(0);

/// The slots.
///
/// # Errors
/// The kernel's.
pub(crate) fn at_hand(loaded: &Loaded) -> Result<Vec<u32>> {
    let of = |cpu: lh_of_cpu| cpu.spare.into_iter().take(cpu.nr_spare as usize);
    Ok(of_cpus(loaded.map("counters")?)?
        .into_iter()
        .flat_map(of)
        .collect())
}

/// Runs a program, which then puts them aside, on each CPU that has some, and has not put them aside since
/// they were asked for by this `asked`.
///
/// # Errors
/// The kernel's. A CPU where this process may not be is left alone.
pub(super) fn visit(loaded: &Loaded, asked: u64) -> Result<()> {
    let mut away = None;
    for (cpu, of) in of_cpus(loaded.map("counters")?)?.iter().enumerate() {
        if of.nr_spare == 0 || of.spares_asked >= asked {
            continue;
        }
        let away = match &mut away {
            Some(away) => away,
            none => none.insert(Away::from_home()?),
        };
        if away.to(cpu) {
            // One that there is not: what is to be done with any run is done.
            give(loaded.program(Program::Give)?, u32::MAX)?;
        }
    }
    Ok(())
}

/// Has the program `lh_give` give a slot back, on this CPU. False: that is busy with a packet.
///
/// # Errors
/// The kernel's.
pub(super) fn give(program: i32, slot: u32) -> Result<bool> {
    let mut context = SkbContext::default();
    context.cb[LH_CB_FLOW as usize] = slot;
    Ok(test_run(program, &EMPTY, &context, 1)?.retval == 0)
}

/// Goes back to where this thread was allowed to be, if it went anywhere.
struct Away {
    home: CpuSet,
    moved: bool,
}

impl Away {
    fn from_home() -> Result<Self> {
        let home = sched_getaffinity(ME).context("which CPUs this thread may be on")?;
        Ok(Self { home, moved: false })
    }

    /// Has the thread run there; false: it may not.
    fn to(&mut self, cpu: usize) -> bool {
        let mut there = CpuSet::new();
        let went = there.set(cpu).is_ok() && sched_setaffinity(ME, &there).is_ok();
        self.moved |= went;
        went
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        // Who was let go nowhere (a sandbox) is at home, and would be told the same once more.
        if !self.moved {
            return;
        }
        if let Err(error) = sched_setaffinity(ME, &self.home) {
            tracing::warn!(
                "the thread that keeps the pools can't leave a CPU that it has visited: sched_setaffinity: {error}; `taskset -a -p` sets where it may be"
            );
        }
    }
}
