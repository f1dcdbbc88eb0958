// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `grid` end to end: it runs, goes on, judges, and leaves nothing behind.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::fake;

/// One place of the grid.
const CELL: &str =
    "--seed 1 --cc reno --loss 0% --rtt 20ms --rate 20mbit --variant base --warmup 0s";

/// With an agent that does nothing.
fn grid(out: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.arg("grid").args(words.split_whitespace());
    fake::agent(out.parent().unwrap());
    command.env("LASTHOP_BIN_DIR", out.parent().unwrap());
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

/// Of the condition whose text begins like that.
fn outcome<'a>(summary: &'a [Value], check: &str) -> &'a Value {
    let is_meant = |line: &&Value| line["check"].as_str().unwrap().starts_with(check);
    &summary.iter().find(is_meant).unwrap()["outcome"]
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
    let mut command = grid(out, &format!("{CELL} --duration 60s"));
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
    if super::skipped("one_cell_runs_once_and_is_judged") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let run = |words: &str| -> Output { grid(&out, words).output().unwrap() };
    let first = run(&format!("{CELL} --duration 2s -j"));
    let errors = text(&first.stderr);
    let summary = lines(&first.stdout);
    assert_eq!(summary[0]["experiment"], "loss", "{errors}");
    assert_eq!(outcome(&summary, "Every byte right"), "met");
    assert_eq!(summary.len(), 5, "those about loss are left out");
    assert!(!errors.contains("matplotlib"), "nothing needs it: {errors}");
    assert!(
        errors.lines().all(|line| line.starts_with("lasthop-lab: ")),
        "{errors}"
    );
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("2 of 2 runs") && page.contains("Goodput, share of the bound"));
    assert!(
        page.contains("lasthop-lab grid --seed 1 --cc reno"),
        "how to repeat it"
    );

    let file = out.join("loss/runs.jsonl");
    let stored = fs::read(&file).unwrap();
    let line = &lines(&stored)[0];
    assert_eq!(line["cell"], "0/none-20mbit-20ms-reno/1");
    assert!(line["goodput_mbit"].as_f64().unwrap() > 5.0);

    // Torn by a crash, but for its first lines: those are not run again.
    let mut torn = fs::OpenOptions::new().append(true).open(&file).unwrap();
    torn.write_all(b"{\"cell\":\"0/").unwrap();
    run(&format!("{CELL} --duration 2s -j"));
    assert_eq!(fs::read(&file).unwrap(), stored);
    let judged = run("--summary-only -j");
    assert_eq!(lines(&judged.stdout), summary);

    // Another duration is another set-up.
    run(&format!("{CELL} --duration 1s"));
    assert_eq!(lines(&fs::read(&file).unwrap()).len(), 4);
    let summary = text(&run("--summary-only").stdout);
    assert!(summary.starts_with("loss: ") && summary.contains(" of 5 conditions met"));
}

#[test]
fn whatever_ends_it_the_test_bed_goes() {
    if super::skipped("whatever_ends_it_the_test_bed_goes") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let (child, run) = start_long(&out);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).lines().count(), 1);
    assert!(is_gone(&run));

    let (mut killed, run) = start_long(&out);
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
        ("--rtt 30ms", "400ms"),
        ("--summary-only", "no results"),
        ("--agent-config /nonexistent", "/nonexistent"),
        ("--summary-only --quick", "--summary-only"),
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
