// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The agent comes, goes and dies in mid-transfer; the transfer must not notice.

use std::process::Command;

use anyhow::Result;
use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::{RunningTransfer, Transfer};
use lasthop_lab::data::host::Host;

use super::devices::{programs_attached, programs_attached_in};
use super::{PATIENCE, able, check, counter, fast_link};

const BYTES: u64 = 8_000_000;

fn spec() -> Transfer {
    Transfer::new().bytes(BYTES).deadline(PATIENCE)
}

fn snoop(bed: &TestBed) -> Result<AgentHandle> {
    bed.start_agent("snoop", &[])
}

/// A test bed, its agent, started by `start`, and a transfer that is a quarter done.
fn underway(
    start: impl FnOnce(&TestBed) -> Result<AgentHandle>,
) -> (TestBed, AgentHandle, RunningTransfer) {
    let bed = TestBed::up(&fast_link(0.01)).expect("test bed");
    let agent = start(&bed).expect("agent");
    let running = spec().start(&bed).expect("transfer");
    running.wait_for_bytes(BYTES / 4).expect("a quarter");
    (bed, agent, running)
}

#[test]
fn agent_killed_in_mid_transfer() {
    if !able() {
        return;
    }
    let (bed, mut agent, running) = underway(snoop);
    assert_eq!(programs_attached(&bed), 2);
    assert!(counter(&mut agent, "cached_segments") > 0);
    agent.kill().expect("kill");
    assert_eq!(programs_attached(&bed), 0, "something stays attached");
    check(&running.wait().expect("the rest"));
}

#[test]
fn agent_stopped_and_attached_again_in_mid_transfer() {
    if !able() {
        return;
    }
    let (bed, agent, running) = underway(snoop);
    agent.stop().expect("stop");
    assert_eq!(programs_attached(&bed), 0, "something stays attached");
    running.wait_for_bytes(BYTES / 2).expect("half");
    let mut agent = bed.start_agent("snoop", &[]).expect("second agent");
    check(&running.wait().expect("the rest"));
    // Joined in mid-stream, it must have helped all the same.
    assert!(counter(&mut agent, "cached_segments") > 500);
    assert_eq!(counter(&mut agent, "flows_created"), 1);
    agent.stop().expect("stop");
}

#[test]
fn second_attach_is_an_error_and_harmless() {
    if !able() {
        return;
    }
    let (bed, mut agent, running) = underway(snoop);
    let binary = find_binary("lasthop").expect("lasthop");
    let output = bed
        .run_in(Host::Bs, || {
            Command::new(&binary).args(["attach", "wl0"]).output()
        })
        .expect("namespace")
        .expect("second attach");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains("wl0"), "{message}");
    check(&running.wait().expect("the rest"));
    assert_eq!(programs_attached(&bed), 2);
    assert!(agent.is_running());
    agent.stop().expect("stop");
}

#[test]
fn device_down_and_up_in_mid_transfer() {
    if !able() {
        return;
    }
    let (bed, mut agent, running) = underway(snoop);
    bed.lossy_down().expect("down");
    bed.lossy_up().expect("up");
    check(&running.wait().expect("the rest"));
    assert!(agent.is_running());
    assert_eq!(programs_attached(&bed), 2);
    assert_eq!(counter(&mut agent, "flows_created"), 1);
    agent.stop().expect("stop");
}

/// The device is back: the agent takes it up, and the transfer ends well.
fn served_again(bed: &TestBed, mut agent: AgentHandle, running: RunningTransfer) {
    agent
        .wait_for_line("lasthop: attached to wl0")
        .expect("attached again");
    assert_eq!(programs_attached(bed), 2);
    check(&running.wait().expect("the rest"));
    assert!(
        counter(&mut agent, "cached_segments") > 500,
        "the device is not served"
    );
    agent.stop().expect("stop");
}

#[test]
fn device_gone_and_back_in_mid_transfer() {
    if !able() {
        return;
    }
    let (bed, agent, running) = underway(|bed| bed.start_waiting_agent("snoop", &[]));
    bed.lossy_unplug().expect("unplug");
    bed.lossy_plug().expect("plug");
    served_again(&bed, agent, running);
}

/// In another namespace it is somebody else's, and its index may be another device's there: the
/// programs go, and come back with it.
#[test]
fn device_moved_to_another_namespace_and_back() {
    if !able() {
        return;
    }
    let (bed, mut agent, running) = underway(|bed| bed.start_waiting_agent("snoop", &[]));
    bed.lossy_move_to(Host::Mh).expect("moved");
    agent
        .wait_for_line("lasthop: wl0 is gone")
        .expect("noticed");
    assert_eq!(programs_attached_in(&bed, Host::Mh), 0);
    bed.lossy_move_back(Host::Mh).expect("back");
    served_again(&bed, agent, running);
}

/// Under another name it is the same device: it is served on, and answers by that name.
#[test]
fn device_renamed_in_mid_transfer() {
    if !able() {
        return;
    }
    let (bed, mut agent, running) = underway(snoop);
    let rename = |from, to| {
        let words = ["ip", "link", "set", "dev", from, "name", to];
        bed.command(Host::Bs, &words).expect("renamed");
    };
    // Linux has let devices that are up be renamed since 6.0.
    rename("wl0", "radio0");
    agent
        .wait_for_line("lasthop: wl0 is radio0 now")
        .expect("followed");
    rename("radio0", "wl0");
    agent
        .wait_for_line("lasthop: radio0 is wl0 now")
        .expect("and back");
    check(&running.wait().expect("the rest"));
    assert_eq!(
        counter(&mut agent, "flows_created"),
        1,
        "nothing was forgotten"
    );
    assert_eq!(programs_attached(&bed), 2);
    agent.stop().expect("stop");
}

/// Whose terminal goes away gets SIGHUP: what was kept back must not be lost with it.
#[test]
fn agent_hung_up_in_mid_transfer() {
    if !able() {
        return;
    }
    let (bed, agent, running) = underway(snoop);
    let pid = nix::unistd::Pid::from_raw(agent.pid());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP).expect("hang up");
    agent.wait().expect("ends by itself with 0");
    assert_eq!(programs_attached(&bed), 0);
    check(&running.wait().expect("the rest"));
}

/// With --once the agent ends with its device, and says so by exit code 0.
#[test]
fn once_ends_with_the_device() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let agent = bed.start_agent("snoop", &[]).expect("agent");
    bed.lossy_unplug().expect("unplug");
    agent.wait().expect("ends by itself with 0");
}

/// A daemon that is stopped (not killed) can't send what was held: the programs must notice.
#[test]
fn agent_frozen_in_mid_transfer() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let mut agent = bed.start_agent("snoop", &[]).expect("agent");
    let running = spec().start(&bed).expect("transfer");
    running.wait_for_bytes(BYTES / 8).expect("an eighth");
    let pid = nix::unistd::Pid::from_raw(agent.pid());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGSTOP).expect("freeze");
    check(&running.wait().expect("the rest"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGCONT).expect("thaw");
    assert!(
        counter(&mut agent, "data_segments") > 0,
        "it goes on after the thaw"
    );
    agent.stop().expect("stop");
}
