// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `compare`: samples and outages, the hosts' TCP stack, and links that let nothing through. The
//! agent is a script here.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Stands for `lasthop`: attaches to nothing, and notes what it is told of the link. With a file
/// `deaf` beside it, it does not know that verb.
const FAKE_AGENT: &str = r#"#!/bin/sh
here=${0%/*}
case "$1" in
attach)
    trap 'exit 0' INT TERM
    echo "lasthop: attached to wl0, scheme $4"
    while :; do sleep 0.05; done ;;
link)
    [ -e "$here/deaf" ] && { echo "unknown verb" >&2; exit 2; }
    echo "$2 $3" >> "$here/links" ;;
status)
    echo '{"dev":"wl0","counters":{"local_retransmits":0,"suppressed_acks":0}}' ;;
esac
"#;

fn compare(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command
        .args("compare -j --cc reno --rate 10mbit".split(' '))
        .args(words.split_whitespace());
    if !words.contains("--rtt") {
        command.args(["--rtt", "40ms"]);
    }
    command
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The records of a comparison that ends with `code`.
fn records(mut command: Command, code: i32) -> (Vec<Value>, String) {
    let output = command.output().unwrap();
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (records.collect(), errors)
}

fn number(object: &Value, name: &str) -> f64 {
    object[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} in {object}"))
}

#[test]
fn an_outage_shows_in_the_samples_and_in_the_record() {
    if super::skipped("an_outage_shows") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("samples");
    // A window that the path holds: no loss but the outage's. On a busy machine round trips, and
    // with them timeouts, are several times as long, but not as the outage.
    let mut command = compare(
        "--scheme none --loss 0 --queue 200 --rcv-window 60kB --warmup 1s --duration 7s --outage 2s,1s",
    );
    command.arg("--samples").arg(&path);
    let (records, _) = records(command, 0);
    let record = &records[0];
    let text = fs::read_to_string(&path).unwrap();
    let samples: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();

    // 8 s, every 10 ms by default; a busy machine may miss some.
    bound!((200..=810).contains(&samples.len()), "{}", samples.len());
    for pair in samples.windows(2) {
        assert!(number(&pair[0], "at_ms") < number(&pair[1], "at_ms"));
        assert!(number(&pair[0], "received_bytes") <= number(&pair[1], "received_bytes"));
    }
    let states: Vec<&str> = samples
        .iter()
        .filter_map(|s| s["ca_state"].as_str())
        .collect();
    for state in ["open", "loss"] {
        assert!(states.contains(&state), "never {state}");
    }
    let in_outage = |s: &&Value| (2100.0..2900.0).contains(&number(s, "at_ms"));
    let mut held = samples.iter().filter(in_outage);
    let received = held.next().map(|s| &s["received_bytes"]).unwrap();
    assert!(held.all(|s| &s["received_bytes"] == received), "an outage");
    let last = samples.last().unwrap();
    assert!(number(last, "received_bytes") >= 0.9 * number(record, "bytes"));

    let (before, least) = ("outage_cwnd_before", "outage_cwnd_least");
    assert!(number(record, least) >= 1.0, "{record}");
    assert!(number(record, least) < number(record, before), "{record}");
    assert!(number(record, "outage_cwnd_left") >= number(record, least));
    assert!(number(record, "outage_pause_ms") >= 1000.0, "{record}");
    assert!(number(record, "outage_recovery_ms") >= 0.0, "{record}");
    assert!(number(record, "sender_timeouts") >= 1.0, "{record}");
}

#[test]
fn the_agent_is_told_of_outages() {
    if super::skipped("the_agent_is_told") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fake_agent(dir.path());
    let words = "--loss 0 --warmup 0s --duration 2s --outage 500ms,100ms,1s --outage-events";
    let run = |scheme: &str| {
        let mut command = compare(words);
        command.args(["--scheme", scheme]);
        command.env("LASTHOP_BIN_DIR", dir.path());
        records(command, 0)
    };
    let (heard, errors) = run("none,snoop");
    assert_eq!((heard.len(), errors.as_str()), (2, ""));
    let links = fs::read_to_string(dir.path().join("links")).unwrap();
    assert_eq!(links, "wl0 down\nwl0 up\n".repeat(2));
    fs::write(dir.path().join("deaf"), "").unwrap();
    let (unheard, errors) = run("snoop");
    assert_eq!(unheard.len(), 1, "figures all the same");
    let notes: Vec<&str> = errors.lines().collect();
    assert_eq!(notes.len(), 2, "one for each verb: {errors}");
    assert!(notes[0].contains("--outage-events") && notes[0].contains("unknown verb"));
}

#[test]
fn a_link_that_lets_nothing_through_still_gives_a_record() {
    if super::skipped("a_link_that_lets_nothing_through") {
        return;
    }
    // No SYN arrives; no data does; the SYN is given up after some seconds; no deadline is met.
    for (words, code, content_ok) in [
        ("--loss 100% --warmup 0s --duration 1s", 0, true),
        ("--loss 0 --ber 1e-3 --warmup 0s --duration 1s", 0, true),
        (
            "--loss 100% --sysctl net.ipv4.tcp_syn_retries=1 --warmup 0s --duration 10s",
            1,
            false,
        ),
        ("--loss 0 --ber 1e-3 --bytes 100kB --deadline 1s", 1, false),
    ] {
        for way in ["down", "up"] {
            let command = compare(&format!("--scheme none --direction {way} {words}"));
            let (records, errors) = records(command, code);
            let record = &records[0];
            assert_eq!(record["bytes"], 0, "{words}: {record}");
            assert_eq!(record["content_ok"], content_ok, "{words}: {errors}");
            assert_eq!(number(record, "goodput_mbit"), 0.0);
            assert_eq!(number(record, "efficiency"), 0.0);
            assert!(record["completion_ms"].is_null());
        }
    }
}

/// Frames of 500 bytes are hit by bit errors a third as often as those of 1514.
#[test]
fn bit_errors_go_by_the_length_of_frames() {
    if super::skipped("bit_errors") {
        return;
    }
    let lost_share = |words: &str| {
        let words = format!("--scheme none --loss 0 --ber 1e-5 --flows 16 --bytes 125kB {words}");
        let (records, _) = records(compare(&words), 0);
        number(&records[0], "link_lost") / number(&records[0], "sender_segments")
    };
    for way in ["down", "up"] {
        let long = lost_share(&format!("--direction {way}"));
        let short = lost_share(&format!("--direction {way} --mss 446"));
        let expected = |bytes: i32| 1.0 - (1.0f64 - 1e-5).powi(8 * bytes);
        for (share, expected) in [(long, expected(1514)), (short, expected(500))] {
            bound!(
                (0.7..1.4).contains(&(share / expected)),
                "{share} of {expected}"
            );
        }
    }
}

#[test]
fn the_hosts_take_what_they_are_given() {
    if super::skipped("the_hosts_take") {
        return;
    }
    let few = "--scheme none --loss 0 --bytes 20kB";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("samples");
    for segments in [1, 20] {
        let mut command = compare(&format!(
            "{few} --rtt 500ms --rto-min 3s --initcwnd {segments} --sample-interval 5ms"
        ));
        command.arg("--samples").arg(&path);
        records(command, 0);
        let text = fs::read_to_string(&path).unwrap();
        let samples = text
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap());
        // As it is for the round trip after the handshake.
        let connected: Vec<Value> = samples.filter(|s| !s["cwnd"].is_null()).collect();
        assert_eq!(connected[0]["cwnd"], segments, "{}", connected[0]);
        assert!(number(connected.last().unwrap(), "rto_ms") >= 3000.0);
    }

    for (words, hint) in [
        ("--sysctl net.ipv4.nosuch=1", "no net.ipv4.nosuch"),
        (
            "--sysctl net.ipv4.tcp_sack=many",
            "--sysctl net.ipv4.tcp_sack=many",
        ),
        ("--rcv-window 2kB", "--rcv-window"),
        (
            "--samples /nonexistent/samples",
            "--samples /nonexistent/samples",
        ),
        ("--samples /tmp/x --seed 1..2", "2 cells"),
        ("--sample-interval 20ms", "--sample-interval"),
    ] {
        let (records, errors) = records(compare(&format!("{few} {words}")), 1);
        assert!(records.is_empty(), "{words}");
        assert!(
            errors.contains(hint) && errors.lines().count() == 1,
            "{errors}"
        );
    }
}

fn fake_agent(dir: &Path) {
    let path = dir.join("lasthop");
    fs::write(&path, FAKE_AGENT).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}
