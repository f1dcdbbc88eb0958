// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scripted exchanges: every row of the tables in docs/design.md, section 5.2, the recovery
//! point, timers, limits. The handshake gave a local round trip of 10 ms and a
//! wired one of 90, hence LRTO 80 ms and a hold of 150 ms.

use lasthop_core::bindings::*;
use lasthop_core::packet::Tcp;
use lasthop_core::{Config, MSEC_NS};

use crate::rig::{Options, Rig, classic, rig_with, wire};

fn rig(sack: bool) -> Rig {
    rig_with(classic(), sack)
}

// First table: data from FH.

#[test]
fn data_in_order_is_cached() {
    let mut rig = rig(false);
    for i in 0..5 {
        data!(rig, 200, i * 100, 100);
    }
    assert_eq!(rig.ring().len(), 5);
    assert_eq!(rig.count(LH_C_cached_bytes), 500);
    assert_eq!(rig.count(LH_C_data_bytes), 500);
}

#[test]
fn a_hole_from_upstream_is_the_senders() {
    for sack in [false, true] {
        let mut rig = rig(sack);
        rig.burst(200, 0, 100, 3);
        data!(rig, 204, 400, 100); // 300 is missing
        rig.ack(210, 300, &[]);
        ack!(rig, 214, 300, sack [(400, 500)] => pass);
        ack!(rig, 215, 300, sack [(400, 500)] => pass);
        assert_eq!(rig.deadline(), None, "nothing to repair the head with");
        // FH fills it: congestion, so its duplicates pass as well.
        data!(rig, 300, 300, 100);
        assert_eq!(rig.count(LH_C_upstream_lost), 1);
        ack!(rig, 310, 300, sack [(400, 500)] => pass);
        // But the timer may repair what gets lost on the hop.
        assert_eq!(rig.deadline(), Some(380));
        timer!(rig, 380 => pass, resend [300]);
        ack!(rig, 390, 500 => pass);
    }
}

#[test]
fn what_the_sender_repeats_is_its_own_affair() {
    for sack in [false, true] {
        let mut rig = rig(sack);
        rig.burst(200, 0, 100, 5);
        data!(rig, 250, 0, 100);
        ack!(rig, 260, 0, sack [(100, 200)] => pass);
        ack!(rig, 261, 0, sack [(100, 300)] => pass);
        assert_eq!(rig.count(LH_C_local_retransmits), 0);
        assert_eq!(rig.count(LH_C_refreshed_segments), 1);
    }
}

#[test]
fn a_repetition_by_the_sender_starts_the_repairs_anew() {
    let mut rig = rig(false);
    data!(rig, 200, 0, 100);
    timer!(rig, 280 => pass, resend [0]);
    timer!(rig, 440 => pass, resend [0]);
    assert_eq!(rig.deadline(), Some(760));
    data!(rig, 500, 0, 100);
    assert_eq!(rig.deadline(), Some(580), "no backoff any more");
    timer!(rig, 580 => pass, resend [0]);
}

#[test]
fn acknowledged_data_passes_uncached() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 3);
    rig.ack(210, 300, &[]);
    assert!(!rig.data(220, 0, 100));
    assert!(!rig.data(220, 200, 100));
    assert_eq!(rig.deadline(), None);
}

// Second table: ACKs from MH.

#[test]
fn new_acks_free_and_pass() {
    for sack in [false, true] {
        let mut rig = rig(sack);
        rig.burst(200, 0, 100, 5);
        for i in 1..=5 {
            ack!(rig, 210 + i as u64, i * 100 => pass);
            assert_eq!(rig.ring().len(), 5 - i as usize);
        }
        assert_eq!(rig.deadline(), None);
        assert_eq!(rig.count(LH_C_local_retransmits), 0);
    }
}

#[test]
fn the_first_duplicate_is_repaired_and_the_explained_ones_are_kept() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 10);
    ack!(rig, 220, 0 => hold, resend [0]);
    // Nine segments behind the hole explain nine duplicates.
    for i in 2..=9 {
        ack!(rig, 220 + i, 0 => hold);
    }
    ack!(rig, 235, 1_000 => pass);
    assert_eq!(rig.count(LH_C_suppressed_acks), 9);
    assert_eq!(rig.count(LH_C_retransmits_dupack), 1);
    assert_eq!(rig.count(LH_C_released_acks), 0);
}

#[test]
fn more_duplicates_than_that_mean_that_the_repair_was_lost() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 4);
    ack!(rig, 220, 0 => hold, resend [0]);
    ack!(rig, 221, 0 => hold);
    ack!(rig, 222, 0 => hold);
    ack!(rig, 223, 0 => hold); // too soon: a round trip must have passed
    ack!(rig, 230, 0 => hold, resend [0]);
    ack!(rig, 239, 0 => hold);
    // Sent twice, and still they come (Click's limit): FH's turn.
    ack!(rig, 240, 0 => pass, release 2);
    ack!(rig, 241, 0 => pass);
    assert_eq!(rig.count(LH_C_retransmits_dupack), 2);
}

