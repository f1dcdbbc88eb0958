// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Transmission opportunities, to the microsecond: at 54 Mbit/s a full frame with QoS control takes
//! 252, its ACK 16 + 28.

use super::*;
use crate::config::Direction::{AToB, BToA};
use crate::mac::EventKind::{Delivered, Undelivered};

fn mac(policy: &str, txop_us: u64, more: &str) -> String {
    let txop_ns = txop_us * US;
    format!(r#"{{"standard":"802.11a","policy":"{policy}","txop_ns":{txop_ns}{more}}}"#)
}

fn arrivals_us(bench: &Bench, direction: Direction) -> Vec<u64> {
    let times = bench.times_us(direction);
    times.iter().map(|(.., us)| *us).collect()
}

/// A DIFS and whole slots of a window up to `cw`.
fn is_backoff(us: u64, cw: u64) -> bool {
    us >= 34 && (us - 34) % 9 == 0 && us <= 34 + cw * 9
}

#[test]
fn frames_of_a_burst_are_answered_and_a_sifs_apart() {
    // Three exchanges of 296 and two gaps of 16 are 920; 919 leave room for two.
    for (limit_us, in_burst) in [(920, 3), (919, 2), (608, 2), (607, 1), (1, 1)] {
        let mut bench = Bench::lossless(&mac("ack", limit_us, ""));
        (0..20).for_each(|token| bench.push_at(AToB, FULL, token, 5_000 * US));
        bench.finish();
        let times = arrivals_us(&bench, AToB);
        assert_eq!(times[0], 5_252);
        for (number, pair) in times.windows(2).enumerate() {
            let gap_us = pair[1] - pair[0] - 252 - 44;
            match (number + 1) % in_burst {
                0 => assert!(is_backoff(gap_us, 15), "{limit_us}: {gap_us}"),
                _ => assert_eq!(gap_us, 16, "{limit_us}"),
            }
        }
        assert_eq!(bench.delivered(AToB), (0..20).collect::<Vec<_>>());
        let told: Vec<u64> = bench.events.iter().map(|e| e.at_ns / US).collect();
        assert!(
            told.iter()
                .zip(&times)
                .all(|(told, came)| *told == came + 44)
        );
    }
}

#[test]
fn without_answers_a_burst_is_what_waits_when_it_begins() {
    // Three frames of 252 and two gaps of 16.
    let mut bench = Bench::lossless(&mac("no_ack", 788, ""));
    (0..7).for_each(|token| bench.push(AToB, FULL, token));
    bench.finish();
    let times = arrivals_us(&bench, AToB);
    // The first came alone, so it went alone.
    assert_eq!(times[0], 252);
    for (first, last) in [(1, 3), (4, 6)] {
        assert!(is_backoff(times[first] - times[first - 1] - 252, 15));
        assert_eq!(times[last] - times[first], 2 * (252 + 16));
    }
}

#[test]
fn who_comes_after_the_exchange_contends() {
    for (late_us, joins) in [(0, true), (1, false)] {
        let mut bench = Bench::lossless(&mac("ack", 2_048, ""));
        bench.push(AToB, FULL, 0);
        bench.push_at(AToB, FULL, 1, (296 + late_us) * US);
        bench.finish();
        let gap_us = arrivals_us(&bench, AToB)[1] - 252 - 296;
        match joins {
            true => assert_eq!(gap_us, 16),
            false => assert!(is_backoff(gap_us, 15), "{gap_us}"),
        }
    }
}

/// Clause 9.9.1.5: the backoff procedure is invoked when a transmission fails. The window had been
/// reset by what came through before.
#[test]
fn a_failure_ends_the_burst() {
    for seed in 0..20 {
        let mac = mac("ack", 2_048, "");
        let mut bench = Bench::new(&mac, r#"{"loss_every":2}"#, "{}", seed);
        (0..3).for_each(|token| bench.push(AToB, FULL, token));
        bench.finish();
        let told: Vec<_> = bench
            .events
            .iter()
            .map(|e| (e.kind, e.at_ns / US))
            .collect();
        assert_eq!(told[0], (Delivered, 296));
        let missed_us = 296 + 16 + 252 + 50;
        assert_eq!(told[1], (Undelivered, missed_us));
        let (kind, again_us) = told[2];
        assert_eq!(kind, Delivered);
        assert!(is_backoff(again_us - missed_us - 296, 31), "{again_us}");
        // That access was a new one, and so has a burst of its own.
        assert_eq!(told[3], (Undelivered, again_us + 16 + 252 + 50));
    }
}

#[test]
fn blocks_follow_one_another_within_the_limit() {
    let mut bench = Bench::lossless(&mac("block_ack_burst", 2_048, r#","block_frames":4"#));
    (0..6).for_each(|token| bench.push(AToB, FULL, token));
    bench.finish();
    // Request and answer: 16 + 32 + 16 + 72. The first frame came alone; then four, and a SIFS after
    // their answer there is room for one: 2000.
    let told: Vec<u64> = bench.events.iter().map(|e| e.at_ns / US).collect();
    let second_us = 388 + 16 + 4 * 252 + 3 * 16 + 136;
    assert_eq!(told[0], 388);
    assert!(told[1..5].iter().all(|us| *us == second_us), "{told:?}");
    assert_eq!(told[5], second_us + 16 + 388);
}

/// Two who always have something to send: nobody breaks into a burst, and none is longer than its
/// limit lets it be.
#[test]
fn a_burst_is_left_alone_and_ends_in_time() {
    let mut bench = Bench::lossless(&mac("ack", 2_048, ""));
    bench.saturate(&Direction::ALL, 2 * SECOND);
    bench.finish();
    let mut all: Vec<(u64, Direction)> = Vec::new();
    for direction in Direction::ALL {
        all.extend(
            arrivals_us(&bench, direction)
                .iter()
                .map(|us| (*us, direction)),
        );
    }
    all.sort_by_key(|(us, _)| *us);
    // 6 · 312 - 16 = 1856, and 2168 for a seventh.
    let same = |a: &(u64, Direction), b: &(u64, Direction)| b.0 - a.0 == 312;
    let bursts: Vec<_> = all.chunk_by(same).collect();
    assert!(bursts.iter().all(|burst| burst.len() <= 6));
    assert!(
        bursts
            .iter()
            .all(|burst| burst.iter().all(|(_, d)| *d == burst[0].1))
    );
    let whole = bursts.iter().filter(|burst| burst.len() == 6).count();
    assert!(whole > bursts.len() - 5, "{whole} of {}", bursts.len());
    // Only the first of a burst can collide, and only it is sent again.
    let [a, b] = Direction::ALL.map(|d| bench.radio.stats(d));
    assert_eq!(a.collisions, b.collisions);
    assert_eq!((a.collisions, b.collisions), (a.retries, b.retries));
}

/// Bursts without answers go on through a collision: what begins before the other is silent is lost.
#[test]
fn everything_is_accounted_for_when_bursts_collide() {
    for policy in ["ack", "no_ack", "block_ack_burst"] {
        let mut bench = Bench::new(&mac(policy, 928, ""), r#"{"loss":0.1}"#, "{}", 3);
        bench.saturate(&Direction::ALL, 2 * SECOND);
        bench.finish();
        for direction in Direction::ALL {
            let stats = bench.radio.stats(direction);
            let frames = bench.exits[direction.index()].len();
            assert_eq!(
                bench.delivered(direction).len() + bench.lost(direction),
                frames
            );
            assert_eq!(bench.radio.in_flight_frames(direction), 0);
            assert_eq!(stats.attempts, frames as u64 + stats.retries, "{policy}");
            assert!(stats.collisions > 50, "{policy}: {stats:?}");
            assert!(bench.delivered(direction).is_sorted(), "{policy}");
        }
        let lost = bench.lost(BToA) as u64;
        let collided = bench.radio.stats(BToA).collisions;
        assert_eq!(
            lost,
            if policy == "no_ack" { collided } else { 0 },
            "{policy}"
        );
    }
}

#[test]
fn silence_and_window_are_the_configured_ones() {
    let mac = r#"{"standard":"802.11a","aifsn":5,"cw_min":3,"cw_max":7}"#;
    let mut bench = Bench::new(mac, r#"{"loss_every":2}"#, "{}", 1);
    (0..400).for_each(|token| bench.push(AToB, FULL, token));
    bench.finish();
    let mut slots = [Vec::new(), Vec::new()];
    for pair in bench.events.windows(2) {
        let failed = pair[0].kind == Undelivered;
        let exchange_us = if pair[1].kind == Delivered {
            296
        } else {
            252 + 50
        };
        let silence_us = (pair[1].at_ns - pair[0].at_ns) / US - exchange_us - (16 + 5 * 9);
        assert_eq!(silence_us % 9, 0);
        slots[usize::from(failed)].push(silence_us / 9);
    }
    assert_eq!(slots[0].iter().max(), Some(&3));
    assert_eq!(slots[1].iter().max(), Some(&7));
    assert!(slots.iter().all(|slots| slots.contains(&0)));
}
