// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the command line asks of the daemon.

use std::path::PathBuf;

use super::settings::Orders;

/// What `attach` or `daemon` was asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is to be served, and how.
    pub orders: Orders,
    /// Serve what the process of that name serves (control.rs), with its connections.
    pub take_over: Option<String>,
    /// End when a device goes away instead of waiting for it.
    pub once: bool,
    /// Events as JSON Lines.
    pub json: bool,
}

/// What all devices of a process have in common.
#[derive(Debug, Clone)]
pub(super) struct Common {
    /// Directory of control sockets and locks.
    pub(super) runtime_dir: PathBuf,
    pub(super) json: bool,
}
