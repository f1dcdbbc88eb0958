// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme `slack` in outages (docs/design.md, sections 5.4 and 5.5; core/outage.h): when FH is told,
//! what it gets, how the end is found out and the lost window repaired. Every script loses ten
//! segments from 100 on, the last progress being at 210 ms: R is 100 ms, so FH's timeout is 300 ms,
//! three quarters 225.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Tcp, option};
use lasthop_core::{Config, names, parse};

use crate::rig::{Options, Rig, Seen, classic, ns, wire};

fn slack() -> Config {
    Config {
        scheme: Config::slack().scheme,
        ..classic()
    }
}

fn cut_off_with(config: Config, sack: bool) -> Rig {
    let mut rig = Rig::new(&Options {
        config,
        sack,
        ..Options::default()
    });
    cut_off(&mut rig);
    rig
}

/// Eleven segments go, one arrives.
fn cut_off(rig: &mut Rig) {
    rig.ack(150, 0, &[]);
    rig.burst(200, 0, 100, 11);
    ack!(rig, 210, 100 => pass);
}

/// The two repairs that fail, and the outage that is noticed then.
fn fail(rig: &mut Rig) {
    timer!(rig, 289 => pass);
    timer!(rig, 290 => pass, resend [100]);
    timer!(rig, 369 => pass);
    timer!(rig, 370 => pass, resend [100]);
    assert_eq!(rig.count(LH_C_outages), 0);
    timer!(rig, 380 => pass);
    assert_eq!(rig.count(LH_C_outages), 1);
}

fn rig() -> Rig {
    cut_off_with(slack(), false)
}

/// Everything that the timers do up to `ms`.
fn run_until(rig: &mut Rig, ms: u64) -> Seen {
    let mut all = rig.timer(0);
    for _ in 0..1_000 {
        match rig.deadline().filter(|&at| at < ms) {
            Some(at) => {
                let seen = rig.timer(at + 1);
                all.resent.extend(seen.resent);
                all.released += seen.released;
            }
            None => return all,
        }
    }
    panic!("deadlines without end");
}

fn link(rig: &mut Rig, ms: u64, up: bool) -> (Vec<u32>, usize) {
    let mut done = rig.agent.on_link(up, ns(ms));
    assert_eq!(done.len(), 1, "the flow has something cached");
    let outcome = done.remove(0).1;
    let resent = outcome.actions.expect("actions");
    let seqs = resent.retransmits().iter();
    (
        seqs.map(|r| r.seq.wrapping_sub(wire(0))).collect(),
        outcome.to_fh.len(),
    )
}

#[test]
fn three_copies_before_the_timeout_and_no_more() {
    let mut rig = rig();
    fail(&mut rig);
    assert_eq!(rig.deadline(), Some(435));
    timer!(rig, 434 => pass);
    let outcomes = rig.agent.on_timer(ns(435));
    let last = rig.pure(100, &[]).to_fh(&rig.ends);
    assert_eq!(outcomes[0].1.to_fh, vec![last; 3], "as MH sent it");
    timer!(rig, 450 => pass, resend [100]);
    let later = run_until(&mut rig, 20_000);
    assert_eq!(later.released, 0);
    assert!(later.resent.iter().all(|&seq| seq == 100));
    assert_eq!(rig.count(LH_C_slack_bursts), 1);
    assert_eq!(rig.count(LH_C_released_acks), 0);
    assert_eq!(rig.count(LH_C_slack_inapplicable), 0);
}

/// A least timeout of 500 ms, as the papers' senders have it.
#[test]
fn the_time_follows_rto_min() {
    let mut rig = cut_off_with(
        Config {
            rto_min_ns: 500_000_000,
            ..slack()
        },
        false,
    );
    fail(&mut rig);
    timer!(rig, 450 => pass, resend [100]);
    let seen = run_until(&mut rig, 659);
    assert_eq!(seen.released, 0);
    timer!(rig, 660 => pass, release 3);
}

/// FH's clock runs from its own transmission where nothing was under way before.
#[test]
fn after_a_pause_the_way_to_fh_counts() {
    let mut rig = Rig::new(&Options {
        config: Config {
            rto_min_ns: 500_000_000,
            ..slack()
        },
        ..Options::default()
    });
    rig.ack(150, 0, &[]);
    rig.burst(9_000, 0, 100, 5);
    let seen = run_until(&mut rig, 9_359);
    assert_eq!((seen.resent, seen.released), (vec![0; 4], 0));
    timer!(rig, 9_360 => pass, release 3);
}

