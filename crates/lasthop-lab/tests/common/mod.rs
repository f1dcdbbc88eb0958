// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the end-to-end tests share.

use std::io::Write;

/// Whether this test cannot run here; says why, past the harness, which swallows what passing
/// tests print.
pub fn skipped(test: &str) -> bool {
    if nix::unistd::geteuid().is_root() {
        return false;
    }
    skip(test, "network namespaces need root");
    true
}

/// Says why a test is skipped.
pub fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}
