// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The test bed: namespaces, processes, emulators, the agent or what takes its place, and the traffic
//! that goes over them.

pub mod agent;
pub mod counters;
pub mod cpu;
pub mod direct;
pub mod emulator;
pub mod forger;
pub mod helper;
mod hops;
mod ip;
pub mod left;
pub mod load;
pub mod namespace;
pub mod netns;
pub mod others;
pub mod page;
mod partners;
pub mod passthrough;
mod pepsal;
pub mod process;
pub mod programs;
pub mod proxy;
pub mod runs;
mod service;
pub mod testbed;
pub mod traffic;
pub mod transfer;
