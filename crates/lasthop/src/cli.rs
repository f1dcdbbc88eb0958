// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The words of the command line, and their help.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::role::Role;
use crate::top::Kind;
use crate::units;

/// Whoever looks more often takes time from what is looked at.
const INTERVAL_LEAST: Duration = Duration::from_millis(200);
const INTERVAL_MOST: Duration = Duration::from_secs(3600);

/// TCP-aware agent for the interface that faces a lossy link
#[derive(Parser)]
#[command(
    version,
    after_help = "Example:\n  lasthop check wlan0 && lasthop attach wlan0\n\nSettings: /etc/lasthop/lasthop.toml; lasthop defaults explains them."
)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// What is to be done.
#[derive(Subcommand)]
pub enum Verb {
    Attach(Attach),
    Daemon(Daemon),
    Reload(Reload),
    Status(Status),
    Flows(Flows),
    Peers(Peers),
    Events(Events),
    Top(Top),
    Observe(Observe),
    Check(Check),
    Report(Report),
    Link(Link),
    Key(Key),
    Split(Split),
    /// Print a configuration file that explains every setting and shows its default
    #[command(after_help = "Example:\n  lasthop defaults > /etc/lasthop/lasthop.toml")]
    Defaults,
    /// Print the reference of all JSON fields (docs/json.md)
    #[command(hide = true)]
    Fields,
}

/// Attach the agent to devices; stays in the foreground
///
/// Caches TCP segments towards the device until they are acknowledged, repairs their losses, and
/// keeps the repairs out of the senders' sight. Ends on SIGINT, SIGTERM or SIGHUP and leaves
/// nothing attached; waits for devices that go away, and follows those that are renamed.
#[derive(Args)]
#[command(after_help = "Example:\n  lasthop attach wlan0 --exclude 10.0.0.0/8:22")]
pub struct Attach {
    /// Devices that face a lossy link
    #[arg(value_name = "DEV", required = true)]
    pub devices: Vec<String>,
    #[arg(long, help = scheme_help())]
    pub scheme: Option<String>,
    /// Which end of the hop this is [default: base]
    ///
    /// At the mobile end the rest of the network is beyond the hop, and no scheme can tell the
    /// hop's losses from others by itself: `rack` with a key, `snack` and `dproxy` go by
    /// the agent at the other end, `csnoop` by the link's MAC. `slack` with `handoff` repeats its
    /// last ACK when the link is back. All others only watch there.
    #[arg(long, value_enum)]
    pub role: Option<Role>,
    /// Configuration file [default: /etc/lasthop/lasthop.toml if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Assist only connections with an end in PREFIX (and on PORT); may be repeated
    #[arg(long = "match", value_name = "PREFIX[:PORT]")]
    pub matches: Vec<String>,
    /// Leave connections with an end in PREFIX (and on PORT) alone; may be repeated
    #[arg(long, value_name = "PREFIX[:PORT]")]
    pub exclude: Vec<String>,
    /// File with the keys by which the agents of a link know each other [default: none]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Where the link's MAC reports what became of each frame, for scheme csnoop: a socket, or
    /// mac80211 for a radio of this machine
    #[arg(long, value_name = "SOCKET|mac80211")]
    pub mac_events: Option<PathBuf>,
    /// End when a device goes away, instead of waiting for it
    #[arg(long)]
    pub once: bool,
    /// Take the place of the process with that name (`lasthop reload --upgrade`)
    #[arg(long, hide = true, value_name = "NAME")]
    pub take_over: Option<String>,
    /// For a scheme that only watches: no cache, no policies, no messages (`lasthop observe`)
    #[arg(long, hide = true)]
    pub watch: bool,
    /// Print events as JSON Lines
    #[arg(short, long)]
    pub json: bool,
    /// Print what is going on inside (see also RUST_LOG)
    #[arg(short, long)]
    pub debug: bool,
}

