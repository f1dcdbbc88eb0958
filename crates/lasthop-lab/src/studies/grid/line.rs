// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A line of `grid.jsonl`.

use serde::{Deserialize, Serialize};

use crate::cell::record::Record;
use crate::studies::campaign::Entry;

/// Name of the file in the directory of `--out`.
pub const FILE: &str = "grid.jsonl";

/// One line. The record's fields stand beside these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name of the cell.
    pub cell: String,
    /// Its variant.
    pub variant: String,
    /// Options of `compare` that it was run with, but congestion control, scheme and seed.
    pub setup: String,
    /// What `compare` said beside the record.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Figures.
    #[serde(flatten)]
    pub record: Record,
}

impl Line {
    /// Name of the cell's place: without scheme and seed.
    pub fn place(&self) -> &str {
        let mut parts = self.cell.rsplitn(3, '/');
        parts.nth(2).unwrap_or(&self.cell)
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
    use crate::cell::record::sample;

    /// The line of a cell at `place`, such as `base/20mbit/110ms/2%/reno`.
    pub fn line(place: &str, scheme: &str, seed: u64, goodput_mbit: f64) -> Line {
        let parts: Vec<&str> = place.split('/').collect();
        let number = |text: &str, unit: &str| text.trim_end_matches(unit).parse().unwrap();
        let mut record = sample(scheme, parts[4], seed, goodput_mbit);
        record.rate_mbit = number(parts[1], "mbit");
        record.rtt_ms = number(parts[2], "ms");
        record.loss_pct = number(parts[3], "%");
        Line {
            cell: format!("{place}/{scheme}/{seed}"),
            variant: parts[0].into(),
            setup: "--duration 30s".into(),
            notes: Vec::new(),
            record,
        }
    }

    #[test]
    fn a_place_is_a_cell_without_scheme_and_seed() {
        let place = "base/20mbit/110ms/2%/reno";
        assert_eq!(line(place, "none", 1, 5.0).place(), place);
    }
}
