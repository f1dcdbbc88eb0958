// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a packet costs as a sum of a few terms, fitted to what was measured, and what machine a port
//! takes by that.

use serde::Serialize;

use super::fit::{Row, badness, fit};
use super::lines::{Line, Packet};

/// Numbers of flows at which half of what they cost has come, of which the best fits is taken.
const HALVES: [f64; 9] = [
    30.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0,
];
/// Segments that arrive behind a lost one before its repair does, in the benchmark.
pub const BEHIND: f64 = 10.0;
/// Payload of a segment in forwarding, bytes.
const MSS: f64 = 1448.0;
/// Terms of a path.
pub const TERMS: usize = 8;
/// What they are.
pub const NAMES: [&str; TERMS] = [
    "a packet",
    "that has more than one segment",
    "each further segment",
    "a packet in forwarding, after other work",
    "each KiB in forwarding, or segment of an ACK",
    "flows, many of them",
    "a loss",
    "a packet while something is missing",
];

/// Which program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// Towards the link.
    Data,
    /// ACKs from it.
    Ack,
}

impl Path {
    /// Of a segment with so many bytes of payload ([`Kind::weight`]).
    pub fn weight(self, mss: f64) -> f64 {
        match self {
            Self::Data => mss / 1024.0,
            Self::Ack => 1.0,
        }
    }
}

/// What a packet, or an ACK, is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kind {
    /// Segments in the packet, or that the ACK acknowledges.
    pub segments: f64,
    /// What each weighs in memory: KiB of its payload; 1 where an ACK acknowledges it.
    pub weight: f64,
    /// Connections.
    pub flows: f64,
    /// Share of the segments that is lost.
    pub loss: f64,
    /// Whether it comes by in forwarding, and not again and again from the cache.
    pub forwarded: bool,
}

/// A point that was measured, and what the model says of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// Which program.
    pub path: Path,
    /// What grew.
    pub axis: String,
    /// How much of it.
    pub x: f64,
    /// Payload of a segment.
    pub mss: f64,
    /// Measured.
    pub ns: f64,
    /// By the model.
    pub model_ns: f64,
    /// How far off that is, as a share of what was measured.
    pub error: f64,
}

/// The terms of one path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Terms {
    /// In the order of [`NAMES`], ns.
    pub ns: [f64; TERMS],
    /// Number of flows at which half of what they cost has come.
    pub half_flows: f64,
}

/// The model of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Model {
    /// Of the data path.
    pub data: Terms,
    /// Of the ACK path.
    pub ack: Terms,
    /// A SYN of a new connection without rules, and what each rule adds.
    pub syn: [f64; 2],
    /// The yardstick's time for a data packet and an ACK of one flow; by it other machines are compared.
    pub yardstick: [f64; 2],
    /// All points.
    pub points: Vec<Checked>,
    /// The largest relative error of them.
    pub worst: f64,
}

/// A point before there is a model.
struct Point {
    path: Path,
    axis: String,
    x: f64,
    mss: f64,
    kind: Kind,
    ns: f64,
}

impl Terms {
    /// Time of a packet.
    pub fn ns(&self, kind: &Kind) -> f64 {
        let factors = factors(kind, self.half_flows);
        factors.iter().zip(self.ns).map(|(f, ns)| f * ns).sum()
    }

    fn of(points: &[&Point]) -> Self {
        let fitted = HALVES.map(|half_flows| {
            let rows: Vec<Row<TERMS>> = points
                .iter()
                .map(|point| Row {
                    factors: factors(&point.kind, half_flows),
                    value: point.ns,
                })
                .collect();
            let ns = fit(&rows);
            (badness(&rows, &ns), Self { ns, half_flows })
        });
        let best = fitted.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or_else(
            || Self {
                ns: [0.0; TERMS],
                half_flows: 1.0,
            },
            |(_, terms)| terms,
        )
    }
}

fn factors(kind: &Kind, half_flows: f64) -> [f64; TERMS] {
    let Kind {
        segments,
        weight,
        flows,
        loss,
        forwarded,
    } = *kind;
    let forwarded = f64::from(u8::from(forwarded));
    let others = flows - 1.0;
    [
        1.0,
        (segments - 1.0).clamp(0.0, 1.0),
        (segments - 1.0).max(0.0),
        forwarded,
        forwarded * segments * weight,
        others / (others + half_flows),
        loss,
        1.0 - (1.0 - loss).powf(BEHIND),
    ]
}

/// Of packet.jsonl.
fn of_packet(packet: &Packet) -> Option<Point> {
    let path = match packet.path.as_str() {
        "data" => Path::Data,
        "ack" => Path::Ack,
        _ => return None,
    };
    let is_loss = packet.axis == "loss";
    (packet.ns > 0.0).then(|| Point {
        path,
        axis: packet.axis.clone(),
        x: packet.x,
        mss: packet.mss,
        kind: Kind {
            segments: packet.segments,
            weight: path.weight(packet.mss),
            flows: packet.flows,
            loss: if is_loss { packet.x / 100.0 } else { 0.0 },
            forwarded: false,
        },
        ns: packet.ns,
    })
}

/// Of forwarding.jsonl: both paths of a transfer in super-packets.
fn of_line(line: &Line) -> Vec<Point> {
    let Line::Train(train) = line else {
        return Vec::new();
    };
    let point = |path: Path, segments: f64, ns| Point {
        path,
        axis: "forwarded".to_owned(),
        x: segments,
        mss: MSS,
        kind: Kind {
            segments,
            weight: path.weight(MSS),
            flows: 1.0,
            loss: 0.0,
            forwarded: true,
        },
        ns,
    };
    vec![
        point(Path::Data, train.data_segments, train.data_ns),
        point(Path::Ack, train.ack_segments, train.ack_ns),
    ]
}

impl Model {
    /// Fits it.
    pub fn of(packets: &[Packet], lines: &[Line]) -> Self {
        let mut points: Vec<Point> = packets.iter().filter_map(of_packet).collect();
        points.extend(lines.iter().flat_map(of_line));
        let of = |path| points.iter().filter(move |point| point.path == path);
        let [data, ack] =
            [Path::Data, Path::Ack].map(|path| Terms::of(&of(path).collect::<Vec<_>>()));
        let check = |point: &Point| {
            let terms = if point.path == Path::Data {
                &data
            } else {
                &ack
            };
            let model_ns = terms.ns(&point.kind);
            Checked {
                path: point.path,
                axis: point.axis.clone(),
                x: point.x,
                mss: point.mss,
                ns: point.ns,
                model_ns: model_ns.round(),
                error: model_ns / point.ns - 1.0,
            }
        };
        let points: Vec<Checked> = points.iter().map(check).collect();
        let errors = points.iter().map(|point| point.error.abs());
        Self {
            worst: errors.fold(0.0, f64::max),
            syn: syn(packets),
            yardstick: ["data", "ack"].map(|path| yardstick(packets, path)),
            points,
            data,
            ack,
        }
    }
}

/// What a new connection costs, and each rule.
fn syn(packets: &[Packet]) -> [f64; 2] {
    let syns = packets.iter().filter(|packet| packet.path == "syn");
    let rows: Vec<Row<2>> = syns
        .filter(|packet| packet.ns > 0.0)
        .map(|packet| Row {
            factors: [1.0, packet.x],
            value: packet.ns,
        })
        .collect();
    fit(&rows)
}

fn yardstick(packets: &[Packet], path: &str) -> f64 {
    let of = |packet: &&Packet| packet.path == path && packet.axis == "flows" && packet.x == 1.0;
    packets.iter().find(of).map_or(0.0, |packet| packet.base_ns)
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
