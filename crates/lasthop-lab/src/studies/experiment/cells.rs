// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The runs of an experiment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::spec::{Experiment, Figure, Point, Series, same_x};
use crate::base::files::write_whole;
use crate::cell::engine::Engine;
use crate::data::scheme;
use crate::studies::campaign::{CompareLine, Job};

/// Directory of the samples beside the runs.
pub const SAMPLES: &str = "samples";

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Name: `x/series/seed`.
    pub name: String,
    /// Where on the axis.
    pub x: f64,
    /// Name of its series.
    pub series: String,
    /// Seed of losses and content.
    pub seed: u64,
    /// What decides whether an earlier result counts.
    pub setup: String,
    /// Where it runs.
    pub engine: Engine,
    /// What it asks of the machine, on a test bed: Mbit/s over the hop.
    pub load_mbit: f64,
    /// To be run.
    pub job: Job,
}

/// File of a cell's samples below the experiment's directory of results.
pub fn samples_file(x: f64, series: &str, seed: u64) -> PathBuf {
    Path::new(SAMPLES).join(format!("{x}-{series}-{seed}.jsonl"))
}

/// All runs, seed by seed, so that one that is stopped early has seen every point once; the series
/// of one point and seed follow each other, so that they meet the same machine.
///
/// # Errors
/// A configuration of the agent cannot be written to `directory`.
pub fn cells(experiment: &Experiment, seeds: &[u64], directory: &Path) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for series in &experiment.series {
        write_agent_config(series, directory)?;
    }
    for seed in seeds {
        for point in &experiment.axis.points {
            for series in &experiment.series {
                cells.push(cell(experiment, point, series, *seed, directory));
            }
        }
    }
    Ok(cells)
}

/// What a run asks of the machine.
#[derive(Debug)]
pub struct Need {
    /// Where it runs.
    pub engine: Engine,
    /// With which scheme.
    pub scheme: String,
    /// With which congestion control, or those of its flows.
    pub congestion_controls: Vec<String>,
}

/// What its series need, at each point.
pub fn needs(experiment: &Experiment) -> Vec<Need> {
    let mut needs = Vec::new();
    for point in &experiment.axis.points {
        for series in &experiment.series {
            // The parser of the file has seen to it that this one parses.
            let compare = CompareLine::parse(&args(experiment, point, series));
            needs.extend(compare.map(|compare| Need {
                engine: compare.engine.engine,
                scheme: series.scheme.clone(),
                congestion_controls: compare.traffic.controls(&compare.cc).to_vec(),
            }));
        }
    }
    needs
}

/// The options of `compare` that its file gives.
pub fn args(experiment: &Experiment, point: &Point, series: &Series) -> Vec<String> {
    let parts = [&experiment.args, &point.args, &series.args];
    parts.into_iter().flatten().cloned().collect()
}

/// What decides whether a result is one of the experiment as its file is now.
pub fn setup(experiment: &Experiment, point: &Point, series: &Series) -> String {
    let args = args(experiment, point, series).join(" ");
    let mut setup = format!("{args} --scheme {}", series.scheme);
    if let Some(config) = &series.agent {
        let config = config.trim_end().replace('\n', ", ");
        setup.push_str(&format!(" agent: {config}"));
    }
    setup
}

/// Name of a run.
pub fn name(x: f64, series: &str, seed: u64) -> String {
    format!("{x}/{series}/{seed}")
}

/// All options of `compare` for one run, but those of its output.
pub fn run_args(
    experiment: &Experiment,
    point: &Point,
    series: &Series,
    seed: u64,
    directory: &Path,
) -> Vec<String> {
    let mut args = args(experiment, point, series);
    args.extend(["--scheme".to_owned(), series.scheme.clone()]);
    if let Some(path) = agent_config(series, directory) {
        args.extend(["--agent-config".to_owned(), path.display().to_string()]);
    }
    args.extend(["--seed".to_owned(), seed.to_string()]);
    args
}

