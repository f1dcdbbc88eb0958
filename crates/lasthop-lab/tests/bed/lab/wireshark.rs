// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `replay --pcapng`: the display filters of docs/wireshark.md find in a capture of a transfer what
//! the replay itself reports, packet by packet.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::process::{Lifetime, Managed};
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(20);

/// Whether there is no tshark here, with the dumpcap that its package brings; says so.
fn no_tshark(test: &str) -> bool {
    let runs = |program| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null());
        command.stderr(Stdio::null()).status().is_ok()
    };
    if runs("tshark") && runs("dumpcap") {
        return false;
    }
    super::skip(test, "no tshark here (package tshark)");
    true
}

/// Captures of both devices of BS while `transfer` runs: the wired one, the lossy one.
fn capture(directory: &Path, bed: &TestBed, transfer: Transfer) -> [PathBuf; 2] {
    let devices = ["eth0", "wl0"];
    let files = devices.map(|device| directory.join(format!("{device}.pcapng")));
    let mut dumps: Vec<Managed> = devices
        .iter()
        .zip(&files)
        .map(|(device, file)| dump(bed, device, file))
        .collect();
    let report = transfer.start(bed).unwrap().wait().unwrap();
    assert!(report.content_ok(), "{:?}", report.first_failure());
    for dump in &mut dumps {
        let status = dump.stop(Signal::SIGINT, PATIENCE).unwrap();
        assert!(status.success(), "{status}");
    }
    files
}

fn dump(bed: &TestBed, device: &str, file: &Path) -> Managed {
    let mut command = Command::new("dumpcap");
    command.args(["-q", "-p", "-B", "16", "-s", "128", "-i", device, "-w"]);
    command.arg(file);
    let namespace = bed.namespace(Host::Bs);
    let lifetime = Lifetime::WithLab(Signal::SIGTERM);
    let dump = Managed::spawn(command, "dumpcap", namespace, lifetime, None).unwrap();
    // It makes the file once it listens.
    let deadline = Instant::now() + PATIENCE;
    while !file.exists() {
        assert!(Instant::now() < deadline, "dumpcap never listens");
        thread::sleep(Duration::from_millis(10));
    }
    dump
}

/// What the replay of captures came to: its lines, the counters at their end, and the file.
struct Replayed {
    lines: Vec<Value>,
    counters: Value,
    file: PathBuf,
}

impl Replayed {
    fn new(captures: &[PathBuf; 2], scheme: &str) -> Self {
        let file = captures[0].with_file_name(format!("{scheme}.pcapng"));
        let output = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"))
            .args(["replay", "-j", "--scheme", scheme, "--wired"])
            .arg(&captures[0])
            .arg("--lossy")
            .arg(&captures[1])
            .arg("--pcapng")
            .arg(&file)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let mut lines: Vec<Value> = lines.collect();
        let counters = lines.pop().unwrap()["counters"].take();
        Self {
            lines,
            counters,
            file,
        }
    }

    fn counter(&self, name: &str) -> usize {
        self.counters[name].as_u64().unwrap() as usize
    }

