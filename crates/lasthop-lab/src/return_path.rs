// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The way from MH to BS where it differs from that to MH: cable, cellular and satellite links are
//! slower there, and aggregate what they carry.

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use crate::options::{LinkOptions, Queue};
use crate::transfer::Way;
use crate::units;

/// What the return path has of its own; `--loss-up` and `--rate-trace-up` belong here, too.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, clap::Args)]
#[serde(default)]
#[command(next_help_heading = "Return path")]
pub struct ReturnPath {
    /// Rate from MH to BS; with --host-rate that of each host [default: --rate, or the host's]
    #[arg(
        long = "rate-up",
        value_name = "RATE",
        value_parser = units::rate_bps,
        conflicts_with_all = ["rate_wave", "rate_trace_up"]
    )]
    pub rate_up_bps: Option<u64>,

    /// Packets that may wait from MH to BS: a number, or bdp of the rate there [default: --queue,
    /// or the host's]
    #[arg(long = "queue-up", value_name = "PACKETS")]
    pub queue_up: Option<Queue>,

    /// --batch from MH to BS [default: --batch]
    #[arg(long = "batch-up", value_name = "TIME", value_parser = units::duration_ns)]
    pub batch_up_ns: Option<u64>,

    /// From MH to BS a pure ACK takes the place of an older one of its connection that still waits
    /// there, as with CAKE's filter and cable modems: at least every N-th gets through
    #[arg(long = "ack-thin", value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub ack_thin: Option<u32>,
}

impl ReturnPath {
    /// Checks what the options do not know of each other.
    ///
    /// # Errors
    /// A rate besides a wave or a trace.
    pub fn validate(&self, link: &LinkOptions) -> Result<()> {
        let varies = link.variation.mean_rate_bps(Way::Up).is_some();
        if self.rate_up_bps.is_some() && varies {
            bail!("--rate-up: --rate-wave and --rate-trace-up set that rate, too: leave one out");
        }
        Ok(())
    }

    /// For people; empty if the return path is as the other.
    pub fn summary(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.rate_up_bps.map(units::show_rate));
        parts.extend(self.queue_up.map(|queue| format!("queue {queue}")));
        let batch = self.batch_up_ns.map(units::show_duration);
        parts.extend(batch.map(|time| format!("batches of {time}")));
        let thin = self.ack_thin.map(|n| format!("ACKs thinned to one in {n}"));
        parts.extend(thin);
        match parts.is_empty() {
            true => String::new(),
            false => format!(", up {}", parts.join(" ")),
        }
    }
}

impl LinkOptions {
    /// Rate of the lossy hop in one direction while nothing varies it; of all hosts together if
    /// each has a link of its own.
    pub fn constant_rate_bps(&self, way: Way) -> u64 {
        match (way, self.return_path.rate_up_bps) {
            (Way::Up, Some(rate_bps)) if self.hosts.have_links() => {
                rate_bps * self.hosts.count() as u64
            }
            (Way::Up, Some(rate_bps)) => rate_bps,
            _ => self.nominal_rate_bps(),
        }
    }

    /// Limit of the queue in one direction, before it is told the rate.
    pub(crate) fn queue_of(&self, way: Way) -> Queue {
        match (way, self.return_path.queue_up) {
            (Way::Up, Some(queue)) => queue,
            _ => self.queue,
        }
    }

    /// Packets that may wait on the hop's common link in one direction.
    pub fn queue_packets_of(&self, way: Way) -> u64 {
        self.queue_of(way)
            .packets(self.constant_rate_bps(way), self.rtt_ns)
    }

    /// What the emulator lets one ACK stand for; 0: ACKs are not thinned.
    pub fn ack_thin(&self, way: Way) -> u32 {
        match way {
            Way::Up => self.return_path.ack_thin.unwrap_or(0),
            Way::Down => 0,
        }
    }

