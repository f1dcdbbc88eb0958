// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A cell: one combination that an engine measures, and its figures. Options, record and arithmetic
//! that all engines share.

pub mod beside;
pub mod bounds;
pub mod cpu;
pub mod energy;
pub mod engine;
pub mod flows;
pub mod measure;
pub mod observed;
pub mod options;
pub mod outcome;
pub mod page;
pub mod record;
pub mod watch;
#[cfg(test)]
pub(crate) mod words;
