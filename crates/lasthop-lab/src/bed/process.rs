// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Child processes inside namespaces: found, started, watched, ended.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::sched::CloneFlags;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, setsid};

use crate::base::interrupt;
use crate::bed::namespace::Namespace;

/// Directory with the project's binaries, before any other place.
pub const BIN_DIR_VARIABLE: &str = "LASTHOP_BIN_DIR";
/// Lines of a child's error output that are kept for messages.
const KEPT_ERROR_LINES: usize = 20;

/// What happens to a child when the lab dies without saying goodbye.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// The kernel ends it with this signal.
    WithLab(Signal),
    /// It stays, for `down` to find; its output goes to a file.
    Background,
}

/// What every test bed needs.
///
/// # Errors
/// The user is not root.
pub fn check_root() -> Result<()> {
    match nix::unistd::geteuid().is_root() {
        true => Ok(()),
        false => bail!("network namespaces need root: run lasthop-lab as root"),
    }
}

/// Finds a binary of this project: `LASTHOP_BIN_DIR`, beside the own executable, then `PATH`.
///
/// # Errors
/// It is nowhere.
pub fn find_binary(name: &str) -> Result<PathBuf> {
    find_binary_or(name, ".", &format!("`cargo build -p {name}`"))
}

/// As [`find_binary`], of a program that may also be in `aside`, seen from a directory of binaries,
/// and that `builder` builds.
///
/// # Errors
/// As there.
pub fn find_binary_or(name: &str, aside: &str, builder: &str) -> Result<PathBuf> {
    let from_variable = std::env::var_os(BIN_DIR_VARIABLE).map(PathBuf::from);
    let beside = std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent().map(Path::to_path_buf));
    // Tests live in `target/PROFILE/deps`, examples beside it: one below the binaries.
    let above = beside
        .as_ref()
        .filter(|dir| dir.ends_with("deps") || dir.ends_with("examples"))
        .and_then(|dir| dir.parent().map(Path::to_path_buf));
    let path = std::env::var_os("PATH").unwrap_or_default();
    from_variable
        .into_iter()
        .chain(above)
        .chain(beside)
        .chain(std::env::split_paths(&path))
        .flat_map(|dir| [dir.join(name), dir.join(aside).join(name)])
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| {
            anyhow!(
                "{name}: not found beside this program or in PATH; build it with {builder} or set \
                 {BIN_DIR_VARIABLE}"
            )
        })
}

/// Runs a command to its end and returns what it printed.
///
/// # Errors
/// It cannot be started, or fails; the message holds its own last words.
pub fn output(namespace: Option<&Namespace>, words: &[&str]) -> Result<String> {
    let (program, args) = words.split_first().context("no command given")?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    run_to_end(namespace, command, &words.join(" "))
}

