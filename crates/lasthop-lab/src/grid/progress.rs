// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The progress bar over all cells that are to be run, for people only.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::compare::progress::{TEMPLATE, time_left};

/// Steps of the bar per cell.
const STEPS: f64 = 1000.0;
/// What a run takes beside its transfer, about.
const SET_UP_TIME: Duration = Duration::from_secs(2);

pub(super) struct Progress {
    bar: ProgressBar,
    cells: usize,
    done: usize,
    running: HashMap<String, Instant>,
    per_cell: Duration,
}

impl Progress {
    /// A bar over `cells` runs whose transfers take so long each.
    pub(super) fn new(cells: usize, transfer: Duration) -> Self {
        // Draws nothing unless standard error is a terminal.
        let target = ProgressDrawTarget::stderr_with_hz(4);
        let bar = ProgressBar::with_draw_target(Some((cells as f64 * STEPS) as u64), target);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.with_key("left", time_left));
        }
        Self {
            bar,
            cells,
            done: 0,
            running: HashMap::new(),
            per_cell: transfer + SET_UP_TIME,
        }
    }

    pub(super) fn begin(&mut self, cell: &str) {
        self.running.insert(cell.to_owned(), Instant::now());
        self.bar
            .set_message(format!("{}/{} done, {cell}", self.done, self.cells));
    }

    pub(super) fn finish(&mut self, cell: &str) {
        self.running.remove(cell);
        self.done += 1;
        self.tick();
    }

    /// Moves on by the time that the running cells have had.
    pub(super) fn tick(&self) {
        let share = |begun: &Instant| {
            let share = begun.elapsed().as_secs_f64() / self.per_cell.as_secs_f64();
            share.min(1.0)
        };
        let position = self.done as f64 + self.running.values().map(share).sum::<f64>();
        self.bar.set_position((position * STEPS) as u64);
    }

    /// Says something without tearing the bar.
    pub(super) fn say(&self, text: &str) {
        self.bar.suspend(|| eprintln!("lasthop-lab: {text}"));
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
