// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Devices that come while others are served: what there is of memory for them.

use std::fs;

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use serde_json::Value;
use tempfile::TempDir;

use super::{able, fast_link, lasthop, told, wait_until};

const MIB: u64 = 1 << 20;

/// A daemon on the base station, which has devices beside its own.
struct Served {
    bed: TestBed,
    agent: AgentHandle,
    directory: TempDir,
}

impl Served {
    fn start(text: &str) -> Self {
        let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
        let directory = tempfile::tempdir().expect("directory");
        let file = directory.path().join("lasthop.toml");
        fs::write(&file, text).expect("file");
        Self {
            agent: bed.start_daemon(&file).expect("daemon"),
            bed,
            directory,
        }
    }

    fn run(&self, words: &str) -> String {
        let words: Vec<&str> = words.split(' ').collect();
        self.bed.command(Host::Bs, &words).expect(words[0])
    }

    /// What came of it.
    fn reload(&self, text: &str) -> Vec<Value> {
        fs::write(self.directory.path().join("lasthop.toml"), text).expect("file");
        told(&self.bed, "reload")
    }

    /// The same where a device has to wait: what is complained of.
    fn reload_in_vain(&self, text: &str) -> String {
        fs::write(self.directory.path().join("lasthop.toml"), text).expect("file");
        let refused = lasthop(&self.bed, &["reload"]).expect_err("no memory");
        format!("{refused:#}")
    }

    /// What `lasthop status` says of a device.
    fn status(&self, dev: &str) -> Option<Value> {
        let mut all = told(&self.bed, "status").into_iter();
        all.find(|status| status["dev"] == dev)
    }

    fn wait_for(&self, what: &str, dev: &str, holds: impl Fn(&Value) -> bool) {
        wait_until(what, || {
            let status = self.status(dev).unwrap_or_default();
            (holds(&status), status.to_string())
        });
    }

    /// What their maps may come to take.
    fn memory_bytes(&self) -> u64 {
        let each = told(&self.bed, "status").into_iter();
        each.map(|status| status["memory_max_bytes"].as_u64().expect("number"))
            .sum()
    }
}

/// One limit for all: who finds it used up is refused in a line that says what to do, and attached once
/// another one has gone.
#[test]
fn one_limit_is_for_those_too_that_come_later() {
    if !able() {
        return;
    }
    let mut served = Served::start("memory = \"4MiB\"\n[device.wl0]\n");
    served.run("ip link add late0 type veth peer name late1");
    let refused = served.reload_in_vain("memory = \"4MiB\"\n[device.wl0]\n[device.late0]\n");
    assert!(
        refused.contains("late0: still as before: no memory: its maps take "),
        "{refused}"
    );
    served.wait_for("refused", "late0", |status| {
        let complaint = status["complaint"].as_str().unwrap_or_default();
        complaint.starts_with("late0: no memory: its maps take ")
            && complaint.contains("of the 4 MiB of memory 1 other device(s) or policies have")
            && complaint.contains("raise memory")
            && status["state"] == "waiting"
    });
    assert!(served.memory_bytes() <= 4 * MIB);
    let said = served.reload("memory = \"6MiB\"\n[device.wl0]\n[device.late0]\n");
    let of = |dev: Option<&str>| said.iter().find(|line| line["dev"].as_str() == dev);
    assert_eq!(of(Some("wl0")).expect("wl0")["reload"], "unchanged");
    let later = of(None).expect("of all")["error"].to_string();
    assert!(later.contains("memory: what is attached keeps "), "{later}");
    served
        .agent
        .wait_for_line("lasthop: attached to late0")
        .expect("what is left is enough");
    assert!(served.memory_bytes() <= 6 * MIB);
    assert_eq!(
        served.status("late0").expect("status")["complaint"],
        Value::Null
    );

    served.run("ip link del late0");
    served.wait_for("gone", "late0", |status| status["state"] == "waiting");
    served.reload("memory = \"4MiB\"\n[device.wl0]\n[device.late0]\n");
    served.run("ip link add late0 type veth peer name late1");
    served.wait_for("refused", "late0", |status| !status["complaint"].is_null());
    served.reload("memory = \"4MiB\"\n[device.late0]\n");
    served
        .agent
        .wait_for_line("lasthop: attached to late0")
        .expect("the other one has gone");
    assert!(served.memory_bytes() <= 4 * MIB);
    served.agent.stop().expect("stop");
}

/// Devices whose names are like that of a section are served while they are there, by the section that is
/// closest.
#[test]
fn patterns_are_for_devices_that_come() {
    if !able() {
        return;
    }
    let sections = "memory = \"12MiB\"\n[device.wl0]\n[device.\"late*\"]\nscheme = \"snoop\"\n";
    let closer = "[device.\"late?\"]\nscheme = \"slack\"\n";
    let mut served = Served::start(&format!("{sections}{closer}"));
    for (dev, peer, section, scheme) in [
        ("late0", "peer0", "late?", "slack"),
        ("late10", "peer10", "late*", "snoop"),
    ] {
        served.run(&format!("ip link add {dev} type veth peer name {peer}"));
        served
            .agent
            .wait_for_line(&format!("lasthop: attached to {dev}"))
            .expect("attached");
        let status = served.status(dev).expect("status");
        assert_eq!(
            (&status["section"], &status["scheme"]),
            (&section.into(), &scheme.into())
        );
        assert!(served.status(peer).is_none());
    }
    served.run("ip link del late0");
    served
        .agent
        .wait_for_line("lasthop: late0 is gone")
        .expect("gone");
    wait_until("forgotten", || {
        let status = served.status("late0");
        (status.is_none(), format!("{status:?}"))
    });
    served.run("ip link add late0 type veth peer name peer0");
    served
        .agent
        .wait_for_line("lasthop: attached to late0")
        .expect("attached again");

    served.reload(sections);
    assert_eq!(served.status("late0").expect("status")["scheme"], "snoop");
    served.reload("[device.wl0]\n");
    assert!(served.status("late0").is_none() && served.status("late10").is_none());
    assert_eq!(served.status("wl0").expect("status")["section"], "wl0");
    served.agent.stop().expect("stop");
}
