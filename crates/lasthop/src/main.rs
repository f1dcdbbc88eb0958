// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of the agent.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Error, Result, bail};
use clap::{Args, Parser, Subcommand};
use lasthop::memory::Room;
use lasthop::role::Role;
use lasthop::{
    ask, check, config, daemon, device, keyfile, peers, reference, report, split, units,
};
use lasthop_core::bindings::LH_POLICY_MAC;
use serde_json::Value;

/// TCP-aware agent for the interface that faces a lossy link
#[derive(Parser)]
#[command(
    version,
    after_help = "Example:\n  lasthop check wlan0 && lasthop attach wlan0\n\nSettings: /etc/lasthop/lasthop.toml; lasthop defaults explains them."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Attach(Attach),
    Status(Status),
    Flows(Flows),
    Peers(Peers),
    Check(Check),
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
struct Attach {
    /// Devices that face a lossy link
    #[arg(value_name = "DEV", required = true)]
    devices: Vec<String>,
    #[arg(long, help = scheme_help())]
    scheme: Option<String>,
    /// Which end of the hop this is [default: base]
    ///
    /// At the mobile end the rest of the network is beyond the hop, and no scheme can tell the
    /// hop's losses from others by itself: `snack` asks the agent at the other end, `csnoop` the
    /// link's MAC, all others only watch there.
    #[arg(long, value_enum)]
    role: Option<Role>,
    /// Configuration file [default: /etc/lasthop/lasthop.toml if it exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Assist only connections with an end in PREFIX (and on PORT); may be repeated
    #[arg(long = "match", value_name = "PREFIX[:PORT]")]
    matches: Vec<String>,
    /// Leave connections with an end in PREFIX (and on PORT) alone; may be repeated
    #[arg(long, value_name = "PREFIX[:PORT]")]
    exclude: Vec<String>,
    /// File with the keys by which the agents of a link know each other [default: none]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Where the link's MAC reports what became of each frame, for scheme csnoop: a socket, or
    /// mac80211 for a radio of this machine
    #[arg(long, value_name = "SOCKET|mac80211")]
    mac_events: Option<PathBuf>,
    /// End when a device goes away, instead of waiting for it
    #[arg(long)]
    once: bool,
    /// Print events as JSON Lines
    #[arg(short, long)]
    json: bool,
    /// Print what is going on inside (see also RUST_LOG)
    #[arg(short, long)]
    debug: bool,
}

/// Show devices and counters
#[derive(Args)]
#[command(after_help = "Example:\n  lasthop status -j | jq .counters.local_retransmits")]
struct Status {
    #[command(flatten)]
    common: Common,
}

/// Show connections
#[derive(Args)]
#[command(after_help = "Example:\n  lasthop flows -j wlan0 | jq 'select(.local_retransmits > 0)'")]
struct Flows {
    /// Only of this device
    #[arg(value_name = "DEV")]
    device: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Show agents at the other ends of links
///
/// They are heard once the same key is given to both (`attach --key`).
#[derive(Args)]
#[command(after_help = "Example:\n  lasthop peers -j wlan0 | jq .rtt_us")]
struct Peers {
    /// Only of this device
    #[arg(value_name = "DEV")]
    device: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Make or change the keys of agents
///
/// A key is changed without a pause in three steps, on all agents one after another: the new key
/// below the old one in the file, then above it, then alone; `lasthop key reload` after each.
#[derive(Args)]
#[command(
    after_help = "Example:\n  umask 077; lasthop key new > /etc/lasthop/key\n  lasthop attach wlan0 --key /etc/lasthop/key"
)]
struct Key {
    #[command(subcommand)]
    verb: KeyVerb,
}

#[derive(Subcommand)]
enum KeyVerb {
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
/// is gone, packets go through unchanged. Addresses stay as they are (TPROXY; needs nftables).
/// SIGINT takes no more connections and ends with the last one, a second SIGINT resets them.
#[derive(Args)]
#[command(
    after_help = "Example:\n  lasthop split wlan0 --match 10.2.0.0/24 --cc bbr\n\nTo help connections without breaking anything: lasthop attach."
)]
struct Split {
    /// Devices that face a lossy link
    #[arg(value_name = "DEV", required = true)]
    devices: Vec<String>,
    /// Split only connections with an end in PREFIX (and on PORT); may be repeated
    #[arg(long = "match", value_name = "PREFIX[:PORT]")]
    matches: Vec<String>,
    /// Leave connections with an end in PREFIX (and on PORT) whole; may be repeated
    #[arg(long, value_name = "PREFIX[:PORT]")]
    exclude: Vec<String>,
    /// Congestion control towards the lossy link [default: the machine's]
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,
    /// Most that waits here in each direction of a connection
    #[arg(long, value_name = "SIZE", default_value = "256KiB")]
    buffer: String,
    /// Most connections at a time; others stay whole
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: u32,
    /// Print events as JSON Lines
    #[arg(short, long)]
    json: bool,
    /// Print what is going on inside (see also RUST_LOG)
    #[arg(short, long)]
    debug: bool,
}