    /// Deliveries come at multiples of this in one direction; 0: at any time.
    pub fn batch_ns(&self, way: Way) -> u64 {
        match (way, self.return_path.batch_up_ns) {
            (Way::Up, Some(batch_ns)) => batch_ns,
            _ => self.variation.batch_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::air_config;
    use crate::hosts::Bounds;
    use crate::topology::Family;
    use crate::words::link as parse;

    #[test]
    fn the_return_path_alone_is_changed() {
        let link = parse("--rate-up 2mbit --queue-up 30 --batch 1ms --batch-up 10ms").unwrap();
        let air = air_config(&link).unwrap();
        let of = |d: &linkemu::DirectionConfig| (d.rate_bps, d.queue_frames, d.batch_ns);
        assert_eq!(of(&air.a_to_b), (20_000_000, 181, 1_000_000));
        assert_eq!(of(&air.b_to_a), (2_000_000, 30, 10_000_000));
        let summary = link.summary();
        assert!(
            summary.contains("up 2mbit queue 30 batches of 10ms"),
            "{summary}"
        );
        let plain = air_config(&LinkOptions::default()).unwrap();
        assert_eq!(of(&plain.a_to_b), of(&plain.b_to_a));
    }

    #[test]
    fn acks_are_thinned_on_their_way_only() {
        let link = parse("--ack-thin 4 --aqm fq-codel").unwrap();
        let air = air_config(&link).unwrap();
        assert_eq!((air.a_to_b.ack_thin, air.b_to_a.ack_thin), (0, 4));
        assert_eq!(air.a_to_b.aqm, linkemu::Aqm::FqCodel);
        assert_eq!(air.b_to_a.aqm, linkemu::Aqm::FqCodel);
        let summary = link.summary();
        assert!(summary.contains("queue 181 with FQ-CoDel"), "{summary}");
        assert!(summary.contains("one in 4"), "{summary}");
        assert!(parse("--ack-thin 1").unwrap_err().contains("--ack-thin"));
        assert!(parse("--aqm red").unwrap_err().contains("codel"));
    }

    #[test]
    fn a_queue_of_one_product_is_that_of_its_own_rate() {
        let link = parse("--rate-up 10mbit").unwrap();
        assert_eq!(
            (link.queue_packets(), link.queue_packets_of(Way::Up)),
            (181, 90)
        );
        let link = parse("--queue 50 --queue-up bdp").unwrap();
        assert_eq!(
            (link.queue_packets(), link.queue_packets_of(Way::Up)),
            (50, 181)
        );
    }

    #[test]
    fn bounds_of_uploads_heed_the_rate() {
        let link = parse("--rate-up 2mbit --loss 0%").unwrap();
        let full = link.full_segment(Family::V4, None);
        let bounds = |link: &LinkOptions, way| Bounds::new(link, full, way, None, 2).total_bps;
        let share = full.payload_share();
        assert!((bounds(&link, Way::Up) - 2e6 * share).abs() < 1.0);
        assert!((bounds(&link, Way::Down) - 20e6 * share).abs() < 1.0);
        let own = parse("--host-rate 5mbit,50mbit --rate-up 2mbit --queue-up 9 --loss 0%").unwrap();
        assert!((bounds(&own, Way::Up) - 4e6 * share).abs() < 1.0);
        let stations = air_config(&own).unwrap().b_to_a.stations;
        let up = stations.iter().map(|s| (s.rate_bps, s.queue_frames));
        assert!(up.eq([(Some(2_000_000), Some(9)); 2]));
    }

    #[test]
    fn what_else_sets_the_rate_is_refused() {
        for words in [
            "--rate-up 2mbit --rate-wave 5mbit,6mbit,1s",
            "--rate-up 2",
            "--queue-up 0",
            "--batch-up 10",
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains("-up"), "{words}: {error}");
        }
        let mut link = parse("--rate-wave 5mbit,6mbit,1s").unwrap();
        link.return_path.rate_up_bps = Some(1);
        let error = link.validate().unwrap_err().to_string();
        assert!(error.contains("--rate-up"), "{error}");
    }
}
