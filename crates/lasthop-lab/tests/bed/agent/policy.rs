// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Some connections of a device get another scheme than the rest, or none: an agent for each, which leave
//! each other's connections and packets alone.

use std::fs;
use std::path::Path;

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use serde_json::Value;

use super::devices::programs_attached;
use super::{able, fast_link, lasthop, run, serve, told};

const MIB: u64 = 1 << 20;
const POLICIES: &str = r#"
memory = "24MiB"
[device.wl0]
scheme = "rack"
[policy.left]
device = "wl0"
match = [":7300"]
leave_alone = true
[policy.classic]
device = "wl0"
match = [":7100", ":7300"]
scheme = "snoop"
"#;

fn counter(bed: &TestBed, dev: &str, name: &str) -> u64 {
    let all = told(bed, "status");
    let status = all.iter().find(|status| status["dev"] == dev);
    let status = status.unwrap_or_else(|| panic!("no {dev}"));
    status["counters"][name].as_u64().expect("a counter")
}

fn start(bed: &TestBed, file: &Path) -> AgentHandle {
    fs::write(file, POLICIES).expect("file");
    let mut agent = bed.start_daemon(file).expect("daemon");
    // In the order of the sections: the device's own agent is there before the policy's.
    agent
        .wait_for_line("lasthop: attached to wl0:classic")
        .expect("the policy's");
    agent
}

#[test]
fn each_policy_has_its_own_connections() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("lasthop.toml");
    let agent = start(&bed, &file);
    assert_eq!(programs_attached(&bed), 4);
    let status = told(&bed, "status");
    let named: Vec<_> = status.iter().map(|s| (&s["dev"], &s["scheme"])).collect();
    assert_eq!(
        named,
        [
            (&"wl0".into(), &"rack".into()),
            (&"wl0:classic".into(), &"snoop".into())
        ]
    );
    let memory = status
        .iter()
        .map(|s| s["memory_max_bytes"].as_u64().unwrap());
    assert!(memory.sum::<u64>() <= 24 * MIB);

    let transfer = |port| {
        run(&bed, Transfer::new().flows(2).bytes(2_000_000).ports(port));
        ["wl0", "wl0:classic"].map(|dev| {
            ["flows_created", "data_segments", "local_retransmits"].map(|c| counter(&bed, dev, c))
        })
    };
    let [rest, classic] = transfer(7_100);
    assert_eq!(rest, [0; 3], "neither connections nor the other's repairs");
    assert!(classic[0] == 2 && classic[2] > 30, "{classic:?}");
    assert!(counter(&bed, "wl0:classic", "suppressed_acks") > 10);
    let [rest, after] = transfer(7_200);
    assert_eq!(after, classic);
    assert!(rest[0] == 2 && rest[2] > 30, "{rest:?}");
    let [alone, after] = transfer(7_300);
    assert_eq!((alone, after), (rest, classic), "left alone");

    assert!(
        told(&bed, "flows wl0")
            .iter()
            .all(|f| f["dev"] != "wl0:left")
    );
    fs::write(&file, "memory = \"24MiB\"\n[device.wl0]\n").expect("file");
    let lines = told(&bed, "reload");
    let of = |dev: &str| {
        let line = lines.iter().find(|line| line["dev"] == dev);
        line.expect(dev)["reload"].clone()
    };
    assert_eq!(
        (of("wl0"), of("wl0:classic")),
        ("changed".into(), "removed".into())
    );
    run(&bed, Transfer::new().bytes(1_000_000).ports(7_100));
    assert!(counter(&bed, "wl0", "flows_created") > rest[0]);
    assert_eq!(programs_attached(&bed), 2);
    agent.stop().expect("stop");
    assert_eq!(programs_attached(&bed), 0);
}

/// What `lasthop reload` says of each, whatever it complains of.
fn reload(bed: &TestBed, file: &Path, text: &str) -> Vec<Value> {
    fs::write(file, text).expect("file");
    let script = r#""$0" reload -j 2>/dev/null || true"#;
    let binary = find_binary("lasthop").expect("lasthop");
    let words = ["sh", "-c", script, binary.to_str().expect("path")];
    let said = bed.command(Host::Bs, &words).expect("reload");
    let lines = said.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Where nothing is left for a policy's agent its connections stay with the device's, and the reload says so;
/// as soon as there is enough they are its own.
#[test]
fn without_memory_a_policy_takes_nothing_away() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let text = |memory: &str, more: &str| format!("memory = \"{memory}\"\n[device.wl0]\n{more}");
    let lab = "[policy.lab]\ndevice = \"wl0\"\nmatch = [\":7100\"]\n";
    let (agent, file) = serve(&bed, &text("6MiB", ""));
    let of = |lines: &[Value], dev: &str| {
        let line = lines.iter().find(|line| line["dev"] == dev);
        line.unwrap_or_else(|| panic!("no {dev}: {lines:?}"))
            .clone()
    };
    let helped = || {
        run(&bed, Transfer::new().bytes(2_000_000).ports(7_100));
        ["flows_created", "local_retransmits"].map(|c| counter(&bed, "wl0", c))
    };
    for _ in 0..2 {
        let lines = reload(&bed, &file, &text("6MiB", lab));
        let line = of(&lines, "wl0:lab");
        let error = line["error"].as_str().unwrap_or_default();
        assert!(
            line["reload"] == "failed" && error.starts_with("no memory: its maps take "),
            "{line}"
        );
        assert_ne!(of(&lines, "wl0")["reload"], "failed");
    }
    let told = lasthop(&bed, &["link", "wl0", "up"]).expect_err("the policy's agent");
    let told = format!("{told:#}");
    assert!(
        told.contains("wl0:lab up: not attached: no memory: "),
        "{told}"
    );
    let [flows, repairs] = helped();
    assert!(flows == 1 && repairs > 15, "{flows} {repairs}");

    let lines = reload(&bed, &file, &text("12MiB", lab));
    assert_eq!(of(&lines, "wl0:lab")["reload"], "added");
    let [after, _] = helped();
    assert_eq!(after, flows);
    assert_eq!(counter(&bed, "wl0:lab", "flows_created"), 1);
    assert!(counter(&bed, "wl0:lab", "local_retransmits") > 15);
    agent.stop().expect("stop");
}
