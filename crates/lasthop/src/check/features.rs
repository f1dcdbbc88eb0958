// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Features of a device that its driver can switch.

use std::process::Command;

use super::{Finding, State};

/// What `ethtool -k` says of a feature; none if it isn't there or can't be asked.
pub(super) fn feature(device: &str, name: &str) -> Option<bool> {
    let output = Command::new("ethtool").args(["-k", device]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let prefix = format!("{name}:");
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(prefix.as_str()))?;
    Some(line.trim().starts_with("on"))
}

/// What there is to say where [`feature`] has no answer.
pub(super) fn unknown_feature(device: &str, check: &'static str) -> Finding {
    let detail = "ethtool can't tell (is it installed?)";
    Finding::of(device, check, State::Unknown, detail)
}
