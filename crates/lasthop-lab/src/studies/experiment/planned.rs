// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! An experiment that is to be run.

use std::path::PathBuf;

use super::spec::Experiment;

/// An experiment and where its results are.
#[derive(Debug)]
pub struct Planned {
    /// What is asked.
    pub experiment: Experiment,
    /// Where its results are.
    pub directory: PathBuf,
    /// With which seeds.
    pub seeds: Vec<u64>,
    /// What repeats it, but for `--out`.
    pub command: Vec<String>,
}
