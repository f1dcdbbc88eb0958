// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop flows --why`: what it says of real connections.

use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use serde_json::Value;

use super::{able, end, fast_link, run, start_endless, wait_until};

fn why(bed: &TestBed, more: &[&str]) -> String {
    let binary = find_binary("lasthop").expect("lasthop");
    let mut words = vec![binary.to_str().expect("path"), "flows", "--why"];
    words.extend(more);
    bed.command(Host::Bs, &words).expect("flows --why")
}

/// The words of the connections that are open and were repaired.
fn words(bed: &TestBed) -> Vec<String> {
    let text = why(bed, &["-j"]);
    let flows = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    flows
        .filter(|flow| flow["state"] == "open" && flow["local_retransmits"] != 0)
        .map(|flow| flow["why"].as_str().expect("a word").to_owned())
        .collect()
}

/// Runs connections that lose packets until one of them is told to be so, and none to be as in `not`.
fn told(bed: &TestBed, so: &str, not: &[&str]) {
    let running = start_endless(bed, 4);
    wait_until(so, || {
        let words = words(bed);
        let wrong = words.iter().find(|word| not.contains(&word.as_str()));
        assert_eq!(wrong, None, "of {words:?}");
        let done = words.iter().any(|word| word == so);
        (done, format!("{words:?}"))
    });
    end(running);
}

#[test]
fn connections_with_sack_and_without_are_told_apart() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let agent = bed.start_agent("rack", &[]).expect("agent");
    told(&bed, "helped", &["no-sack", "midstream", "no-timestamps"]);
    let off = ["sysctl", "-qw", "net.ipv4.tcp_sack=0"];
    bed.command(Host::Mh, &off).expect("sysctl");
    told(&bed, "no-sack", &["helped", "nothing-lost", "midstream"]);
    agent.stop().expect("stop");
}

/// What is left alone is in no table: its packets are counted, and what began before the agent is known
/// to have.
#[test]
fn what_is_excluded_or_older_is_told() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let agent = bed.start_agent("rack", &["--exclude", "0.0.0.0/0"]);
    run(&bed, Transfer::new().bytes(100_000));
    let text = why(&bed, &[]);
    assert!(
        text.starts_with("no connections\n")
            && text.contains("\nwl0: passed without help: bypass_"),
        "{text}"
    );
    assert!(text.contains("bypass_filtered"), "{text}");
    agent.expect("agent").stop().expect("stop");

    let running = start_endless(&bed, 1);
    running.wait_for_all_flows().expect("flows");
    let agent = bed.start_agent("rack", &[]).expect("agent");
    wait_until("midstream", || {
        let words = words(&bed);
        (
            words.iter().any(|word| word == "midstream"),
            format!("{words:?}"),
        )
    });
    end(running);
    agent.stop().expect("stop");
}
