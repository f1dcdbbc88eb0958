// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Directions: which end sends the data, and which one calls connect().

use super::host::Host;

/// Which way the data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Way {
    /// FH sends, MH receives.
    #[default]
    Down,
    /// MH sends, FH receives.
    Up,
}

impl Way {
    /// The host that sends the data.
    pub fn sender(self) -> Host {
        match self {
            Self::Down => Host::Fh,
            Self::Up => Host::Mh,
        }
    }

    /// The emulators' name of the data direction.
    pub fn emulator_direction(self) -> linkemu::Direction {
        match self {
            Self::Down => linkemu::Direction::AToB,
            Self::Up => linkemu::Direction::BToA,
        }
    }
}

/// Which end host calls connect().
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Opener {
    /// The fixed host.
    #[default]
    Fh,
    /// The mobile host.
    Mh,
}

impl Opener {
    pub(crate) fn host(self) -> Host {
        match self {
            Self::Fh => Host::Fh,
            Self::Mh => Host::Mh,
        }
    }
}
