// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A cell of `compare` in ns-2: its TCP, and its own Snoop, a second opinion on ours. The scenario is
//! a script (`scenario.tcl`); ns-2 is the distribution's.

mod arguments;
mod check;
mod record;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

use crate::bed::process;
use crate::cell::options::{Cell, CompareOptions};
use crate::cell::outcome::Outcome;
use crate::engines::child;
use crate::engines::engine::CellEngine;

/// Debian's name of it.
const BINARY: &str = "ns";
const SCENARIO: &str = include_str!("scenario.tcl");

/// Finds ns-2.
///
/// # Errors
/// It is not there, and how to get it.
pub fn find() -> Result<PathBuf> {
    process::find_binary_or(
        BINARY,
        ".",
        "`scripts/setup.sh ns2` (Debian's and Ubuntu's package ns2)",
    )
}

/// ns-2 as an engine.
#[derive(Debug)]
pub struct Ns2Engine;

impl CellEngine for Ns2Engine {
    fn check_options(&self, options: &CompareOptions) -> Result<()> {
        check::check(options)
    }

    fn check_tools(&self, _schemes: &[&str]) -> Result<()> {
        find().map(drop)
    }

    fn check_machine(&self, options: &CompareOptions) -> Result<()> {
        check::check_schemes(options)?;
        find().map(drop)
    }

    fn run(&self, options: &CompareOptions, cell: &Cell, _: &dyn Fn(f64)) -> Result<Outcome> {
        let mut script = NamedTempFile::with_prefix("lasthop-ns2-").context("a temporary file")?;
        script.write_all(SCENARIO.as_bytes())?;
        let mut command = Command::new(find()?);
        command.arg(script.path());
        command.args(arguments::arguments(options, cell)?);
        let printed = child::printed(command, BINARY)?;
        let raw = serde_json::from_str(&printed)
            .with_context(|| format!("{BINARY}: cannot read what it printed"))?;
        Ok(record::outcome(options, cell, &raw))
    }
}