#[test]
fn each_new_ack_allows_another_burst() {
    let mut rig = rig();
    fail(&mut rig);
    timer!(rig, 435 => pass, release 3);
    ack!(rig, 440, 300 => pass, resend [300, 400, 500, 600]);
    assert_eq!(run_until(&mut rig, 1_000).released, 3);
    assert_eq!(rig.count(LH_C_slack_bursts), 2);
    assert_eq!(rig.count(LH_C_outages), 2);
}

#[test]
fn further_bursts_wait_for_fhs_restarted_timer() {
    let config = Config {
        slack_bursts: 2,
        ..slack()
    };
    let mut rig = cut_off_with(config, false);
    fail(&mut rig);
    timer!(rig, 435 => pass, release 3);
    data!(rig, 525, 100, 100); // FH's fast retransmit, sent at 480
    assert_eq!(run_until(&mut rig, 659).released, 0);
    timer!(rig, 660 => pass, release 3);
    assert_eq!(run_until(&mut rig, 10_000).released, 0);
}

#[test]
fn a_sender_that_was_faster_is_left_alone() {
    let mut rig = rig();
    data!(rig, 365, 100, 100);
    let seen = run_until(&mut rig, 10_000);
    assert_eq!(seen.released, 0);
    assert_eq!(rig.count(LH_C_outages), 1);
    assert_eq!(rig.count(LH_C_slack_inapplicable), 0);
}

#[test]
fn with_sack_only_new_blocks_help() {
    let mut rig = cut_off_with(slack(), true);
    fail(&mut rig);
    let seen = run_until(&mut rig, 10_000);
    assert_eq!(seen.released, 0);
    assert_eq!(rig.count(LH_C_slack_inapplicable), 1, "once per outage");
    assert_eq!(rig.count(LH_C_slack_bursts), 0);
}

#[test]
fn with_sack_the_kept_duplicate_goes_out() {
    let config = Config {
        rto_min_ns: 1_000_000,
        ..slack()
    };
    let mut rig = cut_off_with(config, true);
    ack!(rig, 215, 100, sack [(200, 300)] => hold, resend [100]);
    timer!(rig, 295 => pass, resend [100]);
    timer!(rig, 305 => pass, release 1); // the hold timer's turn were 365
    assert_eq!(rig.count(LH_C_slack_bursts), 1);
    assert_eq!(rig.count(LH_C_released_acks), 1);
    assert!(!rig.flow().is_held());
}

#[test]
fn a_released_ack_is_the_burst() {
    let mut rig = rig();
    ack!(rig, 215, 100 => hold, resend [100]);
    let seen = run_until(&mut rig, 10_000);
    assert_eq!(seen.released, 3, "by the hold timer, and not again");
    assert_eq!(rig.count(LH_C_held_expired), 1);
    assert_eq!(rig.count(LH_C_slack_bursts), 0);
    assert_eq!(rig.count(LH_C_slack_inapplicable), 0);
}

#[test]
fn nothing_is_told_to_foreign_flows() {
    let mptcp = Rig::new(&Options {
        config: slack(),
        mh_options: option::other(30, 4),
        ..Options::default()
    });
    let mut signed = Rig::new(&Options {
        config: slack(),
        ..Options::default()
    });
    let md5 = Tcp {
        options: option::other(19, 18),
        ..signed.segment(0, 0)
    };
    signed.fh_sends(20, md5);
    for (mut rig, flag) in [(mptcp, LH_FLOW_MPTCP), (signed, LH_FLOW_AUTH)] {
        assert!(rig.flow().has(flag));
        cut_off(&mut rig);
        let seen = run_until(&mut rig, 10_000);
        assert_eq!(seen.released, 0);
        assert_eq!(rig.count(LH_C_outages), 1, "repaired all the same");
        assert_eq!(rig.count(LH_C_slack_inapplicable), 1);
    }
}

