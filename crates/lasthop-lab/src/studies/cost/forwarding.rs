// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Processor time per Gbit of forwarding, with and without the agent, beside what takes its place;
//! and what the agent's programs take for super-packets of a length.
//!
//! All that is to be compared is measured in turn, round by round: on a machine that others use, too,
//! a minute is unlike the next.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;
use serde_json::Value;

use super::lines::{Forwarding, Line, Machine, Skipped, Train};
use crate::base::interrupt;
use crate::base::say::say;
use crate::base::stats::rounded;
use crate::bed::cpu::{CpuTimes, ProgramsAreTimed};
use crate::bed::direct::{Direct, Form, Helper, Transfer};
use crate::bed::others::others_ns;
use crate::bed::programs::{self, ProgramRuns};
use crate::data::scheme::NO_AGENT;
use crate::studies::compare::progress::bar;
use crate::studies::experiment::meta;

/// The agent's default scheme.
pub const SCHEME: &str = "rack";
/// What is measured where packets come merged and single.
pub const HELPERS: [&str; 4] = [NO_AGENT, SCHEME, "split", "passthrough"];
/// Payload of a full segment with timestamps.
const MSS: u32 = 1448;
/// Part of the machine's time that others may have, and how often is tried whether they have less: work for
/// packets is done on whatever process runs just then, and counts as that one's.
const OTHERS_MOST: f64 = 0.05;
const TRIES: u32 = 3;
/// Segments of a super-packet at the most.
const TRAINS: [u32; 6] = [1, 2, 5, 11, 22, 44];

/// A transfer that is to be made.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Case {
    axis: &'static str,
    x: f64,
    helper: &'static str,
    form: Form,
    flows: u32,
    mss: u32,
    loss: f64,
}

impl Case {
    fn named(&self) -> String {
        format!("{}, {} {}", self.helper, self.axis, self.x)
    }
}

/// All of a round.
fn cases() -> Vec<Case> {
    let plain = |axis, x, helper, form| Case {
        axis,
        x,
        helper,
        form,
        flows: 1,
        mss: MSS,
        loss: 0.0,
    };
    let mut cases = Vec::new();
    for (x, form) in [(0.0, Form::Single), (1.0, Form::Merged)] {
        cases.extend(HELPERS.map(|helper| plain("gro", x, helper, form)));
    }
    let both = [NO_AGENT, SCHEME];
    for flows in [1, 10, 100] {
        cases.extend(both.map(|helper| Case {
            flows,
            ..plain("flows", f64::from(flows), helper, Form::Merged)
        }));
    }
    for mss in [200, 536, MSS] {
        cases.extend(both.map(|helper| Case {
            mss,
            ..plain("mss", f64::from(mss), helper, Form::Single)
        }));
    }
    for percent in [0.0, 0.1, 1.0, 5.0] {
        cases.extend(both.map(|helper| Case {
            loss: percent / 100.0,
            ..plain("loss", percent, helper, Form::Single)
        }));
    }
    cases
}

/// Where this is.
pub fn machine() -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": "));
    let load = read("/proc/loadavg");
    Machine {
        kernel: meta::kernel(),
        processor: model.map_or("unknown", |(_, name)| name).to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        revision: meta::revision().to_owned(),
        started_s: meta::now_s(),
        load: load
            .split(' ')
            .next()
            .and_then(|l| l.parse().ok())
            .unwrap_or(0.0),
    }
}

/// Rounds of all cases, each of so many seconds, and then the super-packets.
///
/// # Errors
/// Not root, something is missing, or the user interrupts. A case that this machine can't do is a line.
pub fn measure((rounds, seconds): (u32, u32)) -> Result<Vec<Line>> {
    let bed = Direct::up()?;
    let cases = cases();
    let bar = Bar::new(cases.len() * rounds as usize + TRAINS.len());
    let mut lines = Vec::new();
    let mut unable = BTreeSet::new();
    for round in 1..=rounds {
        for case in &cases {
            bar.begin(&case.named());
            if unable.contains(&case.named()) {
                continue;
            }
            match quietest(&bed, case, round, seconds) {
                Ok(line) => lines.push(Line::Forwarding(line)),
                Err(error) => {
                    lines.push(skip(&bar, case.named(), &error)?);
                    unable.insert(case.named());
                }
            }
        }
    }
    bed.set_loss(0.0)?;
    for most in TRAINS {
        let name = format!("super-packets of {most}");
        bar.begin(&name);
        match train(&bed, most, seconds) {
            Ok(line) => lines.push(Line::Train(line)),
            Err(error) => lines.push(skip(&bar, name, &error)?),
        }
    }
    bar.0.finish_and_clear();
    Ok(lines)
}

/// What could not be measured is said, unless it is the user who ends it.
fn skip(bar: &Bar, what: String, error: &anyhow::Error) -> Result<Line> {
    interrupt::check()?;
    let why = format!("{error:#}");
    bar.0.suspend(|| say(&format!("skipped: {what}: {why}")));
    Ok(Line::Skipped(Skipped { what, why }))
}

