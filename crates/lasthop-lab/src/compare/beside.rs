// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--arrivals` and `--neighbour`: what goes over the link beside the flows that are measured.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::options::{Cell, CompareOptions, Direction};
use super::record::rounded;
use crate::interrupt;
use crate::measure;
use crate::testbed::TestBed;
use crate::traffic::{Arrivals, Flood, Kind, Neighbour, Rate, RunningFlood, Series, Sizes};
use crate::transfer::sockets;
use crate::transfer::{RttSample, RunningTransfer, Transfer, TransferReport};

/// What has begun within the measured time and not arrived so long after it counts as never: the
/// flows that are measured go on until then.
const GRACE: Duration = Duration::from_secs(20);
/// After the last neighbour left, the queue has that long to become short again.
const SETTLING_NS: u64 = 2_000_000_000;
/// The agent takes 32 rules.
const MAX_NEIGHBOURS: usize = 16;
/// Seeds of content that no measured flow has.
const NEIGHBOUR_SEED: u64 = 1 << 40;
const ARRIVAL_SEED: u64 = 1 << 41;

/// Traffic beside the flows.
#[derive(Debug, Clone, PartialEq, Default, clap::Args)]
#[command(next_help_heading = "Traffic beside the flows")]
pub struct BesideOptions {
    /// Short transfers from FH to MH, each on a connection of its own, that arrive at random
    /// (Poisson), so many a second on average
    #[arg(long, value_name = "N/s")]
    pub arrivals: Option<Rate>,

    /// What they carry: SIZE, or web: as files of the web (93% log-normal, above 133kB Pareto; 1kB
    /// to 10MB)
    #[arg(
        long = "arrival-sizes",
        value_name = "SIZE",
        default_value_t,
        requires = "arrivals"
    )]
    pub arrival_sizes: Sizes,

    /// A flow from FH to MH that the agent is told to leave alone, from START to END after the
    /// transfer's start: CC or udp:RATE[,START[,END]]; repeated, or joined by ;
    #[arg(
        long = "neighbour",
        value_name = "KIND[,START[,END]]",
        value_delimiter = ';'
    )]
    pub neighbours: Vec<Neighbour>,
}

impl BesideOptions {
    /// Finds contradictions.
    ///
    /// # Errors
    /// Options that name no time in which to be beside something, or that mix with it.
    pub fn check(&self, options: &CompareOptions) -> Result<()> {
        let given = match (self.arrivals, self.neighbours.is_empty()) {
            (Some(_), _) => "--arrivals",
            (None, false) => "--neighbour",
            (None, true) => return Ok(()),
        };
        let traffic = &options.traffic;
        if traffic.bytes.is_some() {
            bail!("{given} with --bytes: there is no time to be beside; use --duration");
        }
        if traffic.direction == Direction::Up {
            bail!("{given} goes down, and --direction up is about uploads: use both");
        }
        if options.link.variation.flow_rtt_ns.len() > 1 {
            bail!("--flow-rtt goes by the order in which connections appear, which {given} mixes");
        }
        if self.neighbours.len() > MAX_NEIGHBOURS {
            bail!("--neighbour: {MAX_NEIGHBOURS} at the most");
        }
        let total_ns = options.longest_cell().as_nanos() as u64;
        if let Some(late) = self.neighbours.iter().find(|n| n.start_ns >= total_ns) {
            bail!("--neighbour: {late} never begins: --warmup and --duration are over before");
        }
        Ok(())
    }

    /// Finds out what this machine lacks.
    ///
    /// # Errors
    /// A congestion control.
    pub fn check_machine(&self) -> Result<()> {
        self.neighbours.iter().try_for_each(|n| match &n.kind {
            Kind::Tcp(cc) => sockets::check_congestion_control(cc),
            Kind::Udp(_) => Ok(()),
        })
    }

    /// For people; empty if there is nothing.
    pub fn summary(&self) -> String {
        let arrivals = self
            .arrivals
            .map(|rate| format!(", arrivals {rate} ({})", self.arrival_sizes));
        let beside = self.neighbours.iter().map(|n| format!(", beside {n}"));
        arrivals.into_iter().chain(beside).collect()
    }
}