/// Serve the devices of the configuration, as a service
///
/// Serves each device that has a section in the configuration, also those that come later, until
/// SIGINT or SIGTERM. `lasthop reload` or SIGHUP has it read the configuration again. Under systemd
/// it says when it is ready and feeds the watchdog.
#[derive(Args)]
#[command(
    after_help = "Example, /etc/lasthop/lasthop.toml:\n  [device.wlan0]\n  scheme = \"rack\""
)]
pub struct Daemon {
    /// Take the place of the daemon that runs, of this or of another version, with its connections
    ///
    /// It serves until this one does, and goes on if this one can't. Where there is none this one begins
    /// as usual.
    #[arg(long)]
    pub take_over: bool,
    /// Configuration file [default: /etc/lasthop/lasthop.toml if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print events as JSON Lines
    #[arg(short, long)]
    pub json: bool,
    /// Print what is going on inside (see also RUST_LOG)
    #[arg(short, long)]
    pub debug: bool,
}

/// Have the agents of this network namespace read their configuration again
///
/// Rules, parameters, keys and the scheme change under the connections that there are, which keep
/// what is cached and learned. What takes maps of another size (max_flows, cache_total) or other
/// marks is refused: end the agent and start it anew. Devices that have no section any more are let
/// go, and new ones taken up. What is wrong in the files leaves all as it is.
#[derive(Args)]
#[command(after_help = "Example:\n  lasthop reload -j | jq .dev,.reload")]
pub struct Reload {
    /// Take the place of each daemon and `attach` that is of another program than this, with its connections
    ///
    /// For packages, once they have replaced the program: as `lasthop daemon --take-over`, with the words
    /// that each was started with. Where one is a service's, systemd is asked to reload the service, whose
    /// unit has this for it. Where this version keeps connections in another layout the exit status is 3 and
    /// who has them has to be started anew; whatever else fails, it goes on. An `attach` on a terminal is left
    /// alone. Where nobody is of another program the configuration is read again.
    #[arg(long)]
    pub upgrade: bool,
    #[command(flatten)]
    pub common: Common,
}

/// Show devices and counters
#[derive(Args)]
#[command(after_help = "Example:\n  lasthop status -j | jq .counters.local_retransmits")]
pub struct Status {
    #[command(flatten)]
    pub common: Common,
}

/// Show connections
#[derive(Args)]
#[command(
    after_help = "Example:\n  lasthop flows -j wlan0 | jq 'select(.local_retransmits > 0)'\n  lasthop flows --why"
)]
pub struct Flows {
    /// Only of this device
    #[arg(value_name = "DEV")]
    pub device: Option<String>,
    /// Say of each why it is helped or not, and of each device what passes without help
    ///
    /// With -j each line gets the fields `why` and `why_text`; what is in no table is counted by the
    /// counters bypass_* of `lasthop status -j`.
    #[arg(long)]
    pub why: bool,
    #[command(flatten)]
    pub common: Common,
}

/// Show agents at the other ends of links
///
/// They are heard once the same key is given to both (`attach --key`).
#[derive(Args)]
#[command(after_help = "Example:\n  lasthop peers -j wlan0 | jq .rtt_us")]
pub struct Peers {
    /// Only of this device
    #[arg(value_name = "DEV")]
    pub device: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

/// Tell what happens to devices, receivers and connections
///
/// Devices that come, go and are renamed, reloads, outages of receivers, memory that gets scarce, agents
/// at the other ends of links, packets that pass without help, and of each connection the first repair.
/// It is found out by asking the serving processes from time to time: what comes and goes between two
/// looks is only counted. Without --follow it tells what is, and ends.
#[derive(Args)]
#[command(
    after_help = "Example:\n  lasthop events -f -j | jq -r 'select(.event == \"outage_begun\") | .mh'"
)]
pub struct Events {
    /// Only of this device
    #[arg(value_name = "DEV")]
    pub device: Option<String>,
    /// Go on until it is ended
    #[arg(short, long)]
    pub follow: bool,
    /// Time between two looks
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    #[command(flatten)]
    pub common: Common,
}

