// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The lines of what was measured: packet.jsonl, which the benchmark of the BPF programs prints, and
//! forwarding.jsonl, which is written here.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Of the benchmark of the BPF programs.
pub const PACKET_FILE: &str = "packet.jsonl";
/// Of forwarding.
pub const FORWARDING_FILE: &str = "forwarding.jsonl";

/// A point of the programs' benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Packet {
    /// What grows.
    pub axis: String,
    /// How much of it.
    pub x: f64,
    /// `data`, `ack`, `syn`, `syn-ack`; empty if it was skipped.
    #[serde(default)]
    pub path: String,
    /// Connections.
    #[serde(default)]
    pub flows: f64,
    /// Payload of a segment, bytes.
    #[serde(default)]
    pub mss: f64,
    /// Segments of a packet.
    #[serde(default)]
    pub segments: f64,
    /// Time of a packet.
    #[serde(default)]
    pub ns: f64,
    /// That of the yardstick.
    #[serde(default)]
    pub base_ns: f64,
    /// One through the other.
    #[serde(default)]
    pub ratio: f64,
    /// Why there is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// A line of forwarding.jsonl.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "bench", rename_all = "lowercase")]
pub enum Line {
    /// Where and when.
    Machine(Machine),
    /// A transfer.
    Forwarding(Forwarding),
    /// A transfer in super-packets, with the programs timed.
    Train(Train),
    /// What could not be measured.
    Skipped(Skipped),
}

/// Where and when.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Release of the kernel.
    pub kernel: String,
    /// Name of the processor.
    pub processor: String,
    /// How many.
    pub cpus: usize,
    /// Revision of the lab.
    pub revision: String,
    /// In s since 1970.
    pub started_s: u64,
    /// Processes that wanted a processor, mean of the minute before.
    pub load: f64,
}

/// A transfer through the base station.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forwarding {
    /// What grows: `gro`, `flows`, `mss`, `loss`.
    pub axis: String,
    /// How much of it; of `gro` 0 or 1.
    pub x: f64,
    /// Who stood there: `none`, a scheme, `split`, `passthrough`.
    pub helper: String,
    /// From 1.
    pub round: u32,
    /// How long it took.
    pub seconds: f64,
    /// Carried.
    pub gbit: f64,
    /// What all processors were busy with.
    pub machine_s: f64,
    /// Of that with processes that have nothing to do with it.
    pub others_s: f64,
    /// The machine's less the others', per Gbit carried.
    pub cpu_s_per_gbit: f64,
}

impl Forwarding {
    /// Part of the machine's time that others had.
    pub fn others(&self) -> f64 {
        self.others_s / self.machine_s.max(f64::MIN_POSITIVE)
    }
}

/// Means of what the programs took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Train {
    /// The most segments that a super-packet had.
    pub most: u32,
    /// Runs of the data path.
    pub data_runs: u64,
    /// Mean time of one.
    pub data_ns: f64,
    /// Segments of a packet in the mean.
    pub data_segments: f64,
    /// Runs of the ACK path.
    pub ack_runs: u64,
    /// Mean time of one.
    pub ack_ns: f64,
    /// Segments for each ACK in the mean.
    pub ack_segments: f64,
}

/// What could not be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// Of what.
    pub what: String,
    /// Why.
    pub why: String,
}

/// All objects of a file, one a line; lines that are no objects are for people.
///
/// # Errors
/// It cannot be read, or a line is not what it should be.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<Vec<T>> {
    let objects = text.lines().enumerate().filter(|(_, l)| l.starts_with('{'));
    let parsed = objects.map(|(at, line)| {
        serde_json::from_str(line).with_context(|| format!("line {} is none of ours", at + 1))
    });
    let parsed: Vec<T> = parsed.collect::<Result<_>>()?;
    if parsed.is_empty() {
        bail!("nothing was measured");
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_lines_are_read_and_what_is_for_people_is_not() {
        let text = "flows 1 data\n\
            {\"bench\":\"cost\",\"axis\":\"flows\",\"x\":1.0,\"path\":\"data\",\"flows\":1,\"mss\":1448,\"segments\":1,\"ns\":400,\"base_ns\":130,\"ratio\":3.08,\"window\":4}\n\
            {\"bench\":\"cost\",\"axis\":\"segments\",\"x\":44.0,\"mss\":1448,\"skipped\":\"EINVAL\"}\n";
        let packets: Vec<Packet> = parse(text).unwrap();
        assert_eq!(packets.len(), 2);
        assert_eq!((packets[0].ns, packets[0].base_ns), (400.0, 130.0));
        assert_eq!(packets[1].skipped.as_deref(), Some("EINVAL"));
    }

    #[test]
    fn what_is_wrong_says_where() {
        let error = parse::<Packet>("\n{\"axis\":1}\n").unwrap_err();
        assert!(format!("{error:#}").starts_with("line 2"), "{error:#}");
        let error = parse::<Packet>("nothing\n").unwrap_err();
        assert_eq!(error.to_string(), "nothing was measured");
    }

    #[test]
    fn a_line_of_each_kind_is_read_back() {
        let lines = [
            Line::Machine(Machine::default()),
            Line::Skipped(Skipped {
                what: "passthrough".into(),
                why: "no queue".into(),
            }),
            Line::Train(Train {
                most: 44,
                data_runs: 10,
                data_ns: 3_000.0,
                data_segments: 43.5,
                ack_runs: 5,
                ack_ns: 900.0,
                ack_segments: 87.0,
            }),
        ];
        let text: Vec<String> = lines
            .iter()
            .map(|line| serde_json::to_string(line).unwrap())
            .collect();
        assert!(text[1].starts_with("{\"bench\":\"skipped\""), "{}", text[1]);
        assert_eq!(parse::<Line>(&text.join("\n")).unwrap(), lines);
    }
}
