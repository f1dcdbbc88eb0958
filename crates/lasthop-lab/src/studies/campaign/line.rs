// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line of one run, as `compare` reads it.

use clap::{CommandFactory, Parser, error::ErrorKind};

use crate::cell::options::CompareOptions;

#[derive(Debug, Parser)]
#[command(name = "compare", no_binary_name = true)]
pub(crate) struct CompareLine {
    #[command(flatten)]
    compare: CompareOptions,
}

impl CompareLine {
    /// Parses it.
    ///
    /// # Errors
    /// One line, as `compare` would say it.
    pub(crate) fn parse(args: &[String]) -> Result<CompareOptions, String> {
        let line = Self::try_parse_from(args).map_err(|error| reason(&error))?;
        Ok(line.compare)
    }

    /// All options that `compare` has.
    pub(crate) fn command() -> clap::Command {
        <Self as CommandFactory>::command()
    }

    /// What one option thinks of a value, whatever else it needs or excludes.
    ///
    /// # Errors
    /// It is none that it takes.
    pub(crate) fn check_value(option: &str, value: &str) -> Result<(), String> {
        let Err(error) = Self::try_parse_from([format!("--{option}={value}")]) else {
            return Ok(());
        };
        match error.kind() {
            ErrorKind::MissingRequiredArgument | ErrorKind::ArgumentConflict => Ok(()),
            _ => Err(reason(&error)),
        }
    }
}

/// The first line, without clap's prefix.
fn reason(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