/// The fields of a record about what went beside.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct BesideFigures {
    pub arrivals: Option<usize>,
    pub arrival_p50_ms: Option<f64>,
    pub arrival_p95_ms: Option<f64>,
    pub neighbour_goodput_mbit: Option<f64>,
    pub neighbour_goodputs_mbit: Option<Vec<Option<f64>>>,
    pub neighbour_rtt_p95_ms: Option<f64>,
    pub goodput_beside_mbit: Option<f64>,
    pub rtt_p95_after_ms: Option<f64>,
}

/// What must be known before the agent is attached.
#[derive(Debug)]
pub struct Plan {
    /// First port of each TCP neighbour.
    ports: Vec<Option<u16>>,
}

impl Plan {
    /// Reserves the neighbours' ports.
    ///
    /// # Errors
    /// There are none left.
    pub fn new(bed: &TestBed, options: &BesideOptions) -> Result<Self> {
        let port = |neighbour: &Neighbour| match neighbour.kind {
            Kind::Tcp(_) => bed.reserve_ports(2).map(Some),
            Kind::Udp(_) => Ok(None),
        };
        let ports = options.neighbours.iter().map(port);
        Ok(Self {
            ports: ports.collect::<Result<_>>()?,
        })
    }

    /// What tells the agent to leave the neighbours alone. Its rules are about TCP, all that it
    /// helps.
    pub fn agent_args(&self) -> Vec<String> {
        let ports = self.ports.iter().flatten();
        ports
            .flat_map(|port| ["--exclude".to_owned(), format!(":{port}")])
            .collect()
    }
}

/// One neighbour on its way.
#[derive(Debug)]
enum RunningNeighbour {
    Tcp(Box<RunningTransfer>),
    Udp(RunningFlood),
}

/// All that goes beside. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    arrivals: Option<RunningTransfer>,
    neighbours: Vec<RunningNeighbour>,
    /// The beginning of the transfer that this is beside.
    epoch: Instant,
}

/// What came of it. All times are since the beginning of the transfer beside which it was.
#[derive(Debug)]
pub struct Report {
    /// When each arrival's connect() was called, and how long it then took; none: for ever.
    arrivals: Option<Vec<(u64, Option<u64>)>>,
    neighbours: Vec<NeighbourReport>,
    /// What was wrong.
    pub failure: Option<String>,
}

#[derive(Debug)]
struct NeighbourReport {
    received: Series,
    rtt: Vec<RttSample>,
}

impl Report {
    /// One that was counted elsewhere, of neighbours by what they received and their round trips.
    pub(crate) fn new(
        arrivals: Option<Vec<(u64, Option<u64>)>>,
        neighbours: impl Iterator<Item = (Series, Vec<RttSample>)>,
    ) -> Self {
        let neighbours = neighbours.map(|(received, rtt)| NeighbourReport { received, rtt });
        Self {
            arrivals,
            neighbours: neighbours.collect(),
            failure: None,
        }
    }
}

impl Running {
    /// Starts all of it, beside a transfer that began at `epoch`. What is due later waits for
    /// its time by itself.
    ///
    /// # Errors
    /// No ports or descriptors left, or the system refuses.
    pub fn start(
        bed: &TestBed,
        options: &CompareOptions,
        cell: &Cell,
        plan: &Plan,
        epoch: Instant,
    ) -> Result<Self> {
        let beside = &options.beside;
        let mut running = Self {
            arrivals: None,
            neighbours: Vec::new(),
            epoch,
        };
        for (number, neighbour) in beside.neighbours.iter().enumerate() {
            let port = plan.ports[number];
            let seed = cell.seed + NEIGHBOUR_SEED + number as u64;
            let started = start_neighbour(bed, options, neighbour, (port, seed), epoch)?;
            running.neighbours.push(started);
        }
        if let Some(rate) = beside.arrivals {
            let end = options.longest_cell();
            let drawn = Arrivals::draw(rate, beside.arrival_sizes, end, cell.seed);
            if !drawn.starts.is_empty() {
                running.arrivals = Some(start_arrivals(bed, options, cell, drawn, epoch)?);
            }
        }
        Ok(running)
    }

