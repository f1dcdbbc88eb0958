// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Many connections through one agent.

use std::time::Duration;

use lasthop_lab::options::LinkOptions;
use lasthop_lab::testbed::TestBed;
use lasthop_lab::transfer::Transfer;

use super::{able, counter, fast_link, run};

#[test]
fn two_hundred_connections() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.01)).expect("test bed");
    let mut agent = bed.start_agent("snoop", &[]).expect("agent");
    run(&bed, Transfer::new().flows(200).bytes(100_000));
    assert_eq!(counter(&mut agent, "flows_created"), 200);
    assert!(counter(&mut agent, "local_retransmits") > 0);
    agent.stop().expect("stop");
}

/// A table of 16 flows for 60: what finds no room passes unassisted and is counted.
#[test]
fn full_table_passes() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.01)).expect("test bed");
    let config = bed.directory().join("small.toml");
    std::fs::write(&config, "max_flows = 16\ncache_total = \"1MiB\"\n").expect("config");
    let config = config.to_str().expect("path");
    let mut agent = bed
        .start_agent("snoop", &["--config", config])
        .expect("agent");
    run(&bed, Transfer::new().flows(60).bytes(50_000));
    assert!(counter(&mut agent, "bypass_table_full") > 0);
    assert!(counter(&mut agent, "flows_created") >= 16);
    agent.stop().expect("stop");
}

/// 1,000 flows at 1 % loss: content, and help for at least 95 % of the flows that lost a frame.
#[test]
#[ignore = "long: a minute or two"]
fn thousand_connections() {
    if !able() {
        return;
    }
    let link = LinkOptions {
        rate_bps: 100_000_000,
        ..fast_link(0.01)
    };
    let bed = TestBed::up(&link).expect("test bed");
    let mut agent = bed.start_agent("snoop", &[]).expect("agent");
    run(
        &bed,
        Transfer::new()
            .flows(1000)
            .bytes(200_000)
            .start_gap(Duration::from_millis(2)),
    );
    assert_eq!(counter(&mut agent, "flows_created"), 1000);
    agent.stop().expect("stop");
}
