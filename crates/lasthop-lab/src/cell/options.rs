// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of `compare`.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::base::units;
use crate::bed::transfer::Transfer;
use crate::bed::transfer::sockets::SocketLimits;
use crate::cell::beside::BesideOptions;
use crate::cell::engine::EngineOptions;
use crate::cell::watch::{FLENT_SUFFIX, WatchOptions};
use crate::data::ends::Agents;
use crate::data::link::LinkOptions;
use crate::data::page::PageOptions;
pub use crate::data::scheme::NO_AGENT;
use crate::data::sender::Sender;
use crate::data::topology::Family;
use crate::data::way::{Opener, Way};

/// Above what the kernel takes in place of a smaller clamp, half of `SOCK_MIN_RCVBUF`.
const LEAST_WINDOW_BYTES: u64 = 2304;
/// The agent takes 32 rules.
const MAX_NEIGHBOURS: usize = 16;
const MAX_WINDOW_BYTES: u64 = 16 << 20;

/// Which way the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Direction {
    /// FH sends, MH receives.
    #[default]
    Down,
    /// MH sends, FH receives.
    Up,
    /// Both at once, with as many flows each.
    Both,
}

impl Direction {
    /// The direction that the figures are about.
    pub fn way(self) -> Way {
        match self {
            Self::Down | Self::Both => Way::Down,
            Self::Up => Way::Up,
        }
    }
}

/// What is sent over the link.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Traffic")]
pub struct TrafficOptions {
    /// Parallel connections
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub flows: u16,

    /// Congestion control of each flow in turn, in place of --cc
    #[arg(
        long = "flow-cc",
        value_name = "LIST",
        value_delimiter = ',',
        conflicts_with = "cc"
    )]
    pub flow_cc: Vec<String>,

    /// Between one flow's start and the next
    #[arg(long = "start-gap", value_name = "TIME", default_value = "0s", value_parser = units::duration_ns)]
    pub start_gap_ns: u64,

    /// IP version: 4 or 6
    #[arg(long, value_name = "VERSION", default_value_t)]
    pub family: Family,

    /// Bytes of a full segment, TCP options included, of both ends: 446 for frames of 500 bytes
    /// over IPv4 [default: what a frame holds]
    #[arg(long = "mss", value_name = "BYTES", value_parser = clap::value_parser!(u16).range(88..=1460))]
    pub mss_bytes: Option<u16>,

    /// The most that a receiver advertises: two segments to 16MiB [default: the profile's]
    #[arg(long = "rcv-window", value_name = "SIZE", value_parser = units::size_bytes)]
    pub rcv_window_bytes: Option<u64>,

    /// Which end calls connect()
    #[arg(long, value_enum, default_value_t)]
    pub opener: Opener,

    /// down: FH sends; up: MH sends; both: an upload beside the download that is measured
    #[arg(long, value_enum, default_value_t)]
    pub direction: Direction,

    /// Each transfer carries so much and ends, in place of --duration
    #[arg(long, value_name = "SIZE", value_parser = units::size_bytes, conflicts_with_all = ["duration_ns", "warmup_ns"])]
    pub bytes: Option<u64>,

    /// With --bytes: transfers of each flow one after the other, each on a new connection
    #[arg(long, value_name = "N", default_value_t = 1, requires = "bytes", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub transfers: u32,

    /// Measured time
    #[arg(long = "duration", value_name = "TIME", default_value = "20s", value_parser = units::duration_ns)]
    pub duration_ns: u64,

    /// Before --duration, counted in no figure
    #[arg(long = "warmup", value_name = "TIME", default_value = "5s", value_parser = units::duration_ns)]
    pub warmup_ns: u64,

    /// With --bytes or --page: a cell that takes longer is cut off and has failed
    #[arg(long = "deadline", value_name = "TIME", default_value = "15min", value_parser = units::duration_ns)]
    pub deadline_ns: u64,
}

/// All options of `compare`.
#[derive(Debug, Clone, clap::Args)]
pub struct CompareOptions {
    /// Congestion controls to compare
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "cubic,bbr,reno"
    )]
    pub cc: Vec<String>,

    /// Schemes of the agent to compare, none: no agent; and what takes its place: split, passthrough,
    /// pepsal
    #[arg(
        long = "scheme",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "none,rack"
    )]
    pub schemes: Vec<String>,

    /// Seeds: a list, or N..M with both ends; each combination runs once with each
    #[arg(long = "seed", value_name = "LIST", value_delimiter = ',', default_value = "1", value_parser = units::seed_range)]
    pub seeds: Vec<RangeInclusive<u64>>,

    /// Configuration file handed to the agent
    #[arg(long = "agent-config", value_name = "FILE")]
    pub agent_config: Option<PathBuf>,

    /// Ends of the hop that have an agent; with --hops of each
    #[arg(long, value_enum, default_value_t)]
    pub agents: Agents,

    /// Print one JSON object per line and cell; `lasthop-lab fields` describes it
    #[arg(short = 'j', long)]
    pub json: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub link: LinkOptions,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub traffic: TrafficOptions,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub watch: WatchOptions,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub page: PageOptions,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub beside: BesideOptions,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub engine: EngineOptions,
}

