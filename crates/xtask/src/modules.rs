// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The check that no import runs in a circle between the modules of a crate: who reads one module
//! of a circle has to read them all.
//!
//! A module is a file. It imports another where its code, tests aside, names that one by a path:
//! `crate::…`, `super::…`, `self::…`, or by the name of its own child. A `mod` declaration imports
//! nothing, nor does a `pub use` by which a parent shows what its child holds.

mod circles;
mod imports;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Crates that may have circles still, by their directories in `crates/`.
const EXEMPT: &[&str] = &[];

/// Checks all crates but the exempt ones, and prints a line per circle.
pub fn check(root: &Path) -> Result<()> {
    let mut found = 0;
    for name in crates(root)? {
        if EXEMPT.contains(&name.as_str()) {
            println!("skipped: circles of modules in {name}: exempt still");
        } else {
            found += print(root, &name)?;
        }
    }
    match found {
        0 => Ok(()),
        1 => bail!("1 circle of modules: move what both sides need to a module of its own"),
        n => bail!("{n} circles of modules: move what both sides need to a module of its own"),
    }
}

/// Prints the circles of these crates, exempt or not.
pub fn check_named(root: &Path, names: &[&str]) -> Result<()> {
    let mut found = 0;
    for name in names {
        found += print(root, name)?;
    }
    match found {
        0 => Ok(()),
        n => bail!("circles of modules: {n}"),
    }
}

/// Returns how many circles there were.
fn print(root: &Path, name: &str) -> Result<usize> {
    let mut circles = Vec::new();
    for target in targets(&root.join("crates").join(name).join("src"))? {
        circles.extend(circles_of(&target, root)?);
    }
    for circle in &circles {
        println!("{name}: {circle}");
    }
    Ok(circles.len())
}

/// The circles below one root file, a line each.
fn circles_of(target: &Path, root: &Path) -> Result<Vec<String>> {
    let tree = tree::read(target)?;
    let imports = imports::of(&tree);
    Ok(circles::find(&imports)
        .iter()
        .map(|circle| circles::line(circle, &tree, root))
        .collect())
}

/// Names of the directories in `crates/`.
fn crates(root: &Path) -> Result<Vec<String>> {
    let all = root.join("crates");
    let mut names = Vec::new();
    for entry in fs::read_dir(&all).with_context(|| all.display().to_string())? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").exists() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The root files of a crate: of its library and its programs.
fn targets(src: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = ["lib.rs", "main.rs"].map(|name| src.join(name)).into();
    if let Ok(programs) = fs::read_dir(src.join("bin")) {
        for entry in programs {
            let path = entry?.path();
            found.push(if path.is_dir() {
                path.join("main.rs")
            } else {
                path
            });
        }
    }
    found.retain(|path| path.extension().is_some_and(|e| e == "rs") && path.exists());
    found.sort();
    if found.is_empty() {
        bail!("{}: neither lib.rs nor main.rs", src.display());
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
