// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! End to end: the agent on BS, the kernel's real TCP at both ends, every byte checked. Counts
//! and ratios of the same run only, no absolute times: these machines are shared.

mod asking;
mod attack;
mod both;
mod chain;
mod channel;
mod content;
mod csnoop;
mod devices;
mod dproxy;
mod ecn;
mod events;
mod explain;
mod faults;
mod footprint;
mod handoff;
mod late;
mod limits;
mod local;
mod many;
mod observe;
mod outage;
mod paced;
mod pair;
mod places;
mod policy;
mod rack;
mod reload;
mod renamed;
mod repair_times;
mod repairs;
mod report;
mod rights;
mod robust;
mod scale;
mod shortage;
mod snack;
mod sockets;
mod top;
mod tun;
mod upgrade;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::agent::{AgentHandle, why_not};
use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::{RunningTransfer, Transfer, TransferReport};
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::switch::Gro;
use serde_json::Value;

use super::turn::Company;

/// Longest that any transfer here may take; a hung one must not hang the tests.
pub const PATIENCE: Duration = Duration::from_secs(240);

const TEST: &str = "end-to-end test of the agent";

/// Whether this machine can run the tests, of which this one may have another beside it; says why not
/// where it can't.
pub fn able() -> bool {
    super::may_run(TEST, why_not(), Company::Many)
}

/// As [`able`], for a test that goes by what a core to spare shows.
pub fn able_in_peace() -> bool {
    super::may_run(TEST, why_not(), Company::Few)
}

/// As [`able`], for a test that runs alone.
pub fn able_alone() -> bool {
    super::may_run(TEST, why_not(), Company::Nobody)
}

/// Says why a test is skipped.
pub fn skip(why: &str) {
    super::skip(TEST, why);
}

/// A hop of 50 Mbit/s with 20 ms of round trip, half of it local, that loses `loss` both ways.
pub fn fast_link(loss: f64) -> LinkOptions {
    LinkOptions {
        rate_bps: 50_000_000,
        rtt_ns: 20_000_000,
        local_rtt_ns: 10_000_000,
        loss,
        gro: Gro::Off,
        ..LinkOptions::default()
    }
}

/// A counter of the agent.
pub fn counter(agent: &mut AgentHandle, name: &str) -> u64 {
    let status = agent.status().expect("status of the agent");
    status["counters"][name]
        .as_u64()
        .unwrap_or_else(|| panic!("no counter {name} in {status}"))
}

/// A daemon on BS with this in its file, and the file.
pub fn serve(bed: &TestBed, text: &str) -> (AgentHandle, PathBuf) {
    let file = bed.directory().join("daemon.toml");
    std::fs::write(&file, text).expect("file");
    let agent = bed.start_daemon(&file).expect("daemon");
    (agent, file)
}

/// What `lasthop WORDS` prints on BS; the error is what it complains of.
pub fn lasthop(bed: &TestBed, words: &[&str]) -> anyhow::Result<String> {
    let binary = find_binary("lasthop")?;
    let all = [&[binary.to_str().expect("path")], words].concat();
    bed.command(Host::Bs, &all)
}

