// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! End to end, on test beds in network namespaces: the agent, the exporter beside it, and the lab itself.
//! One program, so that it is known who runs beside whom ([`turn`]).

mod agent;
mod exporter;
mod lab;
mod turn;
