// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the agents count, for Prometheus, for node_exporter's textfile collector, and as a page for
//! people. A process of its own, without rights: it asks the agents' control sockets, as `lasthop
//! status -j` does, and neither holds the other up.

pub mod accept;
pub mod asker;
mod chart;
pub mod families;
pub mod format;
pub mod history;
pub mod page;
pub mod sample;
pub mod sampler;
pub mod server;
mod site;
mod table;
pub mod textfile;
