// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The hosts of the test bed.

/// One of the five hosts, in the order of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Host {
    /// Fixed host, at the wired end.
    Fh,
    /// Emulator of the wide-area part between FH and BS.
    Wan,
    /// Base station: the router on which the agent runs.
    Bs,
    /// Emulator of the lossy hop between BS and MH.
    Air,
    /// Mobile host, beyond the lossy hop.
    Mh,
}

impl Host {
    /// All hosts from the fixed to the mobile one.
    pub const ALL: [Self; 5] = [Self::Fh, Self::Wan, Self::Bs, Self::Air, Self::Mh];

    /// Name as in the namespace's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fh => "fh",
            Self::Wan => "wan",
            Self::Bs => "bs",
            Self::Air => "air",
            Self::Mh => "mh",
        }
    }
}
