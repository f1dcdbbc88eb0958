// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Compiles bpf/*.bpf.c into the objects that the program carries, the large one packed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use libbpf_cargo::SkeletonBuilder;
use object::{Object, ObjectSection};

/// Older ones crash on the source or lose its bounds.
const CLANG_MIN: u32 = 16;

fn clang_version(program: &str) -> Option<u32> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (_, rest) = text.split_once("version ")?;
    rest.split('.').next()?.parse().ok()
}

fn find_clang() -> Option<String> {
    let wanted = env::var("LASTHOP_CLANG").ok();
    let known = [19, 20, 21, 22, 18, 17, 16].map(|n| format!("clang-{n}"));
    wanted
        .into_iter()
        .chain(known)
        .chain(["clang".into()])
        .find(|program| clang_version(program).is_some_and(|v| v >= CLANG_MIN))
}

fn watch(dir: &Path) {
    println!("cargo::rerun-if-changed={}", dir.display());
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        println!("cargo::rerun-if-changed={}", entry.path().display());
    }
}

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo")).join("../..");
    let root = root.canonicalize().expect("the repository");
    println!("cargo::rerun-if-env-changed=LASTHOP_CLANG");
    for dir in ["bpf", "core", "core/scheme"] {
        watch(&root.join(dir));
    }
    let Some(clang) = find_clang() else {
        println!(
            "cargo::error=no clang {CLANG_MIN} or newer: install the package clang-19, or set LASTHOP_CLANG"
        );
        return;
    };
    for name in ["lasthop", "mac80211", "baseline"] {
        compile(&root, name, &clang);
    }
}

fn compile(root: &Path, name: &str, clang: &str) {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo"));
    let built = SkeletonBuilder::new()
        .source(root.join(format!("bpf/{name}.bpf.c")))
        .obj(out.join(format!("{name}.bpf.o")))
        .clang(clang)
        .clang_args([
            "-mcpu=v3",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-parameter",
            // Objects name their sources: without the place, so that they are the same wherever built.
            &format!("-ffile-prefix-map={}/=", root.display()),
        ])
        .build();
    if let Err(error) = built {
        let text = format!("bpf/{name}.bpf.c: {error:?}");
        for line in text.lines().filter(|line| !line.is_empty()) {
            println!("cargo::error={line}"); // one each: what follows a line break is not shown
        }
        return;
    }
    pack(&out, name);
}

/// Where in `struct btf_ext_header` (Documentation/bpf/btf.rst of Linux) the length of what tells which
/// instruction is of which line of the sources stands.
const LINES_IN_HEADER: u64 = 20;

/// Packs an object for the program to carry, and writes down where in it the length of its table of
/// lines stands.
fn pack(out: &Path, name: &str) {
    let image = fs::read(out.join(format!("{name}.bpf.o"))).expect("the object");
    let parsed = object::File::parse(image.as_slice()).expect("an ELF object");
    let types = parsed
        .section_by_name(".BTF.ext")
        .expect("section .BTF.ext");
    let (at, _) = types.file_range().expect("types in the file");
    let lines = format!("{}", at + LINES_IN_HEADER);
    fs::write(out.join(format!("{name}.lines")), lines).expect("OUT_DIR");
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&image).expect("memory");
    let packed = packed.finish().expect("memory");
    fs::write(out.join(format!("{name}.bpf.o.zz")), packed).expect("OUT_DIR");
}
