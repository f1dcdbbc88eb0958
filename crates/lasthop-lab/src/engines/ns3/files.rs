// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Files that the simulator reads.

use std::fmt::Display;
use std::io::{BufWriter, Write};

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// A file for the simulator to read: what is written into it, line by line.
///
/// # Errors
/// No room for temporary files.
pub(super) fn lines(lines: impl Iterator<Item = impl Display>) -> Result<NamedTempFile> {
    let file = NamedTempFile::with_prefix("lasthop-simulate-").context("a temporary file")?;
    let mut out = BufWriter::new(&file);
    for line in lines {
        writeln!(out, "{line}")
            .with_context(|| format!("cannot write {}", file.path().display()))?;
    }
    out.flush().context("a temporary file")?;
    drop(out);
    Ok(file)
}
