// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Losses that MH's DSACKs refute (lh_queue_refute): what only came late says nothing about the link.

use lasthop_core::{bindings::*, parse};

use crate::brake::state;
use crate::rack::rig;
use crate::rack_outage::{base, greet, select};
use crate::rig::{Rig, ns};

/// Whether the link counts as lossy, by the flow at hand and by its receiver.
fn lossy(rig: &Rig) -> (bool, bool) {
    let flow = *rig.flow().raw();
    let peer = rig.agent.host().peer(flow.peer);
    (flow.queue.lossy_ns != 0, peer.lossy_ns != 0)
}

/// The first of three segments is late, and sent again.
fn suspected() -> Rig {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 3);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    rig
}

/// MH has got it twice. FH may send as much again as MH takes at once, and hears of nothing else.
fn refuted(rig: &mut Rig) {
    ack!(rig, 214, 3_000 => pass);
    ack!(rig, 223, 3_000, sack [(0, 1_000)] => pass);
}

/// What arrives out of order now and then is given a while.
fn repaired_by_time(rig: &mut Rig, seq: u32) {
    let due = rig.deadline().expect("a repair");
    assert_eq!(rig.timer(due + 1).resent, [seq]);
}

#[test]
fn what_came_late_was_no_loss() {
    let mut rig = suspected();
    assert_eq!((lossy(&rig), state(&rig)), ((true, true), LH_CONTROL_HELD));
    refuted(&mut rig);
    assert_eq!(
        (lossy(&rig), state(&rig)),
        ((false, false), LH_CONTROL_FREE)
    );
    assert_eq!(rig.count(LH_C_clock_released), 1);
}

/// Somebody forges data in FH's name, with any numbers, and MH answers that it had them: no repair of ours lies that
/// far back. Each such answer let FH go as if nothing had been lost.
#[test]
fn what_lies_far_back_refutes_nothing() {
    let mut rig = suspected();
    ack!(rig, 214, 3_000 => pass);
    rig.ack(223, 3_000, &[(-1_000_000_000, -999_999_000)]);
    assert_eq!((lossy(&rig), state(&rig)), ((true, true), LH_CONTROL_HELD));
}

/// Of two losses one was real: no second copy of that one arrives.
#[test]
fn one_real_loss_remains_one() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 6);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    rig.ack(213, 2_000, &[(3_000, 6_000)]);
    repaired_by_time(&mut rig, 2_000);
    rig.ack(230, 6_000, &[]);
    rig.ack(231, 6_000, &[(0, 1_000)]);
    assert_eq!(lossy(&rig), (true, true));
    assert_eq!(state(&rig), LH_CONTROL_HELD);
}

/// A segment that was sent again twice, for the first repair came late: of three copies MH got the two of ours.
#[test]
fn a_repair_in_vain_refutes_no_loss() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 5);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    data!(rig, 213, 5_000, 1_000);
    ack!(rig, 224, 0, sack [(1_000, 6_000)] => hold, resend [0]);
    ack!(rig, 226, 6_000 => pass);
    ack!(rig, 235, 6_000, sack [(0, 1_000)] => hold);
    assert_eq!(lossy(&rig), (true, true));
}

/// What a probe did in vain says nothing about a loss soon afterwards.
#[test]
fn a_probe_in_vain_refutes_no_loss() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 2);
    let due = rig.deadline().expect("a probe") + 1;
    assert_eq!(rig.timer(due).resent, [0]);
    ack!(rig, due + 1, 2_000 => pass);
    rig.burst(due + 2, 2_000, 1_000, 3);
    ack!(rig, due + 11, 2_000, sack [(0, 1_000)] => hold);
    ack!(rig, due + 14, 2_000, sack [(3_000, 4_000)] => hold, resend [2_000]);
    ack!(rig, due + 24, 5_000 => pass);
    assert_eq!(lossy(&rig), (true, true));
}

/// A late one of flow 1's, after a loss of flow 0's that MH refutes as well, or does not: they are one receiver's.
fn two_flows(refuted: bool) -> (bool, bool) {
    let mut rig = rig(true);
    greet(&mut rig, 0);
    greet(&mut rig, 1);
    for (i, at) in [(0, 200), (1, 300)] {
        select(&mut rig, i);
        let seq = base(i);
        rig.burst(at, seq, 1_000, 3);
        let seen = rig.ack(at + 12, seq, &[(seq + 1_000, seq + 2_000)]);
        assert_eq!(seen.resent, [seq as u32]);
        rig.ack(at + 14, seq + 3_000, &[]);
    }
    for i in [1, 0].into_iter().take(1 + usize::from(refuted)) {
        select(&mut rig, i);
        let seq = base(i);
        rig.ack(340, seq + 3_000, &[(seq, seq + 1_000)]);
    }
    lossy(&rig)
}

