// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the end-to-end tests share.

use std::io::Write;

/// Whether this test cannot run here; says why, past the harness, which swallows what passing
/// tests print.
pub fn skipped(test: &str) -> bool {
    if nix::unistd::geteuid().is_root() {
        return false;
    }
    let _ = writeln!(
        std::io::stderr(),
        "skipped: {test}: network namespaces need root"
    );
    true
}
