// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the fuzzer has found so far, replayed.

use std::fs;
use std::path::Path;

use lasthop_fuzz::TARGETS;

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target = target.expect("a target");
    (target.run)(&[]);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let files = fs::read_dir(&corpus).expect("the corpus");
    let mut replayed = 0;
    for file in files {
        let path = file.expect("a file").path();
        println!("{}", path.display()); // the last one is the culprit
        (target.run)(&fs::read(&path).expect("readable"));
        replayed += 1;
    }
    assert!(replayed > 0, "{} is empty", corpus.display());
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
