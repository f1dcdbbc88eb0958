// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whether an experiment's conditions hold.

use serde::Serialize;

use super::runs::{Measure, Runs, Value};
use super::spec::{Check, Demand, Experiment, Hold, JudgedBy, Place, Point, Relation, Statistic};
use crate::base::fields::Field;

/// How a condition stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It holds.
    Met,
    /// It does not.
    NotMet,
    /// Runs are missing.
    Incomplete,
}

/// In place of a series in [`Judgement::to`].
const REPORTED: &str = "reported";

/// A value that was held against bounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Points of the further axes; empty without.
    pub across: String,
    /// What was measured.
    pub metric: String,
    /// At which point of the axis, and what it came to.
    #[serde(flatten)]
    pub value: Value,
}

/// What became of a condition. The fields are described in [`JUDGEMENT_FIELDS`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Judgement {
    pub experiment: String,
    pub check: String,
    pub outcome: Outcome,
    pub of: String,
    pub to: Option<String>,
    pub relation: Relation,
    pub statistic: Statistic,
    pub any: Vec<Vec<Demand>>,
    pub values: Vec<Measured>,
    pub missed: Vec<String>,
    pub detail: String,
}

/// Fields of `run -j`, in their order.
pub const JUDGEMENT_FIELDS: [Field; 11] = [
    Field::new("experiment", "name", "its file's name"),
    Field::new("check", "text", "the condition, in words"),
    Field::new(
        "outcome",
        "name",
        "`met`, `not_met`, or `incomplete`: runs are missing",
    ),
    Field::new("of", "name", "the series that it is about"),
    Field::new(
        "to",
        "name",
        "the series that it is measured against; `reported`: what the source says; null: the value itself is",
    ),
    Field::new("relation", "name", "how: `ratio` or `difference`"),
    Field::new(
        "statistic",
        "name",
        "over the seeds: `mean`, `median`, `sum`, `min` or `max`",
    ),
    Field::new(
        "any",
        "list of lists",
        "alternatives, each of what must hold together: `metric`, the least and greatest value allowed, `min` and `max` (null: none), and `judged_by`, what is held against them: `value`, or its `interval`",
    ),
    Field::new(
        "values",
        "list",
        "per combination of the further axes (`across`, their points' names), point of the axis (`x`) and `metric`: `value` (the statistic, or the ratio or difference of two; null: infinite, as a time is that never came), `low` and `high` (95 % interval, Student's t, of the mean or of the mean over pairs of equal seeds; null otherwise) and `runs` (seeds)",
    ),
    Field::new(
        "missed",
        "list of text",
        "points at which the bounds do not hold",
    ),
    Field::new("detail", "text", "what decided"),
];

/// Judges all conditions. `seeds`: how many runs each point must have.
pub fn judge(experiment: &Experiment, runs: Runs<'_>, seeds: usize) -> Vec<Judgement> {
    let checks = experiment.checks.iter();
    checks
        .map(|check| one(experiment, check, runs, seeds))
        .collect()
}

fn one(experiment: &Experiment, check: &Check, runs: Runs<'_>, seeds: usize) -> Judgement {
    let trial = Trial {
        experiment,
        check,
        runs,
    };
    let places = check.places.iter();
    let tried: Vec<Tried<'_>> = places.map(|place| trial.at(place)).collect();
    let complete = tried.iter().all(|place| place.is_complete(check, seeds));
    let met = tried.iter().all(|place| place.is_met(check));
    let points = || tried.iter().flat_map(|place| &place.points);
    let missed: Vec<String> = points()
        .filter(|point| !point.is_met(check))
        .map(Tested::words)
        .collect();
    let detail = match &tried[..] {
        _ if points().all(|point| point.values.is_empty()) => "no runs".to_owned(),
        [only] => only.words(check),
        _ => format!(
            "holds at {} of {} points",
            points().count() - missed.len(),
            points().count()
        ),
    };
    Judgement {
        experiment: experiment.name.clone(),
        check: check.text.clone(),
        outcome: match (complete, met) {
            (false, _) => Outcome::Incomplete,
            (true, true) => Outcome::Met,
            (true, false) => Outcome::NotMet,
        },
        of: check.of.clone(),
        to: match check.to_reported {
            Some(_) => Some(REPORTED.to_owned()),
            None => check.to.clone(),
        },
        relation: check.relation,
        statistic: check.statistic,
        any: check.any.clone(),
        values: points().flat_map(|point| point.values.clone()).collect(),
        missed,
        detail,
    }
}

