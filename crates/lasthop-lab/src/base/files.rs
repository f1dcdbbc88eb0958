// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Files that are whole or not there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file that is never seen half written, and not at all if it says that already: a disk
/// that is full must not cost what is there.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let fresh = path.with_extension("new");
    let written = fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}
