// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The process that serves the device meanwhile: this program, as `attach`, for itself.

use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::Pid;
use serde_json::Value;

/// The scheme that only watches.
pub(super) const SCHEME: &str = "shadow";

/// So much of what it says to people is kept: the end, which has the reason.
const SAID_BYTES: usize = 4 << 10;

/// What is to be observed.
pub struct Order {
    /// The device that faces the lossy link.
    pub device: String,
    /// Configuration file; none: the default one.
    pub config: Option<PathBuf>,
    /// --match
    pub matches: Vec<String>,
    /// --exclude
    pub exclude: Vec<String>,
}

/// It goes when we go, however we do.
pub(super) struct Process {
    child: Child,
    /// Its events, read without waiting; at their end it is gone.
    events: ChildStdout,
    /// What it says to people, read meanwhile: with nobody to read it would wait for that.
    said: JoinHandle<String>,
}

/// What came first.
enum First {
    /// The event.
    Event,
    /// We are told to end.
    Told,
    /// Its end.
    End,
}

impl Process {
    /// Begins, and waits until the device is served. None: told to end before that.
    ///
    /// # Errors
    /// It can't be: what it says of the reason.
    pub(super) fn start(order: &Order, signals: &SignalFd) -> Result<Option<Self>> {
        Self::run(command(order)?, signals)
    }

    fn run(mut command: Command, signals: &SignalFd) -> Result<Option<Self>> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the agent")?;
        let events = child.stdout.take().context("no standard output")?;
        fcntl(&events, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let stderr = child.stderr.take().context("no standard error")?;
        let said = std::thread::Builder::new().spawn(move || last_of(stderr))?;
        let mut process = Self {
            child,
            events,
            said,
        };
        match process.wait_for(|told| told == "attached", signals)? {
            First::Event => Ok(Some(process)),
            First::Told => process.give_up(signals).map(|()| None),
            First::End => process.fail().map(Some),
        }
    }

