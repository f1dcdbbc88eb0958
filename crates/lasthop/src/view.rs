// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What can be read of a device's programs, and the sign of life for them. From any thread: who
//! serves a device must not wait for who asks about it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use lasthop_core::bindings::{
    LH_CB_FLOW, LH_CB_GENERATION, LH_SHOWN, LH_SWEEP_MAX, lh_counters, lh_flow_entry, lh_of_cpu,
    lh_partners, lh_partners_entry, lh_setup,
};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::bytes::{self, Plain};
use crate::maps;
use crate::shared::Shared;
use crate::skb::{SkbContext, test_run};

/// The least that the kernel runs a program over.
pub(crate) const EMPTY: [u8; 14] = [0; 14];

/// How much of the pools is in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Payload slots.
    pub slots: u64,
    /// Ring chunks.
    pub chunks: u64,
    /// Flow entries.
    pub flows: u64,
    /// Flows with something cached.
    pub active_flows: u64,
}

/// The readable side of one device's programs.
pub struct View {
    pub(crate) setup: lh_setup,
    pub(crate) shared: Shared,
    pub(crate) shows: Shows,
    pub(crate) counters: MapHandle,
    pub(crate) partners: MapHandle,
    pub(crate) device: MapHandle,
}

/// Flows lie in areas, of which nobody has descriptors: a program copies them to a map that has one.
pub(crate) struct Shows {
    program: OwnedFd,
    /// For who has the lock.
    shown: Mutex<MapHandle>,
}

impl Shows {
    /// `program`: lh_show.
    pub(crate) fn new(program: OwnedFd, shown: MapHandle) -> Self {
        Self {
            program,
            shown: Mutex::new(shown),
        }
    }

    /// What is in use of the places `first` to `first + count`, [`LH_SHOWN`] at the most.
    fn some(&self, first: u32, count: u32) -> Result<Vec<lh_flow_entry>> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let mut context = SkbContext::default();
        context.cb[LH_CB_FLOW as usize] = first;
        context.cb[LH_CB_GENERATION as usize] = count;
        let run = test_run(self.program.as_raw_fd(), &EMPTY, &context, 1)?;
        let copy = |at: i32| {
            let value = shown.lookup(&at.to_ne_bytes(), MapFlags::ANY)?;
            value.and_then(|v| bytes::read(&v)).context("no flow shown")
        };
        (0..run.retval).map(copy).collect()
    }
}

impl View {
    /// What it was loaded with.
    pub fn setup(&self) -> &lh_setup {
        &self.setup
    }

    /// Shows the programs that user space is alive at this time of CLOCK_MONOTONIC (of the test's
    /// clock, in tests).
    pub fn heartbeat(&self, now_ns: u64) {
        self.word_heartbeat().store(now_ns, Ordering::Relaxed);
    }

    /// The time of the last heartbeat.
    pub fn last_heartbeat_ns(&self) -> u64 {
        self.word_heartbeat().load(Ordering::Relaxed)
    }

    fn word_heartbeat(&self) -> &AtomicU64 {
        // SAFETY: a field of a valid struct; no reference is made.
        self.shared.word(|s| unsafe { &raw mut (*s).heartbeat_ns })
    }

    /// How much of the pools is in use.
    pub fn usage(&self) -> Usage {
        // SAFETY: fields of a valid struct; no references are made.
        unsafe {
            Usage {
                slots: self
                    .shared
                    .word(|s| &raw mut (*s).slots_used)
                    .load(Ordering::Relaxed),
                chunks: self
                    .shared
                    .word(|s| &raw mut (*s).chunks_used)
                    .load(Ordering::Relaxed),
                flows: self
                    .shared
                    .word(|s| &raw mut (*s).flows_used)
                    .load(Ordering::Relaxed),
                active_flows: self
                    .shared
                    .word(|s| &raw mut (*s).active_flows)
                    .load(Ordering::Relaxed),
            }
        }
    }

    /// Places of the table that are there by now.
    pub(crate) fn places(&self) -> u32 {
        let [.., [_, there, _]] = self.shared.pools();
        self.setup
            .nr_flows
            .min(there.load(Ordering::Relaxed) as u32)
    }

