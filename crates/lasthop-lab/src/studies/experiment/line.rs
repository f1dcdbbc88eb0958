// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A line of an experiment's `runs.jsonl`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cell::record::Record;
use crate::studies::campaign::Entry;

/// Name of the file in an experiment's directory of results.
pub const FILE: &str = "runs.jsonl";

/// One run. The record's fields stand beside these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name of the cell: `x/series/seed`.
    pub cell: String,
    /// Where on the axis.
    pub x: f64,
    /// Name of the series.
    pub series: String,
    /// Options of `compare` that it was run with, and the agent's configuration.
    pub setup: String,
    /// Of the lab: `git` revision of the source, or `unknown`.
    pub revision: String,
    /// Of the kernel.
    pub kernel: String,
    /// When it ended, in s since 1970.
    pub ended_s: u64,
    /// What `compare` said beside the record.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Figures.
    #[serde(flatten)]
    pub record: Record,
}

impl Line {
    /// A field of the record as a number, `host_efficiency[0]` being the first of a list; none if
    /// it is null or no number.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let record = serde_json::to_value(&self.record).ok()?;
        let (field, position) = field_of(name);
        let value = record.get(field)?;
        let value = match position {
            Some(position) => value.get(position)?,
            None => value,
        };
        match value {
            Value::Number(number) => number.as_f64(),
            Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
            _ => None,
        }
    }
}

/// Field of a metric, and the position in it that the metric names.
pub(super) fn field_of(metric: &str) -> (&str, Option<usize>) {
    let indexed = || {
        let (field, rest) = metric.strip_suffix(']')?.split_once('[')?;
        Some((field, rest.parse().ok()?))
    };
    match indexed() {
        Some((field, position)) => (field, Some(position)),
        None => (metric, None),
    }
}

impl Entry for Line {
    fn cell(&self) -> &str {
        &self.cell
    }

    fn setup(&self) -> &str {
        &self.setup
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cell::record::sample;

    /// The line of a run with this goodput.
    pub fn line(x: f64, series: &str, seed: u64, goodput_mbit: f64) -> Line {
        Line {
            cell: format!("{x}/{series}/{seed}"),
            x,
            series: series.into(),
            setup: String::new(),
            revision: "abc".into(),
            kernel: "6.18".into(),
            ended_s: 1,
            notes: Vec::new(),
            record: sample("none", "reno", seed, goodput_mbit),
        }
    }

    #[test]
    fn metrics_by_name() {
        let line = line(1.0, "tcp", 1, 2.5);
        assert_eq!(line.metric("goodput_mbit"), Some(2.5));
        assert_eq!(line.metric("content_ok"), Some(1.0));
        assert_eq!(line.metric("completion_ms"), None);
        assert_eq!(line.metric("cc"), None);
        assert_eq!(line.metric("host_rtt_p95_ms[0]"), Some(120.0));
        for nothing in ["host_rtt_p95_ms", "host_rtt_p95_ms[1]", "cc[0]", "cc[x]"] {
            assert_eq!(line.metric(nothing), None, "{nothing}");
        }
    }
}
