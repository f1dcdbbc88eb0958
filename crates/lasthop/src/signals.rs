// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Signals by which a program is told to end, as something to wait for: what there is to put right is then
//! done first.

use std::ptr;

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

/// Blocks `signals` for this thread and those that it starts; they are read instead, without waiting. But for
/// SIGHUP where whoever started us has it ignored (nohup): once blocked it would be read all the same. An ignored
/// SIGINT is read, for shells ignore it for whatever a script starts beside itself, and who sends it to that
/// means it.
///
/// # Errors
/// The system refuses.
pub fn blocked(signals: &[Signal]) -> Result<SignalFd> {
    let ignored = |signal: Signal| signal == Signal::SIGHUP && is_ignored(signal);
    let heeded = signals.iter().copied().filter(|signal| !ignored(*signal));
    all_blocked(heeded)
}

/// As [`blocked`], whatever is ignored.
///
/// # Errors
/// The system refuses.
pub fn all_blocked(signals: impl IntoIterator<Item = Signal>) -> Result<SignalFd> {
    let set: SigSet = signals.into_iter().collect();
    set.thread_block().context("blocking signals")?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).context("signalfd")
}

/// Whether we are to take no notice of it, as whoever started us has it.
pub fn is_ignored(signal: Signal) -> bool {
    // SAFETY: all zeroes is a valid sigaction, and the call writes to nothing but that.
    unsafe {
        let mut found: libc::sigaction = std::mem::zeroed();
        let got = libc::sigaction(signal as libc::c_int, ptr::null(), &raw mut found);
        got == 0 && found.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::{SigHandler, raise, signal};

    use super::*;

    /// Whoever is started by nohup stays when its terminal goes; a service reads its files all the same.
    #[test]
    fn a_hangup_that_is_ignored_ends_nobody() {
        // SAFETY: no handler is called, and no other test goes by that signal.
        let before = unsafe { signal(Signal::SIGHUP, SigHandler::SigIgn) }.unwrap();
        assert!(is_ignored(Signal::SIGHUP) && !is_ignored(Signal::SIGCONT));
        let told = |signals: &SignalFd| {
            raise(Signal::SIGHUP).unwrap();
            signals.read_signal().unwrap().is_some()
        };
        let ends = blocked(&[Signal::SIGHUP, Signal::SIGCONT]).unwrap();
        assert!(!told(&ends));
        let reads = all_blocked([Signal::SIGHUP]).unwrap();
        assert!(told(&reads));
        // SAFETY: as it was.
        unsafe { signal(Signal::SIGHUP, before) }.unwrap();
    }
}