    /// `field` of the packets that the display filter finds, in their order.
    fn found(&self, filter: &str, field: &str) -> Vec<String> {
        let output = Command::new("tshark")
            .args(["-n", "-T", "fields", "-e", field, "-Y", filter, "-r"])
            .arg(&self.file)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{filter}: {errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The same of those of which a comment has the words.
    fn said(&self, words: &str, field: &str) -> Vec<String> {
        self.found(&format!("frame.comment contains \"{words}\""), field)
    }

    /// ACK numbers of the ACKs of which that is so, in their order.
    fn acks(&self, so: impl Fn(&Value) -> bool) -> Vec<String> {
        let lines = self.lines.iter();
        let lines = lines.filter(|line| line["kind"] == "ack" && so(line));
        lines.map(|line| line["seq"].to_string()).collect()
    }

    /// Sequence numbers of the repairs, in their order.
    fn repairs(&self) -> Vec<String> {
        let repairs = self.lines.iter().map(|line| line["repairs"].as_array());
        repairs.flatten().flatten().map(Value::to_string).collect()
    }
}

fn is_held(line: &Value) -> bool {
    line["verdict"] == "drop" && line["hold"] == true
}

fn blanks(line: &Value) -> bool {
    line["blank_sack"] == true && line["sack"] != Value::Array(Vec::new())
}

/// Each filter finds exactly the packets that the replay reports, whatever the scheme: what it held,
/// edited, repaired, released.
fn filters_find_what_was_decided(replayed: &Replayed) {
    let held = replayed.acks(is_held);
    assert_eq!(replayed.said("lasthop: held", "tcp.ack"), held);
    let dropped = replayed.acks(|line| line["verdict"] == "drop");
    assert_eq!(
        replayed.found("frame.verdict.ebpf_tc == 2", "tcp.ack"),
        dropped
    );
    let edited = replayed.acks(|line| line["window_bytes"].is_number());
    assert_eq!(replayed.said("lasthop: edited window", "tcp.ack"), edited);
    assert_eq!(edited.len(), replayed.counter("windows_edited"));
    let blanked = replayed.acks(blanks);
    assert_eq!(replayed.said("lasthop: blanked SACK", "tcp.ack"), blanked);
    let changed = replayed.acks(|line| line["window_bytes"].is_number() || blanks(line));
    assert_eq!(replayed.said("lasthop: as edited", "tcp.ack"), changed);
    let repairs = replayed.repairs();
    assert_eq!(replayed.said("lasthop: repair of", "tcp.seq"), repairs);
    assert_eq!(repairs.len(), replayed.counter("local_retransmits"));
    let released = replayed.said("lasthop: released", "tcp.ack").len();
    assert_eq!(released, replayed.counter("released_acks"));
    // All that there is: what came, and what the agent sent.
    let came = replayed
        .lines
        .iter()
        .filter(|line| line["verdict"].is_string());
    let sent = changed.len() + repairs.len() + released;
    assert_eq!(
        replayed.found("frame", "frame.number").len(),
        came.count() + sent
    );
    assert_eq!(replayed.found("_ws.malformed", "frame.number").len(), 0);
}

/// ACKs leave with the windows that the replay reports, and without the blocks that it blanked.
fn edits_are_what_was_said(replayed: &Replayed) {
    let windows = |so: fn(&Value) -> bool| {
        let lines = replayed.lines.iter().filter(move |line| so(line));
        lines.map(|line| &line["window_bytes"])
    };
    let edited = windows(|line| line["window_bytes"].is_number());
    let said = replayed.said("lasthop: edited window", "frame.comment");
    for (comments, window) in said.iter().zip(edited) {
        let end = format!("->{window}");
        let of_window = comments
            .split(',')
            .find(|text| text.contains("edited window"));
        assert!(
            of_window.is_some_and(|text| text.ends_with(&end)),
            "{comments}"
        );
    }
    let leave = windows(|line| line["window_bytes"].is_number() || blanks(line));
    let shown = replayed.said("lasthop: as edited", "tcp.window_size");
    for (shown, window) in shown.iter().zip(leave) {
        let shown: u64 = shown.parse().unwrap();
        assert!(window.is_null() || *window == shown, "{shown} {window}");
    }
    let blocks = "frame.comment contains \"lasthop: as edited\" && tcp.options.sack_le";
    let kept = replayed.acks(|line| {
        line["window_bytes"].is_number()
            && !blanks(line)
            && line["sack"] != Value::Array(Vec::new())
    });
    assert_eq!(replayed.found(blocks, "tcp.ack"), kept);
}

#[test]
fn wireshark_shows_what_the_agent_decided() {
    let test = "wireshark_shows_what_the_agent_decided";
    if super::skipped_alone(test) || no_tshark(test) {
        return;
    }
    let link = LinkOptions {
        rate_bps: 20_000_000,
        rtt_ns: 60_000_000,
        local_rtt_ns: 10_000_000,
        loss: 0.03,
        ..LinkOptions::default()
    };
    let directory = TempDir::new().unwrap();
    let bed = TestBed::up(&link).unwrap();
    let captures = capture(directory.path(), &bed, Transfer::new().bytes(4_000_000));
    bed.down().unwrap();

    let rack = Replayed::new(&captures, "rack");
    filters_find_what_was_decided(&rack);
    edits_are_what_was_said(&rack);
    let by_order = rack.said("(by time order)", "tcp.seq").len();
    assert_eq!(by_order, rack.counter("retransmits_order"));
    for name in ["windows_edited", "suppressed_acks", "retransmits_order"] {
        assert!(rack.counter(name) > 0, "{name}: {}", rack.counters);
    }

    let snoop = Replayed::new(&captures, "snoop");
    filters_find_what_was_decided(&snoop);
    let held = snoop.acks(is_held).len();
    assert_eq!(held, snoop.counter("suppressed_acks"));
    assert!(held > 0 && snoop.counter("local_retransmits") > 0);

    let none = Replayed::new(&captures, "none");
    filters_find_what_was_decided(&none);
    assert_eq!(
        none.said("lasthop: passed", "frame.number").len(),
        none.lines.len()
    );

    the_page_names_filters_that_work(&rack);
}

/// Those of docs/wireshark.md are display filters that tshark takes.
fn the_page_names_filters_that_work(replayed: &Replayed) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/wireshark.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let filters: Vec<&str> = rows
        .filter_map(|row| row.split('`').next())
        .filter(|text| text.starts_with("frame.") || text.starts_with("tcp."))
        .collect();
    assert!(filters.len() > 5, "{filters:?}");
    for filter in filters {
        replayed.found(filter, "frame.number");
    }
}
