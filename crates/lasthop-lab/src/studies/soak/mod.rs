// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `soak`: a daemon under a load of connections that come and go, on a link that loses and goes away, while
//! its configuration changes and other processes take it over. At the end nothing may be left of it.

mod clock;
mod judge;
pub mod options;
mod sample;
mod served;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::{Value, json};

use self::clock::{Clock, Event};
use self::judge::{Bound, Condition, Course, judge};
use self::options::SoakOptions;
use self::sample::Sample;
use self::served::Served;
use crate::base::columns::aligned;
use crate::base::interrupt;
use crate::bed::emulator::distortion;
use crate::bed::load::{self, RunningLoad};
use crate::bed::testbed::TestBed;
use crate::data::outage::Outage;
use crate::studies::compare::Verdict;
use crate::studies::compare::progress::bar;

/// The log's name in `--out`.
pub const LOG: &str = "soak.jsonl";
/// How long the connections may take to begin.
const BEGIN_PATIENCE: Duration = Duration::from_secs(120);
/// And to come to their end: as long as one may stand still, and those that stay are closed in turn.
const END_PATIENCE: Duration = Duration::from_secs(300);
/// And until the agent has forgotten them: `idle` of its file, the sweep, and time to spare.
const REST_PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at what is due.
const TICK: Duration = Duration::from_millis(20);
/// Outages are as long as that and up to as much longer.
const OUTAGE_LEAST_NS: u64 = 100_000_000;
const OUTAGE_MORE_NS: u64 = 1_400_000_000;

/// Runs it, writes the log, and prints what came of it.
///
/// # Errors
/// No test bed, no daemon, a log that can't be written; a daemon that dies.
pub fn run(options: &SoakOptions) -> Result<Verdict> {
    match soak(options) {
        Ok(conditions) => {
            print(options, &conditions)?;
            let failed = conditions.iter().any(|condition| !condition.met);
            Ok(if failed {
                Verdict::Failed
            } else {
                Verdict::Good
            })
        }
        Err(_) if interrupt::requested() => Ok(Verdict::Interrupted),
        Err(error) => Err(error),
    }
}

fn soak(options: &SoakOptions) -> Result<Vec<Condition>> {
    let mut log = Log::create(&options.out)?;
    let bed = TestBed::up(&options.link())?;
    let mut served = Served::start(&bed)?;
    let mut load = load::start(&bed, options.plan())?;
    let bar = Bar::new(options.duration());
    load.wait_for_held(BEGIN_PATIENCE)?;
    let mut soak = Soak {
        options,
        bed: &bed,
        began: Instant::now(),
        course: Course::default(),
        log: &mut log,
        bar: &bar,
    };
    soak.under_load(&mut served, &mut load)?;
    soak.come_to_rest(&mut served, load)?;
    if let Some(note) = distortion(&bed.emulator_stats()?) {
        bar.say(&format!("note: {note}"));
    }
    let conditions = judge(&soak.course);
    for condition in &conditions {
        log.write("condition", condition)?;
    }
    served.stop()?;
    Ok(conditions)
}

struct Soak<'a> {
    options: &'a SoakOptions,
    bed: &'a TestBed,
    began: Instant,
    course: Course,
    log: &'a mut Log,
    bar: &'a Bar,
}

