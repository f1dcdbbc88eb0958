// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What waits in front of a link, and who goes next: one queue discipline per file.
//!
//! A discipline lives in virtual time as the rest of the model does: the link asks for the next
//! frame at the very moment at which the one before has left, however late the caller is.

use crate::config::{Aqm, Direction, DirectionConfig};
use crate::random::Random;

mod backlog;
mod codel;
pub(crate) mod discipline;
mod fifo;
mod fq_codel;

pub(crate) use self::backlog::Waiting;
pub(crate) use self::discipline::Discipline;

/// The discipline that a direction asks for.
pub(crate) fn build<T: Send + 'static>(
    config: &DirectionConfig,
    seed: u64,
    direction: Direction,
) -> Box<dyn Discipline<T>> {
    match config.aqm {
        Aqm::Fifo => Box::new(fifo::Fifo::new(config)),
        Aqm::Codel => Box::new(codel::Codel::new(config)),
        Aqm::FqCodel => {
            let perturbation = Random::new(seed, direction, "fq_codel").bits();
            Box::new(fq_codel::FqCodel::new(config, perturbation))
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
