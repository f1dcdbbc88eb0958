// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `soak`, short: it has all that a long one has, and its log and conditions say so.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use lasthop_lab::bed::agent::why_not;
use serde_json::Value;

fn soak(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.arg("soak").args(words.split_whitespace());
    command
}

/// What may depend on how much else this machine does, or on how short it is: told, not asked for here.
const OF_THE_MACHINE: [&str; 5] = [
    "bypass_lock",
    "oldest heartbeat, ms",
    "RSS, growth in KiB",
    "anonymous, growth in KiB",
    "descriptors, growth",
];

#[test]
fn half_a_minute_of_it() {
    if super::skipped("soak") {
        return;
    }
    if let Some(why) = why_not() {
        return super::skip("soak", why);
    }
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let words = format!(
        "-j --hours 0.007 --rate 150 --held 100 --out {}",
        out.display()
    );
    let output = soak(&words).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let conditions: BTreeMap<String, Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|condition| (condition["what"].as_str().unwrap().to_owned(), condition))
        .collect();
    let value = |what: &str| {
        let condition = conditions.get(what);
        let condition = condition.unwrap_or_else(|| panic!("no {what}: {text} {errors}"));
        condition["value"].as_f64().unwrap()
    };
    let failed = conditions.values().filter(|c| c["met"] == false);
    let failed: Vec<&str> = failed.map(|c| c["what"].as_str().unwrap()).collect();
    assert_eq!(
        output.status.success(),
        failed.is_empty(),
        "{failed:?} {errors}"
    );
    for what in failed {
        // None where a busy machine took too few samples.
        let unknown = what == "maps, growth in bytes" && conditions[what]["value"].is_null();
        let told = unknown || OF_THE_MACHINE.contains(&what);
        assert!(told, "{what}: {text} {errors}");
    }
    assert!(value("connections") > 1_000.0, "{text}");
    assert!(value("exchanges") > value("connections"), "{text}");
    assert!(value("repairs") > 50.0 && value("outages") >= 3.0, "{text}");
    assert_eq!((value("take-overs"), value("content errors")), (1.0, 0.0));

    let log = fs::read_to_string(out.join("soak.jsonl")).unwrap();
    let count = |event: &str| {
        let lines = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["event"] == event).count()
    };
    assert!(count("sample") >= 20 && count("rest") == 1, "{log}");
    assert_eq!(count("take_over"), 1);
    assert_eq!(count("reload") as f64, value("reloads"));
    assert_eq!(count("condition"), conditions.len());

    // Its log is not written over.
    let again = soak(&words).output().unwrap();
    assert!(!again.status.success());
    let errors = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(errors.contains("another --out"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}
