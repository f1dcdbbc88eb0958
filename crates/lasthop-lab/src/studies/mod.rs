// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is asked: comparisons, campaigns of many cells, experiments, those that come with the program as `grid`, reports about them, what the agent costs, soaks, and
//! replays of captures.

pub(crate) mod campaign;
pub mod compare;
pub mod cost;
pub mod experiment;
pub mod grid;
pub mod replay;
pub mod report;
pub mod soak;
