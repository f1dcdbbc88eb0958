// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The verbs of the command line.

use std::env;
use std::io::{self, BufWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lasthop_lab::base::interrupt;
use lasthop_lab::bed::left::Inside;
use lasthop_lab::bed::namespace::Namespace;
use lasthop_lab::bed::runs::{self, Condition, Run};
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::{netns, passthrough};
use lasthop_lab::cell::options::{CompareOptions, NO_AGENT};
use lasthop_lab::cell::record;
use lasthop_lab::data::ends::Agents;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::scheme;
use lasthop_lab::data::topology::{self, Family, Topology};
use lasthop_lab::engines::testbed::samples;
use lasthop_lab::studies::compare::{self, Verdict};
use lasthop_lab::studies::cost::{self, options::BenchReportOptions};
use lasthop_lab::studies::experiment::{self, RunOptions};
use lasthop_lab::studies::grid::{self, GridOptions};
use lasthop_lab::studies::replay::{self, ReplayOptions};
use lasthop_lab::studies::report;
use lasthop_lab::studies::report::options::ReportOptions;
use lasthop_lab::studies::soak;
use lasthop_lab::studies::soak::options::SoakOptions;

/// As shells report a command that SIGINT ended.
const EXIT_INTERRUPTED: u8 = 130;
/// How long a periodic outage comes back on a bed that stands.
const OUTAGE_HORIZON: Duration = Duration::from_secs(3600);

/// Options of `up`.
#[derive(Debug, clap::Args)]
pub struct UpOptions {
    /// Name of the run, part of its namespaces' names [default: a unique one]
    #[arg(long, value_name = "RUN")]
    name: Option<String>,

    /// Attach the agent with this scheme to the lossy device of BS, with --hops of each, or start split, passthrough or pepsal
    /// in its place; none: no agent
    #[arg(long, value_name = "SCHEME", default_value = NO_AGENT)]
    scheme: String,

    /// Configuration file handed to the agent
    #[arg(long = "agent-config", value_name = "FILE")]
    agent_config: Option<PathBuf>,

    /// Seed of the emulators' losses
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    link: LinkOptions,
}

/// Options of `down`.
#[derive(Debug, clap::Args)]
pub struct DownOptions {
    /// Name of the run; the only one if none is given
    #[arg(value_name = "RUN", conflicts_with_all = ["all", "crashed"])]
    run: Option<String>,

    /// Every run that `up` made or that a crash left; not those of a lab that runs now
    #[arg(long)]
    all: bool,

    /// Only what crashes left
    #[arg(long, conflicts_with_all = ["all", "force"])]
    crashed: bool,

    /// Also runs of a lab that runs now
    #[arg(long)]
    force: bool,
}

/// Options of `shell`.
#[derive(Debug, clap::Args)]
pub struct ShellOptions {
    /// Host to work on: fh, wan, bs, air or mh; with --hops bs2, air2 and so on, too
    #[arg(value_parser = host_name)]
    host: String,

    /// Name of the run; the only one if none is given
    #[arg(value_name = "RUN")]
    run: Option<String>,

    /// Command in place of $SHELL
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Options of `passthrough`.
#[derive(Debug, clap::Args)]
pub struct PassthroughOptions {
    /// Devices of this network namespace whose TCP goes through the queue, both ways
    #[arg(value_name = "DEV", required = true)]
    devices: Vec<String>,
}

/// Options of `fields`.
#[derive(Debug, clap::Args)]
pub struct FieldsOptions {
    /// Command whose output is described
    #[arg(value_enum, default_value_t)]
    command: Described,
}

/// Commands with output for programs.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Described {
    #[default]
    Compare,
    Run,
    Report,
    Replay,
    /// `compare --samples`
    Samples,
}

/// `compare`.
pub fn compare(options: &CompareOptions) -> Result<ExitCode> {
    interrupt::install()?;
    Ok(exit_code(compare::run(options)?))
}

/// `grid`.
pub fn grid(options: &GridOptions) -> Result<ExitCode> {
    interrupt::install()?;
    let words: Vec<String> = env::args().skip(1).collect();
    Ok(exit_code(grid::run(options, &words)?))
}

/// `run`.
pub fn run(options: &RunOptions) -> Result<ExitCode> {
    interrupt::install()?;
    Ok(exit_code(experiment::run(options)?))
}

/// `soak`.
pub fn soak(options: &SoakOptions) -> Result<ExitCode> {
    interrupt::install()?;
    Ok(exit_code(soak::run(options)?))
}

/// `report`.
pub fn report(options: &ReportOptions) -> Result<ExitCode> {
    let page = report::report(options)?;
    print(&format!("{}\n", page.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// `bench-report`.
pub fn bench_report(options: &BenchReportOptions) -> Result<ExitCode> {
    interrupt::install()?;
    let (page, worst) = cost::run(options)?;
    let off = format!("largest error of the model: {:.0} %", 100.0 * worst);
    print(&format!("{off}\n{}\n", page.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn exit_code(verdict: Verdict) -> ExitCode {
    match verdict {
        Verdict::Good => ExitCode::SUCCESS,
        Verdict::Failed => ExitCode::FAILURE,
        Verdict::Interrupted => {
            eprintln!("lasthop-lab: interrupted; everything has been removed");
            ExitCode::from(EXIT_INTERRUPTED)
        }
    }
}

/// `up`.
pub fn up(options: &UpOptions) -> Result<ExitCode> {
    interrupt::install()?;
    scheme::check_name(&options.scheme)?;
    let mut link = options.link.clone();
    link.seed = options.seed;
    let bed = TestBed::build(options.name.as_deref(), &link, true)?;
    if let Some(outage) = link.outage {
        bed.schedule_outage(outage, Instant::now(), OUTAGE_HORIZON)?;
    }
    let config = options.agent_config.as_deref();
    // It stays when this handle goes, as all of the bed does.
    drop(bed.start_helper(&options.scheme, Agents::Base, config, &[])?);
    interrupt::check()?;
    for note in bed.notes() {
        eprintln!("lasthop-lab: note: {note}");
    }
    let name = bed.keep()?;
    print(&format!(
        "run {name}: {}\n{}{}\nlasthop-lab shell mh {name}      lasthop-lab down {name}\n",
        link.summary(),
        picture(&link),
        more_hosts(&link)
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Hosts and addresses.
fn picture(link: &LinkOptions) -> String {
    if link.hops == 1 {
        return "\n  fh ──── wan ──── bs ──── air ──── mh\
                \n  10.1.0.2   10.1.0.1 10.2.0.1   10.2.0.2\
                \n  fd01::2    fd01::1  fd02::1    fd02::2\n"
            .to_owned();
    }
    let topology = Topology::of(link.hosts.count(), link.hops);
    let names: Vec<&str> = topology.hosts().into_iter().map(|(name, _)| name).collect();
    let ends = [Host::Fh, Host::Mh].map(|host| {
        let [v4, v6] = [Family::V4, Family::V6].map(|family| topology.address(host, family));
        format!("\n  {}: {v4}, {v6}", host.name())
    });
    format!("\n  {}\n{}\n", names.join(" ── "), ends.concat())
}

fn host_name(text: &str) -> Result<String, String> {
    match topology::is_host_name(text) {
        true => Ok(text.to_owned()),
        false => {
            Err("no host of a test bed: fh, wan, bs, air, mh; with --hops bs2, air2, ...".into())
        }
    }
}

/// Where the hosts after the first are.
fn more_hosts(link: &LinkOptions) -> String {
    match link.hosts.count() {
        1 => String::new(),
        hosts => {
            let last = |family| topology::mobile_address(hosts - 1, family);
            let (v4, v6) = (last(Family::V4), last(Family::V6));
            format!("\n{hosts} mobile hosts: mh has addresses up to {v4} and {v6}\n")
        }
    }
}

/// `down`.
pub fn down(options: &DownOptions) -> Result<ExitCode> {
    if options.all || options.crashed {
        return down_many(options);
    }
    let name = match &options.run {
        Some(name) => name.clone(),
        None => runs::find(None)?.name,
    };
    if let Some(Some(run)) = runs::list()?.get(&name) {
        if run.condition() == Condition::Busy && !options.force {
            bail!("{}; stop that one, or use --force", busy(run));
        }
    }
    remove(&name)?;
    Ok(ExitCode::SUCCESS)
}

/// Removes a run, and says who goes on in what was its namespaces: whoever started it is to end it.
fn remove(name: &str) -> Result<()> {
    let inside = Inside::of(name)?;
    runs::remove(name)?;
    let left = inside.processes()?;
    if !left.is_empty() {
        let each = left
            .iter()
            .map(|(pid, program)| format!("{program} ({pid})"));
        let pids = left.iter().map(|(pid, _)| pid.to_string());
        eprintln!(
            "lasthop-lab: {name}: still running in its namespaces: {}; to end them: kill {}",
            each.collect::<Vec<_>>().join(", "),
            pids.collect::<Vec<_>>().join(" ")
        );
    }
    Ok(())
}

fn down_many(options: &DownOptions) -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let mut names = Vec::new();
    for (name, run) in runs::list()? {
        match run.as_ref().map(|run| (run, run.condition())) {
            Some((run, Condition::Busy)) if !options.force => {
                eprintln!("lasthop-lab: {}: left alone", busy(run));
            }
            Some((_, Condition::Up)) if options.crashed => {}
            _ => names.push(name),
        }
    }
    names.extend(runs::orphans()?);
    for name in names {
        match remove(&name) {
            Ok(()) => print(&format!("removed {name}\n"))?,
            // Another `down` was faster.
            Err(_) if runs::is_gone(&name)? => {}
            Err(error) => {
                eprintln!("lasthop-lab: {name}: {error:#}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

fn busy(run: &Run) -> String {
    let pid = run.owner.as_ref().map_or(0, |owner| owner.pid);
    format!(
        "run {} belongs to a lasthop-lab that runs now (process {pid})",
        run.name
    )
}

/// `shell`: this process becomes the command, so that signals and the exit code are its own.
pub fn shell(options: &ShellOptions) -> Result<ExitCode> {
    let run = runs::find(options.run.as_deref())?;
    let name = netns::namespace_name(&run.name, &options.host);
    Namespace::open(&name)?.enter()?;
    let (program, args) = match options.command.split_first() {
        Some((program, args)) => (program.clone(), args),
        None => (
            std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".into()),
            &[][..],
        ),
    };
    let error = Command::new(&program)
        .args(args)
        .env("LASTHOP_LAB_RUN", &run.name)
        .env("LASTHOP_LAB_HOST", &options.host)
        .exec();
    Err(error).with_context(|| format!("{program}: cannot run it"))
}

/// `list`.
pub fn list() -> Result<ExitCode> {
    let mut text = String::new();
    for (name, run) in runs::list()? {
        let line = match &run {
            None => format!("{name}  crashed while it was set up\n"),
            Some(run) => {
                let condition = match run.condition() {
                    Condition::Up => "up",
                    Condition::Busy => "in use",
                    Condition::Crashed => "crashed",
                };
                let scheme = run.scheme.as_deref().unwrap_or(NO_AGENT);
                format!(
                    "{name}  {condition}  agent {scheme}  {}\n",
                    run.link.summary()
                )
            }
        };
        text.push_str(&line);
    }
    for name in runs::orphans()? {
        text.push_str(&format!("{name}  namespaces without a record\n"));
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// `passthrough`.
pub fn passthrough(options: &PassthroughOptions) -> Result<ExitCode> {
    interrupt::install()?;
    passthrough::run(&options.devices)?;
    Ok(ExitCode::SUCCESS)
}

/// `replay`.
pub fn replay(options: &ReplayOptions) -> Result<ExitCode> {
    let result = replay::run(options, &mut BufWriter::new(io::stdout().lock()));
    let closed = |error: &anyhow::Error| {
        let error = error.downcast_ref::<io::Error>();
        error.is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    };
    match result {
        // The reader has seen enough, as with `| head`.
        Err(error) if closed(&error) => Ok(ExitCode::SUCCESS),
        other => other.map(|()| ExitCode::SUCCESS),
    }
}

/// `fields`.
pub fn fields(options: &FieldsOptions) -> Result<ExitCode> {
    print(&match options.command {
        Described::Compare => record::fields_markdown(),
        Described::Run => experiment::fields_markdown(),
        Described::Report => report::columns_markdown(),
        Described::Replay => replay::markdown(),
        Described::Samples => samples::samples_markdown(),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader has seen enough, as with `| head`.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("standard output"),
    }
}
