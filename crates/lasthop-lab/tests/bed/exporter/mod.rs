// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The exporter beside a real agent: what is scraped and shown is what `lasthop status -j` says. Only
//! counts are compared, and figures of a link at rest.

mod browser;
mod crowd;
mod page;
mod rights;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::agent::{AgentHandle, why_not};
use lasthop_lab::bed::process::{Lifetime, Managed, find_binary};
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::{RunningTransfer, Transfer};
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::turn::Company;

const PORT: u16 = 9788;
/// What was asked within a second is told again.
const FRESH: Duration = Duration::from_millis(1_100);

const TEST: &str = "end-to-end test of the exporter";

/// Whether this machine can run the tests, of which this one may have others beside it; says why not where
/// it can't.
pub fn able() -> bool {
    super::may_run(TEST, why_not(), Company::Many)
}

/// As [`able`], for a test that runs alone.
pub fn able_alone() -> bool {
    super::may_run(TEST, why_not(), Company::Nobody)
}

pub fn skip(why: &str) {
    super::skip(TEST, why);
}

/// 20 Mbit/s with 3 % of loss.
pub fn bed() -> TestBed {
    let link = LinkOptions {
        rate_bps: 20_000_000,
        rtt_ns: 20_000_000,
        local_rtt_ns: 10_000_000,
        loss: 0.03,
        ..LinkOptions::default()
    };
    TestBed::up(&link).expect("test bed")
}

/// Moves so many bytes over it.
pub fn carry(bed: &TestBed, bytes: u64) {
    let transfer = Transfer::new().bytes(bytes).cc("cubic");
    let report = transfer
        .deadline(Duration::from_secs(120))
        .start(bed)
        .and_then(RunningTransfer::wait)
        .expect("transfer");
    assert!(report.content_ok(), "content: {:?}", report.first_failure());
}

