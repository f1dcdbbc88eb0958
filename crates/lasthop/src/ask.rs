// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the serving processes say, as values.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::control;

/// Asks the owners of all devices of this network namespace (or of one), and parses what they answer;
/// and a sentence for each who did not.
///
/// # Errors
/// No right to ask, nobody serves the device, or an answer is no JSON.
pub fn values(
    runtime_dir: &Path,
    device: Option<&str>,
    request: &str,
) -> Result<(Vec<Value>, Vec<String>)> {
    let answers = control::ask_all(runtime_dir, device, request)?;
    let parse = |line: &String| serde_json::from_str(line).context("an answer that is no JSON");
    let values: Result<Vec<Value>> = answers.lines.iter().map(parse).collect();
    Ok((values?, answers.silent))
}

/// Devices that could not be asked are an error, once the others are shown.
///
/// # Errors
/// There are such; the message names them.
pub fn complain(silent: &[String]) -> Result<()> {
    if silent.is_empty() {
        return Ok(());
    }
    bail!("{}", silent.join("; "))
}
