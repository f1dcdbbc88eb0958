// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scripted exchanges with scheme sack (docs/design.md, section 5.8). The handshake gave a local
//! round trip of 10 ms and a wired one of 90, hence LRTO 80 ms and a hold of 150 ms.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Tcp, option};
use lasthop_core::{Config, MSEC_NS, parse};

use crate::rig::{Rig, ns, rig_with, wire};
use crate::watch_edit::edited;

/// The published rules and nothing else: scripts count on every repair.
fn plain() -> Config {
    Config {
        queue_guard: 0,
        ..Config::sack()
    }
}

fn rig() -> Rig {
    rig_with(plain(), true)
}

/// Figure 1 of Kim and Chung (2007), downlink: four in a row. `snoop` takes a local round trip
/// for each.
#[test]
fn four_losses_in_a_row_are_repaired_by_one_ack() {
    let mut rig = rig();
    rig.burst(200, 0, 1_000, 8);
    ack!(rig, 211, 1_000 => pass);
    ack!(rig, 216, 1_000, sack [(5_000, 6_000)] => hold, resend [1_000, 2_000, 3_000, 4_000]);
    ack!(rig, 217, 1_000, sack [(5_000, 7_000)] => hold);
    ack!(rig, 218, 1_000, sack [(5_000, 8_000)] => hold);
    ack!(rig, 227, 8_000 => pass);
    assert_eq!(rig.count(LH_C_local_retransmits), 4);
    assert_eq!(rig.deadline(), None);
}

/// What one call cannot take the timer sends, within the same round trip.
#[test]
fn a_long_burst_goes_on_at_once() {
    let mut rig = rig();
    rig.burst(200, 0, 1_000, 12);
    ack!(rig, 222, 0, sack [(10_000, 11_000)] => hold, resend [0, 1_000, 2_000, 3_000]);
    assert_eq!(rig.deadline(), Some(222));
    timer!(rig, 223 => pass, resend [4_000, 5_000, 6_000, 7_000]);
    assert_eq!(rig.deadline(), Some(223));
    timer!(rig, 224 => pass, resend [8_000, 9_000]);
    ack!(rig, 225, 0, sack [(10_000, 12_000)] => hold);
    ack!(rig, 235, 12_000 => pass);
    assert_eq!(rig.count(LH_C_local_retransmits), 10);
    assert_eq!(rig.deadline(), None);
}

#[test]
fn losses_here_and_there_are_repaired_as_they_show() {
    let mut rig = rig();
    rig.burst(200, 0, 1_000, 8);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    ack!(rig, 214, 0, sack [(3_000, 4_000), (1_000, 2_000)] => hold, resend [2_000]);
    // A new ACK passes, and what it shows beyond its number is repaired too.
    ack!(rig, 222, 2_000, sack [(5_000, 6_000), (3_000, 4_000)] => pass, resend [4_000]);
    ack!(rig, 224, 4_000, sack [(5_000, 8_000)] => pass);
    ack!(rig, 232, 8_000 => pass);
    assert_eq!(rig.count(LH_C_local_retransmits), 3);
}

/// Duplicates that the burst explains ask for nothing more; what left after the repair and
/// arrived does.
#[test]
fn a_lost_repair_is_told_by_what_left_after_it() {
    let mut rig = rig();
    rig.burst(200, 0, 1_000, 5);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    ack!(rig, 214, 0, sack [(1_000, 5_000)] => hold);
    data!(rig, 215, 5_000, 1_000);
    ack!(rig, 226, 0, sack [(1_000, 6_000)] => hold, resend [0]);
    ack!(rig, 236, 6_000 => pass);
}

/// Nothing left after the repair: the head's timer, as in `snoop`.
#[test]
fn the_timer_finds_what_no_ack_tells() {
    let mut rig = rig();
    rig.burst(200, 0, 1_000, 3);
    ack!(rig, 212, 0, sack [(1_000, 3_000)] => hold, resend [0]);
    // The hold ends before the timer, which has doubled.
    timer!(rig, 362 => pass, release 1);
    assert_eq!(rig.deadline(), Some(372));
    timer!(rig, 372 => pass, resend [0]);
    ack!(rig, 382, 3_000 => pass);
}

/// `timer_arm = "after_dup"` (Kim and Chung 2007): armed by what a SACK block drove, too.
#[test]
fn the_timer_runs_after_repairs_only_if_told_so() {
    let mut rig = rig_with(
        Config {
            timer_arm: LH_TIMER_AFTER_DUP,
            ..plain()
        },
        true,
    );
    rig.burst(200, 0, 1_000, 3);
    assert_eq!(rig.deadline(), None);
    ack!(rig, 212, 0, sack [(1_000, 3_000)] => hold, resend [0]);
    timer!(rig, 362 => pass, release 1);
    assert_eq!(rig.deadline(), Some(372));
}