#[test]
fn without_user_space_nothing_is_made_up() {
    for freeze in [0, 1] {
        let mut rig = cut_off_with(Config { freeze, ..slack() }, false);
        fail(&mut rig);
        rig.agent.set_alive(false);
        assert_eq!(run_until(&mut rig, 10_000).released, 0);
        assert_eq!(rig.count(LH_C_slack_inapplicable), 1);
    }
}

/// A bare ACK from before is out of date for FH, and another there is not.
#[test]
fn behind_mhs_own_data_there_is_no_copy() {
    let mut rig = rig();
    let talk = Tcp {
        payload: vec![1; 10],
        ..rig.pure(100, &[])
    };
    expect!(rig.mh_sends(212, talk), pass);
    assert_eq!(run_until(&mut rig, 10_000).released, 0);
    assert_eq!(rig.count(LH_C_slack_inapplicable), 1);
}

/// MH is slow, but there: that is no outage.
#[test]
fn a_silence_is_part_of_it() {
    let config = Config {
        slack_quiet_ns: 300_000_000,
        ..slack()
    };
    let mut rig = cut_off_with(config, false);
    timer!(rig, 290 => pass, resend [100]);
    timer!(rig, 370 => pass, resend [100]);
    timer!(rig, 509 => pass);
    assert_eq!(rig.count(LH_C_outages), 0);
    timer!(rig, 510 => pass, resend [100], release 3);
    assert_eq!(rig.count(LH_C_outages), 1);
}

#[test]
fn a_whole_window_is_repaired_as_by_slow_start() {
    let mut rig = Rig::new(&Options {
        config: slack(),
        ..Options::default()
    });
    rig.ack(150, 0, &[]);
    rig.burst(200, 0, 100, 25); // over the wrap
    ack!(rig, 210, 100 => pass);
    run_until(&mut rig, 1_000);
    // The answer to a probe; then MH acknowledges every second segment.
    ack!(rig, 1_010, 200 => pass, resend [200, 300]);
    ack!(rig, 1_022, 400 => pass, resend [400, 500, 600, 700]);
    ack!(rig, 1_034, 600 => pass, resend [800, 900, 1_000, 1_100]);
    ack!(rig, 1_035, 800 => pass, resend [1_200, 1_300, 1_400, 1_500]);
    ack!(rig, 1_047, 1_000 => pass, resend [1_600, 1_700, 1_800, 1_900]);
    ack!(rig, 1_048, 1_200 => pass, resend [2_000, 2_100, 2_200, 2_300]);
    // One got lost again: found by the duplicate, as ever.
    ack!(rig, 1_049, 1_200 => hold, resend [1_200]);
    ack!(rig, 1_050, 1_200 => hold);
    ack!(rig, 1_062, 2_400 => pass, resend [2_400]);
    ack!(rig, 1_074, 2_500 => pass);
    assert!(!rig.flow().has(LH_FLOW_RECOVERY));
    assert_eq!(rig.flow().raw().outage.back_ns, 0);
    assert_eq!(rig.deadline(), None);
    assert_eq!(rig.count(LH_C_exhausted_segments), 0);
}

#[test]
fn a_sign_of_mh_brings_the_oldest_at_once() {
    let mut rig = rig();
    run_until(&mut rig, 700);
    ack!(rig, 755, 100 => pass, resend [100]);
    // What FH has sent in the meantime is behind the recovery point.
    assert!(rig.data(756, 1_100, 100));
    ack!(rig, 765, 1_100 => pass);
    assert!(!rig.flow().has(LH_FLOW_RECOVERY));
    ack!(rig, 775, 1_200 => pass);
}

/// A probe on its way is the oldest at once (invariant I10).
#[test]
fn not_twice_within_a_round_trip() {
    let mut rig = rig();
    fail(&mut rig);
    timer!(rig, 435 => pass, release 3);
    timer!(rig, 450 => pass, resend [100]);
    ack!(rig, 455, 100 => pass, resend [200]);
}

