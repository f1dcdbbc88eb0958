// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Command lines for unit tests: words in, options or what people would read out.

use super::options::CompareOptions;
use crate::base::words::options;

/// Options of `compare`, not checked further.
pub(crate) fn compare(words: &str) -> Result<CompareOptions, String> {
    options(words)
}
