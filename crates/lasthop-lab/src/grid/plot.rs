// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The heat maps: a Python script that travels inside the program, since matplotlib is what draws
//! them best and the program must work away from its source.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use super::line;

const SCRIPT: &str = include_str!("../../../../experiments/plot/grid.py");
/// The second is where the distribution's packages go, whatever `PATH` has in front of it.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];
/// How the script ends when there is no matplotlib.
const EXIT_NO_MATPLOTLIB: i32 = 3;

/// Draws what `directory` holds; returns a remark if it cannot be drawn here.
///
/// # Errors
/// The script fails.
pub fn draw(directory: &Path, judge: &str) -> Result<Option<String>> {
    let missing = "no pictures: matplotlib is missing (Debian, Ubuntu: `apt install \
                   python3-matplotlib`, then --summary-only)";
    let mut output = None;
    for python in PYTHONS {
        output = run(python, directory, judge)?;
        let drawn = output.as_ref().and_then(|output| output.status.code());
        if drawn.is_some_and(|code| code != EXIT_NO_MATPLOTLIB) {
            break;
        }
    }
    let Some(output) = output else {
        return Ok(Some(missing.to_owned()));
    };
    match output.status.code() {
        Some(0) => Ok(None),
        Some(EXIT_NO_MATPLOTLIB) => Ok(Some(missing.to_owned())),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!(
                "the pictures could not be drawn ({}): {}",
                output.status,
                said.trim().lines().next_back().unwrap_or("it said nothing")
            )
        }
    }
}

/// None if there is no such Python.
fn run(python: &str, directory: &Path, judge: &str) -> Result<Option<Output>> {
    let output = Command::new(python)
        .arg("-c")
        .arg(SCRIPT)
        .arg(directory.join(line::FILE))
        .args(["--scheme", judge])
        .stdin(Stdio::null())
        .output();
    match output {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).with_context(|| python.to_owned()),
    }
}