/// What MH gets twice it answers with a duplicate ACK, which is no loss.
#[test]
fn echoes_of_fhs_own_repairs_are_none_of_a_loss() {
    let mut rig = rig();
    run_until(&mut rig, 700);
    ack!(rig, 755, 1_100 => pass);
    rig.burst(760, 1_100, 100, 5);
    for (ms, seq) in [(765, 300), (766, 400)] {
        assert!(!rig.data(ms, seq, 100), "MH has it");
    }
    ack!(rig, 775, 1_100 => hold);
    ack!(rig, 776, 1_100 => hold);
    assert!(!rig.flow().is_held(), "kept for good");
    ack!(rig, 777, 1_100 => hold, resend [1_100]);
}

/// FH repeats because an ACK was lost beyond the agent: the echo is what it waits for. So it is
/// where it asks whether anybody is there.
#[test]
fn echoes_that_fh_waits_for_pass() {
    for (ms, seq, len) in [(900, 300, 100), (760, 1_099, 1)] {
        let mut rig = rig();
        run_until(&mut rig, 700);
        ack!(rig, 755, 1_100 => pass);
        assert!(!rig.data(ms, seq, len), "MH has it");
        ack!(rig, ms + 10, 1_100 => pass);
    }
}

#[test]
fn probes_end_and_exhaust_nobody() {
    let mut rig = rig();
    let seen = run_until(&mut rig, 10_000_000);
    let probes = u32::try_from(seen.resent.len()).unwrap();
    assert_eq!(probes, 2 + 64);
    assert_eq!(rig.deadline(), None);
    assert_eq!(rig.count(LH_C_exhausted_segments), 0);
    ack!(rig, 10_000_000, 100 => pass, resend [100]);
}

#[test]
fn probes_are_an_eighth_of_the_outage_apart() {
    let mut rig = rig();
    run_until(&mut rig, 8_000);
    let at = rig.deadline().expect("a probe");
    timer!(rig, at + 1 => pass, resend [100]);
    let gap = rig.deadline().expect("another") - at;
    assert!(
        (at - 380) / 9 <= gap && gap <= (at - 380) / 7,
        "{gap} at {at}"
    );
}

#[test]
fn the_links_word_replaces_the_failures() {
    let mut rig = rig();
    assert_eq!(link(&mut rig, 220, false), (vec![], 0));
    assert_eq!(rig.count(LH_C_outages), 1);
    assert_eq!(rig.deadline(), Some(435), "no probes meanwhile");
    timer!(rig, 435 => pass, release 3);
    assert_eq!(rig.deadline(), Some(5_220), "the word may be wrong");
    assert_eq!(link(&mut rig, 700, true), (vec![100], 0));
    assert_eq!(rig.deadline(), Some(780), "the word may be early");
    timer!(rig, 780 => pass, resend [100]);
    ack!(rig, 790, 200 => pass, resend [200, 300]);
    assert_eq!(rig.count(LH_C_outages), 1);
}

#[test]
fn mh_knows_better_than_the_link() {
    let mut rig = rig();
    link(&mut rig, 220, false);
    ack!(rig, 230, 200 => pass, resend [200, 300]);
    assert_eq!(rig.flow().raw().outage.down_ns, 0);
    assert_eq!(rig.deadline(), Some(310));
}

#[test]
fn handoff_copies_are_for_senders_without_sack() {
    for (sack, copies) in [(false, 2), (true, 0)] {
        let config = Config {
            handoff: 2,
            ..slack()
        };
        let mut rig = cut_off_with(config, sack);
        assert_eq!(link(&mut rig, 230, true), (vec![100], copies));
        assert_eq!(rig.count(LH_C_handoff_acks), copies as u64);
        ack!(rig, 240, 1_100 => pass);
        assert!(
            rig.agent.on_link(true, ns(300)).is_empty(),
            "nothing is open"
        );
    }
}

/// Programs in the kernel are told of the link for schemes with `LH_POLICY_LINK` only: it must make no difference
/// to the others.
#[test]
fn other_schemes_take_no_notice() {
    let mut told = 0;
    for scheme in names::schemes() {
        let config = Config {
            scheme: scheme.id,
            handoff: 3,
            ..classic()
        };
        if config.policy() & LH_POLICY_LINK != 0 {
            told += 1;
            continue;
        }
        let mut rig = Rig::new(&Options {
            config,
            ..Options::default()
        });
        rig.ack(150, 0, &[]);
        for i in 0..11 {
            rig.data(200 + i, 100 * i as i64, 100);
        }
        rig.ack(210, 100, &[]);
        let (before, deadline) = (format!("{:?}", rig.flow().raw()), rig.deadline());
        for up in [false, true] {
            for (_, outcome) in rig.agent.on_link(up, ns(230)) {
                assert!(outcome.to_fh.is_empty() && outcome.to_mh.is_empty());
            }
        }
        assert_eq!(rig.deadline(), deadline, "{}", scheme.name);
        let after = format!("{:?}", rig.flow().raw());
        assert_eq!(after, before, "{}", scheme.name);
    }
    assert!(told >= 3);
}

