// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Hold and release of duplicate ACKs (docs/design.md, section 3.6).

use lasthop_core::bindings::*;
use lasthop_core::packet::Tcp;
use lasthop_core::{Config, parse};

use crate::rig::{MH_BASE, Options, Rig, classic, ns, rig_with};

/// The same scheme's outages.
fn slack_of(config: Config) -> Config {
    Config {
        scheme: Config::slack().scheme,
        ..config
    }
}

fn rig(sack: bool) -> Rig {
    let mut rig = Rig::new(&Options {
        sack,
        ..Options::default()
    });
    rig.ack(150, 0, &[]);
    rig.burst(200, 0, 100, 10);
    rig
}

#[test]
fn by_the_timer_one_copy_with_sack_three_without() {
    for (sack, copies) in [(true, 1), (false, 3)] {
        let mut rig = rig(sack);
        ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
        // The clock runs from the first one, whatever comes after it.
        ack!(rig, 221, 0, sack [(100, 300)] => hold);
        ack!(rig, 300, 0, sack [(100, 400)] => hold);
        assert_eq!(rig.deadline(), Some(370));
        timer!(rig, 369 => pass);
        timer!(rig, 370 => pass, release copies);
        assert_eq!(rig.count(LH_C_held_expired), 1);
        assert_eq!(rig.count(LH_C_released_acks), copies as u64);
        // Once is enough, and what comes now passes.
        assert_eq!(rig.deadline(), Some(380), "the head's timer");
        ack!(rig, 371, 0, sack [(100, 500)] => pass);
        timer!(rig, 379 => pass);
    }
}

#[test]
fn by_arrival_the_newest_passes_itself() {
    for (sack, copies) in [(true, 0), (false, 2)] {
        let mut rig = rig(sack);
        ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
        ack!(rig, 300, 0, sack [(100, 300)] => hold);
        ack!(rig, 371, 0, sack [(100, 400)] => pass, release copies);
        ack!(rig, 372, 0, sack [(100, 500)] => pass);
        assert_eq!(rig.count(LH_C_held_expired), 0);
    }
}

#[test]
fn a_new_ack_supersedes_what_was_kept() {
    for sack in [false, true] {
        let mut rig = rig(sack);
        ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
        ack!(rig, 235, 1_000 => pass);
        assert!(!rig.flow().is_held());
        assert_eq!(rig.deadline(), None);
        timer!(rig, 1_000 => pass);
        assert_eq!(rig.count(LH_C_released_acks), 0);
    }
}

#[test]
fn what_is_released_is_the_newest_byte_for_byte() {
    let mut rig = rig(true);
    let mut newest = Vec::new();
    for i in 1..5 {
        let tcp = Tcp {
            ..rig.pure(0, &[(100, 100 + i * 100)])
        };
        newest = tcp.to_fh(&rig.ends);
        assert!(rig.agent.on_ingress(&newest, ns(220)).dropped);
    }
    let released = rig.agent.on_timer(ns(370));
    assert_eq!(released.len(), 1);
    assert_eq!(released[0].1.to_fh, [newest]);
}

#[test]
fn without_user_space_the_next_one_passes() {
    let mut rig = rig(false);
    ack!(rig, 220, 0 => hold, resend [0]);
    rig.agent.set_alive(false);
    ack!(rig, 221, 0 => pass, release 2);
    rig.agent.set_alive(true);
    ack!(rig, 222, 0 => pass); // given up until the next new ACK
    assert_eq!(rig.count(LH_C_bypass_stale), 1);
}

#[test]
fn fhs_own_repetition_releases() {
    let mut rig = rig(false);
    ack!(rig, 220, 0 => hold, resend [0]);
    data!(rig, 225, 0, 100);
    ack!(rig, 230, 0 => pass, release 2);
}

#[test]
fn both_timers_may_be_due_at_once() {
    let mut rig = rig(true);
    ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
    timer!(rig, 500 => pass, resend [0], release 1);
    assert_eq!(rig.count(LH_C_timer_kicks), 1);
}

#[test]
fn a_repair_may_go_out_with_a_release() {
    // More duplicates than explained, after the hold time: the last local try
    // and the release come in one call.
    let mut rig = rig(false);
    ack!(rig, 220, 0 => hold, resend [0]);
    for i in 2..=9 {
        ack!(rig, 220 + i, 0 => hold);
    }
    ack!(rig, 375, 0 => pass, resend [0], release 2);
}

