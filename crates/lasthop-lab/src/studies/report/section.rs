// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the page says about one experiment, gathered.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::contrast::Contrast;
use super::maps::MapData;
use crate::studies::experiment::judge::{Judgement, Outcome, judge};
use crate::studies::experiment::line::Line;
use crate::studies::experiment::meta::Meta;
use crate::studies::experiment::runs::Runs;
use crate::studies::experiment::spec::{Experiment, Point, Series};
use crate::studies::experiment::stored::{SPEC_FILE, Stored};
use crate::studies::experiment::summary::{FigureData, figures};
use crate::studies::experiment::{cells, own_files};

/// Where a command is continued on the next line.
const COMMAND_COLUMNS: usize = 64;

/// An experiment's directory of results.
#[derive(Debug)]
pub enum Part {
    /// It could be read.
    Read(Box<Section>),
    /// It could not.
    Broken {
        /// Name of the experiment.
        name: String,
        /// File, line and what is wrong with it.
        why: String,
    },
}

/// An experiment with its results.
#[derive(Debug)]
pub struct Section {
    /// What was asked.
    pub experiment: Experiment,
    /// Where the results are.
    pub directory: PathBuf,
    /// Where they come from.
    pub meta: Option<Meta>,
    /// The runs.
    pub lines: Vec<Line>,
    /// What was left out, and why.
    pub remarks: Vec<String>,
    /// What the figures show.
    pub figures: Vec<FigureData>,
    /// What the heat maps show.
    pub maps: Vec<MapData>,
    /// What there is with and without the agent.
    pub contrast: Contrast,
    /// The conditions.
    pub judgements: Vec<Judgement>,
}

impl Part {
    /// Reads what is in `directory`.
    pub fn read(directory: &Path) -> Self {
        let name = directory.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        match Experiment::read(&directory.join(SPEC_FILE)) {
            // The copy is called like all copies.
            Ok(experiment) => Self::Read(Box::new(Section::of(
                Experiment { name, ..experiment },
                directory,
            ))),
            Err(error) => Self::Broken {
                name,
                why: format!("{error:#}"),
            },
        }
    }

    /// If it could be read.
    pub fn section(&self) -> Option<&Section> {
        match self {
            Self::Read(section) => Some(section),
            Self::Broken { .. } => None,
        }
    }

    /// Name of the experiment.
    pub fn name(&self) -> &str {
        match self {
            Self::Read(section) => &section.experiment.name,
            Self::Broken { name, .. } => name,
        }
    }
}

impl Section {
    fn of(experiment: Experiment, directory: &Path) -> Self {
        let (stored, unread) = match Stored::read(&experiment, directory) {
            Ok(stored) => (stored, None),
            Err(error) => (Stored::default(), Some(format!("{error:#}"))),
        };
        let meta = Meta::read(directory);
        let experiment = as_asked(experiment, meta.as_ref());
        let own = |line: &&Line| experiment.seeds.contains(&line.record.seed);
        let lines: Vec<&Line> = stored.lines.iter().filter(own).collect();
        let runs = Runs::new(&lines);
        let mut remarks = stored.remarks();
        remarks.extend(unread);
        let others = stored.lines.len() - lines.len();
        if others > 0 {
            remarks.push(format!(
                "{others} runs of seeds that the latest `run` was not asked for are in the table of \
                 runs alone: `run --seed` with all of them counts them"
            ));
        }
        Self {
            figures: figures(&experiment, runs, directory),
            maps: MapData::all(&experiment, runs),
            contrast: Contrast::of(&experiment, runs),
            judgements: judge(&experiment, runs, experiment.seeds.len()),
            meta,
            directory: directory.to_owned(),
            lines: stored.lines,
            remarks,
            experiment,
        }
    }

    /// File of a figure's picture.
    pub fn picture(&self, figure: &str, suffix: &str) -> PathBuf {
        self.directory.join(format!("{figure}.{suffix}"))
    }

    /// How many runs the experiment asks for.
    pub fn wanted(&self) -> usize {
        let experiment = &self.experiment;
        experiment.axis.points.len() * experiment.series.len() * experiment.seeds.len()
    }

    /// Names of the runs that are missing: not made yet, or failed.
    pub fn missing(&self) -> Vec<String> {
        let cells = self.lines.iter().map(|line| line.cell.as_str());
        let made: HashSet<&str> = cells.collect();
        let mut missing = Vec::new();
        for seed in &self.experiment.seeds {
            for point in &self.experiment.axis.points {
                for series in &self.experiment.series {
                    let name = cells::name(point.x, &series.name, *seed);
                    if !made.contains(name.as_str()) {
                        missing.push(name);
                    }
                }
            }
        }
        missing
    }

    /// How many conditions stand like that.
    pub fn count(&self, outcome: Outcome) -> usize {
        let judgements = self.judgements.iter();
        judgements.filter(|j| j.outcome == outcome).count()
    }

    /// The command that runs it again.
    pub fn run_command(&self, out: &Path) -> String {
        let name = &self.experiment.name;
        let made_by = self.meta.iter().flat_map(|meta| meta.command.clone());
        let mut words: Vec<String> = made_by.collect();
        if words.is_empty() {
            let file = own_files::path_of(name).map(str::to_owned);
            let file = file.unwrap_or_else(|| format!("experiments/{name}.toml"));
            words = vec!["run".to_owned(), file];
        }
        words.extend(["--out".to_owned(), out.display().to_string()]);
        command(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The `compare` of one run: that which the first condition is about.
    pub fn compare_command(&self) -> String {
        let (point, series) = self.telling();
        let mut words = vec!["compare".to_owned()];
        let seed = self.experiment.seeds[0];
        words.extend(cells::run_args(
            &self.experiment,
            point,
            series,
            seed,
            &self.directory,
        ));
        command(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// An axis and the series are never empty: the parser sees to it.
    fn telling(&self) -> (&Point, &Series) {
        let experiment = &self.experiment;
        let check = experiment.checks.first();
        let x = check.and_then(|check| check.at.as_ref()?.first().copied());
        let point = x.and_then(|x| experiment.point(x));
        let series = check.and_then(|check| experiment.series(&check.places.first()?.of));
        let points = &experiment.axis.points;
        (
            point.unwrap_or(&points[points.len() / 2]),
            series.unwrap_or(&experiment.series[experiment.series.len() - 1]),
        )
    }
}

/// With the seeds that the latest `run` judged, which `--seed` may have named: the page says the same.
fn as_asked(experiment: Experiment, meta: Option<&Meta>) -> Experiment {
    let seeds = meta.map(|meta| meta.seeds.clone());
    match seeds.filter(|seeds| !seeds.is_empty()) {
        Some(seeds) => Experiment {
            seeds,
            ..experiment
        },
        None => experiment,
    }
}

/// For a shell, in lines that a page has room for.
fn command(words: &[&str]) -> String {
    let mut text = "sudo lasthop-lab".to_owned();
    let mut line_starts = 0;
    for word in words {
        let word = quoted(word);
        if text.len() - line_starts + word.len() > COMMAND_COLUMNS && word.starts_with("--") {
            text.push_str(" \\\n   ");
            line_starts = text.len();
        }
        text.push(' ');
        text.push_str(&word);
    }
    text
}

/// `--option=value` keeps its shape.
fn quoted(word: &str) -> String {
    let pair = word.split_once('=');
    if let Some((option, value)) = pair.filter(|(option, _)| option.starts_with("--")) {
        return format!("{option}={}", quoted(value));
    }
    // A word with a zero byte can't be quoted, and is in no command line either.
    shlex::try_quote(word).unwrap_or(word.into()).into_owned()
}
