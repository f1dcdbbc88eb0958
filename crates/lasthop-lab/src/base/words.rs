// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Command lines for unit tests: words in, options or what people would read out.

use clap::{Args, Command};

/// Options of any command that takes them all.
pub(crate) fn options<A: Args>(words: &str) -> Result<A, String> {
    let words = std::iter::once("lab").chain(words.split_whitespace());
    A::augment_args(Command::new("lab"))
        .try_get_matches_from(words)
        .and_then(|matches| A::from_arg_matches(&matches))
        .map_err(|error| error.to_string())
}
