// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What can be read of a device's programs, and the sign of life for them. From any thread: who
//! serves a device must not wait for who asks about it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use lasthop_core::bindings::{
    lh_counters, lh_flow_entry, lh_partners, lh_partners_entry, lh_setup,
};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use crate::bytes;
use crate::maps::{self, TIMER_BYTES};
use crate::shared::Shared;

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
    pub(crate) flows: MapHandle,
    pub(crate) counters: MapHandle,
    pub(crate) partners: MapHandle,
    pub(crate) device: MapHandle,
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

    /// Counters, summed over the CPUs, indexed by `enum lh_counter`.
    ///
    /// # Errors
    /// The map can't be read.
    pub fn counters(&self) -> Result<lh_counters> {
        let mut sum = lh_counters::default();
        let values = self
            .counters
            .lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)?
            .context("no counters")?;
        for value in values {
            let cpu: lh_counters = bytes::read(&value).context("counters are too short")?;
            for (total, n) in sum.n.iter_mut().zip(cpu.n) {
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

    /// The flow at an index of the table, whether used or not; a copy that may be torn.
    ///
    /// # Errors
    /// The map can't be read.
    pub fn flow(&self, index: u32) -> Result<Option<lh_flow_entry>> {
        let value = self.flows.lookup(&index.to_ne_bytes(), MapFlags::ANY)?;
        Ok(value.and_then(|v| bytes::read(&v[TIMER_BYTES..])))
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

    /// Shows each flow in use and its index to `look`. Takes a system call per place of the table.
    ///
    /// # Errors
    /// The map can't be read, or what `look` says.
    pub fn each_flow(
        &self,
        mut look: impl FnMut(u32, &lh_flow_entry) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut left = self.usage().flows;
        for index in 0..self.setup.nr_flows {
            if left == 0 {
                break;
            }
            let entry = self.flow(index).map_err(io::Error::other)?;
            if let Some(entry) = entry.filter(|entry| entry.used != 0) {
                look(index, &entry)?;
                left -= 1;
            }
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
        let [slots, chunks] = pools.map(|[_, there, _]| there.load(Ordering::Relaxed) as u32);
        let left = maps::pools_bytes(
            self.setup.nr_slots.saturating_sub(slots),
            self.setup.nr_chunks.saturating_sub(chunks),
        );
        self.memory_bytes().saturating_sub(left)
    }
}