#[test]
fn duplicates_of_what_is_not_cached_pass() {
    let mut rig = Rig::new(&Options {
        setup: lasthop_core::Setup {
            limits: lasthop_core::Limits {
                slots: 0,
                chunks: 0,
                ..Default::default()
            },
            ..Default::default()
        },
        ..Options::default()
    });
    rig.ack(150, 0, &[]);
    for i in 0..5 {
        assert!(!rig.data(200, i * 100, 100));
    }
    for ms in 220..225 {
        ack!(rig, ms, 0 => pass);
    }
    assert_eq!(rig.deadline(), None);
}

#[test]
fn threshold_of_two_passes_the_first() {
    for sack in [false, true] {
        let mut rig = rig_with(Config::ns2(), sack);
        rig.burst(200, 0, 100, 5);
        ack!(rig, 220, 0, sack [(100, 200)] => pass);
        assert_eq!(rig.count(LH_C_local_retransmits), 0);
        ack!(rig, 221, 0, sack [(100, 300)] => hold, resend [0]);
        ack!(rig, 222, 0, sack [(100, 400)] => hold);
        ack!(rig, 250, 500 => pass);
        // And anew for the next loss.
        rig.burst(300, 500, 100, 5);
        ack!(rig, 320, 500, sack [(600, 700)] => pass);
        ack!(rig, 321, 500, sack [(600, 800)] => hold, resend [500]);
    }
}

// Partial ACKs and the recovery point.

#[test]
fn a_partial_ack_repairs_the_next_hole() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 10); // 0 and 300 get lost
    ack!(rig, 220, 0 => hold, resend [0]);
    for i in 2..=8 {
        ack!(rig, 220 + i, 0 => hold);
    }
    ack!(rig, 232, 300 => pass, resend [300]);
    assert_eq!(rig.count(LH_C_retransmits_partial), 1);
    ack!(rig, 242, 1_000 => pass);
    assert!(!rig.flow().has(LH_FLOW_RECOVERY));
}

#[test]
fn with_sack_the_blocks_prove_what_has_departed() {
    let mut rig = rig(true);
    rig.burst(200, 0, 100, 10); // 0, 300 and 600 get lost
    ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
    ack!(rig, 221, 0, sack [(100, 300)] => hold);
    ack!(rig, 222, 0, sack [(400, 500), (100, 300)] => hold);
    ack!(rig, 223, 0, sack [(400, 600), (100, 300)] => hold);
    ack!(rig, 224, 0, sack [(700, 800), (400, 600), (100, 300)] => hold);
    ack!(rig, 232, 300, sack [(700, 800), (400, 600)] => pass, resend [300]);
    ack!(rig, 242, 600, sack [(700, 1_000)] => pass, resend [600]);
    ack!(rig, 252, 1_000 => pass);
    assert_eq!(rig.count(LH_C_local_retransmits), 3);
}

#[test]
fn a_repair_that_overtakes_the_queue_causes_no_other() {
    for sack in [false, true] {
        let mut rig = rig(sack);
        rig.burst(200, 0, 100, 20); // the first is lost, ten still queue
        ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
        for i in 2..=9u64 {
            ack!(rig, 220 + i, 0, sack [(100, 100 + i as i64 * 100)] => hold);
        }
        // The repair overtook 1000 to 1999: they are not lost.
        ack!(rig, 232, 1_000 => pass);
        for i in 11..=20i64 {
            ack!(rig, 232 + i as u64, i * 100 => pass);
        }
        assert_eq!(rig.count(LH_C_local_retransmits), 1);
    }
}

#[test]
fn one_partial_repair_per_segment() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 10);
    ack!(rig, 220, 0 => hold, resend [0]);
    for i in 2..=8 {
        ack!(rig, 220 + i, 0 => hold);
    }
    ack!(rig, 232, 300 => pass, resend [300]);
    // A repeated or partly new number does not send it again.
    ack!(rig, 233, 350 => pass);
    ack!(rig, 234, 350 => hold);
}

#[test]
fn no_partial_repair_of_what_the_sender_repeats() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 10);
    ack!(rig, 220, 0 => hold, resend [0]);
    for i in 2..=8 {
        ack!(rig, 220 + i, 0 => hold);
    }
    data!(rig, 230, 300, 100);
    ack!(rig, 232, 300 => pass);
    assert_eq!(rig.count(LH_C_retransmits_partial), 0);
}

// Timers.

