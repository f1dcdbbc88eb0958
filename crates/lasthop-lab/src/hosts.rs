// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Several receivers behind the attached device: how many there are, the link that each may have
//! for itself, and the figures of each.

use anyhow::{Result, bail};
use linkemu::StationConfig;
use serde::{Deserialize, Serialize};

use crate::compare::record::rounded;
use crate::measure;
use crate::options::{LinkOptions, Queue};
use crate::topology::{self, Family};
use crate::transfer::sockets::FullSegment;
use crate::transfer::{RttSample, Way};
use crate::units;

/// Receivers, and their links. Lists are gone through in turn, as often as it takes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, clap::Args)]
#[serde(default)]
#[command(next_help_heading = "Receivers")]
pub struct HostOptions {
    /// Mobile hosts behind the hop, over which the flows go in turn: up to 250, with ns3 10000
    /// [default: 1, or as many as --host-rate has]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub hosts: Option<u16>,

    /// Rate of each host in turn, in place of --rate: each has a queue and a transmitter of its own
    /// then, as a Wi-Fi station or a modem: 5mbit,300mbit
    #[arg(
        long = "host-rate",
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = units::rate_bps,
        conflicts_with_all = ["rate_bps", "rate_wave", "rate_trace", "rate_trace_up"]
    )]
    pub host_rate_bps: Vec<u64>,

    /// With --host-rate: share of the frames lost from BS to each host in turn, and from it to BS
    /// without --loss-up [default: --loss]
    #[arg(
        long = "host-loss",
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = units::fraction,
        requires = "host_rate_bps"
    )]
    pub host_loss: Vec<f64>,

    /// With --host-rate: packets that may wait for each host in turn, numbers or bdp of its own
    /// rate [default: --queue]
    #[arg(
        long = "host-queue",
        value_name = "LIST",
        value_delimiter = ',',
        requires = "host_rate_bps"
    )]
    pub host_queue: Vec<Queue>,
}

/// Entry of a list that is gone through in turn; none if it is empty.
fn in_turn<T: Copy>(list: &[T], index: usize) -> Option<T> {
    (!list.is_empty()).then(|| list[index % list.len()])
}

impl HostOptions {
    /// Mobile hosts behind the hop.
    pub fn count(&self) -> usize {
        self.hosts
            .map_or(self.host_rate_bps.len().max(1), usize::from)
    }

    /// Whether each has a link of its own.
    pub fn have_links(&self) -> bool {
        !self.host_rate_bps.is_empty()
    }

    /// Rate from BS to one host; none if they share a link.
    pub fn rate_bps(&self, host: usize) -> Option<u64> {
        in_turn(&self.host_rate_bps, host)
    }

    /// Checks what the options do not know of each other.
    ///
    /// # Errors
    /// More rates, losses or queues than hosts; a loss or queue without a rate.
    pub fn validate(&self) -> Result<()> {
        let hosts = self.count();
        for (option, given) in [
            ("--host-rate", self.host_rate_bps.len()),
            ("--host-loss", self.host_loss.len()),
            ("--host-queue", self.host_queue.len()),
        ] {
            if given > hosts {
                bail!("{option} has {given} entries for {hosts} hosts: give --hosts {given}");
            }
            if given > 0 && !self.have_links() {
                bail!("{option}: hosts share one link without --host-rate: give that too");
            }
        }
        Ok(())
    }

    /// Checks what the test bed has no room for.
    ///
    /// # Errors
    /// More hosts than addresses.
    pub fn check_test_bed(&self) -> Result<()> {
        let (hosts, most) = (self.count(), topology::MOST_HOSTS);
        if hosts > most {
            bail!("--hosts {hosts}: the test bed has addresses for {most}; --engine ns3 has more");
        }
        Ok(())
    }

