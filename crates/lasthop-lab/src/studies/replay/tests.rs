// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Captures made here, of a connection that loses a segment.

use std::fs;
use std::path::Path;

use clap::Parser;
use lasthop_core::bindings::{LH_ACK, LH_SYN};
use lasthop_core::packet::{Ends, Tcp, option};
use serde_json::Value;
use tempfile::TempDir;

use super::step::{self, Clock, Kind, State, Step};
use super::*;
use crate::base::fields::assert_described;

const SEGMENT_BYTES: u32 = 1448;
/// As `tcpdump -s 128` keeps.
const SNAP_BYTES: usize = 128;
const MS: u64 = 1_000_000;
pub const START_NS: u64 = 1_700_000_000_000_000_000;
const FH: u32 = 5_000;
const MH: u32 = u32::MAX - 10;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    options: ReplayOptions,
}

pub type Packets = Vec<(u64, Vec<u8>)>;

/// A handshake and ten segments, of which the third is lost: what comes to the wired device, and
/// what MH sends.
pub fn captured(ends: &Ends) -> (Packets, Packets) {
    let (mut wired, mut lossy) = (Vec::new(), Vec::new());
    let tcp = || Tcp {
        ethernet: true,
        ..Tcp::default()
    };
    let syn = |seq, ack, flags| Tcp {
        options: [option::mss(1460), option::sack_ok(), option::wscale(7)].concat(),
        seq,
        ack,
        flags,
        ..tcp()
    };
    wired.push((0, syn(FH, 0, LH_SYN).to_mh(ends)));
    lossy.push((5 * MS, syn(MH, FH + 1, LH_SYN | LH_ACK).to_fh(ends)));
    let seq = |n: u32| FH + 1 + n * SEGMENT_BYTES;
    for n in 0..10 {
        let data = Tcp {
            seq: seq(n),
            ack: MH.wrapping_add(1),
            payload: vec![n as u8; SEGMENT_BYTES as usize],
            ..tcp()
        };
        let at_ns = (20 + u64::from(n)) * MS;
        wired.push((at_ns, data.to_mh(ends)));
        let (ack, sack) = match n {
            // From the ninth on MH has the repair, which left 5 ms after the fourth.
            0..=1 | 8.. => (n + 1, None),
            2 => continue,
            _ => (2, Some([(seq(3), seq(n + 1))])),
        };
        let ack = Tcp {
            seq: MH.wrapping_add(1),
            ack: seq(ack),
            options: sack.map_or(Vec::new(), |blocks| option::sack(&blocks)),
            ..tcp()
        };
        lossy.push((at_ns + 5 * MS, ack.to_fh(ends)));
    }
    (wired, lossy)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A classic file: little endian, in microseconds or nanoseconds.
pub fn pcap(packets: &Packets, link: u32, nanoseconds: bool) -> Vec<u8> {
    let (magic, tick_ns) = match nanoseconds {
        true => (0xa1b2_3c4d, 1),
        false => (0xa1b2_c3d4, 1000),
    };
    let mut file = words(&[magic, 2 | 4 << 16, 0, 0, SNAP_BYTES as u32, link]);
    for (at_ns, packet) in packets {
        let at_ns = START_NS + at_ns;
        let kept = &packet[..packet.len().min(SNAP_BYTES)];
        let (s, part) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000 / tick_ns);
        let lengths = [kept.len() as u32, packet.len() as u32];
        file.extend(words(&[s as u32, part as u32, lengths[0], lengths[1]]));
        file.extend(kept);
    }
    file
}

/// A block of pcapng with its length at both ends.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let bytes = body.len() as u32 + 12;
    [words(&[kind, bytes]), body, words(&[bytes])].concat()
}

/// A pcapng file in nanoseconds.
fn pcapng(packets: &Packets) -> Vec<u8> {
    let mut file = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    // Link type 1, its snap length, if_tsresol 9 and the end of the options.
    file.extend(block(1, &words(&[1, SNAP_BYTES as u32, 9 | 1 << 16, 9, 0])));
    for (at_ns, packet) in packets {
        let at_ns = START_NS + at_ns;
        let kept = &packet[..packet.len().min(SNAP_BYTES)];
        let lengths = [kept.len() as u32, packet.len() as u32];
        let head = [
            0,
            (at_ns >> 32) as u32,
            at_ns as u32,
            lengths[0],
            lengths[1],
        ];
        file.extend(block(6, &[words(&head), kept.to_vec()].concat()));
    }
    file
}

/// Both captures in a directory of their own.
pub struct Files {
    directory: TempDir,
}

