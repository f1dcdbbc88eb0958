// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Ways on which a round trip takes longer than the bins that rates are measured in, and one that becomes longer.

use super::both;
use crate::case::{Case, MS, SEC};

/// Several connections over 300 ms, 250 of them local. C was cut to the rate of a pause, which that cut made longer:
/// 0.74, 0.72, 0.77 and 0.80 of the bound in the mean.
#[test]
fn several_connections_fill_a_long_hop() {
    for cc in ["cubic", "reno"] {
        for loss in [0.01, 0.05] {
            println!("{cc} {loss}");
            let case = Case::new(20.0, 300, 250, loss).flows(4, cc);
            both(&case, |_, rack| {
                assert!(rack.efficiency() >= 0.87, "{}", rack.efficiency());
                assert!(rack.rtt_p95_ms <= 700.0, "{} ms", rack.rtt_p95_ms);
            });
        }
    }
}

/// Seven connections, whose C makes the rate fall by which a queue's length is judged: before the doubt had lasted for a
/// trial a segment of each took as long as the way had become longer, and they had 0.45 of the hop for good.
#[test]
fn seven_on_a_slow_hop_that_becomes_longer() {
    let case = Case {
        queue: 20,
        loss_up: 0.035,
        longer_ns: Some((12 * SEC, 21 * MS)),
        ..Case::new(6.3, 52, 8, 0.035).flows(7, "reno")
    };
    both(&case, |_, rack| {
        assert!(rack.efficiency() >= 0.65, "{}", rack.efficiency());
        assert!(rack.rtt_p95_ms <= 190.0, "{} ms", rack.rtt_p95_ms);
    });
}
