// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the long commands share: many runs of `compare`, some at a time, that can be stopped and
//! gone on with.

mod line;
pub mod plot;
mod progress;
mod runner;
mod store;

use anyhow::Result;

pub(crate) use self::line::CompareLine;
use self::progress::Progress;
use self::runner::Event;
pub(crate) use self::runner::{Figures, Job};
pub(crate) use self::store::{Entry, Results, Store};

/// Runs `jobs`, `slots` at a time, with a progress bar, and says what fails. `done` gets the place
/// of each job that has figures. Returns whether all have.
///
/// # Errors
/// As [`runner::run`], where `done` is what hears.
pub(crate) fn run(
    slots: u16,
    jobs: &[Job],
    mut done: impl FnMut(usize, Figures) -> Result<()>,
) -> Result<bool> {
    let mut progress = Progress::new(jobs);
    let mut complete = true;
    let result = runner::run(slots, jobs, |event| {
        match event {
            Event::Begun(job) => progress.begin(job),
            Event::Tick => progress.tick(),
            Event::Done(index, job, figures) => {
                if let Some(failure) = &figures.failure {
                    progress.say(&format!("{}: {failure}", job.name));
                }
                progress.finish(job);
                done(index, *figures)?;
            }
            Event::Failed(job, why) => {
                progress.say(&format!("{}: {why}", job.name));
                progress.finish(job);
                complete = false;
            }
        }
        Ok(())
    });
    progress.end();
    result.map(|()| complete)
}
