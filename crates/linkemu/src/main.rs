// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `linkemu`: the link emulator's command line.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use linkemu::control::{self, ControlServer};
use linkemu::{Config, Relay, RelayHandle, Stats};
use nix::sys::signal::{SigSet, Signal};

const EXAMPLE: &str = r#"Example: a link of 20 Mbit/s and 5 ms, 2 % loss one way, between two interfaces
that exist in this network namespace (run as root, or with CAP_NET_RAW and
CAP_NET_ADMIN):

  echo '{"a": "veth-bs", "b": "veth-mh", "seed": 7,
         "a_to_b": {"rate_bps": 20000000, "delay_ns": 5000000,
                    "queue_frames": 182, "loss": 0.02},
         "b_to_a": {"rate_bps": 20000000, "delay_ns": 5000000}}' |
  linkemu run --config - --control /run/linkemu.sock

Keys of a direction, all optional:
  rate_bps (0: unlimited), queue_frames (1000)
  rate_wave, in place of rate_bps: [[rate_bps, duration_ns], ...] over and over
  rate_trace, in place of rate_bps: path of a mahimahi trace (milliseconds, one a
    line, each an opportunity to send a full frame), or the list itself
  delay_ns, jitter_ns (0 to so much more for each frame, in order), batch_ns
    (deliver only at multiples of it), flow_delays_ns ([extra delay of the first
    TCP connection seen, of the second, ...], again from the first if there are
    more), reorder and reorder_delay_ns (a share of the frames is overtaken)
  loss, burst_loss and burst_frames (a share of the frames is lost in bursts of a
    mean length), ber, loss_every, outages_ns ([[start, end], ...] since the relay began),
  lossless_non_ip (true: ARP and neighbour discovery are never lost)
  police_bps and police_burst_bytes (a policer drops what is beyond the rate)
  aqm ("fifo", "codel" of RFC 8289, "fq_codel" of RFC 8290), ack_thin (a pure ACK
    takes the place of an older one that waits, for at most so many)
  stations: [{"addresses": ["10.0.0.2", "fd00::2"], "rate_bps", "loss",
    "queue_frames"}, ...]: receivers on the side of b, each with a queue and a
    transmitter of its own; all others share the link above
An 802.11 medium that both directions share takes the place of their rates and
stations; their losses then hit its data frames:
  "mac": {"standard": "802.11a"|"802.11b"|"802.11g", "rate_mbps", "basic_rate_mbps"
    (of ACKs), "preamble" ("long", "short"; 802.11b), "policy" ("ack", "no_ack",
    "block_ack_burst", "block_ack_each"), "block_frames" (16), "tries" (7 in all),
    "txop_ns" (limit of a burst of frames; 0: one per access), "aifsn" (2), "cw_min" (15;
    802.11b: 31), "cw_max" (1023),
    "loss_per" ("attempt", "packet"), "control_loss" (of ACKs and the like),
    "tx_watts" (0.6), "rx_watts" (0.3), "idle_watts" (0.3)}
Super-packets of TCP and UDP (tso, gso, gro) are cut into the frames that a card would
send; frames over 9216 bytes are dropped and counted.
The namespace's own IPv6 stack talks on the interfaces too; silence it with
  sysctl net.ipv6.conf.all.disable_ipv6=1"#;

const SET_EXAMPLE: &str = r#"Examples:
  linkemu set /run/linkemu.sock '{"dir": "a_to_b", "loss": 0.05, "rate_bps": 5000000}'
  linkemu set /run/linkemu.sock '{"dir": "a_to_b", "rate_wave": [[30000000, 2000000000], [10000000, 2000000000]]}'
  linkemu set /run/linkemu.sock '{"dir": "mac", "tries": 4, "rate_mbps": 24}'"#;

/// Link emulator: relays Ethernet frames between two interfaces with a rate, a delay, a queue and
/// losses per direction.
#[derive(Parser)]
#[command(name = "linkemu", version, about, after_help = EXAMPLE)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Relay until SIGINT or SIGTERM, then print the counters as one line of JSON.
    Run(Run),
    /// Print the counters of a running relay as one line of JSON.
    #[command(after_help = "Example:\n  linkemu stats /run/linkemu.sock")]
    Stats {
        /// Control socket of the relay.
        path: PathBuf,
    },
    /// Change one direction, or the MAC, of a running relay; keys that are not named stay as they are.
    #[command(after_help = SET_EXAMPLE)]
    Set {
        /// Control socket of the relay.
        path: PathBuf,
        /// Direction and keys, such as {"dir": "a_to_b", "loss": 0.02}.
        json: String,
    },
}

#[derive(Args)]
#[command(after_help = EXAMPLE)]
struct Run {
    /// File with the configuration as JSON; - reads standard input.
    #[arg(long, value_name = "FILE|-")]
    config: PathBuf,
    /// UNIX socket to serve `linkemu stats` and `linkemu set` on; removed at exit.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(options) => run(&options),
        Command::Stats { path } => ask(&path, "stats"),
        // The protocol ends a request at the line end, which JSON takes for a space.
        Command::Set { path, json } => ask(&path, &format!("set {}", json.replace('\n', " "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("linkemu: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Run) -> Result<()> {
    let config = Config::from_json(&read_config(&options.config)?)?;
    let ready = format!("linkemu: relaying {} <-> {}", config.a, config.b);
    let relay = Relay::open(config)?;
    stop_on_signals(relay.stats_handle())?;
    let control = options.control.as_deref();
    let server = control
        .map(|path| ControlServer::start(path, relay.stats_handle()))
        .transpose()?;
    print_line(&ready)?;
    let stats = relay.run(&AtomicBool::new(false))?;
    drop(server);
    warn_if_distorted(&stats);
    print_line(&serde_json::to_string(&stats)?)
}

fn read_config(path: &Path) -> Result<String> {
    if path != Path::new("-") {
        return std::fs::read_to_string(path).with_context(|| format!("config {}", path.display()));
    }
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .context("config from standard input")?;
    Ok(text)
}

/// Must be called before any other thread exists, so that all of them leave the signals to the
/// one that waits here.
fn stop_on_signals(handle: Arc<RelayHandle>) -> Result<()> {
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
    signals.thread_block().context("blocking signals")?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            // Fails only for an invalid set; to stop is then the safe answer too.
            let _ = signals.wait();
            handle.stop();
        })?;
    Ok(())
}

/// Losses that the emulator itself caused make a run worthless; say so where a person looks.
fn warn_if_distorted(stats: &Stats) {
    for (name, direction) in [("a_to_b", &stats.a_to_b), ("b_to_a", &stats.b_to_a)] {
        let drops = direction.rx_kernel_drops + direction.overflow_frames + direction.tx_errors;
        if drops > 0 {
            eprintln!(
                "linkemu: {name}: {drops} frames lost by the emulator itself, see the counters"
            );
        }
    }
}

fn ask(path: &Path, line: &str) -> Result<()> {
    let answer = control::request(path, line)?;
    let value: serde_json::Value = serde_json::from_str(&answer).context("answer of the relay")?;
    if let Some(error) = value.get("error").and_then(|e| e.as_str()) {
        bail!("{error}");
    }
    print_line(&answer)
}

fn print_line(line: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .context("standard output")
}
