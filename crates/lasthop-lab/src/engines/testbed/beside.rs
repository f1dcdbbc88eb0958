// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--arrivals` and `--neighbour`: what goes over the link beside the flows that are measured.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::base::interrupt;
use crate::bed::testbed::TestBed;
use crate::bed::traffic::{Flood, RunningFlood, Series};
use crate::bed::transfer::{RunningTransfer, Transfer, TransferReport, sockets};
use crate::cell::beside::{BesideOptions, NeighbourReport, Report};
use crate::cell::options::{Cell, CompareOptions};
use crate::data::arrivals::Arrivals;
use crate::data::neighbour::{Kind, Neighbour};

/// What has begun within the measured time and not arrived so long after it counts as never: the
/// flows that are measured go on until then.
const GRACE: Duration = Duration::from_secs(20);
/// Seeds of content that no measured flow has.
const NEIGHBOUR_SEED: u64 = 1 << 40;
const ARRIVAL_SEED: u64 = 1 << 41;

/// Finds out what this machine lacks.
///
/// # Errors
/// A congestion control.
pub fn check_machine(options: &BesideOptions) -> Result<()> {
    options.neighbours.iter().try_for_each(|n| match &n.kind {
        Kind::Tcp(cc) => sockets::check_congestion_control(cc),
        Kind::Udp(_) => Ok(()),
    })
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
        .transfer(cell, crate::data::way::Way::Down)
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

#[cfg(test)]
#[path = "beside_tests.rs"]
mod tests;
