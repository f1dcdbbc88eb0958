// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The figures that follow from what the flows of a cell did, whichever engine counted it.

use super::bounds::{self, Bounds, HostFigures};
use super::measure;
use super::options::{Cell, CompareOptions};
use super::record::Record;
use crate::base::stats::rounded;
use crate::bed::transfer::RttSample;

/// What an engine has counted of the flows within the measured time.
#[derive(Debug)]
pub struct MeasuredFlows<'a> {
    /// When the measured time began, since the transfer did.
    pub from_ns: u64,
    /// How long it was.
    pub span_ns: u64,
    /// Read by the receiving applications.
    pub bytes: u64,
    /// Goodput of each flow.
    pub rates_mbit: Vec<f64>,
    /// Goodput of each host.
    pub host_goodputs_bps: Vec<f64>,
    /// The most that there could be.
    pub bounds: Bounds,
    /// Round trips over the whole transfer.
    pub rtt: &'a [RttSample],
    /// What each connection took; none if one never ended.
    pub completions_ns: Option<Vec<u64>>,
    /// What the senders did.
    pub sent: Sent,
    /// The upload beside the download.
    pub upload: Option<MeasuredUpload>,
}

/// What the senders did within the measured time.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Segments with data.
    pub segments: u64,
    /// Of these, sent again.
    pub retransmits: u64,
    /// Of these, tail loss probes.
    pub tail_probes: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// An upload beside the download that is measured.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredUpload {
    /// Read by the receiving applications.
    pub bytes: u64,
    /// The most that there could be.
    pub bound_bps: f64,
}

impl MeasuredFlows<'_> {
    /// The record, but for what only one engine knows.
    pub fn record(&self, options: &CompareOptions, cell: &Cell) -> Record {
        let (flows, hosts) = (options.traffic.flows.into(), options.link.hosts.count());
        let mbit = |bytes: u64| bytes as f64 * 8000.0 / self.span_ns as f64;
        let rtt = measure::rtt_percentiles_ms(self.rtt, self.from_ns, [50.0, 95.0, 99.0]);
        let rtt = |index: usize| rtt.map(|ms| rounded(ms[index], 3));
        let host_rtt =
            |percent| bounds::rtt_by_host_ms(self.rtt, self.from_ns, flows, hosts, percent);
        let of_hosts = HostFigures::new(&self.host_goodputs_bps, &self.bounds);
        let completions = self.completions_ns.clone();
        let completions = completions.and_then(measure::mean_and_p95_ms);
        let up = self.upload;
        Record {
            flow_goodputs_mbit: self
                .rates_mbit
                .iter()
                .map(|rate| rounded(*rate, 3))
                .collect(),
            up_goodput_mbit: up.map(|up| rounded(mbit(up.bytes), 3)),
            up_bound_mbit: up.map(|up| rounded(up.bound_bps / 1e6, 3)),
            host_goodput_mbit: of_hosts.goodput_mbit,
            host_bound_mbit: of_hosts.bound_mbit,
            host_efficiency: of_hosts.efficiency,
            host_rtt_p50_ms: host_rtt(50.0),
            host_rtt_p95_ms: host_rtt(95.0),
            rtt_p50_ms: rtt(0),
            rtt_p95_ms: rtt(1),
            rtt_p99_ms: rtt(2),
            jain: measure::jain(&self.rates_mbit).map(|jain| rounded(jain, 4)),
            completion_ms: completions.map(|(mean, _)| rounded(mean, 3)),
            completion_p95_ms: completions.map(|(_, p95)| rounded(p95, 3)),
            ..Record::of(options, cell)
        }
        .with_goodput(self.bytes, self.span_ns, self.bounds.total_bps)
        .with_sent(self.sent)
    }
}

impl Record {
    /// What is known before anything is measured.
    pub fn of(options: &CompareOptions, cell: &Cell) -> Self {
        let (link, traffic) = (&options.link, &options.traffic);
        let way = traffic.direction.way();
        Self {
            engine: options.engine.engine,
            scheme: cell.scheme.clone(),
            cc: cell.cc.clone(),
            profile: link.profile,
            seed: cell.seed,
            hosts: link.hosts.count(),
            hops: link.hops,
            flows: traffic.flows.into(),
            transfers: traffic.transfers,
            rate_mbit: link.mean_rate_bps(way) as f64 / 1e6,
            sender: link.sender,
            rtt_ms: link.path_rtt_ns() as f64 / 1e6,
            local_rtt_ms: link.local_rtt_ns as f64 / 1e6,
            loss_pct: rounded(100.0 * link.mean_random_loss(way), 6),
            queue_pkts: link.all_queue_packets(way),
            ..Self::default()
        }
    }

