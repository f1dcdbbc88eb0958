// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop-lab`: the command line.

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use lasthop_lab::bed::load;
use lasthop_lab::cell::options::CompareOptions;
use lasthop_lab::studies::cost::options::BenchReportOptions;
use lasthop_lab::studies::experiment::RunOptions;
use lasthop_lab::studies::grid::GridOptions;
use lasthop_lab::studies::replay::ReplayOptions;
use lasthop_lab::studies::report::options::ReportOptions;
use lasthop_lab::studies::soak::options::SoakOptions;

use crate::commands::{DownOptions, FieldsOptions, PassthroughOptions, ShellOptions, UpOptions};

const EXAMPLES: &str = "Examples (as root, but for --engine ns3):
  lasthop-lab compare --engine ns3 --loss 2% --cc cubic --scheme none,rack
  lasthop-lab compare --rate 20mbit --rtt 110ms --loss 2% --cc reno --scheme none,rack
  lasthop-lab compare --rate-wave 30mbit,10mbit,2s --jitter 5ms --scheme none,rack
  lasthop-lab compare --loss 2% --cc cubic --scheme none,rack --flent /tmp/out.flent.gz
  lasthop-lab compare --rtt 20ms --flows 3 --flow-rtt 20ms,50ms,200ms --scheme none,rack
  lasthop-lab grid --quick --out /tmp/grid
  lasthop-lab up --name demo --loss 5%
  lasthop-lab shell bs demo -- ip -s link
  lasthop-lab down demo";

const GRID_EXAMPLES: &str = "Examples (as root):
  lasthop-lab grid                                  # --quick, results in ./lasthop-grid
  lasthop-lab grid --full --out /var/tmp/grid       # Ctrl-C, and the same again, goes on
  lasthop-lab grid --loss 0%,2% --cc bbr --variant base,wave --seed 1
  lasthop-lab grid --quick --scheme slack           # what another scheme makes of it
  lasthop-lab grid --summary-only --out /var/tmp/grid -j
  lasthop-lab grid --mixes --out /var/tmp/mixes     # every case of experiments/mixes, and their page
  lasthop-lab grid --mixes=pages,upload --quick     # two of them, seed 1, the ends of each axis

Ends with 1 if a condition is not met or a run could not be made.";

const RUN_EXAMPLES: &str = "Examples (as root, but for ns3-*, which are simulated):
  lasthop-lab run experiments/quick.toml
  lasthop-lab run experiments/ns3-wan.toml --out /var/tmp/results   # Ctrl-C, and the same again, goes on
  lasthop-lab run experiments/linux-snoop-3b.toml --seed 1..10 -j

crates/lasthop-lab/docs/experiments.md describes the files. Ends with 1 if a condition is not met or
incomplete, as most are with --point alone, or a run could not be made.";

const REPORT_EXAMPLES: &str = "\
Example:
  lasthop-lab report /var/tmp/results && xdg-open /var/tmp/results/index.html

Prints the page's path. Beside it, per experiment: runs.csv, summary.csv, figures.json, and each
figure as SVG and PNG, which needs matplotlib (Debian, Ubuntu: python3-matplotlib). Conditions that
are not met are content, no failure: `run` is what ends with 1.";

const BENCH_EXAMPLES: &str = "\
Examples (as root, but for --page-only):
  make bench-report                                  # all of it: OUT=results/bench BENCH=short
  mkdir -p /tmp/b && cargo bench -p lasthop --bench packet -- grow >/tmp/b/packet.jsonl
  lasthop-lab bench-report /tmp/b --short
  lasthop-lab bench-report /tmp/b --page-only        # the page again

Prints the page's path, and by how much the model is off at the most. docs/performance.md says what
is measured.";

const SOAK_EXAMPLES: &str = "Examples (as root):
  lasthop-lab soak --hours 6 --out /var/tmp/soak
  lasthop-lab soak --hours 0.01 --rate 300 --held 200 --out /tmp/soak  # half a minute

Ends with 1 if a condition is not met. crates/lasthop-lab/docs/soak.md has them all.";

