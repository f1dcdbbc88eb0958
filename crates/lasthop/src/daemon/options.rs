// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the command line and the configuration file ask of the daemon.

use std::path::PathBuf;

use crate::programs::Setup;

/// What `attach` was asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// Devices, at least one.
    pub devices: Vec<String>,
    /// Name of the scheme in `setup`.
    pub scheme: String,
    /// What the programs are loaded with, but for the device.
    pub setup: Setup,
    /// Where the keys are by which other agents know us; none: no messages.
    pub keys: Option<PathBuf>,
    /// Socket of a source of MAC events, or `mac80211`; none: schemes that go by them are refused.
    pub mac_events: Option<PathBuf>,
    /// Directory of control sockets and locks.
    pub runtime_dir: PathBuf,
    /// End when a device goes away instead of waiting for it.
    pub once: bool,
    /// Events as JSON Lines.
    pub json: bool,
}
