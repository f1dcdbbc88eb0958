// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of the exporter.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Parser;
use lasthop::{config, signals};
use lasthop_exporter::asker::Asker;
use lasthop_exporter::families;
use lasthop_exporter::format::Format;
use lasthop_exporter::sample::Sample;
use lasthop_exporter::sampler::Sampler;
use lasthop_exporter::server::Server;
use lasthop_exporter::textfile;
use nix::sys::signal::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// What lasthop's agents count, for Prometheus and as a page
///
/// Asks the agents of this network namespace by their control sockets, as `lasthop status -j` does,
/// and serves what they say: /metrics (OpenMetrics, or Prometheus' text), / (a page for people) and
/// /api/v1/now (JSON). Needs no rights but to ask: root's, or those of the group that runtime_dir is
/// for (docs/metrics.md).
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  lasthop-exporter --expect wlan0          # then: curl http://127.0.0.1:9788/metrics\n  lasthop-exporter --textfile /var/lib/prometheus/node-exporter/lasthop.prom --every 15s"
)]
struct Cli {
    /// Where to serve. Anybody who gets there may read: beyond this machine put a proxy before it
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:9788",
        conflicts_with = "textfile"
    )]
    listen: SocketAddr,
    /// How often agents are asked for the page's last hour, from 1s to 60s
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = interval, conflicts_with = "textfile")]
    interval: Duration,
    /// Write a file for node_exporter's textfile collector and end, instead of serving
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    /// Write the file again and again, from 1s to 1h; it is removed at the end
    #[arg(long, value_name = "TIME", value_parser = every, requires = "textfile")]
    every: Option<Duration>,
    /// Metrics of receivers as well: six more series for each of at most 64 per device
    #[arg(long)]
    receivers: bool,
    /// A device that should have an agent: lasthop_up is 0 while it hasn't; may be repeated
    #[arg(long, value_name = "DEV")]
    expect: Vec<String>,
    /// The agents' configuration file, for its runtime_dir [default: /etc/lasthop/lasthop.toml if it
    /// exists]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn interval(text: &str) -> Result<Duration, String> {
    between(text, 60)
}

fn every(text: &str) -> Result<Duration, String> {
    between(text, 3600)
}

fn between(text: &str, most_s: u64) -> Result<Duration, String> {
    let ns = lasthop_units::duration_ns(text).map_err(|_| "a time, such as 15s".to_owned())?;
    let time = Duration::from_nanos(ns);
    if (Duration::from_secs(1)..=Duration::from_secs(most_s)).contains(&time) {
        Ok(time)
    } else {
        Err(format!("from 1s to {most_s}s"))
    }
}

/// Whatever is listened to from outside is told what it is.
async fn serve(args: &Cli, asker: Asker) -> Result<()> {
    let sampler = Arc::new(Sampler::new(asker, args.interval));
    let server = Server::listen(args.listen, Arc::clone(&sampler), args.receivers).await?;
    let at = server.address()?;
    if !at.ip().is_loopback() {
        eprintln!(
            "lasthop-exporter: {at} can be reached from other machines, and tells everybody receivers' addresses: see docs/metrics.md"
        );
    }
    tokio::spawn(sampler.run());
    say(&format!("lasthop-exporter: serving http://{at}/"));
    server.run().await;
    Ok(())
}

/// On standard output at once: others wait for the line. Nobody there is no reason to end.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

async fn ask(asker: &Arc<Asker>) -> Result<Sample> {
    let asker = Arc::clone(asker);
    Ok(tokio::task::spawn_blocking(move || asker.ask()).await?)
}

/// Writes once. What nobody could be asked for must not look as if it had been: the file then says
/// that it is not there, and this is an error.
async fn write_once(file: &Path, asker: Asker, receivers: bool) -> Result<()> {
    let sample = ask(&Arc::new(asker)).await?;
    textfile::write(file, &Format::Text.write(families::of(&sample, receivers)))?;
    match sample.nothing() {
        Some(why) => bail!("{why}"),
        None => Ok(()),
    }
}

/// Writes without end. What can't be written is said once, until it can again.
async fn write_again(file: &Path, every: Duration, asker: Asker, receivers: bool) -> Result<()> {
    let asker = Arc::new(asker);
    let mut said = String::new();
    let mut ticks = tokio::time::interval(every);
    loop {
        ticks.tick().await;
        let sample = ask(&asker).await?;
        let text = Format::Text.write(families::of(&sample, receivers));
        let complaint = match textfile::write(file, &text) {
            Ok(()) => sample.nothing().unwrap_or_default(),
            Err(error) => format!("{error:#}"),
        };
        if complaint != said && !complaint.is_empty() {
            eprintln!("lasthop-exporter: {complaint}; trying again");
        }
        said = complaint;
    }
}

async fn work(args: &Cli) -> Result<()> {
    let runtime_dir = config::runtime_dir_or_warn("lasthop-exporter", args.config.as_deref())?;
    let asker = Asker::new(runtime_dir, args.expect.clone());
    match (&args.textfile, args.every) {
        (None, _) => serve(args, asker).await,
        (Some(file), None) => write_once(file, asker, args.receivers).await,
        (Some(file), Some(every)) => write_again(file, every, asker, args.receivers).await,
    }
}

/// Waits until the terminal is gone; for ever where whoever started us (nohup) has that ignored.
fn hangup() -> Result<impl Future<Output = ()>> {
    let heeded = !signals::is_ignored(Signal::SIGHUP);
    let mut hangup = heeded.then(|| signal(SignalKind::hangup())).transpose()?;
    Ok(async move {
        match &mut hangup {
            Some(hangup) => drop(hangup.recv().await),
            None => std::future::pending().await,
        }
    })
}

async fn until_told(args: &Cli) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let hung_up = hangup()?;
    let told = tokio::select! {
        done = work(args) => return done,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        () = hung_up => Ok(()),
    };
    // Nobody renews it any more, and its figures would be taken for those of now.
    if let (Some(file), Some(_)) = (&args.textfile, args.every) {
        let _ = std::fs::remove_file(file);
    }
    told
}

fn main() -> ExitCode {
    let args = Cli::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(2)
        .build();
    let done = runtime.map_err(Into::into).and_then(|runtime| {
        let done = runtime.block_on(until_told(&args));
        // Who asks an agent that hangs need not be waited for.
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lasthop-exporter: {error:#}");
            ExitCode::FAILURE
        }
    }
}
