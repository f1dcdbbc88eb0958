// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One cell: a fresh test bed, one transfer, one record.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::options::{Cell, CompareOptions, NO_AGENT};
use super::record::{Record, rounded};
use crate::agent::{self, AgentHandle};
use crate::emulator;
use crate::interrupt;
use crate::measure::{self, Counters};
use crate::testbed::TestBed;
use crate::transfer::{RunningTransfer, Snapshot, TransferReport};

/// With `--bytes`: a transfer that stands still for so long is cut off. Longer than the kernel's
/// longest retransmission timeout, after which it might still go on.
const STALL: Duration = Duration::from_secs(150);
const TICK: Duration = Duration::from_millis(5);

/// What a cell came to.
#[derive(Debug)]
pub struct Outcome {
    /// Its figures.
    pub record: Record,
    /// Why content is wrong or missing.
    pub failure: Option<String>,
    /// Things that cast doubt on the figures, or that should be known.
    pub notes: Vec<String>,
}

/// Both ends of the measured time.
struct Measured {
    before: Counters,
    begin: Snapshot,
    after: Counters,
    end: Snapshot,
    report: TransferReport,
}

/// Runs one cell. `progress` is told the share that is done.
///
/// # Errors
/// The test bed or the agent cannot be set up or break down, or the user interrupts. Wrong or
/// missing content is no error but part of the outcome.
pub fn run(options: &CompareOptions, cell: &Cell, progress: &dyn Fn(f64)) -> Result<Outcome> {
    let mut link = options.link.clone();
    link.seed = cell.seed;
    let bed = TestBed::up(&link)?;
    let mut agent = start_agent(&bed, options, &cell.scheme)?;
    let measured = measure_transfer(&bed, options, cell, &mut agent, progress)?;
    let mut notes = bed.notes().to_vec();
    notes.extend(emulator::distortion(&measured.after.emulators));
    let record = record(options, cell, &measured)?;
    if let Some(agent) = agent {
        agent.stop()?;
    }
    bed.down()?;
    let failure = measured.report.first_failure();
    Ok(Outcome {
        record,
        failure,
        notes,
    })
}

fn start_agent(
    bed: &TestBed,
    options: &CompareOptions,
    scheme: &str,
) -> Result<Option<AgentHandle>> {
    if scheme == NO_AGENT {
        return Ok(None);
    }
    let args = agent::config_args(options.agent_config.as_deref());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    bed.start_agent(scheme, &args).map(Some)
}

fn measure_transfer(
    bed: &TestBed,
    options: &CompareOptions,
    cell: &Cell,
    agent: &mut Option<AgentHandle>,
    progress: &dyn Fn(f64),
) -> Result<Measured> {
    let sender = options.traffic.direction.sender();
    let whole = options.traffic.bytes.is_some();
    let mut before = Counters::read(bed, agent.as_mut(), sender)?;
    let running = options.transfer(cell).start(bed)?;
    if let Some(outage) = options.link.outage {
        bed.schedule_outage(outage, running.started(), options.longest_cell())?;
    }
    let mut begin = Snapshot::default();
    if whole {
        wait_for_bytes(options, &running, progress)?;
    } else {
        let warmup = Duration::from_nanos(options.traffic.warmup_ns);
        let total = warmup + Duration::from_nanos(options.traffic.duration_ns);
        wait_until(&running, running.started() + warmup, total, progress)?;
        before = Counters::read(bed, agent.as_mut(), sender)?;
        begin = running.snapshot();
        wait_until(&running, running.started() + total, total, progress)?;
    }
    let (after, end) = if whole {
        // The transfer's own end first: reading the other counters takes time that is none of its.
        let end = running.snapshot();
        (Counters::read(bed, agent.as_mut(), sender)?, end)
    } else {
        // In the order of the beginning, so that both spans are equally long.
        let after = Counters::read(bed, agent.as_mut(), sender)?;
        (after, running.snapshot())
    };
    Ok(Measured {
        before,
        begin,
        after,
        end,
        report: running.stop()?,
    })
}

/// Waits until `deadline`, or until all flows have failed: then there is nothing to wait for.
fn wait_until(
    running: &RunningTransfer,
    deadline: Instant,
    total: Duration,
    progress: &dyn Fn(f64),
) -> Result<()> {
    while Instant::now() < deadline && !running.is_finished() {
        interrupt::check()?;
        let left = deadline.saturating_duration_since(Instant::now());
        thread::sleep(left.min(interrupt::POLL));
        progress(running.started().elapsed().as_secs_f64() / total.as_secs_f64());
    }
    Ok(())
}

