// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What became of a cell.

use super::record::Record;

/// What a cell came to.
#[derive(Debug)]
pub struct Outcome {
    /// Its figures.
    pub record: Record,
    /// Why content is wrong or missing.
    pub failure: Option<String>,
    /// Things that cast doubt on the figures, or that should be known.
    pub notes: Vec<String>,
}
