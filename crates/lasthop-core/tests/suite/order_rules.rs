// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What may be repaired, and when: one test per superfluous repair, or search for
//! one, that was made.

use lasthop_core::Config;
use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};

use crate::rack::rig;
use crate::rig::{MH_BASE, Options, Rig, ns, rig_with, wire};

fn silent() -> Rig {
    Rig::silent(&Options {
        config: Config::default(),
        sack: true,
        ..Options::default()
    })
}

/// MH resets the connection.
fn reset(rig: &mut Rig, ms: u64) {
    let rst = Tcp {
        seq: MH_BASE,
        ack: wire(0),
        flags: LH_RST | LH_ACK,
        window: 0,
        ..Tcp::default()
    };
    rig.mh_sends(ms, rst);
}

// Time.

/// Programs read the clock before they wait for the flow's lock: FH's repetition
/// went first although it came a microsecond later.
#[test]
fn time_that_runs_backwards_convicts_nothing() {
    let mut rig = rig(true);
    for i in 0..20 {
        data!(rig, 200, i * 1_000, 1_000);
    }
    let packet = rig.segment(0, 1_000).to_mh(&rig.ends);
    rig.agent.on_egress(&packet, ns(212) + 1_000);
    for i in 1..=20 {
        let ack = rig.pure(i * 1_000, &[]).to_fh(&rig.ends);
        let out = rig
            .agent
            .on_ingress(&ack, ns(212) + 10_000 * (i as u64 - 1));
        assert!(out.to_mh.is_empty(), "ACK {i}");
    }
    let f = rig.flow().raw();
    assert!(
        f.order.rtt_ns < ns(1_000) && f.order.xmit_ns <= ns(213),
        "{f:?}"
    );
}

/// Hosts look after flows for other reasons than a deadline.
#[test]
fn an_early_timer_does_nothing() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 12);
    // Five are lost, but an ACK repairs no more than it delivers.
    ack!(rig, 216, 0, sack [(5_000, 6_000)] => hold, resend [0]);
    let due = rig.agent.next_deadline();
    let out = rig.agent.kick(&rig.key, ns(217)).expect("the flow");
    assert!(out.to_mh.is_empty(), "MH's ACKs ask for these");
    assert_eq!(rig.agent.next_deadline(), due);
}

// Order.

/// FH filled a hole of its own network's making, and that went by unseen. What
/// had passed the hop behind the hole was SACKed long before: it was not late.
#[test]
fn a_sacked_head_is_not_late() {
    let mut rig = rig(true);
    data!(rig, 200, 0, 1_000);
    data!(rig, 201, 2_000, 1_000);
    data!(rig, 202, 3_000, 1_000);
    ack!(rig, 210, 1_000 => pass);
    ack!(rig, 211, 1_000, sack [(2_000, 3_000)] => pass);
    ack!(rig, 212, 1_000, sack [(2_000, 4_000)] => pass);
    ack!(rig, 300, 4_000 => pass);
    assert_eq!(
        (rig.count(LH_C_reordered), rig.flow().raw().order.reo_ns),
        (0, 0)
    );
}

/// Nothing was overtaken: the search, which would leave its mark at the chunk, is
/// spared.
#[test]
fn acks_without_loss_do_not_search_the_cache() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 5);
    let bound = |rig: &Rig| {
        rig.agent
            .host()
            .oldest_tx_ns(rig.flow(), rig.flow().raw().ring.head)
    };
    let before = bound(&rig);
    assert_eq!(before, ns(200));
    for i in 1..4u64 {
        ack!(rig, 210 + i, 1_000 * i as i64 => pass);
        assert_eq!(bound(&rig), before, "ACK {i}");
    }
    // But here something was.
    data!(rig, 220, 5_000, 1_000);
    ack!(rig, 230, 4_000, sack [(5_000, 6_000)] => pass, resend [4_000]);
    assert_ne!(bound(&rig), before);
}

/// A segment passed unseen (the flow was busy): nobody here can repair what MH
/// reports it behind.
#[test]
fn blocks_of_what_went_by_unseen_are_shown() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 3);
    for (ms, ack, block) in [
        (212, 2_000, 4_000),
        (213, 2_000, 5_000),
        (214, 2_000, 6_000),
    ] {
        let packet = rig.pure(ack, &[(3_000, block)]).to_fh(&rig.ends);
        let out = rig.agent.on_ingress(&packet, ns(ms));
        let passed = out.passed.expect("FH is to see it");
        let (s, _) = lasthop_core::parse(&packet, 0, None, false).expect("TCP");
        assert!(
            !crate::watch_edit::edited(&packet, &passed, &s).blanked,
            "at {ms}"
        );
    }
}

// Nobody wants it.

