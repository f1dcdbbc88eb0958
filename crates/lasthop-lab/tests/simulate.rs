// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--engine ns3` end to end: cells, experiments and their files, in simulated time. Needs what
//! `make sim` builds, and no root.

use std::fs;
use std::io::{self, Write};
use std::process::{Command, Output};

use lasthop_lab::simulation;
use serde_json::Value;

/// Without the simulator a test is skipped, and says so past the harness.
fn skipped(test: &str) -> bool {
    let missing = simulation::find().is_err();
    if missing {
        let _ = writeln!(
            io::stderr(),
            "skipped: {test}: no lasthop-simulate, which `make sim` builds"
        );
    }
    missing
}

fn lab(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.args(words).output().unwrap()
}

fn records(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn compare(words: &str) -> Vec<Value> {
    let mut all = vec!["compare", "--engine", "ns3", "-j"];
    all.extend(words.split_whitespace());
    records(&lab(&all))
}

#[test]
fn rack_carries_more_and_the_same_seed_the_same() {
    if skipped("rack_carries_more_and_the_same_seed_the_same") {
        return;
    }
    let words = "--rate 5mbit --loss 2% --cc cubic --scheme none,rack --warmup 1s --duration 5s";
    let (first, again) = (compare(words), compare(words));
    let [none, rack] = &first[..] else {
        panic!("{first:?}");
    };
    let goodput = |record: &Value| record["goodput_mbit"].as_f64().unwrap();
    assert!(goodput(rack) > 2.0 * goodput(none), "{first:?}");
    assert!(rack["local_retransmits"].as_u64() > Some(10));
    assert!(none["local_retransmits"].is_null());
    assert_eq!(rack["content_ok"], true);
    for (first, again) in first.iter().zip(&again) {
        for field in ["bytes", "link_lost", "events", "sender_segments"] {
            assert_eq!(first[field], again[field], "{field}");
        }
    }
    let other = compare(&format!("{words} --seed 2"));
    assert_ne!(other[1]["link_lost"], rack["link_lost"]);
}

#[test]
fn transfers_end_with_every_byte_right() {
    if skipped("transfers_end_with_every_byte_right") {
        return;
    }
    for scheme in ["none", "snoop", "rack"] {
        let words = format!(
            "--rate 10mbit --loss 1% --cc newreno --scheme {scheme} --bytes 300kB --flows 40 \
             --hosts 40 --start-gap 10ms --rcv-window 64kB"
        );
        let record = compare(&words).remove(0);
        assert_eq!(record["bytes"], 40 * 300_000, "{scheme}");
        assert_eq!(record["content_ok"], true, "{scheme}");
        assert_eq!(record["hosts"], 40);
        assert!(record["completion_ms"].as_f64() > Some(100.0), "{scheme}");
    }
}

#[test]
fn models_lose_what_they_should() {
    if skipped("models_lose_what_they_should") {
        return;
    }
    for (model, share) in [
        ("--loss 3%", 0.03),
        ("--loss 0% --burst-loss 3%,4", 0.03),
        ("--loss 0% --two-state 20,2,100ms,10ms", 0.091),
        ("--loss 0% --ber 2.5e-6", 0.0296),
    ] {
        let words = format!(
            "--rate 5mbit --rtt 20ms --cc bbr --scheme rack --warmup 0s --duration 20s {model}"
        );
        let record = compare(&words).remove(0);
        let lost = record["link_lost"].as_f64().unwrap();
        let repeated = record["local_retransmits"].as_f64().unwrap();
        let sent = record["sender_segments"].as_f64().unwrap() + repeated;
        let ratio = lost / sent / share;
        assert!((0.7..1.3).contains(&ratio), "{model}: {lost} of {sent}");
    }
}

const SPEC: &str = r#"
title = "Two losses"
source = "nowhere"
about = "Made up."
reported = "Nothing."
engine = "ns3"
seeds = "1..2"
[setup]
cc = "cubic"
rate = "5mbit"
warmup = "0s"
duration = "3s"
[axis]
label = "Loss"
unit = "%"
points = [{ x = 1, loss = "1%" }, { x = 4, loss = "4%" }]
[[series]]
name = "none"
label = "none"
scheme = "none"
[[series]]
name = "snoop"
label = "Snoop"
scheme = "snoop"
agent = { dup_thresh = 2 }
[[figure]]
name = "goodput"
title = "Goodput"
kind = "value"
metric = "goodput_mbit"
unit = "Mbit/s"
[[check]]
text = "less where more is lost"
of = "none"
to = "none"
to_at = 1
metric = "goodput_mbit"
at = [4]
max = 0.9
"#;

#[test]
fn an_experiment_without_root() {
    if skipped("an_experiment_without_root") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("losses.toml");
    fs::write(&file, SPEC).unwrap();
    let (file, out) = (file.to_str().unwrap(), dir.path().join("out"));
    let run = |more: &[&str]| {
        let mut words = vec!["run", file, "-j", "--out", out.to_str().unwrap()];
        words.extend(more);
        lab(&words)
    };
    // Part by part, as jobs of a cluster do, and then the rest.
    assert!(!run(&["--seed", "1", "--point", "1"]).status.success());
    let path = out.join("losses/runs.jsonl");
    let lines = || fs::read_to_string(&path).unwrap().lines().count();
    assert_eq!(lines(), 2);
    let all = run(&[]);
    let judged = records(&all);
    assert_eq!(judged[0]["outcome"], "met", "{judged:?}");
    assert_eq!(lines(), 8);
    let first = fs::read_to_string(&path).unwrap();
    run(&[]);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        first,
        "nothing is run twice"
    );
    let report = lab(&["report", out.to_str().unwrap()]);
    assert!(report.status.success(), "{report:?}");
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("Two losses") && page.contains("--engine ns3"));
}

/// experiments/Snakefile makes the same runs, part by part.
#[test]
fn a_workflow_of_parts() {
    if skipped("a_workflow_of_parts") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name);
    fs::write(
        file("Snakefile"),
        include_str!("../../../experiments/Snakefile"),
    )
    .unwrap();
    fs::write(file("losses.toml"), SPEC).unwrap();
    let lab = env!("CARGO_BIN_EXE_lasthop-lab");
    let mut command = Command::new("snakemake");
    command.args(["--cores", "2", "--config", "out=results"]);
    command.arg(format!("lab={lab}")).current_dir(dir.path());
    let Ok(output) = command.output() else {
        let _ = writeln!(io::stderr(), "skipped: a_workflow_of_parts: no snakemake");
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let runs = fs::read_to_string(file("results/losses/runs.jsonl")).unwrap();
    assert_eq!(runs.lines().count(), 8);
    assert!(file("results/index.html").is_file());
    let words = [
        "run",
        "losses.toml",
        "--out",
        "results",
        "--summary-only",
        "-j",
    ];
    let mut summary = Command::new(lab);
    let judged = records(
        &summary
            .args(words)
            .current_dir(dir.path())
            .output()
            .unwrap(),
    );
    assert_eq!(judged[0]["outcome"], "met", "{judged:?}");
}