fn frozen(sack: bool) -> Rig {
    let config = Config {
        freeze: 1,
        ..slack()
    };
    let mut rig = cut_off_with(config, sack);
    fail(&mut rig);
    let told = rig.agent.on_timer(ns(435));
    let closed = Tcp {
        window: 0,
        ..rig.pure(100, &[])
    };
    assert_eq!(told[0].1.to_fh, [closed.to_fh(&rig.ends)]);
    assert_eq!(rig.count(LH_C_freezes), 1);
    assert_eq!(rig.count(LH_C_slack_bursts), 0);
    rig
}

#[test]
fn a_closed_window_is_opened_by_mhs_next_word() {
    for sack in [false, true] {
        let mut rig = frozen(sack);
        // The very ACK that would else be kept back.
        ack!(rig, 500, 100, sack [(300, 400)] => pass, resend [100]);
        assert_eq!(rig.flow().raw().outage.frozen, 0);
        ack!(rig, 502, 100, sack [(300, 500)] => hold);
        assert_eq!(
            run_until(&mut rig, 10_000).released,
            if sack { 1 } else { 3 }
        );
        assert_eq!(rig.count(LH_C_freezes), 1, "once until the next new ACK");
    }
}

#[test]
fn a_closed_window_is_opened_by_the_link() {
    let mut rig = frozen(true);
    let mut done = rig.agent.on_link(true, ns(700));
    let open = rig.pure(100, &[]).to_fh(&rig.ends);
    assert_eq!(done.remove(0).1.to_fh, [open]);
    assert_eq!(rig.flow().raw().outage.frozen, 0);
}

#[test]
fn a_closed_window_is_opened_on_leaving() {
    let mut rig = frozen(false);
    let key = rig.key;
    let open = rig.pure(100, &[]).to_fh(&rig.ends);
    assert_eq!(rig.agent.forget(&key, ns(700)), [open]);
}

#[test]
fn a_closed_window_is_probed_and_the_answer_passes() {
    let mut rig = frozen(false);
    assert!(!rig.data(470, 100, 1), "a probe is not cached");
    let answer = Tcp {
        window: 900,
        ..rig.pure(100, &[])
    };
    let packet = answer.to_fh(&rig.ends);
    let outcome = rig.agent.on_ingress(&packet, ns(500));
    assert_eq!(outcome.passed, Some(packet));
    let (s, _) = parse(&answer.to_fh(&rig.ends), 0, None, false).unwrap();
    let edge = s.ack.wrapping_add(900 << 7);
    assert_eq!(rig.flow().raw().hold.fwd_edge, edge);
}

#[test]
fn the_end_of_the_stream_is_part_of_the_window() {
    let mut rig = rig();
    let fin = Tcp {
        flags: LH_ACK | LH_FIN,
        ..rig.segment(1_100, 0)
    };
    rig.fh_sends(300, fin);
    run_until(&mut rig, 1_000);
    ack!(rig, 1_010, 900 => pass, resend [900, 1_000, 1_100]);
    ack!(rig, 1_020, 1_101 => pass);
    assert_eq!(rig.deadline(), None);
}

#[test]
fn a_reset_ends_it() {
    for from_fh in [true, false] {
        let mut rig = rig();
        fail(&mut rig);
        let flags = LH_RST | LH_ACK;
        if from_fh {
            let rst = Tcp {
                flags,
                ..rig.bare()
            };
            rig.fh_sends(400, rst);
        } else {
            let rst = Tcp {
                flags,
                ..rig.pure(100, &[])
            };
            rig.mh_sends(400, rst);
        }
        assert_eq!(rig.deadline(), None);
        assert_eq!(link(&mut rig, 410, true), (vec![], 0));
    }
}
