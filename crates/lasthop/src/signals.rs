// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Signals by which a program is told to end, as something to wait for: what there is to put right is then
//! done first.

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Blocks `signals` for this thread and those that it starts; they are read instead, without waiting.
///
/// # Errors
/// The system refuses.
pub fn blocked(signals: &[Signal]) -> Result<SignalFd> {
    let set: SigSet = signals.iter().copied().collect();
    set.thread_block().context("blocking signals")?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).context("signalfd")
}
