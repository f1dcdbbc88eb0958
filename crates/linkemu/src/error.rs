// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The one error type: a single line that names the thing at fault and what to do about it.

use std::{fmt, io};

/// Result of this crate's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, in one line.
#[derive(Debug)]
pub enum Error {
    /// The configuration, or a change to it, makes no sense.
    Config {
        /// Key at fault as a path (`a_to_b.loss`), or where the text came from.
        key: String,
        /// What is wrong with it and what is allowed.
        problem: String,
    },
    /// The operating system refused something.
    Io {
        /// What was tried, on which interface or file, with a hint where there is one.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
}

impl Error {
    /// A configuration error of `key`.
    pub fn config(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Config {
            key: key.into(),
            problem: problem.into(),
        }
    }

    /// The system's refusal of `what`.
    pub fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io {
            what: what.into(),
            source,
        }
    }

    /// `what` failed with the current value of `errno`.
    pub(crate) fn last_os(what: impl Into<String>) -> Self {
        Self::io(what, io::Error::last_os_error())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config { key, problem } => write!(f, "{key}: {problem}"),
            Self::Io { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

// `source()` stays empty on purpose: Display already holds the cause, and chain printers such as
// anyhow's `{:#}` would say it twice.
impl std::error::Error for Error {}
