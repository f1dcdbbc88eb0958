// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the runs came to: values over the seeds, and whether the experiment's conditions hold.

use serde::Serialize;

use super::line::{Line, field_of};
use super::spec::{Check, Experiment, Hold, Relation, Statistic, same_x};
use crate::base::fields::Field;
use crate::base::stats::{interval, median};
use crate::cell::record::FIELDS;

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

/// A value at one point of the axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    /// Where.
    pub x: f64,
    /// The statistic, or the ratio or difference of two; null: infinite.
    pub value: f64,
    /// 95 % interval over the seeds (Student's t): of the mean, or of the mean over pairs of
    /// equal seeds; null with a single seed and for other statistics.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// Seeds.
    pub runs: usize,
}

/// In place of a series in [`Judgement::to`].
const REPORTED: &str = "reported";

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
    pub metric: String,
    pub statistic: Statistic,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub values: Vec<Value>,
    pub detail: String,
}

/// Fields of `run -j`, in their order.
pub const JUDGEMENT_FIELDS: [Field; 12] = [
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
    Field::new("metric", "name", "field of `compare -j`"),
    Field::new(
        "statistic",
        "name",
        "over the seeds: `mean`, `median`, `sum`, `min` or `max`",
    ),
    Field::new("min", "as the value", "least value allowed; null: none"),
    Field::new("max", "as the value", "greatest value allowed; null: none"),
    Field::new(
        "values",
        "list",
        "per point of the axis `x`, `value` (the statistic, or the ratio or difference of two; null: infinite, as a time is that never came), `low` and `high` (95 % interval, Student's t, of the mean or of the mean over pairs of equal seeds; null otherwise) and `runs` (seeds)",
    ),
    Field::new("detail", "text", "what decided"),
];

/// The runs of an experiment, looked up by point and series.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    lines: &'a [&'a Line],
}

impl<'a> Runs<'a> {
    /// Over these lines.
    pub fn new(lines: &'a [&'a Line]) -> Self {
        Self { lines }
    }

    /// A metric of every seed at one point, with the seed. A time that never came is infinite;
    /// anything else that is null is left out.
    pub fn values(&self, x: f64, series: &str, metric: &str) -> Vec<(u64, f64)> {
        let (field, _) = field_of(metric);
        let is_time = FIELDS
            .iter()
            .any(|f| f.name == field && f.unit.ends_with("ms"));
        let lines = self.lines.iter();
        let mut values: Vec<(u64, f64)> = lines
            .filter(|line| line.series == series && same_x(line.x, x))
            .filter_map(|line| {
                let value = line.metric(metric);
                let value = value.or(is_time.then_some(f64::INFINITY))?;
                Some((line.record.seed, value))
            })
            .collect();
        values.sort_by_key(|(seed, _)| *seed);
        values
    }

    /// The statistic of a metric at one point.
    pub fn value(&self, x: f64, series: &str, metric: &str, statistic: Statistic) -> Option<Value> {
        let pairs = self.values(x, series, metric);
        let values: Vec<f64> = pairs.iter().map(|(_, value)| *value).collect();
        let bounds = (statistic == Statistic::Mean).then(|| interval(&values));
        let bounds = bounds
            .flatten()
            .filter(|(low, high)| low.is_finite() && high.is_finite());
        Some(Value {
            x,
            value: statistic.of(&values)?,
            low: bounds.map(|(low, _)| low),
            high: bounds.map(|(_, high)| high),
            runs: values.len(),
        })
    }

    /// The metric of `of` at `x * shift` against that of `to` at `x`, or at `to_at`, seed by seed.
    pub fn pairs(&self, x: f64, of: &str, to: &str, what: &Measure<'_>) -> Vec<(u64, f64)> {
        let own = self.values(x * what.shift, of, what.metric);
        let other = self.values(what.to_at.unwrap_or(x), to, what.metric);
        let of_seed = |seed: u64| other.iter().find(|(s, _)| *s == seed).map(|(_, v)| *v);
        own.into_iter()
            .filter_map(|(seed, own)| Some((seed, what.of(own, of_seed(seed)?))))
            .collect()
    }

    /// The statistic of `of` at `x` against what the source says there.
    fn against(&self, [x, reported]: [f64; 2], of: &str, what: &Measure<'_>) -> Option<Value> {
        let own = self.value(x, of, what.metric, what.statistic)?;
        let relation = |value: f64| what.relation.of(value, reported);
        Some(Value {
            value: relation(own.value),
            low: own.low.map(relation),
            high: own.high.map(relation),
            ..own
        })
    }

    /// The statistic of `of` at `x * shift` against that of `to` at `x`, or at `to_at`.
    pub fn relation(&self, x: f64, of: &str, to: &str, what: &Measure<'_>) -> Option<Value> {
        let own = self.values(x * what.shift, of, what.metric);
        let other = self.values(what.to_at.unwrap_or(x), to, what.metric);
        let only = |pairs: &[(u64, f64)]| pairs.iter().map(|(_, v)| *v).collect::<Vec<f64>>();
        let statistic = |pairs: &[(u64, f64)]| what.statistic.of(&only(pairs));
        let value = what.of(statistic(&own)?, statistic(&other)?);
        let pairs = self.pairs(x, of, to, what);
        let pairs: Vec<f64> = pairs.into_iter().map(|(_, value)| value).collect();
        let sound = what.statistic == Statistic::Mean
            && pairs.len() == other.len()
            && pairs.iter().all(|value| value.is_finite());
        let bounds = sound.then(|| interval(&pairs)).flatten();
        Some(Value {
            x,
            value,
            low: bounds.map(|(low, _)| low),
            high: bounds.map(|(_, high)| high),
            runs: own.len().min(other.len()),
        })
    }
}

