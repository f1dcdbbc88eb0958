// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop events`: what it tells of a daemon, its devices and its connections.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use serde_json::Value;

use super::{able, fast_link, run};

/// `lasthop events -f -j` on the base station. Dropping it ends it.
struct Followed {
    child: Child,
    lines: Receiver<String>,
}

impl Followed {
    fn start(bed: &TestBed) -> Self {
        let mut command = Command::new(find_binary("lasthop").expect("lasthop"));
        command.args(["events", "-f", "-j", "--interval", "250ms"]);
        command.stdout(Stdio::piped());
        let child = bed.run_in(Host::Bs, || command.spawn());
        let mut child = child.expect("namespace").expect("lasthop events");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sink, lines) = channel();
        std::thread::spawn(move || {
            let lines = out.lines().map_while(Result::ok);
            let _ = lines.map(|line| sink.send(line)).find(Result::is_err);
        });
        Self { child, lines }
    }

    /// Waits for such an event of that device; others before it don't matter.
    fn wait_for(&self, event: &str, dev: &str) -> Value {
        let mut before = Vec::new();
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(20));
            let line = line.unwrap_or_else(|_| panic!("no {event} of {dev}, but {before:?}"));
            let value: Value = serde_json::from_str(&line).expect("JSON");
            if value["event"] == event && value["dev"] == dev {
                return value;
            }
            before.push(line);
        }
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn devices_and_repairs_are_told_of() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("lasthop.toml");
    fs::write(&file, "[device.wl0]\n[device.late0]\n").expect("file");
    let agent = bed.start_daemon(&file).expect("daemon");
    let binary = find_binary("lasthop").expect("lasthop");
    let binary = binary.to_str().expect("path");
    let now = bed.command(Host::Bs, &[binary, "events"]).expect("events");
    assert!(
        now.contains(" wl0 attached: ") && now.contains(" late0 waiting: "),
        "{now}"
    );
    assert_eq!(now.lines().count(), 2, "{now}");

    let followed = Followed::start(&bed);
    let attached = followed.wait_for("attached", "wl0");
    assert_eq!(attached["pid"], agent.pid());
    let ip = |words: &str| {
        let words: Vec<&str> = ["ip"].into_iter().chain(words.split(' ')).collect();
        bed.command(Host::Bs, &words).expect("ip");
    };
    ip("link add late0 type veth peer name late1");
    followed.wait_for("attached", "late0");
    ip("link set late0 name later0");
    assert_eq!(followed.wait_for("renamed", "later0")["was"], "late0");
    ip("link del later0");
    followed.wait_for("gone", "later0");
    fs::write(&file, "[device.wl0]\nscheme = \"sack\"\n").expect("file");
    bed.command(Host::Bs, &[binary, "reload"]).expect("reload");
    assert_eq!(followed.wait_for("reloaded", "wl0")["scheme"], "sack");
    run(&bed, Transfer::new().bytes(6_000_000));
    let repair = followed.wait_for("first_repair", "wl0");
    assert!(
        repair["mh_port"].is_u64() && repair["fh"].is_string(),
        "{repair}"
    );
    agent.stop().expect("stop");
    followed.wait_for("detached", "wl0");
}