/// One combination to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Congestion control, or those of the flows joined by `+`.
    pub cc: String,
    /// Scheme, or [`NO_AGENT`].
    pub scheme: String,
    /// Seed of losses and content.
    pub seed: u64,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} seed {}", self.cc, self.scheme, self.seed)
    }
}

impl TrafficOptions {
    /// One line for people: `1 flow down over IPv4, 20s after 5s of warm-up`.
    pub fn summary(&self) -> String {
        let way = match self.direction {
            Direction::Down => "down",
            Direction::Up => "up",
            Direction::Both => "each way",
        };
        let amount = match self.bytes {
            Some(bytes) if self.transfers == 1 => format!("{:.3} MB each", bytes as f64 / 1e6),
            Some(bytes) => format!("{} × {:.3} MB each", self.transfers, bytes as f64 / 1e6),
            None => format!(
                "{} after {} of warm-up",
                units::show_duration(self.duration_ns),
                units::show_duration(self.warmup_ns)
            ),
        };
        let flows = if self.flows == 1 { "flow" } else { "flows" };
        format!(
            "{} {flows} {way} over IPv{}, {amount}",
            self.flows, self.family
        )
    }

    /// The congestion controls of the flows: those named for each (`--flow-cc`), else `cc`.
    pub fn controls<'a>(&'a self, cc: &'a [String]) -> &'a [String] {
        match self.flow_cc.is_empty() {
            true => cc,
            false => &self.flow_cc,
        }
    }
}

impl CompareOptions {
    /// The congestion controls that are compared; those of the flows count as one.
    pub fn congestion_controls(&self) -> Vec<String> {
        match self.traffic.flow_cc.is_empty() {
            true => each_once(self.cc.iter().cloned()),
            false => vec![self.traffic.flow_cc.join("+")],
        }
    }

    /// All combinations, each once, for a cell that is run again is no further seed; the schemes of
    /// one congestion control and seed stand side by side.
    pub fn cells(&self) -> Vec<Cell> {
        let seeds = each_once(self.seeds.iter().cloned().flatten());
        let schemes = each_once(self.schemes.iter().cloned());
        let mut cells = Vec::new();
        for cc in &self.congestion_controls() {
            for &seed in &seeds {
                for scheme in &schemes {
                    let (cc, scheme) = (cc.clone(), scheme.clone());
                    cells.push(Cell { cc, scheme, seed });
                }
            }
        }
        cells
    }

    /// Finds contradictions between the options, wherever they are to be used.
    ///
    /// # Errors
    /// They contradict each other.
    pub fn check_options(&self) -> Result<()> {
        self.link.validate()?;
        self.page.check()?;
        self.check_beside()?;
        self.check_traffic()
    }

    fn check_beside(&self) -> Result<()> {
        let beside = &self.beside;
        let given = match (beside.arrivals, beside.neighbours.is_empty()) {
            (Some(_), _) => "--arrivals",
            (None, false) => "--neighbour",
            (None, true) => return Ok(()),
        };
        if self.traffic.bytes.is_some() {
            bail!("{given} with --bytes: there is no time to be beside; use --duration");
        }
        if self.traffic.direction == Direction::Up {
            bail!("{given} goes down, and --direction up is about uploads: use both");
        }
        if self.link.variation.flow_rtt_ns.len() > 1 {
            bail!("--flow-rtt goes by the order in which connections appear, which {given} mixes");
        }
        if beside.neighbours.len() > MAX_NEIGHBOURS {
            bail!("--neighbour: {MAX_NEIGHBOURS} at the most");
        }
        let total_ns = self.longest_cell().as_nanos() as u64;
        if let Some(late) = beside.neighbours.iter().find(|n| n.start_ns >= total_ns) {
            bail!("--neighbour: {late} never begins: --warmup and --duration are over before");
        }
        Ok(())
    }

