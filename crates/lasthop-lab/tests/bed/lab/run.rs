// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `run` end to end, without any agent: it runs, goes on, judges, and keeps what was finished
//! whatever happens.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::small::Small;

/// Two rates over IPv4 and IPv6, and a condition that nothing meets.
fn spec() -> String {
    Small::new("Two rates", "1..2")
        .setup(
            r#"cc = "reno"
rtt = "20ms"
loss = "0%"
warmup = "0s"
duration = "1s""#,
        )
        .axis(
            "Rate",
            "unit = \"Mbit/s\"\npoints = [{ x = 2, rate = \"2mbit\" }, { x = 4, rate = \"4mbit\" }]",
        )
        .series("v4", "IPv4", "none", "")
        .series("v6", "IPv6", "none", "options = { family = 6 }")
        .goodput("goodput", "Goodput", "value", "unit = \"Mbit/s\"")
        .figure("window", "Window", "window", "at = 4")
        .check("alike", "v6", Some("v4"), "min = 0.5\nmax = 2")
        .check("more than there is", "v4", None, "min = 100")
        .text()
}

/// A directory with the experiment's file.
fn bench() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rates.toml");
    fs::write(&file, spec()).unwrap();
    (dir, file)
}

fn run(file: &Path, out: &Path, more: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.arg("run").arg(file).arg("--out").arg(out);
    command.args(more.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn cells(out: &Path) -> Vec<String> {
    let text = fs::read_to_string(out.join("rates/runs.jsonl")).unwrap();
    let cell = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["cell"].as_str().unwrap().to_owned()
    };
    text.lines().map(cell).collect()
}

#[test]
fn it_runs_judges_and_goes_on() {
    if super::skipped("it_runs_judges_and_goes_on") {
        return;
    }
    let (dir, file) = bench();
    let out = dir.path().join("results");
    let first = run(&file, &out, "-j");
    assert_eq!(first.status.code(), Some(1), "{}", text(&first.stderr));
    let judged: Vec<Value> = text(&first.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let outcomes: Vec<&str> = judged
        .iter()
        .filter_map(|j| j["outcome"].as_str())
        .collect();
    assert_eq!(outcomes, ["met", "not_met"], "{}", text(&first.stderr));
    assert_eq!(judged[0]["values"].as_array().unwrap().len(), 2);
    let mut done = cells(&out);
    assert_eq!(done.len(), 8);
    let samples = fs::read_to_string(out.join("rates/samples/4-v6-2.jsonl")).unwrap();
    let sample: Value = serde_json::from_str(samples.lines().last().unwrap()).unwrap();
    assert!(sample["cwnd"].as_u64().unwrap() > 0);
    // Everything is there: the same again runs nothing, one seed more runs just that.
    run(&file, &out, "");
    assert_eq!(cells(&out), done);
    let third = run(&file, &out, "--seed 1..3");
    assert!(text(&third.stdout).contains("NOT MET: more than there is"));
    let more = cells(&out);
    assert_eq!(more[..8], done[..]);
    assert!(more[8..].iter().all(|cell| cell.ends_with("/3")) && more.len() == 12);
    // Another set-up of the same cell is another result.
    fs::write(
        &file,
        spec().replace("duration = \"1s\"", "duration = \"2s\""),
    )
    .unwrap();
    run(&file, &out, "--seed 1");
    done = cells(&out);
    assert_eq!(done.len(), 16);
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let (dir, file) = bench();
    let out = dir.path().join("results");
    for (right, wrong, said) in [
        ("rtt = ", "rrt = ", "rates.toml:8: unknown option `rrt`"),
        (
            "x = 4, rate = \"4mbit\"",
            "x = 4, rate = \"4m\"",
            "rates.toml:15: rate: ",
        ),
        ("min = 100", "min = \"100\"", "rates.toml:47: "),
    ] {
        fs::write(&file, spec().replacen(right, wrong, 1)).unwrap();
        let output = run(&file, &out, "");
        let errors = text(&output.stderr);
        assert!(!output.status.success());
        assert!(
            errors.contains(said) && errors.lines().count() == 1,
            "{errors}"
        );
    }
    assert!(!out.exists());
    let gone = run(&dir.path().join("gone.toml"), &out, "");
    assert!(
        text(&gone.stderr).contains("gone.toml: No such file"),
        "{}",
        text(&gone.stderr)
    );
}

#[test]
fn an_unknown_congestion_control_is_told_before_anything_runs() {
    if super::skipped("an_unknown_congestion_control_is_told_before_anything_runs") {
        return;
    }
    let (dir, file) = bench();
    fs::write(&file, spec().replace("\"reno\"", "\"renoo\"")).unwrap();
    let out = dir.path().join("results");
    let output = run(&file, &out, "");
    let errors = text(&output.stderr);
    assert!(errors.contains("congestion control renoo"), "{errors}");
    assert!(errors.lines().count() == 1 && !out.exists(), "{errors}");
}

/// The line that finds no place is an error that names the file; those before it stay.
#[test]
fn a_full_disk_loses_nothing_that_was_finished() {
    if super::skipped("a_full_disk_loses_nothing_that_was_finished") {
        return;
    }
    let (dir, file) = bench();
    let disk = dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // A file system of 256 KiB, seen by this command only. Samples and the first seed's lines
    // fit; then it is filled up.
    let script = r#"
        mount -t tmpfs -o size=256k none "$1"
        "$2" run "$3" --out "$1/out" --seed 1 > /dev/null
        dd if=/dev/zero of="$1/ballast" bs=1k 2> /dev/null
        "$2" run "$3" --out "$1/out" --seed 1..2 > /dev/null; echo "status $?" >&2
        rm "$1/ballast"
        cp -r "$1/out" "$4""#;
    let kept = dir.path().join("kept");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(&disk)
        .arg(env!("CARGO_BIN_EXE_lasthop-lab"))
        .args([&file, &kept])
        .output()
        .unwrap();
    let errors = text(&output.stderr);
    assert!(errors.contains("No space left on device"), "{errors}");
    assert!(errors.contains("disk/out/rates/"), "{errors}");
    assert!(errors.contains("status 1"), "{errors}");
    let lines = cells(&kept);
    assert!(lines.len() >= 4, "{lines:?}");
    assert!(
        lines[..4].iter().all(|cell| cell.ends_with("/1")),
        "{lines:?}"
    );
}
