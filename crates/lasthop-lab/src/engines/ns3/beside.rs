// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--arrivals` and `--neighbour` in the simulator: its arguments, and the figures.

use anyhow::Result;
use tempfile::NamedTempFile;

use super::congestion;
use super::files::lines;
use super::raw::Raw;
use crate::bed::traffic::Series;
use crate::bed::transfer::{ReceivedSample, RttSample, TransferReport};
use crate::cell::beside::{BesideFigures, BesideOptions, Report};
use crate::cell::options::CompareOptions;
use crate::data::arrivals::Arrivals;
use crate::data::neighbour::{Kind, Neighbour};

/// The neighbours, if there are any: kind, start and end of each.
///
/// # Errors
/// ns-3 lacks a congestion control.
pub(super) fn neighbours(options: &CompareOptions) -> Result<Option<String>> {
    let total_ns = options.longest_cell().as_nanos() as u64;
    let word = |neighbour: &Neighbour| -> Result<String> {
        let kind = match &neighbour.kind {
            Kind::Tcp(cc) => congestion::type_id(cc)?,
            Kind::Udp(rate_bps) => format!("{rate_bps}bps"),
        };
        let end_ns = neighbour.end_ns.unwrap_or(total_ns).min(total_ns);
        Ok(format!("{kind},{}ns,{end_ns}ns", neighbour.start_ns))
    };
    let words: Vec<String> = options
        .beside
        .neighbours
        .iter()
        .map(word)
        .collect::<Result<_>>()?;
    Ok((!words.is_empty()).then(|| format!("--neighbours={}", words.join(","))))
}

/// A file with the transfers that arrive, those of the test bed with this seed; none without
/// `--arrivals`.
///
/// # Errors
/// No room for temporary files.
pub(super) fn arrivals(options: &CompareOptions, seed: u64) -> Result<Option<NamedTempFile>> {
    let beside = &options.beside;
    let Some(rate) = beside.arrivals else {
        return Ok(None);
    };
    let drawn = Arrivals::draw(rate, beside.arrival_sizes, options.longest_cell(), seed);
    let pairs = drawn.starts.iter().zip(&drawn.sizes_bytes);
    let line = pairs.map(|(start, bytes)| format!("{} {bytes}", start.as_nanos()));
    lines(line).map(Some)
}

/// What the flows that are measured have over time, up to the end of the measured time.
pub(super) fn main_flows(raw: &Raw) -> TransferReport {
    let received = raw.samples.iter().map(|sample| ReceivedSample {
        at_ns: sample.at_ns,
        bytes: sample.received_bytes.clone(),
    });
    let rtt = raw.samples.iter().flat_map(|sample| {
        let flows = sample.rtt_us.iter().copied().enumerate();
        flows.filter_map(|(flow, rtt_us)| rtt_sample(sample.at_ns, flow, rtt_us))
    });
    TransferReport {
        received: received.collect(),
        rtt: rtt.collect(),
        ..TransferReport::default()
    }
}

/// None where no round trip is known.
fn rtt_sample(at_ns: u64, connection: usize, rtt_us: u32) -> Option<RttSample> {
    (rtt_us > 0).then_some(RttSample {
        at_ns,
        connection,
        rtt_us,
    })
}

/// The figures of the measured time `[from_ns, to_ns)`.
pub(super) fn figures(
    options: &CompareOptions,
    raw: &Raw,
    main: &TransferReport,
    measured_ns: (u64, u64),
) -> BesideFigures {
    if options.beside == BesideOptions::default() {
        return BesideFigures::default();
    }
    let neighbours = (0..options.beside.neighbours.len()).map(|number| {
        let mut received = Series::default();
        for sample in &raw.samples {
            received.push(sample.at_ns, sample.neighbours_received_bytes[number]);
        }
        let rtt = raw.samples.iter().filter_map(|sample| {
            rtt_sample(sample.at_ns, number, sample.neighbours_rtt_us[number])
        });
        (received, rtt.collect())
    });
    let report = Report::new(raw.arrivals_ns.clone(), neighbours);
    BesideFigures::new(&options.beside, &report, main, measured_ns)
}