fn cell(
    experiment: &Experiment,
    point: &Point,
    series: &Series,
    seed: u64,
    directory: &Path,
) -> Cell {
    // The parser of the file has seen to it that this one parses.
    let compare = CompareLine::parse(&args(experiment, point, series)).ok();
    let engine = compare
        .as_ref()
        .map_or(Engine::default(), |c| c.engine.engine);
    let flows = compare.as_ref().map_or(1, |c| c.traffic.flows.into());
    let load_mbit = compare
        .as_ref()
        .map_or(f64::INFINITY, |c| c.link.nominal_rate_bps() as f64 / 1e6);
    let transfer = compare.map(|c| c.longest_cell()).unwrap_or_default();
    let mut args = run_args(experiment, point, series, seed, directory);
    if experiment.has_windows() {
        let file = directory.join(samples_file(point.x, &series.name, seed));
        args.extend(["--samples".to_owned(), file.display().to_string()]);
    }
    args.push("-j".to_owned());
    let name = name(point.x, &series.name, seed);
    let title = format!("{} {name}", experiment.name);
    Cell {
        x: point.x,
        series: series.name.clone(),
        seed,
        setup: setup(experiment, point, series),
        engine,
        load_mbit,
        job: match engine {
            Engine::Testbed => Job::on_test_bed(title, args, transfer),
            Engine::Ns3 | Engine::Ns2 => Job::simulated(title, args, flows, transfer),
        },
        name,
    }
}

/// Where the configuration of a series' agent is, if it has one.
pub fn agent_config(series: &Series, directory: &Path) -> Option<PathBuf> {
    let has_config = scheme::has_agent(&series.scheme) && series.agent.is_some();
    has_config.then(|| directory.join(format!("agent-{}.toml", series.name)))
}

fn write_agent_config(series: &Series, directory: &Path) -> Result<()> {
    let (Some(path), Some(text)) = (agent_config(series, directory), &series.agent) else {
        return Ok(());
    };
    write_whole(&path, text)
}

/// Cells that may run so many at a time without getting in each other's way on so many CPUs, or all of
/// them `jobs` at a time.
///
/// A simulation takes a CPU for itself. One CPU carries some 40 Mbit/s of a test bed (two
/// emulators, both ends, the agent) while staying mostly idle, and the setting up and tearing down
/// of six beds; the emulators keep theoretical departure times, so a busy moment shows up late in
/// no figure.
pub fn batches(
    cells: impl Iterator<Item = Cell>,
    jobs: Option<u16>,
    cpus: usize,
) -> BTreeMap<u16, Vec<Cell>> {
    let mut batches: BTreeMap<u16, Vec<Cell>> = BTreeMap::new();
    for cell in cells {
        let slots = jobs.unwrap_or_else(|| cell.slots(cpus));
        batches.entry(slots).or_default().push(cell);
    }
    batches
}

impl Cell {
    fn slots(&self, cpus: usize) -> u16 {
        const MBIT_PER_CPU: f64 = 40.0;
        const MOST_PER_CPU: usize = 6;
        if self.engine != Engine::Testbed {
            return cpus.clamp(1, usize::from(u16::MAX)) as u16;
        }
        let fit = (cpus as f64 * MBIT_PER_CPU / self.load_mbit.max(0.1)) as usize;
        fit.clamp(1, cpus * MOST_PER_CPU) as u16
    }
}

/// Whether a figure shows this run's samples, and they are not there.
pub fn lacks_samples(experiment: &Experiment, cell: &Cell, directory: &Path) -> bool {
    let shows = |figure: &Figure| {
        figure.at.is_some_and(|x| same_x(x, cell.x)) && figure.series.contains(&cell.series)
    };
    experiment
        .figures
        .iter()
        .filter(|f| shows(f))
        .any(|figure| {
            let file = samples_file(cell.x, &cell.series, figure.seed);
            cell.seed == figure.seed && !directory.join(file).is_file()
        })
}
