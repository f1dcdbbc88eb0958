// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Values over the seeds: statistics, ratios and differences.

use serde::Serialize;

use super::line::Line;
use super::metric;
use super::spec::{Relation, Statistic, same_x};
use crate::base::stats::{interval, median};

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

    /// A metric of every seed at one point, with the seed; runs without a value are left out.
    pub fn values(&self, x: f64, series: &str, metric: &str) -> Vec<(u64, f64)> {
        let lines = self.lines.iter();
        let mut values: Vec<(u64, f64)> = lines
            .filter(|line| line.series == series && same_x(line.x, x))
            .filter_map(|line| Some((line.record.seed, metric::value(line, metric)?)))
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
        let [own, other] = self.both(x, of, to, what);
        what.pairs(&own, &other)
    }

    /// Values of either side of a relation, with their seeds.
    fn both(&self, x: f64, of: &str, to: &str, what: &Measure<'_>) -> [Vec<(u64, f64)>; 2] {
        [
            self.values(x * what.shift, of, what.metric),
            self.values(
                what.to_at.unwrap_or(x),
                to,
                what.to_metric.unwrap_or(what.metric),
            ),
        ]
    }

    /// The statistic of `of` at `x` against what the source says there.
    pub(super) fn against(
        &self,
        [x, reported]: [f64; 2],
        of: &str,
        what: &Measure<'_>,
    ) -> Option<Value> {
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
        let [own, other] = self.both(x, of, to, what);
        let only = |pairs: &[(u64, f64)]| pairs.iter().map(|(_, v)| *v).collect::<Vec<f64>>();
        let statistic = |pairs: &[(u64, f64)]| what.statistic.of(&only(pairs));
        let value = what.of(statistic(&own)?, statistic(&other)?);
        let pairs = only(&what.pairs(&own, &other));
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
    /// See [`super::spec::Check::shift`].
    pub shift: f64,
    /// See [`super::spec::Check::to_at`].
    pub to_at: Option<f64>,
    /// See [`super::spec::Check::to_metric`].
    pub to_metric: Option<&'a str>,
    /// See [`super::spec::Check::to_limits`].
    pub to_limits: (Option<f64>, Option<f64>),
}

impl Measure<'_> {
    /// Seed by seed; seeds that one side lacks are left out.
    fn pairs(&self, own: &[(u64, f64)], other: &[(u64, f64)]) -> Vec<(u64, f64)> {
        let of_seed = |seed: u64| other.iter().find(|(s, _)| *s == seed).map(|(_, v)| *v);
        own.iter()
            .filter_map(|(seed, own)| Some((*seed, self.of(*own, of_seed(*seed)?))))
            .collect()
    }

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
