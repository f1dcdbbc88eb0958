// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The queue guard (core/guard.h): losses that look like overflows of the queue
//! are FH's. When it suspects one is tuned on the test bed; here is what follows.

use lasthop_core::bindings::*;
use lasthop_core::{Config, MSEC_NS, SEC_NS};

use crate::bench::{Bench, ack_of};

/// Ten segments under way behind a standing queue that has just grown.
fn suspicious() -> Bench {
    let mut b = Bench::new();
    b.now_ns = 100 * SEC_NS;
    for i in 0..10 {
        b.data(i * 100, 100);
    }
    b.ack(0);
    let f = b.flow.raw_mut();
    f.rtt.min_ns = 10 * MSEC_NS;
    f.rtt.low_ns = 200 * MSEC_NS;
    f.rtt.srtt_ns = 200 * MSEC_NS;
    f.guard.level_raised_ns = b.now_ns;
    b
}

#[test]
fn everything_in_flight_is_left_to_fh() {
    let mut b = suspicious();
    for _ in 0..5 {
        let actions = b.ack(0);
        assert!(!actions.is_drop());
        assert_eq!((actions.nr_retransmit, actions.next_deadline_ns), (0, 0));
    }
    assert_eq!(b.host.counter(LH_C_overflow_suspected), 1);
    b.now_ns += 20 * SEC_NS;
    assert_eq!(b.timer().nr_retransmit, 0);
    // Also a second hole of the same flight.
    let actions = b.ack(300);
    assert_eq!((actions.is_drop(), actions.nr_retransmit), (false, 0));
    b.flow.raw_mut().rtt.srtt_ns = 10 * MSEC_NS; // the queue is gone
    let actions = b.ack(300);
    assert_eq!((actions.is_drop(), actions.nr_retransmit), (false, 0));
    assert_eq!(b.host.counter(LH_C_overflow_suspected), 1);
    // What FH sends again is looked after, by the timer.
    b.data(300, 100);
    b.now_ns += SEC_NS;
    assert_eq!(b.timer().nr_retransmit, 1);
    // And with the last of it, all is as before.
    b.ack(1_000);
    assert!(!b.flow.has(LH_FLOW_OVERFLOW));
}

/// Scheme sack finds losses by blocks, and leaves the same ones alone.
#[test]
fn what_blocks_show_is_left_to_fh_too() {
    for (guard, repairs) in [(1, 0), (0, 1)] {
        let mut b = suspicious();
        b.config = Config {
            queue_guard: guard,
            ..Config::sack()
        };
        let actions = b.segment_from_mh(&ack_of(0, &[(100, 200)]));
        assert_eq!(
            (actions.is_drop(), actions.nr_retransmit),
            (guard == 0, repairs)
        );
        // The next hole of the same flight is no overflow of its own: what has left since is not
        // given up with it.
        b.data(1_000, 100);
        b.ack(300);
        b.segment_from_mh(&ack_of(300, &[(400, 500)]));
        let suspected = b.host.counter(LH_C_overflow_suspected);
        assert_eq!(suspected, u64::from(guard));
        let end = b.flow.raw().guard.overflow_end;
        assert_eq!(end, 1_000 * guard);
    }
}

/// Scheme snack is told of losses, and leaves the same ones alone; but not at the mobile end, to
/// which the queues of all the path are one.
#[test]
fn what_the_other_end_asks_for_is_left_to_fh_too() {
    for (role, guard, left) in [
        (LH_ROLE_BASE, 1, true),
        (LH_ROLE_BASE, 0, false),
        (LH_ROLE_MOBILE, 1, false),
    ] {
        let mut b = suspicious();
        b.config = Config {
            role,
            queue_guard: guard,
            ..Config::snack()
        };
        b.now_ns += 300 * MSEC_NS;
        let repairs = b.partner(&[(0, 100), (300, 400)]).nr_retransmit;
        assert_eq!(repairs, if left { 0 } else { 2 }, "role {role}");
        let suspected = b.host.counter(LH_C_overflow_suspected);
        assert_eq!(suspected, u64::from(left));
        let actions = b.partner_ack(&ack_of(0, &[(100, 300)]));
        assert_eq!(actions.is_drop(), !left, "role {role}");
    }
}

/// Scheme dproxy looks at how long it had been gone as well: a drop happens when the queue is at its
/// longest, and what was asked for sooner the hop has lost.
#[test]
fn what_was_gone_longest_is_the_queues() {
    for (before_ms, left) in [(0, true), (100, true), (310, true), (500, false)] {
        let mut b = suspicious();
        b.config = Config {
            queue_guard: 0,
            ..Config::dproxy()
        };
        if before_ms != 0 {
            b.now_ns += before_ms * MSEC_NS;
            assert_eq!(b.partner(&[(900, 1_000)]).nr_retransmit, 1);
            b.data(1_000, 100);
        }
        b.config.queue_guard = 1;
        b.data(1_100, 100);
        b.now_ns += 300 * MSEC_NS;
        let actions = b.partner(&[(1_100, 1_200)]);
        assert_eq!(
            actions.nr_retransmit,
            u32::from(!left),
            "{before_ms} ms before"
        );
        // And who waits for it hears that.
        assert_eq!(actions.absent().len(), usize::from(left));
        let suspected = b.host.counter(LH_C_overflow_suspected);
        assert_eq!(suspected, u64::from(left));
    }
}

#[test]
fn not_without_a_queue_or_growth_or_when_switched_off() {
    type Change = fn(&mut Bench);
    #[rustfmt::skip]
    let rows: [(&str, Change); 3] = [
        /* 1 */ ("switched off", |b| b.config = Config { queue_guard: 0, ..b.config }),
        /* 2 */ ("no queue", |b| {
            let f = b.flow.raw_mut();
            (f.rtt.low_ns, f.rtt.srtt_ns) = (15 * MSEC_NS, 15 * MSEC_NS);
        }),
        /* 3 */ ("no growth", |b| b.flow.raw_mut().guard.level_raised_ns -= 60 * SEC_NS),
    ];
    for (i, (why, change)) in rows.into_iter().enumerate() {
        let mut b = suspicious();
        change(&mut b);
        let actions = b.ack(0);
        assert!(actions.is_drop(), "row {}: {why}", i + 1);
        assert_eq!(actions.nr_retransmit, 1, "row {}: {why}", i + 1);
        assert_eq!(b.host.counter(LH_C_overflow_suspected), 0);
    }
}
