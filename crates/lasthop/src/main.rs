// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of the agent.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Error, Result, bail};
use clap::Parser;
use lasthop::ask::complain;
use lasthop::cli::{
    Attach, Check, Cli, Common, Daemon, Events, Flows, Key, KeyVerb, Link, LinkState, Observe,
    Peers, Reload, Report, Split, Status, Top, Verb,
};
use lasthop::config::Configuration;
use lasthop::daemon::settings::{self, Devices, Orders, Overrides};
use lasthop::outlet::Log;
use lasthop::upgrade::{StartAnew, upgrade};
use lasthop::{
    ask, bug_report, check, config, control, daemon, device, events, keyfile, observe, peers,
    reference, report, split, top, units, why,
};
use serde_json::{Value, json};

/// Like other tools, verbs that only print end quietly when nobody reads on (`| head`). `attach`
/// goes on: its work is not the printing.
fn end_with_the_reader() {
    // SAFETY: the default action of a signal, set before there are threads.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Of `reload --upgrade`, for the packages' scripts: they have the service started anew.
const START_ANEW: u8 = 3;

fn attach(args: &Attach) -> Result<()> {
    daemon::run(&daemon::Options {
        orders: Orders {
            config: args.config.clone(),
            devices: Devices::Named(args.devices.clone()),
            overrides: Overrides {
                scheme: args.scheme.clone(),
                role: args.role,
                matches: args.matches.clone(),
                exclude: args.exclude.clone(),
                key: args.key.clone(),
                mac_events: args.mac_events.clone(),
                watch: args.watch,
            },
        },
        take_over: args.take_over.clone(),
        once: args.once,
        json: args.json,
    })
}

fn serve(args: &Daemon) -> Result<()> {
    daemon::run(&daemon::Options {
        orders: Orders {
            config: args.config.clone(),
            devices: Devices::Sections,
            overrides: Overrides::default(),
        },
        take_over: args.take_over.then(|| control::DAEMON.to_owned()),
        once: false,
        json: args.json,
    })
}

/// Has all serving processes read their configuration again. What went wrong is an error, once the
/// rest is shown.
fn reload(args: &Reload) -> Result<()> {
    // Whoever has files read again is to hear what is wrong in them.
    let all = Configuration::read_or_default(args.common.config.as_deref())?;
    let runtime_dir = all.common.runtime_dir();
    if args.upgrade {
        let tried = upgrade(&runtime_dir)?;
        let done = tried.done.iter().map(|(from, to)| match args.common.json {
            true => json!({"reload": "upgraded", "from_pid": from, "to_pid": to}).to_string(),
            false => format!("upgraded: process {to} in the place of {from}"),
        });
        let shown = print_lines(&done.collect::<Vec<_>>());
        if tried.any() {
            // Scripts go by what became of it before they go by what could be shown.
            return tried.complain().and(shown);
        }
    }
    let mut answers = ask::reload(&runtime_dir)?;
    let mut lines = Vec::new();
    for line in &answers.lines {
        let value: Value = serde_json::from_str(line).context("an answer that is no JSON")?;
        let text = report::reload_for_people(&value);
        let failed = value["reload"] == "failed";
        if failed {
            answers.silent.push(text.clone());
        }
        if args.common.json {
            lines.push(value.to_string());
        } else if !failed {
            lines.push(text);
        }
    }
    let shown = print_lines(&lines);
    complain(&answers.silent).and(shown)
}

/// Where those who serve are to be asked.
fn runtime_dir(config: Option<&Path>) -> Result<PathBuf> {
    config::runtime_dir_or_warn("lasthop", config)
}

/// Tells the serving processes something, and shows what they say to it.
fn tell(runtime_dir: &Path, device: Option<&str>, request: &str) -> Result<()> {
    let answers = ask::tell_all(runtime_dir, device, request)?;
    let shown = print_lines(&answers.lines);
    complain(&answers.silent).and(shown)
}

/// Asks the serving processes; who did not answer is in the second list.
fn ask_them(
    common: &Common,
    device: Option<&str>,
    request: &str,
) -> Result<(Vec<Value>, Vec<String>)> {
    let runtime_dir = runtime_dir(common.config.as_deref())?;
    ask::values(&runtime_dir, device, request)
}

/// Line by line, but not one system call for each.
fn print_lines(values: &[impl Display]) -> Result<()> {
    let text: String = values.iter().map(|value| format!("{value}\n")).collect();
    print_text(&text)
}

fn print_line(line: impl Display) -> Result<()> {
    print_text(&format!("{line}\n"))
}

/// Where there is no room for it, on a full disk, that is an error like any other, and no panic.
fn print_text(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes());
    written
        .and_then(|()| out.flush())
        .context("standard output")
}