#[test]
fn a_flow_with_a_held_ack_is_never_forgotten_by_itself() {
    let mut rig = rig(true);
    ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
    let rst = Tcp {
        flags: LH_RST,
        ..rig.bare()
    };
    rig.fh_sends(230, rst);
    assert_eq!(rig.agent.sweep(ns(100_000)), 0);
    timer!(rig, 100_000 => pass, release 1); // no repair: nobody wants it any more
    assert_eq!(rig.agent.sweep(ns(100_000)), 1);
    assert_eq!(rig.agent.host().pool().slots_used(), 0);
}

#[test]
fn forgetting_by_force_returns_what_was_kept() {
    for (sack, copies) in [(true, 1), (false, 3)] {
        let mut rig = rig(sack);
        let tcp = rig.pure(0, &[(100, 200)]).to_fh(&rig.ends);
        assert!(rig.agent.on_ingress(&tcp, ns(220)).dropped);
        let key = rig.key;
        assert_eq!(rig.agent.forget(&key, ns(220)), vec![tcp; copies]);
        assert_eq!(rig.agent.next_deadline(), None);
        assert_eq!(rig.agent.host().pool().slots_used(), 0);
        assert!(rig.agent.forget(&key, ns(220)).is_empty());
    }
}

/// A window update passes while a duplicate is kept: the copies that go out
/// later must not take the window back (invariant I16).
#[test]
fn a_copy_does_not_move_the_window_left() {
    let mut rig = rig(false);
    ack!(rig, 220, 0 => hold, resend [0]);
    rig.window = 1_200;
    let update = rig.pure(0, &[]);
    expect!(rig.mh_sends(230, update.clone()), pass);
    let released = rig.agent.on_timer(ns(370));
    assert_eq!(released[0].1.to_fh, vec![update.to_fh(&rig.ends); 3]);
    // Not so if more comes along than the ACK: nothing may be said twice.
    let mut rig = self::rig(false);
    ack!(rig, 220, 0 => hold, resend [0]);
    let kept = rig.pure(0, &[]).to_fh(&rig.ends);
    let upload = Tcp {
        payload: vec![1; 10],
        ..rig.pure(0, &[])
    };
    expect!(rig.mh_sends(230, upload), pass);
    let released = rig.agent.on_timer(ns(370));
    assert_eq!(released[0].1.to_fh, vec![kept; 3]);
}

/// What of Linux asks whether FH's window is open, or FH still there, is an empty segment with the number
/// before MH's next. FH has to answer it, and nothing is lost.
#[test]
fn a_probe_of_mhs_passes() {
    for config in [classic(), Config::default(), Config::slack()] {
        for sack in [false, true] {
            let mut rig = rig_with(config, sack);
            rig.burst(200, 0, 100, 5);
            let probe = Tcp {
                seq: MH_BASE - 1,
                ..rig.pure(0, &[(100, 500)])
            };
            expect!(rig.mh_sends(206, probe), pass);
        }
    }
}

/// The same when MH has sent something before.
#[test]
fn a_probe_behind_mhs_data_passes() {
    let mut rig = rig_with(classic(), false);
    let request = Tcp {
        payload: vec![1; 100],
        ..rig.pure(0, &[])
    };
    rig.mh_sends(160, request);
    rig.burst(200, 0, 100, 5);
    let from = |seq| Tcp {
        seq,
        ..rig.pure(0, &[])
    };
    let (probe, ack) = (from(MH_BASE + 99), from(MH_BASE + 100));
    expect!(rig.mh_sends(206, probe), pass);
    expect!(rig.mh_sends(207, ack), hold, resend[0]);
}

/// MH has opened its window meanwhile, by an ACK that tells of no hole (invariant I16).
#[test]
fn what_is_released_does_not_take_the_window_back() {
    for config in [classic(), slack_of(classic())] {
        let mut rig = rig_with(config, true);
        rig.burst(200, 0, 100, 5);
        assert!(rig.ack(212, 0, &[(100, 500)]).held);
        rig.window = 2_000;
        let update = rig.pure(0, &[]);
        assert!(!rig.mh_sends(213, update).held);
        let mut windows = Vec::new();
        for (_, outcome) in rig.agent.on_timer(ns(2_500)) {
            for packet in &outcome.to_fh {
                let (s, _) = parse(packet, 0, None, false).expect("TCP");
                windows.push(s.window);
            }
        }
        assert_eq!(windows, [2_000]);
    }
}
