// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A simulator as a child: run to its end, or until the user interrupts.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::base::interrupt;
use crate::bed::process;

/// What the command printed. `name` is what errors call it.
///
/// # Errors
/// It cannot be started or fails, its last words with it; the user interrupts.
pub fn printed(mut command: Command, name: &str) -> Result<String> {
    let (out, said) = (temporary()?, temporary()?);
    command.stdin(Stdio::null());
    command.stdout(out.try_clone()?).stderr(said.try_clone()?);
    let lab = Pid::this();
    // SAFETY: between fork and exec only system calls without allocation are made.
    unsafe {
        command.pre_exec(move || process::end_with_lab(lab, Signal::SIGKILL));
    }
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if let Err(interrupted) = interrupt::check() {
            let _ = child.kill();
            child.wait()?;
            return Err(interrupted);
        }
        thread::sleep(interrupt::POLL);
    };
    let said = text(said)?;
    if !status.success() {
        bail!("{name} failed ({status}): {}", process::one_line(&said));
    }
    text(out)
}

/// A file without a name: what is printed may be more than a pipe holds.
fn temporary() -> Result<File> {
    tempfile::tempfile().context("a temporary file")
}

fn text(mut file: File) -> Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}