/// Watch devices, receivers and connections on a terminal
///
/// h shows the keys. Connections take a while to be asked for where there are many: then they are
/// asked for more seldom than the rest, in no more than a twentieth of the time.
#[derive(Args)]
#[command(
    after_help = "Example:\n  lasthop top --sort repairs --filter 10.2.0.0/24\n  lasthop top --once --show receivers"
)]
pub struct Top {
    /// What to show first
    #[arg(long, value_enum, default_value_t = Kind::Flows)]
    pub show: Kind,
    /// Column to sort that by, in small letters: mh, fh, dev, rate, repairs, why, srtt, ... [default: rate]
    #[arg(long, value_name = "COLUMN")]
    pub sort: Option<String>,
    /// Only rows with this text in them, or an address with this prefix
    #[arg(
        long,
        value_name = "TEXT|PREFIX",
        default_value = "",
        hide_default_value = true
    )]
    pub filter: String,
    /// Time between two looks
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Print one screen as text, after two looks, and end
    #[arg(long)]
    pub once: bool,
    /// Configuration file, for its runtime_dir
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// See what `rack` would do on a device, before it does
///
/// Watches as `rack` would, and touches no packet: what the link loses, the queue before it and the way
/// here; round trips and queues; and how much more `rack` would carry, for each kind of sender. Then it
/// says in words whether it is worth it here, and which settings fit. Goes on until it is ended (Ctrl-C)
/// or the time is over, and leaves nothing attached. The figures are as good as the traffic: observe for
/// some minutes, at a busy time.
#[derive(Args)]
#[command(
    after_help = "Example:\n  lasthop observe wlan0 --duration 5m\n  lasthop observe wlan0 -j --duration 1h | jq -c 'select(.final) | .verdict[].text'"
)]
pub struct Observe {
    /// Device that faces the lossy link
    #[arg(value_name = "DEV")]
    pub device: String,
    /// End after so long
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Time between two looks
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = interval)]
    pub interval: Duration,
    /// Observe only connections with an end in PREFIX (and on PORT); may be repeated
    #[arg(long = "match", value_name = "PREFIX[:PORT]")]
    pub matches: Vec<String>,
    /// Leave connections with an end in PREFIX (and on PORT) out; may be repeated
    #[arg(long, value_name = "PREFIX[:PORT]")]
    pub exclude: Vec<String>,
    #[command(flatten)]
    pub common: Common,
}

/// Make or change the keys of agents
///
/// A key is changed without a pause in three steps, on all agents one after another: the new key
/// below the old one in the file, then above it, then alone; `lasthop key reload` after each.
#[derive(Args)]
#[command(
    after_help = "Example:\n  umask 077; lasthop key new > /etc/lasthop/key\n  lasthop attach wlan0 --key /etc/lasthop/key"
)]
pub struct Key {
    #[command(subcommand)]
    pub verb: KeyVerb,
}

/// What is to be done about keys.
#[derive(Subcommand)]
pub enum KeyVerb {
    /// Print a new key
    New,
    /// Have the agents of this network namespace read their key files again
    Reload {
        /// Configuration file, for its runtime_dir
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

/// Split connections in two: this breaks TCP's end-to-end acknowledgement
///
/// A proxy to compare the schemes with (RFC 3135, section 3.1), not an agent. It answers in the
/// receiver's name: what the sender takes for delivered is lost if this machine fails, or the
/// receiver does not come back. IPsec does not pass; urgent data and TCP options of the hosts end
/// here. A connection is accepted when its other side has answered; where it has not, or the proxy
/// is gone, packets go through unchanged. Addresses stay as they are (TPROXY; needs nftables, and a
/// machine without NAT for what is split). Packets of split connections do not pass netfilter's
/// FORWARD chain: what it forbids, forbid in a prerouting chain of priority raw.
/// SIGINT takes no more connections and ends with the last one, a second SIGINT resets them.
#[derive(Args)]
#[command(
    after_help = "Example:\n  lasthop split wlan0 --match 10.2.0.0/24 --cc bbr\n\nTo help connections without breaking anything: lasthop attach."
)]
pub struct Split {
    /// Devices that face a lossy link
    #[arg(value_name = "DEV", required = true)]
    pub devices: Vec<String>,
    /// Split only connections with an end in PREFIX (and on PORT); may be repeated
    #[arg(long = "match", value_name = "PREFIX[:PORT]")]
    pub matches: Vec<String>,
    /// Leave connections with an end in PREFIX (and on PORT) whole; may be repeated
    #[arg(long, value_name = "PREFIX[:PORT]")]
    pub exclude: Vec<String>,
    /// Congestion control towards the lossy link [default: the machine's]
    #[arg(long, value_name = "NAME")]
    pub cc: Option<String>,
    /// Most that waits here in each direction of a connection
    #[arg(long, value_name = "SIZE", default_value = "256KiB")]
    pub buffer: String,
    /// Most connections at a time; others stay whole
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub connections: u32,
    /// Print events as JSON Lines
    #[arg(short, long)]
    pub json: bool,
    /// Print what is going on inside (see also RUST_LOG)
    #[arg(short, long)]
    pub debug: bool,
}

