// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The daemon has few rights once it serves, and can do all its work with them.

use std::collections::HashMap;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::devices::programs_attached;
use super::{PATIENCE, able, check, counter, fast_link, flows};

/// CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF.
const NEEDED: &str = "000000c000001000";
const NONE: &str = "0000000000000000";

/// The daemon's threads, as /proc shows their rights.
fn threads(agent: &AgentHandle) -> Vec<HashMap<String, String>> {
    let read = |path| {
        let text = fs::read_to_string(path).ok()?; // one that answered may be gone
        let fields = text.lines().filter_map(|line| line.split_once(':'));
        let fields = fields.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        Some(fields.collect())
    };
    let threads: Vec<_> = fs::read_dir(format!("/proc/{}/task", agent.pid()))
        .expect("threads")
        .filter_map(|entry| read(entry.expect("thread").path().join("status")))
        .collect();
    assert!(!threads.is_empty());
    threads
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

/// What it says to a service manager comes after it has given up its rights: in vain, if the right to
/// connect were among them, and the manager would end what it waits for.
#[test]
fn a_service_manager_hears_of_attach() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("timeout");
    let mut command = Command::new(find_binary("lasthop").expect("lasthop"));
    command.args(["attach", "wl0", "--scheme", "snoop"]);
    command.env("NOTIFY_SOCKET", &path).stdout(Stdio::null());
    let mut agent = bed
        .run_in(Host::Bs, || command.spawn())
        .expect("namespace")
        .expect("lasthop attach");
    let heard = |word: &str| {
        let mut buffer = [0; 256];
        let length = manager.recv(&mut buffer).expect(word);
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        assert!(text.contains(word), "{word} in {text:?}");
    };
    heard("READY=1");
    kill(Pid::from_raw(agent.id() as i32), Signal::SIGTERM).expect("kill");
    heard("STOPPING=1");
    assert!(agent.wait().expect("its end").success());
}
