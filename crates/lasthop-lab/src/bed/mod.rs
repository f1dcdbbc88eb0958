// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The test bed: namespaces, processes, emulators, the agent, and the traffic that goes over them.

pub mod agent;
pub mod counters;
pub mod emulator;
pub mod forger;
pub mod namespace;
pub mod netns;
pub mod page;
mod partners;
pub mod process;
pub mod runs;
pub mod testbed;
pub mod traffic;
pub mod transfer;
