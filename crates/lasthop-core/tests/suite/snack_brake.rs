// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The brake of schemes that hide losses (core/brake.h, parameter `brake`), by scheme snack and by
//! what it is without an answer from the other end.

use lasthop_core::bindings::*;
use lasthop_core::{Config, MSEC_NS};

use crate::brake::{Line, MSS, state};
use crate::rig::{Rig, rig_with};

/// As published, or with all that there is against it.
fn with(brake: u32) -> Config {
    Config {
        brake,
        queue_guard: brake,
        sack_mask: 1,
        ..Config::snack()
    }
}

/// A queue of so many milliseconds that was 50 before, for long; its agent answers or not.
fn behind(queue_ms: u64, brake: u32, partner: bool) -> (Rig, Line) {
    let mut rig = rig_with(with(brake), true);
    if partner {
        rig.agent.set_partner(Some(10 * MSEC_NS));
    }
    let mut line = Line::new(300, 0);
    line.tells = partner;
    line.run(&mut rig, 3_000, (10, 60), |_| false);
    line.run(&mut rig, 300, (60, 60), |_| false);
    if queue_ms < 50 {
        line.run(&mut rig, 100, (60, 10 + queue_ms), |_| false);
        line.run(&mut rig, 1_000, (10 + queue_ms, 10 + queue_ms), |_| false);
    }
    assert_eq!(rig.count(LH_C_windows_edited), 0, "nothing was hidden");
    (rig, line)
}

#[test]
fn what_is_asked_for_at_the_longest_queue_is_fhs() {
    for partner in [true, false] {
        let (mut rig, mut line) = behind(50, 1, partner);
        line.run(&mut rig, 100, (60, 60), |i| i == 20);
        assert_eq!(line.resent, [], "partner {partner}");
        assert!(line.shown > 0);
        assert_eq!(rig.count(LH_C_overflow_suspected), 1);
        assert_eq!(rig.count(LH_C_windows_edited), 0);
        assert_eq!(state(&rig), LH_CONTROL_FREE);
    }
}

#[test]
fn what_is_asked_for_at_a_short_queue_is_repaired_and_its_sender_braked() {
    for partner in [true, false] {
        let (mut rig, mut line) = behind(0, 1, partner);
        let lost = line.sent as u32 + 20 * MSS;
        line.run(&mut rig, 35, (10, 10), |i| i == 20);
        assert_eq!(line.resent, [lost], "partner {partner}");
        assert_eq!(line.shown, 0);
        assert_eq!(rig.count(LH_C_overflow_suspected), 0);
        assert_eq!(state(&rig), LH_CONTROL_HELD);
        // Nothing more is lost: the law has its way with the queue.
        line.run(&mut rig, 500, (10, 40), |_| false);
        assert!(rig.count(LH_C_windows_edited) > 0);
    }
}

/// As published: all that is asked for is repaired, and nobody is braked.
#[test]
fn without_the_brake_a_full_queue_is_repaired_too() {
    let (mut rig, mut line) = behind(50, 0, true);
    let lost = line.sent as u32 + 20 * MSS;
    line.run(&mut rig, 100, (60, 60), |i| i == 20);
    assert_eq!(rig.count(LH_C_overflow_suspected), 0);
    assert_eq!(line.resent, [lost]);
    assert_eq!(line.shown, 0);
    assert_eq!(state(&rig), LH_CONTROL_FREE);
    assert_eq!(rig.count(LH_C_clock_engaged), 0);
}

/// In a slow start the pattern decides whose it is, and what is asked for lies above all that was
/// SACKed then: a number of its own, no stretch of four billion bytes among which it is the only hole.
#[test]
fn what_is_asked_for_in_a_slow_start_waits_for_the_pattern() {
    // The last one before the hole is acknowledged at once, or waits for the next.
    for before in [20, 21] {
        let start = |lose: fn(u64) -> bool| {
            let mut rig = rig_with(with(1), true);
            rig.agent.set_partner(Some(10 * MSEC_NS));
            let mut line = Line::new(300, 0);
            line.tells = true;
            line.run(&mut rig, 200, (10, 10), |_| false);
            line.run(&mut rig, before, (10, 30), |_| false);
            let first = line.sent as u32;
            line.run(&mut rig, 110, (30, 40), lose);
            (rig, line, first)
        };
        let (rig, line, _) = start(|i| i % 2 == 0 && i < 40);
        assert_eq!(line.resent, [], "every other segment: FH's");
        assert!(rig.count(LH_C_overflow_suspected) > 0);

        let (rig, line, first) = start(|i| i == 10);
        assert_eq!(line.resent.first(), Some(&(first + 10 * MSS)), "one: ours");
        assert_eq!(rig.count(LH_C_overflow_suspected), 0);
    }
}

/// The parameter means something to schemes that may be braked, and to no other.
#[test]
fn who_may_be_braked() {
    for (config, may) in [
        (Config::observe(), false),
        (Config::snoop(), false),
        (Config::slack(), false),
        (Config::default(), false),
        (Config::sack(), true),
        (Config::snack(), true),
    ] {
        let braked = Config { brake: 1, ..config }.policy();
        assert_eq!(braked != config.policy(), may, "{}", config.scheme);
        let controlled = braked & LH_POLICY_CONTROL != 0;
        assert_eq!(controlled, may || config.scheme == LH_SCHEME_rack);
        assert!(!controlled || braked & LH_POLICY_RTT_PER_ACK == 0);
        let rest = LH_POLICY_CONTROL | LH_POLICY_RTT_PER_ACK;
        assert_eq!(braked & !rest, config.policy() & !rest);
    }
}
