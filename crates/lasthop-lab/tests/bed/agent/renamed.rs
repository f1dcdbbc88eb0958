// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Devices whose names change under a daemon that has sections for both names.

use std::fs;

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{able, fast_link, lasthop, serve, told, wait_until};

fn ip(bed: &TestBed, words: &str) {
    let words: Vec<&str> = ["ip"].into_iter().chain(words.split(' ')).collect();
    bed.command(Host::Bs, &words).expect("ip");
}

fn of(lines: Vec<Value>, dev: &str) -> Value {
    let found = lines.into_iter().find(|line| line["dev"] == dev);
    found.unwrap_or_else(|| panic!("no {dev}"))
}

/// A device that is served and gets the name for which a section waits has one agent as before, until the
/// section by which it was attached is gone.
#[test]
fn a_device_that_gets_the_name_of_another_section_has_one_agent() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let (mut agent, file) = serve(&bed, "[device.wl0]\n[device.radio0]\nscheme = \"snoop\"\n");
    ip(&bed, "link set wl0 name radio0");
    wait_until("its own section waits", || {
        let status = of(told(&bed, "status"), "radio0");
        let complaint = status["complaint"].as_str().unwrap_or_default();
        let waits = complaint.starts_with("radio0: served on as wl0");
        (
            waits && status["state"] == "waiting",
            told(&bed, "status")[0].to_string(),
        )
    });
    assert_eq!(of(told(&bed, "status"), "wl0")["state"], "attached");
    fs::write(&file, "[device.radio0]\nscheme = \"snoop\"\n").expect("file");
    lasthop(&bed, &["reload"]).expect("reload");
    agent
        .wait_for_line("lasthop: attached to radio0 (scheme snoop")
        .expect("by its own section");
    agent.stop().expect("stop");
}

/// A section is for the device that is called so now, not for one that was when it was attached.
#[test]
fn a_section_is_for_the_device_that_has_the_name() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let (mut agent, file) = serve(&bed, "[device.wl0]\n");
    ip(&bed, "link set wl0 name radio0");
    agent
        .wait_for_line("lasthop: wl0 is radio0 now")
        .expect("followed");
    // Without a section for its new name it goes on by the one it was ordered by.
    assert_eq!(of(told(&bed, "reload"), "radio0")["reload"], "unchanged");
    ip(&bed, "link add wl0 type veth peer name wl1");
    fs::write(&file, "[device.wl0]\n[device.radio0]\nmax_local = 7\n").expect("file");
    let lines = told(&bed, "reload");
    assert_eq!(of(lines.clone(), "wl0")["reload"], "added");
    assert_eq!(of(lines, "radio0")["reload"], "changed");
    agent
        .wait_for_line("lasthop: attached to wl0")
        .expect("the new one");
    let all = told(&bed, "status");
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().all(|status| status["section"] == status["dev"]));
    agent.stop().expect("stop");
}

/// Devices that exchanged their names while the daemon did not look are each called as they are by now, and
/// served as their names' sections say once those are read.
#[test]
fn devices_that_exchange_their_names_exchange_their_sections() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    ip(&bed, "link add wl1 type veth peer name far1");
    let text = "[device.wl0]\nscheme = \"snoop\"\n[device.wl1]\nscheme = \"sack\"\n";
    let (agent, _) = serve(&bed, text);
    let index = |dev| of(told(&bed, "status"), dev)["ifindex"].clone();
    wait_until("both are served", || {
        let all = told(&bed, "status");
        let attached = all.iter().filter(|status| status["state"] == "attached");
        (attached.count() == 2, format!("{all:?}"))
    });
    let before = [index("wl0"), index("wl1")];
    let pid = Pid::from_raw(agent.pid());
    kill(pid, Signal::SIGSTOP).expect("SIGSTOP");
    for words in ["wl0 name wl2", "wl1 name wl0", "wl2 name wl1"] {
        ip(&bed, &format!("link set {words}"));
    }
    kill(pid, Signal::SIGCONT).expect("SIGCONT");
    let lines = told(&bed, "reload");
    assert!(
        lines.iter().all(|line| line["reload"] == "changed"),
        "{lines:?}"
    );
    assert_eq!([index("wl1"), index("wl0")], before);
    for (dev, scheme) in [("wl0", "snoop"), ("wl1", "sack")] {
        let status = of(told(&bed, "status"), dev);
        let is = (&status["scheme"], &status["section"]);
        assert_eq!(is, (&scheme.into(), &dev.into()), "{status}");
    }
    agent.stop().expect("stop");
}

/// A name that another agent holds is taken once that one has ended.
#[test]
fn a_name_that_becomes_free_is_taken() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let (mut agent, file) = serve(&bed, "[device.wl0]\n[device.radio0]\n");
    ip(&bed, "link set wl0 name radio0");
    wait_until("its own section waits", || {
        let status = of(told(&bed, "status"), "radio0");
        let complaint = status["complaint"].as_str().unwrap_or_default();
        (complaint.contains("served on as wl0"), status.to_string())
    });
    fs::write(&file, "[device.wl0]\n").expect("file");
    lasthop(&bed, &["reload"]).expect("reload");
    agent
        .wait_for_line("lasthop: wl0 is radio0 now")
        .expect("the name is free");
    agent.stop().expect("stop");
}
