// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the test bed's link looks like, as given on the command line or by a test.

mod chain;
mod hosts;
mod return_path;
mod sender;

use anyhow::{Result, bail};
use clap::builder::ArgPredicate;
use linkemu::Aqm;
use linkemu::mac::MacConfig;
use serde::{Deserialize, Serialize};

use crate::base::units;
use crate::data::burst::Burst;
use crate::data::hosts::HostOptions;
use crate::data::mac;
use crate::data::outage::Outage;
use crate::data::profile::{self, Profile};
use crate::data::queue::Queue;
use crate::data::return_path::ReturnPath;
use crate::data::segment::FullSegment;
use crate::data::sender::Sender;
use crate::data::stack::StackOptions;
use crate::data::switch::{Gro, Switch};
use crate::data::topology::Family;
use crate::data::variation::Variation;
use crate::data::way::Way;

/// The path between FH and MH. The defaults are those of `lasthop-lab compare`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Link")]
pub struct LinkOptions {
    /// Rate of the lossy hop, each direction without --rate-up; mean: that of --rate-wave or --rate-trace, and the
    /// default with them
    #[arg(long = "rate", value_name = "RATE", default_value = "20mbit", value_parser = rate_or_mean,
          default_value_ifs = MEAN_IS_DEFAULT_WITH)]
    pub rate_bps: u64,

    /// Unloaded round trip from end to end
    #[arg(long = "rtt", value_name = "TIME", default_value = "110ms", value_parser = units::duration_ns)]
    pub rtt_ns: u64,

    /// Part of --rtt that lies on the lossy hop; with --hops on each
    #[arg(long = "local-rtt", value_name = "TIME", default_value = "10ms", value_parser = units::duration_ns)]
    pub local_rtt_ns: u64,

    /// Lossy hops in a row, 1 to 9, each with all of the link's options, a channel and a queue of its
    /// own, and a router behind it: --agents and what takes an agent's place stand at each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=9))]
    #[serde(default = "one")]
    pub hops: u8,

    /// Share of the frames that the hop loses from BS to MH
    #[arg(long = "loss", value_name = "SHARE", default_value = "2%", value_parser = units::fraction)]
    pub loss: f64,

    /// Share of the frames that the hop loses from MH to BS [default: --loss]
    #[arg(long = "loss-up", value_name = "SHARE", value_parser = units::fraction)]
    pub loss_up: Option<f64>,

    /// The hop loses from BS to MH in bursts as well, by share and mean length (Gilbert): 5%,4
    #[arg(long = "burst-loss", value_name = "SHARE,N")]
    #[serde(default)]
    pub burst: Option<Burst>,

    /// The same from MH to BS [default: none]
    #[arg(long = "burst-loss-up", value_name = "SHARE,N")]
    #[serde(default)]
    pub burst_up: Option<Burst>,

    /// Bit-error rate of the hop, both directions: longer frames are lost more often
    #[arg(long, value_name = "RATE", default_value = "0", value_parser = units::fraction)]
    pub ber: f64,

    /// 802.11 medium for both directions of the hop, in place of --rate: 802.11b, or
    /// 802.11a,rate=54,policy=no_ack, or a radio by name, murray2009,policy=no_ack; losses hit its data frames, attempt by attempt, and the
    /// record tells the energy of its radios; with --engine ns3 it is ns-3's
    #[arg(long, value_name = "STANDARD[,KEY=VALUE]...", value_parser = mac::parse)]
    #[serde(default)]
    pub mac: Option<MacConfig>,

    /// Outage of the hop, with --hops of all at once, both directions: START,LENGTH[,PERIOD] from the
    /// start of the transfer
    #[arg(long, value_name = "TIMES")]
    pub outage: Option<Outage>,

    /// Packets that may wait at the lossy hop: a number, or bdp (rate × rtt, at least 20)
    #[arg(long, value_name = "PACKETS", default_value = "bdp")]
    pub queue: Queue,

    /// Queue discipline of the hop, both directions: first in, first out; CoDel (RFC 8289); or
    /// FQ-CoDel (RFC 8290), which both mark where ECN is agreed on
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub aqm: Aqm,

    /// Rate of the wired part, each direction
    #[arg(long = "wired-rate", value_name = "RATE", default_value = "1gbit", value_parser = units::rate_bps)]
    pub wired_rate_bps: u64,

    /// Packets that may wait at the wired part
    #[arg(long = "wired-queue", value_name = "PACKETS", default_value_t = 4000,
          value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub wired_queue_packets: u64,

    /// Whether BS sees super-packets from the wire
    #[arg(long, value_enum, default_value_t)]
    pub gro: Gro,

    /// Whether the hosts leave checksums to their devices (the emulators finish them)
    #[arg(long = "checksum-offload", value_enum, default_value_t)]
    pub checksum_offload: Switch,

    /// Whether the hosts leave segmentation and checksums to their devices, and so hand over
    /// super-packets (the emulators cut them into frames first of all)
    #[arg(long = "segmentation-offload", value_enum, default_value_t)]
    #[serde(default)]
    pub segmentation_offload: Switch,

    /// Where the data comes from: fh, beyond the wire, or bs, a socket on the agent's own machine,
    /// whose super-packets the agent sees as they are; only --local-rtt lies before it then
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub sender: Sender,

    /// TCP stack of the end hosts
    #[arg(long, value_enum, default_value_t)]
    pub profile: Profile,

    #[command(flatten)]
    #[serde(default)]
    #[allow(missing_docs)]
    pub stack: StackOptions,

    #[command(flatten)]
    #[serde(default)]
    #[allow(missing_docs)]
    pub variation: Variation,

    #[command(flatten)]
    #[serde(default)]
    #[allow(missing_docs)]
    pub hosts: HostOptions,

    #[command(flatten)]
    #[serde(default)]
    #[allow(missing_docs)]
    pub return_path: ReturnPath,

    /// Seed of the emulators' losses.
    #[arg(skip = 1u64)]
    pub seed: u64,
}

