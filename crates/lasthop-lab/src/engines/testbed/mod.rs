// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The engine "test bed": a fresh test bed for each cell, one transfer, one record.

mod beside;
mod energy;
mod events;
mod flent;
mod outage;
mod page;
pub mod samples;

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use linkemu::DirectionStats;

use self::events::Teller;
use crate::base::interrupt;
use crate::base::stats::rounded;
use crate::bed::agent;
use crate::bed::counters::Counters;
use crate::bed::helper::Helper;
use crate::bed::testbed::TestBed;
use crate::bed::transfer::{RunningTransfer, Snapshot, TransferReport, sockets};
use crate::bed::{self, emulator, process, proxy};
use crate::cell::beside::{BesideFigures, BesideOptions, Report};
use crate::cell::bounds::{self, Bounds};
use crate::cell::cpu::CpuFigures;
use crate::cell::flows::{MeasuredFlows, MeasuredUpload, Sent};
use crate::cell::measure;
use crate::cell::observed::ObservedFigures;
use crate::cell::options::{Cell, CompareOptions, Direction};
use crate::cell::outcome::Outcome;
use crate::cell::record::Record;
use crate::data::baseline::Baseline;
use crate::data::scheme;
use crate::data::way::Way;
use crate::engines::engine::{self, CellEngine};

/// With `--bytes`: a transfer that stands still for so long is cut off. Longer than the kernel's
/// longest retransmission timeout, after which it might still go on.
const STALL: Duration = Duration::from_secs(150);
const TICK: Duration = Duration::from_millis(5);

/// Both ends of the measured time.
struct Measured {
    before: Counters,
    begin: Snapshot,
    after: Counters,
    end: Snapshot,
    report: TransferReport,
    /// When the transfer began.
    began: SystemTime,
    /// The upload beside a download.
    upload: Option<Upload>,
    /// Arrivals and neighbours.
    beside: Option<Report>,
    /// Why the agent could not be told of an outage.
    untold: Vec<String>,
}

struct Upload {
    bytes: u64,
    report: TransferReport,
}

/// The test bed as an engine.
#[derive(Debug)]
pub struct TestBedEngine;

impl CellEngine for TestBedEngine {
    fn check_options(&self, options: &CompareOptions) -> Result<()> {
        if let Some(option) = options.engine.of_simulator() {
            return Err(engine::refusal(option, "testbed", "ns3"));
        }
        options.link.hosts.check_test_bed()
    }

    fn check_tools(&self, schemes: &[&str]) -> Result<()> {
        process::find_binary("linkemu")?;
        for scheme in schemes {
            match Baseline::named(scheme) {
                Some(baseline) => drop(proxy::find_program(baseline)?),
                None if scheme::has_agent(scheme) => drop(process::find_binary(agent::BINARY)?),
                None => {}
            }
        }
        Ok(())
    }

    fn check_machine(&self, options: &CompareOptions) -> Result<()> {
        for cc in options.cc.iter().chain(&options.traffic.flow_cc) {
            sockets::check_congestion_control(cc)?;
        }
        bed::page::check_tools(&options.page)?;
        beside::check_machine(&options.beside)?;
        let schemes: Vec<&str> = options.schemes.iter().map(String::as_str).collect();
        self.check_tools(&schemes)
    }

    fn run(
        &self,
        options: &CompareOptions,
        cell: &Cell,
        progress: &dyn Fn(f64),
    ) -> Result<Outcome> {
        run(options, cell, progress)
    }
}

