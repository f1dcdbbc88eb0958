// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The daemon has few rights once it serves, and can do all its work with them.

use std::collections::HashMap;
use std::fs;

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;

use super::devices::programs_attached;
use super::{PATIENCE, able, check, counter, fast_link, flows};

/// CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF.
const NEEDED: &str = "000000c000001000";
const NONE: &str = "0000000000000000";

/// The daemon's threads, as /proc shows their rights.
fn threads(agent: &AgentHandle) -> Vec<HashMap<String, String>> {
    let read = |path| {
        let text = fs::read_to_string(path).expect("status");
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        fields
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect()
    };
    fs::read_dir(format!("/proc/{}/task", agent.pid()))
        .expect("threads")
        .map(|entry| read(entry.expect("thread").path().join("status")))
        .collect()
}

fn has_few_rights(agent: &AgentHandle) {
    for thread in threads(agent) {
        for (field, value) in [
            ("CapEff", NEEDED),
            ("CapPrm", NEEDED),
            ("CapBnd", NEEDED),
            ("CapInh", NONE),
            ("CapAmb", NONE),
            ("NoNewPrivs", "1"),
            ("Seccomp", "2"), // a filter
        ] {
            assert_eq!(thread[field], value, "{field}");
        }
    }
}

/// Repairs by timer (kicks), a device that comes back (programs loaded and attached anew on a
/// thread), answers, and the end.
#[test]
fn three_capabilities_are_enough() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.1)).expect("test bed");
    let mut agent = bed.start_waiting_agent("snoop", &[]).expect("agent");
    counter(&mut agent, "flows_created"); // from here on it serves
    has_few_rights(&agent);
    let transfer = Transfer::new().bytes(2_000_000).deadline(PATIENCE);
    let running = transfer.clone().start(&bed).expect("transfer");
    running.wait_for_bytes(500_000).expect("a quarter");
    assert_eq!(flows(&bed).len(), 1);
    check(&running.wait().expect("the rest"));
    // One to twelve of them in such a transfer, and none in one of a hundred.
    for _ in 0..4 {
        if counter(&mut agent, "timer_kicks") > 0 {
            break;
        }
        let more = transfer.clone().start(&bed).expect("another transfer");
        check(&more.wait().expect("all of it"));
    }
    assert!(counter(&mut agent, "timer_kicks") > 0);
    bed.lossy_unplug().expect("unplug");
    bed.lossy_plug().expect("plug");
    agent
        .wait_for_line("lasthop: attached to wl0")
        .expect("attached again");
    assert_eq!(programs_attached(&bed), 2);
    has_few_rights(&agent);
    let again = transfer.start(&bed).expect("another transfer");
    check(&again.wait().expect("all of it"));
    assert!(counter(&mut agent, "local_retransmits") > 0);
    has_few_rights(&agent);
    agent.stop().expect("stop");
    assert_eq!(programs_attached(&bed), 0);
}