/// `--rate mean` in [`LinkOptions::rate_bps`].
const MEAN_RATE: u64 = 0;
const MEAN_IS_DEFAULT_WITH: [(&str, ArgPredicate, &str); 3] = [
    ("rate_wave", ArgPredicate::IsPresent, "mean"),
    ("rate_trace", ArgPredicate::IsPresent, "mean"),
    ("rate_trace_up", ArgPredicate::IsPresent, "mean"),
];

/// Records of earlier versions do not say how many hops there were.
fn one() -> u8 {
    1
}

fn rate_or_mean(text: &str) -> Result<u64, String> {
    match text {
        "mean" => Ok(MEAN_RATE),
        _ => units::rate_bps(text),
    }
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            rate_bps: 20_000_000,
            rtt_ns: 110_000_000,
            local_rtt_ns: 10_000_000,
            hops: 1,
            loss: 0.02,
            loss_up: None,
            burst: None,
            burst_up: None,
            ber: 0.0,
            mac: None,
            outage: None,
            queue: Queue::Bdp,
            aqm: Aqm::Fifo,
            wired_rate_bps: 1_000_000_000,
            wired_queue_packets: 4000,
            gro: Gro::Off,
            checksum_offload: Switch::Off,
            segmentation_offload: Switch::Off,
            sender: Sender::Fh,
            profile: Profile::Modern,
            stack: StackOptions::default(),
            variation: Variation::default(),
            hosts: HostOptions::default(),
            return_path: ReturnPath::default(),
            seed: 1,
        }
    }
}

impl LinkOptions {
    /// Checks what the units alone cannot.
    ///
    /// # Errors
    /// `--local-rtt` above `--rtt`, a mean rate of nothing, several hosts behind several hops, and
    /// what [`Variation::validate`] says.
    pub fn validate(&self) -> Result<()> {
        if self.nominal_rate_bps() == 0 {
            bail!("--rate mean: give --rate-wave or --rate-trace, of which it is the mean");
        }
        self.variation.validate(self.rtt_ns)?;
        self.hosts.validate()?;
        self.check_return_path()?;
        self.check_mac()?;
        self.check_sender()?;
        self.check_chain()?;
        if self.local_rtt_ns > self.rtt_ns {
            bail!(
                "--local-rtt {} is longer than --rtt {}, of which it is a part",
                units::show_duration(self.local_rtt_ns),
                units::show_duration(self.rtt_ns)
            );
        }
        Ok(())
    }

    /// Rate of the lossy hop where nothing else sets it; sizes the queue in any case. On a medium
    /// what it carries one way. That of all
    /// hosts together if each has a link of its own.
    pub fn nominal_rate_bps(&self) -> u64 {
        if let Some(mac) = &self.mac {
            return mac.capacity_bps();
        }
        if self.hosts.have_links() {
            let rates_bps = (0..self.hosts.count()).filter_map(|host| self.hosts.rate_bps(host));
            return rates_bps.sum();
        }
        let mean_bps = |way| self.variation.mean_rate_bps(way);
        match self.rate_bps {
            MEAN_RATE => mean_bps(Way::Down).or(mean_bps(Way::Up)).unwrap_or(0),
            given => given,
        }
    }

    /// Mean rate of the lossy hop in one direction.
    pub fn mean_rate_bps(&self, way: Way) -> u64 {
        let varying = self.variation.mean_rate_bps(way);
        let rate_bps = varying.unwrap_or(self.constant_rate_bps(way));
        match (way, self.variation.police) {
            (Way::Down, Some(police)) => rate_bps.min(police.rate_bps),
            _ => rate_bps,
        }
    }

    /// A medium has a rate of its own, and one for all.
    fn check_mac(&self) -> Result<()> {
        let varies = [Way::Down, Way::Up].map(|way| self.variation.mean_rate_bps(way).is_some());
        let contradictions = [
            ("--rate-wave and --rate-trace", varies.contains(&true)),
            ("--rate-up", self.return_path.rate_up_bps.is_some()),
            ("--host-rate", self.hosts.have_links()),
        ];
        match contradictions.iter().find(|(_, given)| *given) {
            Some((options, _)) if self.mac.is_some() => {
                bail!("--mac: {options} would set other rates: leave one out")
            }
            _ => Ok(()),
        }
    }