#[test]
fn the_heads_timer_backs_off_up_to_sixteen_times() {
    let mut rig = rig(false);
    data!(rig, 200, 0, 100);
    let mut at = 200;
    for n in 0..10u32 {
        at += 80 << n.min(4);
        assert_eq!(rig.deadline(), Some(at), "repair {n}");
        timer!(rig, at - 1 => pass);
        timer!(rig, at => pass, resend [0]);
    }
    assert_eq!(rig.deadline(), None, "max_local");
    assert_eq!(rig.count(LH_C_retransmits_timer), 10);
    assert_eq!(rig.count(LH_C_exhausted_segments), 1);
    // From here on it is congestion.
    data!(rig, at, 100, 100);
    ack!(rig, at + 5, 0 => pass);
    // FH's repetition gives us another go, and FH the duplicates.
    data!(rig, at + 10, 0, 100);
    assert_eq!(rig.deadline(), Some(at + 90));
    ack!(rig, at + 15, 0 => pass);
}

#[test]
fn a_smaller_limit() {
    let config = Config {
        max_local: 2,
        ..classic()
    };
    let mut rig = rig_with(config, true);
    rig.burst(200, 0, 100, 5);
    ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
    timer!(rig, 370 => pass, release 1);
    timer!(rig, 380 => pass, resend [0]);
    assert_eq!(rig.deadline(), None);
    ack!(rig, 390, 0, sack [(100, 300)] => pass);
}

#[test]
fn progress_puts_the_timer_off() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 5);
    assert_eq!(rig.deadline(), Some(280));
    rig.ack(270, 100, &[]);
    let lrto_ms = |rig: &Rig| rig.flow().lrto_ns(&classic()) / MSEC_NS;
    let due = 270 + lrto_ms(&rig);
    assert_eq!(rig.deadline(), Some(due), "a queue that moves is not late");
    timer!(rig, 340 => pass);
    rig.ack(340, 400, &[]);
    let due = 340 + lrto_ms(&rig);
    assert_eq!(rig.deadline(), Some(due));
    timer!(rig, due + 1 => pass, resend [400]);
}

#[test]
fn timer_only_after_a_duplicate_driven_repair() {
    let config = Config {
        timer_arm: LH_TIMER_AFTER_DUP,
        ..classic()
    };
    let mut rig = rig_with(config, true);
    rig.burst(200, 0, 100, 5);
    assert_eq!(rig.deadline(), None);
    ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
    assert_eq!(rig.deadline(), Some(370), "the held ACK");
    timer!(rig, 370 => pass, release 1);
    assert_eq!(rig.deadline(), Some(380), "twice LRTO after the repair");
    timer!(rig, 380 => pass, resend [0]);
    rig.ack(390, 500, &[]);
    rig.burst(400, 500, 100, 5);
    assert_eq!(rig.deadline(), None);
}

#[test]
fn duplicates_after_a_repair_by_the_timer() {
    let mut rig = rig(true);
    rig.burst(200, 0, 100, 5);
    timer!(rig, 280 => pass, resend [0]);
    // These come at once and may belong to the original's successors.
    ack!(rig, 281, 0, sack [(100, 200)] => hold);
    ack!(rig, 290, 0, sack [(100, 300)] => hold, resend [0]);
    ack!(rig, 295, 0, sack [(100, 400)] => hold);
}

// What else comes from MH.

#[test]
fn an_ack_beyond_everything_starts_anew() {
    for sack in [false, true] {
        let mut rig = rig(sack);
        rig.burst(200, 0, 100, 5);
        ack!(rig, 210, 0, sack [(100, 200)] => hold, resend [0]);
        // Beyond the window that MH has granted as far as we know.
        rig.fh_sends(215, rig.segment(140_000, 100));
        ack!(rig, 220, 140_100 => pass); // what it speaks of was granted unseen
        assert!(rig.ring().is_empty());
        assert_eq!(rig.deadline(), None);
        data!(rig, 230, 140_100, 100);
        data!(rig, 230, 140_200, 100);
        ack!(rig, 240, 140_100, sack [(140_200, 140_300)] => hold, resend [140_100]);
        ack!(rig, 250, 140_300 => pass);
    }
}

#[test]
fn old_acks_pass_and_change_nothing() {
    for sack in [false, true] {
        let mut rig = rig(sack);
        rig.burst(200, 0, 100, 5);
        rig.ack(210, 200, &[]);
        let before = *rig.flow().raw();
        rig.window += 7;
        ack!(rig, 211, 100 => pass);
        ack!(rig, 211, 100, sack [(200, 300)] => pass);
        rig.window -= 7;
        let after = *rig.flow().raw();
        assert_eq!(
            (
                before.una,
                before.hold.fwd_ack,
                before.hold.fwd_edge,
                before.hold.last_window
            ),
            (
                after.una,
                after.hold.fwd_ack,
                after.hold.fwd_edge,
                after.hold.last_window
            )
        );
        ack!(rig, 212, 200, sack [(300, 400)] => hold, resend [200]);
    }
}

