// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Links, topology, TCP profiles and traffic as data: what can be asked of a test bed or a simulator,
//! as a command line or a test says it. Nothing here acts.

pub mod arrivals;
pub mod baseline;
pub mod burst;
pub mod emulation;
pub mod ends;
pub mod host;
pub mod hosts;
pub mod link;
mod lte;
pub mod mac;
pub mod neighbour;
pub mod outage;
pub mod page;
pub mod police;
pub mod profile;
pub mod queue;
pub mod return_path;
pub mod scheme;
pub mod segment;
pub mod sender;
pub mod stack;
pub mod switch;
pub mod topology;
pub mod variation;
pub mod way;
#[cfg(test)]
pub(crate) mod words;
