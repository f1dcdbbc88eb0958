// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! On or off.

use serde::{Deserialize, Serialize};

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    /// On.
    On,
    /// Off.
    #[default]
    Off,
}

/// Whether the base station merges received segments, and so sees super-packets.
pub type Gro = Switch;