fn wait_for_bytes(
    options: &CompareOptions,
    running: &RunningTransfer,
    progress: &dyn Fn(f64),
) -> Result<()> {
    let traffic = &options.traffic;
    let total = traffic.bytes.unwrap_or(0) * u64::from(traffic.flows);
    let deadline = running.started() + Duration::from_nanos(traffic.deadline_ns);
    let (mut seen, mut last_progress) = (0, Instant::now());
    while !running.is_finished() && Instant::now() < deadline {
        interrupt::check()?;
        let received = running.received_bytes();
        if received != seen {
            (seen, last_progress) = (received, Instant::now());
            progress(received as f64 / total as f64);
        }
        if last_progress.elapsed() > STALL {
            break;
        }
        thread::sleep(TICK);
    }
    Ok(())
}

fn record(options: &CompareOptions, cell: &Cell, measured: &Measured) -> Result<Record> {
    let Measured {
        before,
        begin,
        after,
        end,
        report,
    } = measured;
    let (link, traffic) = (&options.link, &options.traffic);
    let completion_ns = traffic.bytes.and_then(|_| report.completion_ns());
    let span_ns = completion_ns.unwrap_or(end.at_ns - begin.at_ns);
    if span_ns == 0 {
        bail!("nothing was measured");
    }
    let bytes = end.total_bytes() - begin.total_bytes();
    let goodput_mbit = bytes as f64 * 8000.0 / span_ns as f64;
    let window_ns = traffic.bytes.is_none().then_some((begin.at_ns, end.at_ns));
    let mean_loss = measure::mean_loss(link, traffic.direction, window_ns);
    let bound_mbit = measure::bound_bps(link, traffic.family, traffic.direction, mean_loss) / 1e6;
    let direction = traffic.direction.emulator_direction();
    let hop = |counters: &Counters| match direction {
        linkemu::Direction::AToB => counters.emulators.air.a_to_b,
        linkemu::Direction::BToA => counters.emulators.air.b_to_a,
    };
    let (hop_before, hop_after) = (hop(before), hop(after));
    let rtt = measure::rtt_percentiles_ms(&report.rtt, begin.at_ns, [50.0, 95.0, 99.0]);
    let rtt = |index: usize| rtt.map(|ms| rounded(ms[index], 3));
    let growth = |name| {
        after
            .agent_growth(before, name)
            .with_context(|| format!("scheme {}", cell.scheme))
    };
    Ok(Record {
        scheme: cell.scheme.clone(),
        cc: cell.cc.clone(),
        profile: link.profile,
        seed: cell.seed,
        flows: traffic.flows.into(),
        rate_mbit: link.nominal_rate_bps() as f64 / 1e6,
        rtt_ms: link.rtt_ns as f64 / 1e6,
        local_rtt_ms: link.local_rtt_ns as f64 / 1e6,
        loss_pct: rounded(100.0 * traffic.direction.random_loss(link), 6),
        queue_pkts: link.queue_packets(),
        duration_s: rounded(span_ns as f64 / 1e9, 3),
        goodput_mbit: rounded(goodput_mbit, 3),
        bound_mbit: rounded(bound_mbit, 3),
        efficiency: rounded(goodput_mbit / bound_mbit, 4),
        sender_retransmits: end.total_retransmits() - begin.total_retransmits(),
        sender_tail_probes: after.tail_probes - before.tail_probes,
        local_retransmits: growth("local_retransmits")?,
        link_lost: hop_after.data_lost - hop_before.data_lost,
        queue_dropped: hop_after.data_queue_dropped - hop_before.data_queue_dropped,
        suppressed_acks: growth("suppressed_acks")?,
        rtt_p50_ms: rtt(0),
        rtt_p95_ms: rtt(1),
        rtt_p99_ms: rtt(2),
        jain: measure::jain(&flow_rates(measured)).map(|jain| rounded(jain, 4)),
        completion_ms: completion_ns.map(|ns| rounded(ns as f64 / 1e6, 3)),
        bytes,
        content_ok: report.content_ok(),
    })
}

/// Each flow's share of the goodput: bytes in the measured time, or per own completion time.
fn flow_rates(measured: &Measured) -> Vec<f64> {
    let flows = measured.report.flows.iter().enumerate();
    flows
        .map(|(index, flow)| {
            let begun = measured
                .begin
                .received_bytes
                .get(index)
                .copied()
                .unwrap_or(0);
            let bytes = (measured.end.received_bytes[index] - begun) as f64;
            match flow.completion_ns {
                Some(own_ns) => bytes / own_ns.max(1) as f64,
                None => bytes,
            }
        })
        .collect()
}
