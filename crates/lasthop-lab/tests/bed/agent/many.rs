// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Many connections through one agent.

use std::collections::HashMap;
use std::time::Duration;

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::ends::Agents;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::queue::Queue;
use lasthop_lab::data::topology::Family;
use lasthop_lab::data::way::Way;

use super::{PATIENCE, able, able_alone, able_in_peace, check, counter, fast_link, flows, run};

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

/// 200 connections of agents at both ends of the hop, half of them each way at the same time, with
/// IPv4 down and IPv6 up: what is lost is repaired from the end that sent it.
fn both_ways_at_once(scheme: &str, link: &LinkOptions, repairs: &str) {
    let bed = TestBed::up(link).expect("test bed");
    let mut agents = bed
        .start_ends(Agents::Both, scheme, &[])
        .expect("both ends");
    let start = |way, family| {
        let transfer = Transfer::new().direction(way).family(family);
        let transfer = transfer.flows(100).bytes(60_000).deadline(PATIENCE);
        transfer.start(&bed).expect("transfer")
    };
    let running = [start(Way::Down, Family::V4), start(Way::Up, Family::V6)];
    for way in running {
        check(&way.wait().expect("transfer"));
    }
    let air = bed.emulator_stats().expect("emulator").air;
    let lost = [air.a_to_b, air.b_to_a].map(|way| way.data_lost + way.data_queue_dropped);
    for (agent, lost) in agents.iter_mut().zip(lost) {
        let (flows, repaired) = (counter(agent, "flows_created"), counter(agent, repairs));
        eprintln!("{scheme}: {flows} flows, {repaired} {repairs} for {lost}");
        assert_eq!(flows, 200);
        // 4,200 frames with data each way, of which 3 % are lost, and more by the queue.
        bound!(repaired > 40, "{repaired} repairs for {lost}");
        bound!(repaired * 10 <= lost * 11, "{repaired} repairs for {lost}");
        assert_eq!(counter(agent, "retransmit_errors"), 0);
    }
}

#[test]
fn two_hundred_connections_both_ways_by_lists() {
    if able_in_peace() {
        both_ways_at_once("snack", &fast_link(0.03), "retransmits_asked");
    }
}

#[test]
fn two_hundred_connections_both_ways_by_the_mac() {
    let words = r#"{"standard":"802.11a","rate_mbps":54,"tries":1}"#;
    let mac = serde_json::from_str(words).expect("a MAC");
    let link = LinkOptions {
        mac: Some(mac),
        ..fast_link(0.03)
    };
    if able() {
        both_ways_at_once("csnoop", &link, "retransmits_mac");
    }
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

/// Ports of a connection -> its local retransmissions.
fn note_repairs(bed: &TestBed, repairs: &mut HashMap<(u64, u64), u64>) {
    for flow in flows(bed) {
        let number = |name: &str| flow[name].as_u64().expect("number");
        let entry = repairs
            .entry((number("fh_port"), number("mh_port")))
            .or_default();
        *entry = (*entry).max(number("local_retransmits"));
    }
}

/// 1,000 flows at 1 % loss: content, and help for at least 95 % of the flows that lost a frame: a
/// flow that lost one has been helped by the agent, or else its sender sent something again.
#[test]
#[ignore = "long: a minute or two"]
fn thousand_connections() {
    if !able_alone() {
        return;
    }
    let link = LinkOptions {
        rate_bps: 100_000_000,
        // The link is to lose frames, not the queue in which 1,000 first windows meet.
        queue: Queue::Packets(20_000),
        ..fast_link(0.01)
    };
    let bed = TestBed::up(&link).expect("test bed");
    let mut agent = bed.start_agent("snoop", &[]).expect("agent");
    let spec = Transfer::new()
        .flows(1000)
        .bytes(200_000)
        .start_gap(Duration::from_millis(2));
    let running = spec.deadline(PATIENCE).start(&bed).expect("transfer");
    let (mut repairs, mut most, mut memory) = (HashMap::new(), 0, 0);
    while !running.is_finished() {
        note_repairs(&bed, &mut repairs);
        let status = agent.status().expect("status");
        most = most.max(status["cache_bytes"].as_u64().expect("number"));
        memory = status["memory_max_bytes"].as_u64().expect("number");
    }
    let report = running.wait().expect("the rest");
    check(&report);
    let helped = repairs.values().filter(|n| **n > 0).count();
    let resent = report
        .flows
        .iter()
        .filter(|flow| flow.retransmits > 0)
        .count();
    let seen = repairs.len();
    // Flows whose sender did something although the agent did nothing are among `resent`.
    let share = helped as f64 / (helped + resent.saturating_sub(helped)).max(1) as f64;
    let lost = bed.emulator_stats().expect("emulator").air.a_to_b.data_lost;
    let local = counter(&mut agent, "local_retransmits");
    println!(
        "1,000 flows: {seen} seen, {helped} repaired, {resent} with sender retransmissions, \
         {local} repairs for {lost} losses, cache at most {most} bytes, {memory} bytes of maps"
    );
    assert!(counter(&mut agent, "flows_created") >= 1000);
    assert!(share >= 0.95, "only {share:.3} of the flows were helped");
    assert!(
        local * 100 >= lost * 95,
        "{local} repairs for {lost} losses"
    );
    agent.stop().expect("stop");
}