#[test]
fn no_syn_is_repaired_after_a_reset() {
    let mut rig = silent();
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &option::mss(1_000)));
    assert!(rig.deadline().is_some());
    reset(&mut rig, 5);
    assert_eq!(rig.deadline(), None);
    let out = rig.agent.kick(&rig.key, ns(1_000)).expect("the flow");
    assert!(out.to_mh.is_empty());
}

#[test]
fn no_data_is_repaired_after_a_reset() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 5);
    assert!(rig.deadline().is_some());
    reset(&mut rig, 205);
    assert_eq!(rig.deadline(), None);
    let out = rig.agent.kick(&rig.key, ns(1_000)).expect("the flow");
    assert!(out.to_mh.is_empty());
}

/// ACKs take another way: each segment would go out ten times.
#[test]
fn no_probes_where_no_ack_ever_came_by() {
    let mut rig = silent();
    rig.burst(0, 0, 1_000, 22);
    assert!(!rig.data(22, 22_000, 1_000), "and no more is cached");
    assert_eq!(rig.deadline(), None);
    let out = rig.agent.kick(&rig.key, ns(60_000)).expect("the flow");
    assert!(out.to_mh.is_empty());
    // But a SYN's answer is the first sign there can be.
    let mut rig = silent();
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &option::mss(1_000)));
    let at = rig.deadline().expect("a repair of the SYN");
    let out = rig.agent.on_timer(ns(at));
    assert_eq!(out[0].1.to_mh.len(), 1);
}

// MH would drop it.

/// FH has repaired one hole of two itself: MH drops what bears an older timestamp from then on
/// (PAWS), so the other one is FH's as well, and it is told of it.
#[test]
fn what_paws_would_drop_is_left_to_fh() {
    // However patient FH is.
    let config = Config {
        suppress: LH_SUPPRESS_ON,
        ..Config::default()
    };
    let mut rig = crate::rig::rig_with(config, true);
    let data = |rig: &mut Rig, ms, seq, value| {
        let tcp = Tcp {
            options: option::timestamps(value, 5),
            ..rig.segment(seq, 1_000)
        };
        rig.fh_sends(ms, tcp);
    };
    let ack = |rig: &mut Rig, ms, ack, sack: &[(i64, i64)], echo| {
        let mut tcp = rig.pure(ack, sack);
        tcp.options.extend(option::timestamps(9, echo));
        rig.mh_sends(ms, tcp)
    };
    for seq in [0, 1_000, 2_000, 3_000] {
        data(&mut rig, 200, seq, 100);
    }
    ack(&mut rig, 211, 1_000, &[], 100);
    let seen = ack(&mut rig, 212, 1_000, &[(3_000, 4_000)], 100);
    assert_eq!(seen.resent, [1_000]);
    assert!(seen.held);
    data(&mut rig, 400, 1_000, 300);
    let seen = ack(&mut rig, 411, 2_000, &[(3_000, 4_000)], 300);
    assert!(!seen.held && seen.resent.is_empty());
    let seen = ack(&mut rig, 412, 2_000, &[(3_000, 4_000)], 300);
    assert!(!seen.held && seen.resent.is_empty(), "FH's to repair");
    assert_eq!(rig.deadline(), None);
    // FH does, and the new copy may be repaired again.
    data(&mut rig, 500, 2_000, 400);
    assert!(rig.deadline().is_some());
}

// Our own duplicates.

/// Without SACK, 15 segments under way; those before them took 40 ms and more, and so that
/// this is known ACKs came for two at a time (those of one may have been delayed).
fn behind_a_queue(scheme: u32) -> Rig {
    let config = Config {
        scheme,
        queue_guard: 0,
        ..Config::default()
    };
    let mut rig = crate::rig::rig_with(config, false);
    rig.burst(200, 0, 1_000, 20);
    for i in [1, 3, 5] {
        ack!(rig, 238 + 2 * i as u64, 1_000 * i => pass);
    }
    rig
}

/// A receiver without SACK answers a superfluous repair with a duplicate, which must make no
/// repair: before a standing queue behind a short round trip that went on for ever.
#[test]
fn the_duplicate_of_a_superfluous_repair_repairs_nothing() {
    for scheme in [LH_SCHEME_rack, LH_SCHEME_snoop] {
        let mut rig = behind_a_queue(scheme);
        // A duplicate that no loss caused, such as a keepalive's answer.
        ack!(rig, 249, 5_000 => hold, resend [5_000]);
        // One way is 20 ms and more: this is the original's.
        ack!(rig, 250, 6_000 => pass);
        ack!(rig, 252, 7_000 => pass);
        // And this the copy's.
        ack!(rig, 290, 7_000 => hold);
        assert_eq!(rig.count(LH_C_local_retransmits), 1, "scheme {scheme}");
        assert_eq!(rig.count(LH_C_dsacks_dropped), 1);
        // The next one has another cause.
        ack!(rig, 291, 7_000 => hold, resend [7_000]);
    }
}

