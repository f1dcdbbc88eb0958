// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop reload --upgrade`: if this program is another one than the daemon that runs, it takes that
//! one's place, with its words and its connections (`lasthop daemon --take-over`). A daemon that is a
//! service's is followed within its service, by the service manager's reload: outside, the next one would
//! have neither its restrictions nor its watchdog.

use std::fmt;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lasthop_core::LAYOUT;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{ForkResult, Pid, fork, pipe2, setsid};

use crate::ask;
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

/// The daemon can't be followed by this version, ever: it has to be started anew.
#[derive(Debug)]
pub struct StartAnew {
    pid: u32,
    layout: String,
}

impl fmt::Display for StartAnew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "process {} keeps its connections in another layout ({}, here {LAYOUT}): this version can't take its place, it has to be started anew",
            self.pid, self.layout
        )
    }
}

impl std::error::Error for StartAnew {}

/// Has this program take the daemon's place if it is another one.
///
/// # Errors
/// It can't: then the daemon goes on. [`StartAnew`]: no other try will help.
pub fn upgrade(runtime_dir: &Path) -> Result<Upgrade> {
    let Some(pid) = owner_of(runtime_dir, DAEMON)? else {
        return Ok(Upgrade::Unneeded);
    };
    if same_program(pid)? {
        return Ok(Upgrade::Unneeded);
    }
    if let Some(layout) = ask::layout(runtime_dir)?.filter(|theirs| theirs != LAYOUT) {
        bail!(StartAnew { pid, layout });
    }
    match service_of(pid)? {
        Some(service) => by_manager(runtime_dir, pid, &service),
        None => directly(runtime_dir, pid),
    }
}

/// Has the service manager reload the daemon's service: its unit says `lasthop reload --upgrade` for that.
fn by_manager(runtime_dir: &Path, pid: u32, service: &str) -> Result<Upgrade> {
    let done = Command::new("systemctl")
        .args(["reload", service])
        .status()
        .context("systemctl")?;
    if !done.success() {
        bail!("process {pid} goes on: why, `journalctl -u {service}` has");
    }
    match owner_of(runtime_dir, DAEMON)? {
        Some(next) if next != pid && same_program(next)? => Ok(Upgrade::Done(pid, next)),
        _ => bail!(
            "process {pid} goes on: ExecReload of {service} has to be `lasthop reload --upgrade`"
        ),
    }
}

/// The service that a process is the main one of, unless we run within that.
fn service_of(pid: u32) -> Result<Option<String>> {
    let of = |pid: &str| -> Result<Option<String>> {
        let path = format!("/proc/{pid}/cgroup");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        Ok(unit_in(&text))
    };
    let Some(unit) = of(&pid.to_string())? else {
        return Ok(None);
    };
    if of("self")?.as_ref() == Some(&unit) {
        return Ok(None);
    }
    // Whatever a service starts is in its group as well.
    let shown = Command::new("systemctl")
        .args(["show", "-P", "MainPID", &unit])
        .output();
    let main = shown.is_ok_and(|out| out.stdout.trim_ascii() == pid.to_string().as_bytes());
    Ok(main.then_some(unit))
}

/// The service that a process belongs to, by its /proc/PID/cgroup: systemd's hierarchy, or the only one.
fn unit_in(groups: &str) -> Option<String> {
    let unit = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (hierarchy, path) = (parts.next()?, parts.next()?);
        let last = path.rsplit('/').next()?;
        let ours = hierarchy.is_empty() || hierarchy == "name=systemd";
        (ours && last.ends_with(".service")).then(|| last.to_owned())
    };
    groups.lines().find_map(unit)
}

/// Starts this program in its place.
fn directly(runtime_dir: &Path, pid: u32) -> Result<Upgrade> {
    let next = Next::start(&words_of(pid)?)?;
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match owner_of(runtime_dir, DAEMON)? {
            Some(owner) if owner != pid && !runs(pid) => return Ok(Upgrade::Done(pid, owner)),
            _ => {}
        }
        if next.is_gone() {
            bail!("process {pid} goes on: this version could not take its place, see what it says");
        }
        std::thread::sleep(LOOK);
    }
    next.kill(); // the other one goes on then
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

/// The process that is to take the place.
struct Next {
    /// Its session and group.
    group: Pid,
    /// Of a pipe that it alone could read from.
    pipe: OwnedFd,
}

impl Next {
    /// In a session of its own: it is no affair of the terminal that it is started from. And nobody's child
    /// but of who takes in orphans, which is the service manager: that is sure to hear of the end of its own
    /// children only, and warns of others.
    fn start(words: &[String]) -> Result<Self> {
        let (read, pipe) = pipe2(OFlag::O_CLOEXEC).context("pipe")?;
        let program = std::env::current_exe().context("this program")?;
        let mut command = Command::new(program);
        command.args(words).arg("--take-over").stdin(read);
        // SAFETY: setsid, fork and _exit may be called between fork and exec, and we have no threads.
        unsafe {
            command.pre_exec(|| {
                setsid()?;
                match fork()? {
                    ForkResult::Parent { .. } => libc::_exit(0),
                    ForkResult::Child => Ok(()),
                }
            });
        }
        let first = command.spawn().and_then(|mut first| {
            first.wait()?;
            Ok(first.id())
        });
        let first = first.context("starting this version's daemon")?;
        Ok(Self {
            group: Pid::from_raw(i32::try_from(first)?),
            pipe,
        })
    }

    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::new(self.pipe.as_fd(), PollFlags::empty())];
        let looked = poll(&mut fds, PollTimeout::ZERO).is_ok();
        let seen = fds[0].revents();
        looked && seen.is_some_and(|seen| seen.contains(PollFlags::POLLERR))
    }

    fn kill(&self) {
        let _ = killpg(self.group, Signal::SIGKILL);
    }
}

fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_of_a_process() {
        for (groups, unit) in [
            (
                "0::/system.slice/lasthop.service\n",
                Some("lasthop.service"),
            ),
            (
                "0::/system.slice/system-lasthop.slice/lasthop@wl0.service\n",
                Some("lasthop@wl0.service"),
            ),
            (
                "4:memory:/system.slice/other.service\n1:name=systemd:/system.slice/lasthop.service\n0::/\n",
                Some("lasthop.service"),
            ),
            (
                "0::/user.slice/user-0.slice/user@0.service/app.scope\n",
                None,
            ),
            ("0::/user.slice/user-0.slice/session-1.scope\n", None),
            ("0::/\n", None),
            ("", None),
        ] {
            assert_eq!(unit_in(groups).as_deref(), unit, "{groups}");
        }
    }
}
