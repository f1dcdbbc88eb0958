// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Runs jobs, some at a time, each as a `lasthop-lab compare` of its own: test beds of several
//! processes cannot get in each other's way, and one that breaks takes no other with it.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::base::interrupt;
use crate::bed::{process, runs};
use crate::cell::record::Record;

/// How long a run may take to remove its test bed once it is told to end.
const STOP_PATIENCE: Duration = Duration::from_secs(20);
/// So many failures in succession are no accident.
const MAX_FAILURES_IN_A_ROW: usize = 6;
/// Between the first job of one slot and that of the next.
const STAGGER: Duration = Duration::from_millis(700);
/// How often the caller hears of the progress.
const TICK: Duration = Duration::from_millis(250);

/// One `compare` of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Name of the cell, for people and for the store.
    pub name: String,
    /// All options of `compare`, `-j` included.
    pub args: Vec<String>,
    /// How long it will take, about, or may take.
    pub expected: Duration,
    /// After so long it is ended.
    pub limit: Duration,
    /// Whether it needs no test bed.
    pub is_simulated: bool,
}

impl Job {
    /// Beyond its transfer a run on a test bed may take so long to set up, tear down and wait for
    /// the machine.
    const SPARE_TIME: Duration = Duration::from_secs(60);
    /// What that usually takes.
    const SET_UP_TIME: Duration = Duration::from_secs(2);
    /// So many simulated seconds take a real one, about.
    const SIMULATED_PER_REAL: u32 = 40;
    /// A simulation may be large.
    const SIMULATION_LIMIT: Duration = Duration::from_secs(4 * 3600);

    /// A run on a test bed, whose transfer takes so long, or may, warm-up included.
    pub fn on_test_bed(name: String, args: Vec<String>, transfer: Duration) -> Self {
        Self {
            name,
            args,
            expected: transfer + Self::SET_UP_TIME,
            limit: transfer + Self::SPARE_TIME,
            is_simulated: false,
        }
    }

    /// A simulation of so many flows for so much simulated time.
    pub fn simulated(name: String, args: Vec<String>, flows: u32, transfer: Duration) -> Self {
        Self {
            name,
            args,
            expected: transfer * flows.max(1) / Self::SIMULATED_PER_REAL,
            limit: Self::SIMULATION_LIMIT,
            is_simulated: true,
        }
    }
}

/// What a job came to.
#[derive(Debug)]
pub struct Figures {
    /// The last record that `compare` printed.
    pub record: Record,
    /// What it said beside that.
    pub notes: Vec<String>,
    /// Why its content is wrong, if it is.
    pub failure: Option<String>,
}

/// What the caller hears while jobs run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A job begins.
    Begun(&'a Job),
    /// A job has figures. The number is its place in the list.
    Done(usize, &'a Job, Box<Figures>),
    /// A job has none, and why.
    Failed(&'a Job, String),
    /// Time has passed.
    Tick,
}

/// Runs `jobs`, `slots` at a time, and hands every event to `hear` on the calling thread.
///
/// # Errors
/// The user interrupts, `hear` fails, or so many jobs fail in succession that the rest would.
/// All test beds have been removed then.
pub fn run(slots: u16, jobs: &[Job], mut hear: impl FnMut(Event<'_>) -> Result<()>) -> Result<()> {
    let queue: Mutex<VecDeque<(usize, &Job)>> = Mutex::new(jobs.iter().enumerate().collect());
    let stop = Stop::default();
    let on_test_bed = jobs.iter().any(|job| !job.is_simulated);
    thread::scope(|scope| {
        let (events, heard) = mpsc::channel();
        for slot in 0..slots {
            let events = events.clone();
            let (queue, stop) = (&queue, &stop);
            scope.spawn(move || {
                // Loading an agent takes a CPU for half a second: jobs that are equally long
                // would all do so at once, for ever. A simulation loads none.
                let stagger = if on_test_bed { STAGGER } else { Duration::ZERO };
                if stop.wait(stagger * slot.into()) {
                    work(queue, stop, &events);
                }
            });
        }
        drop(events);
        let result = listen(&heard, &mut hear);
        // The workers end their children before the scope ends.
        stop.order();
        result
    })?;
    interrupt::check()
}

/// The listening thread's order to give up.
#[derive(Debug, Default)]
struct Stop(std::sync::atomic::AtomicBool);

impl Stop {
    fn order(&self) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }

    /// Waits so long; false: the order came.
    fn wait(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while Instant::now() < end && !self.is_ordered() {
            thread::sleep(interrupt::POLL.min(time));
        }
        !self.is_ordered()
    }

    fn is_ordered(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::SeqCst) || interrupt::requested()
    }
}

fn listen<'a>(
    heard: &Receiver<Event<'a>>,
    hear: &mut impl FnMut(Event<'a>) -> Result<()>,
) -> Result<()> {
    let mut failures_in_a_row = 0;
    loop {
        let event = match heard.recv_timeout(TICK) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => Event::Tick,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        match &event {
            Event::Done(..) => failures_in_a_row = 0,
            Event::Failed(..) => failures_in_a_row += 1,
            Event::Begun(_) | Event::Tick => {}
        }
        hear(event)?;
        if failures_in_a_row == MAX_FAILURES_IN_A_ROW {
            bail!("{failures_in_a_row} runs in succession failed: given up; start again to go on");
        }
    }
}

fn work<'a>(queue: &Mutex<VecDeque<(usize, &'a Job)>>, stop: &Stop, events: &Sender<Event<'a>>) {
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front()
    };
    while let Some((index, job)) = next() {
        if stop.is_ordered() {
            return;
        }
        let _ = events.send(Event::Begun(job));
        let event = match run_job(job, stop) {
            Ok(figures) => Event::Done(index, job, Box::new(figures)),
            Err(_) if stop.is_ordered() => return,
            Err(error) => Event::Failed(job, format!("{error:#}")),
        };
        // Nobody listens any more only after the order to stop.
        let _ = events.send(event);
    }
}

