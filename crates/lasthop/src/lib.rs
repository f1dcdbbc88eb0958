// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! User space of the agent: it loads the BPF programs, attaches them, and supplies the kicks by
//! which they can act without a packet. No protocol logic here (core/).

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!(
    "lasthop is for 64-bit little-endian machines: kernels of 32-bit ARM and MIPS let BPF programs call none of their functions (docs/kernels.md)"
);

pub mod ask;
pub mod bug_report;
pub mod bytes;
mod carrier;
pub mod check;
pub mod cli;
pub mod columns;
pub mod config;
pub mod connection;
pub mod control;
pub mod daemon;
mod descriptors;
pub mod device;
pub mod events;
mod fields;
mod flow_tables;
pub mod keyfile;
mod links;
mod lock;
pub mod mac_events;
mod maps;
pub mod memory;
pub mod monotonic;
mod netlink;
pub mod observe;
pub mod outlet;
pub mod peers;
mod priority;
mod privilege;
pub mod programs;
pub mod queue;
pub mod receivers;
pub mod reference;
pub mod report;
pub mod role;
mod runtime;
mod shared;
pub mod signals;
mod skb;
pub mod split;
pub mod tcx;
pub mod top;
pub mod units;
pub mod upgrade;
mod view;
pub mod why;