    /// For people; empty without a medium.
    fn mac_summary(&self) -> String {
        let said = |mac: &MacConfig| format!(", {} medium", mac.standard.name());
        self.mac.as_ref().map_or(String::new(), said)
    }

    /// Packets that may wait at the lossy hop, from BS to MH.
    pub fn queue_packets(&self) -> u64 {
        self.queue_packets_of(Way::Down)
    }

    /// Frame loss from MH to BS.
    pub fn loss_up(&self) -> f64 {
        self.loss_up.unwrap_or(self.loss)
    }

    /// Share of the frames that the hop loses at random in one direction.
    pub fn random_loss(&self, way: Way) -> f64 {
        match way {
            Way::Down => self.loss,
            Way::Up => self.loss_up(),
        }
    }

    /// What the hop loses in bursts in one direction, besides.
    pub fn burst(&self, way: Way) -> Option<Burst> {
        match way {
            Way::Down => self.burst,
            Way::Up => self.burst_up,
        }
    }

    /// Whether segments carry timestamps.
    pub fn has_timestamps(&self) -> bool {
        match self.stack.sysctl("ipv4.tcp_timestamps") {
            Some(value) => value != "0",
            None => profile::has_timestamps(self.profile),
        }
    }

    /// A full segment of a transfer, with `--mss` if that was given.
    pub fn full_segment(&self, family: Family, mss_bytes: Option<u16>) -> FullSegment {
        FullSegment::new(family, self.has_timestamps(), mss_bytes)
    }

    /// For people; empty without bursts.
    fn burst_summary(&self) -> String {
        let said = [(self.burst, "down"), (self.burst_up, "up")].map(|(burst, way)| {
            let of = |burst: Burst| {
                let (pct, packets) = (100.0 * burst.loss, burst.mean_packets);
                format!(", {pct}% in bursts of {packets} {way}")
            };
            burst.map_or(String::new(), of)
        });
        said.concat()
    }

    /// One line for people: `20mbit, 110ms (10ms local), loss 2% down 2% up, queue 181`.
    pub fn summary(&self) -> String {
        format!(
            "{}, {} ({} local{}), loss {}% down {}% up{}, queue {}{}{}{}{}{}{}{}",
            units::show_rate(self.nominal_rate_bps()),
            units::show_duration(self.rtt_ns),
            units::show_duration(self.local_rtt_ns),
            self.chain_summary(),
            self.loss * 100.0,
            self.loss_up() * 100.0,
            self.burst_summary(),
            self.all_queue_packets(Way::Down),
            aqm_summary(self.aqm),
            self.mac_summary(),
            self.hosts.summary(),
            self.return_path.summary(),
            self.sender.summary(),
            self.variation.summary(),
            self.stack.summary()
        )
    }
}

/// For people; empty for the plain queue.
fn aqm_summary(aqm: Aqm) -> &'static str {
    match aqm {
        Aqm::Fifo => "",
        Aqm::Codel => " with CoDel",
        Aqm::FqCodel => " with FQ-CoDel",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        link: LinkOptions,
    }

    #[test]
    fn library_and_command_line_have_the_same_defaults() {
        let cli = Cli::parse_from(["lab"]);
        assert_eq!(cli.link, LinkOptions::default());
    }

    #[test]
    fn queue_of_one_bandwidth_delay_product() {
        let mut link = LinkOptions::default();
        assert_eq!(link.queue_packets(), 181); // 20 Mbit/s × 110 ms / 8 / 1514
        link.rtt_ns = 1_000_000;
        assert_eq!(link.queue_packets(), 20);
        link.queue = "7".parse().unwrap();
        assert_eq!(link.queue_packets(), 7);
        assert!("0".parse::<Queue>().is_err());
    }

    #[test]
    fn outages() {
        let outage: Outage = "6s,300ms,5s".parse().unwrap();
        let seconds = |s: f64| (s * 1e9) as u64;
        assert_eq!(
            outage.intervals_ns(seconds(12.0)).collect::<Vec<_>>(),
            [(seconds(6.0), seconds(6.3)), (seconds(11.0), seconds(11.3))]
        );
        assert!((outage.share(seconds(5.0), seconds(15.0)) - 0.06).abs() < 1e-9);
        assert!((outage.share(seconds(0.0), seconds(6.0))).abs() < 1e-9);
        let once: Outage = "1s,2s".parse().unwrap();
        assert_eq!(once.intervals_ns(seconds(99.0)).count(), 1);
        for text in ["1s", "1s,0", "1s,2s,2s", "a,b", "1s,1s,2s,3s"] {
            assert!(text.parse::<Outage>().is_err(), "{text}");
        }
    }

    #[test]
    fn local_part_must_fit() {
        let link = LinkOptions {
            local_rtt_ns: 2,
            rtt_ns: 1,
            ..LinkOptions::default()
        };
        assert!(
            link.validate()
                .unwrap_err()
                .to_string()
                .contains("--local-rtt")
        );
    }
}
