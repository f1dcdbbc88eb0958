// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Compiles core/core.c, the same source that runs in the kernel as BPF.

use std::path::{Path, PathBuf};

/// A number for the layout of all that maps hold: another one where any field of any struct, or any
/// constant, is another (FNV-1a). From the generated bindings, which are those of the headers (`make
/// lint`); functions, which no map holds, and comments don't count.
fn layout(bindings: &Path) -> u64 {
    let text = std::fs::read_to_string(bindings).expect("bindings.rs");
    let mut in_functions = false;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for line in text.lines() {
        in_functions |= line == "unsafe extern \"C\" {";
        let comment = ["//", "#[doc"]
            .iter()
            .any(|c| line.trim_start().starts_with(c));
        if !in_functions && !comment {
            for byte in line.bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        in_functions &= line != "}";
    }
    hash
}

fn main() {
    // Asked at run time: a target directory may serve several checkouts.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let root = PathBuf::from(manifest).join("../..");
    for dir in ["core", "core/scheme", "bpf/abi.h"] {
        // Of a directory cargo watches every file in it.
        println!("cargo:rerun-if-changed={}", root.join(dir).display());
    }
    let bindings = root.join("crates/lasthop-core/src/bindings.rs");
    println!("cargo:rerun-if-changed={}", bindings.display());
    println!("cargo:rustc-env=LASTHOP_LAYOUT={:016x}", layout(&bindings));
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
