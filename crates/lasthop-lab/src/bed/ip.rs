// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Many commands of `ip` in one process.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::bed::namespace::Namespace;
use crate::bed::process;

/// Runs them in `namespace`, one a line.
///
/// # Errors
/// `ip` refuses one.
pub(super) fn batch(namespace: &Namespace, lines: &str) -> Result<()> {
    let mut command = Command::new("ip");
    command.args(["-batch", "-"]);
    command.stdin(Stdio::from(file_with(lines)?));
    process::run_to_end(Some(namespace), command, "ip -batch")
        .map(drop)
        .with_context(|| format!("cannot wire {}", namespace.name()))
}

/// A file in memory: `ip` reads its commands from it without a pipe that somebody must feed.
fn file_with(lines: &str) -> Result<File> {
    let mut file = File::from(memfd_create(c"ip-batch", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(lines.as_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}
