// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the figures show, in numbers: the plot scripts read it, and so may anybody
//! (`figures.json`).

use std::path::Path;

use serde::Serialize;

use super::cells::{self, samples_file};
use super::runs::{Measure, Runs, Value};
use super::spec::{Experiment, Figure, FigureKind, Reported, Scale, Series, Statistic};
use crate::studies::campaign::CompareLine;

/// One axis of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AxisText {
    /// What it shows.
    pub label: String,
    /// Its unit, empty for a pure number.
    pub unit: String,
    /// How it is divided.
    pub scale: Scale,
}

/// A point of the axis that has a name beside its number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tick {
    /// Where.
    pub x: f64,
    /// Its name.
    pub label: String,
}

/// What one seed came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeedValue {
    /// Where.
    pub x: f64,
    /// The seed.
    pub seed: u64,
    /// Its value, or its ratio or difference to the other series with the same seed; null:
    /// infinite.
    pub value: f64,
}

/// One curve of a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Name of the series.
    pub series: String,
    /// For legends.
    pub label: String,
    /// Place among all series of the experiment: equal colours in all of its figures.
    pub index: usize,
    /// Its points in the order of x; empty in a window figure.
    pub points: Vec<Value>,
    /// What the points are made of, in the order of x and seed.
    pub seeds: Vec<SeedValue>,
    /// File with the samples of a window figure's run, below the experiment's directory.
    pub samples: Option<String>,
    /// Outages of a window figure's run: first and last moment, s since the transfer's start.
    pub outages_s: Vec<[f64; 2]>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureData {
    /// Name, part of the pictures' names.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What it shows.
    pub kind: FigureKind,
    /// Field of `compare -j`; empty for a window figure.
    pub metric: String,
    /// The axes.
    pub x: AxisText,
    /// The axes.
    pub y: AxisText,
    /// Points of the x axis with a name; empty in a window figure.
    pub ticks: Vec<Tick>,
    /// The series that a ratio or difference is taken against, by its label.
    pub to: Option<String>,
    /// The curves.
    pub curves: Vec<Curve>,
    /// What the source says.
    pub reported: Vec<Reported>,
    /// Moments between which a window figure is drawn, s since the transfer's start.
    pub span_s: (Option<f64>, Option<f64>),
}

/// All figures of an experiment. `directory`: its results, where samples are looked for.
pub fn figures(experiment: &Experiment, runs: Runs<'_>, directory: &Path) -> Vec<FigureData> {
    let figures = experiment.figures.iter();
    figures
        .map(|figure| data(experiment, figure, runs, directory))
        .collect()
}

fn data(experiment: &Experiment, figure: &Figure, runs: Runs<'_>, directory: &Path) -> FigureData {
    let names = experiment.series.iter().enumerate();
    let curves = names
        .filter(|(_, series)| figure.series.contains(&series.name))
        .map(|(index, series)| Curve {
            series: series.name.clone(),
            label: series.label.clone(),
            index,
            points: points(experiment, figure, &series.name, runs),
            seeds: seeds(experiment, figure, &series.name, runs),
            samples: figure
                .at
                .map(|x| samples_file(x, &series.name, figure.seed))
                .filter(|file| directory.join(file).is_file())
                .map(|file| file.display().to_string()),
            outages_s: outages_s(experiment, figure, series),
        })
        .collect();
    let x = match figure.kind {
        FigureKind::Window => AxisText {
            label: "Time since the transfer began".into(),
            unit: "s".into(),
            scale: Scale::Linear,
        },
        _ => AxisText {
            label: experiment.axis.label.clone(),
            unit: experiment.axis.unit.clone(),
            scale: experiment.axis.scale,
        },
    };
    let label_of = |name: &String| experiment.series(name).map(|series| series.label.clone());
    FigureData {
        name: figure.name.clone(),
        title: figure.title.clone(),
        kind: figure.kind,
        metric: figure.metric.clone(),
        ticks: ticks(experiment, figure),
        x,
        y: AxisText {
            label: figure.label.clone(),
            unit: figure.unit.clone(),
            scale: figure.scale,
        },
        to: figure.to.as_ref().and_then(label_of),
        curves,
        reported: figure.reported.clone(),
        span_s: figure.span_s,
    }
}

fn ticks(experiment: &Experiment, figure: &Figure) -> Vec<Tick> {
    if figure.kind == FigureKind::Window {
        return Vec::new();
    }
    let points = experiment.axis.points.iter();
    let tick = |x, label: &String| Tick {
        x,
        label: label.clone(),
    };
    points
        .filter_map(|point| Some(tick(point.x, point.label.as_ref()?)))
        .collect()
}

/// What its points are.
fn measure(figure: &Figure) -> Measure<'_> {
    Measure {
        metric: &figure.metric,
        statistic: Statistic::Mean,
        relation: figure.kind.relation().unwrap_or_default(),
        shift: 1.0,
        to_at: None,
        to_metric: None,
        to_limits: (None, None),
    }
}

fn points(experiment: &Experiment, figure: &Figure, series: &str, runs: Runs<'_>) -> Vec<Value> {
    let measure = measure(figure);
    let value = |x: f64| match (figure.kind, &figure.to) {
        (FigureKind::Window, _) => None,
        (_, Some(to)) => runs.relation(x, series, to, &measure),
        (_, None) => runs.value(x, series, &figure.metric, Statistic::Mean),
    };
    let mut points: Vec<Value> = experiment
        .axis
        .points
        .iter()
        .filter_map(|p| value(p.x))
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

fn seeds(experiment: &Experiment, figure: &Figure, series: &str, runs: Runs<'_>) -> Vec<SeedValue> {
    let measure = measure(figure);
    let of_point = |x: f64| match &figure.to {
        Some(to) => runs.pairs(x, series, to, &measure),
        None => runs.values(x, series, &figure.metric),
    };
    let mut xs: Vec<f64> = experiment.axis.points.iter().map(|p| p.x).collect();
    if figure.kind == FigureKind::Window {
        xs.clear();
    }
    xs.sort_by(f64::total_cmp);
    xs.into_iter()
        .flat_map(|x| {
            let values = of_point(x).into_iter();
            values.map(move |(seed, value)| SeedValue { x, seed, value })
        })
        .collect()
}

/// Of the run that a window figure shows, as its options say.
fn outages_s(experiment: &Experiment, figure: &Figure, series: &Series) -> Vec<[f64; 2]> {
    let point = figure.at.and_then(|x| experiment.point(x));
    let compare = point.and_then(|p| CompareLine::parse(&cells::args(experiment, p, series)).ok());
    let Some((compare, outage)) = compare.and_then(|c| c.link.outage.map(|o| (c, o))) else {
        return Vec::new();
    };
    let until_ns = compare.longest_cell().as_nanos() as u64;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let intervals = outage.intervals_ns(until_ns);
    intervals
        .map(|(start, end)| [seconds(start), seconds(end)])
        .collect()
}
