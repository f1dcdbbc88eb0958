// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What an experiment's directory of results holds.

use std::path::Path;

use anyhow::Result;

use super::cells;
use super::line::{self, Line};
use super::spec::Experiment;
use crate::studies::campaign::Results;

/// The experiment's file, kept beside its results.
pub const SPEC_FILE: &str = "experiment.toml";

/// What an experiment's directory of results holds.
#[derive(Debug, Default)]
pub struct Stored {
    /// The lines that count: of the experiment as its file is now.
    pub lines: Vec<Line>,
    /// Numbers of lines that are no results of this version.
    pub unreadable: Vec<usize>,
    /// How many cells have no other result than one made with other options, or a point or
    /// series that the file has no more.
    pub stale: usize,
}

impl Stored {
    /// Reads it; without results there are none.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn read(experiment: &Experiment, directory: &Path) -> Result<Self> {
        let results = Results::<Line>::read(&directory.join(line::FILE))?;
        let current = |line: &&Line| {
            let point = experiment.point(line.x);
            let series = experiment.series(&line.series);
            point
                .zip(series)
                .is_some_and(|(p, s)| line.setup == cells::setup(experiment, p, s))
        };
        let lines: Vec<Line> = results.lines().iter().filter(current).cloned().collect();
        Ok(Self {
            stale: results.lines().len() - lines.len(),
            lines,
            unreadable: results.ignored,
        })
    }

    /// What was left out, in words.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.unreadable.is_empty() {
            remarks.push(format!(
                "{}: lines {:?} are no results of this version: ignored",
                line::FILE,
                self.unreadable
            ));
        }
        if self.stale > 0 {
            remarks.push(format!(
                "{}: {} results of another state of the experiment's file are left out",
                line::FILE,
                self.stale
            ));
        }
        remarks
    }
}