fn run(options: &CompareOptions, cell: &Cell, progress: &dyn Fn(f64)) -> Result<Outcome> {
    let mut link = options.link.clone();
    link.seed = cell.seed;
    let bed = TestBed::up(&link)?;
    let plan = beside::Plan::new(&bed, &options.beside)?;
    let (config, excluded) = (options.agent_config.as_deref(), plan.agent_args());
    let mut helper = bed.start_helper(&cell.scheme, options.agents, config, &excluded)?;
    if options.page.page {
        let outcome = page::run(&bed, options, cell, &mut helper, progress)?;
        return take_down(bed, helper).map(|()| outcome);
    }
    let measured = measure_transfer(&bed, options, (cell, &plan), &mut helper, progress)?;
    let mut notes = bed.notes().to_vec();
    notes.extend(emulator::distortion(&measured.after.emulators));
    notes.extend_from_slice(&measured.untold);
    let record = record(options, cell, &measured)?;
    take_down(bed, helper)?;
    if let Some(path) = &options.watch.samples {
        samples::write(path, &measured.report.moments)?;
    }
    if let Some(path) = options.flent_file(cell) {
        let moments = &measured.report.moments;
        flent::write(&path, (options, cell), measured.began, moments)?;
    }
    let upload = measured.upload.as_ref();
    let up_failure = || {
        upload?
            .report
            .first_failure()
            .map(|f| format!("upload: {f}"))
    };
    let beside_failure = || measured.beside.as_ref()?.failure.clone();
    let failure = measured.report.first_failure();
    let failure = failure.or_else(up_failure).or_else(beside_failure);
    Ok(Outcome {
        record,
        failure,
        notes,
    })
}

fn take_down(bed: TestBed, helper: Helper) -> Result<()> {
    helper.stop()?;
    bed.down()
}

fn measure_transfer(
    bed: &TestBed,
    options: &CompareOptions,
    (cell, plan): (&Cell, &beside::Plan),
    helper: &mut Helper,
    progress: &dyn Fn(f64),
) -> Result<Measured> {
    let direction = options.traffic.direction;
    let sender = options.link.sender_host(direction.way());
    let whole = options.traffic.bytes.is_some();
    let mut before = Counters::read(bed, helper, sender)?;
    let running = options.watched_transfer(cell).start(bed)?;
    let began = SystemTime::now() - running.started().elapsed();
    let upload = match direction {
        Direction::Both => Some(options.transfer(cell, Way::Up).start(bed)?),
        Direction::Down | Direction::Up => None,
    };
    let beside = match options.beside == BesideOptions::default() {
        true => None,
        false => Some(beside::Running::start(
            bed,
            options,
            cell,
            plan,
            running.started(),
        )?),
    };
    let up_bytes = || upload.as_ref().map_or(0, RunningTransfer::received_bytes);
    let mut up_begin = 0;
    let teller = schedule_outage(bed, options, &running, !helper.agents().is_empty())?;
    let mut begin = Snapshot::default();
    if whole {
        wait_for_bytes(options, &running, progress)?;
    } else {
        let warmup = Duration::from_nanos(options.traffic.warmup_ns);
        let total = warmup + Duration::from_nanos(options.traffic.duration_ns);
        wait_until(&running, running.started() + warmup, total, progress)?;
        before = Counters::read(bed, helper, sender)?;
        begin = running.snapshot();
        up_begin = up_bytes();
        wait_until(&running, running.started() + total, total, progress)?;
    }
    let (after, end) = if whole {
        // The transfer's own end first: reading the other counters takes time that is none of its.
        let end = running.snapshot();
        (Counters::read(bed, helper, sender)?, end)
    } else {
        // In the order of the beginning, so that both spans are equally long.
        let after = Counters::read(bed, helper, sender)?;
        (after, running.snapshot())
    };
    let untold = teller.map_or_else(Vec::new, Teller::stop);
    let bytes = up_bytes() - up_begin;
    if let Some(beside) = &beside {
        beside.wait_for_arrivals()?;
    }
    let upload = upload.map(RunningTransfer::stop).transpose()?;
    let mut report = running.stop()?;
    // It may have gone on for the sake of what is beside it.
    report.rtt.retain(|sample| sample.at_ns <= end.at_ns);
    report.received.retain(|sample| sample.at_ns <= end.at_ns);
    Ok(Measured {
        before,
        begin,
        after,
        end,
        report,
        began,
        upload: upload.map(|report| Upload { bytes, report }),
        beside: beside.map(beside::Running::stop).transpose()?,
        untold,
    })
}

