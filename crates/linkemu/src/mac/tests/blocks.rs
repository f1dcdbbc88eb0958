// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! BlockAck: order, and nothing lost below the limit.

use super::*;
use crate::config::Direction::{AToB, BToA};

fn mac(policy: &str, more: &str) -> String {
    format!(r#"{{"standard":"802.11a","policy":"{policy}"{more}}}"#)
}

const KINDS: [&str; 2] = ["block_ack_burst", "block_ack_each"];

#[test]
fn a_burst_is_one_access_and_each_is_many() {
    for (kind, gaps_us) in [
        ("block_ack_burst", 16..=16),
        ("block_ack_each", 34..=34 + 15 * 9),
    ] {
        let mut bench = Bench::lossless(&mac(kind, r#","block_frames":4"#));
        (0..5).for_each(|token| bench.push(AToB, FULL, token));
        bench.finish();
        let times: Vec<u64> = bench.times_us(AToB).iter().map(|(.., us)| *us).collect();
        // The first came alone, so it went alone; the other four are a block.
        let answers_us = 16 + 32 + 16 + 72;
        let told: Vec<u64> = bench.events.iter().map(|e| e.at_ns / US).collect();
        let (first, rest) = told.split_at(1);
        assert_eq!(first, [252 + answers_us]);
        assert!(
            rest.iter().all(|us| *us == times[4] + answers_us),
            "{told:?}"
        );
        for pair in times[1..].windows(2) {
            let gap_us = pair[1] - pair[0] - 252;
            assert!(gaps_us.contains(&gap_us), "{kind}: {gap_us}");
        }
    }
}

#[test]
fn order_is_kept_and_nothing_is_lost_below_the_limit() {
    for kind in KINDS {
        for more in [
            "",
            r#","control_loss":0.2"#,
            r#","block_frames":64"#,
            r#","block_frames":1"#,
            r#","control_loss":0.2,"txop_ns":2048000"#,
            r#","block_frames":3,"txop_ns":8160000"#,
        ] {
            if more.contains("txop") && kind == "block_ack_each" {
                continue; // a contradiction
            }
            let mac = mac(kind, &format!(r#"{more},"tries":200"#));
            for (down, up) in [
                (r#"{"loss":0.2}"#, "{}"),
                (r#"{"loss":0.4}"#, r#"{"loss":0.3}"#),
            ] {
                let mut bench = Bench::new(&mac, down, up, 9);
                bench.saturate(&Direction::ALL, SECOND);
                bench.finish();
                for direction in Direction::ALL {
                    let delivered = bench.delivered(direction);
                    assert!(delivered.len() > 100);
                    assert!(
                        delivered.iter().copied().eq(0..delivered.len() as u32),
                        "{mac}"
                    );
                    assert_eq!(bench.lost(direction), 0);
                }
            }
        }
    }
}

#[test]
fn what_is_given_up_leaves_a_gap_and_holds_up_nobody() {
    for kind in KINDS {
        let mut bench = Bench::new(&mac(kind, r#","tries":2"#), r#"{"loss":0.3}"#, "{}", 2);
        bench.saturate(&[AToB], 2 * SECOND);
        bench.finish();
        let (delivered, lost) = (bench.delivered(AToB), bench.lost(AToB));
        assert!(delivered.is_sorted());
        assert_eq!(delivered.len() + lost, bench.exits[0].len());
        assert_eq!(bench.radio.in_flight_frames(AToB), 0, "{kind}");
        let share = lost as f64 / bench.exits[0].len() as f64;
        assert!((0.08..0.10).contains(&share), "{share} for 0.09");
    }
}

/// Whatever is lost at the end, the receiver learns that nothing more comes.
#[test]
fn the_last_frames_do_not_wait_for_ever() {
    for seed in 0..50 {
        for control_loss in [0.0, 0.5, 1.0] {
            let more = format!(r#","tries":2,"control_loss":{control_loss}"#);
            let mac = mac("block_ack_burst", &more);
            let mut bench = Bench::new(&mac, r#"{"loss":0.5}"#, "{}", seed);
            (0..12).for_each(|token| bench.push(AToB, FULL, token));
            bench.finish();
            assert_eq!(bench.exits[0].len(), 12, "seed {seed}");
            assert_eq!(bench.radio.in_flight_frames(AToB), 0);
        }
    }
}

/// Thousands of frames, so that the sequence numbers go round, with no answer ever.
#[test]
fn a_window_is_never_left_behind() {
    for kind in KINDS {
        let mac = mac(kind, r#","tries":2,"control_loss":1.0"#);
        let mut bench = Bench::new(&mac, r#"{"loss":0.2}"#, "{}", 2);
        bench.saturate(&[AToB], 5 * SECOND);
        bench.finish();
        assert!(bench.exits[0].len() > 4_500, "{}", bench.exits[0].len());
        assert_eq!(bench.radio.in_flight_frames(AToB), 0);
        let lost = bench.lost(AToB) as f64 / bench.exits[0].len() as f64;
        assert!((0.03..0.05).contains(&lost), "{lost} for 0.04");
    }
    assert!(ACK.bytes < FULL.bytes && BToA != AToB);
}