/// Copies that got lost answer nothing: what has left since, and LRTO, are bounds.
#[test]
fn duplicates_are_not_ours_for_ever() {
    for (later, upto) in [(0, 20_000), (120, 20_000), (0, 21_000)] {
        let mut rig = behind_a_queue(LH_SCHEME_snoop);
        ack!(rig, 249, 5_000 => hold, resend [5_000]);
        ack!(rig, 250, 6_000 => pass);
        ack!(rig, 280, 20_000 => pass);
        rig.burst(281 + later, 20_000, 1_000, 4);
        if upto > 20_000 {
            ack!(rig, 300, upto => pass);
        }
        let seen = rig.ack(301 + later, upto, &[]);
        let lost = later > 0 || upto > 20_000;
        assert_eq!(seen.resent.len(), usize::from(lost), "{later} ms, {upto}");
    }
}

/// What counts as a second copy under way: once per segment of FH's, and nothing once the connection has gone
/// on unseen.
#[test]
fn copies_under_way_are_counted_with_care() {
    // FH sends two cached segments again as one.
    let mut rig = behind_a_queue(LH_SCHEME_snoop);
    rig.data(249, 5_000, 2_000);
    ack!(rig, 251, 7_000 => pass);
    assert_eq!(rig.flow().raw().recovery.own_dups, 1);
}

/// The round trip of a small segment is shorter than the least of full ones, but no shorter than a SYN's: what
/// comes sooner after a repair is the answer to the original.
#[test]
fn a_small_segments_copy_under_way_is_told_by_the_flows_own_round_trip() {
    for (len, later, more) in [(1_000, 12, 1), (100, 12, 0), (100, 9, 1)] {
        let mut rig = rig(false);
        // The handshake took 10 ms, full segments take 16.
        for (ms, seq) in [(200, 0), (12_000, 2_000), (24_000, 4_000)] {
            rig.data(ms, seq, 1_000);
            rig.data(ms, seq + 1_000, 1_000);
            ack!(rig, ms + 16, seq + 2_000 => pass);
        }
        rig.data(24_100, 6_000, len);
        let due = rig.deadline().expect("a probe");
        timer!(rig, due + 1 => pass, resend [6_000]);
        ack!(rig, due + 1 + later, 6_000 + len as i64 => pass);
        let own = rig.flow().raw().recovery.own_dups;
        assert_eq!(own, more, "{len} bytes, {later} ms");
    }
}

/// A window is gone, and the queue with it. Repairs come through sooner than ever, and few
/// duplicates with them: no reason to take them for superfluous and leave the rest to the timer.
#[test]
fn quick_repairs_of_a_lost_window_are_no_superfluous_ones() {
    for scheme in [LH_SCHEME_snoop, LH_SCHEME_slack] {
        let mut rig = behind_a_queue(scheme);
        for (i, seq) in [5_000_u32, 7_000, 9_000].into_iter().enumerate() {
            let ms = 400 + 80 * i as u64;
            rig.burst(ms, 20_000 + 1_000 * i as i64, 1_000, 1);
            ack!(rig, ms + 22, i64::from(seq) => hold, resend [seq]);
            ack!(rig, ms + 37, i64::from(seq) + 1_000 => pass, resend [seq + 1_000]);
            ack!(rig, ms + 52, i64::from(seq) + 2_000 => pass);
        }
    }
}

/// What had arrived behind a hole waited there for the repair, not in a queue. The probe timer
/// went by it, and grew with every loss that it found itself.
#[test]
fn what_waited_behind_a_hole_gives_no_sample() {
    let mut rig = rig(false);
    rig.burst(200, 0, 1_000, 6);
    for i in 1..=3 {
        ack!(rig, 210 + i as u64, 1_000 * i => pass);
    }
    let before = rig.flow().raw().rtt.srtt_ns;
    // 3,000 is lost, and so are the duplicates: the timer finds out.
    let due = rig.deadline().expect("a probe");
    let seen = rig.timer(due + 1);
    assert_eq!(seen.resent, [3_000]);
    rig.ack(due + 200, 6_000, &[]);
    assert_eq!(rig.flow().raw().rtt.srtt_ns, before);
}

