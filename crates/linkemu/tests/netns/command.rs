// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The `linkemu` binary: ready line, control socket, signals, last line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::lab::{Lab, config_json};
use linkemu::Stats;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const LINKEMU: &str = env!("CARGO_BIN_EXE_linkemu");

/// Killed when the test fails, so that nothing outlives it.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn linkemu(arguments: &[&str]) -> Output {
    Command::new(LINKEMU)
        .args(arguments)
        .output()
        .expect("run linkemu")
}

fn start(lab: &Lab, control: &Path, config: &str) -> Guard {
    let mut command = Command::new(LINKEMU);
    command
        .args(["run", "--config", "-", "--control"])
        .arg(control);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = lab
        .emu
        .enter(move || command.spawn().expect("start linkemu"));
    child
        .stdin
        .take()
        .unwrap()
        .write_all(config.as_bytes())
        .unwrap();
    Guard(child)
}

#[test]
fn runs_answers_and_stops() {
    let Some(lab) = Lab::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let control = dir.path().join("control");
    let path = control.to_str().unwrap();
    let mut relay = start(&lab, &control, &config_json("{}", "{}"));
    let mut lines = BufReader::new(relay.0.stdout.take().unwrap()).lines();
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "linkemu: relaying ew <-> ee"
    );

    let (west, east) = lab.udp_pair();
    west.send(b"hello").unwrap();
    east.recv(&mut [0; 16]).unwrap();
    let output = linkemu(&["stats", path]);
    let stats: Stats = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(stats.a_to_b.received_frames, 1);
    assert!(
        linkemu(&["set", path, r#"{"dir":"a_to_b","loss":0.5}"#])
            .status
            .success()
    );
    let refused = linkemu(&["set", path, r#"{"dir":"a_to_b","loss":5}"#]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a_to_b.loss"));

    kill(Pid::from_raw(relay.0.id() as i32), Signal::SIGTERM).unwrap();
    let last: Stats = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(last.a_to_b.sent_frames, 1);
    assert!(relay.0.wait().unwrap().success());
    assert!(!control.exists());
}

#[test]
fn errors_are_one_line_and_exit_1() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.json");
    let path = config.to_str().unwrap();
    for (text, named) in [
        (r#"{"a":"x","b":"y","a_to_b":{"loss":2}}"#, "a_to_b.loss"),
        (
            r#"{"a":"no-such-dev-a","b":"no-such-dev-b"}"#,
            "no-such-dev-a",
        ),
    ] {
        std::fs::write(&config, text).unwrap();
        let output = linkemu(&["run", "--config", path]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(
            errors.contains(named) && errors.trim_end().lines().count() == 1,
            "{errors}"
        );
    }
    let output = linkemu(&["stats", "/nonexistent/socket"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nonexistent/socket"));
}
