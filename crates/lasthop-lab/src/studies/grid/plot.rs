// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The heat maps.

use std::path::Path;

use anyhow::Result;

use super::line;
use crate::studies::campaign::plot::{self, Drawn};

const SCRIPT: &str = include_str!("../../../../../experiments/plot/grid.py");

/// Draws what `directory` holds; returns a remark if it cannot be drawn here.
///
/// # Errors
/// The script fails.
pub fn draw(directory: &Path, judge: &str) -> Result<Option<String>> {
    let results = directory.join(line::FILE);
    let args = [results.as_os_str(), "--scheme".as_ref(), judge.as_ref()];
    Ok(match plot::draw(SCRIPT, &args)? {
        Drawn::Yes => None,
        Drawn::NoMatplotlib => Some(
            "no pictures: matplotlib is missing (Debian, Ubuntu: `apt install \
             python3-matplotlib`, then --summary-only)"
                .to_owned(),
        ),
    })
}