/// Three holes, and the queue has drained when the second is repaired: MH has answered for all
/// that lies behind it already, so that few duplicates mean nothing.
#[test]
fn a_quick_repair_of_a_second_hole_is_no_superfluous_one() {
    for scheme in [LH_SCHEME_rack, LH_SCHEME_snoop] {
        let mut rig = behind_a_queue(scheme);
        // 5,000, 9,000 and 13,000 are lost.
        ack!(rig, 250, 5_000 => hold, resend [5_000]);
        for ms in 251..262 {
            ack!(rig, ms, 5_000 => hold);
        }
        ack!(rig, 290, 9_000 => pass, resend [9_000]);
        ack!(rig, 302, 13_000 => pass, resend [13_000]);
        ack!(rig, 314, 20_000 => pass);
        assert_eq!(rig.count(LH_C_local_retransmits), 3, "scheme {scheme}");
    }
}

// Other flows of the receiver.

/// A segment of the receiver's other connection, or MH's ACK of what came before `seq`.
fn elsewhere(rig: &mut Rig, ms: u64, seq: u32, ack: bool) {
    let ends = Ends::v4(7);
    if ack {
        let tcp = Tcp {
            ack: seq,
            ..Tcp::default()
        };
        rig.agent.on_ingress(&tcp.to_fh(&ends), ns(ms));
    } else {
        let tcp = Tcp {
            seq,
            payload: vec![0; 1_000],
            ..Tcp::default()
        };
        rig.agent.on_egress(&tcp.to_mh(&ends), ns(ms));
    }
}

/// What comes to MH departed before: the segment waits in the same queue. Where many flows
/// began at once each sent probes into it.
#[test]
fn behind_a_queue_no_probe_is_due() {
    let config = Config {
        queue_guard: 0,
        ..Config::default()
    };
    let mut rig = rig_with(config, true);
    for i in 0..8 {
        elsewhere(&mut rig, 1_000, 1_000 * i, false);
    }
    data!(rig, 1_001, 0, 1_000);
    data!(rig, 1_001, 1_000, 1_000);
    elsewhere(&mut rig, 1_002, 8_000, false);
    let alone = rig.deadline().expect("a probe");
    assert!((1_020..1_030).contains(&alone), "{alone}");
    let mut due = alone;
    for i in 1..=4 {
        let ms = alone - 5 + 3 * u64::from(i);
        elsewhere(&mut rig, ms, 2_000 * i, true);
        assert_eq!(rig.timer(due.max(ms)).resent, [], "{i}");
        // Its own round trip is the handshake's: the receiver's tells how long data take.
        let waits = rig.deadline().expect("a probe");
        assert!(waits >= due.max(ms + 4), "{i}: {waits}");
        due = waits;
    }
    assert!(due > alone);
    // What departed after it is there.
    elsewhere(&mut rig, due - 1, 9_000, true);
    let mut sent = (due..due + 10).flat_map(|ms| rig.timer(ms).resent);
    assert_eq!(sent.next(), Some(0));
}

/// Where they all begin at once only the handshake tells how long the way is.
#[test]
fn what_queues_from_the_start_is_not_the_way() {
    let mut rig = silent();
    rig.window = 30_000;
    rig.fh_sends(1_000, rig.fh_syn(LH_SYN, &[]));
    rig.mh_sends(1_010, rig.mh_syn(LH_SYN | LH_ACK, &[]));
    rig.burst(1_100, 0, 1_000, 4);
    ack!(rig, 1_205, 2_000 => pass);
    let lmin = |rig: &Rig| rig.agent.host().peer(rig.flow().raw().peer).lmin_now_ns / 1_000_000;
    assert_eq!(lmin(&rig), 10, "not 105");
    ack!(rig, 1_206, 4_000 => pass);
    // Data that hardly queue show the way of data.
    for i in 0..20 {
        let (ms, seq) = (1_300 + 30 * i as u64, 4_000 + 2_000 * i);
        rig.burst(ms, seq, 1_000, 2);
        ack!(rig, ms + 13, seq + 2_000 => pass);
    }
    assert_eq!(lmin(&rig), 12);
}

/// Of a window of which all but the last segment got lost each waited for the repair before it, and for MH's delayed
/// ACK of that: 43 of them took seven seconds.
#[test]
fn repairs_that_come_alone_become_more() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 20);
    let above = [(19_000, 20_000)];
    ack!(rig, 230, 0, sack [(19_000, 20_000)] => hold, resend [0]);
    let sent = |rig: &mut Rig, ms, ack| rig.ack(ms, ack, &above).resent.len();
    assert_eq!(sent(&mut rig, 240, 1_000), 2);
    assert_eq!(sent(&mut rig, 250, 3_000), 3);
    assert_eq!(sent(&mut rig, 260, 6_000), 4);
    assert_eq!(sent(&mut rig, 270, 10_000), 4);
    // Of what FH sent meanwhile something has come as well.
    data!(rig, 271, 20_000, 1_000);
    let blocks = [(19_000, 21_000)];
    assert_eq!(rig.ack(281, 14_000, &blocks).resent.len(), 3);
}
