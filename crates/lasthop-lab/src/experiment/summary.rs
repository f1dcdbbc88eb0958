// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the figures show, in numbers: the plot scripts read it, and so may anybody
//! (`figures.json`).

use std::path::Path;

use serde::Serialize;

use super::cells::samples_file;
use super::judge::{Measure, Runs, Value};
use super::spec::{Experiment, Figure, FigureKind, Reported, Scale, Statistic};

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
    /// File with the samples of a window figure's run, below the experiment's directory.
    pub samples: Option<String>,
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
    /// The axes.
    pub x: AxisText,
    /// The axes.
    pub y: AxisText,
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
            samples: figure
                .at
                .map(|x| samples_file(x, &series.name, figure.seed))
                .filter(|file| directory.join(file).is_file())
                .map(|file| file.display().to_string()),
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

fn points(experiment: &Experiment, figure: &Figure, series: &str, runs: Runs<'_>) -> Vec<Value> {
    let measure = Measure {
        metric: &figure.metric,
        statistic: Statistic::Mean,
        relation: figure.kind.relation().unwrap_or_default(),
        shift: 1.0,
    };
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
