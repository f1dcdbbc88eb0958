// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A cell of `--page`: the same page again and again, and how long each load took.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linkemu::DirectionStats;

use super::energy;
use crate::base::interrupt;
use crate::base::stats::{median, rounded};
use crate::bed::counters::{Counters, kernel_counter};
use crate::bed::emulator;
use crate::bed::helper::Helper;
use crate::bed::page::{Client, Load, Page, Server, odd_connections};
use crate::bed::testbed::TestBed;
use crate::cell::cpu::CpuFigures;
use crate::cell::flows::Sent;
use crate::cell::measure;
use crate::cell::options::{Cell, CompareOptions};
use crate::cell::outcome::Outcome;
use crate::cell::page::PageFigures;
use crate::cell::record::Record;
use crate::data::host::Host;
use crate::data::sender::Sender;
use crate::data::way::Way;

/// Between two loads, beside a round trip: what the one before left on the way is gone then.
const PAUSE: Duration = Duration::from_millis(100);

/// Everything that a cell counted.
struct Measured {
    before: Counters,
    after: Counters,
    /// Segments that FH sent, and sent again, since it was made.
    segments: [(u64, u64); 2],
    loads: Vec<Load>,
}

/// Serves a page at FH and loads it at MH, as often as asked.
///
/// # Errors
/// nginx or curl cannot be run, the test bed or the agent breaks down, or the user interrupts.
pub fn run(
    bed: &TestBed,
    options: &CompareOptions,
    cell: &Cell,
    helper: &mut Helper,
    progress: &dyn Fn(f64),
) -> Result<Outcome> {
    let page = Page::new(&options.page, cell.seed);
    let family = options.traffic.family;
    let server = Server::start(bed, &page, &options.page, family, &cell.cc)?;
    let client = Client::new(bed, &page, &options.page, server.address())?;
    let before = Counters::read(bed, helper, Host::Fh)?;
    let sent = sent_segments(bed)?;
    let loads = load_all(options, &page, &client, progress)?;
    let measured = Measured {
        before,
        after: Counters::read(bed, helper, Host::Fh)?,
        segments: [sent, sent_segments(bed)?],
        loads,
    };
    server.stop()?;
    let mut notes = bed.notes().to_vec();
    notes.extend(emulator::distortion(&measured.after.emulators));
    let expected = options.page.connections_per_load();
    notes.extend(odd_connections(&measured.loads, expected.into()));
    let failed = |(number, load): (usize, &Load)| {
        let failure = load.failure.as_ref()?;
        Some(format!("load {number}: {failure}"))
    };
    Ok(Outcome {
        record: record(options, cell, &measured)?,
        failure: measured.loads.iter().enumerate().find_map(failed),
        notes,
    })
}

/// Loads it as often as asked, or until the deadline; what did not come to its turn has failed.
fn load_all(
    options: &CompareOptions,
    page: &Page,
    client: &Client,
    progress: &dyn Fn(f64),
) -> Result<Vec<Load>> {
    let deadline = Instant::now() + options.longest_cell();
    let pause = PAUSE + Duration::from_nanos(options.link.rtt_ns);
    let wanted = options.page.loads;
    let mut loads = Vec::new();
    for number in 0..wanted {
        interrupt::check()?;
        progress(f64::from(number) / f64::from(wanted));
        let patience = deadline.saturating_duration_since(Instant::now());
        loads.push(client.load(page, patience)?);
        thread::sleep(pause);
    }
    Ok(loads)
}

/// Segments that FH sent, those sent again among them, and those alone.
fn sent_segments(bed: &TestBed) -> Result<(u64, u64)> {
    let counter = |name| kernel_counter(bed.namespace(Host::Fh), "snmp", "Tcp", name);
    let again = counter("RetransSegs")?;
    Ok((counter("OutSegs")? + again, again))
}

