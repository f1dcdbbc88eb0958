// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A line of an experiment's `runs.jsonl`.

use serde::{Deserialize, Serialize};

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
}
