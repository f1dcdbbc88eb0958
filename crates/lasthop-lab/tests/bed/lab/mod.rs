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

use super::turn::Company;
use super::{may_run, skip};

/// Whether this test cannot run here; says why. Others may run beside it.
pub fn skipped(test: &str) -> bool {
    !may_run(test, why_not(), Company::Many)
}

/// As [`skipped`], for a test that runs alone.
pub fn skipped_alone(test: &str) -> bool {
    !may_run(test, why_not(), Company::Nobody)
}

fn why_not() -> Option<&'static str> {
    let root = nix::unistd::geteuid().is_root();
    (!root).then_some("network namespaces need root")
}
