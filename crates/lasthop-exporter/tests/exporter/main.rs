// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The exporter as a process, before agents that are threads of these tests: the sockets and the
//! reports are the real ones, the figures are made up.

mod agents;
mod bounds;
mod exposition;
mod fake;
mod http;
mod metrics;
mod process;
mod textfile;
mod written;
