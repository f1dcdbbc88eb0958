// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The summary of an experiment for people.

use std::path::Path;

use super::judge::{Judgement, Outcome};
use super::runs::Runs;
use super::spec::{Experiment, FigureKind};
use super::summary::{self, FigureData};
use crate::base::columns::aligned;

/// Points that are named of those at which a condition is missed.
const NAMED_POINTS: usize = 5;

/// Title, a table per figure, and the conditions.
pub fn experiment(
    experiment: &Experiment,
    runs: Runs<'_>,
    judgements: &[Judgement],
    directory: &Path,
) -> String {
    let mut text = format!(
        "{}: {} ({})\n",
        experiment.name, experiment.title, experiment.source
    );
    for figure in summary::figures(experiment, runs, directory) {
        if figure.kind != FigureKind::Window {
            text.push_str(&format!("\n{}{}\n", figure.title, unit(&figure)));
            text.push_str(&table(&figure));
        }
    }
    text.push('\n');
    text.extend(judgements.iter().map(condition));
    text
}

/// How many conditions are met, and those that are not: a page has the rest.
pub fn brief(experiment: &Experiment, judgements: &[Judgement]) -> String {
    if judgements.is_empty() {
        return format!(
            "{}: nothing judged: no condition is left\n",
            experiment.name
        );
    }
    let is_met = |judgement: &&Judgement| judgement.outcome == Outcome::Met;
    let met = judgements.iter().filter(is_met).count();
    let mut text = format!(
        "{}: {met} of {} conditions met\n",
        experiment.name,
        judgements.len()
    );
    text.extend(judgements.iter().filter(|j| !is_met(j)).map(condition));
    text
}

fn condition(judgement: &Judgement) -> String {
    let mark = match judgement.outcome {
        Outcome::Met => "met",
        Outcome::NotMet => "NOT MET",
        Outcome::Incomplete => "incomplete",
    };
    let mut text = format!("  {mark}: {} [{}]\n", judgement.check, judgement.detail);
    if judgement.has_places() {
        let named = judgement.missed.iter().take(NAMED_POINTS);
        text.extend(named.map(|point| format!("      {point}\n")));
        if judgement.missed.len() > NAMED_POINTS {
            let more = judgement.missed.len() - NAMED_POINTS;
            text.push_str(&format!(
                "      and {more} more, which the page and -j name\n"
            ));
        }
    }
    text
}

fn unit(figure: &FigureData) -> String {
    match (figure.y.unit.as_str(), &figure.to) {
        ("", None) => String::new(),
        ("", Some(to)) => format!(", against {to}"),
        (unit, None) => format!(", {unit}"),
        (unit, Some(to)) => format!(", {unit}, against {to}"),
    }
}

/// A line per x, a column per curve.
fn table(figure: &FigureData) -> String {
    let x_head = match figure.x.unit.is_empty() {
        true => figure.x.label.clone(),
        false => format!("{} ({})", figure.x.label, figure.x.unit),
    };
    let mut rows = vec![
        std::iter::once(x_head)
            .chain(figure.curves.iter().map(|curve| curve.label.clone()))
            .collect::<Vec<String>>(),
    ];
    let mut xs: Vec<f64> = figure
        .curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(|point| point.x))
        .collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    for x in xs {
        let cells = figure.curves.iter().map(|curve| {
            let point = curve.points.iter().find(|point| point.x == x);
            point.map_or("-".to_owned(), |p| match (p.low, p.high) {
                (Some(low), Some(high)) => format!("{:.3} ±{:.3}", p.value, (high - low) / 2.0),
                _ => format!("{:.3}", p.value),
            })
        });
        rows.push(std::iter::once(x.to_string()).chain(cells).collect());
    }
    aligned(&rows, 0)
}