#[test]
fn anothers_loss_is_not_refuted() {
    assert_eq!(two_flows(false), (false, true));
    assert_eq!(two_flows(true), (false, false));
}

/// Nor do the probes of an outage that was none, for they are copies like all others: of those that DSACKs call
/// superfluous, what was repaired before was no part.
#[test]
fn probes_of_a_silence_refute_no_loss() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 3);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    ack!(rig, 223, 3_000 => pass);
    rig.burst(230, 3_000, 1_000, 3);
    let mut probes = Vec::new();
    while let Some(due) = rig.deadline().filter(|&due| due < 500) {
        probes.extend(rig.timer(due + 1).resent);
    }
    assert!(
        rig.count(LH_C_outages) == 1 && probes.len() > 4,
        "{probes:?}"
    );
    rig.ack(510, 6_000, &[]);
    for (i, seq) in probes.into_iter().enumerate() {
        let twice = (i64::from(seq), i64::from(seq) + 1_000);
        rig.ack(511 + i as u64, 6_000, &[twice]);
    }
    assert_eq!(lossy(&rig), (true, true));
}

#[test]
fn the_next_episode_begins_anew() {
    let mut rig = suspected();
    refuted(&mut rig);
    assert_eq!(lossy(&rig), (false, false));
    rig.burst(300, 3_000, 1_000, 3);
    rig.ack(312, 3_000, &[(4_000, 6_000)]);
    repaired_by_time(&mut rig, 3_000);
    rig.ack(330, 6_000, &[]);
    assert_eq!(lossy(&rig), (true, true));
}

/// Where nothing was lost there is nothing to be hidden: what is merely waited for FH sees, until it is sent again.
/// But not in its start, when nobody knows what the link loses.
#[test]
fn what_is_waited_for_is_shown() {
    let mut rig = suspected();
    refuted(&mut rig);
    rig.burst(300, 3_000, 1_000, 3);
    ack!(rig, 312, 3_000, sack [(4_000, 6_000)] => hold);
    ack!(rig, 314, 6_000 => pass); // a late one, not sent again
    for i in 0..500 {
        rig.burst(400 + 15 * i, 6_000 + 2_000 * i as i64, 1_000, 2);
        ack!(rig, 412 + 15 * i, 8_000 + 2_000 * i as i64 => pass);
    }
    let seq = 1_006_000;
    rig.burst(8_000, seq, 1_000, 3);
    ack!(rig, 8_012, seq, sack [(seq + 1_000, seq + 2_000)] => pass);
    ack!(rig, 8_013, seq, sack [(seq + 1_000, seq + 3_000)] => pass);
    repaired_by_time(&mut rig, seq as u32);
    assert_eq!(state(&rig), LH_CONTROL_HELD);
    ack!(rig, 8_020, seq, sack [(seq + 1_000, seq + 3_000)] => hold);
    assert_eq!(rig.count(LH_C_released_acks), 0);
}

/// FH has sent the last segment again, and nothing else: what it hears of another's second copy it would take
/// for its own, and for a reduction in vain (RFC 3708, RFC 8985 section 7.4.2). What it sent again before is
/// forgotten once MH has said what it had to say of that, and a second more.
#[test]
fn fh_hears_of_its_own_copies_alone() {
    let mut rig = rig(true);
    let blocks = |rig: &mut Rig, ms, ack, twice: i64| {
        let packet = rig.pure(ack, &[(twice, twice + 1_000)]).to_fh(&rig.ends);
        let passed = rig.agent.on_ingress(&packet, ns(ms)).passed;
        passed.map_or(0, |p| parse(&p, 0, None, false).expect("TCP").0.nr_sack)
    };
    rig.burst(200, 0, 1_000, 5);
    data!(rig, 208, 4_000, 1_000);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    ack!(rig, 214, 5_000 => pass);
    assert_eq!(blocks(&mut rig, 219, 5_000, 4_000), 1);
    assert_eq!(blocks(&mut rig, 223, 5_000, 0), 0);
    rig.burst(300, 5_000, 1_000, 5);
    ack!(rig, 314, 10_000 => pass);
    rig.data(320, 9_000, 1_000);
    assert_eq!(blocks(&mut rig, 331, 10_000, 9_000), 1);
    assert_eq!(blocks(&mut rig, 332, 10_000, 4_000), 1); // it may have been late
    rig.burst(1_500, 10_000, 1_000, 5);
    ack!(rig, 1_514, 15_000 => pass);
    rig.data(1_520, 14_000, 1_000);
    assert_eq!(blocks(&mut rig, 1_531, 15_000, 14_000), 1);
    assert_eq!(blocks(&mut rig, 1_532, 15_000, 9_000), 0);
}
