// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--engine ns2` end to end: ns-2's TCP and its own Snoop. Needs the package ns2, and no root.

use std::process::Command;

use serde_json::Value;

/// Without ns-2 a test is skipped, and says so past the harness.
fn skipped(test: &str) -> bool {
    let missing = lasthop_lab::engines::ns2::find().is_err();
    let why = "no ns-2, which `scripts/setup.sh ns2` installs";
    // It has a core for itself.
    !super::may_run(test, missing.then_some(why), crate::turn::Company::Nobody)
}

fn lab(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    let output = command.args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Cells over 2 Mbit/s and 202 ms for so many simulated seconds.
fn compare(seconds: u32, words: &str) -> Vec<Value> {
    let all = format!(
        "compare --engine ns2 -j --profile vintage --rate 2mbit --wired-rate 10mbit --rtt 202ms \
         --local-rtt 2ms --queue 50 --warmup 2s --duration {seconds}s {words}"
    );
    let words: Vec<&str> = all.split_whitespace().collect();
    let printed = lab(&words);
    let records = printed.lines();
    records
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn number(record: &Value, field: &str) -> f64 {
    record[field].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn its_snoop_hides_losses_and_the_same_seed_gives_the_same() {
    if skipped("its_snoop_hides_losses_and_the_same_seed_gives_the_same") {
        return;
    }
    let words = "--cc newreno --scheme none,snoop --loss 2% --loss-up 0%";
    let (first, again) = (compare(60, words), compare(60, words));
    assert_eq!(first, again);
    let [none, snoop] = &first[..] else {
        panic!("{first:?}");
    };
    assert!(number(snoop, "goodput_mbit") > 2.0 * number(none, "goodput_mbit"));
    assert!(number(none, "efficiency") < 1.0 && number(snoop, "efficiency") < 1.0);
    // What is lost is repaired here, and little else is.
    let lost = number(snoop, "link_lost");
    let local = number(snoop, "local_retransmits");
    assert!(
        lost > 50.0 && (0.8..1.4).contains(&(local / lost)),
        "{snoop}"
    );
    assert!(number(snoop, "suppressed_acks") > local, "{snoop}");
    assert!(none["local_retransmits"].is_null(), "{none}");
    assert!(number(none, "sender_retransmits") >= 0.9 * number(none, "link_lost"));
    let other = compare(60, &format!("{words} --seed 2"));
    assert_ne!(other[1]["link_lost"], snoop["link_lost"]);
}

#[test]
fn a_clean_hop_is_filled_and_errors_are_as_many_as_given() {
    if skipped("a_clean_hop_is_filled_and_errors_are_as_many_as_given") {
        return;
    }
    let clean = &compare(60, "--cc newreno --scheme snoop --loss 0%")[0];
    assert!(number(clean, "efficiency") > 0.95, "{clean}");
    assert_eq!(clean["link_lost"], 0);
    assert_eq!(clean["local_retransmits"], clean["link_lost"]);
    for (words, share) in [
        ("--loss 2%", 0.02),
        // 1 - (1 - 2.5e-6)^(8 * 1040)
        ("--loss 0% --ber 2.5e-6", 0.0206),
        // 0.66 s of 1/100 and 0.1 s of 1/2, weighed by their lengths
        ("--loss 0% --two-state 100,2,660ms,100ms", 0.0745),
    ] {
        let words = format!("--cc newreno --mss 1000 --scheme snoop {words}");
        let record = &compare(200, &words)[0];
        let sent = number(record, "sender_segments") + number(record, "local_retransmits");
        let lost = number(record, "link_lost") / sent;
        assert!((0.7..1.3).contains(&(lost / share)), "{words}: {lost}");
    }
}

#[test]
fn its_defaults_can_be_set_and_wrong_ones_are_named() {
    if skipped("its_defaults_can_be_set_and_wrong_ones_are_named") {
        return;
    }
    let at_once = &compare(60, "--cc newreno --scheme none --loss 0%")[0];
    let delayed = &compare(
        60,
        "--cc newreno --scheme none --loss 0% --attribute ns2::Scenario::delayed_acks=1 \
         --attribute ns2::Agent/TCP::window_=1",
    )[0];
    // One segment at a time, each of which waits for the receiver's timer.
    assert!(number(delayed, "goodput_mbit") < 0.1 * number(at_once, "goodput_mbit"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    let words = "compare --engine ns2 --profile vintage --cc reno --scheme none --attribute";
    command.args(words.split_whitespace());
    let output = command.arg("ns2::Agent/TCP::no_such=1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("no_such"),
        "{said}"
    );
}