const REPLAY_EXAMPLES: &str = "\
Capture on both devices of the base station, which the headers suffice for (as root):
  lasthop-lab up --name demo --loss 2% --scheme rack
  lasthop-lab shell bs demo -- tcpdump -i eth0 -s 128 -w /tmp/demo.eth0.pcap &
  lasthop-lab shell bs demo -- tcpdump -i wl0 -s 128 -w /tmp/demo.wl0.pcap &
then, after a transfer and without root:
  lasthop-lab replay --wired /tmp/demo.eth0.pcap --lossy /tmp/demo.wl0.pcap --from 3s --to 3500ms
or, to look at it in Wireshark:
  lasthop-lab replay --wired /tmp/demo.eth0.pcap --lossy /tmp/demo.wl0.pcap --pcapng /tmp/d.pcapng
  tshark -r /tmp/d.pcapng -Y 'frame.comment contains \"lasthop: held\"'

A line: time in s, flow, DATA to or ACK from MH or TIMER, sequence number relative to the flow's
first (+ payload), what the agent did with it, and the flow afterwards: C of the window controller
(*: it holds), newest sojourn q on the hop, una, bytes out and sacked.
crates/lasthop-lab/docs/replay.md; display filters: crates/lasthop-lab/docs/wireshark.md";

/// Test bed for lasthop: five hosts in series on this machine, FH - WAN emulator - BS - wireless
/// emulator - MH, and real TCP transfers between them.
#[derive(Parser)]
#[command(name = "lasthop-lab", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the same transfer with each scheme, congestion control and seed, and compare
    Compare(Box<CompareOptions>),
    /// Run the evaluation grid or the mixes, go on where it was stopped, judge, and write a page
    #[command(after_help = GRID_EXAMPLES)]
    Grid(Box<GridOptions>),
    /// Run experiments from their files, go on where they were stopped, and judge the results
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunOptions>),
    /// Write a page with figures, tables and conditions about what `run` has measured
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportOptions),
    /// Measure forwarding with and without the agent, fit a model of its cost, and write a page
    #[command(after_help = BENCH_EXAMPLES)]
    BenchReport(BenchReportOptions),
    /// Load a daemon with connections by the thousand, reload, take over, and look for what leaks
    #[command(after_help = SOAK_EXAMPLES)]
    Soak(SoakOptions),
    /// Build a test bed that stays until `down`
    Up(Box<UpOptions>),
    /// Remove a test bed, or all that nobody uses any more
    Down(DownOptions),
    /// Run a shell or a command on one of the hosts
    Shell(ShellOptions),
    /// Show the test beds that stand
    List,
    /// Pass all TCP of devices through a netfilter queue, to measure what that costs (as root)
    ///
    /// What `--scheme passthrough` starts on the base station: every segment goes up to this process,
    /// whole, and on as it is, as behind a user-space proxy that does nothing. SIGINT ends it.
    Passthrough(PassthroughOptions),
    /// A process of a load, which `soak` and tests start
    #[command(hide = true)]
    Load {
        /// What it is to do
        orders: PathBuf,
    },
    /// Replay captures through the agent, and print what it decides at each packet
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(Box<ReplayOptions>),
    /// Describe the fields of `compare -j`, `compare --samples`, `run -j` or `replay -j`, and
    /// the columns of `report`
    Fields(FieldsOptions),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Compare(options) => commands::compare(&options),
        Command::Grid(options) => commands::grid(&options),
        Command::Run(options) => commands::run(&options),
        Command::Report(options) => commands::report(&options),
        Command::BenchReport(options) => commands::bench_report(&options),
        Command::Soak(options) => commands::soak(&options),
        Command::Up(options) => commands::up(&options),
        Command::Down(options) => commands::down(&options),
        Command::Shell(options) => commands::shell(&options),
        Command::Passthrough(options) => commands::passthrough(&options),
        Command::Replay(options) => commands::replay(&options),
        Command::Load { orders } => load::work(&orders).map(|()| ExitCode::SUCCESS),
        Command::List => commands::list(),
        Command::Fields(options) => commands::fields(&options),
    };
    result.unwrap_or_else(|error| {
        eprintln!("lasthop-lab: {error:#}");
        ExitCode::FAILURE
    })
}