#[test]
fn what_has_no_tries_left_is_fhs() {
    let mut rig = rig_with(
        Config {
            max_local: 1,
            ..plain()
        },
        true,
    );
    rig.burst(200, 0, 1_000, 4);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => pass, resend [0]);
    ack!(rig, 213, 0, sack [(1_000, 4_000)] => pass);
    assert_eq!(rig.count(LH_C_exhausted_segments), 1);
}

/// Nothing brakes FH, so that a queue stands. What FH has sent again in vain arrives as the
/// original, sooner than the repetition can have: it says nothing of what left in between.
#[test]
fn an_ack_of_the_original_convicts_nobody() {
    let mut rig = rig();
    for i in 0..60 {
        let at = 200 + i as u64;
        if i >= 20 {
            rig.ack(at, (i - 19) * 100, &[]); // 20 segments' time of queue
        }
        data!(rig, at, i * 100, 100);
    }
    assert!(rig.flow().raw().rtt.srtt_ns > 18 * MSEC_NS);
    // The next is late, and FH impatient; two above it were faster than the rest.
    rig.fh_sends(262, rig.segment(4_100, 100));
    data!(rig, 263, 6_000, 100);
    ack!(rig, 264, 4_100, sack [(4_200, 4_400)] => pass);
    ack!(rig, 274, 4_200, sack [(4_300, 4_400)] => pass);
    assert_eq!(rig.count(LH_C_local_retransmits), 0);
}

/// RFC 2883: neither a block below the number nor one inside the next is a hole.
#[test]
fn a_dsack_is_no_hole_and_passes() {
    let mut rig = rig();
    rig.burst(200, 0, 1_000, 4);
    ack!(rig, 212, 2_000, sack [(0, 1_000)] => pass);
    ack!(rig, 213, 2_000, sack [(0, 1_000)] => pass);
    assert_eq!(rig.count(LH_C_local_retransmits), 0);
    ack!(rig, 214, 2_000, sack [(3_000, 4_000), (3_000, 4_000)] => pass, resend [2_000]);
}

/// Receivers may renege (RFC 2018): what was SACKed stays until it is acknowledged.
#[test]
fn what_was_sacked_is_kept() {
    let mut rig = rig();
    rig.burst(200, 0, 1_000, 3);
    ack!(rig, 212, 0, sack [(1_000, 3_000)] => hold, resend [0]);
    assert_eq!(rig.ring(), [(0, 1_000), (1_000, 2_000), (2_000, 3_000)]);
}

/// Without SACK it is `snoop`.
#[test]
fn without_sack_the_first_duplicate_tells() {
    let mut rig = rig_with(plain(), false);
    rig.burst(200, 0, 1_000, 5);
    ack!(rig, 212, 0 => hold, resend [0]);
    ack!(rig, 213, 0 => hold);
    // The "expected ACK" stops short: the next hole.
    ack!(rig, 222, 1_000 => pass, resend [1_000]);
    assert_eq!(rig.count(LH_C_retransmits_partial), 1);
}

/// Whether the blocks of a new ACK reach FH.
fn shown(config: Config, change: fn(&mut Tcp)) -> bool {
    let mut rig = rig_with(config, true);
    rig.burst(200, 0, 1_000, 5);
    let mut tcp = rig.pure(1_000, &[(2_000, 3_000)]);
    change(&mut tcp);
    let packet = tcp.to_fh(&rig.ends);
    let out = rig.agent.on_ingress(&packet, ns(214));
    let passed = out.passed.expect("a new ACK passes");
    let (s, _) = parse(&packet, 0, None, false).expect("TCP");
    !edited(&packet, &passed, &s).blanked
}

#[test]
fn sack_mask_hides_blocks_of_new_acks_only_if_it_is_asked_for() {
    let masked = Config {
        sack_mask: 1,
        ..plain()
    };
    assert!(shown(plain(), |_| ()));
    assert!(!shown(masked, |_| ()));
    assert!(shown(masked, |t| t.payload = vec![1]));
    assert!(shown(masked, |t| t.flags |= LH_ECE));
    assert!(shown(masked, |t| t.window = 0));
    // It also tells of something that never came by, or that FH sent itself.
    assert!(shown(masked, |t| t.options =
        option::sack(&[(wire(9_000), wire(9_500))])));
    assert!(shown(masked, |t| {
        t.options = option::sack(&[(wire(0), wire(500)), (wire(2_000), wire(3_000))]);
    }));
}
