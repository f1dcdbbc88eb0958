// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The lab of `lasthop`: a test bed of five hosts on one machine, real TCP transfers over it, and
//! comparisons with and without the agent.
//!
//! ```text
//!  FH ──── WAN emulator ──── BS ──── wireless emulator ──── MH
//! ```
//!
//! Integration tests of other crates use the same parts as the command line:
//!
//! ```no_run
//! use lasthop_lab::netns::Host;
//! use lasthop_lab::options::LinkOptions;
//! use lasthop_lab::testbed::TestBed;
//! use lasthop_lab::transfer::Transfer;
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

pub mod agent;
pub(crate) mod campaign;
pub mod compare;
pub mod emulator;
pub mod experiment;
pub mod fields;
pub mod forger;
pub mod grid;
pub mod hosts;
pub mod interrupt;
pub mod measure;
pub mod netns;
pub mod options;
pub mod page;
pub mod process;
pub mod profile;
pub mod replay;
pub mod return_path;
pub mod runs;
pub mod sender;
pub mod simulation;
pub mod stack;
pub mod testbed;
pub mod topology;
pub mod traffic;
pub mod transfer;
pub mod units;
pub mod variation;
#[cfg(test)]
mod words;
