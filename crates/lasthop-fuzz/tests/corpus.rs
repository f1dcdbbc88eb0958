// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the fuzzer has found so far, replayed; with LASTHOP_FUZZ_FOUND=target/fuzz/found that, too.

use std::fs;
use std::io::Write;
use std::path::Path;

use lasthop_fuzz::TARGETS;

/// Replays the files of a directory. Returns how many there were.
fn files(directory: &Path, run: fn(&[u8])) -> usize {
    let Ok(files) = fs::read_dir(directory) else {
        return 0;
    };
    let mut replayed = 0;
    for file in files {
        let path = file.expect("a file").path();
        println!("{}", path.display()); // the last one is the culprit
        run(&fs::read(&path).expect("readable"));
        replayed += 1;
    }
    replayed
}

/// The corpus, which `scripts/fuzz.sh minimise` makes anew, and what was found, which stays.
fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.expect("a target");
    if target.root && !nix::unistd::geteuid().is_root() {
        let _ = writeln!(std::io::stderr(), "skipped: fuzz target {name}: needs root");
        return;
    }
    (target.run)(&[]);
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    files(&here.join("findings").join(target.corpus), target.run);
    let replayed = files(&here.join("corpus").join(target.corpus), target.run);
    assert!(replayed > 0, "no corpus of {name}");
    if let Some(found) = std::env::var_os("LASTHOP_FUZZ_FOUND") {
        let replayed = files(&Path::new(&found).join(target.corpus), target.run);
        println!("{replayed} that were found since");
    }
}

#[test]
fn packet() {
    replay("packet");
}

#[test]
fn transfer() {
    replay("transfer");
}

#[test]
fn message() {
    replay("message");
}

#[test]
fn configuration() {
    replay("configuration");
}

#[test]
fn control() {
    replay("control");
}

#[test]
fn capture() {
    replay("capture");
}

#[test]
fn twin() {
    replay("twin");
}
