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
//!
//! `cargo run -p xtask -- man OUTDIR`, `completions OUTDIR` and `config OUTDIR` write what packages
//! bring beside the program (crates/lasthop-pages, which needs the agent built and is built for it).

mod bindings;
mod modules;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

const USAGE: &str = "usage: xtask bindings [--check]\n       xtask modules [CRATE...]\n       xtask man|completions|config OUTDIR";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["bindings"] => report(bindings::write(&root())),
        ["bindings", "--check"] => report(bindings::check(&root())),
        ["modules"] => report(modules::check(&root())),
        ["modules", ref names @ ..] => report(modules::check_named(&root(), names)),
        [what @ ("man" | "completions" | "config"), out] => report(pages(what, out)),
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

/// Has the crate do it that knows the agent's command line.
fn pages(what: &str, out: &str) -> Result<()> {
    let out = std::path::absolute(out).with_context(|| out.to_owned())?;
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--locked", "-q", "-p", "lasthop-pages", "--", what])
        .arg(out)
        .current_dir(root())
        .status()
        .context("cargo")?;
    ensure!(status.success(), "lasthop-pages {what}: {status}");
    Ok(())
}

/// The repository, from this crate's own place in it.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