/// Runs `command` to its end; `what` names it in errors.
pub(crate) fn run_to_end(
    namespace: Option<&Namespace>,
    mut command: Command,
    what: &str,
) -> Result<String> {
    if let Some(namespace) = namespace {
        enter_in_child(&mut command, namespace, None);
    }
    let output = command.output().with_context(|| {
        let program = command.get_program().to_string_lossy();
        format!("{program}: cannot run it; is it installed?")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let place = namespace.map_or(String::new(), |n| format!(" in {}", n.name()));
        bail!(
            "`{what}`{place} failed ({}): {}",
            output.status,
            one_line(&said)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a program said, in one line.
pub(crate) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    if lines.is_empty() {
        "it said nothing".to_owned()
    } else {
        lines.join("; ")
    }
}

/// Makes the child enter the namespace, and die with the lab if a signal is given.
fn enter_in_child(command: &mut Command, namespace: &Namespace, on_lab_death: Option<Signal>) {
    let fd = namespace.raw_fd();
    // The closure keeps the namespace, and with it the descriptor, open until the child runs.
    let keep = namespace.clone();
    let lab = Pid::this();
    // SAFETY: between fork and exec only system calls without allocation are made.
    unsafe {
        command.pre_exec(move || {
            let _ = &keep;
            if libc::setns(fd, CloneFlags::CLONE_NEWNET.bits()) != 0 {
                return Err(io::Error::last_os_error());
            }
            if let Some(signal) = on_lab_death {
                end_with_lab(lab, signal)?;
            }
            Ok(())
        });
    }
}

/// To be called in a child before exec: the kernel sends it `signal` when the thread of process
/// `lab` that forked it dies. Makes system calls only.
pub(crate) fn end_with_lab(lab: Pid, signal: Signal) -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(signal)?;
    // The lab may have died before the line above took effect.
    if Pid::parent() != lab {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// Starts a child from a thread that lives as long as the lab: the kernel counts the death of the
/// *thread* that forked as the parent's, and a test's thread may end before its child should.
fn spawn_from_lasting_thread(mut command: Command) -> io::Result<Child> {
    type Job = Box<dyn FnOnce() + Send>;
    static SPAWNER: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        thread::spawn(move || jobs.into_iter().for_each(|job| job()));
        Mutex::new(sender)
    });
    let (reply, answer) = mpsc::sync_channel(1);
    let job: Job = Box::new(move || {
        let _ = reply.send(command.spawn());
    });
    let sent = spawner
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send(job);
    sent.map_err(|_| io::Error::other("the spawning thread is gone"))?;
    answer
        .recv()
        .unwrap_or_else(|_| Err(io::Error::other("the spawning thread is gone")))
}

/// A process as recorded for a later `down`: the start time tells it from a stranger that was
/// given the same number after it ended.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProcessId {
    /// What it is, for messages: `linkemu air`.
    pub role: String,
    /// Process number.
    pub pid: i32,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
}

impl ProcessId {
    /// Identity of a process that runs now.
    ///
    /// # Errors
    /// There is none.
    pub fn of(pid: u32, role: &str) -> Result<Self> {
        let pid = i32::try_from(pid).context("process number out of range")?;
        let start_ticks =
            start_ticks(pid).with_context(|| format!("{role}: process {pid} is gone"))?;
        Ok(Self {
            role: role.to_owned(),
            pid,
            start_ticks,
        })
    }

    /// Whether exactly this process still runs (a zombie does not).
    pub fn is_alive(&self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }

    /// Ends it: `first`, then SIGKILL if it still runs after `patience`.
    ///
    /// # Errors
    /// It may not be signalled, or survives SIGKILL for a second.
    pub fn end(&self, first: Signal, patience: Duration) -> Result<()> {
        for (signal, patience) in [(first, patience), (Signal::SIGKILL, Duration::from_secs(1))] {
            if !self.is_alive() {
                return Ok(());
            }
            match kill(Pid::from_raw(self.pid), signal) {
                Ok(()) | Err(nix::errno::Errno::ESRCH) => {}
                Err(e) => bail!(
                    "{} (process {}): cannot send {signal}: {e}",
                    self.role,
                    self.pid
                ),
            }
            let deadline = Instant::now() + patience;
            while self.is_alive() && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
        }
        if self.is_alive() {
            bail!("{} (process {}) does not end", self.role, self.pid);
        }
        Ok(())
    }
}

/// Field 22 of `/proc/PID/stat`; none when the process is gone or only waits to be reaped.
fn start_ticks(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name is in brackets and may itself hold brackets and blanks.
    let after_name = &stat[stat.rfind(')')? + 2..];
    let mut fields = after_name.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// A child inside a namespace. Dropping it kills it, unless it was left to a later `down`.
#[derive(Debug)]
pub struct Managed {
    child: Child,
    id: ProcessId,
    left: bool,
    last_errors: Arc<Mutex<VecDeque<String>>>,
    lines: Option<Receiver<String>>,
    log: Option<PathBuf>,
}

impl Managed {
    /// Starts `command` in `namespace` in a session of its own, so that Ctrl-C at the terminal, and
    /// its end, reach the lab alone, which then ends its children in order. `log` takes the output
    /// of a background child.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(
        mut command: Command,
        role: &str,
        namespace: &Namespace,
        lifetime: Lifetime,
        log: Option<PathBuf>,
    ) -> Result<Self> {
        command.stdin(Stdio::null());
        // SAFETY: one system call, which touches nothing of ours.
        unsafe { command.pre_exec(|| Ok(setsid().map(drop)?)) };
        match (&log, lifetime) {
            (Some(path), Lifetime::Background) => {
                let file = File::create(path)
                    .with_context(|| format!("cannot create {}", path.display()))?;
                command.stdout(file.try_clone()?).stderr(file);
            }
            _ => {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
        }
        let on_lab_death = match lifetime {
            Lifetime::WithLab(signal) => Some(signal),
            Lifetime::Background => None,
        };
        enter_in_child(&mut command, namespace, on_lab_death);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = spawn_from_lasting_thread(command)
            .with_context(|| format!("{program}: cannot start it"))?;
        let last_errors = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(stderr) = child.stderr.take() {
            keep_last_lines(stderr, Arc::clone(&last_errors));
        }
        let lines = child.stdout.take().map(line_channel);
        let id = ProcessId::of(child.id(), role)
            .or_else(|_| early_death(&mut child, role, &last_errors, log.as_deref()))?;
        Ok(Self {
            child,
            id,
            left: false,
            last_errors,
            lines,
            log,
        })
    }

    /// Its identity, for the run's record.
    pub fn id(&self) -> &ProcessId {
        &self.id
    }

    /// Waits until it prints a line that begins with `prefix`, and returns that line.
    ///
    /// # Errors
    /// It ends first, stays silent for `patience`, or the user interrupts.
    pub fn wait_for_line(&mut self, prefix: &str, patience: Duration) -> Result<String> {
        let deadline = Instant::now() + patience;
        loop {
            interrupt::check()?;
            if let Some(line) = self.next_line_with(prefix)? {
                return Ok(line);
            }
            if let Some(status) = self.child.try_wait()? {
                // What it printed before it died may still be on its way.
                thread::sleep(interrupt::POLL);
                return match self.next_line_with(prefix)? {
                    Some(line) => Ok(line),
                    None => Err(self.died(status)),
                };
            }
            if Instant::now() >= deadline {
                let said = self.last_words();
                bail!(
                    "{}: not ready after {} s (waited for a line that begins with `{prefix}`): {said}",
                    self.id.role,
                    patience.as_secs()
                );
            }
        }
    }

    /// The next matching line within a moment; lines that do not match are dropped.
    fn next_line_with(&mut self, prefix: &str) -> Result<Option<String>> {
        if let Some(path) = &self.log {
            thread::sleep(interrupt::POLL);
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            return Ok(text
                .lines()
                .find(|l| l.starts_with(prefix))
                .map(str::to_owned));
        }
        let Some(lines) = &self.lines else {
            return Ok(None);
        };
        loop {
            match lines.recv_timeout(interrupt::POLL) {
                Ok(line) if line.starts_with(prefix) => return Ok(Some(line)),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(interrupt::POLL);
                    return Ok(None);
                }
            }
        }
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Fails with its last words if it has ended.
    ///
    /// # Errors
    /// It has ended.
    pub fn check_running(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.died(status)),
        }
    }

    fn died(&self, status: ExitStatus) -> anyhow::Error {
        anyhow!("{} ended ({status}): {}", self.id.role, self.last_words())
    }

    fn last_words(&self) -> String {
        match &self.log {
            Some(path) => one_line(&fs::read_to_string(path).unwrap_or_default()),
            None => joined(&self.last_errors),
        }
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// It still runs after `patience`, or the user interrupts.
    pub fn wait(&mut self, patience: Duration) -> Result<ExitStatus> {
        match self.wait_or_none(patience)? {
            Some(status) => Ok(status),
            None => bail!("{} still runs after {} s", self.id.role, patience.as_secs()),
        }
    }

    /// As [`Managed::wait`]; none if it still runs after `patience`.
    ///
    /// # Errors
    /// The user interrupts.
    pub fn wait_or_none(&mut self, patience: Duration) -> Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            interrupt::check()?;
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(None)
    }

    /// All that it printed and nobody has read, once it has ended.
    pub fn rest_of_lines(&mut self) -> Vec<String> {
        self.lines.take().into_iter().flatten().collect()
    }

    /// Sends `signal` and waits for the end.
    ///
    /// # Errors
    /// It still runs after `patience`; it is then killed.
    pub fn stop(&mut self, signal: Signal, patience: Duration) -> Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        kill(Pid::from_raw(self.id.pid), signal)
            .with_context(|| format!("{}: cannot send {signal}", self.id.role))?;
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.child.kill()?;
        self.child.wait()?;
        bail!(
            "{} did not end within {} s after {signal} and was killed",
            self.id.role,
            patience.as_secs()
        )
    }

    /// Lets it outlive this handle: from now on the run's record is responsible for it.
    pub fn leave(&mut self) {
        self.left = true;
    }

    /// Kills it with SIGKILL and waits for the end.
    ///
    /// # Errors
    /// The system refuses.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        if !self.left && self.is_running() {
            let _ = self.kill();
        }
    }
}

