// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Probes of scheme rack to a receiver that keeps its ACKs although it has everything, as one does whose
//! application reads at its own pace. A probe is due 24 ms after the last departure (rack.rs) while
//! nothing is known of it.

use lasthop_core::bindings::*;

use crate::rack::{repaired_in_vain, rig};
use crate::rig::Rig;

/// Three segments from `at` ms on, and when the probe for them is due after the last.
fn wait_for_probe(rig: &mut Rig, at: u64, seq: u32) -> u64 {
    rig.burst(at, seq.into(), 1_000, 3);
    rig.deadline().expect("a timer") - (at + 2)
}

/// The probe goes out when it is due, and MH answers for all three; if it was `in_vain`, with what it had
/// twice.
fn probe(rig: &mut Rig, at: u64, seq: u32, in_vain: bool) -> u64 {
    let wait = wait_for_probe(rig, at, seq);
    let due = at + 2 + wait;
    timer!(rig, due => pass, resend [seq]);
    let seq = i64::from(seq);
    let twice = [(seq, seq + 1_000)];
    rig.ack(due + 11, seq + 3_000, if in_vain { &twice } else { &[] });
    wait
}

/// A host doubles the time for which it delays an ACK, from 40 to 200 ms.
#[test]
fn where_probes_are_in_vain_the_next_waits_longer() {
    let mut rig = rig(true);
    let turns = [
        (200, 24),
        (400, 104),
        (800, 184),
        (1_200, 224),
        (1_600, 224),
    ];
    for (n, (at, wait)) in turns.into_iter().enumerate() {
        assert_eq!(probe(&mut rig, at, n as u32 * 3_000, true), wait, "at {at}");
    }
}

#[test]
fn where_they_are_not_it_comes_as_early_as_before() {
    let mut rig = rig(true);
    for n in 0..3 {
        probe(&mut rig, 200 + u64::from(n) * 400, n * 3_000, true);
    }
    let turns = [
        (1_600, 224),
        (2_000, 184),
        (2_400, 104),
        (2_800, 64),
        (3_200, 24),
    ];
    for (n, (at, wait)) in turns.into_iter().enumerate() {
        assert_eq!(
            probe(&mut rig, at, 9_000 + n as u32 * 3_000, false),
            wait,
            "at {at}"
        );
    }
}

/// As often needed as not: repairs are as early as the hop allows.
#[test]
fn one_in_vain_for_each_that_was_needed_is_no_reason() {
    let mut rig = rig(true);
    let mut waits = Vec::new();
    for n in 0..9 {
        waits.push(probe(
            &mut rig,
            200 + u64::from(n) * 400,
            n * 3_000,
            n % 3 == 0,
        ));
    }
    assert_eq!(waits, [24, 104, 64, 24, 104, 64, 24, 104, 64]);
}

#[test]
fn it_is_forgotten_after_ten_seconds() {
    let mut rig = rig(true);
    probe(&mut rig, 200, 0, true);
    assert_eq!(wait_for_probe(&mut rig, 10_230, 3_000), 104);
    rig.ack(10_242, 6_000, &[]);
    assert_eq!(wait_for_probe(&mut rig, 10_300, 6_000), 24);
}

/// Nor does it count what time order had repaired, or FH itself.
#[test]
fn other_superfluous_copies_say_nothing_of_probes() {
    let by_order = repaired_in_vain();
    assert_eq!(by_order.flow().raw().recovery.vain, 0);

    let mut by_fh = rig(true);
    by_fh.burst(200, 0, 1_000, 3);
    timer!(by_fh, 226 => pass, resend [0]);
    data!(by_fh, 230, 0, 1_000);
    by_fh.ack(237, 3_000, &[(0, 1_000)]);
    assert_eq!(by_fh.flow().raw().recovery.vain, 0);
}

