// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `compare`: short transfers that arrive, neighbours, and hundreds of flows. The agent is a
//! script here.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::Value;

/// Stands for `lasthop`: attaches to nothing, and notes how it was called.
const FAKE_AGENT: &str = r#"#!/bin/sh
here=${0%/*}
case "$1" in
attach)
    echo "$*" >> "$here/calls"
    trap 'exit 0' INT TERM
    echo "lasthop: attached to wl0, scheme $4"
    while :; do sleep 0.05; done ;;
status)
    echo '{"dev":"wl0","counters":{"local_retransmits":0,"suppressed_acks":0}}' ;;
esac
"#;

fn fake_agent(dir: &Path) {
    let path = dir.join("lasthop");
    fs::write(&path, FAKE_AGENT).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn lab(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command
        .args(["compare", "-j"])
        .args(words.split_whitespace());
    command
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The only record of a comparison in which nothing is wrong.
fn record(mut command: Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["content_ok"], true, "{record}");
    record
}

fn number(record: &Value, name: &str) -> f64 {
    record[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} in {record}"))
}

#[test]
fn short_transfers_arrive_beside_long_ones() {
    if super::skipped("short_transfers_arrive") {
        return;
    }
    let words = "--scheme none --cc cubic --rate 20mbit --rtt 40ms --loss 0 --flows 2 \
                 --warmup 1s --duration 4s --arrivals 20/s --arrival-sizes";
    let small = record(lab(&format!("{words} 3kB")));
    // 80 on average; 6 standard deviations.
    let count = number(&small, "arrivals");
    bound!((27.0..133.0).contains(&count), "{small}");
    // A handshake and a segment or two: two round trips, and the queue of the long flows, which
    // is one bandwidth-delay product.
    let (p50, p95) = (
        number(&small, "arrival_p50_ms"),
        number(&small, "arrival_p95_ms"),
    );
    assert!(p50 >= 2.0 * 20.0 && p50 <= p95, "{small}");
    assert_eq!(small["flow_goodputs_mbit"].as_array().unwrap().len(), 2);
    assert!(small["neighbour_goodput_mbit"].is_null());
    // The same seed: the same arrivals, but thirty times as long, which the long flows feel.
    let large = record(lab(&format!("{words} 90kB")));
    bound!(number(&large, "arrival_p50_ms") > p50, "{large}");
    bound!(
        number(&large, "goodput_mbit") < number(&small, "goodput_mbit"),
        "{large}"
    );
}

#[test]
fn what_does_not_arrive_never_came_and_is_no_failure() {
    if super::skipped("what_does_not_arrive") {
        return;
    }
    // The hop goes out for good before the measured time: 20 s later that is known.
    let record = record(lab(
        "--scheme none --cc cubic --rtt 20ms --loss 0 --warmup 1s --duration 1s --outage 500ms,300s \
         --arrivals 20/s --arrival-sizes 3kB",
    ));
    assert!(number(&record, "arrivals") > 0.0, "{record}");
    assert!(record["arrival_p50_ms"].is_null() && record["arrival_p95_ms"].is_null());
}

/// Two neighbours one after the other, and what remains when they have left.
#[test]
fn neighbours_come_and_go_and_the_agent_leaves_them_alone() {
    if super::skipped_alone("neighbours_come") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fake_agent(dir.path());
    let mut command = lab(
        "--scheme snoop --cc cubic --rate 20mbit --rtt 30ms --loss 0 --queue 100 --warmup 1s \
         --duration 9s --neighbour udp:10mbit,1s,4s --neighbour reno,1s,4s",
    );
    command.env("LASTHOP_BIN_DIR", dir.path());
    command.env(
        "PATH",
        format!("{}:{}", bin_dir(), std::env::var("PATH").unwrap()),
    );
    let record = record(command);
    let each: Vec<f64> = record["neighbour_goodputs_mbit"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mbit| mbit.as_f64().unwrap())
        .collect();
    // UDP does not give way: all but what the full queue drops.
    let sent_mbit = 10.0 * 1472.0 / 1514.0;
    bound!(
        (0.8 * sent_mbit..1.02 * sent_mbit).contains(&each[0]),
        "{record}"
    );
    assert!(each[1] > 0.0, "{record}");
    let sum = number(&record, "neighbour_goodput_mbit");
    assert!((sum - each[0] - each[1]).abs() < 0.01, "{record}");
    let (beside, bound) = (
        number(&record, "goodput_beside_mbit"),
        number(&record, "bound_mbit"),
    );
    assert!(beside + sum < 1.1 * bound, "{record}");
    assert!(beside < 0.6 * bound, "{record}");
    // Two thirds of the time it was alone.
    assert!(number(&record, "goodput_mbit") > beside, "{record}");
    assert!(number(&record, "neighbour_rtt_p95_ms") >= 30.0, "{record}");
    assert!(number(&record, "rtt_p95_after_ms") >= 30.0, "{record}");

    let calls = fs::read_to_string(dir.path().join("calls")).unwrap();
    let excluded: Vec<&str> = calls
        .split_whitespace()
        .skip_while(|w| *w != "--exclude")
        .collect();
    assert_eq!(
        calls.matches("--exclude").count(),
        1,
        "UDP is none of its business: {calls}"
    );
    let port: u16 = excluded[1].strip_prefix(':').unwrap().parse().unwrap();
    assert!((10_000..32_000).contains(&port), "{calls}");
}

/// Where cargo puts the other programs.
fn bin_dir() -> String {
    let lab = Path::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    lab.parent().unwrap().display().to_string()
}

/// More flows than the shell allows descriptors, and the lab is not what keeps the machine busy. Alone:
/// the time of this process's children would be that of other tests as well.
#[test]
fn hundreds_of_flows_take_no_setting_up_and_little_time() {
    if super::skipped_alone("hundreds_of_flows") {
        return;
    }
    let lab = env!("CARGO_BIN_EXE_lasthop-lab");
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -n 256; exec \"$0\" \"$@\"", lab]);
    command.args(
        "compare -j --scheme none --cc cubic --flows 400 --rate 40mbit --rtt 40ms --loss 0.1% \
         --warmup 3s --duration 4s"
            .split_whitespace(),
    );
    let user_s = || {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
        usage.user_time().num_milliseconds() as f64 / 1000.0
    };
    let (begin, before_s) = (Instant::now(), user_s());
    let record = record(command);
    let busy = (user_s() - before_s) / begin.elapsed().as_secs_f64();
    assert!(busy < 0.5, "{busy} of a processor for the lab's own work");
    assert_eq!(record["flow_goodputs_mbit"].as_array().unwrap().len(), 400);
    assert!(number(&record, "efficiency") > 0.7, "{record}");
    assert!((0.0..=1.0).contains(&number(&record, "jain")), "{record}");
    assert!(number(&record, "rtt_p50_ms") <= number(&record, "rtt_p99_ms"));
    assert!(number(&record, "rtt_p50_ms") >= 40.0, "{record}");
}

#[test]
fn contradictions_are_one_line() {
    for (words, hint) in [
        ("--arrivals 4/s --bytes 1MB", "--duration"),
        ("--neighbour cubic,99s", "never begins"),
        ("--neighbour nosuch", "nosuch"),
        ("--page --engine ns3 --cc cubic", "--page"),
    ] {
        let output = lab(&format!("--scheme none {words}")).output().unwrap();
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(1), "{words}: {errors}");
        assert!(
            errors.contains(hint) && errors.lines().count() == 1,
            "{errors}"
        );
    }
}