/// A child that ended before it could be identified.
fn early_death(
    child: &mut Child,
    role: &str,
    last_errors: &Mutex<VecDeque<String>>,
    log: Option<&Path>,
) -> Result<ProcessId> {
    let status = child.wait()?;
    thread::sleep(interrupt::POLL);
    let said = match log {
        Some(path) => one_line(&fs::read_to_string(path).unwrap_or_default()),
        None => joined(last_errors),
    };
    bail!("{role} ended at once ({status}): {said}")
}

fn joined(lines: &Mutex<VecDeque<String>>) -> String {
    let lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    one_line(
        &lines
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

/// Reads a pipe to its end, so that the child never blocks on it, and keeps the last lines.
fn keep_last_lines(pipe: impl Read + Send + 'static, kept: Arc<Mutex<VecDeque<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_back(line);
            if kept.len() > KEPT_ERROR_LINES {
                kept.pop_front();
            }
        }
    });
}

fn line_channel(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            // The pipe is read even when nobody listens, so that the child never blocks on it.
            let _ = sender.send(line);
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_number_is_not_the_same_process() {
        let me = ProcessId::of(std::process::id(), "test").unwrap();
        assert!(me.is_alive());
        let stranger = ProcessId {
            start_ticks: me.start_ticks + 1,
            ..me
        };
        assert!(!stranger.is_alive());
        stranger.end(Signal::SIGTERM, Duration::ZERO).unwrap();
    }

    #[test]
    fn errors_hold_the_commands_own_words() {
        let error = output(None, &["sh", "-c", "echo one >&2; echo two >&2; exit 3"]).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains("exit status: 3") && text.contains("one; two"),
            "{text}"
        );
        let error = output(None, &["no-such-program-here"]).unwrap_err();
        assert!(format!("{error:#}").contains("is it installed"));
    }

    #[test]
    fn missing_binaries_are_named_with_the_remedy() {
        let error = find_binary("no-such-binary").unwrap_err().to_string();
        assert!(error.contains("cargo build -p no-such-binary"), "{error}");
    }
}
