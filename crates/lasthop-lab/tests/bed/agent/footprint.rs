// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the agent takes of a small machine: its maps by its own account, its programs by the kernel's of
//! each descriptor, its own pages by /proc/PID/smaps_rollup.

use std::collections::HashMap;
use std::fs;

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;

use super::{PATIENCE, able, check, counter, fast_link, flows, wait_until_empty};

const MIB: u64 = 1 << 20;
/// What the profile promises (crates/lasthop/src/memory/profile.rs).
const SMALL_BYTES: u64 = 16 * MIB;
/// Of it for all but the pages of the file that runs, of which a debug build's mean nothing.
const WITHOUT_FILE_BYTES: u64 = 11 * MIB;

/// A process's memory in bytes.
#[derive(Debug, Default, Clone, Copy)]
struct Footprint {
    maps: u64,
    programs: u64,
    /// Of itself: heap, stacks, what was written to.
    own: u64,
    /// Of files, with its part of what other processes share.
    file: u64,
}

impl Footprint {
    fn of(agent: &mut AgentHandle) -> Self {
        let process = format!("/proc/{}", agent.pid());
        let pages = fs::read_to_string(format!("{process}/smaps_rollup")).expect("smaps_rollup");
        let kib = |name: &str| number(&pages, name).expect("a number") * 1024;
        Self {
            // Reckoned, for the process has no descriptor of its pools' areas; by the kernel's account in
            // crates/lasthop/tests/bpf/memory.rs.
            maps: agent.status().expect("status")["memory_bytes"]
                .as_u64()
                .expect("number"),
            programs: held(&process, "prog_id:"),
            own: kib("Pss_Anon:"),
            file: kib("Pss_File:"),
        }
    }

    fn without_file(&self) -> u64 {
        self.maps + self.programs + self.own
    }

    fn whole(&self) -> u64 {
        self.without_file() + self.file
    }

    fn most(self, other: Self) -> Self {
        if self.whole() > other.whole() {
            self
        } else {
            other
        }
    }
}

fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What the kernel has locked for the objects of a kind that the process holds, each once.
fn held(process: &str, id: &str) -> u64 {
    let found = fs::read_dir(format!("{process}/fdinfo")).expect("fdinfo");
    let each: HashMap<u64, u64> = found
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .filter_map(|text| Some((number(&text, id)?, number(&text, "memlock:")?)))
        .collect();
    each.values().sum()
}

/// With the profile for small machines all of the agent is in 16 MiB, while it repairs what a link
/// loses and is asked about it.
#[test]
fn a_small_agent_is_small_and_helps() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    let config = directory.path().join("lasthop.toml");
    fs::write(&config, "memory_profile = \"small\"\n[device.wl0]\n").expect("file");
    let mut agent = bed.start_daemon(&config).expect("daemon");
    let status = agent.status().expect("status");
    assert_eq!(status["memory_profile"], "small");
    assert_eq!(status["memory_why"], "memory_profile says so");

    let transfer = Transfer::new().flows(8).bytes(2_000_000).deadline(PATIENCE);
    let running = transfer.start(&bed).expect("transfer");
    let mut most = Footprint::default();
    while !running.is_finished() {
        most = most.most(Footprint::of(&mut agent));
        assert!(flows(&bed).len() <= 8);
    }
    check(&running.wait().expect("transfer"));
    most = most.most(Footprint::of(&mut agent));
    eprintln!(
        "footprint of the small agent: {most:?}, {} bytes",
        most.whole()
    );

    assert!(counter(&mut agent, "local_retransmits") > 50);

    let reckoned = status["memory_max_bytes"].as_u64().expect("number");
    assert!(
        reckoned <= 8 * MIB && most.maps <= 8 * MIB,
        "{reckoned} {most:?}"
    );
    assert!(most.without_file() <= WITHOUT_FILE_BYTES, "{most:?}");
    assert!(
        most.whole() <= SMALL_BYTES || cfg!(debug_assertions),
        "{most:?}"
    );
    wait_until_empty(&mut agent);
    agent.stop().expect("stop");
}
