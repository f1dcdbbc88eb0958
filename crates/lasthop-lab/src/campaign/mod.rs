// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the long commands share: many runs of `compare`, some at a time, that can be stopped and
//! gone on with.

mod line;
pub mod plot;
mod progress;
mod runner;
pub mod stats;
mod store;

pub(crate) use self::line::CompareLine;
pub(crate) use self::progress::Progress;
pub(crate) use self::runner::{Event, Figures, Job, run};
pub(crate) use self::store::{Entry, Results, Store};
