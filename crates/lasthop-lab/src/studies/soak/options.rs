// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of `soak`, and what follows from it.

use std::path::PathBuf;
use std::time::Duration;

use crate::base::units;
use crate::bed::load::{Plan, Sizes};
use crate::data::link::LinkOptions;
use crate::data::queue::Queue;

/// The longest soak: two months.
const HOURS_MOST: f64 = 1_500.0;
/// Below that there is no time for a reload and a take-over.
const HOURS_LEAST: f64 = 0.004;
/// Receivers behind the hop.
const RECEIVERS: u16 = 50;
/// Samples of the longest soak.
const SAMPLES_MOST: f64 = 10_000.0;

/// All options of `soak`.
#[derive(Debug, Clone, clap::Args)]
pub struct SoakOptions {
    /// How long there is load
    #[arg(long, value_name = "HOURS", default_value = "6", value_parser = hours)]
    pub hours: f64,

    /// Directory of soak.jsonl, a line per sample and event
    #[arg(long, value_name = "DIR", default_value = "lasthop-soak")]
    pub out: PathBuf,

    /// New short connections per second
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000.0, value_parser = rate)]
    pub rate: f64,

    /// Connections that stay, each with an exchange every 8 s
    #[arg(long, value_name = "NUMBER", default_value_t = 2_000,
          value_parser = clap::value_parser!(u32).range(0..=25_000))]
    pub held: u32,

    /// Share of the frames that the hop loses, both ways
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = units::fraction)]
    pub loss: f64,

    /// Seed of losses, sizes, content and outages
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// Print each condition as a JSON object per line
    #[arg(short = 'j', long)]
    pub json: bool,
}

impl SoakOptions {
    /// How long there is load.
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.hours * 3600.0)
    }

    /// From one reload to the next.
    pub(super) fn reload_period(&self) -> Duration {
        Duration::from_secs(60).min(self.duration() / 4)
    }

    /// From one outage to the next.
    pub(super) fn outage_period(&self) -> Duration {
        Duration::from_secs(20).min(self.duration() / 6)
    }

    /// From one look at the daemon to the next.
    pub(super) fn sample_period(&self) -> Duration {
        let seconds = self.duration().as_secs_f64();
        Duration::from_secs_f64((seconds / SAMPLES_MOST).max(5.0).min(seconds / 80.0))
    }

    /// How often another process takes over. All of that is in the first half, so that memory is looked at
    /// of one process over the whole second one.
    pub(super) fn take_overs(&self) -> u32 {
        match self.duration().as_secs() {
            0..60 => 1,
            60..3_600 => 2,
            _ => 4,
        }
    }

    /// A hop of 200 Mbit/s and 20 ms.
    pub(super) fn link(&self) -> LinkOptions {
        let mut link = LinkOptions {
            rate_bps: 200_000_000,
            rtt_ns: 40_000_000,
            local_rtt_ns: 20_000_000,
            loss: self.loss,
            queue: Queue::Packets(5_000),
            seed: self.seed,
            ..LinkOptions::default()
        };
        link.hosts.hosts = Some(RECEIVERS);
        link
    }

    pub(super) fn plan(&self) -> Plan {
        Plan {
            held: self.held,
            active: self.held,
            pause: Duration::from_secs(8),
            held_per_s: 500.0,
            short_per_s: self.rate,
            short: Sizes {
                there_bytes: 300,
                back_bytes: 3_000,
            },
            long: Sizes {
                there_bytes: 2_000,
                back_bytes: 15_000,
            },
            // A timeout of 10 s, as after a machine's pause, doubled three times.
            patience: Duration::from_secs(180),
            seed: self.seed,
            ..Plan::default()
        }
    }
}

fn hours(text: &str) -> Result<f64, String> {
    number(text, HOURS_LEAST..=HOURS_MOST)
}

fn rate(text: &str) -> Result<f64, String> {
    number(text, 1.0..=10_000.0)
}

fn number(text: &str, range: std::ops::RangeInclusive<f64>) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|n| range.contains(n)).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        format!("`{text}` must be a number from {least} to {most}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        soak: SoakOptions,
    }

    fn of(hours: &str) -> SoakOptions {
        Cli::parse_from(["lab", "--hours", hours]).soak
    }

    #[test]
    fn short_ones_have_all_that_long_ones_have() {
        let short = of("0.007");
        assert!(short.reload_period() * 3 < short.duration());
        assert!(short.outage_period() * 4 < short.duration());
        assert!(short.sample_period() * 30 < short.duration());
        assert_eq!(short.take_overs(), 1);
        let long = of("6");
        assert_eq!(long.reload_period(), Duration::from_secs(60));
        assert_eq!(long.sample_period(), Duration::from_secs(5));
        assert_eq!(long.take_overs(), 4);
        let samples =
            of("1500").duration().as_secs_f64() / of("1500").sample_period().as_secs_f64();
        assert!(samples <= SAMPLES_MOST + 1.0, "{samples}");
    }

    #[test]
    fn senseless_numbers_are_refused() {
        for hours in ["0", "-1", "nan", "1e9", "one"] {
            let text = Cli::try_parse_from(["lab", "--hours", hours]);
            assert!(text.is_err(), "{hours}");
        }
    }
}
