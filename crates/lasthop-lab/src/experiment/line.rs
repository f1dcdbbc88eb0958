// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A line of an experiment's `runs.jsonl`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::campaign::Entry;
use crate::compare::Record;

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
    /// A field of the record as a number; none if it is null or no number.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let record = serde_json::to_value(&self.record).ok()?;
        match record.get(name)? {
            Value::Number(number) => number.as_f64(),
            Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
            _ => None,
        }
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
pub(super) mod tests {
    use super::*;
    use crate::compare::record::sample;

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
    }
}
