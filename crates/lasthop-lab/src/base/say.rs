// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is said to the user.

/// Says something on standard error, where no bar stands.
pub(crate) fn say(text: &str) {
    eprintln!("lasthop-lab: {text}");
}