/// The transfer during which others had least of the machine, of as many as it takes.
fn quietest(bed: &Direct, case: &Case, round: u32, seconds: u32) -> Result<Forwarding> {
    let mut best = forward(bed, case, round, seconds)?;
    for _ in 1..TRIES {
        if best.others() <= OTHERS_MOST {
            break;
        }
        let next = forward(bed, case, round, seconds)?;
        if next.others() < best.others() {
            best = next;
        }
    }
    Ok(best)
}

fn forward(bed: &Direct, case: &Case, round: u32, seconds: u32) -> Result<Forwarding> {
    bed.set_form(case.form)?;
    bed.set_loss(case.loss)?;
    let mut helper = bed.start(case.helper)?;
    let (begun, before) = (Instant::now(), busy_ns()?);
    let report = bed.transfer(Transfer {
        seconds,
        flows: case.flows,
        mss: case.mss,
    })?;
    let [machine, others] = busy_ns()?;
    let [machine_s, others_s] = [machine - before[0], others.saturating_sub(before[1])]
        .map(|ns| rounded(ns as f64 / 1e9, 3));
    let elapsed = begun.elapsed().as_secs_f64();
    if let Helper::Agent(agent) = &mut helper {
        let status = agent.status()?;
        let [data, cached] = ["data_bytes", "cached_bytes"].map(|name| counter(&status, name));
        ensure!(
            data > 0 && 2 * cached > data,
            "the agent has cached {cached} of {data} bytes"
        );
    }
    helper.stop()?;
    let gbit = received_gbit(&report)?;
    Ok(Forwarding {
        axis: case.axis.to_owned(),
        x: case.x,
        helper: case.helper.to_owned(),
        round,
        seconds: rounded(elapsed, 3),
        gbit: rounded(gbit, 4),
        machine_s,
        others_s,
        cpu_s_per_gbit: rounded((machine_s - others_s).max(0.0) / gbit, 5),
    })
}

/// The machine's, and of that what others had.
fn busy_ns() -> Result<[u64; 2]> {
    Ok([CpuTimes::read(&[], false)?.machine_ns, others_ns()?])
}

fn received_gbit(report: &Value) -> Result<f64> {
    let bytes = report["end"]["sum_received"]["bytes"].as_f64();
    let bytes = bytes.filter(|bytes| *bytes > 0.0);
    let failed = || format!("iperf3 has carried nothing: {}", report["error"]);
    Ok(bytes.with_context(failed)? * 8.0 / 1e9)
}

fn counter(status: &Value, name: &str) -> u64 {
    status["counters"][name].as_u64().unwrap_or(0)
}

/// A transfer in super-packets of so many segments at the most, the programs timed.
fn train(bed: &Direct, most: u32, seconds: u32) -> Result<Train> {
    bed.set_form(Form::Trains(most))?;
    let Helper::Agent(mut agent) = bed.start(SCHEME)? else {
        unreachable!("a scheme is an agent's");
    };
    let _timed = ProgramsAreTimed::begin()?;
    let runs_before = programs::runs(agent.pid())?;
    bed.transfer(Transfer {
        seconds,
        flows: 1,
        mss: MSS,
    })?;
    let after = programs::runs(agent.pid())?;
    let [data, ack]: [ProgramRuns; 2] = [0, 1].map(|i| after[i].since(runs_before[i]));
    let segments = counter(&agent.status()?, "data_segments") as f64;
    agent.stop()?;
    ensure!(data.runs > 100 && ack.runs > 10, "no program has run");
    Ok(Train {
        most,
        data_runs: data.runs,
        data_ns: rounded(data.mean_ns(), 0),
        data_segments: rounded(segments / data.runs as f64, 2),
        ack_runs: ack.runs,
        ack_ns: rounded(ack.mean_ns(), 0),
        ack_segments: rounded(segments / ack.runs as f64, 2),
    })
}

/// The progress bar, for people only.
struct Bar(ProgressBar);

impl Bar {
    fn new(steps: usize) -> Self {
        Self(bar(steps as u64, 2))
    }

    fn begin(&self, what: &str) {
        if !self.0.message().is_empty() {
            self.0.inc(1);
        }
        self.0.set_message(what.to_owned());
    }
}

/// Writes the lines.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, lines: &[Line]) -> Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_with_is_beside_its_without_in_a_round() {
        let cases = cases();
        for with in cases.iter().filter(|case| case.helper != NO_AGENT) {
            let without = Case {
                helper: NO_AGENT,
                ..*with
            };
            assert!(cases.contains(&without), "{with:?}");
        }
        let names: BTreeSet<String> = cases.iter().map(Case::named).collect();
        assert_eq!(names.len(), cases.len());
    }

    #[test]
    fn what_iperf3_carried() {
        let report = json!({ "end": { "sum_received": { "bytes": 125_000_000 } } });
        assert_eq!(received_gbit(&report).unwrap(), 1.0);
        let error = received_gbit(&json!({ "error": "busy" })).unwrap_err();
        assert!(error.to_string().contains("busy"));
    }
}
