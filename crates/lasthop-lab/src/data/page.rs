// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The options of `compare --page`.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};

use crate::base::units;
use crate::data::switch::Switch;

/// As browsers do per host with HTTP/1.1.
const HTTP1_CONNECTIONS: u16 = 6;
/// Objects are kept as files and, while a page loads, in memory.
const MAX_OBJECT_BYTES: u64 = 200_000_000;

/// How client and server talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Protocol {
    /// HTTP/1.1: an object at a time on each of several connections.
    #[default]
    Http1,
    /// HTTP/2 over TLS: all objects at once on one connection.
    Http2,
}

/// Least and greatest size of a page's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeRange {
    /// Bytes of the smallest.
    pub least_bytes: u64,
    /// Bytes of the largest.
    pub most_bytes: u64,
}

impl Default for SizeRange {
    fn default() -> Self {
        Self {
            least_bytes: 23_000,
            most_bytes: 140_000,
        }
    }
}

impl FromStr for SizeRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write LEAST,MOST, such as 23kB,140kB";
        let Some((least, most)) = text.split_once(',') else {
            return Err(format!("`{text}` is no range of sizes: {help}"));
        };
        let (least_bytes, most_bytes) = (units::size_bytes(least)?, units::size_bytes(most)?);
        if least_bytes > most_bytes || most_bytes > MAX_OBJECT_BYTES {
            return Err(format!("`{text}`: must run upwards, to 200MB at the most"));
        }
        Ok(Self {
            least_bytes,
            most_bytes,
        })
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kilo = |bytes: u64| bytes as f64 / 1000.0;
        write!(
            f,
            "{}kB,{}kB",
            kilo(self.least_bytes),
            kilo(self.most_bytes)
        )
    }
}

impl SizeRange {
    /// So many sizes with equal ratios between neighbours, both ends among them; the mean of the
    /// ends' logarithms if there is only one.
    pub fn spaced(self, count: usize) -> Vec<u64> {
        let (least, most) = (self.least_bytes as f64, self.most_bytes as f64);
        let place = |index: usize| match count {
            1 => 0.5,
            _ => index as f64 / (count - 1) as f64,
        };
        (0..count)
            .map(|index| (least * (most / least).powf(place(index))).round() as u64)
            .collect()
    }
}

/// Web pages in place of transfers.
#[derive(Debug, Clone, PartialEq, clap::Args)]
#[command(next_help_heading = "Web pages")]
pub struct PageOptions {
    /// Load web pages in place of transfers: nginx at FH, curl at MH, with the congestion control
    /// of --cc
    #[arg(long, conflicts_with_all = NOT_WITH_PAGES)]
    pub page: bool,

    /// Objects of a page
    #[arg(long = "page-objects", value_name = "N", default_value_t = 40, requires = "page",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub objects: u16,

    /// Sizes of a page's objects: at equal ratios from LEAST to MOST, in an order that goes by the
    /// seed
    #[arg(
        long = "page-sizes",
        value_name = "LEAST,MOST",
        default_value_t,
        requires = "page"
    )]
    pub sizes: SizeRange,

    /// Connections at a time [default: 6; http2: 1]
    #[arg(long = "page-connections", value_name = "N", requires = "page",
          value_parser = clap::value_parser!(u16).range(1..=64))]
    pub connections: Option<u16>,

    /// off: each object on a connection of its own
    #[arg(
        long = "page-keepalive",
        value_enum,
        value_name = "SWITCH",
        default_value_t = Switch::On,
        requires = "page"
    )]
    pub keepalive: Switch,

    /// http1: HTTP/1.1; http2: HTTP/2 over TLS on one connection
    #[arg(
        long = "page-protocol",
        value_enum,
        value_name = "PROTOCOL",
        default_value_t,
        requires = "page"
    )]
    pub protocol: Protocol,

    /// Loads, one after the other, each on new connections
    #[arg(long = "page-loads", value_name = "N", default_value_t = 8, requires = "page",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub loads: u16,
}

/// What says how the lab's own transfers go, none of which there are.
const NOT_WITH_PAGES: [&str; 17] = [
    "arrivals",
    "neighbours",
    "flows",
    "flow_cc",
    "start_gap_ns",
    "mss_bytes",
    "rcv_window_bytes",
    "opener",
    "direction",
    "bytes",
    "duration_ns",
    "warmup_ns",
    "samples",
    "flent",
    "outage",
    "sample_interval_ns",
    "flow_rtt_ns",
];

impl Default for PageOptions {
    fn default() -> Self {
        Self {
            page: false,
            objects: 40,
            sizes: SizeRange::default(),
            connections: None,
            keepalive: Switch::On,
            protocol: Protocol::default(),
            loads: 8,
        }
    }
}

impl PageOptions {
    /// Connections at a time.
    pub fn connections(&self) -> u16 {
        self.connections.unwrap_or(match self.protocol {
            Protocol::Http1 => HTTP1_CONNECTIONS,
            Protocol::Http2 => 1,
        })
    }

    /// Connections that one load makes.
    pub fn connections_per_load(&self) -> u16 {
        match self.keepalive {
            Switch::On => self.connections().min(self.objects),
            Switch::Off => self.objects,
        }
    }

    /// Finds contradictions.
    ///
    /// # Errors
    /// HTTP/2 on several connections, or on none that lasts.
    pub fn check(&self) -> Result<()> {
        if self.protocol == Protocol::Http1 {
            return Ok(());
        }
        if self.connections() != 1 {
            bail!("--page-connections: http2 has all objects on one connection");
        }
        if self.keepalive == Switch::Off {
            bail!("--page-keepalive off: http2 has all objects on one connection");
        }
        Ok(())
    }

    /// One line for people: `8 × a page of 40 objects of 23kB,140kB over 6 connections, HTTP/1.1`.
    pub fn summary(&self) -> String {
        let connections = match (self.connections(), self.keepalive) {
            (1, Switch::On) => "1 connection".to_owned(),
            (many, Switch::On) => format!("{many} connections"),
            (many, Switch::Off) => format!("new connections, {many} at a time"),
        };
        let protocol = match self.protocol {
            Protocol::Http1 => "HTTP/1.1",
            Protocol::Http2 => "HTTP/2",
        };
        format!(
            "{} × a page of {} objects of {} over {connections}, {protocol}",
            self.loads, self.objects, self.sizes
        )
    }
}
