// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whose loss it is, where the queue alone does not tell (core/queue.h).

use lasthop_core::bindings::*;

use crate::brake::{Line, MSS, state};
use crate::rack::rig;

/// A queue that has grown within a round trip: nobody knows yet how long it gets.
#[test]
fn in_a_slow_start_the_pattern_decides() {
    let start = |lose: fn(u64) -> bool| {
        let mut rig = rig(true);
        let mut line = Line::new(300, 0);
        line.run(&mut rig, 200, (10, 10), |_| false);
        line.run(&mut rig, 20, (10, 30), |_| false);
        let first = line.sent as u32;
        line.run(&mut rig, 110, (30, 40), lose);
        (rig, line, first)
    };
    let (rig, line, _) = start(|i| i % 2 == 0 && i < 40);
    assert_eq!(line.resent, [], "every other segment: FH's");
    assert!(line.shown > 0 && rig.count(LH_C_overflow_suspected) > 0);
    assert_eq!(state(&rig), LH_CLOCK_FREE);

    let (rig, line, first) = start(|i| i == 10);
    assert_eq!(line.resent.first(), Some(&(first + 10 * MSS)), "one: ours");
    assert_eq!(rig.count(LH_C_overflow_suspected), 0);
    assert_eq!(state(&rig), LH_CLOCK_HELD);
}

/// CoDel drops one segment here and there, too, once a queue has stood for 100 ms: without a
/// loss that came without one nothing tells that it is the link.
#[test]
fn where_a_queue_stands_the_first_loss_is_fhs() {
    let start = |queue_ms: u64, lossy: bool| {
        let mut rig = rig(true);
        let mut line = Line::new(300, 0);
        line.run(&mut rig, 200, (10, 10), |i| lossy && i == 20);
        line.run(&mut rig, 200, (queue_ms, queue_ms), |_| false);
        line.run(&mut rig, 100, (queue_ms, queue_ms), |i| i == 10);
        (line.resent.len(), rig.count(LH_C_overflow_suspected))
    };
    assert_eq!(start(17, false), (0, 1));
    assert_eq!(start(17, true), (2, 0), "the link loses");
    assert_eq!(start(12, false), (1, 0), "no queue to speak of");
}