fn record(options: &CompareOptions, cell: &Cell, measured: &Measured) -> Result<Record> {
    let Measured {
        before,
        after,
        segments: [(sent_before, again_before), (sent_after, again_after)],
        loads,
    } = measured;
    let (link, traffic) = (&options.link, &options.traffic);
    let growth = |name| {
        after
            .agent_growth(before, name)
            .with_context(|| format!("scheme {}", cell.scheme))
    };
    let full = link.full_segment(traffic.family, None);
    let loss = measure::mean_loss(link, full, Way::Down, None);
    let bound_bps = measure::bound_bps(link, full, Way::Down, loss);
    let bytes = loads.iter().map(|load| load.bytes).sum();
    let span_ns = loads.iter().filter_map(|load| load.elapsed_ns).sum();
    let growth_of = |way: Way, counter: fn(&DirectionStats) -> u64| {
        after.hop_growth(before, way.emulator_direction(), counter)
    };
    let hop = |counter| growth_of(Way::Down, counter);
    let record = Record {
        // Pages are for the first host, from beyond the wire.
        hosts: 1,
        sender: Sender::Fh,
        rtt_ms: link.rtt_ns as f64 / 1e6,
        loss_pct: rounded(100.0 * link.random_loss(Way::Down), 6),
        queue_pkts: link.queue_packets(),
        flows: options.page.connections().into(),
        transfers: options.page.loads.into(),
        local_retransmits: after.local_retransmits(before)?,
        link_lost: hop(|d| d.data_lost),
        queue_dropped: hop(|d| d.data_queue_dropped),
        aqm_dropped: Some(hop(|d| d.data_aqm_dropped)),
        aqm_marked: Some(hop(|d| d.aqm_marked_frames)),
        thinned_acks: Some(growth_of(Way::Up, |d| d.thinned_acks)),
        suppressed_acks: growth("suppressed_acks")?,
        page: figures(loads),
        cpu: CpuFigures::new(after.cpu.since(&before.cpu), bytes),
        content_ok: loads.iter().all(|load| load.failure.is_none()),
        ..Record::of(options, cell)
    };
    let sent = Sent {
        segments: sent_after - sent_before,
        retransmits: again_after - again_before,
        tail_probes: after.tail_probes - before.tail_probes,
        timeouts: after.timeouts - before.timeouts,
    };
    let mut record = record
        .with_goodput(bytes, span_ns, bound_bps)
        .with_sent(sent);
    record.energy = energy::figures(link, before, after, record.goodput_mbit);
    Ok(record)
}

fn figures(loads: &[Load]) -> PageFigures {
    let each_ms: Vec<Option<f64>> = loads
        .iter()
        .map(|load| load.elapsed_ns.map(|ns| ns as f64 / 1e6))
        .collect();
    let all_ms: Option<Vec<f64>> = each_ms.iter().copied().collect();
    let mut sorted_ms = all_ms.unwrap_or_default();
    sorted_ms.sort_unstable_by(f64::total_cmp);
    let shown = |ms: f64| rounded(ms, 1);
    PageFigures {
        page_ms: median(&sorted_ms).map(shown),
        page_p95_ms: measure::percentile(&sorted_ms, 95.0).map(shown),
        page_loads_ms: Some(each_ms.iter().map(|ms| ms.map(shown)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(ms: u64) -> Load {
        Load {
            elapsed_ns: Some(ms * 1_000_000),
            ..Load::default()
        }
    }

    #[test]
    fn figures_of_the_loads() {
        let figures = figures(&[40, 10, 20, 30].map(loaded));
        assert_eq!(figures.page_ms, Some(25.0));
        assert_eq!(figures.page_p95_ms, Some(40.0));
        let each = [40.0, 10.0, 20.0, 30.0].map(Some);
        assert_eq!(figures.page_loads_ms, Some(each.to_vec()));
    }

    #[test]
    fn a_page_that_never_came_has_no_time() {
        let failed = Load {
            failure: Some("cut off".into()),
            ..Load::default()
        };
        let figures = figures(&[loaded(10), failed, loaded(20)]);
        assert_eq!((figures.page_ms, figures.page_p95_ms), (None, None));
        let each = vec![Some(10.0), None, Some(20.0)];
        assert_eq!(figures.page_loads_ms, Some(each));
    }
}
