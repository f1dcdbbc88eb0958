// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme `rack` with the senders that people have. All bounds are ratios within one run, and
//! loose: the machine is shared; `lasthop-lab grid` measures.

use std::time::Instant;

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::switch::{Gro, Switch};
use lasthop_lab::data::way::Opener;
use serde_json::json;

use super::{able, counter, fast_link, goodput, left_without_loss, lost, run};

/// 20 Mbit/s, 110 ms, 2 % both ways: CUBIC alone gets a twentieth of it.
#[test]
fn several_times_the_goodput() {
    if !able() {
        return;
    }
    let link = LinkOptions::default();
    let none = goodput(&link, None, "cubic", 3_000_000);
    let rack = goodput(&link, Some("rack"), "cubic", 3_000_000);
    bound!(rack > 4.0 * none, "rack {rack:.4}, none {none:.4} bit/ns");
}

/// Hidden losses take no brake away: at 0 % the sender is as fast, and the queue is short.
#[test]
fn no_harm_without_loss() {
    if !able() {
        return;
    }
    // Of one CUBIC flow: a pause of the machine, as other tests make it, overflows a queue of either.
    let ratio = left_without_loss("rack", 20_000_000);
    bound!(ratio > 0.95, "rack over none: {ratio:.3}");
}

/// A repair per loss, of whichever reason; the sender repairs next to nothing.
#[test]
fn hardly_more_repairs_than_losses() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&LinkOptions::default()).expect("test bed");
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let report = run(&bed, Transfer::new().bytes(20_000_000).cc("cubic"));
    let air = bed.emulator_stats().expect("emulator").air.a_to_b;
    let lost = air.data_lost + air.data_queue_dropped;
    let repairs = counter(&mut agent, "local_retransmits");
    let by_reason: u64 = ["dupack", "partial", "order", "timer"]
        .iter()
        .map(|why| counter(&mut agent, &format!("retransmits_{why}")))
        .sum();
    assert_eq!(repairs, by_reason);
    assert!(lost > 100, "the link lost only {lost} frames");
    bound!(
        repairs as f64 <= 1.1 * lost as f64 + 3.0,
        "{repairs} repairs for {lost} losses"
    );
    let resent: u64 = report.flows.iter().map(|flow| flow.retransmits).sum();
    // 0.1 % of the segments, and some for a CPU that was taken away at a bad moment.
    bound!(resent <= 14 + 20, "the sender resent {resent} segments");
    assert!(counter(&mut agent, "windows_edited") > 0);
    agent.stop().expect("stop");
}

/// Edited ACKs and repairs over super-packets and unfinished checksums, merged ones and such as leave
/// BS whole, both openers; the receiver's kernel verifies every checksum, the test the content.
#[test]
fn offloads_and_openers() {
    if !able() {
        return;
    }
    for (gro, checksum_offload, segmentation_offload, opener) in [
        (Gro::On, Switch::On, Switch::Off, Opener::Fh),
        (Gro::On, Switch::Off, Switch::Off, Opener::Mh),
        (Gro::Off, Switch::On, Switch::Off, Opener::Mh),
        (Gro::Off, Switch::Off, Switch::On, Opener::Fh),
        (Gro::On, Switch::Off, Switch::On, Opener::Mh),
    ] {
        let link = LinkOptions {
            gro,
            checksum_offload,
            segmentation_offload,
            ..fast_link(0.05)
        };
        let bed = TestBed::up(&link).expect("test bed");
        let mut agent = bed.start_agent("rack", &[]).expect("agent");
        run(&bed, Transfer::new().bytes(5_000_000).opener(opener));
        assert!(counter(&mut agent, "local_retransmits") > 100);
        assert!(counter(&mut agent, "windows_edited") > 0);
        agent.stop().expect("stop");
    }
}

/// Every second frame with data is lost: it goes on all the same.
#[test]
fn every_second_packet() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    bed.set_air(&json!({"dir": "a_to_b", "loss_every": 2}))
        .expect("loss");
    let agent = bed.start_agent("rack", &[]).expect("agent");
    run(&bed, Transfer::new().bytes(2_000_000).cc("cubic"));
    let air = bed.emulator_stats().expect("emulator").air.a_to_b;
    assert!(air.data_lost > 1_000, "only {} lost", air.data_lost);
    agent.stop().expect("stop");
}

/// A link that reorders is not taken for one that loses. What it does lose is to be repaired: where
/// the machine pauses, the sender's bursts overflow the hop's queue (835 times with an emulator that
/// was stopped for 60 ms now and then, and 844 repairs).
#[test]
fn reordering_is_learned() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let detour = json!({"dir": "a_to_b", "reorder": 0.02, "reorder_delay_ns": 3_000_000});
    bed.set_air(&detour).expect("reordering");
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let report = run(&bed, Transfer::new().bytes(20_000_000).cc("cubic"));
    let detours = 20_000_000 / 1_448 / 50;
    let repairs = counter(&mut agent, "local_retransmits");
    let lost = lost(&bed);
    assert!(counter(&mut agent, "reordered") > 0);
    bound!(
        repairs < lost + detours / 2,
        "{repairs} repairs for some {detours} detours and {lost} losses"
    );
    let resent: u64 = report.flows.iter().map(|flow| flow.retransmits).sum();
    bound!(
        resent < lost + detours / 4,
        "the sender resent {resent} segments for {lost} losses"
    );
    agent.stop().expect("stop");
}

/// Eight connections share the hop.
#[test]
fn eight_flows_share() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&LinkOptions::default()).expect("test bed");
    let agent = bed.start_agent("rack", &[]).expect("agent");
    let running = Transfer::new()
        .flows(8)
        .bytes(6_000_000)
        .cc("cubic")
        .start(&bed)
        .expect("transfer");
    running.wait_for_bytes(30_000_000).expect("bytes");
    let report = running.stop().expect("stopped");
    let shares: Vec<f64> = report
        .flows
        .iter()
        .map(|f| f.received_bytes as f64)
        .collect();
    let sum: f64 = shares.iter().sum();
    let jain = sum * sum / (8.0 * shares.iter().map(|x| x * x).sum::<f64>());
    bound!(jain > 0.9, "Jain's index {jain:.3} of {shares:?}");
    agent.stop().expect("stop");
}

/// The way over the hop becomes 20 ms longer: that is no queue, and nobody is throttled for it.
#[test]
fn a_longer_way_is_no_queue() {
    if !able() {
        return;
    }
    let link = LinkOptions {
        loss: 0.01,
        ..LinkOptions::default()
    };
    let bed = TestBed::up(&link).expect("test bed");
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let running = Transfer::new()
        .bytes(60_000_000)
        .cc("cubic")
        .start(&bed)
        .expect("transfer");
    let megabytes = |n: u64| {
        running.wait_for_bytes(n * 1_000_000).expect("bytes");
        Instant::now()
    };
    let (from, to) = (megabytes(10), megabytes(20));
    for dir in ["a_to_b", "b_to_a"] {
        bed.set_air(&json!({"dir": dir, "delay_ns": 15_000_000}))
            .expect("delay");
    }
    let (later_from, later_to) = (megabytes(40), megabytes(50));
    let (before, after) = (to - from, later_to - later_from);
    running.stop().expect("stopped");
    bound!(
        after.as_secs_f64() < 1.3 * before.as_secs_f64(),
        "10 MB in {before:?} before and {after:?} after; lmin_raised {}",
        counter(&mut agent, "lmin_raised")
    );
    agent.stop().expect("stop");
}
