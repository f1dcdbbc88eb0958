// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Mixes of many flows over the unmodified core, event by event: what a test bed
//! needs minutes for, in seconds, and the same with the same seed.

mod agent;
mod bbr;
mod case;
mod cases;
mod catalogue;
mod congestion;
mod drawn;
mod lane;
mod mixes;
mod pages;
mod receiver;
mod report;
mod seeds;
mod sender;
mod table;
mod unsteady;
mod wire;
mod world;

use case::Case;
use report::Report;
use world::World;

fn run(case: &Case) -> Report {
    let mut world = World::new(case.clone());
    world.trace = std::env::var_os("MIXES_TRACE").is_some();
    world.browse_first();
    world.run()
}
