// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How much the relay carries: `cargo bench -p linkemu [-- MBIT...]`, as root.
//!
//! Full frames (1514 bytes) at a fixed rate through veth pairs in a throw-away network namespace,
//! over an emulated link that is 25 % faster, with 10 ms of delay: so every missing frame is the
//! relay's own fault. Right after it the same frames go through a bridge in the relay's place, which
//! is the least that forwarding them in this machine takes; the ratio of both in processor time, of
//! senders and relay together, is the figure that can be compared between machines. For each case
//! one line for people and one of JSON. Exits 1 when the required 200 Mbit/s one way lost a frame.

#[allow(dead_code)] // the bench only sends
#[path = "../tests/netns/raw.rs"]
mod raw;

use std::process::{Command, ExitCode};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linkemu::{Config, Relay, Stats};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
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
    /// Processor time of senders, and of the relay if there is one.
    cpu: Duration,
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
    for (outer, inner) in PAIRS {
        ip(&format!("link add {outer} type veth peer {inner}"));
        [outer, inner]
            .iter()
            .for_each(|device| ip(&format!("link set {device} up")));
    }
    let mut enough = true;
    for case in &cases(&arguments) {
        let outcome = run(case);
        let bridged = forward_plainly(case);
        report(case, &outcome, bridged.as_ref());
        let whole = outcome.delivered_frames >= outcome.offered_frames;
        enough &= whole || case.both_ways || case.mbit > REQUIRED_MBIT;
    }
    if enough {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn cases(arguments: &[String]) -> Vec<Case> {
    let rates: Vec<u64> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    let rates = match rates.is_empty() {
        true => vec![REQUIRED_MBIT, 1000],
        false => rates,
    };
    let both = |mbit| [false, true].map(|both_ways| Case { mbit, both_ways });
    rates.into_iter().flat_map(both).collect()
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
    let through = send_through(case);
    handle.stop();
    Outcome {
        stats: relay.join().expect("relay"),
        ..through
    }
}

/// The same with a bridge in place of the relay; `None`, with the reason, where there is none.
fn forward_plainly(case: &Case) -> Option<Outcome> {
    let made = Command::new("ip")
        .args(["link", "add", "plain", "type", "bridge"])
        .output();
    if !made.is_ok_and(|output| output.status.success()) {
        println!("skipped: the ratio to plain forwarding, this kernel has no bridge");
        return None;
    }
    for device in ["s1", "d0"] {
        ip(&format!("link set {device} master plain"));
        ip(&format!("link set {device} type bridge_slave learning off"));
    }
    ip("link set plain up");
    // No such thing where the kernel's bridges don't ask netfilter, which finds no sense in these
    // packets.
    let _ = std::fs::write("/proc/sys/net/bridge/bridge-nf-call-iptables", "0");
    let outcome = send_through(case);
    ip("link del plain");
    Some(outcome)
}

/// Sends what the case says through whatever connects both pairs.
fn send_through(case: &Case) -> Outcome {
    let far_ends = match case.both_ways {
        true => &["d1", "s0"][..],
        false => &["d1"],
    };
    let received = || {
        far_ends
            .iter()
            .map(|device| received_frames(device))
            .sum::<u64>()
    };
    let (before, cpu_before) = (received(), cpu_time());
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
    Outcome {
        offered_frames,
        delivered_frames: received() - before,
        elapsed,
        cpu: cpu_time() - cpu_before,
        stats: Stats::default(),
    }
}

/// Processor time of this process, what it forwards in its own time slices included.
fn cpu_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("getrusage");
    let time = |t: TimeVal| Duration::from_micros(t.num_microseconds() as u64);
    time(usage.user_time()) + time(usage.system_time())
}

/// Sends full frames into `device` for [`SECONDS`], a few every half millisecond; returns how many.
fn offer(device: &str, mbit: u64) -> u64 {
    let socket = RawSocket::open_for_sending(device);
    // No host's address and no protocol that a stack would answer.
    let mut frame = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 0x08, 0x00, 0x45, 0];
    frame.resize(FRAME_BYTES, 0);
    let frames_per_second = mbit * 1_000_000 / (8 * FRAME_BYTES as u64);
    let most_at_once = frames_per_second / 100;
    let begin = Instant::now();
    let (mut sent, mut done) = (0, 0);
    while begin.elapsed() < Duration::from_secs(SECONDS) {
        let due = begin.elapsed().as_nanos() as u64 * frames_per_second / 1_000_000_000;
        // A sender that did not get the processor for a while does not make up for it: such a
        // burst would overflow the queue, and look like the relay's fault.
        done = done.max(due.saturating_sub(most_at_once));
        while done < due {
            // A frame that the device refuses was not offered.
            sent += u64::from(socket.send(&frame).is_ok());
            done += 1;
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

impl Outcome {
    /// Nanoseconds of processor time.
    fn cpu_per_frame(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.delivered_frames.max(1) as f64
    }
}

fn report(case: &Case, outcome: &Outcome, bridged: Option<&Outcome>) {
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
    let ratio = bridged.map(|bridged| outcome.cpu_per_frame() / bridged.cpu_per_frame());
    let ratio_text = ratio.map_or(String::new(), |ratio| {
        format!(", {ratio:.2} times the processor time of a bridge")
    });
    println!(
        "{} Mbit/s, {ways} way(s): offered {offered:.1} Mbit/s, delivered {delivered:.1} Mbit/s, \
         missing {missing} of {} frames (kernel drops {drops}), {cpu:.3} CPU s/s, \
         late by {late_mean_us:.0} µs (max {late_max_us:.0}){ratio_text}",
        case.mbit, outcome.offered_frames
    );
    let json = serde_json::json!({
        "bench": "throughput", "ways": ways, "target_mbit": case.mbit, "offered_mbit": offered,
        "delivered_mbit": delivered, "offered_frames": outcome.offered_frames,
        "missing_frames": missing, "rx_kernel_drops": drops,
        "queue_dropped_frames": sum(|d| d.queue_dropped_frames),
        "tx_errors": sum(|d| d.tx_errors), "cpu_s_per_s": cpu,
        "late_mean_us": late_mean_us, "late_max_us": late_max_us,
        "cpu_ns_per_frame": outcome.cpu_per_frame(),
        "bridge_cpu_ns_per_frame": bridged.map(Outcome::cpu_per_frame),
        "cpu_ratio_to_bridge": ratio,
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