    fn check_traffic(&self) -> Result<()> {
        if self.link.sender == Sender::Bs && self.traffic.direction == Direction::Up {
            bail!("--sender bs: with --direction up MH is the sender; use down or both");
        }
        self.link.hosts.check_flows(self.traffic.flows)?;
        if self.traffic.bytes.is_none() && self.traffic.duration_ns == 0 {
            bail!("--duration 0: nothing would be measured");
        }
        let segment_bytes = self
            .link
            .full_segment(self.traffic.family, self.traffic.mss_bytes)
            .payload_bytes;
        let least_bytes = LEAST_WINDOW_BYTES.max(2 * segment_bytes);
        if let Some(bytes) = self.traffic.rcv_window_bytes {
            if !(least_bytes..=MAX_WINDOW_BYTES).contains(&bytes) {
                bail!(
                    "--rcv-window {bytes}: must be at least {least_bytes} bytes and at most 16MiB"
                );
            }
        }
        let chains = self.traffic.transfers > 1 || self.traffic.direction == Direction::Both;
        if chains && self.link.variation.flow_rtt_ns.len() > 1 {
            bail!(
                "--flow-rtt goes by the order in which connections appear, which --transfers and \
                 --direction both mix: give one of them up"
            );
        }
        if self.traffic.bytes.is_some() && self.traffic.direction == Direction::Both {
            bail!(
                "--direction both with --bytes: one direction would end before the other; use --duration"
            );
        }
        Ok(())
    }

    /// The file of `--flent` for a cell: the file itself if there is but one cell, otherwise one
    /// beside it that is named after the cell, `FILE-CC-SCHEME-SEED.flent.gz`.
    pub fn flent_file(&self, cell: &Cell) -> Option<PathBuf> {
        let given = self.watch.flent.as_ref()?;
        if self.cells().len() == 1 {
            return Some(given.clone());
        }
        let name = given.file_name()?.to_string_lossy().into_owned();
        let stem = name.strip_suffix(FLENT_SUFFIX)?;
        let Cell { cc, scheme, seed } = cell;
        Some(given.with_file_name(format!("{stem}-{cc}-{scheme}-{seed}{FLENT_SUFFIX}")))
    }

    /// The longest that a transfer, or all loads of a page, may take.
    pub fn longest_cell(&self) -> Duration {
        let traffic = &self.traffic;
        Duration::from_nanos(match traffic.bytes.is_some() || self.page.page {
            true => traffic.deadline_ns,
            false => traffic.warmup_ns + traffic.duration_ns,
        })
    }

    /// What is sent, in one line for people.
    pub fn traffic_summary(&self) -> String {
        match self.page.page {
            true => format!("{}, IPv{}", self.page.summary(), self.traffic.family),
            false => format!("{}{}", self.traffic.summary(), self.beside.summary()),
        }
    }

    /// The transfer of one cell whose figures are wanted.
    pub fn watched_transfer(&self, cell: &Cell) -> Transfer {
        let transfer = self.transfer(cell, self.traffic.direction.way());
        match self.watch.interval_ns(self.link.outage.is_some()) {
            Some(interval_ns) => transfer.watch(Duration::from_nanos(interval_ns)),
            None => transfer,
        }
    }

    /// The transfer of one cell, in one direction.
    pub fn transfer(&self, cell: &Cell, way: Way) -> Transfer {
        let traffic = &self.traffic;
        let nanos = Duration::from_nanos;
        let cc = traffic.controls(std::slice::from_ref(&cell.cc)).to_vec();
        let transfer = Transfer::new()
            .flows(traffic.flows.into())
            .hosts(self.link.hosts.count())
            .wired_end(self.link.sender.host())
            .flow_cc(cc)
            .start_gap(nanos(traffic.start_gap_ns))
            .family(traffic.family)
            .opener(traffic.opener)
            .direction(way)
            .transfers(traffic.transfers as usize)
            .limits(SocketLimits {
                mss_bytes: traffic.mss_bytes,
                window_bytes: traffic.rcv_window_bytes.map(|bytes| bytes as u32),
            })
            .seed(cell.seed)
            .deadline(self.longest_cell());
        match traffic.bytes {
            Some(bytes) => transfer.bytes(bytes),
            None => transfer.duration(self.longest_cell()),
        }
    }
}

