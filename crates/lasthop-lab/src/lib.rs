// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The lab of `lasthop`: a test bed of five hosts on one machine, real TCP transfers over it, and
//! comparisons with and without the agent.
//!
//! ```text
//!  FH ──── WAN emulator ──── BS ──── wireless emulator ──── MH
//! ```
//!
//! The crate is built in layers. A module imports from its own layer and from those below it, never
//! from one above, and no imports run in a circle:
//!
//! | layer | what it holds |
//! | --- | --- |
//! | `main.rs`, `commands.rs` | the command line |
//! | [`studies`] | what is asked: `compare`, campaigns, experiments, the grid, reports, `replay`, `soak` |
//! | [`engines`] | what measures a cell, behind one trait: the test bed, the simulator ns-3 |
//! | [`cell`] | what is measured, and what came of it: options, record, arithmetic |
//! | [`bed`] | the test bed: namespaces, processes, emulators, agent, transfers, pages, loads |
//! | [`data`] | links, topology, TCP profiles and traffic as data |
//! | [`base`] | units, statistics, files, interruptions |
//!
//! Integration tests of other crates use the same parts as the command line:
//!
//! ```no_run
//! use lasthop_lab::bed::testbed::TestBed;
//! use lasthop_lab::bed::transfer::Transfer;
//! use lasthop_lab::data::link::LinkOptions;
//!
//! let bed = TestBed::up(&LinkOptions::default())?;
//! let agent = bed.start_agent("rack", &[])?;
//! let running = Transfer::new().bytes(5_000_000).start(&bed)?;
//! running.wait_for_bytes(1_000_000)?; // in mid-transfer
//! agent.kill()?;
//! let report = running.wait()?;
//! assert!(report.content_ok());
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod base;
pub mod bed;
pub mod cell;
pub mod data;
pub mod engines;
pub mod studies;

pub use crate::studies::replay;
