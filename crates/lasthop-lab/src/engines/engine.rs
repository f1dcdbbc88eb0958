// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The trait that every engine has.

use anyhow::{Error, Result, anyhow};

use crate::cell::options::{Cell, CompareOptions};
use crate::cell::outcome::Outcome;

/// What measures cells: real kernels, or a simulator.
pub trait CellEngine: Sync {
    /// Finds options that it cannot follow.
    ///
    /// # Errors
    /// One that is given, and what is wrong with it.
    fn check_options(&self, options: &CompareOptions) -> Result<()>;

    /// Finds its own programs on this machine, and those that these schemes need.
    ///
    /// # Errors
    /// One is missing.
    fn check_tools(&self, schemes: &[&str]) -> Result<()>;

    /// Finds out what this machine lacks for these options.
    ///
    /// # Errors
    /// A program, or a congestion control.
    fn check_machine(&self, options: &CompareOptions) -> Result<()>;

    /// Runs one cell. `progress` is told the share that is done, as far as it is known.
    ///
    /// # Errors
    /// The cell cannot be set up or breaks down, or the user interrupts. Wrong or missing content
    /// is no error but part of the outcome.
    fn run(&self, options: &CompareOptions, cell: &Cell, progress: &dyn Fn(f64))
    -> Result<Outcome>;
}

/// Says that one engine has no such option, and which one has.
pub fn refusal(option: &str, engine: &str, other: &str) -> Error {
    anyhow!("--{option}: --engine {engine} has no such thing; --engine {other} has")
}
