// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop reload --upgrade`: if this program is another one than the daemon that runs, it takes that
//! one's place, with its words and its connections (`lasthop daemon --take-over`).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::control::{DAEMON, owner_of};

/// Programs are loaded meanwhile, for each device.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upgrade {
    /// The daemon is of this very file already, or there is none.
    Unneeded,
    /// The first process gave way to the second.
    Done(u32, u32),
}

/// Has this program take the daemon's place if it is another one.
///
/// # Errors
/// It can't: then the daemon goes on.
pub fn upgrade(runtime_dir: &Path) -> Result<Upgrade> {
    let Some(pid) = owner_of(runtime_dir, DAEMON)? else {
        return Ok(Upgrade::Unneeded);
    };
    if same_program(pid)? {
        return Ok(Upgrade::Unneeded);
    }
    let mut next = start(&words_of(pid)?)?;
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if owner_of(runtime_dir, DAEMON)? == Some(next.id()) && !runs(pid) {
            return Ok(Upgrade::Done(pid, next.id()));
        }
        if let Some(status) = next.try_wait()? {
            bail!(
                "process {pid} goes on: this version could not take its place ({status}), see what it says"
            );
        }
        std::thread::sleep(LOOK);
    }
    let _ = next.kill(); // the other one goes on then
    bail!(
        "process {pid} goes on: this version did not take its place within {} s",
        PATIENCE.as_secs()
    );
}

/// Whether a process is of the file that we are of: not one that was replaced since.
fn same_program(pid: u32) -> Result<bool> {
    let of = |link: PathBuf| -> Result<(u64, u64)> {
        let found =
            fs::metadata(&link).with_context(|| format!("cannot see {}", link.display()))?;
        Ok((found.dev(), found.ino()))
    };
    Ok(of(format!("/proc/{pid}/exe").into())? == of("/proc/self/exe".into())?)
}

/// The words that a daemon was started with, but for its name.
fn words_of(pid: u32) -> Result<Vec<String>> {
    let path = format!("/proc/{pid}/cmdline");
    let text = fs::read(&path).with_context(|| format!("cannot read {path}"))?;
    let words = text
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty());
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
    Ok(words.skip(1).filter(|word| word != "--take-over").collect())
}

/// In a session of its own: it is no affair of the terminal that it is started from.
fn start(words: &[String]) -> Result<Child> {
    let program = std::env::current_exe().context("this program")?;
    let mut command = Command::new(program);
    command.args(words).arg("--take-over").stdin(Stdio::null());
    // SAFETY: setsid may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            nix::unistd::setsid()?;
            Ok(())
        });
    }
    command.spawn().context("starting this version's daemon")
}

fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