/// In the order in which they were named first.
fn each_once<T: Ord + Clone>(named: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    named.filter(|one| seen.insert(one.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::words::compare as parse;

    #[test]
    fn defaults_of_the_design() {
        let options = parse("").unwrap();
        assert_eq!(options.cells().len(), 6);
        assert_eq!(options.traffic.duration_ns, 20_000_000_000);
        assert_eq!(options.traffic.warmup_ns, 5_000_000_000);
        assert_eq!(options.link, LinkOptions::default());
    }

    #[test]
    fn cells_keep_schemes_side_by_side() {
        let options = parse("--cc reno,bbr --scheme none,snoop --seed 1..2,9").unwrap();
        let cells = options.cells();
        assert_eq!(cells.len(), 12);
        let shown: Vec<String> = cells[..3]
            .iter()
            .map(|c| format!("{} {} {}", c.cc, c.seed, c.scheme))
            .collect();
        assert_eq!(shown, ["reno 1 none", "reno 1 snoop", "reno 2 none"]);
    }

    /// The same cell twice is one run twice, and no second seed of a mean.
    #[test]
    fn a_cell_that_is_named_twice_is_there_once() {
        for (words, expected) in [
            ("--scheme none --cc bbr --seed 3,1..3", vec![3, 1, 2]),
            ("--scheme none,none --cc bbr,bbr", vec![1]),
        ] {
            let cells = parse(words).unwrap().cells();
            let seeds: Vec<u64> = cells.iter().map(|cell| cell.seed).collect();
            assert_eq!(seeds, expected, "{words}");
        }
    }

    #[test]
    fn each_cell_has_a_file_of_its_own() {
        let files = |words: &str| {
            let options = parse(&format!("--flent /tmp/out.flent.gz {words}")).unwrap();
            let files = options.cells();
            let files = files.iter().map(|cell| options.flent_file(cell).unwrap());
            files.map(|file| file.display().to_string()).collect()
        };
        let one: Vec<String> = files("--cc reno --scheme rack");
        assert_eq!(one, ["/tmp/out.flent.gz"]);
        let four: Vec<String> = files("--flow-cc cubic,bbr --scheme none,rack --seed 1,3");
        let expected = ["none-1", "rack-1", "none-3", "rack-3"];
        assert_eq!(
            four,
            expected.map(|cell| format!("/tmp/out-cubic+bbr-{cell}.flent.gz"))
        );
        assert_eq!(
            parse("")
                .unwrap()
                .flent_file(&parse("").unwrap().cells()[0]),
            None
        );
    }

    #[test]
    fn flow_cc_replaces_cc() {
        let options = parse("--flow-cc cubic,bbr --flows 4 --scheme none").unwrap();
        assert_eq!(options.cells()[0].cc, "cubic+bbr");
        assert!(parse("--flow-cc cubic --cc reno").is_err());
    }

    #[test]
    fn contradictions() {
        assert!(
            parse("--direction both --scheme none")
                .unwrap()
                .check_traffic()
                .is_ok()
        );
        let options = parse("--direction both --bytes 1MB --scheme none").unwrap();
        let error = options.check_traffic().unwrap_err().to_string();
        assert!(error.contains("--duration"), "{error}");
        let options = parse("--direction up --sender bs").unwrap();
        let error = options.check_traffic().unwrap_err().to_string();
        assert!(error.contains("--sender bs"), "{error}");
        let options = parse("--sender bs --rtt 20ms --flow-rtt 20ms").unwrap();
        let error = options.check_options().unwrap_err().to_string();
        assert!(error.contains("--flow-rtt"), "{error}");
        let options = parse("--bytes 1MB --transfers 2 --rtt 20ms --flow-rtt 20ms,50ms").unwrap();
        let error = options.check_traffic().unwrap_err().to_string();
        assert!(error.contains("--flow-rtt"), "{error}");
        for (words, valid) in [
            ("--rcv-window 10kB", true),
            ("--rcv-window 2kB", false),
            ("--rcv-window 2304 --mss 446", true),
            ("--rcv-window 2303 --mss 446", false),
            ("--rcv-window 17MiB", false),
        ] {
            let result = parse(words).unwrap().check_traffic();
            assert_eq!(result.is_ok(), valid, "{words}");
            let named = |e: anyhow::Error| e.to_string().contains("--rcv-window");
            assert!(valid || result.is_err_and(named), "{words}");
        }
    }

    #[test]
    fn usage_errors_name_the_option() {
        for (words, hint) in [
            ("--rate 20", "20mbit"),
            ("--loss 2", "2%"),
            ("--bytes 1MB --duration 3s", "--duration"),
            ("--family 5", "4 or 6"),
            ("--flows 0", "--flows"),
            ("--mss 87", "--mss"),
            ("--mss 1461", "--mss"),
            ("--rcv-window much", "--rcv-window"),
            ("--sysctl kernel.panic=1", "--sysctl"),
            ("--seed 5..1", "upwards"),
            ("--transfers 3", "--bytes"),
            ("--direction across", "both"),
            ("--outage 1s", "START,LENGTH"),
            ("--sample-interval 1ms", "5ms"),
            ("--outage-events", "--outage"),
            ("--flent out.json", ".flent.gz"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(hint), "{words}: {error}");
        }
    }
}