#[test]
fn uploads_pass_and_still_tell_of_losses() {
    let mut rig = rig(true);
    rig.burst(200, 0, 100, 5);
    for i in 0..4 {
        let tcp = Tcp {
            seq: rig.pure(0, &[]).seq + i * 10,
            payload: vec![1; 10],
            ..rig.pure(0, &[])
        };
        expect!(rig.mh_sends(205, tcp), pass);
    }
    let tcp = Tcp {
        payload: vec![1; 10],
        ..rig.pure(0, &[(100, 200)])
    };
    expect!(rig.mh_sends(210, tcp), pass, resend[0]);
}

#[test]
fn uploads_without_sack_are_no_duplicates() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 5);
    for i in 0..10 {
        let tcp = Tcp {
            seq: rig.pure(0, &[]).seq + i * 10,
            payload: vec![1; 10],
            ..rig.pure(0, &[])
        };
        expect!(rig.mh_sends(205, tcp), pass);
    }
    assert_eq!(rig.count(LH_C_duplicate_acks), 0);
}

#[test]
fn window_updates_pass_and_are_no_loss() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 5);
    for i in 1..10 {
        rig.window += 1;
        ack!(rig, 200 + i, 0 => pass);
    }
    assert_eq!(rig.count(LH_C_duplicate_acks), 0);
    assert_eq!(rig.count(LH_C_local_retransmits), 0);
}

#[test]
fn zero_window_probes_are_neither_cached_nor_loss_signals() {
    for sack in [false, true] {
        let mut rig = rig(sack);
        rig.burst(200, 0, 100, 2);
        rig.window = 0;
        ack!(rig, 210, 200 => pass);
        for ms in [400, 800, 1_600] {
            assert!(!rig.data(ms, 200, 1), "a probe is not cached");
            ack!(rig, ms + 10, 200 => pass);
        }
        rig.window = 1_000;
        ack!(rig, 2_000, 200 => pass);
        assert_eq!(rig.count(LH_C_local_retransmits), 0);
        assert_eq!(rig.deadline(), None);
        // The probe's byte is sent again with all the rest.
        data!(rig, 2_010, 200, 100);
        data!(rig, 2_010, 300, 100);
        ack!(rig, 2_020, 400 => pass);
    }
}

#[test]
fn keepalives_pass() {
    let mut rig = rig(false);
    rig.burst(200, 0, 100, 2);
    rig.ack(210, 200, &[]);
    for len in [0, 1] {
        assert!(!rig.data(60_000, 199, len));
        ack!(rig, 60_010, 200 => pass);
    }
    assert_eq!(rig.deadline(), None);
    assert_eq!(rig.count(LH_C_duplicate_acks), 0);
}

#[test]
fn sacked_segments_stay_until_acknowledged() {
    let mut rig = rig(true);
    rig.burst(200, 0, 100, 5);
    ack!(rig, 210, 0, sack [(100, 300), (400, 500)] => hold, resend [0]);
    let sacked: Vec<_> = rig.agent.entries(&rig.key.clone());
    let sacked: Vec<_> = sacked
        .iter()
        .map(|e| u32::from(e.flags) & LH_SEG_SACKED)
        .collect();
    assert_eq!(sacked, [0, LH_SEG_SACKED, LH_SEG_SACKED, 0, LH_SEG_SACKED]);
    // Partly covered ones are not SACKed; blocks beyond all data are nonsense.
    ack!(rig, 211, 0, sack [(300, 350), (100, 300), (900, 9_000)] => hold);
    let flags = |rig: &mut Rig, i: usize| rig.agent.entries(&rig.key.clone())[i].flags;
    assert_eq!(u32::from(flags(&mut rig, 3)), 0);
    ack!(rig, 212, 0, sack [(350, 500), (100, 300)] => hold);
    assert_eq!(u32::from(flags(&mut rig, 3)), 0, "half of it is missing");
    assert_eq!(rig.ring().len(), 5);
    assert_eq!(rig.flow().raw().sacked_max, wire(500));
}

/// FH repeats a SACKed segment together with bytes that never passed before:
/// these are not SACKed, nor ours to repair.
#[test]
fn a_sacked_segment_that_grows_is_not_sacked_as_a_whole() {
    let mut rig = rig(true);
    rig.burst(200, 0, 100, 2);
    ack!(rig, 210, 0, sack [(100, 200)] => hold, resend [0]);
    data!(rig, 215, 100, 150); // lost
    data!(rig, 216, 250, 100);
    ack!(rig, 226, 0, sack [(250, 350), (100, 200)] => pass, resend [0]);
}
