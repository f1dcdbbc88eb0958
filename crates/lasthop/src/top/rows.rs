// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What one look has to show, as rows of columns: devices, receivers, connections.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use serde_json::Value;

use crate::events::Sample;
use crate::report::{cell, flow_key, text};

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Kind {
    Devices,
    Receivers,
    Flows,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Devices, Self::Receivers, Self::Flows];

    pub fn title(self) -> &'static str {
        match self {
            Self::Devices => "devices",
            Self::Receivers => "receivers",
            Self::Flows => "flows",
        }
    }

    /// The columns; those further behind give way first where there is no room.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Devices => DEVICES,
            Self::Receivers => RECEIVERS,
            Self::Flows => FLOWS,
        }
    }

    pub fn rows(self, seen: &Seen) -> Vec<Row> {
        match self {
            Self::Devices => seen.devices(),
            Self::Receivers => seen.receivers(),
            Self::Flows => seen.connections(),
        }
    }
}

/// A column: its word for `--sort`, its title, and whether it is a number.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub word: &'static str,
    pub title: &'static str,
    pub is_number: bool,
}

const fn name(word: &'static str, title: &'static str) -> Column {
    Column {
        word,
        title,
        is_number: false,
    }
}

const fn number(word: &'static str, title: &'static str) -> Column {
    Column {
        word,
        title,
        is_number: true,
    }
}

const DEVICES: &[Column] = &[
    name("dev", "DEV"),
    number("rate", "Mbit/s"),
    number("flows", "FLOWS"),
    number("repairs", "REPAIRS/s"),
    name("state", "STATE"),
    name("scheme", "SCHEME"),
    number("kept", "KEPT/s"),
    number("cache", "CACHE MiB"),
    number("partners", "PARTNERS"),
];
const RECEIVERS: &[Column] = &[
    name("mh", "RECEIVER"),
    number("rate", "Mbit/s"),
    number("flows", "FLOWS"),
    number("repairs", "REPAIRS"),
    name("dev", "DEV"),
    number("srtt", "SRTT ms"),
    number("cached", "CACHED"),
    number("outage", "OUT s"),
];
const FLOWS: &[Column] = &[
    name("mh", "MH"),
    number("rate", "Mbit/s"),
    number("repairs", "REPAIRS"),
    name("why", "WHY"),
    name("fh", "FH"),
    number("srtt", "SRTT ms"),
    number("cached", "CACHED"),
    number("kept", "KEPT"),
    name("dev", "DEV"),
];

/// One cell: what is shown, and by what it is sorted.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub text: String,
    pub figure: f64,
}

impl Cell {
    fn name(text: String) -> Self {
        Self {
            text: plain(&text),
            figure: 0.0,
        }
    }

    fn count(n: u64) -> Self {
        Self {
            text: n.to_string(),
            figure: n as f64,
        }
    }

    /// With one digit behind the point; none: a dash, below all.
    fn figure(figure: Option<f64>) -> Self {
        match figure {
            Some(figure) => Self {
                text: format!("{figure:.1}"),
                figure,
            },
            None => Self {
                text: "-".into(),
                figure: -1.0,
            },
        }
    }
}

/// Without what would move the terminal's cursor: what answers on a socket may be anything.
pub fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_control() { '?' } else { c };
    text.chars().map(plain).collect()
}

/// A row, with the addresses that a prefix may choose it by.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub cells: Vec<Cell>,
    pub addresses: Vec<IpAddr>,
}

/// A counter at two looks.
#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    at: Duration,
    n: u64,
    per_s: Option<f64>,
}

/// What was seen last, with rates by what was seen before.
#[derive(Debug, Default)]
pub struct Seen {
    status: Vec<Value>,
    peers: Vec<Value>,
    flows: Vec<Value>,
    /// Sentences about who did not answer.
    pub silent: Vec<String>,
    pairs: HashMap<String, Pair>,
}

impl Seen {
    /// Another look. What was not asked for stays as it was.
    pub fn look(&mut self, sample: Sample) {
        let before = std::mem::take(&mut self.pairs);
        let mut pair = |key: String, n: u64, at: Duration| {
            let was = before.get(&key).copied();
            self.pairs.insert(key, risen(was, n, at));
        };
        for status in &sample.status {
            for name in ["data_bytes", "local_retransmits", "suppressed_acks"] {
                let n = status["counters"][name].as_u64().unwrap_or(0);
                pair(device_key(status, name), n, sample.at);
            }
        }
        match &sample.flows {
            Some(flows) => {
                for flow in flows {
                    pair(flow_key(flow), number_of(flow, "data_bytes"), sample.at);
                }
            }
            None => {
                for flow in &self.flows {
                    let key = flow_key(flow);
                    if let Some(was) = before.get(&key) {
                        self.pairs.insert(key, *was);
                    }
                }
            }
        }
        self.status = sample.status;
        self.silent = sample.silent;
        self.peers = sample.peers.unwrap_or_default();
        if let Some(flows) = sample.flows {
            self.flows = flows;
        }
    }

