// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is left for TCP at 54 Mbit/s when its ACKs share the medium: Murray, Koziniec and Dixon
//! (2009) measured 27.4 Mbit/s, and 33.5 without ACKs of the MAC.

use super::*;
use crate::config::Direction::{AToB, BToA};

/// Payload of a full segment with timestamps.
const MSS_BYTES: f64 = 1448.0;

/// Mbit/s of payload from a to b with a window that is always full, and an ACK for every so many
/// segments. What collisions lose without ACKs of the MAC is repaired in no time, so nothing but
/// the medium counts.
fn goodput_mbps(mac: &str, segments_per_ack: u32, seed: u64) -> f64 {
    const WINDOW: u32 = 60;
    let mut bench = Bench::new(mac, "{}", "{}", seed);
    let mut arrived = 0;
    (0..WINDOW).for_each(|token| bench.push(AToB, FULL, token));
    while bench.now_ns < 10 * SECOND {
        for (direction, fate) in bench.step().expect("it never stops") {
            match (direction, fate) {
                (AToB, Fate::Delivered) => {
                    arrived += 1;
                    if arrived % segments_per_ack == 0 {
                        bench.push(BToA, ACK, 0);
                    }
                }
                (AToB, _) => bench.push(AToB, FULL, 0),
                // The next one says what a lost one would have said.
                (BToA, _) => (0..segments_per_ack).for_each(|_| bench.push(AToB, FULL, 0)),
            }
        }
    }
    f64::from(arrived) * MSS_BYTES * 8.0 / (bench.now_ns as f64 / 1e3)
}

/// Microseconds of a cycle as in the test above, and of each backoff that is counted alone.
fn reckoned_mbps(segments: f64, backoffs: f64, answer_us: f64) -> f64 {
    let (difs, data, ack) = (34.0, 248.0, 36.0);
    let cycle = segments * (difs + data + answer_us) + difs + ack + answer_us + backoffs * 67.5;
    segments * MSS_BYTES * 8.0 / cycle
}

#[test]
fn shares_of_54_mbps() {
    let mac = |policy| format!(r#"{{"standard":"802.11a","policy":"{policy}"}}"#);
    let [standard, no_ack] = ["ack", "no_ack"].map(|policy| {
        let rates = [1, 2].map(|seed| [2, 1].map(|per| goodput_mbps(&mac(policy), per, seed)));
        println!("{policy}: delayed ACKs and one per segment: {rates:.2?} Mbit/s");
        let (a, b) = (rates[0], rates[1]);
        assert!(
            a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() < 0.02),
            "{rates:?}"
        );
        a
    });
    for (name, rate, answer_us) in [("standard", standard, 44.0), ("no_ack", no_ack, 0.0)] {
        for (per, rate) in [(2.0, rate[0]), (1.0, rate[1])] {
            // Alone: every backoff counted one after another. Together: the ACK's in the shadow of
            // the data's. Collisions take a little of the difference.
            let alone = reckoned_mbps(per, per + 1.0, answer_us);
            let together = reckoned_mbps(per, per, answer_us);
            println!("{name}, {per} per ACK: {alone:.2} {rate:.2} {together:.2}");
            assert!(alone < rate && rate < together, "{alone} {rate} {together}");
        }
    }
    let gain = no_ack[0] / standard[0];
    assert!(gain > 1.15 && gain < 1.22, "{gain}");
}