fn status(args: &Status) -> Result<()> {
    let runtime_dir = runtime_dir(args.common.config.as_deref())?;
    let (devices, silent) = ask::values(&runtime_dir, None, "status")?;
    if args.common.json {
        print_lines(&devices)?;
    } else if devices.is_empty() && silent.is_empty() {
        let where_asked = ask::unless_elsewhere(&runtime_dir);
        print_line(format!(
            "nothing is attached in this network namespace{where_asked}"
        ))?;
    } else {
        let each = devices.iter().map(report::status_for_people);
        print_text(&each.collect::<String>())?;
    }
    complain(&silent)
}

fn flows(args: &Flows) -> Result<()> {
    let device = args.device.as_deref().map(device::real_name);
    let request = if args.why { "flows why" } else { "flows" };
    let runtime_dir = runtime_dir(args.common.config.as_deref())?;
    if args.common.json {
        let (lines, silent) = ask::lines(&runtime_dir, device.as_deref(), request)?;
        print_lines(&lines)?;
        return complain(&silent);
    }
    let names = if args.why {
        why::fields_for_people()
    } else {
        report::fields_for_people()
    };
    let (flows, mut silent) = ask::some_fields(&runtime_dir, device.as_deref(), request, &names)?;
    if flows.is_empty() && silent.is_empty() {
        print_line("no connections")?;
    } else if !flows.is_empty() && args.why {
        print_text(&why::for_people(&flows))?;
    } else if !flows.is_empty() {
        print_text(&report::flows_for_people(&flows))?;
    }
    if args.why {
        let (devices, more) = ask_them(&args.common, device.as_deref(), "status")?;
        let rest = devices.iter().filter_map(why::of_rest);
        print_lines(&rest.collect::<Vec<_>>())?;
        silent.extend(
            more.into_iter()
                .filter(|line| !silent.contains(line))
                .collect::<Vec<_>>(),
        );
    }
    complain(&silent)
}

fn peers(args: &Peers) -> Result<()> {
    let device = args.device.as_deref().map(device::real_name);
    let (peers, silent) = ask_them(&args.common, device.as_deref(), "peers")?;
    if args.common.json {
        print_lines(&peers)?;
    } else if peers.is_empty() && silent.is_empty() {
        print_line("no other agents heard")?;
    } else if !peers.is_empty() {
        print_text(&peers::for_people(&peers))?;
    }
    complain(&silent)
}

fn follow(args: &Events) -> Result<()> {
    let runtime_dir = runtime_dir(args.common.config.as_deref())?;
    events::run(
        &runtime_dir,
        &events::Options {
            device: args.device.as_deref().map(device::real_name),
            follow: args.follow,
            json: args.common.json,
            interval: args.interval,
        },
    )
}

fn watch(args: &Top) -> Result<()> {
    let runtime_dir = runtime_dir(args.config.as_deref())?;
    top::run(
        &runtime_dir,
        &top::Options {
            kind: args.show,
            sort: args.sort.clone(),
            filter: args.filter.clone(),
            interval: args.interval,
            once: args.once,
        },
    )
}

fn look_on(args: &Observe) -> Result<()> {
    let runtime_dir = runtime_dir(args.common.config.as_deref())?;
    observe::run(
        &runtime_dir,
        &observe::Options {
            order: observe::Order {
                device: device::real_name(&args.device),
                config: args.common.config.clone(),
                matches: args.matches.clone(),
                exclude: args.exclude.clone(),
            },
            duration: args.duration,
            interval: args.interval,
            json: args.common.json,
        },
    )
}

fn key(args: &Key) -> Result<()> {
    let config = match &args.verb {
        KeyVerb::New => return print_line(keyfile::new()?),
        KeyVerb::Reload { config } => config,
    };
    let runtime_dir = runtime_dir(config.as_deref())?;
    tell(&runtime_dir, None, "key reload")
}

