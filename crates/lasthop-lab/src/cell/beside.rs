// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--arrivals` and `--neighbour`: what goes over the link beside the flows that are measured, and
//! the figures of it.

use serde::{Deserialize, Serialize};

use super::measure;
use crate::base::stats::rounded;
use crate::bed::traffic::Series;
use crate::bed::transfer::{RttSample, TransferReport};
use crate::data::arrivals::{Rate, Sizes};
use crate::data::neighbour::Neighbour;

/// After the last neighbour left, the queue has that long to become short again.
const SETTLING_NS: u64 = 2_000_000_000;

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

/// What came of it. All times are since the beginning of the transfer beside which it was.
#[derive(Debug)]
pub struct Report {
    /// When each arrival's connect() was called, and how long it then took; none: for ever.
    pub arrivals: Option<Vec<(u64, Option<u64>)>>,
    /// Of each neighbour.
    pub neighbours: Vec<NeighbourReport>,
    /// What was wrong.
    pub failure: Option<String>,
}

/// What came of one neighbour.
#[derive(Debug)]
pub struct NeighbourReport {
    /// Bytes over time.
    pub received: Series,
    /// Round trips of a TCP neighbour.
    pub rtt: Vec<RttSample>,
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

impl BesideFigures {
    /// Of the measured time `[from_ns, to_ns)` of the transfer `main`.
    pub fn new(
        options: &BesideOptions,
        beside: &Report,
        main: &TransferReport,
        (from_ns, to_ns): (u64, u64),
    ) -> Self {
        let mut figures = Self::default();
        if options.arrivals.is_some() {
            figures.count_arrivals(beside.arrivals.iter().flatten(), (from_ns, to_ns));
        }
        let spans = options.neighbours.iter().map(|neighbour| {
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