/// A lone segment, and how long after it a probe is due. With `late` MH keeps its ACK for 200 ms, or until it gets
/// the segment again, and says nothing of that.
fn lone(rig: &mut Rig, i: u64, late: bool) -> u64 {
    let (at, seq) = (500 + 500 * i, 1_000 * i as i64);
    data!(rig, at, seq, 1_000);
    let wait = rig.deadline().expect("a timer") - at;
    let mut answer = if late { at + 210 } else { at + 10 };
    if at + wait < answer {
        timer!(rig, at + wait => pass, resend [seq as u32]);
        answer = at + wait + 10;
    }
    rig.ack(answer, seq + 1_000, &[]);
    wait
}

#[test]
fn who_never_says_so_is_known_by_late_acks() {
    for sack in [true, false] {
        let mut rig = rig(sack);
        let waits: Vec<u64> = (0..40).map(|i| lone(&mut rig, i, true)).collect();
        assert_eq!(waits[..5], [64, 64, 64, 64, 224]);
        assert!(waits[4..].iter().all(|w| *w == 224), "{waits:?}");
        assert_eq!(rig.count(LH_C_local_retransmits), 4);
        let waits: Vec<u64> = (40..50).map(|i| lone(&mut rig, i, false)).collect();
        assert_eq!(waits[4..7], [224, 64, 64], "it has unlearned it");
    }
}

/// One in three is lost, and MH never sends a DSACK.
#[test]
fn who_answers_at_once_is_probed_in_time() {
    for sack in [true, false] {
        let mut rig = rig(sack);
        let waits: Vec<u64> = (0..60).map(|i| lone(&mut rig, i, i % 3 == 0)).collect();
        assert!(waits.iter().all(|w| *w == 64), "{waits:?}");
    }
}

/// What is late there may well be lost, at the end of a burst; of a thin flow each would go out twice.
#[test]
fn a_bursts_end_is_not_waited_for_on_a_lossy_link() {
    let mut rig = rig(true);
    for i in 0..9 {
        lone(&mut rig, i, true);
    }
    rig.burst(5_000, 9_000, 1_000, 3);
    ack!(rig, 5_012, 9_000, sack [(10_000, 12_000)] => hold, resend [9_000]);
    rig.ack(5_022, 12_000, &[]);
    rig.burst(5_200, 12_000, 1_000, 3);
    rig.ack(5_212, 14_000, &[]);
    assert_eq!(rig.deadline(), Some(5_212 + 64));
    rig.ack(5_222, 15_000, &[]);
    data!(rig, 5_400, 15_000, 1_000);
    assert_eq!(rig.deadline(), Some(5_400 + 224));
}

/// A key now and then is a rate at which two full segments take a second and more: nobody has seen a queue that long.
#[test]
fn a_thin_flow_is_probed_in_time() {
    let mut rig = rig(true);
    for i in 0..20i64 {
        let at = 500 + 500 * i as u64;
        data!(rig, at, 100 * i, 100);
        assert_eq!(rig.deadline(), Some(at + 64));
        ack!(rig, at + 10, 100 * (i + 1) => pass);
    }
}

/// A segment every 30 ms to somebody who acknowledges several, and says nothing of what came twice: what comes next
/// tells of a loss as well. A probe went out in every second gap, its answer came when the next segment had left, and
/// each passed for the end of an outage, for as long as the flow lasted.
#[test]
fn a_stream_is_not_probed_between_its_segments() {
    let mut rig = rig(true);
    let (mut repairs, mut acked) = (Vec::new(), 0);
    for i in 0..200 {
        let (at, had) = (500 + 30 * i, 1_000 * i as i64);
        let answered = repairs.last().is_some_and(|probe| probe + 10 > at);
        if !answered && had - acked >= 7_000 {
            rig.ack(at - 1, had, &[]); // it has kept that for 200 ms
            acked = had;
        }
        data!(rig, at, had, 1_000);
        if answered {
            rig.ack(at + 4, had, &[]);
            acked = had;
        }
        if let Some(due) = rig.deadline().filter(|due| *due < at + 30) {
            rig.timer(due);
            repairs.push(due);
        }
    }
    assert!(repairs.len() < 12, "{repairs:?}");
    assert_eq!(rig.count(LH_C_outages), 0);
}
