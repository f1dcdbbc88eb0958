// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `grid` end to end: it runs, goes on, judges, and leaves nothing behind.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// One place of the grid, without any agent.
const CELL: &str = "grid --scheme none --judge none --seed 1 --cc reno --loss 0% --rtt 20ms \
                    --rate 20mbit --variant base --warmup 0s";

fn grid(out: &Path, more: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command
        .args(CELL.split_whitespace())
        .args(more.split_whitespace());
    command.arg("--out").arg(out);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).unwrap();
    text(bytes).lines().map(parse).collect()
}

fn outcome<'a>(summary: &'a [Value], criterion: &str) -> &'a Value {
    let found = summary.iter().find(|line| line["criterion"] == criterion);
    &found.unwrap()["outcome"]
}

/// Runs that belong to children of process `pid`.
fn runs_below(pid: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir("/run/lasthop-lab") else {
        return Vec::new();
    };
    let below = |owner: u64| {
        let status = fs::read_to_string(format!("/proc/{owner}/status")).unwrap_or_default();
        status.contains(&format!("\nPPid:\t{pid}\n"))
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let record = fs::read_to_string(entry.path().join("run.json")).ok()?;
            let record: Value = serde_json::from_str(&record).ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            below(record["owner"]["pid"].as_u64()?).then_some(name)
        })
        .collect()
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A grid whose test bed stands.
fn start_long(out: &Path) -> (Child, String) {
    let mut command = grid(out, "--duration 60s");
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("a test bed", || !runs_below(child.id()).is_empty());
    let run = runs_below(child.id()).remove(0);
    (child, run)
}

fn is_gone(run: &str) -> bool {
    !Path::new("/run/lasthop-lab").join(run).exists()
        && !Path::new("/run/netns")
            .join(format!("lasthop-{run}-bs"))
            .exists()
}

#[test]
fn one_cell_runs_once_and_is_judged() {
    if common::skipped("one_cell_runs_once_and_is_judged") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let run = |more: &str| -> Output { grid(dir.path(), more).output().unwrap() };
    let first = run("--duration 2s -j");
    let errors = text(&first.stderr);
    let summary = lines(&first.stdout);
    assert_eq!(summary[0]["place"], "base/20mbit/20ms/0%/reno", "{errors}");
    assert_eq!(outcome(&summary, "content"), "holds");
    assert_eq!(outcome(&summary, "no-harm"), "not_judged");
    assert!(
        errors.lines().all(|line| line.starts_with("lasthop-lab: ")),
        "{errors}"
    );

    let file = dir.path().join("grid.jsonl");
    let stored = fs::read(&file).unwrap();
    let line = &lines(&stored)[0];
    assert_eq!(line["cell"], "base/20mbit/20ms/0%/reno/none/1");
    assert_eq!(line["variant"], "base");
    assert!(line["goodput_mbit"].as_f64().unwrap() > 5.0);

    // Torn by a crash, but for its first line: that one is not run again.
    let mut torn = fs::OpenOptions::new().append(true).open(&file).unwrap();
    torn.write_all(b"{\"cell\":\"base/").unwrap();
    let again = Instant::now();
    run("--duration 2s -j");
    assert!(again.elapsed() < Duration::from_secs(20));
    assert_eq!(fs::read(&file).unwrap(), stored);

    // Another duration is another set-up.
    run("--duration 1s");
    assert_eq!(lines(&fs::read(&file).unwrap()).len(), 2);
    let summary = run("--summary-only");
    assert!(text(&summary.stdout).contains("base/20mbit/20ms/0%/reno"));
}

#[test]
fn whatever_ends_it_the_test_bed_goes() {
    if common::skipped("whatever_ends_it_the_test_bed_goes") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (child, run) = start_long(dir.path());
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    assert!(is_gone(&run));

    let (mut killed, run) = start_long(dir.path());
    killed.kill().unwrap();
    killed.wait().unwrap();
    wait_until("the cell removes its test bed by itself", || is_gone(&run));
}

#[test]
fn what_cannot_be_run_is_said_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    for (words, hint) in [
        ("--jobs 0", "--jobs"),
        ("--loss 2", "2%"),
        ("--full --quick", "--quick"),
        ("--rtt 30ms", "400"),
        ("--summary-only", "no results"),
        ("--variant lte --trace /nonexistent", "/nonexistent"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"))
            .arg("grid")
            .args(words.split(' '))
            .arg("--out")
            .arg(dir.path())
            .output()
            .unwrap();
        let errors = text(&output.stderr);
        let usage = output.status.code() == Some(2);
        assert!(
            usage || output.status.code() == Some(1),
            "{words}: {errors}"
        );
        assert!(
            errors.contains(hint) || errors.contains("root"),
            "{words}: {errors}"
        );
        assert!(usage || errors.lines().count() == 1, "{errors}");
    }
}

#[test]
fn help_has_examples() {
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"))
        .args(["grid", "--help"])
        .output()
        .unwrap();
    let help = text(&output.stdout);
    for part in [
        "--summary-only",
        "--jobs",
        "Examples",
        "grid --full",
        "Ends with 1",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
}
