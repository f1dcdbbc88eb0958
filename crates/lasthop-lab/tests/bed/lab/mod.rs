// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The lab itself: its command line, its links and traffic, what it writes.

mod baselines;
mod cli;
mod fake;
mod flent;
mod grid;
mod link;
mod mininet;
mod mixes;
mod ns2;
mod outages;
mod pages;
mod report;
mod router;
mod run;
mod simulate;
mod small;
mod soak;
mod split;
mod topology;
mod traffic;
mod wireshark;

use std::io::Write;

use super::turn;

/// Whether this test cannot run here; says why, past the harness, which swallows what passing
/// tests print. Others may run beside it.
pub fn skipped(test: &str) -> bool {
    skipped_or(test, false)
}

/// As [`skipped`], for a test that runs alone.
pub fn skipped_alone(test: &str) -> bool {
    skipped_or(test, true)
}

fn skipped_or(test: &str, alone: bool) -> bool {
    let able = nix::unistd::geteuid().is_root();
    if able {
        turn::take(alone);
    } else {
        skip(test, "network namespaces need root");
    }
    !able
}

/// Says why a test is skipped.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}
