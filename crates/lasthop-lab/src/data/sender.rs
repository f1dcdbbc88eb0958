// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which machine the wired end of all transfers is on: FH beyond the wire, or the agent's own, as
//! with a server, a proxy or a tunnel's end on the router itself.

use serde::{Deserialize, Serialize};

use crate::data::host::Host;

/// The machine with the wired end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Sender {
    /// The fixed host.
    #[default]
    Fh,
    /// The base station, on which the agent runs.
    Bs,
}

impl Sender {
    /// Its host on the test bed.
    pub fn host(self) -> Host {
        match self {
            Self::Fh => Host::Fh,
            Self::Bs => Host::Bs,
        }
    }

    /// For people; empty for the usual one.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Fh => "",
            Self::Bs => ", sender on BS",
        }
    }
}