/// See whether this machine can do it
#[derive(Args)]
#[command(after_help = "Example:\n  lasthop check wlan0")]
pub struct Check {
    /// Devices to look at
    #[arg(value_name = "DEV")]
    pub devices: Vec<String>,
    /// Configuration file, for the memory that it sets [default: /etc/lasthop/lasthop.toml if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// JSON Lines
    #[arg(short, long)]
    pub json: bool,
}

/// Gather what a bug report needs in one archive
///
/// A tar.gz with: version and kernel, what `check`, `status`, `flows --why` and `peers` say (as JSON
/// Lines), the configuration without comments, and the numbers of the BPF programs on the devices that
/// are served. Its README.txt tells which is where.
///
/// Masked, by names that are the same for the same address: IP addresses (ip4-1, ip6-2) and layer-2
/// addresses (mac-1), also one that a device is named by. Keys are never in it. As they are: other
/// names of devices, names of files, ports, VLANs, lengths of prefixes, counters and times. Neither
/// packets nor messages of the kernel are in it. Look through it before you send it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  lasthop report -o report.tar.gz && tar -xOzf report.tar.gz | less"
)]
pub struct Report {
    /// Where to write it, a file that is not there yet [default: lasthop-report-TIME.tar.gz]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Configuration file [default: /etc/lasthop/lasthop.toml if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Tell the agent that a device's link went down or came up
///
/// For what the device's carrier doesn't show: an association lost or won, a handoff, a modem. The
/// carrier is heeded without this. Schemes `rack` and `slack` act on it (down: no need to wait for
/// repairs to fail; up: the oldest segment goes out at once), `dproxy` asks for nothing while the link
/// is down, others take no notice.
#[derive(Args)]
#[command(
    after_help = "Example, an action script for wpa_cli -a:\n  #!/bin/sh\n  case $2 in\n  CONNECTED) lasthop link \"$1\" up ;;\n  DISCONNECTED) lasthop link \"$1\" down ;;\n  esac"
)]
pub struct Link {
    /// Device that the agent is attached to
    #[arg(value_name = "DEV")]
    pub device: String,
    /// What has become of its link
    #[arg(value_enum)]
    pub state: LinkState,
    /// Configuration file, for its runtime_dir
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// What has become of a link.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum LinkState {
    Up,
    Down,
}

/// What verbs that ask have in common.
#[derive(Args)]
pub struct Common {
    /// JSON Lines
    #[arg(short, long)]
    pub json: bool,
    /// Configuration file, for its runtime_dir
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// From the core's list, so that a new scheme is told of here as well.
fn scheme_help() -> String {
    let schemes: Vec<String> = lasthop_core::schemes()
        .map(|scheme| format!("{} ({})", scheme.name, scheme.doc))
        .collect();
    format!(
        "What to do about losses: {} [default: rack]",
        schemes.join(", ")
    )
}

/// How long something goes on.
fn duration(text: &str) -> Result<Duration, String> {
    units::duration_ns(text).map(Duration::from_nanos)
}

/// A time between two looks.
fn interval(text: &str) -> Result<Duration, String> {
    let ns = units::duration_ns(text)?;
    match Duration::from_nanos(ns) {
        time if (INTERVAL_LEAST..=INTERVAL_MOST).contains(&time) => Ok(time),
        _ => Err(format!("'{text}': from 200ms to 1h")),
    }
}

impl Verb {
    /// Whether it serves, and goes on when nobody reads what it prints.
    pub fn stays(&self) -> bool {
        matches!(self, Self::Attach(_) | Self::Daemon(_) | Self::Split(_))
    }
}