/// Schedules the outages, if any, and with `--outage-events` who tells the agent of them.
fn schedule_outage(
    bed: &TestBed,
    options: &CompareOptions,
    running: &RunningTransfer,
    has_agent: bool,
) -> Result<Option<Teller>> {
    let Some(outage) = options.link.outage else {
        return Ok(None);
    };
    let (zero, horizon) = (running.started(), options.longest_cell());
    bed.schedule_outage(outage, zero, horizon)?;
    if !(options.watch.outage_events && has_agent) {
        return Ok(None);
    }
    let ends = options.agents.ends(bed.topology()).into_iter();
    let agents = ends
        .map(|end| end.place)
        .map(|at| Ok((bed.station(&at.host)?.clone(), at.device)));
    let tell = events::tell_agents(agents.collect::<Result<_>>()?);
    Teller::start(outage, zero, horizon, tell).map(Some)
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
    let transfers = u64::from(traffic.flows) * u64::from(traffic.transfers);
    let total = traffic.bytes.unwrap_or(0) * transfers;
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
        upload,
        beside,
        ..
    } = measured;
    let (link, traffic) = (&options.link, &options.traffic);
    let completion_ns = traffic.bytes.and_then(|_| report.completion_ns());
    let span_ns = completion_ns.unwrap_or(end.at_ns - begin.at_ns);
    if span_ns == 0 {
        bail!("nothing was measured");
    }
    let window_ns = traffic.bytes.is_none().then_some((begin.at_ns, end.at_ns));
    let way = traffic.direction.way();
    let full = link.full_segment(traffic.family, traffic.mss_bytes);
    let bounds = |way| Bounds::new(link, full, way, window_ns, traffic.flows.into());
    let own_ns = report.flows.iter().filter_map(|f| f.completion_ns);
    let flows = MeasuredFlows {
        from_ns: begin.at_ns,
        span_ns,
        bytes: end.total_bytes() - begin.total_bytes(),
        rates_mbit: flow_rates_mbit(measured, span_ns),
        host_goodputs_bps: host_goodputs_bps(options, measured, span_ns),
        bounds: bounds(way),
        rtt: &report.rtt,
        completions_ns: completion_ns.map(|_| own_ns.collect()),
        sent: Sent {
            segments: end.total_data_segments() - begin.total_data_segments(),
            retransmits: end.total_retransmits() - begin.total_retransmits(),
            tail_probes: after.tail_probes - before.tail_probes,
            timeouts: after.timeouts - before.timeouts,
        },
        upload: upload.as_ref().map(|up| MeasuredUpload {
            bytes: up.bytes,
            bound_bps: bounds(Way::Up).total_bps,
        }),
    };
    let growth_of = |way: Way, counter: fn(&DirectionStats) -> u64| {
        after.hop_growth(before, way.emulator_direction(), counter)
    };
    let hop = |counter| growth_of(way, counter);
    let growth = |name| {
        after
            .agent_growth(before, name)
            .with_context(|| format!("scheme {}", cell.scheme))
    };
    // An outage may begin with the measured time, of which the counters are read a bit later.
    let from_ns = traffic.bytes.map_or(traffic.warmup_ns, |_| 0);
    let measured_ns = (from_ns, end.at_ns);
    let one_connection = report.flows.len() == 1;
    let outage = outage::figures(&report.moments, link, measured_ns, one_connection);
    let ms = |ns: u64| rounded(ns as f64 / 1e6, 3);
    let up_is_right = upload.as_ref().is_none_or(|up| up.report.content_ok());
    let beside_is_right = beside.as_ref().is_none_or(|b| b.failure.is_none());
    let counted = flows.record(options, cell);
    Ok(Record {
        cpu: cpu_figures(measured),
        energy: energy::figures(link, before, after, counted.goodput_mbit),
        late_flow_share_s: late_flow_share_s(options, report).map(|s| rounded(s, 3)),
        local_retransmits: after.local_retransmits(before)?,
        link_lost: hop(|d| d.data_lost),
        queue_dropped: hop(|d| d.data_queue_dropped),
        aqm_dropped: Some(hop(|d| d.data_aqm_dropped)),
        aqm_marked: Some(hop(|d| d.aqm_marked_frames)),
        thinned_acks: Some(growth_of(Way::Up, |d| d.thinned_acks)),
        suppressed_acks: growth("suppressed_acks")?,
        observed: ObservedFigures::new(&before.observed, &after.observed),
        outage_cwnd_before: outage.cwnd_before,
        outage_cwnd_least: outage.cwnd_least,
        outage_cwnd_left: outage.cwnd_left,
        outage_cwnd_kept: outage.cwnd_kept().map(|kept| rounded(kept, 3)),
        outage_pause_ms: outage.pause_ns.map(ms),
        outage_recovery_ms: outage.recovery_ns.map(ms),
        beside: beside_figures(options, measured, measured_ns),
        content_ok: report.content_ok() && up_is_right && beside_is_right,
        ..counted
    })
}

