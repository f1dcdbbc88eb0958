// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The way from MH to BS where it differs from that to MH: cable, cellular and satellite links are
//! slower there, and aggregate what they carry.

use serde::{Deserialize, Serialize};

use crate::base::units;
use crate::data::queue::Queue;

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

#[cfg(test)]
mod tests {
    use crate::data::emulation::air_config;
    use crate::data::link::LinkOptions;
    use crate::data::way::Way;
    use crate::data::words::link as parse;

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
