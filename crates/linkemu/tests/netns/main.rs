// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The relay and its command with real frames between real hosts (network namespaces). Needs
//! root; prints "skipped: reason" and passes without. Bounds on time are lower bounds only: a
//! busy machine delivers late, and nothing may deliver early.

mod command;
mod effects;
mod lab;
mod mac;
mod raw;
mod relay;
