// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A cell of `compare` in simulated time: the same hosts, link and agent in ns-3
//! (`ns3/lasthop/examples/lasthop-simulate.cc`), the same record.

mod arguments;
mod beside;
mod check;
mod congestion;
mod files;
mod raw;
mod record;
#[cfg(test)]
mod tests;

use std::process::Command;

use anyhow::{Context, Result};

use self::raw::Raw;
use crate::bed::process;
use crate::cell::options::{Cell, CompareOptions};
use crate::cell::outcome::Outcome;
use crate::engines::child;
use crate::engines::engine::CellEngine;

/// The simulator's executable, which `make sim` builds.
pub const BINARY: &str = "lasthop-simulate";

/// Finds the simulator.
///
/// # Errors
/// It is not there, and how to get it.
pub fn find() -> Result<std::path::PathBuf> {
    // `make sim` puts it beside the directories of cargo's profiles.
    process::find_binary_or(
        BINARY,
        "../sim",
        "`make sim` (where PyPI has no wheel of ns-3: `NS3_PREFIX=/usr make sim` with libns3-dev)",
    )
}

/// The simulator as an engine.
#[derive(Debug)]
pub struct Ns3Engine;

impl CellEngine for Ns3Engine {
    fn check_options(&self, options: &CompareOptions) -> Result<()> {
        check::check(options)
    }

    fn check_tools(&self, _schemes: &[&str]) -> Result<()> {
        find().map(drop)
    }

    fn check_machine(&self, _options: &CompareOptions) -> Result<()> {
        find().map(drop)
    }

    fn run(&self, options: &CompareOptions, cell: &Cell, _: &dyn Fn(f64)) -> Result<Outcome> {
        run(options, cell)
    }
}

/// Runs one cell.
///
/// # Errors
/// The simulator is missing or fails, its last words with it; the user interrupts. Wrong or missing
/// content is no error but part of the outcome.
fn run(options: &CompareOptions, cell: &Cell) -> Result<Outcome> {
    let arguments = arguments::arguments(options, cell)?;
    let mut command = Command::new(find()?);
    command.args(&arguments.words);
    let raw = child::printed(command, BINARY)?;
    let raw: Raw = serde_json::from_str(&raw)
        .with_context(|| format!("{BINARY}: cannot read what it printed; run `make sim`"))?;
    Ok(record::outcome(options, cell, &raw))
}
