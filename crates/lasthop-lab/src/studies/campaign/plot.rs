// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Pictures: Python scripts that travel inside the program, since matplotlib is what draws them
//! best and the program must work away from its source.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// The second is where the distribution's packages go, whatever `PATH` has in front of it.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];
/// How a script ends when there is no matplotlib.
const EXIT_NO_MATPLOTLIB: i32 = 3;

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// The pictures are there.
    Yes,
    /// There is no Python, or it has no matplotlib.
    NoMatplotlib,
}

/// Runs a script with these arguments.
///
/// # Errors
/// The script fails.
pub fn draw<A: AsRef<OsStr>>(script: &str, args: &[A]) -> Result<Drawn> {
    let mut output = None;
    for python in PYTHONS {
        output = run(python, script, args)?.or(output);
        let drawn = output.as_ref().and_then(|output| output.status.code());
        if drawn.is_some_and(|code| code != EXIT_NO_MATPLOTLIB) {
            break;
        }
    }
    let Some(output) = output else {
        return Ok(Drawn::NoMatplotlib);
    };
    match output.status.code() {
        Some(0) => Ok(Drawn::Yes),
        Some(EXIT_NO_MATPLOTLIB) => Ok(Drawn::NoMatplotlib),
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
fn run<A: AsRef<OsStr>>(python: &str, script: &str, args: &[A]) -> Result<Option<Output>> {
    let output = Command::new(python)
        .arg("-c")
        .arg(script)
        .args(args)
        .stdin(Stdio::null())
        .output();
    match output {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).with_context(|| python.to_owned()),
    }
}
