// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The progress bar on standard error, for people only.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::cell::options::Cell;

/// Steps of the bar per cell.
const STEPS: f64 = 1000.0;
const TEMPLATE: &str =
    "{bar:30} {percent:>3}%  {msg}  {elapsed_precise} elapsed, about {left} left";

/// Nothing is known before something is done; indicatif would say 0 s.
fn time_left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    let _ = match state.pos() {
        0 => out.write_char('?'),
        _ => write!(out, "{:#}", HumanDuration(state.eta())),
    };
}

/// A bar of so many steps, drawn so often a second; nothing where standard error is no terminal.
pub(crate) fn bar(steps: u64, hz: u8) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(hz);
    let bar = ProgressBar::with_draw_target(Some(steps), target);
    match ProgressStyle::with_template(TEMPLATE) {
        Ok(style) => bar.with_style(style.with_key("left", time_left)),
        Err(_) => bar,
    }
}

/// A bar over all cells; nothing where standard error is no terminal.
pub(super) struct Progress {
    bar: ProgressBar,
    cells: usize,
    done: std::cell::Cell<usize>,
}

impl Progress {
    pub(super) fn new(cells: usize) -> Self {
        Self {
            bar: bar(cells as u64 * STEPS as u64, 4),
            cells,
            done: std::cell::Cell::new(0),
        }
    }

    /// Cell number `index`, from 0, begins.
    pub(super) fn begin(&self, index: usize, cell: &Cell) {
        self.done.set(index);
        self.bar
            .set_message(format!("{}/{} {cell}", index + 1, self.cells));
        self.share(0.0);
    }

    /// This share of the current cell is done.
    pub(super) fn share(&self, share: f64) {
        let position = self.done.get() as f64 + share.clamp(0.0, 1.0);
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
