// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which ends of the lossy hop have an agent.

use serde::{Deserialize, Serialize};

use crate::data::topology::{LOSSY_DEVICE, Place, WIRED_DEVICE};

/// An end of the hop as `lasthop attach --role` names it, and where the agent stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// `base` or `mobile`.
    pub role: &'static str,
    /// Host and device.
    pub place: Place,
}

/// The ends with an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Agents {
    /// The base station.
    #[default]
    Base,
    /// The mobile host.
    Mobile,
    /// Either: they share a key, and the counters of both are added up.
    Both,
}

impl Agents {
    /// Where they stand, the base's first.
    pub fn ends(self) -> Vec<End> {
        let base = End {
            role: "base",
            place: Place::new("bs", LOSSY_DEVICE),
        };
        let mobile = End {
            role: "mobile",
            place: Place::new("mh", WIRED_DEVICE),
        };
        match self {
            Self::Base => vec![base],
            Self::Mobile => vec![mobile],
            Self::Both => vec![base, mobile],
        }
    }
}