impl Relation {
    /// Of a value to another.
    pub fn of(self, own: f64, other: f64) -> f64 {
        match self {
            Self::Ratio => own / other,
            Self::Difference => own - other,
        }
    }
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Measure<'a> {
    /// Field of `compare -j`.
    pub metric: &'a str,
    /// Over the seeds.
    pub statistic: Statistic,
    /// How.
    pub relation: Relation,
    /// See [`Check::shift`].
    pub shift: f64,
    /// See [`Check::to_at`].
    pub to_at: Option<f64>,
    /// See [`Check::to_limits`].
    pub to_limits: (Option<f64>, Option<f64>),
}

impl Measure<'_> {
    /// Of a value to another, which counts within the limits only.
    fn of(&self, own: f64, other: f64) -> f64 {
        let (least, most) = self.to_limits;
        let other = least.map_or(other, |least| other.max(least));
        let other = most.map_or(other, |most| other.min(most));
        self.relation.of(own, other)
    }
}

impl Statistic {
    /// Of these values; none without any.
    pub fn of(self, values: &[f64]) -> Option<f64> {
        let sum = || values.iter().sum::<f64>();
        let all = values.iter().copied();
        match self {
            _ if values.is_empty() => None,
            Self::Mean => Some(sum() / values.len() as f64),
            Self::Median => median(values),
            Self::Sum => Some(sum()),
            Self::Min => all.reduce(f64::min),
            Self::Max => all.reduce(f64::max),
        }
    }
}

/// Judges all conditions. `seeds`: how many runs each point must have.
pub fn judge(experiment: &Experiment, runs: Runs<'_>, seeds: usize) -> Vec<Judgement> {
    let checks = experiment.checks.iter();
    checks
        .map(|check| one(experiment, check, runs, seeds))
        .collect()
}

fn one(experiment: &Experiment, check: &Check, runs: Runs<'_>, seeds: usize) -> Judgement {
    let measure = Measure {
        metric: &check.metric,
        statistic: check.statistic,
        relation: check.relation,
        shift: check.shift,
        to_at: check.to_at,
        to_limits: check.to_limits,
    };
    let reported = check.to_reported.iter().flatten();
    let xs: Vec<f64> = match &check.to_reported {
        Some(_) => reported.clone().map(|[x, _]| *x).collect(),
        None => points(experiment, check),
    };
    let at = xs.iter();
    let values: Vec<Value> = match (&check.to_reported, &check.to) {
        (Some(_), _) => reported
            .filter_map(|pair| runs.against(*pair, &check.of, &measure))
            .collect(),
        (None, Some(to)) => at
            .filter_map(|x| runs.relation(*x, &check.of, to, &measure))
            .collect(),
        (None, None) => at
            .filter_map(|x| runs.value(*x, &check.of, &check.metric, check.statistic))
            .collect(),
    };
    let complete = values.len() == xs.len() && values.iter().all(|v| v.runs >= seeds);
    let (met, detail) = match values.is_empty() {
        true => (false, "no runs".to_owned()),
        false => decide(check, &values),
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
        metric: check.metric.clone(),
        statistic: check.statistic,
        min: check.bounds.0,
        max: check.bounds.1,
        values,
        detail,
    }
}

/// Where a condition must hold: with a shift, only where both series have a point.
fn points(experiment: &Experiment, check: &Check) -> Vec<f64> {
    let all = experiment.axis.points.iter().map(|point| point.x);
    let xs = check.at.clone().unwrap_or_else(|| all.collect());
    let both = |x: &f64| experiment.point(x * check.shift).is_some();
    xs.into_iter().filter(both).collect()
}

fn decide(check: &Check, values: &[Value]) -> (bool, String) {
    let inside = |value: &&Value| {
        let (min, max) = check.bounds;
        min.is_none_or(|min| value.value >= min) && max.is_none_or(|max| value.value <= max)
    };
    let held = values.iter().filter(inside).count();
    let bounds_met = match check.hold {
        Hold::Every => held == values.len(),
        Hold::Some => held > 0,
    };
    let by_value = |a: &&Value, b: &&Value| a.value.total_cmp(&b.value);
    let (Some(least), Some(most)) = (
        values.iter().min_by(by_value),
        values.iter().max_by(by_value),
    ) else {
        return (false, "no runs".to_owned());
    };
    let mut detail = match values {
        [only] => show(only),
        _ => format!("least {}, greatest {}", show(least), show(most)),
    };
    let Some([low, high]) = check.peak else {
        return (bounds_met, detail);
    };
    let (first, last) = (values[0].value, values[values.len() - 1].value);
    let in_place = (low..=high).contains(&most.x);
    let falls = first * check.fall <= most.value && last * check.fall <= most.value;
    detail.push_str(&format!("; ends {first:.2} and {last:.2}"));
    (bounds_met && in_place && falls, detail)
}

fn show(value: &Value) -> String {
    let interval = match (value.low, value.high) {
        (Some(low), Some(high)) => format!(" ({low:.2}..{high:.2})"),
        _ => String::new(),
    };
    format!("{:.2}{interval} at {}", value.value, value.x)
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
