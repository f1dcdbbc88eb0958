// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The progress bar over all cells that are to be run, for people only.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::runner::Job;
use crate::base::say::say;
use crate::studies::compare::progress::bar;

/// Steps of the bar per second of transfers.
const STEPS: f64 = 10.0;

pub(super) struct Progress {
    bar: ProgressBar,
    cells: usize,
    done: usize,
    /// Time that the finished ones were expected to take.
    done_time: Duration,
    running: HashMap<String, (Instant, Duration)>,
}

impl Progress {
    /// A bar over runs of the given transfers.
    pub(super) fn new(jobs: &[Job]) -> Self {
        let total: Duration = jobs.iter().map(|job| job.expected).sum();
        let steps = (total.as_secs_f64() * STEPS) as u64;
        Self {
            bar: bar(steps, 4),
            cells: jobs.len(),
            done: 0,
            done_time: Duration::ZERO,
            running: HashMap::new(),
        }
    }

    pub(super) fn begin(&mut self, job: &Job) {
        let running = (Instant::now(), job.expected);
        self.running.insert(job.name.clone(), running);
        self.bar
            .set_message(format!("{}/{} done, {}", self.done, self.cells, job.name));
    }

    pub(super) fn finish(&mut self, job: &Job) {
        self.running.remove(&job.name);
        self.done += 1;
        self.done_time += job.expected;
        self.tick();
    }

    /// Moves on by the time that the running ones have had.
    pub(super) fn tick(&self) {
        let had = |(begun, expected): &(Instant, Duration)| begun.elapsed().min(*expected);
        let time = self.done_time + self.running.values().map(had).sum::<Duration>();
        self.bar.set_position((time.as_secs_f64() * STEPS) as u64);
    }

    /// Says something without tearing the bar.
    pub(super) fn say(&self, text: &str) {
        self.bar.suspend(|| say(text));
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
