// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop reload --upgrade`: takes the place of each daemon and `attach` that is of another program than
//! this one, with its words and its connections (`--take-over`). One that is a service's is followed within
//! its service, by the service manager's reload: outside, the next one would have neither its restrictions
//! nor its watchdog. One that is procd's can't be followed.

mod procd;
mod stat;

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, bail};
use lasthop_core::LAYOUT;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{ForkResult, Pid, fork, pipe2, setsid};

use crate::ask::{self, Owner};
use crate::control::{DAEMON, owner_of};

/// Programs are loaded meanwhile, for each device.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// What became of those who are of another program.
#[derive(Debug, Default)]
pub struct Tried {
    /// The first process gave way to the second.
    pub done: Vec<(u32, u32)>,
    /// These go on. [`StartAnew`]: no other try will help.
    failed: Vec<Error>,
}

impl Tried {
    /// Whether there were such.
    pub fn any(&self) -> bool {
        !self.done.is_empty() || !self.failed.is_empty()
    }

    /// # Errors
    /// Somebody could not be followed; [`StartAnew`] if that is so of any.
    pub fn complain(&self) -> Result<()> {
        let why: Vec<String> = self.failed.iter().map(|e| format!("{e:#}")).collect();
        let why = why.join("; ");
        match self.failed.iter().any(Error::is::<StartAnew>) {
            true => Err(StartAnew(why).into()),
            false if why.is_empty() => Ok(()),
            false => bail!(why),
        }
    }
}

/// A process can't be followed by this version, ever: it has to be started anew.
#[derive(Debug)]
pub struct StartAnew(String);

impl fmt::Display for StartAnew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartAnew {}

/// Has this program take the place of all who are of another one.
///
/// # Errors
/// No right to look; what else fails is said with [`Tried`].
pub fn upgrade(runtime_dir: &Path) -> Result<Tried> {
    let mut serving = Vec::new();
    for process in ask::processes(runtime_dir)? {
        let pid = owner_of(runtime_dir, &process.device)?;
        serving.extend(pid.map(|pid| (process, pid)));
    }
    // ExecReload of a service is for that alone, and the others' services have their own.
    let main = main_process();
    let serves = |main: &u32| serving.iter().any(|(_, pid)| pid == main);
    if let Some(main) = main.filter(serves) {
        serving.retain(|(_, pid)| *pid == main);
    }
    let mut tried = Tried::default();
    for (process, pid) in serving {
        match follow(runtime_dir, &process, pid) {
            Ok(None) => {}
            Ok(Some(next)) => tried.done.push((pid, next)),
            Err(error) => tried.failed.push(error),
        }
    }
    Ok(tried)
}

/// Of a service that we are the reload of: its main process.
fn main_process() -> Option<u32> {
    std::env::var("MAINPID").ok()?.parse().ok()
}

/// The process that is in its place by now; none: it stays where it is.
fn follow(runtime_dir: &Path, process: &Owner, pid: u32) -> Result<Option<u32>> {
    if same_program(pid)? || (process.device != DAEMON && is_somebodys(pid)?) {
        return Ok(None);
    }
    if let Some(layout) = process.layout().filter(|theirs| theirs != LAYOUT) {
        bail!(StartAnew(format!(
            "process {pid} keeps its connections in another layout ({layout}, here {LAYOUT}): this version can't take its place, it has to be started anew"
        )));
    }
    if let Some(service) = stat::of(pid).and_then(|stat| procd::service_of(&stat, pid)) {
        bail!(StartAnew(procd::advice(&service, pid)));
    }
    let name = &process.device;
    match service_of(pid)? {
        Some(service) => by_manager(runtime_dir, (name, pid), &service),
        None => directly(runtime_dir, (name, pid)),
    }
    .map(Some)
}

/// Whether an `attach` ends with something that would not know of another process: the terminal that it is
/// on, or `lasthop observe`.
fn is_somebodys(pid: u32) -> Result<bool> {
    if words_of(pid)?.iter().any(|word| word == "--watch") {
        return Ok(true);
    }
    let on_a_terminal = stat::of(pid).is_some_and(|stat| terminal_in(&stat) != Some("0"));
    if on_a_terminal {
        tracing::warn!("process {pid} is on a terminal, and goes on with its program");
    }
    Ok(on_a_terminal)
}

