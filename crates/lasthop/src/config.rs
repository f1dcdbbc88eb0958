// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The configuration file: TOML, every key optional, unknown keys are errors. Keys are the core's
//! parameters (core/params.h) and what concerns the host ([`keys`]).

mod file;
mod files;
pub mod keys;
mod pattern;
mod policy;
mod setup;
mod value;

use std::path::Path;

use anyhow::Result;

pub use self::file::{DEFAULT_RUNTIME_DIR, File, Profile};
use self::files::Source;
pub use self::files::{
    Configuration, DEFAULT_PATH, runtime_dir, runtime_dir_or_warn, source_texts,
};
pub use self::pattern::is_pattern;
pub use self::policy::Policy;

/// Reads a configuration file, as far as it concerns all devices.
///
/// # Errors
/// `FILE:LINE: what is wrong`, in one line.
pub fn read(path: &Path) -> Result<File> {
    Ok(Configuration::read(path)?.common)
}

/// Parses a configuration; `name` goes into messages.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, name: &str) -> Result<File> {
    let sources = [Source::new(name, text)];
    Ok(Configuration::of(&sources)?.common)
}

#[cfg(test)]
mod tests;