    /// Reads on until it says that.
    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool, signals: &SignalFd) -> Result<First> {
        let mut heard = Vec::new();
        loop {
            let readable = |fd| PollFd::new(fd, PollFlags::POLLIN);
            let mut fds = [readable(signals.as_fd()), readable(self.events.as_fd())];
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error).context("poll"),
            }
            if signals.read_signal().context("signalfd")?.is_some() {
                return Ok(First::Told);
            }
            let is_over = self.read(&mut heard)?;
            while let Some(end) = heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = heard.drain(..=end).collect();
                let told = serde_json::from_slice::<Value>(&line).unwrap_or_default();
                if is_it(&told["event"]) {
                    return Ok(First::Event);
                }
            }
            if is_over {
                return Ok(First::End);
            }
        }
    }

    /// What it has said by now; never waits. True: it says no more.
    fn read(&mut self, heard: &mut Vec<u8>) -> Result<bool> {
        match self.events.read_to_end(heard) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error).context("what the agent says"),
        }
    }

    /// Ends it while it loads, which it goes on with until that is done; told once more, at once.
    fn give_up(mut self, signals: &SignalFd) -> Result<()> {
        self.terminate()?;
        if let First::Told = self.wait_for(|_| false, signals)? {
            self.child.kill().context("cannot end the agent")?;
        }
        self.child.wait().context("the agent's end")?;
        Ok(())
    }

    /// Its own last words are the error.
    fn fail(mut self) -> Result<Self> {
        let _ = self.child.wait();
        let said = self.said.join().unwrap_or_default();
        let said = said.trim();
        bail!("{}", said.strip_prefix("lasthop: ").unwrap_or(said))
    }

    /// Whether it has ended. Called when there is something to read of it, which is of no interest; never waits.
    pub(super) fn is_gone(&mut self) -> bool {
        let _ = self.read(&mut Vec::new());
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    fn terminate(&self) -> Result<()> {
        let child = Pid::from_raw(self.child.id() as i32);
        kill(child, Signal::SIGTERM).context("cannot end the agent")
    }

    /// Has it take the programs off the device.
    ///
    /// # Errors
    /// It failed with that.
    pub(super) fn end(mut self) -> Result<()> {
        if self.is_gone() {
            return Ok(());
        }
        self.terminate()?;
        let status = self.child.wait().context("the agent's end")?;
        match status.success() {
            true => Ok(()),
            false => bail!("the agent ended with {status}"),
        }
    }
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

/// This program, as what serves the device.
fn command(order: &Order) -> Result<Command> {
    let program = std::env::current_exe().context("who we are")?;
    let mut command = Command::new(program);
    command.args(["attach", "--json", "--once", "--watch", "--scheme", SCHEME]);
    if let Some(config) = &order.config {
        command.arg("--config").arg(config);
    }
    for (word, rules) in [("--match", &order.matches), ("--exclude", &order.exclude)] {
        rules.iter().for_each(|rule| {
            command.args([word, rule]);
        });
    }
    command.args(["--", &order.device]);
    // An interrupt of the terminal's is for us, who end it once it has told the last.
    command.process_group(0);
    // SAFETY: prctl() is async-signal-safe, and touches nothing of ours.
    unsafe {
        command.pre_exec(|| Ok(prctl::set_pdeathsig(Signal::SIGTERM)?));
    }
    Ok(command)
}

/// Reads to the end, and keeps the last of it.
fn last_of(mut from: impl Read) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; SAID_BYTES]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => kept.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        kept.drain(..kept.len().saturating_sub(SAID_BYTES));
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::raise;

    use super::*;
    use crate::signals::blocked;

    fn run(script: &str, signals: &SignalFd) -> Result<Option<Process>> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::run(command, signals)
    }

    const MUCH: &str = "head -c 300000 /dev/zero | tr '\\0' x >&2; echo >&2;";

    /// As with RUST_LOG=lasthop=debug: more than a pipe holds, before it serves the device.
    #[test]
    fn who_says_much_is_heard_out() {
        let signals = blocked(&[Signal::SIGWINCH]).unwrap();
        let script = format!("{MUCH} echo '{{\"event\":\"attached\"}}'; exec sleep 60");
        let mut process = run(&script, &signals).unwrap().expect("attached");
        assert!(!process.is_gone());
        process.child.kill().unwrap();
        let script = format!("{MUCH} echo 'lasthop: no such device' >&2; exit 1");
        let error = run(&script, &signals).err().expect("an error").to_string();
        assert!(error.ends_with("lasthop: no such device"));
        assert!(error.len() <= SAID_BYTES);
        let error = run("echo 'lasthop: no such device' >&2", &signals).err();
        assert_eq!(error.expect("an error").to_string(), "no such device");
    }

    /// Loading takes seconds, and who waits for it may have had enough.
    #[test]
    fn who_is_told_to_end_waits_for_no_device() {
        let signals = blocked(&[Signal::SIGWINCH]).unwrap();
        raise(Signal::SIGWINCH).unwrap();
        assert!(run("exec sleep 60", &signals).unwrap().is_none());
    }

    /// What it says once it serves is read: left in the pipe it would wake who waits for its end all the time.
    #[test]
    fn what_it_says_later_is_read() {
        let signals = blocked(&[Signal::SIGWINCH]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let later = dir.path().join("later");
        let script = format!(
            "echo '{{\"event\":\"attached\"}}'; until [ -e {} ]; do sleep 0.01; done; echo '{{}}'; exec sleep 60",
            later.display()
        );
        let mut process = run(&script, &signals).unwrap().expect("attached");
        let is_readable = |process: &Process, wait: PollTimeout| {
            let mut fds = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
            poll(&mut fds, wait).unwrap() == 1
        };
        std::fs::write(&later, "").unwrap();
        assert!(is_readable(&process, PollTimeout::NONE));
        assert!(!process.is_gone());
        assert!(!is_readable(&process, PollTimeout::ZERO));
        process.child.kill().unwrap();
        process.child.wait().unwrap();
        assert!(process.is_gone());
    }
}