/// See whether this machine can do it
#[derive(Args)]
#[command(after_help = "Example:\n  lasthop check wlan0")]
struct Check {
    /// Devices to look at
    #[arg(value_name = "DEV")]
    devices: Vec<String>,
    /// JSON Lines
    #[arg(short, long)]
    json: bool,
}

/// Tell the agent that a device's link went down or came up
///
/// For what the device's carrier doesn't show: an association lost or won, a handoff, a modem. The
/// carrier is heeded without this. Schemes `rack` and `slack` act on it (down: no need to wait for
/// repairs to fail; up: the oldest segment goes out at once), others take no notice.
#[derive(Args)]
#[command(
    after_help = "Example, an action script for wpa_cli -a:\n  #!/bin/sh\n  case $2 in\n  CONNECTED) lasthop link \"$1\" up ;;\n  DISCONNECTED) lasthop link \"$1\" down ;;\n  esac"
)]
struct Link {
    /// Device that the agent is attached to
    #[arg(value_name = "DEV")]
    device: String,
    /// What has become of its link
    #[arg(value_enum)]
    state: LinkState,
    /// Configuration file, for its runtime_dir
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum LinkState {
    Up,
    Down,
}

#[derive(Args)]
struct Common {
    /// JSON Lines
    #[arg(short, long)]
    json: bool,
    /// Configuration file, for its runtime_dir
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
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

/// Like other tools, verbs that only print end quietly when nobody reads on (`| head`). `attach`
/// goes on: its work is not the printing.
fn end_with_the_reader() {
    // SAFETY: the default action of a signal, set before there are threads.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

fn attach(args: &Attach) -> Result<()> {
    let mut file = config::read_or_default(args.config.as_deref())?;
    file.matches.extend(args.matches.iter().cloned());
    file.exclude.extend(args.exclude.iter().cloned());
    file.key = args.key.clone().or(file.key);
    file.mac_events = args.mac_events.clone().or(file.mac_events);
    let scheme = args.scheme.clone().or_else(|| file.scheme.clone());
    let scheme = scheme.unwrap_or_else(|| "rack".into());
    let mut setup = file.setup(&scheme, &Room::of_this_machine(args.devices.len()))?;
    if let Some(role) = args.role {
        setup.config.role = role.number(&args.devices)?;
    }
    if setup.config.rests() {
        eprintln!(
            "lasthop: at the mobile end of a hop scheme {scheme} can't tell the hop's losses from others and only watches: use --scheme snack with an agent at the other end"
        );
    }
    let mac_events = mac_events(&scheme, &setup.config, &file, args.devices.len())?;
    daemon::run(&daemon::Options {
        devices: args.devices.clone(),
        scheme,
        setup,
        keys: file.key.clone(),
        mac_events,
        runtime_dir: file.runtime_dir(),
        once: args.once,
        json: args.json,
    })
}

/// Where the MAC's word comes from, for a scheme that goes by it; others have no use for it.
fn mac_events(
    scheme: &str,
    config: &lasthop_core::Config,
    file: &config::File,
    nr_devices: usize,
) -> Result<Option<PathBuf>> {
    if config.policy() & LH_POLICY_MAC == 0 {
        return Ok(None);
    }
    match &file.mac_events {
        None => bail!(
            "scheme {scheme} goes by what the link's MAC reports: say where with --mac-events mac80211 or a socket"
        ),
        Some(_) if nr_devices > 1 => {
            bail!("--mac-events is one link's: attach devices one by one")
        }
        Some(path) => Ok(Some(path.clone())),
    }
}

/// Asks the serving processes, and parses what they answer; and who did not.
fn ask_them(
    common: &Common,
    device: Option<&str>,
    request: &str,
) -> Result<(Vec<Value>, Vec<String>)> {
    let runtime_dir = config::read_or_default(common.config.as_deref())?.runtime_dir();
    let answers = ask::ask_all(&runtime_dir, device, request)?;
    let parse = |line: &String| serde_json::from_str(line).context("an answer that is no JSON");
    let values: Result<Vec<Value>> = answers.lines.iter().map(parse).collect();
    Ok((values?, answers.silent))
}

/// Devices that could not be asked are an error, once the others are shown.
fn complain(silent: &[String]) -> Result<()> {
    if silent.is_empty() {
        return Ok(());
    }
    bail!("{}", silent.join("; "))
}

fn print_lines(values: &[Value]) {
    for value in values {
        println!("{value}");
    }
}

fn status(args: &Status) -> Result<()> {
    let (devices, silent) = ask_them(&args.common, None, "status")?;
    if args.common.json {
        print_lines(&devices);
    } else if devices.is_empty() && silent.is_empty() {
        println!("nothing is attached in this network namespace");
    } else {
        devices
            .iter()
            .for_each(|device| print!("{}", report::status_for_people(device)));
    }
    complain(&silent)
}

fn flows(args: &Flows) -> Result<()> {
    let device = args.device.as_deref().map(device::real_name);
    let (flows, silent) = ask_them(&args.common, device.as_deref(), "flows")?;
    if args.common.json {
        print_lines(&flows);
    } else if flows.is_empty() && silent.is_empty() {
        println!("no connections");
    } else if !flows.is_empty() {
        print!("{}", report::flows_for_people(&flows));
    }
    complain(&silent)
}

fn peers(args: &Peers) -> Result<()> {
    let device = args.device.as_deref().map(device::real_name);
    let (peers, silent) = ask_them(&args.common, device.as_deref(), "peers")?;
    if args.common.json {
        print_lines(&peers);
    } else if peers.is_empty() && silent.is_empty() {
        println!("no other agents heard");
    } else if !peers.is_empty() {
        print!("{}", peers::for_people(&peers));
    }
    complain(&silent)
}

fn key(args: &Key) -> Result<()> {
    let config = match &args.verb {
        KeyVerb::New => {
            println!("{}", keyfile::new()?);
            return Ok(());
        }
        KeyVerb::Reload { config } => config,
    };
    let runtime_dir = config::read_or_default(config.as_deref())?.runtime_dir();
    let answers = ask::ask_all(&runtime_dir, None, "key reload")?;
    answers.lines.iter().for_each(|line| println!("{line}"));
    complain(&answers.silent)
}

fn link(args: &Link) -> Result<()> {
    let runtime_dir = config::read_or_default(args.config.as_deref())?.runtime_dir();
    let device = device::real_name(&args.device);
    let request = match args.state {
        LinkState::Up => "link up",
        LinkState::Down => "link down",
    };
    let answers = ask::ask_all(&runtime_dir, Some(&device), request)?;
    answers.lines.iter().for_each(|line| println!("{line}"));
    complain(&answers.silent)
}

fn split(args: &Split) -> Result<()> {
    let matches = args.matches.iter().map(|text| units::rule(text, false));
    let rules = matches.chain(args.exclude.iter().map(|text| units::rule(text, true)));
    let buffer = units::size_bytes(&args.buffer).map_err(Error::msg)?;
    if !(4096..=64 << 20).contains(&buffer) {
        bail!("--buffer {}: from 4KiB to 64MiB", args.buffer);
    }
    split::run(split::Options {
        devices: args.devices.clone(),
        rules: rules.collect::<Result<_, _>>().map_err(Error::msg)?,
        buffer_bytes: buffer as u32,
        connections: args.connections as usize,
        cc: args.cc.clone(),
        json: args.json,
    })
}

/// Whether attach can work.
fn check_all(args: &Check) -> bool {
    let mut findings = check::machine();
    for device in &args.devices {
        findings.extend(check::device(device));
    }
    for finding in &findings {
        if args.json {
            println!("{}", finding.json());
        } else {
            println!("{}", finding.line());
        }
    }
    check::passed(&findings)
}

fn start_log(debug: bool) {
    let default = if debug {
        "lasthop=debug"
    } else {
        "lasthop=warn"
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false)
        .init();
}

/// libbpf's own messages are for who debugs; people get our one line.
fn quiet_libbpf() {
    libbpf_rs::set_print(Some((libbpf_rs::PrintLevel::Debug, |level, text| {
        tracing::debug!("libbpf {level:?}: {}", text.trim_end());
    })));
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let debug = match &cli.verb {
        Verb::Attach(args) => args.debug,
        Verb::Split(args) => args.debug,
        _ => false,
    };
    start_log(debug);
    quiet_libbpf();
    if !matches!(cli.verb, Verb::Attach(_) | Verb::Split(_)) {
        end_with_the_reader();
    }
    let done = match &cli.verb {
        Verb::Attach(args) => attach(args),
        Verb::Status(args) => status(args),
        Verb::Flows(args) => flows(args),
        Verb::Peers(args) => peers(args),
        Verb::Link(args) => link(args),
        Verb::Key(args) => key(args),
        Verb::Split(args) => split(args),
        Verb::Check(args) => {
            return if check_all(args) {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            };
        }
        Verb::Defaults => {
            print!("{}", config::keys::defaults());
            Ok(())
        }
        Verb::Fields => {
            print!("{}", reference::page());
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lasthop: {error:#}");
            ExitCode::FAILURE
        }
    }
}