    /// Waits until every short transfer has arrived, but not for ever.
    ///
    /// # Errors
    /// The user interrupts.
    pub fn wait_for_arrivals(&self) -> Result<()> {
        let deadline = Instant::now() + GRACE;
        let is_open = |transfer: &RunningTransfer| !transfer.is_finished();
        while self.arrivals.as_ref().is_some_and(is_open) && Instant::now() < deadline {
            interrupt::check()?;
            thread::sleep(interrupt::POLL);
        }
        Ok(())
    }

    /// Ends it.
    ///
    /// # Errors
    /// A side of a transfer broke down.
    pub fn stop(self) -> Result<Report> {
        let mut failure = None;
        let mut neighbours = Vec::new();
        for (number, neighbour) in self.neighbours.into_iter().enumerate() {
            let (report, wrong) = stop_neighbour(neighbour, self.epoch)?;
            failure = failure.or(wrong.map(|wrong| format!("neighbour {number}: {wrong}")));
            neighbours.push(report);
        }
        let mut arrivals = None;
        if let Some(transfer) = self.arrivals {
            let later_ns = since(self.epoch, transfer.started());
            let report = transfer.stop()?;
            let wrong = report.flows.iter().filter(|flow| !flow.cut_off);
            let wrong = wrong.filter_map(|flow| flow.failure.as_ref()).next();
            failure = failure.or(wrong.map(|wrong| format!("arrivals: {wrong}")));
            arrivals = Some(times(&report, later_ns));
        }
        Ok(Report {
            arrivals,
            neighbours,
            failure,
        })
    }
}

/// When each began, and how long it took.
fn times(report: &TransferReport, later_ns: u64) -> Vec<(u64, Option<u64>)> {
    let opened = report
        .flows
        .iter()
        .filter(|flow| flow.opened_ns != u64::MAX);
    opened
        .map(|flow| (flow.opened_ns + later_ns, flow.completion_ns))
        .collect()
}

fn since(epoch: Instant, moment: Instant) -> u64 {
    moment.saturating_duration_since(epoch).as_nanos() as u64
}

fn start_arrivals(
    bed: &TestBed,
    options: &CompareOptions,
    cell: &Cell,
    drawn: Arrivals,
    epoch: Instant,
) -> Result<RunningTransfer> {
    let late = epoch.elapsed();
    let starts = drawn.starts.iter().map(|start| start.saturating_sub(late));
    options
        .transfer(cell, crate::transfer::Way::Down)
        .transfers(1)
        .seed(cell.seed + ARRIVAL_SEED)
        .starts(starts.collect())
        .sizes(drawn.sizes_bytes)
        .start(bed)
}

fn start_neighbour(
    bed: &TestBed,
    options: &CompareOptions,
    neighbour: &Neighbour,
    (port, seed): (Option<u16>, u64),
    epoch: Instant,
) -> Result<RunningNeighbour> {
    let family = options.traffic.family;
    let total = options.longest_cell();
    let start = Duration::from_nanos(neighbour.start_ns);
    let end = neighbour.end_ns.map_or(total, Duration::from_nanos);
    match &neighbour.kind {
        Kind::Tcp(cc) => {
            let late = epoch.elapsed();
            let transfer = Transfer::new()
                .cc(cc)
                .family(family)
                .seed(seed)
                .starts(vec![start.saturating_sub(late)])
                .end(end.saturating_sub(late));
            let transfer = match port {
                Some(port) => transfer.ports(port),
                None => transfer,
            };
            let started = transfer.start(bed)?;
            Ok(RunningNeighbour::Tcp(Box::new(started)))
        }
        Kind::Udp(rate_bps) => Flood {
            rate_bps: *rate_bps,
            family,
            seed,
            epoch,
            span: (start, end),
        }
        .start(bed)
        .map(RunningNeighbour::Udp),
    }
}

