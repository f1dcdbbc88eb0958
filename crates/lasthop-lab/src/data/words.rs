// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Links for unit tests: words in, options or what people would read out.

use super::link::LinkOptions;
use crate::base::words::options;

/// A link that the commands would accept.
pub(crate) fn link(words: &str) -> Result<LinkOptions, String> {
    let link: LinkOptions = options(words)?;
    link.validate().map_err(|error| error.to_string())?;
    Ok(link)
}
