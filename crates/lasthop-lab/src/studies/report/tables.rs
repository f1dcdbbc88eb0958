// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The runs and the figures' values as CSV. Their columns are documented, and stay.

use anyhow::Result;
use serde_json::Value;

use crate::base::fields::Field;
use crate::cell::record::FIELDS;
use crate::studies::experiment::line::Line;
use crate::studies::experiment::spec::FigureKind;
use crate::studies::experiment::summary::FigureData;

/// What the figures show, in an experiment's directory.
pub const FIGURES_FILE: &str = "figures.json";
/// A line per run.
pub const RUNS_FILE: &str = "runs.csv";
/// A line per point of each figure.
pub const SUMMARY_FILE: &str = "summary.csv";

const EXPERIMENT: Field = Field::new("experiment", "name", "its file's name");
const X: Field = Field::new("x", "as the axis", "place on the axis");
const SERIES: Field = Field::new("series", "name", "name of the series");
const SEED: Field = Field::new("seed", "number", "seed of the run");

/// Behind the fields of the record.
const BEHIND: [Field; 5] = [
    Field::new(
        "notes",
        "text",
        "what `compare` said beside the figures, joined by `; `",
    ),
    Field::new(
        "setup",
        "text",
        "options of `compare` that it was run with, and the agent's configuration",
    ),
    Field::new("revision", "name", "`git` revision of the lab"),
    Field::new("kernel", "name", "release of the kernel"),
    Field::new("ended_s", "s", "when it ended, since 1970"),
];

/// Columns of `summary.csv`.
pub const SUMMARY_COLUMNS: [Field; 11] = [
    EXPERIMENT,
    Field::new(
        "figure",
        "name",
        "name of the figure; window figures are not here",
    ),
    Field::new("kind", "name", "`value`, `ratio` or `difference`"),
    Field::new("metric", "name", "field of `compare -j`"),
    SERIES,
    Field::new(
        "to",
        "text",
        "label of the series that a ratio or difference is taken against",
    ),
    X,
    Field::new(
        "value",
        "as the figure",
        "mean over the seeds, or ratio or difference of two means; `inf`: a time that never came",
    ),
    Field::new(
        "low",
        "as the figure",
        "lower end of the 95 % interval (Student's t) of the mean, or of the mean over pairs of equal seeds; empty with a single seed",
    ),
    Field::new("high", "as the figure", "its upper end"),
    Field::new("runs", "number", "seeds"),
];

/// Fields of the record that are one value.
fn scalars() -> impl Iterator<Item = &'static Field> {
    let other = |field: &&Field| field.name != SEED.name && !field.unit.starts_with("list");
    FIELDS.iter().filter(other)
}

/// Columns of `runs.csv`.
pub fn run_columns() -> Vec<Field> {
    let mut columns = vec![EXPERIMENT, X, SERIES, SEED];
    columns.extend(scalars().copied());
    columns.extend(BEHIND);
    columns
}

/// `runs.csv`: in the order of x, series and seed.
///
/// # Errors
/// A record that is none.
pub fn runs(experiment: &str, lines: &[Line]) -> Result<Vec<u8>> {
    let mut lines: Vec<&Line> = lines.iter().collect();
    lines.sort_by(|a, b| {
        let by_x = a.x.total_cmp(&b.x);
        let by_series = || a.series.cmp(&b.series);
        by_x.then_with(by_series)
            .then(a.record.seed.cmp(&b.record.seed))
    });
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(run_columns().iter().map(|column| column.name))?;
    for line in lines {
        let record = serde_json::to_value(&line.record)?;
        let mut row = vec![
            experiment.to_owned(),
            line.x.to_string(),
            line.series.clone(),
            line.record.seed.to_string(),
        ];
        row.extend(scalars().map(|field| text(&record[field.name])));
        row.extend([
            line.notes.join("; "),
            line.setup.clone(),
            line.revision.clone(),
            line.kernel.clone(),
            line.ended_s.to_string(),
        ]);
        csv.write_record(row)?;
    }
    Ok(csv.into_inner()?)
}

/// A null is an empty cell.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `summary.csv`: in the order of the figures, series and x.
///
/// # Errors
/// None that memory would not have.
pub fn summary(experiment: &str, figures: &[FigureData]) -> Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(SUMMARY_COLUMNS.iter().map(|column| column.name))?;
    for figure in figures {
        for curve in &figure.curves {
            for point in &curve.points {
                let optional = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
                csv.write_record([
                    experiment,
                    &figure.name,
                    kind(figure.kind),
                    &figure.metric,
                    &curve.series,
                    figure.to.as_deref().unwrap_or_default(),
                    &point.x.to_string(),
                    &point.value.to_string(),
                    &optional(point.low),
                    &optional(point.high),
                    &point.runs.to_string(),
                ])?;
            }
        }
    }
    Ok(csv.into_inner()?)
}

fn kind(kind: FigureKind) -> &'static str {
    match kind {
        FigureKind::Value => "value",
        FigureKind::Ratio => "ratio",
        FigureKind::Difference => "difference",
        FigureKind::Window => "window",
    }
}
