// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How much the relay carries: `cargo bench -p linkemu [-- MBIT...]`, as root.
//!
//! Full frames (1514 bytes) at a fixed rate through veth pairs in a throw-away network namespace,
//! over an emulated link that is 25 % faster, with 10 ms of delay: so every missing frame is the
//! relay's own fault. For each case one line for people and one of JSON. Exits 1 when the required
//! 200 Mbit/s one way lost a frame.

#[allow(dead_code)] // the bench only sends
#[path = "../tests/netns/raw.rs"]
mod raw;

use std::process::{Command, ExitCode};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linkemu::{Config, Relay, Stats};
use nix::sched::{CloneFlags, unshare};
use raw::RawSocket;

const FRAME_BYTES: usize = 1514;
const SECONDS: u64 = 5;
const REQUIRED_MBIT: u64 = 200;

/// Frames go in at s0 and come out at d1, and the other way round:
/// `s0 ── s1 (relay) d0 ── d1`.
const PAIRS: [(&str, &str); 2] = [("s0", "s1"), ("d1", "d0")];

struct Case {
    mbit: u64,
    both_ways: bool,
}

struct Outcome {
    offered_frames: u64,
    /// As counted by the interface at the far end, not by the relay.
    delivered_frames: u64,
    elapsed: Duration,
    stats: Stats,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|a| a == "--bench") {
        return ExitCode::SUCCESS; // `cargo test --benches` only wants to know that it runs
    }
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        println!("skipped: a network namespace needs root ({error})");
        return ExitCode::SUCCESS;
    }
    let rates: Vec<u64> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let mut cases = vec![
        Case {
            mbit: REQUIRED_MBIT,
            both_ways: false,
        },
        Case {
            mbit: REQUIRED_MBIT,
            both_ways: true,
        },
        Case {
            mbit: 1000,
            both_ways: false,
        },
    ];
    if !rates.is_empty() {
        cases = rates
            .into_iter()
            .map(|mbit| Case {
                mbit,
                both_ways: false,
            })
            .collect();
    }
    for (outer, inner) in PAIRS {
        ip(&format!("link add {outer} type veth peer {inner}"));
        [outer, inner]
            .iter()
            .for_each(|device| ip(&format!("link set {device} up")));
    }
    let mut enough = true;
    for case in &cases {
        let outcome = run(case);
        report(case, &outcome);
        let whole = outcome.delivered_frames >= outcome.offered_frames;
        enough &= whole || case.both_ways || case.mbit > REQUIRED_MBIT;
    }
    if enough {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn run(case: &Case) -> Outcome {
    let link = format!(
        r#"{{"rate_bps":{},"delay_ns":10000000,"queue_frames":4000}}"#,
        case.mbit * 1_250_000
    );
    let config = format!(r#"{{"a":"s1","b":"d0","a_to_b":{link},"b_to_a":{link}}}"#);
    let relay = Relay::open(Config::from_json(&config).expect("config")).expect("relay");
    let handle = relay.stats_handle();
    let relay = std::thread::spawn(move || relay.run(&AtomicBool::new(false)).expect("run"));

    let far_ends = if case.both_ways {
        vec!["d1", "s0"]
    } else {
        vec!["d1"]
    };
    let received = || {
        far_ends
            .iter()
            .map(|device| received_frames(device))
            .sum::<u64>()
    };
    let before = received();
    let mbit = case.mbit;
    let begin = Instant::now();
    let back = case
        .both_ways
        .then(|| std::thread::spawn(move || offer("d1", mbit)));
    let mut offered_frames = offer("s0", mbit);
    offered_frames += back.map_or(0, |thread| thread.join().expect("sender"));
    let elapsed = begin.elapsed();

    // What is on its way arrives; what was lost does not, whatever the time.
    let settled = Instant::now() + Duration::from_millis(500);
    while received() - before < offered_frames && Instant::now() < settled {
        std::thread::sleep(Duration::from_millis(5));
    }
    let delivered_frames = received() - before;
    handle.stop();
    Outcome {
        offered_frames,
        delivered_frames,
        elapsed,
        stats: relay.join().expect("relay"),
    }
}

/// Sends full frames into `device` for [`SECONDS`], a few every half millisecond; returns how many.
fn offer(device: &str, mbit: u64) -> u64 {
    let socket = RawSocket::open_for_sending(device);
    // No host's address and no protocol that a stack would answer.
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x08, 0x00, 0x45, 0];
    frame.resize(FRAME_BYTES, 0);
    let frames_per_second = mbit * 1_000_000 / (8 * FRAME_BYTES as u64);
    let total = frames_per_second * SECONDS;
    let begin = Instant::now();
    let mut sent = 0;
    while sent < total && begin.elapsed() < Duration::from_secs(2 * SECONDS) {
        let due = begin.elapsed().as_nanos() as u64 * frames_per_second / 1_000_000_000;
        while sent < due.min(total) {
            // A frame that the device refuses was not offered.
            sent += u64::from(socket.send(&frame).is_ok());
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    sent
}

fn received_frames(device: &str) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").expect("device counters");
    let prefix = format!("{device}:");
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix(&prefix));
    let packets = line.and_then(|counters| counters.split_whitespace().nth(1));
    packets
        .and_then(|n| n.parse().ok())
        .expect("counter of received packets")
}

fn report(case: &Case, outcome: &Outcome) {
    let seconds = outcome.elapsed.as_secs_f64();
    let mbit = |frames: u64| (frames * FRAME_BYTES as u64 * 8) as f64 / seconds / 1e6;
    let (offered, delivered) = (mbit(outcome.offered_frames), mbit(outcome.delivered_frames));
    let lanes = [&outcome.stats.a_to_b, &outcome.stats.b_to_a];
    let sum = |count: fn(&linkemu::DirectionStats) -> u64| lanes.map(count).iter().sum::<u64>();
    let missing = outcome
        .offered_frames
        .saturating_sub(outcome.delivered_frames);
    let drops = sum(|d| d.rx_kernel_drops);
    let cpu = outcome.stats.cpu_ns as f64 / outcome.stats.elapsed_ns as f64;
    let late_mean_us = sum(|d| d.late_total_ns) as f64 / sum(|d| d.sent_frames).max(1) as f64 / 1e3;
    let late_max_us = lanes.map(|d| d.late_max_ns)[..]
        .iter()
        .max()
        .map_or(0.0, |ns| *ns as f64 / 1e3);
    let ways = if case.both_ways { 2 } else { 1 };
    println!(
        "{} Mbit/s, {ways} way(s): offered {offered:.1} Mbit/s, delivered {delivered:.1} Mbit/s, \
         missing {missing} of {} frames (kernel drops {drops}), {cpu:.3} CPU s/s, \
         late by {late_mean_us:.0} µs (max {late_max_us:.0})",
        case.mbit, outcome.offered_frames
    );
    let json = serde_json::json!({
        "bench": "throughput", "ways": ways, "target_mbit": case.mbit, "offered_mbit": offered,
        "delivered_mbit": delivered, "offered_frames": outcome.offered_frames,
        "missing_frames": missing, "rx_kernel_drops": drops,
        "queue_dropped_frames": sum(|d| d.queue_dropped_frames),
        "tx_errors": sum(|d| d.tx_errors), "cpu_s_per_s": cpu,
        "late_mean_us": late_mean_us, "late_max_us": late_max_us,
    });
    println!("{json}");
}

fn ip(arguments: &str) {
    let status = Command::new("ip")
        .args(arguments.split_whitespace())
        .status()
        .expect("run ip");
    assert!(status.success(), "ip {arguments}");
}
