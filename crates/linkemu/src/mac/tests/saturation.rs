// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Stations that always have something to send, beside what is reckoned.

use super::*;
use crate::config::Direction::{AToB, BToA};

/// Mbit/s of a direction, packets without Ethernet header.
fn mbps(bench: &Bench, direction: Direction) -> f64 {
    let frames = bench.delivered(direction).len() as f64;
    frames * 1500.0 * 8.0 / (bench.now_ns as f64 / 1e3)
}

fn is_near(value: f64, expected: f64, share: f64) {
    assert!(
        (value / expected - 1.0).abs() < share,
        "{value} for {expected}"
    );
}

/// DIFS, half a contention window, the frame, and its answer: nobody else is there.
#[test]
fn one_way_is_as_reckoned() {
    for (mac, exchange_us) in [
        (
            r#"{"standard":"802.11b"}"#,
            50.0 + 310.0 + 1310.0 + 10.0 + 248.0,
        ),
        (
            r#"{"standard":"802.11a"}"#,
            34.0 + 67.5 + 248.0 + 16.0 + 28.0,
        ),
        (
            r#"{"standard":"802.11a","policy":"no_ack"}"#,
            34.0 + 67.5 + 248.0,
        ),
        (
            r#"{"standard":"802.11g"}"#,
            28.0 + 67.5 + 254.0 + 10.0 + 34.0,
        ),
        // A sixteenth of the access and of the answers per frame.
        (
            r#"{"standard":"802.11a","policy":"block_ack_burst"}"#,
            (34.0 + 67.5 + 32.0 + 16.0 + 72.0) / 16.0 + 252.0 + 16.0,
        ),
        (
            r#"{"standard":"802.11a","policy":"block_ack_each"}"#,
            34.0 + 67.5 + 252.0 + (16.0 + 32.0 + 16.0 + 72.0) / 16.0,
        ),
        // Within 2048 µs six exchanges of 296, or seven frames, or a block of seven.
        (
            r#"{"standard":"802.11a","txop_ns":2048000}"#,
            (34.0 + 67.5 - 16.0) / 6.0 + 296.0 + 16.0,
        ),
        (
            r#"{"standard":"802.11a","policy":"no_ack","txop_ns":2048000}"#,
            (34.0 + 67.5 - 16.0) / 7.0 + 252.0 + 16.0,
        ),
        (
            r#"{"standard":"802.11a","policy":"block_ack_burst","txop_ns":2048000}"#,
            (34.0 + 67.5 + 32.0 + 16.0 + 72.0) / 7.0 + 252.0 + 16.0,
        ),
        // A window of 7 slots, and three slots of silence before it.
        (
            r#"{"standard":"802.11a","aifsn":3,"cw_min":7}"#,
            16.0 + 27.0 + 31.5 + 252.0 + 16.0 + 28.0,
        ),
    ] {
        let mut bench = Bench::lossless(mac);
        bench.saturate(&[AToB], 5 * SECOND);
        is_near(mbps(&bench, AToB), 12_000.0 / exchange_us, 0.01);
        let config: crate::mac::MacConfig = serde_json::from_str(mac).unwrap();
        let capacity_mbps = config.capacity_bps() as f64 / 1e6;
        is_near(capacity_mbps, 1514.0 * 8.0 / exchange_us, 0.001);
        assert_eq!(bench.radio.stats(AToB).collisions, 0);
    }
}

/// Bianchi (2000): with one other station p = τ, and τ follows from p and the window, which
/// doubles m times.
fn collision_probability(window: f64, doublings: i32) -> f64 {
    let tau = |p: f64| {
        let doubled = (1.0 - (2.0 * p).powi(doublings)) / (1.0 - 2.0 * p);
        2.0 / (1.0 + window + p * window * doubled)
    };
    (0..200).fold(0.1, |p, _| 0.5 * (p + tau(p)))
}

#[test]
fn two_stations_collide_as_bianchi_says_and_share_alike() {
    for (standard, window, doublings, expected) in
        [("802.11b", 32.0, 5, 0.057), ("802.11a", 16.0, 6, 0.106)]
    {
        let reckoned = collision_probability(window, doublings);
        is_near(reckoned, expected, 0.02);
        for seed in [1, 2] {
            let mac = format!(r#"{{"standard":"{standard}"}}"#);
            let mut bench = Bench::new(&mac, "{}", "{}", seed);
            bench.saturate(&Direction::ALL, 20 * SECOND);
            let [down, up] = Direction::ALL.map(|d| mbps(&bench, d));
            is_near(down, up, 0.03);
            bench.finish();
            let [a, b] = Direction::ALL.map(|d| bench.radio.stats(d));
            assert_eq!(a.collisions, b.collisions, "they take two");
            for stats in [a, b] {
                assert_eq!(stats.collisions, stats.retries + stats.final_drops);
            }
            let share = (a.collisions + b.collisions) as f64 / (a.attempts + b.attempts) as f64;
            println!("{standard}: {share:.4} of the attempts collide, reckoned {reckoned:.4}");
            is_near(share, reckoned, 0.15);
        }
    }
}

/// Two who contend lose less time to silence than one who counts all slots himself.
#[test]
fn backoff_is_counted_in_parallel() {
    let mut alone = Bench::lossless(r#"{"standard":"802.11a"}"#);
    alone.saturate(&[AToB], 5 * SECOND);
    let mut both = Bench::lossless(r#"{"standard":"802.11a"}"#);
    both.saturate(&Direction::ALL, 5 * SECOND);
    let sum = mbps(&both, AToB) + mbps(&both, BToA);
    // 7.5 slots per frame alone; 3.75 for each of two if it were not for collisions. Bianchi's
    // formula says 1.025 for both together, with a slot more counted per exchange than there is.
    let gain = sum / mbps(&alone, AToB);
    println!("two stations together carry {gain:.3} times what one carries");
    assert!((1.005..1.03).contains(&gain), "{gain}");
}

#[test]
fn bursts_that_collide_are_not_all_lost() {
    let mac = r#"{"standard":"802.11a","policy":"block_ack_burst","block_frames":8}"#;
    let mut bench = Bench::lossless(mac);
    bench.saturate(&Direction::ALL, 5 * SECOND);
    bench.finish();
    for direction in Direction::ALL {
        let stats = bench.radio.stats(direction);
        assert!(
            stats.collisions > 100 && stats.final_drops == 0,
            "{stats:?}"
        );
        assert!(bench.delivered(direction).is_sorted());
        assert_eq!(bench.lost(direction), 0);
    }
}
