// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Ctrl-C, SIGTERM and SIGHUP: they only raise a flag that every wait looks at, so that the way
//! out is the ordinary one, through the destructors that remove namespaces and processes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// How long a wait may go on after a signal before it notices.
pub const POLL: Duration = Duration::from_millis(20);

/// Installs the handler; a program that links this crate calls it once, tests need not.
///
/// # Errors
/// The system refuses, or a handler is installed already.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| REQUESTED.store(true, Ordering::SeqCst))
        .context("cannot install the handler of Ctrl-C")
}

/// Whether the user asked to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Fails once the user asked to stop.
///
/// # Errors
/// `interrupted`.
pub fn check() -> Result<()> {
    if requested() {
        bail!("interrupted");
    }
    Ok(())
}