/// Waits until `holds` returns something.
pub fn wait_for<T>(what: &str, mut holds: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = holds() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: never");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The agent's status once nothing is under way and nothing is cached: from then on it stays.
pub fn at_rest(agent: &mut AgentHandle) -> Value {
    wait_for("rest", || {
        let status = agent.status().expect("status");
        let empty = ["active_flows", "cache_bytes", "goodput_bytes_per_s"];
        let rests = empty.iter().all(|name| status[name] == 0) && status["queue_us"].is_null();
        rests.then_some(status)
    })
}

/// Starts an exporter on BS by this command, which gets its address.
pub fn start(bed: &TestBed, mut command: Command) -> Managed {
    command.args(["--listen", &format!("127.0.0.1:{PORT}"), "--receivers"]);
    let lifetime = Lifetime::WithLab(Signal::SIGTERM);
    let namespace = bed.namespace(Host::Bs);
    let mut exporter =
        Managed::spawn(command, "exporter", namespace, lifetime, None).expect("exporter");
    exporter
        .wait_for_line("lasthop-exporter: serving", Duration::from_secs(20))
        .expect("a line");
    exporter
}

/// What BS gets at a path, by HTTP.
pub fn get(bed: &TestBed, path: &str) -> String {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", PORT))?;
        stream.set_read_timeout(Some(Duration::from_secs(15)))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: bs\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    let text = bed.run_in(Host::Bs, ask).expect("enter BS").expect("HTTP");
    let (head, body) = text.split_once("\r\n\r\n").expect("head");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    body.to_owned()
}

/// The value of a series, written as in the exposition.
pub fn series(text: &str, name: &str) -> Option<f64> {
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(value)
}

/// The series of one of the core's counters.
fn of_counter(counter: &str) -> String {
    match counter.strip_prefix("retransmits_") {
        Some(why) => {
            format!("lasthop_local_retransmits_total{{device=\"wl0\",reason=\"{why}\"}}")
        }
        None => format!("lasthop_{counter}_total{{device=\"wl0\"}}"),
    }
}

fn check_counters(text: &str, status: &Value) {
    let counters = status["counters"].as_object().expect("counters");
    for (name, n) in counters {
        if name != "local_retransmits" {
            assert_eq!(series(text, &of_counter(name)), n.as_f64(), "{name}");
        }
    }
}

const UP: &str = "lasthop_up{device=\"wl0\"}";

#[test]
fn what_is_scraped_is_what_the_agent_counts() {
    if !able() {
        return;
    }
    let bed = bed();
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let mut exporter = start(
        &bed,
        Command::new(find_binary("lasthop-exporter").expect("it")),
    );
    carry(&bed, 4_000_000);
    let status = at_rest(&mut agent);
    thread::sleep(FRESH);
    let text = get(&bed, "/metrics");
    check_counters(&text, &status);
    let repairs = series(&text, &of_counter("retransmits_order"));
    assert!(repairs > Some(20.0), "{repairs:?} repairs");
    for (name, field) in [("memory_bytes", "memory_bytes"), ("flows", "flows")] {
        let scraped = series(&text, &format!("lasthop_{name}{{device=\"wl0\"}}"));
        assert_eq!(scraped, status[field].as_f64(), "{field}");
    }
    let receiver = "{device=\"wl0\",receiver=\"10.2.0.2\"}";
    let rtt = series(
        &text,
        &format!("lasthop_receiver_local_rtt_seconds{receiver}"),
    );
    let told = status["receivers"][0]["srtt_us"].as_f64().expect("srtt_us");
    assert_eq!(rtt, Some(told / 1e6));
    assert!(
        (0.009..0.1).contains(&(told / 1e6)),
        "{told} us on a hop of 10 ms"
    );

    // It hangs, and goes on.
    kill(Pid::from_raw(agent.pid()), Signal::SIGSTOP).expect("stop");
    thread::sleep(FRESH);
    let before = Instant::now();
    let hung = get(&bed, "/metrics");
    assert!(before.elapsed() < Duration::from_secs(6));
    assert_eq!(series(&hung, UP), Some(0.0));
    assert_eq!(series(&hung, &of_counter("data_segments")), None);
    kill(Pid::from_raw(agent.pid()), Signal::SIGCONT).expect("continue");
    thread::sleep(FRESH);
    assert_eq!(series(&get(&bed, "/metrics"), UP), Some(1.0));

    // Another one counts from nought.
    agent.stop().expect("stop");
    thread::sleep(FRESH);
    assert_eq!(series(&get(&bed, "/metrics"), UP), Some(0.0));
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    thread::sleep(FRESH);
    let text = get(&bed, "/metrics");
    assert_eq!(series(&text, UP), Some(1.0));
    assert_eq!(series(&text, &of_counter("retransmits_order")), Some(0.0));
    check_counters(&text, &at_rest(&mut agent));
    assert!(exporter.is_running());
    agent.stop().expect("stop");
    let ended = exporter.stop(Signal::SIGTERM, Duration::from_secs(5));
    assert!(ended.expect("end").success());
}

/// Goodput and queue are there while data flow, and what they are said to be.
#[test]
fn goodput_and_queue_are_the_links() {
    if !able() {
        return;
    }
    let bed = bed();
    let agent = bed.start_agent("rack", &[]).expect("agent");
    let _exporter = start(
        &bed,
        Command::new(find_binary("lasthop-exporter").expect("it")),
    );
    let transfer = Transfer::new().cc("cubic");
    let running = transfer.deadline(Duration::from_secs(200)).start(&bed);
    let running = running.expect("transfer");
    running.wait_for_bytes(15_000_000).expect("bytes");
    let text = get(&bed, "/metrics");
    let of = |name: &str| series(&text, &format!("lasthop_{name}{{device=\"wl0\"}}"));
    let goodput = of("goodput_bytes_per_second").expect("goodput");
    let link = 20e6 / 8.0;
    assert!(
        goodput > 0.3 * link && goodput < 1.1 * link,
        "{goodput} bytes/s"
    );
    let queue = of("queue_seconds").expect("queue");
    assert!(queue < 1.0, "{queue} s");
    assert_eq!(of("receivers"), Some(1.0));
    running.stop().expect("stopped");
    agent.stop().expect("stop");
}
