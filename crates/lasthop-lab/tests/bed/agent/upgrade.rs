// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop reload --upgrade`, which is what a package does when it has replaced the program, and when it
//! goes back: whoever is of another file is followed under traffic, with its words.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::devices::programs_attached;
use super::reload::runtime_files;
use super::{able, counter, end, fast_link, start_endless, wait_until};

/// `lasthop reload --upgrade` by that file: its first line that tells of one who serves.
fn upgrade(bed: &TestBed, binary: &Path) -> Value {
    let line = bed.run_in(Host::Bs, || {
        let mut command = Command::new(binary);
        command.args(["reload", "--upgrade", "-j"]);
        // As a package's script, wherever it was installed from.
        command.current_dir("/");
        command.stdin(Stdio::null()).stderr(Stdio::null());
        // The process that it starts has the same standard output: not for us to wait for its end.
        let mut child = command.stdout(Stdio::piped()).spawn().expect("reload");
        let mut line = String::new();
        let out = child.stdout.take().expect("stdout");
        let mut lines = BufReader::new(out);
        while !line.contains("\"reload\"") {
            line.clear();
            assert_ne!(lines.read_line(&mut line).expect("a line"), 0);
        }
        assert!(child.wait().expect("end").success());
        line
    });
    serde_json::from_str(&line.expect("namespace")).expect("JSON")
}

/// What serves wl0 is followed by a copy of the program, and that by the program again: it has the
/// connections as the first one had them. Who is of the same file reads its files. `says`: what the last one
/// says of wl0 that it can only know by its words.
fn followed(bed: &TestBed, mut agent: AgentHandle, says: (&str, Value)) {
    let running = start_endless(bed, 4);
    running.wait_for_all_flows().expect("flows");
    let created = counter(&mut agent, "flows_created");
    let old = find_binary("lasthop").expect("lasthop");
    let directory = tempfile::tempdir().expect("directory");
    let new = crate::for_everybody("lasthop", directory.path());
    let first = upgrade(bed, &new);
    assert_eq!(
        (&first["reload"], &first["from_pid"]),
        (&"upgraded".into(), &agent.pid().into())
    );
    agent.wait().expect("the old one ends");
    assert_eq!(upgrade(bed, &new)["reload"], "unchanged");
    let second = upgrade(bed, &old);
    assert_eq!(
        (&second["reload"], &second["from_pid"]),
        (&"upgraded".into(), &first["to_pid"])
    );
    let binary = old.to_str().expect("path");
    let text = bed.command(Host::Bs, &[binary, "status", "-j"]);
    let status: Value = serde_json::from_str(text.expect("status").trim()).expect("JSON");
    assert_eq!(
        (&status["pid"], &status["counters"]["flows_created"]),
        (&second["to_pid"], &created.into())
    );
    assert_eq!(status["counters"]["resynchronised"], 0);
    assert_eq!(status[says.0], says.1);
    end(running);
    let pid = second["to_pid"].as_i64().expect("a process") as i32;
    kill(Pid::from_raw(pid), Signal::SIGINT).expect("SIGINT");
    wait_until("it has ended", || {
        let left = runtime_files(bed);
        (
            programs_attached(bed) == 0 && left.is_empty(),
            format!("{left:?}"),
        )
    });
}

#[test]
fn a_program_that_was_replaced_is_followed() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.01)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("lasthop.toml");
    fs::write(&file, "[device.wl0]\n").expect("file");
    let agent = bed.start_daemon(&file).expect("daemon");
    followed(&bed, agent, ("section", "wl0".into()));
}

/// `attach` as well, whose words the file does not have.
#[test]
fn attach_of_a_program_that_was_replaced_is_followed() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.01)).expect("test bed");
    let agent = bed.start_waiting_agent("sack", &[]).expect("agent");
    followed(&bed, agent, ("scheme", "sack".into()));
}

/// A path among its words is meant from where it was started.
#[test]
fn who_is_followed_finds_the_files_of_its_words() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    fs::write(directory.path().join("here.toml"), "[device.wl0]\n").expect("file");
    let mut command = Command::new(find_binary("lasthop").expect("lasthop"));
    command.args(["daemon", "--config", "here.toml"]);
    command.current_dir(directory.path()).stdout(Stdio::piped());
    let old = bed.run_in(Host::Bs, || command.spawn());
    let mut old = crate::EndsWithTest(old.expect("namespace").expect("daemon"));
    let mut line = String::new();
    let mut said = BufReader::new(old.0.stdout.take().expect("stdout"));
    said.read_line(&mut line).expect("a line");
    assert!(line.starts_with("lasthop: attached to wl0"), "{line}");
    let new = crate::for_everybody("lasthop", directory.path());
    let followed = upgrade(&bed, &new);
    assert_eq!(followed["from_pid"], old.0.id(), "{followed}");
    assert!(old.0.wait().expect("the old one ends").success());
    assert_eq!(upgrade(&bed, &new)["reload"], "unchanged");
    let pid = followed["to_pid"].as_i64().expect("a process") as i32;
    kill(Pid::from_raw(pid), Signal::SIGINT).expect("SIGINT");
    wait_until("it has ended", || {
        let left = runtime_files(&bed);
        (left.is_empty(), format!("{left:?}"))
    });
}

/// Whom procd watches over is left to it: another process in its place would be nobody's.
#[test]
fn a_service_of_procds_is_to_be_started_anew() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let directory = tempfile::tempdir().expect("directory");
    let file = directory.path().join("lasthop.toml");
    fs::write(&file, "[device.wl0]\n").expect("file");
    let procd = directory.path().join("procd");
    std::os::unix::fs::symlink("/bin/sh", &procd).expect("link");
    let mut command = Command::new(&procd);
    command.args(["-c", "setpriv --pdeathsig TERM \"$@\"; true", "procd"]);
    command.arg(find_binary("lasthop").expect("lasthop"));
    command.args(["daemon", "--config"]).arg(&file);
    command.stdout(Stdio::piped());
    let old = bed.run_in(Host::Bs, || command.spawn());
    let mut old = crate::EndsWithTest(old.expect("namespace").expect("procd"));
    let mut line = String::new();
    let mut said = BufReader::new(old.0.stdout.take().expect("stdout"));
    said.read_line(&mut line).expect("a line");
    assert!(line.starts_with("lasthop: attached to wl0"), "{line}");
    let new = crate::for_everybody("lasthop", directory.path());
    let mut command = Command::new(&new);
    command.args(["reload", "--upgrade"]);
    let asked = bed.run_in(Host::Bs, || command.output());
    let asked = asked.expect("namespace").expect("reload");
    let error = String::from_utf8_lossy(&asked.stderr);
    assert!(error.contains("/etc/init.d/lasthop restart"), "{error}");
    assert_eq!(asked.status.code(), Some(3), "for scripts: {error}");
    assert!(programs_attached(&bed) > 0);
}