fn stop_neighbour(
    neighbour: RunningNeighbour,
    epoch: Instant,
) -> Result<(NeighbourReport, Option<String>)> {
    match neighbour {
        RunningNeighbour::Udp(flood) => {
            let wrong = Some(flood.wrong()).filter(|wrong| *wrong > 0);
            let report = NeighbourReport {
                received: flood.received(),
                rtt: Vec::new(),
            };
            Ok((
                report,
                wrong.map(|n| format!("{n} packets were not what was sent")),
            ))
        }
        RunningNeighbour::Tcp(transfer) => {
            let later_ns = since(epoch, transfer.started());
            let mut report = transfer.stop()?;
            for sample in &mut report.rtt {
                sample.at_ns += later_ns;
            }
            let failure = report.first_failure();
            let report = NeighbourReport {
                received: Series::of(&report.received, later_ns),
                rtt: report.rtt,
            };
            Ok((report, failure))
        }
    }
}

impl BesideFigures {
    /// Of the measured time `[from_ns, to_ns)` of the transfer `main`.
    pub fn new(
        options: &CompareOptions,
        beside: &Report,
        main: &TransferReport,
        (from_ns, to_ns): (u64, u64),
    ) -> Self {
        let mut figures = Self::default();
        if options.beside.arrivals.is_some() {
            figures.count_arrivals(beside.arrivals.iter().flatten(), (from_ns, to_ns));
        }
        let spans = options.beside.neighbours.iter().map(|neighbour| {
            let end_ns = neighbour.end_ns.unwrap_or(to_ns);
            (neighbour.start_ns.max(from_ns), end_ns.min(to_ns))
        });
        let spans: Vec<(u64, u64)> = spans.collect();
        if spans.is_empty() {
            return figures;
        }
        figures.add_neighbours(&beside.neighbours, &spans);
        let first_ns = spans
            .iter()
            .map(|(begin, _)| *begin)
            .min()
            .unwrap_or(from_ns);
        let last_ns = spans.iter().map(|(_, end)| *end).max().unwrap_or(to_ns);
        let received = Series::of(&main.received, 0);
        let goodput_mbit = received.mbit(first_ns, last_ns);
        figures.goodput_beside_mbit = goodput_mbit.map(|mbit| rounded(mbit, 3));
        let after = measure::rtt_percentiles_ms(&main.rtt, last_ns + SETTLING_NS, [95.0]);
        figures.rtt_p95_after_ms = after.map(|[p95]| rounded(p95, 3));
        figures
    }

    fn count_arrivals<'a>(
        &mut self,
        arrivals: impl Iterator<Item = &'a (u64, Option<u64>)>,
        (from_ns, to_ns): (u64, u64),
    ) {
        let measured = arrivals.filter(|(at_ns, _)| (from_ns..to_ns).contains(at_ns));
        // What never arrived took longer than all the rest.
        let mut took_ns: Vec<u64> = measured.map(|(_, took)| took.unwrap_or(u64::MAX)).collect();
        took_ns.sort_unstable();
        let ms = |percent: f64| {
            let ns = measure::percentile(&took_ns, percent)?;
            (ns < u64::MAX).then(|| rounded(ns as f64 / 1e6, 3))
        };
        self.arrivals = Some(took_ns.len());
        self.arrival_p50_ms = ms(50.0);
        self.arrival_p95_ms = ms(95.0);
    }

    fn add_neighbours(&mut self, neighbours: &[NeighbourReport], spans: &[(u64, u64)]) {
        let mut rates = Vec::new();
        let mut rtt = Vec::new();
        for (neighbour, (begin_ns, end_ns)) in neighbours.iter().zip(spans) {
            rates.push(neighbour.received.mbit(*begin_ns, *end_ns));
            let within = |sample: &&RttSample| (*begin_ns..*end_ns).contains(&sample.at_ns);
            rtt.extend(neighbour.rtt.iter().filter(within).copied());
        }
        let known: Vec<f64> = rates.iter().copied().flatten().collect();
        let sum = (!known.is_empty()).then(|| known.iter().sum::<f64>());
        self.neighbour_goodput_mbit = sum.map(|mbit| rounded(mbit, 3));
        let each = rates.iter().map(|rate| rate.map(|mbit| rounded(mbit, 3)));
        self.neighbour_goodputs_mbit = Some(each.collect());
        let p95 = measure::rtt_percentiles_ms(&rtt, 0, [95.0]);
        self.neighbour_rtt_p95_ms = p95.map(|[p95]| rounded(p95, 3));
    }
}

#[cfg(test)]
#[path = "beside_tests.rs"]
mod tests;