/// The objects that `lasthop WORDS -j` prints on BS.
pub fn told(bed: &TestBed, words: &str) -> Vec<Value> {
    let words: Vec<&str> = words.split(' ').chain(["-j"]).collect();
    let text = lasthop(bed, &words).expect("lasthop");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// The connections in the agent's table.
pub fn flows(bed: &TestBed) -> Vec<Value> {
    told(bed, "flows")
}

/// Sets it when it goes, whatever the reason: a thread that waits for that must not wait for one that
/// panicked.
pub struct Sets<'a>(pub &'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Waits until `holds`; what it returns on the way is for the message.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> (bool, String)) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let (done, state) = holds();
        if done {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: never, but {state}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the agent has forgotten every flow and has its memory back.
pub fn wait_until_empty(agent: &mut AgentHandle) {
    wait_until("no flow and nothing cached", || {
        let status = agent.status().expect("status");
        let empty = ["flows", "active_flows", "cache_bytes", "chunks"]
            .iter()
            .all(|name| status[name] == 0);
        (empty, status.to_string())
    });
}

/// Runs the transfer to its end; its content must be right.
pub fn run(bed: &TestBed, transfer: Transfer) -> TransferReport {
    let report = start(bed, transfer).wait().expect("transfer");
    check(&report);
    report
}

/// Starts so many connections that go on for as long as the test needs them, however slow the machine is:
/// until [`end`].
pub fn start_endless(bed: &TestBed, flows: usize) -> RunningTransfer {
    start(bed, Transfer::new().flows(flows))
}

/// Starts a transfer that has time enough.
pub fn start(bed: &TestBed, transfer: Transfer) -> RunningTransfer {
    transfer.deadline(PATIENCE).start(bed).expect("transfer")
}

/// Waits until all has arrived that was written so far, or that was asked for, and each connection is
/// closed; every byte must be right.
pub fn end(running: RunningTransfer) {
    check(&running.end().expect("transfer"));
}

/// Bits per nanosecond of a transfer of so many bytes.
pub fn goodput(link: &LinkOptions, scheme: Option<&str>, cc: &str, bytes: u64) -> f64 {
    let bed = TestBed::up(link).expect("test bed");
    let agent = scheme.map(|s| bed.start_agent(s, &[]).expect("agent"));
    let report = run(&bed, Transfer::new().bytes(bytes).cc(cc));
    drop(agent);
    bytes as f64 * 8.0 / report.completion_ns().expect("completed") as f64
}

/// As [`goodput`] of CUBIC, from when the transfer first has four fifths of the link's rate for a while. On a
/// busy machine it takes a late ACK for a queue and ends its start long before (HyStart), agent or not. If it
/// never has that, from the beginning.
fn goodput_once_full(link: &LinkOptions, scheme: Option<&str>, bytes: u64) -> f64 {
    const WHILE: Duration = Duration::from_millis(200);
    let bed = TestBed::up(link).expect("test bed");
    let agent = scheme.map(|s| bed.start_agent(s, &[]).expect("agent"));
    let running = start(&bed, Transfer::new().bytes(bytes).cc("cubic"));
    let least = 0.8 * link.rate_bps as f64 / 8.0 * WHILE.as_secs_f64();
    let (since, got) = loop {
        let (since, got) = (running.started().elapsed(), running.received_bytes());
        thread::sleep(WHILE);
        if (running.received_bytes() - got) as f64 >= least {
            break (since, got);
        }
        if running.is_over() {
            break (Duration::ZERO, 0);
        }
    };
    let report = running.wait().expect("transfer");
    check(&report);
    drop(agent);
    let end_ns = report.flows[0].opened_ns + report.completion_ns().expect("completed");
    (bytes - got) as f64 * 8.0 / (end_ns as f64 - since.as_nanos() as f64)
}

/// Of CUBIC's goodput without agent, what `scheme` leaves of it on a link that loses nothing, its first
/// overflow included.
pub fn left_without_loss(scheme: &str, bytes: u64) -> f64 {
    let link = LinkOptions {
        loss: 0.0,
        ..LinkOptions::default()
    };
    let none = goodput_once_full(&link, None, bytes);
    goodput_once_full(&link, Some(scheme), bytes) / none
}

/// The content of every flow must be right.
pub fn check(report: &TransferReport) {
    assert!(report.content_ok(), "content: {:?}", report.first_failure());
}

/// Segments that the sender sent again.
pub fn resent(report: &TransferReport) -> u64 {
    report.flows.iter().map(|flow| flow.retransmits).sum()
}

/// Frames with data that the hop lost, whichever way.
pub fn lost(bed: &TestBed) -> u64 {
    let air = bed.emulator_stats().expect("emulator").air.a_to_b;
    air.data_lost + air.data_queue_dropped
}
