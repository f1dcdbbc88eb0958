// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From what `lasthop-simulate` counted to the record of a cell.

use super::beside;
use super::raw::Raw;
use crate::base::stats::rounded;
use crate::bed::transfer::TransferReport;
use crate::cell::bounds::{self, Bounds, HostFigures};
use crate::cell::engine::Engine;
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
    let (link, traffic) = (&options.link, &options.traffic);
    let way = traffic.direction.way();
    let all_ns: Option<Vec<u64>> = raw.completion_ns.iter().copied().collect();
    let completions = all_ns.and_then(measure::mean_and_p95_ms);
    let span_ns = raw.measured_ns.max(1);
    let from_ns = traffic.bytes.map_or(traffic.warmup_ns, |_| 0);
    let bytes: u64 = raw.received_bytes.iter().sum();
    let goodput_mbit = mbit(bytes, span_ns);
    let flows = raw.received_bytes.iter().zip(&raw.completion_ns);
    let flow_rates: Vec<f64> = flows
        .map(|(bytes, own_ns)| mbit(*bytes, own_ns.unwrap_or(span_ns)))
        .collect();
    let bounds = bounds(options, way);
    let bound_mbit = bounds.total_bps / 1e6;
    let up = (traffic.direction == Direction::Both).then_some(Way::Up);
    let hosts = host_figures(options, raw, &bounds);
    let main = beside::main_flows(raw);
    let rtt = measure::rtt_percentiles_ms(&main.rtt, from_ns, [50.0, 95.0, 99.0]);
    let (parallel, nr_hosts) = (traffic.flows.into(), link.hosts.count());
    let host_rtt =
        |percent| bounds::rtt_by_host_ms(&main.rtt, from_ns, parallel, nr_hosts, percent);
    let counter = |name| raw.agent.as_ref()?.get(name).copied();
    Record {
        engine: Engine::Ns3,
        simulator: Some(raw.ns3.clone()),
        scheme: cell.scheme.clone(),
        cc: cell.cc.clone(),
        profile: link.profile,
        seed: cell.seed,
        hosts: nr_hosts,
        flows: parallel,
        transfers: traffic.transfers,
        rate_mbit: link.constant_rate_bps(way) as f64 / 1e6,
        sender: link.sender,
        rtt_ms: link.rtt_ns as f64 / 1e6,
        local_rtt_ms: link.local_rtt_ns as f64 / 1e6,
        loss_pct: rounded(100.0 * link.mean_random_loss(way), 6),
        queue_pkts: link.all_queue_packets(way),
        duration_s: rounded(span_ns as f64 / 1e9, 3),
        goodput_mbit: rounded(goodput_mbit, 3),
        flow_goodputs_mbit: flow_rates.iter().map(|rate| rounded(*rate, 3)).collect(),
        up_goodput_mbit: up.map(|_| rounded(mbit(raw.uploaded_bytes, span_ns), 3)),
        up_bound_mbit: up.map(|way| rounded(self::bounds(options, way).total_bps / 1e6, 3)),
        late_flow_share_s: late_flow_share_s(options, &main),
        bound_mbit: rounded(bound_mbit, 3),
        efficiency: rounded(measure::efficiency(goodput_mbit, bound_mbit), 4),
        host_goodput_mbit: hosts.goodput_mbit,
        host_bound_mbit: hosts.bound_mbit,
        host_efficiency: hosts.efficiency,
        host_rtt_p50_ms: host_rtt(50.0),
        host_rtt_p95_ms: host_rtt(95.0),
        sender_retransmits: raw.retransmits,
        sender_tail_probes: 0,
        sender_segments: raw.segments,
        sender_retransmit_share: measure::retransmit_share(raw.retransmits, 0, raw.segments)
            .map(|share| rounded(share, 6)),
        sender_timeouts: raw.timeouts,
        local_retransmits: counter("local_retransmits"),
        link_lost: raw.link_lost,
        queue_dropped: raw.queue_dropped,
        aqm_dropped: Some(raw.aqm_dropped),
        aqm_marked: Some(raw.aqm_marked),
        thinned_acks: None,
        suppressed_acks: counter("suppressed_acks"),
        rtt_p50_ms: rtt.map(|rtt| rtt[0]),
        rtt_p95_ms: rtt.map(|rtt| rtt[1]),
        rtt_p99_ms: rtt.map(|rtt| rtt[2]),
        jain: measure::jain(&flow_rates).map(|jain| rounded(jain, 4)),
        completion_ms: completions.map(|(mean, _)| rounded(mean, 3)),
        completion_p95_ms: completions.map(|(_, p95)| rounded(p95, 3)),
        outage_cwnd_before: None,
        outage_cwnd_least: None,
        outage_cwnd_left: None,
        outage_cwnd_kept: None,
        outage_pause_ms: None,
        outage_recovery_ms: None,
        page: Default::default(),
        beside: beside::figures(options, raw, &main, (from_ns, from_ns + span_ns)),
        agent_memory_bytes: raw.agent_memory_bytes,
        events: Some(raw.events),
        events_per_s: Some((raw.events as f64 / raw.cpu_s.max(1e-6)).round() as u64),
        bytes,
        content_ok,
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
    let full = FullSegment {
        frame_bytes: full.frame_bytes - ethernet_header_bytes + PPP_HEADER_BYTES,
        ..full
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

fn host_figures(options: &CompareOptions, raw: &Raw, bounds: &Bounds) -> HostFigures {
    let hosts = options.link.hosts.count();
    let own_ns = |host: usize| {
        let own = raw.completion_ns.iter().skip(host).step_by(hosts);
        own.copied()
            .collect::<Option<Vec<u64>>>()?
            .into_iter()
            .max()
    };
    let bytes = bounds::sums_by_host(&raw.received_bytes, hosts);
    let goodputs_bps = bytes.iter().enumerate().map(|(host, bytes)| {
        let time_ns = own_ns(host).unwrap_or(raw.measured_ns).max(1);
        *bytes as f64 * 8e9 / time_ns as f64
    });
    HostFigures::new(&goodputs_bps.collect::<Vec<_>>(), bounds)
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
