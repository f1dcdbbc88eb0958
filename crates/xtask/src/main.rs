// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The repository's own tasks: it regenerates what is checked in although generated, and checks
//! what no other tool does.
//!
//! `cargo run -p xtask -- bindings` writes crates/lasthop-core/src/bindings.rs
//! from core/core.h and bpf/abi.h; with `--check` it only compares. Needs
//! libclang (LIBCLANG_PATH where it isn't found by itself; Debian:
//! libclang-19-dev). Ordinary builds don't, which is why this crate is not
//! among the workspace's default members.
//!
//! `cargo run -p xtask -- modules` checks that no import runs in a circle
//! between the modules of a crate; with names of crates it looks at those only,
//! exempt or not.

mod bindings;
mod modules;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "usage: xtask bindings [--check]\n       xtask modules [CRATE...]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["bindings"] => report(bindings::write(&root())),
        ["bindings", "--check"] => report(bindings::check(&root())),
        ["modules"] => report(modules::check(&root())),
        ["modules", ref names @ ..] => report(modules::check_named(&root(), names)),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn report(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The repository, from this crate's own place in it.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
