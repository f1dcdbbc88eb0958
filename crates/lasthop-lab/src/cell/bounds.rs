// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The most that could be delivered, and what each of several receivers got of it.

use super::measure;
use crate::base::stats::rounded;
use crate::bed::transfer::RttSample;
use crate::data::link::LinkOptions;
use crate::data::segment::FullSegment;
use crate::data::way::Way;

/// The most that any transport could deliver, in bit/s of payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// To all hosts that have a flow.
    pub total_bps: f64,
    /// To each: of a link of its own, or its flows' part of the common one.
    pub hosts_bps: Vec<f64>,
}

impl Bounds {
    /// Those of a link over which `flows` go in turn; `window_ns` as for [`measure::mean_loss`].
    pub fn new(
        link: &LinkOptions,
        full: FullSegment,
        way: Way,
        window_ns: Option<(u64, u64)>,
        flows: usize,
    ) -> Self {
        let hosts = link.hosts.count();
        if !link.hosts.have_links() {
            let loss = measure::mean_loss(link, full, way, window_ns);
            return Self::shared(measure::bound_bps(link, full, way, loss), hosts, flows);
        }
        let wired_bps = link.wired_limit_bps() * full.payload_share();
        let own_bps = |host| {
            let random = link.host_loss(host, way);
            let arrives = 1.0 - measure::combined_loss(link, random, full, way, window_ns);
            let hop_bps = link.host_rate_bps(host, way) as f64 * arrives * full.payload_share();
            hop_bps.min(wired_bps)
        };
        let hosts_bps: Vec<f64> = (0..hosts).map(own_bps).collect();
        let used_bps: f64 = hosts_bps.iter().take(flows).sum();
        Self {
            total_bps: used_bps.min(wired_bps),
            hosts_bps,
        }
    }

    /// Those of a link that all hosts share.
    pub fn shared(total_bps: f64, hosts: usize, flows: usize) -> Self {
        let part = |host| (host..flows).step_by(hosts).count() as f64 / flows.max(1) as f64;
        Self {
            total_bps,
            hosts_bps: (0..hosts).map(|host| total_bps * part(host)).collect(),
        }
    }
}

/// What each host got, as the record has it.
#[derive(Debug, Clone, PartialEq)]
pub struct HostFigures {
    /// Mbit/s.
    pub goodput_mbit: Vec<f64>,
    /// Mbit/s.
    pub bound_mbit: Vec<f64>,
    /// Of both.
    pub efficiency: Vec<f64>,
}

impl HostFigures {
    /// From what each got in bit/s.
    pub fn new(goodputs_bps: &[f64], bounds: &Bounds) -> Self {
        let mbit = |bps: &f64| rounded(bps / 1e6, 3);
        let pairs = goodputs_bps.iter().zip(&bounds.hosts_bps);
        let share = |(got, bound): (&f64, &f64)| rounded(measure::efficiency(*got, *bound), 4);
        Self {
            goodput_mbit: goodputs_bps.iter().map(mbit).collect(),
            bound_mbit: bounds.hosts_bps.iter().map(mbit).collect(),
            efficiency: pairs.map(share).collect(),
        }
    }
}

/// Sums of what the flows have, for each of the hosts over which they go in turn.
pub fn sums_by_host(of_flows: &[u64], hosts: usize) -> Vec<u64> {
    let of_host = |host| of_flows.iter().skip(host).step_by(hosts).sum();
    (0..hosts).map(of_host).collect()
}

/// A percentile of each host's round-trip times from `from_ns` on, in ms; null for a host without
/// a sample. `flows` is how many there are side by side.
pub fn rtt_by_host_ms(
    samples: &[RttSample],
    from_ns: u64,
    flows: usize,
    hosts: usize,
    percent: f64,
) -> Vec<Option<f64>> {
    let of_host = |host| {
        let own = samples
            .iter()
            .filter(|sample| sample.connection % flows.max(1) % hosts == host);
        let own: Vec<RttSample> = own.copied().collect();
        let percentile = measure::rtt_percentiles_ms(&own, from_ns, [percent]);
        percentile.map(|[ms]| rounded(ms, 3))
    };
    (0..hosts).map(of_host).collect()
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;