impl Judgement {
    /// Whether it is about several combinations of further axes.
    pub fn has_places(&self) -> bool {
        self.values.iter().any(|value| !value.across.is_empty())
    }
}

/// A condition that is tried.
struct Trial<'a> {
    experiment: &'a Experiment,
    check: &'a Check,
    runs: Runs<'a>,
}

/// It at one combination of the further axes.
struct Tried<'a> {
    points: Vec<Tested<'a>>,
}

/// It at one point.
struct Tested<'a> {
    /// Name of the axis' point, or its x.
    name: String,
    place: &'a Place,
    /// Of each metric that has runs.
    values: Vec<Measured>,
}

impl<'a> Trial<'a> {
    fn at(&self, place: &'a Place) -> Tried<'a> {
        let xs: Vec<(f64, Option<f64>)> = match &self.check.to_reported {
            Some(pairs) => pairs.iter().map(|[x, y]| (*x, Some(*y))).collect(),
            None => points(self.experiment, self.check)
                .into_iter()
                .map(|x| (x, None))
                .collect(),
        };
        let metrics = self.check.metrics();
        let name = |x: f64| self.experiment.point(x).map(Point::name);
        let tested = |(x, reported): (f64, Option<f64>)| Tested {
            name: name(x).unwrap_or_else(|| x.to_string()),
            place,
            values: metrics
                .iter()
                .filter_map(|metric| self.measured(place, metric, x, reported))
                .collect(),
        };
        Tried {
            points: xs.into_iter().map(tested).collect(),
        }
    }

    fn measured(
        &self,
        place: &Place,
        metric: &str,
        x: f64,
        reported: Option<f64>,
    ) -> Option<Measured> {
        let check = self.check;
        let measure = Measure {
            metric,
            statistic: check.statistic,
            relation: check.relation,
            shift: check.shift,
            to_at: check.to_at,
            to_metric: check.to_metric.as_deref(),
            to_limits: check.to_limits,
        };
        let value = match (reported, &place.to) {
            (Some(reported), _) => self.runs.against([x, reported], &place.of, &measure),
            (None, Some(to)) => self.runs.relation(x, &place.of, to, &measure),
            (None, None) => self.runs.value(x, &place.of, metric, check.statistic),
        };
        Some(Measured {
            across: place.across.clone(),
            metric: metric.to_owned(),
            value: value?,
        })
    }
}

impl Check {
    /// Each metric that it asks about, once.
    fn metrics(&self) -> Vec<&str> {
        let mut metrics: Vec<&str> = Vec::new();
        for demand in self.any.iter().flatten() {
            if !metrics.contains(&demand.metric.as_str()) {
                metrics.push(&demand.metric);
            }
        }
        metrics
    }
}

impl Demand {
    fn is_met(&self, value: &Value) -> bool {
        let (low, high) = match self.judged_by {
            JudgedBy::Value => (None, None),
            JudgedBy::Interval => (value.low, value.high),
        };
        let (low, high) = (low.unwrap_or(value.value), high.unwrap_or(value.value));
        self.min.is_none_or(|min| high >= min) && self.max.is_none_or(|max| low <= max)
    }
}

impl Tested<'_> {
    /// Whether it is within bounds.
    fn is_met(&self, check: &Check) -> bool {
        let is_met = |demand: &Demand| {
            let own = self.values.iter().find(|v| v.metric == demand.metric);
            own.is_some_and(|own| demand.is_met(&own.value))
        };
        check.any.iter().any(|all| all.iter().all(is_met))
    }

