// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Notes the revision of the source, which results are marked with.

use std::process::Command;

fn main() {
    for path in [".git/HEAD", ".git/logs/HEAD"] {
        let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
        if std::path::Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    println!("cargo:rerun-if-changed=build.rs");
    let described = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .output();
    if let Some(output) = described.ok().filter(|output| output.status.success()) {
        let revision = String::from_utf8_lossy(&output.stdout);
        println!("cargo:rustc-env=LASTHOP_REVISION={}", revision.trim());
    }
}
