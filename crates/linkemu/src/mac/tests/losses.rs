// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Attempts that fail, and what is made of them.

use super::*;
use crate::config::Direction::{AToB, BToA};
use crate::mac::EventKind::{self, Delivered, Undelivered, UndeliveredFinal};

const FRAMES: u32 = 20_000;

/// So many frames, one way, as fast as they go.
fn one_way(mac: &str, a_to_b: &str, seed: u64) -> Bench {
    let mut bench = Bench::new(mac, a_to_b, "{}", seed);
    let mut token = 0;
    while token < FRAMES {
        while token < FRAMES && bench.radio.queue_frames(AToB) < 50 {
            bench.push(AToB, FULL, token);
            token += 1;
            bench.radio.pop_due(BToA, bench.now_ns);
        }
        bench.step();
    }
    bench.finish();
    bench
}

fn within(count: u64, trials: u64, probability: f64) {
    let (n, p) = (trials as f64, probability);
    let sigma = (n * p * (1.0 - p)).sqrt().max(1.0);
    let off = (count as f64 - n * p).abs();
    assert!(off < 4.0 * sigma, "{count} of {trials} for {p}");
}

/// The n-th attempt takes place with p to the n - 1.
#[test]
fn retries_follow_the_powers_of_the_loss() {
    for (loss, tries) in [(0.1, 4), (0.3, 3), (0.5, 7)] {
        for seed in [1, 2] {
            let mac = format!(r#"{{"standard":"802.11b","tries":{tries}}}"#);
            let bench = one_way(&mac, &format!(r#"{{"loss":{loss}}}"#), seed);
            let n = u64::from(FRAMES);
            for attempt in 1..=tries {
                let failed = |e: &&Event| e.kind != Delivered && e.attempt == attempt;
                let count = bench.events.iter().filter(failed).count() as u64;
                within(count, n, f64::powi(loss, attempt as i32));
            }
            let stats = bench.radio.stats(AToB);
            within(stats.final_drops, n, f64::powi(loss, tries as i32));
            assert_eq!(stats.final_drops as usize, bench.lost(AToB));
            assert_eq!(stats.attempts, n + stats.retries);
        }
    }
}

#[test]
fn no_ack_loses_what_the_air_loses() {
    let bench = one_way(
        r#"{"standard":"802.11a","policy":"no_ack"}"#,
        r#"{"loss":0.07}"#,
        3,
    );
    within(bench.lost(AToB) as u64, FRAMES.into(), 0.07);
    let stats = bench.radio.stats(AToB);
    assert_eq!(
        (stats.attempts, stats.retries, stats.final_drops),
        (FRAMES.into(), 0, 0)
    );
    assert_eq!(bench.events, [], "nobody answers, so nobody knows");
}

#[test]
fn losses_per_packet_make_retries_useless() {
    let mac = r#"{"standard":"802.11b","loss_per":"packet"}"#;
    let bench = one_way(mac, r#"{"loss":0.05}"#, 1);
    let stats = bench.radio.stats(AToB);
    within(stats.final_drops, FRAMES.into(), 0.05);
    assert_eq!(stats.retries, 6 * stats.final_drops);
    assert_eq!(bench.lost(AToB) as u64, stats.final_drops);
}

/// With one try an attempt is a frame, so the bursts are the model's own.
#[test]
fn bursts_of_attempts_have_the_mean_length_asked_for() {
    let mac = r#"{"standard":"802.11b","tries":1}"#;
    let bench = one_way(mac, r#"{"burst_loss":0.1,"burst_frames":5}"#, 1);
    let failed: Vec<bool> = bench.events.iter().map(|e| e.kind != Delivered).collect();
    let bursts: Vec<usize> = failed
        .chunk_by(|a, b| a == b)
        .filter(|b| b[0])
        .map(<[_]>::len)
        .collect();
    let mean = bursts.iter().sum::<usize>() as f64 / bursts.len() as f64;
    assert!(
        (mean / 5.0 - 1.0).abs() < 5.0 / (bursts.len() as f64).sqrt(),
        "{mean}"
    );
    // A burst of attempts goes by while one frame is tried again and again.
    let patient = one_way(
        r#"{"standard":"802.11b"}"#,
        r#"{"burst_loss":0.1,"burst_frames":5}"#,
        1,
    );
    let lost = patient.lost(AToB) as f64 / f64::from(FRAMES);
    // A frame meets a burst's beginning with 1/5 · 1/9, and 6 more attempts of it with 0.8⁶; the
    // next one has the rest of it: 0.8.
    let reckoned = 0.0222 * 0.8f64.powi(6) / (1.0 - 0.8f64.powi(7));
    assert!((lost / reckoned - 1.0).abs() < 0.3, "{lost} for {reckoned}");
}

#[test]
fn lost_acks_make_copies_that_nobody_sees() {
    let mac = r#"{"standard":"802.11b","control_loss":0.2}"#;
    let bench = one_way(mac, "{}", 1);
    let stats = bench.radio.stats(AToB);
    assert_eq!(bench.delivered(AToB), (0..FRAMES).collect::<Vec<_>>());
    assert_eq!(stats.duplicates, stats.retries);
    within(stats.duplicates, stats.attempts, 0.2);
    // Given up although it has come: the sender can't know.
    let deaf = one_way(
        r#"{"standard":"802.11b","control_loss":1.0,"tries":2}"#,
        "{}",
        1,
    );
    let stats = deaf.radio.stats(AToB);
    assert_eq!(
        (stats.final_drops, stats.duplicates),
        (FRAMES.into(), FRAMES.into())
    );
    assert_eq!(deaf.delivered(AToB).len() as u32, FRAMES);
}

#[test]
fn events_are_whole_in_order_and_agree_with_the_counters() {
    for policy in [
        r#""ack""#,
        r#""ack","txop_ns":2048000"#,
        r#""block_ack_burst""#,
        r#""block_ack_burst","txop_ns":2048000"#,
        r#""block_ack_each""#,
    ] {
        let mac =
            format!(r#"{{"standard":"802.11a","policy":{policy},"tries":3,"control_loss":0.05}}"#);
        let mut bench = Bench::new(&mac, r#"{"loss":0.3}"#, r#"{"loss":0.1}"#, 4);
        bench.saturate(&Direction::ALL, 2 * SECOND);
        bench.finish();
        assert!(bench.events.is_sorted_by_key(|e| e.at_ns));
        for direction in Direction::ALL {
            let stats = bench.radio.stats(direction);
            let events = bench.events.iter().filter(|e| e.direction == direction);
            let events: Vec<&Event> = events.collect();
            let count = |kind| events.iter().filter(|e| e.kind == kind).count() as u64;
            assert_eq!(events.len() as u64, stats.attempts, "{policy}");
            assert_eq!(count(UndeliveredFinal), stats.final_drops);
            assert_eq!(count(Undelivered), stats.retries);
            let frames = bench.exits[direction.index()].len() as u64;
            assert_eq!(count(Delivered) + stats.final_drops, frames);
            each_frame_is_told_of_from_the_first_attempt_to_the_last(&events);
        }
    }
}

fn each_frame_is_told_of_from_the_first_attempt_to_the_last(events: &[&Event]) {
    use std::collections::HashMap;
    let mut of_frames: HashMap<Vec<u8>, Vec<(u32, EventKind)>> = HashMap::new();
    for event in events {
        assert!(event.queued_ns <= event.head_ns && event.head_ns < event.at_ns);
        let token = event.headers.as_ref().unwrap().bytes.to_vec();
        of_frames
            .entry(token)
            .or_default()
            .push((event.attempt, event.kind));
    }
    for told in of_frames.values() {
        let (last, before) = told.split_last().unwrap();
        assert!(before.iter().all(|(_, kind)| *kind == Undelivered));
        assert_ne!(last.1, Undelivered);
        assert!(
            told.iter()
                .map(|(attempt, _)| *attempt)
                .eq(1..=told.len() as u32)
        );
    }
}