fn cpu_figures(measured: &Measured) -> CpuFigures {
    let up_bytes = measured.upload.as_ref().map_or(0, |up| up.bytes);
    let bytes = measured.end.total_bytes() - measured.begin.total_bytes() + up_bytes;
    CpuFigures::new(measured.after.cpu.since(&measured.before.cpu), bytes)
}

fn beside_figures(
    options: &CompareOptions,
    measured: &Measured,
    measured_ns: (u64, u64),
) -> BesideFigures {
    let beside = measured.beside.as_ref();
    beside.map_or_else(BesideFigures::default, |beside| {
        BesideFigures::new(&options.beside, beside, &measured.report, measured_ns)
    })
}

/// Each flow's goodput: bytes in the measured time, or per own completion time.
fn flow_rates_mbit(measured: &Measured, span_ns: u64) -> Vec<f64> {
    let received = measured.end.received_bytes.iter().enumerate();
    received
        .map(|(flow, end)| {
            let begun = measured.begin.received_bytes.get(flow).copied();
            let own_ns = measured.report.flow_completion_ns(flow).unwrap_or(span_ns);
            (end - begun.unwrap_or(0)) as f64 * 8000.0 / own_ns.max(1) as f64
        })
        .collect()
}

/// What each host got in the measured time; with `--bytes` in its own.
fn host_goodputs_bps(options: &CompareOptions, measured: &Measured, span_ns: u64) -> Vec<f64> {
    let hosts = options.link.hosts.count();
    let received = |snapshot: &Snapshot| bounds::sums_by_host(&snapshot.received_bytes, hosts);
    let (begin, end) = (received(&measured.begin), received(&measured.end));
    let own_ns = |host| match options.traffic.bytes {
        Some(_) => measured.report.host_completion_ns(host, hosts),
        None => None,
    };
    let pairs = begin.iter().zip(&end).enumerate();
    pairs
        .map(|(host, (begin, end))| {
            let time_ns = own_ns(host).unwrap_or(span_ns).max(1);
            (end - begin) as f64 * 8e9 / time_ns as f64
        })
        .collect()
}

fn late_flow_share_s(options: &CompareOptions, report: &TransferReport) -> Option<f64> {
    let traffic = &options.traffic;
    if traffic.start_gap_ns == 0 || traffic.flows < 2 {
        return None;
    }
    let last = report.chain(report.parallel - 1).next()?;
    let share_ns = measure::late_flow_share_ns(&report.received, last.opened_ns)?;
    Some(share_ns as f64 / 1e9)
}
