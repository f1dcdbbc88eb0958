// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What an experiment is: what is run, what is drawn, and what must come out, all of it data.
//! `crates/lasthop-lab/docs/experiments.md` describes its file.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How an axis is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences are equally long.
    #[default]
    Linear,
    /// Equal ratios are equally long.
    Log,
}

/// What a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// A metric of each series over the axis.
    Value,
    /// The same, divided by that of one series with the same seed.
    Ratio,
    /// The same, less that of one series with the same seed.
    Difference,
    /// The congestion window of one run of each series over time.
    Window,
}

/// What becomes of the seeds' values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    /// Their mean.
    #[default]
    Mean,
    /// The one in the middle.
    Median,
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// What a condition holds its bounds against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JudgedBy {
    /// The value.
    #[default]
    Value,
    /// Its 95 % interval, which must lie beyond a bound as a whole to miss it; the value where there
    /// is none.
    Interval,
}

/// How a series is measured against another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// Divided by it.
    #[default]
    Ratio,
    /// Less it.
    Difference,
}

/// At how many points of the axis the bounds must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// At every one.
    #[default]
    Every,
    /// At one at least.
    Some,
}

/// A curve or level that the source reports.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reported {
    /// What it is.
    pub label: String,
    /// Pairs of x and y; one pair alone is drawn as a mark.
    pub points: Vec<[f64; 2]>,
}

/// One point of the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Where it is drawn.
    pub x: f64,
    /// What it is called beside its number.
    pub label: Option<String>,
    /// Its options of `compare`.
    pub args: Vec<String>,
}

/// The axis that is swept.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// Unit, empty for a pure number.
    pub unit: String,
    /// How it is divided.
    pub scale: Scale,
    /// Its points, in the order of the file.
    pub points: Vec<Point>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Short name, part of the cells' names.
    pub name: String,
    /// For legends.
    pub label: String,
    /// The agent's scheme, `none`, or a baseline.
    pub scheme: String,
    /// Its options of `compare`.
    pub args: Vec<String>,
    /// The agent's configuration file, if it has one.
    pub agent: Option<String>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Short name, part of file names.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it shows.
    pub kind: FigureKind,
    /// Field of `compare -j`; none for [`FigureKind::Window`].
    pub metric: String,
    /// Label of the y axis.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// How it is divided.
    pub scale: Scale,
    /// The series that a ratio or difference is taken against.
    pub to: Option<String>,
    /// The series shown, by name.
    pub series: Vec<String>,
    /// Point of the axis whose runs a window figure shows.
    pub at: Option<f64>,
    /// Seed of these runs.
    pub seed: u64,
    /// First and last moment that a window figure shows, in s since the transfer's start.
    pub span_s: (Option<f64>, Option<f64>),
    /// What the source says.
    pub reported: Vec<Reported>,
}

/// What the page shows side by side: each series without agent, and those with the same options
/// that have one.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What it is.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// How the axis is divided.
    pub scale: Scale,
    /// Fields of `compare -j`: one, or a median and a higher percentile.
    pub metrics: Vec<String>,
}

/// Heat maps: the axis against a further one, a picture for each series and combination of what is
/// left.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// What they show.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// How colours follow values.
    pub scale: Scale,
    /// Field of `compare -j`, or arithmetic with some.
    pub metric: String,
    /// Name of the further axis that the rows are.
    pub rows_are: String,
    /// The pictures.
    pub pictures: Vec<Picture>,
}

/// One heat map.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Whose.
    pub title: String,
    /// The further axis' points, and the series there.
    pub rows: Vec<(String, String)>,
}

/// What a condition asks of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Demand {
    /// Field of `compare -j`, or arithmetic with some.
    pub metric: String,
    /// Least value allowed.
    pub min: Option<f64>,
    /// Greatest value allowed.
    pub max: Option<f64>,
    /// What is held against them.
    pub judged_by: JudgedBy,
}

/// A condition at one combination of the points of all further axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The points' names; empty without further axes.
    pub across: String,
    /// The series there that it is about.
    pub of: String,
    /// That which it is measured against.
    pub to: Option<String>,
}

/// One condition that the results must meet.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// In words.
    pub text: String,
    /// The series that it is about, as the file names it.
    pub of: String,
    /// The series that it is measured against; none: the value itself is.
    pub to: Option<String>,
    /// Where it must hold.
    pub places: Vec<Place>,
    /// How it is measured.
    pub relation: Relation,
    /// Alternatives, each of what must hold together: one must be met at each point.
    pub any: Vec<Vec<Demand>>,
    /// Over the seeds.
    pub statistic: Statistic,
    /// Points of the axis (of `to`); none: all.
    pub at: Option<Vec<f64>>,
    /// `of` is taken at so many times the x of `to`.
    pub shift: f64,
    /// `to` is taken at this x; none: where `of` is.
    pub to_at: Option<f64>,
    /// What is measured of `to`; none: the same as of `of`.
    pub to_metric: Option<String>,
    /// `to` counts as at least and at most so much.
    pub to_limits: (Option<f64>, Option<f64>),
    /// What the source says, as pairs of x and value, in place of a series `to`.
    pub to_reported: Option<Vec<[f64; 2]>>,
    /// At how many points.
    pub hold: Hold,
    /// The greatest value must lie between these x.
    pub peak: Option<[f64; 2]>,
    /// With `peak`: at both ends of the axis the value must be at most that of the peak divided
    /// by this.
    pub fall: f64,
}

/// An experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Name: that of its file.
    pub name: String,
    /// Where it was read.
    pub path: PathBuf,
    /// The file's text, kept beside the results.
    pub text: String,
    /// In a few words.
    pub title: String,
    /// Paper and figure.
    pub source: String,
    /// Set-up and what it asks, in a paragraph.
    pub about: String,
    /// What the paper says came out.
    pub reported: String,
    /// Seeds of the repeats.
    pub seeds: Vec<u64>,
    /// Options that all runs share.
    pub args: Vec<String>,
    /// What is swept.
    pub axis: Axis,
    /// What is compared.
    pub series: Vec<Series>,
    /// What is drawn.
    pub figures: Vec<Figure>,
    /// What is shown as heat maps.
    pub maps: Vec<Map>,
    /// What is shown with and without the agent.
    pub panels: Vec<Panel>,
    /// What must come out.
    pub checks: Vec<Check>,
}

impl FigureKind {
    /// How its series are measured against `to`.
    pub fn relation(self) -> Option<Relation> {
        match self {
            Self::Ratio => Some(Relation::Ratio),
            Self::Difference => Some(Relation::Difference),
            Self::Value | Self::Window => None,
        }
    }
}

impl Point {
    /// Its name, or x.
    pub fn name(&self) -> String {
        self.label.clone().unwrap_or_else(|| self.x.to_string())
    }
}

impl Experiment {
    /// The series of that name.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }

    /// The point of the axis at `x`.
    pub fn point(&self, x: f64) -> Option<&Point> {
        self.axis.points.iter().find(|point| same_x(point.x, x))
    }

    /// Whether its runs must record samples.
    pub fn has_windows(&self) -> bool {
        self.figures
            .iter()
            .any(|figure| figure.kind == FigureKind::Window)
    }
}

/// Each seed once, in order.
pub fn distinct(seeds: impl Iterator<Item = u64>) -> Vec<u64> {
    seeds.collect::<BTreeSet<u64>>().into_iter().collect()
}

/// Whether two numbers name the same point.
pub fn same_x(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}
