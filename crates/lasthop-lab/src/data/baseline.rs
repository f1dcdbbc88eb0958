// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the agent's schemes are compared with: processes that stand in its place.

use std::fmt;

/// A process in the agent's place, by whose name `--scheme` asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// `lasthop split`: the proxy that ends connections and opens others.
    Split,
    /// Every segment goes through a netfilter queue, and on as it is: what such a way costs.
    Passthrough,
    /// PEPsal, a proxy that others wrote, where it is installed.
    Pepsal,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Split, Self::Passthrough, Self::Pepsal];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Passthrough => "passthrough",
            Self::Pepsal => "pepsal",
        }
    }

    /// The one of that name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether it ends connections, so that it has some of its own.
    pub fn splits(self) -> bool {
        self != Self::Passthrough
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