impl Files {
    pub fn new(wired: &[u8], lossy: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("wired"), wired).unwrap();
        fs::write(directory.path().join("lossy"), lossy).unwrap();
        Self { directory }
    }

    pub fn path(&self, name: &str) -> String {
        let path: &Path = self.directory.path();
        path.join(name).to_str().unwrap().to_owned()
    }

    /// What the command prints, and its error.
    pub fn replay(&self, more: &[&str]) -> (String, Result<()>) {
        let (wired, lossy) = (self.path("wired"), self.path("lossy"));
        let mut words = vec!["replay", "--wired", &wired, "--lossy", &lossy];
        words.extend(["--mobile", "198.51.100.0/24,2001:db8:1::/48"]);
        words.extend(more);
        let mut out = Vec::new();
        let result = run(&Cli::parse_from(words).options, &mut out);
        (String::from_utf8(out).unwrap(), result)
    }

    /// The one line that the command fails with.
    pub fn error(&self, more: &[&str]) -> String {
        let error = format!("{:#}", self.replay(more).1.unwrap_err());
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    }
}

fn classic_files() -> Files {
    let (wired, lossy) = captured(&Ends::v4(1));
    Files::new(&pcap(&wired, 1, false), &pcap(&lossy, 1, false))
}

pub fn lines(text: &str) -> Vec<Value> {
    let parsed = text.lines().map(|line| serde_json::from_str(line).unwrap());
    parsed.collect()
}

/// The loss is repaired once, at the same time, whatever the files' format and IP version.
#[test]
fn the_repair_shows() {
    for ends in [Ends::v4(1), Ends::v6(1)] {
        let (wired, lossy) = captured(&ends);
        let formats: [fn(&Packets) -> Vec<u8>; 3] =
            [|p| pcap(p, 1, false), |p| pcap(p, 1, true), pcapng];
        for format in formats {
            let files = Files::new(&format(&wired), &format(&lossy));
            let (text, result) = files.replay(&["-j"]);
            result.unwrap();
            let lines = lines(&text);
            let repairs: Vec<&Value> = lines
                .iter()
                .filter(|line| line["repairs"].as_array().is_some_and(|r| !r.is_empty()))
                .collect();
            assert_eq!(repairs.len(), 1, "{text}");
            let third = 1 + 2 * SEGMENT_BYTES;
            assert_eq!(repairs[0]["repairs"], serde_json::json!([third]));
            assert_eq!(repairs[0]["state"]["una"], third);
            let last = lines.last().unwrap();
            assert_eq!(last["counters"]["local_retransmits"], 1);
            assert_eq!(last["counters"]["data_bytes"], 10 * SEGMENT_BYTES);
            assert_eq!(last["time_s"], 0.034);
        }
    }
}

#[test]
fn people_read_it_too() {
    let files = classic_files();
    let (text, result) = files.replay(&[]);
    result.unwrap();
    let first = text.lines().next().unwrap();
    assert_eq!(first, "flow 1: 192.0.2.1:80 > 198.51.100.2:40001");
    assert!(text.contains(" ACK   1449  pass "), "{text}");
    assert!(text.contains("REPAIR 2897"), "{text}");
    assert!(text.contains("\n          1 local_retransmits: "), "{text}");
    // Scheme none looks on.
    let (text, _) = files.replay(&["--scheme", "none"]);
    assert!(!text.contains("REPAIR"), "{text}");
}

/// MH falls silent: the timers of the time until the next packet show, and only those.
#[test]
fn timers_run_between_packets() {
    let (mut wired, mut lossy) = captured(&Ends::v4(1));
    lossy.truncate(1);
    let again = wired[10].1.clone();
    wired.push((1000 * MS, again));
    let files = Files::new(&pcapng(&wired), &pcapng(&lossy));
    let (text, result) = files.replay(&["-j"]);
    result.unwrap();
    let mut lines = lines(&text);
    let counters = lines.pop().unwrap();
    assert_eq!(lines.last().unwrap()["kind"], "data");
    lines.retain(|line| line["kind"] == "timer");
    // That an outage is noticed shows, too; nothing is sent then.
    let repaired = |line: &&Value| line["repairs"].as_array().is_some_and(|r| !r.is_empty());
    let kicks = lines.iter().filter(repaired).count();
    assert!(kicks > 0, "{text}");
    assert_eq!(counters["counters"]["timer_kicks"], kicks);
    let times: Vec<f64> = lines.iter().filter_map(|l| l["time_s"].as_f64()).collect();
    assert!(times.is_sorted() && times.iter().all(|s| (0.03..1.0).contains(s)));
    assert!(files.replay(&[]).0.contains(" TIMER REPAIR "));
}

