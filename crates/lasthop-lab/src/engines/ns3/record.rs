// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From what `lasthop-simulate` counted to the record of a cell.

use super::beside;
use super::raw::{Raw, RawRadio};
use crate::base::stats::rounded;
use crate::bed::transfer::TransferReport;
use crate::cell::bounds::{self, Bounds};
use crate::cell::energy::EnergyFigures;
use crate::cell::flows::{MeasuredFlows, MeasuredUpload, Sent};
use crate::cell::measure;
use crate::cell::options::{Cell, CompareOptions, Direction};
use crate::cell::outcome::Outcome;
use crate::cell::record::Record;
use crate::data::segment::{FULL_FRAME_BYTES, FullSegment};
use crate::data::topology::MTU_BYTES;
use crate::data::way::Way;

/// Before an IP packet on the simulated hop.
const PPP_HEADER_BYTES: u64 = 2;

pub(super) fn outcome(options: &CompareOptions, cell: &Cell, raw: &Raw) -> Outcome {
    let complete = options.traffic.bytes.is_none() || raw.completion_ns.iter().all(Option::is_some);
    let failure = match (raw.content_ok, raw.failed, complete) {
        (false, _, _) => Some("a receiver got a byte that was not sent there".to_owned()),
        (true, 0, true) => None,
        (true, 0, false) => Some("not all bytes arrived before the deadline".to_owned()),
        (true, failed, _) => Some(format!("{failed} connections were given up by TCP")),
    };
    Outcome {
        record: record(options, cell, raw, failure.is_none()),
        failure,
        notes: Vec::new(),
    }
}

fn record(options: &CompareOptions, cell: &Cell, raw: &Raw, content_ok: bool) -> Record {
    let traffic = &options.traffic;
    let span_ns = raw.measured_ns.max(1);
    let from_ns = traffic.bytes.map_or(traffic.warmup_ns, |_| 0);
    let of_flows = raw.received_bytes.iter().zip(&raw.completion_ns);
    let rates = of_flows.map(|(bytes, own_ns)| mbit(*bytes, own_ns.unwrap_or(span_ns)));
    let way_bounds = bounds(options, traffic.direction.way());
    let main = beside::main_flows(raw);
    let flows = MeasuredFlows {
        from_ns,
        span_ns,
        bytes: raw.received_bytes.iter().sum(),
        rates_mbit: rates.collect(),
        host_goodputs_bps: host_goodputs_bps(options, raw),
        bounds: way_bounds,
        rtt: &main.rtt,
        completions_ns: raw.completion_ns.iter().copied().collect(),
        sent: Sent {
            segments: raw.segments,
            retransmits: raw.retransmits,
            tail_probes: 0,
            timeouts: raw.timeouts,
        },
        upload: (traffic.direction == Direction::Both).then(|| MeasuredUpload {
            bytes: raw.uploaded_bytes,
            bound_bps: bounds(options, Way::Up).total_bps,
        }),
    };
    let counted = flows.record(options, cell);
    let energy_of = |radios: &[RawRadio; 2]| {
        let energy_uj = [radios[0].energy_uj, radios[1].energy_uj];
        EnergyFigures::new(energy_uj, counted.goodput_mbit)
    };
    let energy = raw.radios.as_ref().map(energy_of).unwrap_or_default();
    let counter = |name| raw.agent.as_ref()?.get(name).copied();
    Record {
        simulator: Some(raw.ns3.clone()),
        late_flow_share_s: late_flow_share_s(options, &main),
        local_retransmits: counter("local_retransmits"),
        link_lost: lost(options, raw),
        queue_dropped: raw.queue_dropped,
        aqm_dropped: Some(raw.aqm_dropped),
        aqm_marked: Some(raw.aqm_marked),
        suppressed_acks: counter("suppressed_acks"),
        beside: beside::figures(options, raw, &main, (from_ns, from_ns + span_ns)),
        energy,
        agent_memory_bytes: raw.agent_memory_bytes,
        events: Some(raw.events),
        events_per_s: Some((raw.events as f64 / raw.cpu_s.max(1e-6)).round() as u64),
        content_ok,
        ..counted
    }
}

/// What the hop lost: on a medium what was left to TCP after the last attempt, as on the test bed.
fn lost(options: &CompareOptions, raw: &Raw) -> u64 {
    match (&raw.radios, options.traffic.direction.way()) {
        (Some([base, _]), Way::Down) => base.given_up,
        (Some([_, mobile]), Way::Up) => mobile.given_up,
        (None, _) => raw.link_lost,
    }
}

fn mbit(bytes: u64, time_ns: u64) -> f64 {
    bytes as f64 * 8000.0 / time_ns.max(1) as f64
}

/// As on the test bed, with the frames of the simulated hop, and what its models lose.
fn bounds(options: &CompareOptions, way: Way) -> Bounds {
    let (link, traffic) = (&options.link, &options.traffic);
    let full = link.full_segment(traffic.family, traffic.mss_bytes);
    let ethernet_header_bytes = FULL_FRAME_BYTES - u64::from(MTU_BYTES);
    let full = match &link.mac {
        // What a medium carries is told in Ethernet frames.
        Some(_) => full,
        None => FullSegment {
            frame_bytes: full.frame_bytes - ethernet_header_bytes + PPP_HEADER_BYTES,
            ..full
        },
    };
    let model_loss = match way {
        Way::Down => options.engine.mean_loss(),
        Way::Up => 0.0,
    };
    let (hosts, flows) = (link.hosts.count(), traffic.flows.into());
    if link.hosts.have_links() {
        let mut bounds = Bounds::new(link, full, way, None, flows);
        bounds.total_bps *= 1.0 - model_loss;
        for host_bps in &mut bounds.hosts_bps {
            *host_bps *= 1.0 - model_loss;
        }
        return bounds;
    }
    let random = measure::mean_loss(link, full, way, None);
    let loss = 1.0 - (1.0 - random) * (1.0 - model_loss);
    Bounds::shared(measure::bound_bps(link, full, way, loss), hosts, flows)
}

/// What each host got in the measured time; with `--bytes` in its own.
fn host_goodputs_bps(options: &CompareOptions, raw: &Raw) -> Vec<f64> {
    let hosts = options.link.hosts.count();
    let own_ns = |host: usize| {
        let own = raw.completion_ns.iter().skip(host).step_by(hosts);
        own.copied()
            .collect::<Option<Vec<u64>>>()?
            .into_iter()
            .max()
    };
    let bytes = bounds::sums_by_host(&raw.received_bytes, hosts);
    let goodput_bps = |(host, bytes): (usize, &u64)| {
        let time_ns = own_ns(host).unwrap_or(raw.measured_ns).max(1);
        *bytes as f64 * 8e9 / time_ns as f64
    };
    bytes.iter().enumerate().map(goodput_bps).collect()
}

fn late_flow_share_s(options: &CompareOptions, main: &TransferReport) -> Option<f64> {
    let traffic = &options.traffic;
    if traffic.start_gap_ns == 0 || traffic.flows < 2 {
        return None;
    }
    let opened_ns = traffic.start_gap_ns * u64::from(traffic.flows - 1);
    let share_ns = measure::late_flow_share_ns(&main.received, opened_ns)?;
    Some(rounded(share_ns as f64 / 1e9, 3))
}
