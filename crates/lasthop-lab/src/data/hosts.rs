// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Several receivers behind the attached device: how many there are, the link that each may have
//! for itself, and the figures of each.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::base::units;
use crate::data::queue::Queue;
use crate::data::topology;

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
pub(super) fn in_turn<T: Copy>(list: &[T], index: usize) -> Option<T> {
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

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