/// What a child left behind.
struct Ended {
    status: ExitStatus,
    stdout: String,
    /// Lines of its standard error without the program's name.
    said: Vec<String>,
}

fn run_job(job: &Job, stop: &Stop) -> Result<Figures> {
    let ended = run_child(&job.args, job.limit, stop)?;
    let Some(record) = only_record(&ended.stdout)? else {
        let said = match ended.said.is_empty() {
            true => "it said nothing".to_owned(),
            false => ended.said.join("; "),
        };
        bail!("no result ({}): {said}", ended.status);
    };
    let (notes, errors): (Vec<String>, Vec<String>) = ended
        .said
        .into_iter()
        .partition(|line| line.starts_with("note: "));
    let failure = (!ended.status.success()).then(|| errors.join("; "));
    Ok(Figures {
        record,
        notes,
        failure,
    })
}

/// What `compare` printed of its one cell. None of several can stand for all.
fn only_record(stdout: &str) -> Result<Option<Record>> {
    let records = stdout.lines().map(serde_json::from_str);
    let mut records = records.filter_map(serde_json::Result::<Record>::ok);
    let record = records.next();
    match records.count() {
        0 => Ok(record),
        more => bail!("{} results of one run", 1 + more),
    }
}

/// Runs `compare` to its end, at most for `limit`. Whatever it leaves standing is removed.
fn run_child(args: &[String], limit: Duration, stop: &Stop) -> Result<Ended> {
    // The running program, even when a build has replaced its file since.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("lasthop-lab").arg("compare").args(args);
    command.stdin(Stdio::null()).process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let lab = Pid::this();
    // SAFETY: between fork and exec only system calls without allocation are made.
    unsafe {
        // It is told by SIGTERM, on which it removes its test bed. The thread that forks counts
        // as the parent: a worker, which outlives its child.
        command.pre_exec(move || process::end_with_lab(lab, Signal::SIGTERM));
    }
    let mut child = command
        .spawn()
        .context("cannot start lasthop-lab compare")?;
    let result = wait(&mut child, limit, stop);
    let left = remove_left_behind(child.id());
    let status = result?;
    left?;
    Ok(Ended {
        status,
        stdout: read(child.stdout.take())?,
        said: read(child.stderr.take())?
            .lines()
            .map(|line| {
                line.strip_prefix("lasthop-lab: ")
                    .unwrap_or(line)
                    .to_owned()
            })
            .collect(),
    })
}

/// A record and a few notes: less than a pipe holds, so it can be read after the end.
fn read(pipe: Option<impl Read>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn wait(child: &mut Child, limit: Duration, stop: &Stop) -> Result<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let late = Instant::now() >= deadline;
        if late || stop.is_ordered() {
            end(child)?;
            if late {
                bail!("not finished after {} s: ended", limit.as_secs());
            }
            bail!("interrupted");
        }
        thread::sleep(interrupt::POLL);
    }
}

/// Ends a child in order, and with all of its group if it does not obey.
fn end(child: &mut Child) -> Result<()> {
    let pid = Pid::from_raw(i32::try_from(child.id()).context("process number out of range")?);
    let _ = kill(pid, Signal::SIGINT);
    let deadline = Instant::now() + STOP_PATIENCE;
    while Instant::now() < deadline {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        thread::sleep(interrupt::POLL);
    }
    let _ = killpg(pid, Signal::SIGKILL);
    child.wait()?;
    Ok(())
}

/// Removes the test beds of a child that ended without doing so.
fn remove_left_behind(pid: u32) -> Result<()> {
    for run in runs::list()?.into_values().flatten() {
        let owner = run.owner.as_ref();
        if owner.is_some_and(|owner| owner.pid as u32 == pid && !owner.is_alive()) {
            run.remove()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::record::sample;

    #[test]
    fn a_run_has_one_result() {
        let line = |cc| serde_json::to_string(&sample("none", cc, 1, 2.5)).unwrap() + "\n";
        let [cubic, reno] = ["cubic", "reno"].map(line);
        let record = only_record(&reno).unwrap();
        assert_eq!(record.map(|record| record.cc).as_deref(), Some("reno"));
        assert_eq!(only_record("").unwrap(), None);
        assert!(only_record(&(cubic + &reno)).is_err());
    }
}
