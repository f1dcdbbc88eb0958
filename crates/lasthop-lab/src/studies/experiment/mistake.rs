// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A mistake in an experiment's file.

use std::fmt;
use std::ops::Range;

/// A mistake at a place of a file.
#[derive(Debug)]
pub(super) struct Mistake {
    /// Where, in bytes from the beginning, if that is known.
    pub at: Option<Range<usize>>,
    /// What is wrong.
    pub what: String,
}

impl Mistake {
    pub(super) fn new(at: Range<usize>, what: impl fmt::Display) -> Self {
        Self {
            at: Some(at),
            what: what.to_string(),
        }
    }

    pub(super) fn anywhere(what: impl fmt::Display) -> Self {
        Self {
            at: None,
            what: what.to_string(),
        }
    }
}