/// Has the service manager reload a process' service: its unit says `lasthop reload --upgrade` for that.
fn by_manager(runtime_dir: &Path, (name, pid): (&str, u32), service: &str) -> Result<u32> {
    let done = Command::new("systemctl")
        .args(["reload", service])
        .status()
        .context("systemctl")?;
    if !done.success() {
        bail!("process {pid} goes on: why, `journalctl -u {service}` has");
    }
    match owner_of(runtime_dir, name)? {
        Some(next) if next != pid && same_program(next)? => Ok(next),
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
fn directly(runtime_dir: &Path, (name, pid): (&str, u32)) -> Result<u32> {
    let mut words = words_of(pid)?;
    let take_over = match name {
        DAEMON => "--take-over".to_owned(),
        _ => format!("--take-over={name}"),
    };
    words.insert(1.min(words.len()), take_over); // after the verb: there may be a `--`
    let next = Next::start(&words, &directory_of(pid), outputs(pid))?;
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match owner_of(runtime_dir, name)? {
            Some(owner) if owner != pid && !runs(pid) => return Ok(owner),
            _ => {}
        }
        if next.is_gone() {
            bail!(
                "process {pid} goes on: this version could not take its place, why is in its log"
            );
        }
        std::thread::sleep(LOOK);
    }
    next.kill(); // the other one goes on then
    bail!(
        "process {pid} goes on: this version did not take its place within {} s",
        PATIENCE.as_secs()
    );
}

/// Where the words of a process are meant, with the paths in them. Of a service that is where its reload is, too.
fn directory_of(pid: u32) -> PathBuf {
    match main_process() == Some(pid) {
        true => ".".into(),
        false => format!("/proc/{pid}/cwd").into(),
    }
}

/// Where the next process writes to. As reload of its service what we have is its journal already, and whoever
/// runs with its few rights gets at no other process' descriptors. Else where the one before does, whose log goes
/// on; if that can't be had, nowhere. What the caller has is the caller's: who reads it waits for its end, and a
/// terminal goes away.
fn outputs(pid: u32) -> [Stdio; 2] {
    if main_process() == Some(pid) {
        return [Stdio::inherit(), Stdio::inherit()];
    }
    [libc::STDOUT_FILENO, libc::STDERR_FILENO].map(|fd| match descriptor_of(pid, fd) {
        Ok(theirs) => theirs.into(),
        Err(error) => {
            tracing::warn!(
                "where process {pid} writes to can't be had ({error}): nobody hears what the next one says"
            );
            Stdio::null()
        }
    })
}

/// A descriptor of another process, which a path in /proc is no way to: it may be a socket.
fn descriptor_of(pid: u32, fd: RawFd) -> io::Result<OwnedFd> {
    let owned = |got: libc::c_long| match RawFd::try_from(got) {
        // SAFETY: the system call has just made it, for us alone.
        Ok(got) if got >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(got) }),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: these calls take numbers only.
    let process = owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
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

/// The words that a process was started with, but for its name and whom it followed.
fn words_of(pid: u32) -> Result<Vec<String>> {
    let path = format!("/proc/{pid}/cmdline");
    let text = fs::read(&path).with_context(|| format!("cannot read {path}"))?;
    let words = text
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty());
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
    let words = words.skip(1);
    Ok(words
        .filter(|word| !word.starts_with("--take-over"))
        .collect())
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
    fn start(words: &[String], directory: &Path, [stdout, stderr]: [Stdio; 2]) -> Result<Self> {
        let (read, pipe) = pipe2(OFlag::O_CLOEXEC).context("pipe")?;
        let program = std::env::current_exe().context("this program")?;
        let mut command = Command::new(program);
        command.args(words).current_dir(directory).stdin(read);
        command.stdout(stdout).stderr(stderr);
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
        let first = first.context("starting this version")?;
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
    stat::of(pid).is_some_and(|stat| !stat.contains(") Z "))
}

/// Number of the terminal of a process, by its /proc/PID/stat; 0: it has none.
fn terminal_in(stat: &str) -> Option<&str> {
    stat::field_in(stat, 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever reads the caller's output sees its end, whoever reads the daemon's sees it go on.
    #[test]
    fn the_next_one_writes_where_the_one_before_did() {
        let mut old = Command::new("sleep");
        old.arg("60").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut old = old.spawn().unwrap();
        let words = ["--list".into()];
        let _next = Next::start(&words, &directory_of(old.id()), outputs(old.id())).unwrap();
        old.kill().unwrap();
        let said = old.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout);
        assert!(
            said.contains("the_next_one_writes_where"),
            "it said {said:?}"
        );
    }

    #[test]
    fn the_terminal_of_a_process() {
        let stat = "7 (a) R b) S 1 7 7 34816 7 4194560 1 0 0";
        assert_eq!(terminal_in(stat), Some("34816"));
        assert_eq!(terminal_in("8 (lasthop) S 1 8 8 0 -1 4194560"), Some("0"));
    }

    /// What has to be started anew is told from what may work another time, whatever else there was.
    #[test]
    fn what_is_complained_of() {
        let failed = |anew: bool| {
            let mut tried = Tried::default();
            tried.failed.push(Error::msg("busy"));
            tried
                .failed
                .extend(anew.then(|| StartAnew("apart".into()).into()));
            tried.complain().unwrap_err()
        };
        let (error, anew) = (failed(false), failed(true));
        assert_eq!(
            (error.to_string().as_str(), anew.to_string().as_str()),
            ("busy", "busy; apart")
        );
        assert!(!error.is::<StartAnew>() && anew.is::<StartAnew>());
        assert!(Tried::default().complain().is_ok());
    }

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