    fn words(&self) -> String {
        let values: Vec<String> = self.values.iter().map(|v| number(&v.value)).collect();
        let values = match values.is_empty() {
            true => "no runs".to_owned(),
            false => values.join(" and "),
        };
        match self.place.across.is_empty() {
            true => format!("{values} at {}", self.name),
            false => format!("{}: {values} at {}", self.place.across, self.name),
        }
    }
}

impl Tried<'_> {
    fn is_complete(&self, check: &Check, seeds: usize) -> bool {
        let metrics = check.metrics().len();
        let has_all = |point: &Tested<'_>| {
            point.values.len() == metrics && point.values.iter().all(|v| v.value.runs >= seeds)
        };
        !self.points.is_empty() && self.points.iter().all(has_all)
    }

    fn is_met(&self, check: &Check) -> bool {
        let mut points = self.points.iter();
        let within = match check.hold {
            Hold::Every => points.all(|point| point.is_met(check)),
            Hold::Some => points.any(|point| point.is_met(check)),
        };
        within && check.peak.is_none_or(|peak| self.has_peak(check, peak))
    }

    fn has_peak(&self, check: &Check, [low, high]: [f64; 2]) -> bool {
        let values = self.values(check.metrics()[0]);
        let value = |end: Option<&(&str, &Value)>| end.map_or(f64::NAN, |(_, v)| v.value);
        let (first, last) = (value(values.first()), value(values.last()));
        let by_value = |a: &&(&str, &Value), b: &&(&str, &Value)| a.1.value.total_cmp(&b.1.value);
        let Some((_, most)) = values.iter().max_by(by_value) else {
            return false;
        };
        let falls = |end: f64| end * check.fall <= most.value;
        (low..=high).contains(&most.x) && falls(first) && falls(last)
    }

    /// Of a metric, with the points' names.
    fn values(&self, metric: &str) -> Vec<(&str, &Value)> {
        let points = self.points.iter();
        points
            .filter_map(|point| {
                let own = point.values.iter().find(|v| v.metric == metric);
                Some((point.name.as_str(), &own?.value))
            })
            .collect()
    }

    /// The extremes of each metric.
    fn words(&self, check: &Check) -> String {
        let metrics = check.metrics();
        let of_metric = |metric: &&str| {
            let words = extremes(&self.values(metric));
            match metrics.len() {
                1 => words,
                _ => format!("{metric} {words}"),
            }
        };
        let mut words = metrics.iter().map(of_metric).collect::<Vec<_>>().join("; ");
        let values = self.values(metrics[0]);
        if let (Some(_), Some((_, first)), Some((_, last))) =
            (check.peak, values.first(), values.last())
        {
            words.push_str(&format!("; ends {:.2} and {:.2}", first.value, last.value));
        }
        words
    }
}

fn extremes(values: &[(&str, &Value)]) -> String {
    let by_value = |a: &&(&str, &Value), b: &&(&str, &Value)| a.1.value.total_cmp(&b.1.value);
    let show = |(name, value): &(&str, &Value)| format!("{} at {name}", number(value));
    match (
        values.iter().min_by(by_value),
        values.iter().max_by(by_value),
    ) {
        (Some(only), _) if values.len() == 1 => show(only),
        (Some(least), Some(most)) => format!("least {}, greatest {}", show(least), show(most)),
        _ => "no runs".to_owned(),
    }
}

/// Where a condition must hold: with a shift, only where both series have a point.
fn points(experiment: &Experiment, check: &Check) -> Vec<f64> {
    let all = experiment.axis.points.iter().map(|point| point.x);
    let xs = check.at.clone().unwrap_or_else(|| all.collect());
    let both = |x: &f64| experiment.point(x * check.shift).is_some();
    xs.into_iter().filter(both).collect()
}

/// With its interval.
fn number(value: &Value) -> String {
    match (value.low, value.high) {
        (Some(low), Some(high)) => format!(
            "{} ({}..{})",
            digits(value.value),
            digits(low),
            digits(high)
        ),
        _ => digits(value.value),
    }
}

/// Three decimals where a third tells something.
fn digits(value: f64) -> String {
    match value.abs() < 2.0 {
        true => format!("{value:.3}"),
        false => format!("{value:.2}"),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
