// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme rack where the end of a window is lost, and nothing behind it tells (core/tail.h).

use lasthop_core::Config;
use lasthop_core::bindings::*;

use crate::rack_outage::cut_off;
use crate::rig::{Rig, rig_with};

/// A slow start has lost the end of a window in a full queue, and nothing behind it tells. What answers the first probe
/// covers what that repeated, and no more: each of the others had been a probe's.
#[test]
fn a_probe_that_brings_nothing_else_brings_the_window() {
    let mut rig = cut_off(true);
    timer!(rig, 238 => pass, resend [1_000]);
    ack!(rig, 249, 2_000 => pass, resend [2_000, 3_000]);
    ack!(rig, 260, 4_000 => pass, resend [4_000, 5_000, 6_000, 7_000]);
    // MH may keep the ACK of a lone segment.
    let mut rig = cut_off(true);
    timer!(rig, 238 => pass, resend [1_000]);
    ack!(rig, 289, 2_000 => pass, resend [2_000, 3_000]);
}

/// A hop that takes 30 ms for each of 40 segments; then so many leave at once, of which the first arrives.
fn narrow(clock: u32, burst: usize) -> Rig {
    let config = Config {
        clock,
        ..Config::default()
    };
    let mut rig = rig_with(config, true);
    for i in 0..40 {
        data!(rig, 200 + i * 30, i as i64 * 1_000, 1_000);
        ack!(rig, 211 + i * 30, (i as i64 + 1) * 1_000 => pass);
    }
    rig.burst(1_410, 40_000, 1_000, burst);
    ack!(rig, 1_421, 41_000 => pass);
    rig
}

/// Nor on a hop that takes 30 ms for each: MH acknowledges one by one, as it does what a queue still holds.
#[test]
fn on_a_narrow_hop_one_alone_says_nothing() {
    let mut rig = narrow(LH_CLOCK_AUTO, 6);
    let at = rig.deadline().expect("a probe") + 1;
    timer!(rig, at => pass, resend [41_000]);
    ack!(rig, at + 11, 42_000 => pass);
}

/// But what left longer ago than any queue takes has not waited in one, of a window that would take a probe for each:
/// it is repaired where the link loses, and FH's, as the queue's, where it does not.
#[test]
fn on_a_narrow_hop_the_second_probe_tells() {
    for (clock, window) in [
        (LH_CLOCK_ALWAYS, vec![43_000, 44_000]),
        (LH_CLOCK_AUTO, vec![]),
    ] {
        let mut rig = narrow(clock, 8);
        let at = rig.deadline().expect("a probe") + 1;
        timer!(rig, at => pass, resend [41_000]);
        ack!(rig, at + 11, 42_000 => pass);
        let at = rig.deadline().expect("a probe") + 1;
        timer!(rig, at => pass, resend [42_000]);
        let seen = rig.ack(at + 11, 43_000, &[]);
        assert_eq!(seen.resent, window, "{clock}");
        let fhs = u64::from(window.is_empty());
        assert_eq!(rig.count(LH_C_overflow_suspected), fhs, "{clock}");
    }
}

/// It was the original, from a queue, if it came before a repair can, or covers more, or goes on after a while.
#[test]
fn what_came_late_brings_no_window() {
    for (ms, upto) in [(241, 2_000), (249, 3_000), (310, 2_000)] {
        let mut rig = cut_off(true);
        timer!(rig, 238 => pass, resend [1_000]);
        ack!(rig, ms, upto => pass);
    }
}