    /// Counters, summed over the CPUs, indexed by `enum lh_counter`.
    ///
    /// # Errors
    /// The map can't be read.
    pub fn counters(&self) -> Result<lh_counters> {
        let mut sum = lh_counters::default();
        for cpu in of_cpus(&self.counters)? {
            for (total, n) in sum.n.iter_mut().zip(cpu.counters.n) {
                *total += n;
            }
        }
        Ok(sum)
    }

    /// One counter by its name.
    ///
    /// # Errors
    /// No such counter, or the map can't be read.
    pub fn counter(&self, name: &str) -> Result<u64> {
        let counter = lasthop_core::counters()
            .find(|c| c.name == name)
            .with_context(|| format!("no counter {name}"))?;
        Ok(self.counters()?.n[counter.id as usize])
    }

    /// The flow at an index of the table, if that is in use; a copy that may be torn.
    ///
    /// # Errors
    /// The kernel refuses to run the program.
    pub fn flow(&self, index: u32) -> Result<Option<lh_flow_entry>> {
        Ok(self.shows.some(index, 1)?.pop())
    }

    /// All flows in use.
    ///
    /// # Errors
    /// The map can't be read.
    pub fn flows(&self) -> Result<Vec<lh_flow_entry>> {
        let mut found = Vec::new();
        self.each_flow(|_, entry| {
            found.push(*entry);
            Ok(())
        })?;
        Ok(found)
    }

    /// Shows each flow in use and its index to `look`. Takes a system call per flow.
    ///
    /// # Errors
    /// The kernel refuses to run the program, or what `look` says.
    pub fn each_flow(
        &self,
        mut look: impl FnMut(u32, &lh_flow_entry) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut left = self.usage().flows;
        let mut first = 0;
        let places = self.places();
        while left > 0 && first < places {
            let count = LH_SWEEP_MAX.min(places - first);
            let some = self.shows.some(first, count).map_err(io::Error::other)?;
            first = match some.last() {
                Some(last) if some.len() == LH_SHOWN as usize => last.index + 1,
                _ => first + count,
            };
            left = left.saturating_sub(some.len() as u64);
            some.iter().try_for_each(|entry| look(entry.index, entry))?;
        }
        Ok(())
    }

    /// The agents at the other end of the link; a copy that may be torn.
    ///
    /// # Errors
    /// The map can't be read.
    pub fn partners(&self) -> Result<Box<lh_partners>> {
        let value = self.partners.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?;
        let entry = value.and_then(|v| bytes::read::<lh_partners_entry>(&v));
        entry
            .map(|entry| Box::new(entry.partners))
            .context("no partners")
    }

    /// The bytes of the `struct lh_device` that the flows share; a copy that may be torn.
    ///
    /// # Errors
    /// The map can't be read.
    pub fn device(&self) -> Result<Vec<u8>> {
        let value = self.device.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?;
        value.context("no device")
    }

    /// Bytes of kernel memory that the maps may come to take.
    pub fn memory_bytes(&self) -> u64 {
        maps::loaded_bytes(&self.setup)
    }

    /// Bytes of it that they take by now.
    pub fn taken_bytes(&self) -> u64 {
        let pools = self.shared.pools();
        let there = pools.map(|[_, there, _]| there.load(Ordering::Relaxed) as u32);
        let left = maps::not_taken_bytes(
            &self.setup,
            there,
            self.shared.syns()[0].load(Ordering::Relaxed),
        );
        self.memory_bytes().saturating_sub(left)
    }
}

// SAFETY: integers, and what is between them is never looked at.
unsafe impl Plain for lh_of_cpu {}

/// What map `counters` has of each CPU.
pub(crate) fn of_cpus(counters: &MapHandle) -> Result<Vec<lh_of_cpu>> {
    let values = counters
        .lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)?
        .context("no counters")?;
    let read = |value: &Vec<u8>| bytes::read(value).context("counters are too short");
    values.iter().map(read).collect()
}
