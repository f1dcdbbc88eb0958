// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Ways on which a round trip takes longer than the bins that rates are measured in.

use super::both;
use crate::case::Case;

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