    /// With so many bytes read in that time, of so much that there could be; none in no time.
    #[must_use]
    pub fn with_goodput(self, bytes: u64, span_ns: u64, bound_bps: f64) -> Self {
        let goodput_mbit = match span_ns {
            0 => 0.0,
            _ => bytes as f64 * 8000.0 / span_ns as f64,
        };
        let bound_mbit = bound_bps / 1e6;
        Self {
            bytes,
            duration_s: rounded(span_ns as f64 / 1e9, 3),
            goodput_mbit: rounded(goodput_mbit, 3),
            bound_mbit: rounded(bound_mbit, 3),
            efficiency: rounded(measure::efficiency(goodput_mbit, bound_mbit), 4),
            ..self
        }
    }

    /// With what the senders did.
    #[must_use]
    pub fn with_sent(self, sent: Sent) -> Self {
        let Sent {
            segments,
            retransmits,
            tail_probes,
            timeouts,
        } = sent;
        let share = measure::retransmit_share(retransmits, tail_probes, segments);
        Self {
            sender_retransmits: retransmits,
            sender_tail_probes: tail_probes,
            sender_segments: segments,
            sender_retransmit_share: share.map(|share| rounded(share, 6)),
            sender_timeouts: timeouts,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::words::compare as parse;

    fn sent() -> Sent {
        Sent {
            segments: 1000,
            retransmits: 12,
            tail_probes: 2,
            timeouts: 1,
        }
    }

    #[test]
    fn a_record_has_what_was_asked_and_what_was_counted() {
        let options = parse("--cc reno --scheme snoop --flows 2 --direction both").unwrap();
        let cell = &options.cells()[0];
        let rtt = [(5, 30_000), (20, 50_000), (30, 70_000)].map(|(at_ns, rtt_us)| RttSample {
            at_ns,
            connection: 0,
            rtt_us,
        });
        let flows = MeasuredFlows {
            from_ns: 10,
            span_ns: 2_000_000_000,
            bytes: 2_500_000,
            rates_mbit: vec![7.5, 2.5],
            host_goodputs_bps: vec![10e6],
            bounds: Bounds::shared(20e6, 1, 2),
            rtt: &rtt,
            completions_ns: Some(vec![1_000_000, 3_000_000]),
            sent: sent(),
            upload: Some(MeasuredUpload {
                bytes: 250_000,
                bound_bps: 4e6,
            }),
        };
        let record = flows.record(&options, cell);
        assert_eq!(
            (&*record.scheme, &*record.cc, record.flows),
            ("snoop", "reno", 2)
        );
        assert_eq!((record.loss_pct, record.queue_pkts), (2.0, 181));
        assert_eq!((record.goodput_mbit, record.efficiency), (10.0, 0.5));
        assert_eq!(
            record.up_goodput_mbit.zip(record.up_bound_mbit),
            Some((1.0, 4.0))
        );
        assert_eq!(record.host_efficiency, [0.5]);
        assert_eq!((record.rtt_p50_ms, record.jain), (Some(50.0), Some(0.8)));
        assert_eq!(record.host_rtt_p95_ms, [Some(70.0)]);
        assert_eq!(
            (record.completion_ms, record.completion_p95_ms),
            (Some(2.0), Some(3.0))
        );
        assert_eq!(record.sender_retransmit_share, Some(0.01));
    }

    /// With a rate that varies, `--rate` sizes the queue alone.
    #[test]
    fn the_rate_is_that_of_the_hop() {
        let rate = |words: &str| {
            let options = parse(words).unwrap();
            Record::of(&options, &options.cells()[0]).rate_mbit
        };
        let wave = "--rate 5mbit --rate-wave 30mbit,10mbit,1s";
        assert_eq!(rate(wave), 20.0);
        assert_eq!(rate("--rate 5mbit --rate-up 2mbit --direction up"), 2.0);
    }

    #[test]
    fn in_no_time_nothing_was_got() {
        let record = Record::default().with_goodput(0, 0, 1e6).with_sent(sent());
        assert_eq!((record.goodput_mbit, record.efficiency), (0.0, 0.0));
        assert_eq!((record.sender_timeouts, record.sender_tail_probes), (1, 2));
    }
}
