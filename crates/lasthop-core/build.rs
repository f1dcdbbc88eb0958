// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Compiles core/core.c, the same source that runs in the kernel as BPF.

use std::path::PathBuf;

fn main() {
    // Asked at run time: a target directory may serve several checkouts.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let root = PathBuf::from(manifest).join("../..");
    for dir in ["core", "core/scheme", "bpf/abi.h"] {
        // Of a directory cargo watches every file in it.
        println!("cargo:rerun-if-changed={}", root.join(dir).display());
    }
    println!("cargo:rerun-if-env-changed=LASTHOP_CORE_CFLAGS");
    let mut build = cc::Build::new();
    // Sanitizers and coverage, for scripts/fuzz.sh.
    for flag in std::env::var("LASTHOP_CORE_CFLAGS")
        .unwrap_or_default()
        .split_whitespace()
    {
        build.flag(flag);
    }
    build
        .file(root.join("core/core.c"))
        .std("gnu11")
        .warnings(true)
        .extra_warnings(true)
        // Entry points take all that any scheme may need.
        .flag("-Wno-unused-parameter")
        .compile("lasthop_core_c");
}