    /// Checks that every host with a link of its own has a flow; one without measures nothing.
    ///
    /// # Errors
    /// There are too few flows.
    pub fn check_flows(&self, flows: u16) -> Result<()> {
        let hosts = self.count();
        if self.have_links() && usize::from(flows) < hosts {
            bail!("--host-rate: {flows} flows do not reach {hosts} hosts: give --flows {hosts}");
        }
        Ok(())
    }

    /// For people; empty if there is but one host on the common link.
    pub fn summary(&self) -> String {
        let hosts = match (self.hosts, self.have_links()) {
            (None, false) => return String::new(),
            _ if self.count() == 1 => "1 host".to_owned(),
            _ => format!("{} hosts", self.count()),
        };
        let joined = |parts: Vec<String>| parts.join("/");
        let mut text = format!(", {hosts}");
        if self.have_links() {
            let rates = self.host_rate_bps.iter().copied().map(units::show_rate);
            text.push_str(&format!(" of {}", joined(rates.collect())));
        }
        if !self.host_loss.is_empty() {
            let losses = self
                .host_loss
                .iter()
                .map(|loss| format!("{}%", loss * 100.0));
            text.push_str(&format!(", loss {} each", joined(losses.collect())));
        }
        if !self.host_queue.is_empty() {
            let queues = self.host_queue.iter().map(ToString::to_string);
            text.push_str(&format!(", queue {} each", joined(queues.collect())));
        }
        text
    }
}

impl LinkOptions {
    /// Rate of one host's link; of the common one if they share it.
    pub fn host_rate_bps(&self, host: usize, way: Way) -> u64 {
        match (way, self.return_path.rate_up_bps, self.hosts.rate_bps(host)) {
            (Way::Up, Some(rate_bps), Some(_)) | (_, _, Some(rate_bps)) => rate_bps,
            (_, _, None) => self.mean_rate_bps(way),
        }
    }

    /// Share of the frames that are lost at random between BS and one host.
    pub fn host_loss(&self, host: usize, way: Way) -> f64 {
        let own = in_turn(&self.hosts.host_loss, host);
        match (way, self.loss_up) {
            (Way::Up, Some(loss)) => loss,
            _ => own.unwrap_or(self.loss),
        }
    }

    /// Packets that may wait for one host; on the common link if they share it.
    pub fn host_queue_packets(&self, host: usize, way: Way) -> u64 {
        let own = match (way, self.return_path.queue_up) {
            (Way::Up, Some(queue)) => Some(queue),
            _ => in_turn(&self.hosts.host_queue, host),
        };
        let queue = own.unwrap_or(self.queue);
        queue.packets(self.host_rate_bps(host, way), self.rtt_ns)
    }

    /// Share of the frames that the hop loses at random: the mean over the hosts.
    pub fn mean_random_loss(&self, way: Way) -> f64 {
        let hosts = self.hosts.count();
        let losses = (0..hosts).map(|host| self.host_loss(host, way));
        losses.sum::<f64>() / hosts as f64
    }

    /// Packets that may wait at the hop, for all hosts together.
    pub fn all_queue_packets(&self, way: Way) -> u64 {
        match self.hosts.have_links() {
            true => (0..self.hosts.count())
                .map(|host| self.host_queue_packets(host, way))
                .sum(),
            false => self.queue_packets_of(way),
        }
    }

    /// The emulator's stations; none if all hosts share the hop.
    pub fn stations(&self, way: Way) -> Vec<StationConfig> {
        if !self.hosts.have_links() {
            return Vec::new();
        }
        let station = |host| StationConfig {
            addresses: [Family::V4, Family::V6]
                .map(|family| topology::mobile_address(host, family))
                .to_vec(),
            rate_bps: Some(self.host_rate_bps(host, way)),
            loss: in_turn(&self.hosts.host_loss, host).map(|_| self.host_loss(host, way)),
            queue_frames: Some(self.host_queue_packets(host, way) as usize),
        };
        (0..self.hosts.count()).map(station).collect()
    }
}

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
            let arrives = 1.0 - measure::combined_loss(link, random, full, window_ns);
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
#[path = "hosts_tests.rs"]
mod tests;
