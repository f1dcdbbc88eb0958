// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the lab needs anywhere: units, statistics, files, interruptions. It knows nothing of links.

pub mod fields;
pub(crate) mod files;
pub mod interrupt;
pub(crate) mod say;
#[cfg(test)]
#[path = "../../tests/bed/lab/small.rs"]
pub(crate) mod small;
pub mod stats;
pub mod units;
#[cfg(test)]
pub(crate) mod words;

pub(crate) use lasthop::columns;