fn link(args: &Link) -> Result<()> {
    let runtime_dir = runtime_dir(args.config.as_deref())?;
    let device = device::real_name(&args.device);
    let request = match args.state {
        LinkState::Up => "link up",
        LinkState::Down => "link down",
    };
    tell(&runtime_dir, Some(&device), request)
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

fn gather(args: &Report) -> Result<()> {
    let path = bug_report::run(args.config.as_deref(), args.output.as_deref())?;
    print_line(format!(
        "{}: look through it before you send it",
        path.display()
    ))
}

/// Whether attach can work.
fn check_all(args: &Check) -> Result<bool> {
    let mut findings = check::machine();
    findings.push(check::memory(args.config.as_deref()));
    let refusal = settings::refusal(args.config.as_deref());
    findings.extend(refusal.map(|error| check::refused(&error)));
    for device in &args.devices {
        findings.extend(check::device(device));
    }
    let lines = findings.iter().map(|finding| match args.json {
        true => finding.json().to_string(),
        false => finding.line(),
    });
    print_lines(&lines.collect::<Vec<_>>())?;
    Ok(check::passed(&findings))
}

/// A line that can't be written, to a full disk or a terminal that is gone, is lost, and no more than that: who
/// complains of it does so where it can't be written either, by a panic of the thread that serves.
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
        .with_writer(|| Log)
        .log_internal_errors(false)
        .without_time()
        .with_target(false)
        .init();
}

/// libbpf's own messages are for who debugs; people get our one line. Nobody else has them put together:
/// a line for each of some thousand relocations.
fn quiet_libbpf() {
    let print: libbpf_rs::PrintCallback = |level, text| {
        tracing::debug!("libbpf {level:?}: {}", text.trim_end());
    };
    let debugs = tracing::enabled!(tracing::Level::DEBUG);
    libbpf_rs::set_print(debugs.then_some((libbpf_rs::PrintLevel::Debug, print)));
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let debug = match &cli.verb {
        Verb::Attach(args) => args.debug,
        Verb::Daemon(args) => args.debug,
        Verb::Split(args) => args.debug,
        _ => false,
    };
    start_log(debug);
    quiet_libbpf();
    let stays = Verb::stays(&cli.verb);
    if !stays {
        end_with_the_reader();
    }
    let done = match &cli.verb {
        Verb::Attach(args) => attach(args),
        Verb::Daemon(args) => serve(args),
        Verb::Reload(args) => reload(args),
        Verb::Status(args) => status(args),
        Verb::Flows(args) => flows(args),
        Verb::Peers(args) => peers(args),
        Verb::Events(args) => follow(args),
        Verb::Top(args) => watch(args),
        Verb::Observe(args) => look_on(args),
        Verb::Link(args) => link(args),
        Verb::Key(args) => key(args),
        Verb::Split(args) => split(args),
        Verb::Check(args) => match check_all(args) {
            Ok(true) => Ok(()),
            Ok(false) => return ExitCode::FAILURE, // its lines say why
            Err(error) => Err(error),
        },
        Verb::Report(args) => gather(args),
        Verb::Defaults => print_text(&config::keys::defaults()),
        Verb::Fields => print_text(&reference::page()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Scripts go by the code, whether anybody can read the line or not.
            let _ = writeln!(io::stderr(), "lasthop: {error:#}");
            match error.is::<StartAnew>() {
                true => ExitCode::from(START_ANEW),
                false => ExitCode::FAILURE,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::process::Command;

    use nix::unistd::{dup, dup2_stdout};

    use super::*;

    const WRITES: &str = "LASTHOP_TEST_WRITES_A_LINE";
    const PRINTS: &str = "LASTHOP_TEST_PRINTS";

    /// As at the end of a terminal, or of the room on a disk.
    #[test]
    fn a_line_that_can_not_be_written_ends_nobody() {
        if std::env::var_os(WRITES).is_some() {
            start_log(false);
            tracing::warn!("nobody reads this");
            return;
        }
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "--nocapture"]);
        again.arg("tests::a_line_that_can_not_be_written_ends_nobody");
        let output = again.env(WRITES, "1").stderr(full).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// As in `lasthop key new > FILE` on a full disk: it panicked. The test's own lines go elsewhere meanwhile.
    #[test]
    fn what_can_not_be_printed_is_an_error() {
        if std::env::var_os(PRINTS).is_some() {
            let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
            let out = dup(io::stdout()).unwrap();
            dup2_stdout(&full).unwrap();
            let verb = KeyVerb::New;
            let printed = [
                key(&Key { verb }),
                print_lines(&["a line"]),
                print_text(&config::keys::defaults()),
            ];
            dup2_stdout(&out).unwrap();
            assert!(printed.iter().all(Result::is_err), "{printed:?}");
            return;
        }
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "--nocapture"]);
        again.arg("tests::what_can_not_be_printed_is_an_error");
        let output = again.env(PRINTS, "1").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
