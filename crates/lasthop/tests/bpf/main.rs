// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The BPF programs over single packets (BPF_PROG_TEST_RUN): verdicts, and the same verdicts as
//! the native core's. Time is the packet's own, so that nothing here depends on the machine.

mod busy;
mod channel;
mod differential;
mod dproxy;
mod fixtures;
mod flood;
mod follow;
mod lists;
mod memory;
mod places;
mod rack;
mod receivers;
mod shrink;
mod stack;
mod timers;
mod tunnel;
mod verified;
mod verify;

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::{PoisonError, RwLock};

use lasthop::programs::{Agent, Outcome, Program, Setup, SkbContext};
use lasthop_core::bindings::{LH_ACK, LH_SYN, lh_config};
use lasthop_core::packet::{Ends, Tcp, option};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use nix::sched::{CloneFlags, CpuSet, sched_getaffinity, sched_setaffinity, unshare};
use nix::unistd::Pid;

/// The programs' verdicts (TCX).
pub const NEXT: i32 = -1;
pub const DROP: i32 = 2;
pub const REDIRECT: i32 = 7;

/// Tests run side by side, but for those that look at what the whole process holds.
static OTHERS: RwLock<()> = RwLock::new(());

/// Runs a test in a network namespace of its own, where what the programs clone goes nowhere.
pub fn in_namespace(work: impl FnOnce() + Send + 'static) {
    let _beside = OTHERS.read().unwrap_or_else(PoisonError::into_inner);
    in_a_thread(work);
}

/// The same, while no other test of the process runs.
pub fn in_namespace_alone(work: impl FnOnce() + Send + 'static) {
    let _alone = OTHERS.write().unwrap_or_else(PoisonError::into_inner);
    in_a_thread(work);
}

/// Says why a test is skipped, past the test harness, which swallows what passing tests print.
pub fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

fn in_a_thread(work: impl FnOnce() + Send + 'static) {
    if !nix::unistd::geteuid().is_root() {
        return skip("test of the BPF programs: needs root");
    }
    let thread = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("unshare");
        let up = Command::new("ip")
            .args(["link", "set", "lo", "up"])
            .status();
        assert!(up.expect("ip").success());
        work();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Two of the CPUs that this thread may be on.
pub fn two_cpus() -> Option<[usize; 2]> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).expect("CPUs");
    let mut cpus = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu) == Ok(true));
    Some([cpus.next()?, cpus.next()?])
}

/// From now on this thread is on no other CPU.
pub fn only_on(cpu: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(cpu).expect("a CPU");
    sched_setaffinity(Pid::from_raw(0), &set).expect("affinity");
    set
}

/// A number of each of the BPF objects that this process holds, by their ids (/proc/self/fdinfo).
pub fn held(id: &str, number: &str) -> HashMap<u64, u64> {
    let field = |text: &str, name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    fs::read_dir("/proc/self/fdinfo")
        .expect("fdinfo")
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .filter_map(|text| Some((field(&text, id)?, field(&text, number)?)))
        .collect()
}

/// Small pools, the test's clock, Ethernet, clones to the namespace's `lo`.
pub fn setup() -> Setup {
    Setup {
        ifindex: 1,
        max_flows: 64,
        cache_total_bytes: 8 << 20,
        test_clock: true,
        config: lh_config::snoop(),
        ..Setup::default()
    }
}

/// Loaded programs whose user space seems to live for ever.
pub fn load(setup: &Setup) -> Agent {
    // That a map is smaller than its type says is meant so (crates/lasthop/src/maps.rs).
    libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Warn, |_, text| {
        if !text.contains("failed to adjust resized BTF") {
            eprint!("{text}");
        }
    })));
    let agent = Agent::load(setup).expect("load");
    agent.heartbeat(u64::MAX / 2);
    agent
}

/// One packet at one time.
pub fn run(agent: &Agent, program: Program, packet: &[u8], now_ns: u64) -> Outcome {
    let context = SkbContext {
        tstamp: now_ns,
        ..SkbContext::default()
    };
    agent.run(program, packet, &context, 1).expect("test run")
}

/// A segment that acknowledges the SYN of the other end.
pub fn tcp(seq: u32, flags: u32, payload_bytes: usize) -> Tcp {
    Tcp {
        ethernet: true,
        seq,
        ack: 1,
        flags,
        payload: vec![7; payload_bytes],
        ..Tcp::default()
    }
}

/// The first connection begins.
pub fn begin(agent: &Agent) {
    let ends = Ends::v4(1);
    run(agent, Program::Egress, &tcp(0, LH_SYN, 0).to_mh(&ends), 0);
    let answer = tcp(0, LH_SYN | LH_ACK, 0).to_fh(&ends);
    run(agent, Program::Ingress, &answer, 0);
}

/// A map of this process, by its name.
pub fn map(name: &str) -> MapHandle {
    let ids = held("map_id:", "map_type:").into_keys();
    let mut maps = ids.filter_map(|id| MapHandle::from_map_id(id as u32).ok());
    maps.find(|map| map.name().to_string_lossy() == name)
        .unwrap_or_else(|| panic!("no map {name}"))
}

/// The areas of a map of maps.
pub fn areas(map: &MapHandle) -> Vec<MapHandle> {
    let area = |index: u32| {
        let value = map.lookup(&index.to_ne_bytes(), MapFlags::ANY).ok()??;
        let id = u32::from_ne_bytes(value.try_into().ok()?);
        MapHandle::from_map_id(id).ok()
    };
    (0..map.max_entries()).filter_map(area).collect()
}

/// FH sends `n` full segments on connection `of`, after its handshake.
pub fn sends(agent: &Agent, of: u16, n: u32) {
    let ends = Ends::v4(of);
    let tcp = |seq, ack, flags| Tcp {
        seq,
        ack,
        flags,
        window: 60_000,
        ethernet: true,
        ..Tcp::default()
    };
    let syn = |ack, flags| Tcp {
        options: option::wscale(7),
        ..tcp(0, ack, flags)
    };
    run(agent, Program::Egress, &syn(0, LH_SYN).to_mh(&ends), 1);
    run(
        agent,
        Program::Ingress,
        &syn(1, LH_SYN | LH_ACK).to_fh(&ends),
        2,
    );
    let data = |i: u32| Tcp {
        payload: vec![1; 1_000],
        ..tcp(1 + i * 1_000, 1, LH_ACK)
    };
    run(agent, Program::Egress, &data(0).to_mh(&ends), 3);
    run(
        agent,
        Program::Ingress,
        &tcp(1, 1_001, LH_ACK).to_fh(&ends),
        4,
    );
    for i in 1..=n {
        run(agent, Program::Egress, &data(i).to_mh(&ends), 5);
    }
}
