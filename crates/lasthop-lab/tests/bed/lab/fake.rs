// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! An agent that does nothing, for what is tested without one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Stands for `lasthop`: attaches to nothing, with `slack` not even that, and counts one repair each
/// time it is asked.
const FAKE_AGENT: &str = r#"#!/bin/sh
case "$1" in
attach)
    [ "$4" = slack ] && { echo "lasthop: cannot attach: slack" >&2; exit 1; }
    trap 'exit 0' INT TERM
    echo "lasthop: attached to wl0, scheme $4"
    while :; do sleep 0.05; done ;;
status)
    count=$(($(cat "${0%/*}/count" 2>/dev/null || echo 0) + 1))
    echo "$count" > "${0%/*}/count"
    echo '{"dev":"eth9"}'
    echo "{\"dev\":\"wl0\",\"counters\":{\"local_retransmits\":$count,\"suppressed_acks\":$((count * 3))}}" ;;
esac
"#;

/// Puts it into a directory, for `LASTHOP_BIN_DIR`.
pub fn agent(dir: &Path) {
    let path = dir.join("lasthop");
    fs::write(&path, FAKE_AGENT).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}
