// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Programs that only parse and look up (bpf/baseline.bpf.c): what the agent's are measured by.

use std::os::fd::{AsFd, AsRawFd};

use anyhow::{Context, Result};
use lasthop::bytes;
use lasthop::programs::{Outcome, Program, SkbContext, WORDS, test_run};
use lasthop_core::bindings::lh_setup;
use libbpf_rs::{Object, ObjectBuilder};

use crate::talk::Programs;
use crate::{FLOWS_MOST, OWN_MARK};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/baseline.bpf.o"));
const ETHERNET: u32 = 14;

/// Both programs, loaded.
pub struct Baseline(Object);

impl Baseline {
    pub fn load() -> Result<Self> {
        let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
        let setup = lh_setup {
            l2_bytes: ETHERNET,
            mark_value: OWN_MARK,
            words: u32::from(WORDS),
            ..lh_setup::default()
        };
        for mut map in open.maps_mut() {
            match map.name().to_string_lossy().as_ref() {
                "flow_ids" => map.set_max_entries(u32::from(FLOWS_MOST))?,
                // Nobody here looks into the pools, and the kernel creates no map of maps that was not
                // shown an area.
                "slots" | "chunks" | "flows" | "syns" | "aside" => map.set_autocreate(false)?,
                name if name.ends_with(".rodata") => map.set_initial_value(bytes::of(&setup))?,
                _ => {}
            }
        }
        open.load().map(Self).context("BPF object baseline")
    }
}

impl Programs for Baseline {
    fn outcome(&self, program: Program, packet: &[u8], context: &SkbContext) -> Result<Outcome> {
        let name = program.name();
        let found = self.0.progs().find(|found| found.name() == name);
        let fd = found.with_context(|| format!("no program {name}"))?;
        Ok(test_run(fd.as_fd().as_raw_fd(), packet, context, 1)?)
    }
}
