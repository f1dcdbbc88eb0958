// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The values of the key `clock`.

use serde::{Deserialize, Serialize};

/// Whom scheme `rack`'s window clock may limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged, expecting = "true, false or \"always\"")]
pub enum Clock {
    /// Senders whose losses are hidden, or nobody.
    May(bool),
    /// More than those.
    Word(ClockWord),
}

/// What [`Clock`] has words for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockWord {
    /// All others, too, while a queue stands.
    Always,
}