#[test]
fn a_part_of_the_time() {
    let files = classic_files();
    let (all, _) = files.replay(&["-j"]);
    let (part, result) = files.replay(&["-j", "--from", "20ms", "--to", "26ms"]);
    result.unwrap();
    let of_part = |line: &Value| {
        let time_s = line["time_s"].as_f64().unwrap();
        line["kind"] != "counters" && (0.020..=0.026).contains(&time_s)
    };
    let mut expected = lines(&all);
    expected.retain(of_part);
    let mut part = lines(&part);
    let counters = part.pop().unwrap();
    assert_eq!(part, expected);
    assert_eq!(counters["time_s"], 0.026);
}

#[test]
fn what_is_no_capture() {
    let files = classic_files();
    for garbage in [&b"root:x:0:0:root:/root:/bin/sh\n"[..], &[0; 100], b""] {
        fs::write(files.path("lossy"), garbage).unwrap();
        let error = files.error(&[]);
        assert!(error.starts_with(&files.path("lossy")), "{error}");
    }
    fs::remove_file(files.path("lossy")).unwrap();
    assert!(files.error(&[]).contains("No such file"));
}

/// What is before the end of a file that was cut off is replayed.
#[test]
fn a_truncated_file() {
    let (wired, lossy) = captured(&Ends::v4(1));
    let formats: [fn(&Packets) -> Vec<u8>; 2] = [|p| pcap(p, 1, false), pcapng];
    for format in formats {
        let whole = format(&lossy);
        let files = Files::new(&format(&wired), &whole[..whole.len() - 7]);
        let error = files.error(&["-j"]);
        assert!(
            error.ends_with("after 9 packets: the file ends within a record"),
            "{error}"
        );
        let lines = lines(&files.replay(&["-j"]).0);
        assert_eq!(lines.last().unwrap()["counters"]["local_retransmits"], 1);
    }
}

#[test]
fn what_cannot_be_replayed() {
    let (wired, lossy) = captured(&Ends::v4(1));
    let cooked = Files::new(&pcap(&wired, 113, false), &pcap(&lossy, 1, false));
    let error = cooked.error(&[]);
    assert!(error.contains("LINUX_SLL"), "{error}");
    let swapped = Files::new(&pcap(&lossy, 1, false), &pcap(&wired, 1, false));
    let error = swapped.error(&[]);
    assert!(error.contains("no packet to 198.51.100.0/24"), "{error}");
    let error = classic_files().error(&["--scheme", "nosuch"]);
    assert!(error.contains("no scheme 'nosuch'"), "{error}");
    let mut damaged = pcap(&wired, 1, false);
    damaged[24 + 8..24 + 12].copy_from_slice(&[0xff; 4]);
    let damaged = Files::new(&damaged, &pcap(&lossy, 1, false));
    assert!(damaged.error(&[]).contains("after 0 packets"));
}

#[test]
fn the_configuration_counts() {
    let files = classic_files();
    let config = files.path("lasthop.toml");
    fs::write(&config, "scheme = \"none\"\n").unwrap();
    let (text, _) = files.replay(&["--config", &config]);
    assert!(!text.contains("REPAIR"), "{text}");
    let (text, _) = files.replay(&["--config", &config, "--scheme", "rack"]);
    assert!(text.contains("REPAIR"), "{text}");
    fs::write(&config, "shceme = \"none\"\n").unwrap();
    assert!(files.error(&["--config", &config]).contains("scheme"));
}

#[test]
fn lines_and_description_have_the_same_fields() {
    let clock = Clock {
        start_ns: 1,
        now_ns: 1,
    };
    let mut line = Step::new(Kind::Data, clock, "flow".into(), 1);
    let flow = lasthop_core::Flow::new();
    let state = State::of(&flow, None, 0, clock);
    assert_described(&state, &step::STATE_FIELDS);
    line.state = Some(state);
    assert_described(&line, &step::FIELDS);
    let counters = Counters {
        kind: "counters",
        time_s: 0.0,
        counters: serde_json::Map::new(),
    };
    assert_described(&counters, &step::COUNTER_FIELDS);
}

#[test]
fn the_page_is_up_to_date() {
    let page = include_str!("../../../docs/replay.md");
    assert!(
        page.ends_with(&markdown()),
        "docs/replay.md must end with the output of `lasthop-lab fields replay`:\n{}",
        markdown()
    );
}