impl Soak<'_> {
    fn at_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Lets happen what is due, until it is time.
    fn under_load(&mut self, served: &mut Served<'_>, load: &mut RunningLoad) -> Result<()> {
        let options = self.options;
        let duration = options.duration();
        let take_overs = options.take_overs();
        let mut clock = Clock::new(&[
            (
                Event::TakeOver,
                duration / (2 * take_overs + 1),
                Some(take_overs),
            ),
            (Event::Sample, options.sample_period(), None),
            (Event::Outage, options.outage_period(), None),
            (Event::Reload, options.reload_period(), None),
        ]);
        while self.began.elapsed() < duration {
            interrupt::check()?;
            self.note_reload(served)?;
            let reloading = served.is_reloading();
            let possible = |event| match event {
                Event::TakeOver | Event::Reload => !reloading,
                Event::Sample | Event::Outage => true,
            };
            match clock.due(self.began.elapsed(), possible) {
                Some(Event::Sample) => self.sample(served, load)?,
                Some(Event::Outage) => self.outage()?,
                Some(Event::TakeOver) => self.take_over(served)?,
                Some(Event::Reload) => served.begin_reload()?,
                None => thread::sleep(TICK),
            }
        }
        self.course.load_s = self.at_s();
        Ok(())
    }

    fn sample(&mut self, served: &mut Served<'_>, load: &mut RunningLoad) -> Result<()> {
        let reloading = served.is_reloading();
        let sample = Sample {
            reloading,
            ..Sample::take(&mut served.agent, self.at_s(), load.tally()?)?
        };
        self.log.write("sample", &sample)?;
        self.bar.show(self.began.elapsed(), &sample);
        self.course.samples.push(sample);
        Ok(())
    }

    fn outage(&mut self) -> Result<()> {
        // Its length follows from seed and number alone.
        let number = self.options.seed.wrapping_add(self.course.outages);
        let length_ns =
            OUTAGE_LEAST_NS + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % OUTAGE_MORE_NS;
        let outage = Outage {
            start_ns: 0,
            length_ns,
            period_ns: None,
        };
        self.bed
            .schedule_outage(outage, Instant::now(), Duration::from_secs(1))?;
        self.course.outages += 1;
        self.event("outage", json!({"length_ms": length_ns / 1_000_000}))
    }

    fn take_over(&mut self, served: &mut Served<'_>) -> Result<()> {
        let (began, was) = (Instant::now(), served.agent.pid());
        served.take_over()?;
        self.course.take_overs += 1;
        let took_s = began.elapsed().as_secs_f64();
        let now = served.agent.pid();
        self.event(
            "take_over",
            json!({"from": was, "to": now, "took_s": took_s}),
        )
    }

    fn note_reload(&mut self, served: &mut Served<'_>) -> Result<()> {
        let Some(reloaded) = served.reloaded()? else {
            return Ok(());
        };
        self.course.reloads += 1;
        if let Some(failure) = &reloaded.failure {
            self.course.failed_reloads += 1;
            self.bar.say(&format!("reload failed: {failure}"));
        }
        let section = reloaded.section.replace('\n', "; ");
        let (took_s, failure) = (reloaded.took_s, reloaded.failure);
        let event = json!({"section": section, "took_s": took_s, "failure": failure});
        self.event("reload", event)
    }

    /// Waits until all connections have ended, and until the agent knows none any more.
    fn come_to_rest(&mut self, served: &mut Served<'_>, load: RunningLoad) -> Result<()> {
        let deadline = Instant::now() + END_PATIENCE;
        while served.is_reloading() && Instant::now() < deadline {
            interrupt::check()?;
            self.note_reload(served)?;
            thread::sleep(TICK);
        }
        self.bar.end();
        // What is left of it is what the conditions judge.
        self.course.tally = load.end(END_PATIENCE)?;
        let deadline = Instant::now() + REST_PATIENCE;
        loop {
            interrupt::check()?;
            let tally = self.course.tally.clone();
            let rest = Sample::take(&mut served.agent, self.at_s(), tally)?;
            let counters = rest.counters;
            let settled = rest.is_empty() && counters.flows_created == counters.flows_removed;
            let over = settled || Instant::now() >= deadline;
            self.course.rest = rest;
            if over {
                return self.log.write("rest", &self.course.rest);
            }
            thread::sleep(Duration::from_millis(500));
        }
    }

    fn event(&mut self, what: &str, mut event: Value) -> Result<()> {
        event["at_s"] = self.at_s().into();
        self.log.write(what, &event)
    }
}

/// The log: JSON Lines, each with what it is in `event`.
struct Log {
    file: BufWriter<File>,
}

impl Log {
    /// Another soak's log is not written over.
    fn create(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
        let path = directory.join(LOG);
        if path.exists() {
            bail!(
                "{}: there is the log of another soak: choose another --out, or remove it",
                path.display()
            );
        }
        let file = File::create(&path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self {
            file: BufWriter::new(file),
        })
    }

    /// Flushed, for a soak that dies has the more to tell.
    fn write(&mut self, event: &str, what: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_value(what)?;
        line["event"] = event.into();
        writeln!(self.file, "{line}")
            .and_then(|()| self.file.flush())
            .context("cannot write the log")
    }
}

/// The progress bar, for people only.
struct Bar {
    bar: ProgressBar,
}

impl Bar {
    fn new(duration: Duration) -> Self {
        let bar = bar(duration.as_millis() as u64, 2);
        bar.set_message("connections begin");
        Self { bar }
    }

    fn show(&self, elapsed: Duration, sample: &Sample) {
        self.bar.set_position(elapsed.as_millis() as u64);
        self.bar.set_message(format!(
            "{}, {} flows, {} opened, {} failed",
            sample.scheme,
            sample.flows,
            sample.load.opened,
            sample.load.failures()
        ));
    }

    fn say(&self, text: &str) {
        self.bar.suspend(|| eprintln!("lasthop-lab: {text}"));
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn print(options: &SoakOptions, conditions: &[Condition]) -> Result<()> {
    let text = match options.json {
        true => conditions
            .iter()
            .map(|condition| Ok(serde_json::to_string(condition)? + "\n"))
            .collect::<Result<String>>()?,
        false => table(conditions),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("standard output")
}

fn table(conditions: &[Condition]) -> String {
    let number = |value: f64| match value {
        value if value.fract() == 0.0 => format!("{value:.0}"),
        value => format!("{value:.3}"),
    };
    let row = |condition: &Condition| {
        let bound = match condition.bound {
            None => String::new(),
            Some(Bound::Most(most)) => format!("at most {}", number(most)),
            Some(Bound::Least(least)) => format!("at least {}", number(least)),
        };
        let verdict = match (condition.bound, condition.met) {
            (None, _) => "",
            (_, true) => "met",
            (_, false) => "NOT MET",
        };
        [
            condition.what.to_owned(),
            verdict.to_owned(),
            number(condition.value),
            bound,
        ]
    };
    let mut rows = vec![["", "", "value", "bound"].map(str::to_owned)];
    rows.extend(conditions.iter().map(row));
    aligned(&rows, 2)
}