    /// Devices that answered, and connections in their tables.
    pub fn totals(&self) -> (usize, u64) {
        let flows = self.status.iter().map(|status| number_of(status, "flows"));
        (self.status.len(), flows.sum())
    }

    fn per_s(&self, key: &str) -> Option<f64> {
        self.pairs.get(key).and_then(|pair| pair.per_s)
    }

    fn devices(&self) -> Vec<Row> {
        let row = |status: &Value| {
            let per_s = |name: &str| self.per_s(&device_key(status, name));
            let partners = self
                .peers
                .iter()
                .filter(|peer| peer["dev"] == status["dev"] && peer["state"] == "up");
            let mib = number_of(status, "cache_bytes") as f64 / f64::from(1 << 20);
            Row {
                cells: vec![
                    Cell::name(text(&status["dev"])),
                    Cell::figure(per_s("data_bytes").map(megabits)),
                    Cell::count(number_of(status, "flows")),
                    Cell::figure(per_s("local_retransmits")),
                    Cell::name(text(&status["state"])),
                    Cell::name(text(&status["scheme"])),
                    Cell::figure(per_s("suppressed_acks")),
                    Cell::figure(Some(mib)),
                    Cell::count(partners.count() as u64),
                ],
                addresses: Vec::new(),
            }
        };
        self.status.iter().map(row).collect()
    }

    fn connections(&self) -> Vec<Row> {
        let row = |flow: &Value| Row {
            cells: vec![
                Cell::name(cell(flow, "mh")),
                Cell::figure(self.per_s(&flow_key(flow)).map(megabits)),
                Cell::count(number_of(flow, "local_retransmits")),
                Cell::name(text(&flow["why"])),
                Cell::name(cell(flow, "fh")),
                Cell::figure(milliseconds(flow)),
                Cell::count(number_of(flow, "cached_segments")),
                Cell::count(number_of(flow, "suppressed_acks")),
                Cell::name(text(&flow["dev"])),
            ],
            addresses: ["mh", "fh"]
                .iter()
                .filter_map(|end| address(flow, end))
                .collect(),
        };
        self.flows.iter().map(row).collect()
    }

    fn receivers(&self) -> Vec<Row> {
        let mut of: HashMap<(String, String), Vec<&Value>> = HashMap::new();
        for flow in &self.flows {
            let key = (text(&flow["dev"]), text(&flow["mh"]));
            of.entry(key).or_default().push(flow);
        }
        let row = |((dev, mh), flows): ((String, String), Vec<&Value>)| {
            let sum = |name: &str| flows.iter().map(|flow| number_of(flow, name)).sum();
            let rates: Vec<f64> = flows
                .iter()
                .filter_map(|flow| self.per_s(&flow_key(flow)))
                .collect();
            let rate = (!rates.is_empty()).then(|| megabits(rates.iter().sum()));
            let least = |a: f64, b: f64| a.min(b);
            let srtt = flows
                .iter()
                .filter_map(|flow| milliseconds(flow))
                .reduce(least);
            let out = flows.iter().filter_map(|flow| flow["outage_s"].as_f64());
            Row {
                addresses: flows
                    .first()
                    .and_then(|flow| address(flow, "mh"))
                    .into_iter()
                    .collect(),
                cells: vec![
                    Cell::name(mh),
                    Cell::figure(rate),
                    Cell::count(flows.len() as u64),
                    Cell::count(sum("local_retransmits")),
                    Cell::name(dev),
                    Cell::figure(srtt),
                    Cell::count(sum("cached_segments")),
                    Cell::figure(out.reduce(f64::max)),
                ],
            }
        };
        of.into_iter().map(row).collect()
    }
}

/// A counter that went back is another one's.
fn risen(was: Option<Pair>, n: u64, at: Duration) -> Pair {
    let per_s = was.filter(|was| n >= was.n && at > was.at).map(|was| {
        let seconds = (at - was.at).as_secs_f64();
        (n - was.n) as f64 / seconds
    });
    Pair { at, n, per_s }
}

fn megabits(bytes_per_s: f64) -> f64 {
    bytes_per_s * 8.0 / 1e6
}

fn milliseconds(flow: &Value) -> Option<f64> {
    flow["srtt_us"].as_f64().map(|us| us / 1000.0)
}

fn number_of(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or(0)
}

fn address(flow: &Value, end: &str) -> Option<IpAddr> {
    flow[end].as_str()?.parse().ok()
}

fn device_key(status: &Value, name: &str) -> String {
    format!("{} {name}", text(&status["dev"]))
}

/// What is shown of a connection beside its key.
pub const OF_FLOWS: [&str; 7] = [
    "data_bytes",
    "local_retransmits",
    "suppressed_acks",
    "cached_segments",
    "srtt_us",
    "outage_s",
    "why",
];
