// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scripted exchanges with scheme rack: time order, the probe timer, handshakes,
//! flows without SACK. The handshake gave a local round trip of 10 ms and a
//! wired one of 90, so that a probe is due after 24 ms, and 40 ms later for a
//! lone segment.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Call, Config, Flow, Host, Limits, Segment, parse};

use crate::rig::{BASE, Options, Rig, ns, rig_with, wire};

pub fn rig(sack: bool) -> Rig {
    rig_with(Config::default(), sack)
}

/// Before its handshake.
fn silent() -> Rig {
    Rig::silent(&Options {
        config: Config::default(),
        ..Options::default()
    })
}

/// A segment before FH's first data byte, as scripts count.
const SYN: u32 = u32::MAX;

// Time order (order.h).

#[test]
fn a_later_arrival_convicts_a_first_transmission() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 5);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    ack!(rig, 213, 0, sack [(1_000, 3_000)] => hold);
    ack!(rig, 214, 0, sack [(1_000, 5_000)] => hold);
    assert_eq!(rig.count(LH_C_retransmits_order), 1);
    ack!(rig, 222, 5_000 => pass);
    assert_eq!(rig.deadline(), None);
}

#[test]
fn a_later_arrival_convicts_a_repair() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 5);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    data!(rig, 213, 5_000, 1_000);
    ack!(rig, 214, 0, sack [(1_000, 5_000)] => hold);
    ack!(rig, 224, 0, sack [(1_000, 6_000)] => hold, resend [0]);
}

/// The last of a window showed a queue of 20 ms; nothing but repairs has come for as long since, so that it is
/// gone, and a repair that arrives after a round trip tells of those before it.
#[test]
fn a_queue_that_has_come_keeps_no_repair() {
    let mut rig = rig(true);
    rig.burst(160, 0, 1_000, 2);
    ack!(rig, 172, 0, sack [(1_000, 2_000)] => hold, resend [0]); // the link loses
    ack!(rig, 182, 2_000 => pass);
    rig.burst(190, 2_000, 1_000, 2);
    ack!(rig, 201, 4_000 => pass); // the way takes 10 ms
    for i in 4..14 {
        data!(rig, 220, i * 1_000, 1_000);
    }
    ack!(rig, 250, 4_000, sack [(5_000, 7_000)] => hold, resend [4_000]);
    ack!(rig, 251, 4_000, sack [(8_000, 10_000), (5_000, 7_000)] => hold, resend [7_000]);
    let most = [(12_000, 14_000), (8_000, 10_000), (5_000, 7_000)];
    ack!(rig, 252, 4_000, sack most => hold, resend [10_000, 11_000]);
    // Of these four the last two arrive; of the next two the second.
    ack!(rig, 272, 4_000, sack [(8_000, 11_000), (12_000, 14_000)] => hold, resend [4_000, 7_000]);
    ack!(rig, 273, 4_000, sack [(8_000, 14_000)] => hold);
    ack!(rig, 284, 4_000, sack [(5_000, 14_000)] => hold, resend [4_000]);
}

/// What leaves in one burst has one time: the numbers tell the order.
#[test]
fn departures_may_coincide() {
    let mut rig = rig(true);
    for i in 0..4 {
        data!(rig, 200, i * 1_000, 1_000);
    }
    ack!(rig, 212, 0, sack [(2_000, 3_000)] => hold, resend [0]);
    ack!(rig, 213, 0, sack [(2_000, 4_000)] => hold, resend [1_000]);
    ack!(rig, 222, 1_000, sack [(2_000, 4_000)] => pass);
}

/// The repair of 2,000 can't be back after a millisecond: that was the
/// original, late. It says nothing about the repair of 0, which left earlier.
#[test]
fn an_ack_of_the_original_does_not_convict() {
    for (ms, resent) in [(214, vec![]), (225, vec![0])] {
        let mut rig = rig(true);
        rig.burst(200, 0, 1_000, 5);
        ack!(rig, 211, 0, sack [(1_000, 2_000)] => hold, resend [0]);
        ack!(rig, 213, 0, sack [(3_000, 4_000), (1_000, 2_000)] => hold, resend [2_000]);
        let seen = rig.ack(ms, 0, &[(1_000, 4_000)]);
        assert_eq!((seen.held, seen.resent), (true, resent), "at {ms}");
    }
}

/// Repairs overtake the queue: their arrival convicts no data.
#[test]
fn a_repair_that_overtakes_convicts_no_data() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 5);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    ack!(rig, 223, 2_000 => pass);
    assert_eq!(rig.count(LH_C_local_retransmits), 1);
}

#[test]
fn one_repair_per_segment_that_left_the_link_three_at_most() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 12);
    ack!(rig, 215, 0, sack [(6_000, 7_000)] => hold, resend [0]);
    ack!(rig, 216, 0, sack [(6_000, 8_000)] => hold, resend [1_000]);
    ack!(rig, 217, 0, sack [(6_000, 12_000)] => hold, resend [2_000, 3_000, 4_000]);
    ack!(rig, 218, 0, sack [(6_000, 12_000)] => hold, resend [5_000]);
}

#[test]
fn a_partial_ack_repairs_up_to_three() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 12);
    ack!(rig, 213, 0, sack [(1_000, 4_000)] => hold, resend [0]);
    ack!(rig, 216, 0, sack [(9_000, 10_000), (1_000, 4_000)] => hold, resend [4_000]);
    let partial = rig.ack(226, 4_000, &[(9_000, 12_000)]);
    expect!(partial, pass, resend [5_000, 6_000, 7_000]);
}

#[test]
fn reordering_teaches_patience() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 4);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    // Two milliseconds after the repair: the original, it was only late.
    ack!(rig, 214, 3_000 => pass);
    assert_eq!(rig.count(LH_C_reordered), 1);
    let reo = rig.flow().raw().order.reo_ns;
    assert!(reo > 0);
    ack!(rig, 216, 4_000 => pass);
    rig.burst(300, 4_000, 1_000, 4);
    ack!(rig, 312, 4_000, sack [(5_000, 6_000)] => hold);
    // So long it waits: the sojourn of the one that overtook, and reo.
    let due = rig.deadline().expect("a timer");
    assert_eq!(due, 300 + 11 + reo / 1_000_000);
    timer!(rig, due + 1 => pass, resend [4_000]);
    // Ten seconds without: none. So slow a receiver's flow is not braked, and FH may get a wider window.
    ack!(rig, 400, 8_000 => pass);
    rig.burst(11_000, 8_000, 1_000, 2);
    ack!(rig, 11_012, 8_000, sack [(9_000, 10_000)] => pass, resend [8_000]);
}

// The probe timer.

#[test]
fn probes_with_several_outstanding() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 3);
    assert_eq!(rig.deadline(), Some(226));
    timer!(rig, 225 => pass);
    timer!(rig, 226 => pass, resend [0]);
    // The second is a pair; if that is in vain, too, the hop is out (rack_outage.rs).
    timer!(rig, 250 => pass, resend [0, 1_000]);
    assert_eq!(rig.deadline(), Some(260));
    timer!(rig, 260 => pass);
    for ms in [330, 410] {
        assert_eq!(rig.deadline(), Some(ms));
        timer!(rig, ms => pass, resend [0]);
    }
    assert_eq!(rig.count(LH_C_retransmits_timer), 5);
    // A delivery, and all is as before.
    ack!(rig, 452, 1_000 => pass, resend [1_000, 2_000]);
    assert_eq!(rig.flow().raw().recovery.nr_probes, 0);
}

#[test]
fn a_lone_segment_waits_for_a_delayed_ack() {
    let mut rig = rig(true);
    data!(rig, 200, 0, 1_000);
    assert_eq!(rig.deadline(), Some(264));
    timer!(rig, 264 => pass, resend [0]);
    ack!(rig, 275, 1_000 => pass);
    assert_eq!(rig.deadline(), None);
}

/// With a hole in hand MH answers whatever arrives at once.
#[test]
fn above_a_hole_little_more_than_a_sojourn() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 3);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    assert_eq!(rig.deadline(), Some(229)); // 212 + 11 + 11/4 + 4
}

#[test]
fn a_fresh_flow_borrows_the_devices_round_trip() {
    let mut rig = silent();
    rig.burst(200, 0, 1_000, 3);
    assert_eq!(
        rig.deadline(),
        None,
        "nobody knows whether ACKs come this way"
    );
    ack!(rig, 212, 2_000 => pass); // 11 ms
    ack!(rig, 213, 3_000 => pass);
    rig.ends = Ends::v4(2);
    let (_, key) = parse(&rig.bare().to_mh(&rig.ends), 0, None, true).expect("TCP");
    rig.key = key;
    rig.fh_sends(1_000, rig.fh_syn(LH_SYN, &[]));
    assert_eq!(rig.deadline(), Some(1_026));
}

// Handshake and FIN.

#[test]
fn a_syn_is_repaired_three_times() {
    let mut rig = silent();
    let syn = rig.fh_syn(LH_SYN, &option::mss(1_000));
    let packet = syn.to_mh(&rig.ends);
    assert!(
        rig.fh_sends(0, syn)
            .actions
            .expect("a flow")
            .store()
            .is_some()
    );
    for ms in [700, 1_400, 2_100] {
        assert_eq!(rig.deadline(), Some(ms));
        let out = rig.agent.on_timer(crate::rig::ns(ms));
        assert_eq!(out[0].1.to_mh, [packet.as_slice()], "verbatim");
    }
    assert_eq!(rig.deadline(), None);
    let answer = rig.mh_syn(LH_SYN | LH_ACK, &[]);
    expect!(rig.mh_sends(2_110, answer), pass);
    assert_eq!(rig.agent.host().pool().slots_used(), 0);
    assert_eq!(rig.flow().raw().rtt.srtt_ns, 0, "Karn");
}

#[test]
fn a_syn_ack_is_repaired() {
    let mut rig = silent();
    rig.mh_sends(0, rig.mh_syn(LH_SYN, &[]));
    let answer = rig.fh_syn(LH_SYN | LH_ACK, &[]);
    let packet = answer.to_mh(&rig.ends);
    rig.fh_sends(90, answer);
    for ms in [790, 1_490, 2_190] {
        let out = rig.agent.on_timer(crate::rig::ns(ms));
        assert_eq!(out[0].1.to_mh, [packet.as_slice()]);
    }
    assert_eq!(rig.deadline(), None);
    ack!(rig, 2_200, 0 => pass);
    assert_eq!(rig.agent.host().pool().slots_used(), 0);
    assert_eq!(rig.flow().raw().wired.rtt_ns, 90_000_000);
}

#[test]
fn fh_repeats_its_syn() {
    let mut rig = silent();
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &[]));
    rig.fh_sends(150, rig.fh_syn(LH_SYN, &[]));
    assert_eq!(rig.ring(), [(SYN, 0)]);
    assert_eq!(rig.deadline(), Some(850));
}

#[test]
fn a_syn_with_data_is_not_cached() {
    let mut rig = silent();
    let tfo = Tcp {
        payload: vec![1; 10],
        ..rig.fh_syn(LH_SYN, &[])
    };
    let out = rig.fh_sends(0, tfo);
    assert_eq!(out.actions.expect("a flow").store(), None);
    assert_eq!(rig.deadline(), None);
}

#[test]
fn too_many_half_open_connections_pass() {
    for handshakes in [0, 1] {
        let (mut host, mut flow) = (Host::new(Limits::default()), Flow::new());
        let syn = Segment {
            seq: BASE,
            end: BASE.wrapping_add(1),
            flags: LH_SYN as u16,
            ..Segment::default()
        };
        let call = Call {
            handshakes,
            ..Call::at(1_000_000_000)
        };
        let out = host.on_data(&mut flow, &Config::default(), &syn, &call);
        assert_eq!(out.store().is_some(), handshakes == 1);
        host.free(&mut flow);
    }
}

fn fin(rig: &mut Rig, ms: u64) -> bool {
    let fin = Tcp {
        flags: LH_ACK | LH_FIN,
        ..rig.segment(0, 0)
    };
    let out = rig.fh_sends(ms, fin);
    out.actions.expect("a flow").store().is_some()
}

#[test]
fn a_fin_is_repaired() {
    let mut rig = rig(true);
    assert!(fin(&mut rig, 200));
    timer!(rig, 264 => pass, resend [0]);
    ack!(rig, 274, 1 => pass);
    assert_eq!(rig.deadline(), None);
}

/// FH has sent it twice, so the answer with its DSACK is what FH waits for.
#[test]
fn a_fin_that_fh_repeats_is_its_own_copy() {
    let hiding = Config {
        suppress: LH_SUPPRESS_ON,
        ..Config::default()
    };
    let mut rig = rig_with(hiding, true);
    assert!(fin(&mut rig, 200));
    rig.ack(210, 1, &[]); // lost on its way to FH
    assert!(!fin(&mut rig, 240));
    let packet = rig.pure(1, &[(0, 1)]).to_fh(&rig.ends);
    let out = rig.agent.on_ingress(&packet, ns(250));
    assert_eq!(out.passed.as_deref(), Some(&packet[..]));
}

#[test]
fn a_fin_is_repaired_three_times() {
    let mut rig = rig(true);
    assert!(fin(&mut rig, 200));
    let mut n = 0;
    while let Some(ms) = rig.deadline() {
        n += rig.timer(ms + 1).resent.len();
    }
    assert_eq!(n, 3);
}

#[test]
fn rst_and_fin_in_recovery() {
    for flag in [LH_RST, LH_FIN] {
        let mut rig = rig(true);
        rig.burst(200, 0, 1_000, 3);
        ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
        let tcp = Tcp {
            flags: LH_ACK | flag,
            ..rig.pure(0, &[(1_000, 2_000)])
        };
        let packet = tcp.to_fh(&rig.ends);
        let out = rig.agent.on_ingress(&packet, crate::rig::ns(214));
        assert_eq!(out.passed, Some(packet), "as it is");
    }
}

// Without SACK.

#[test]
fn without_sack_the_first_duplicate_and_partial_acks() {
    let mut rig = rig(false);
    rig.burst(200, 0, 1_000, 5);
    ack!(rig, 212, 0 => hold, resend [0]);
    ack!(rig, 213, 0 => hold);
    ack!(rig, 214, 0 => hold);
    ack!(rig, 223, 2_000 => pass, resend [2_000]);
    ack!(rig, 234, 5_000 => pass);
    assert_eq!(rig.count(LH_C_retransmits_partial), 1);
    assert_eq!(rig.count(LH_C_local_retransmits), 2);
}

#[test]
fn without_sack_no_timer_spins() {
    let mut rig = rig(false);
    rig.burst(200, 0, 1_000, 4);
    ack!(rig, 212, 0 => hold, resend [0]);
    // The original, late: no loss, hence no hole behind it.
    ack!(rig, 214, 1_000 => pass);
    data!(rig, 216, 1_000, 1_000);
    // FH's copy has overtaken what left at 202.
    rig.ack(230, 2_000, &[]);
    assert!(rig.flow().raw().order.reo_ns > 0);
    rig.timer(231);
    assert!(
        rig.deadline().is_none_or(|at| at > 231),
        "a timer that spins"
    );
}

#[test]
fn numbers_wrap_in_mid_recovery() {
    // BASE is 1,500 below the wrap: the hole is right before it.
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 6);
    ack!(rig, 211, 1_000 => pass);
    ack!(rig, 213, 1_000, sack [(2_000, 3_000)] => hold, resend [1_000]);
    assert!(wire(2_000) < wire(1_000));
    ack!(rig, 214, 1_000, sack [(2_000, 6_000)] => hold);
    ack!(rig, 224, 6_000 => pass);
    assert_eq!(rig.flow().raw().delivery.sacked_bytes, 0);
}

#[test]
fn a_reneging_receiver_gets_its_data() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 4);
    ack!(rig, 212, 0, sack [(1_000, 4_000)] => hold, resend [0]);
    ack!(rig, 222, 1_000 => pass); // and no block any more
    assert_eq!(rig.ring().len(), 3, "what was SACKed is kept");
    let at = rig.deadline().expect("a probe");
    timer!(rig, at + 1 => pass, resend [1_000]);
}

// What FH gets to see.

/// The answer to a repetition of what MH has (the ACK got lost on its way to FH):
/// FH waits for it, DSACK or not.
#[test]
fn the_answer_to_fhs_repetition_passes() {
    let mut rig = rig(true);
    data!(rig, 200, 0, 1_000);
    ack!(rig, 212, 1_000 => pass); // lost on the wired path
    rig.fh_sends(500, rig.segment(0, 1_000));
    ack!(rig, 511, 1_000, sack [(0, 1_000)] => pass);
}

#[test]
fn the_answer_to_a_keepalive_passes() {
    let mut rig = rig(true);
    data!(rig, 200, 0, 1_000);
    ack!(rig, 212, 1_000 => pass);
    for (ms, len) in [(10_000, 0), (20_000, 1)] {
        rig.fh_sends(ms, rig.segment(999, len));
        let blocks = [(999, 1_000)];
        let seen = rig.ack(ms + 11, 1_000, &blocks[..len]);
        expect!(seen, pass);
    }
}

/// Time order repairs what was but late, and MH says that it got it twice: nobody else hears of that.
pub fn repaired_in_vain() -> Rig {
    let mut rig = rig(true);
    rig.burst(160, 0, 1_000, 2);
    ack!(rig, 172, 0, sack [(1_000, 2_000)] => hold, resend [0]); // the link loses
    ack!(rig, 182, 2_000 => pass);
    rig.burst(200, 2_000, 1_000, 3);
    ack!(rig, 212, 2_000, sack [(3_000, 4_000)] => hold, resend [2_000]);
    ack!(rig, 214, 5_000 => pass);
    ack!(rig, 223, 5_000, sack [(2_000, 3_000)] => hold);
    rig
}

/// Only a superfluous repair: FH would take its own reductions back.
#[test]
fn a_dsack_of_our_repair_is_dropped() {
    let rig = repaired_in_vain();
    assert_eq!(rig.count(LH_C_dsacks_dropped), 1);
    assert!(!rig.flow().is_held(), "for good");
}

#[test]
fn a_dsack_of_fhs_copy_passes() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 3);
    data!(rig, 205, 0, 1_000);
    ack!(rig, 214, 3_000 => pass);
    ack!(rig, 216, 3_000, sack [(0, 1_000)] => pass);
    assert_eq!(rig.count(LH_C_dsacks_dropped), 0);
}

/// A new ACK above which holes are in hand: `tcp` as MH sends it, and whether its
/// blocks reach FH.
fn blanked(rig: &mut Rig, ms: u64, tcp: &Tcp) -> bool {
    passed(rig, ms, tcp).1.blanked
}

/// The same, and how it passes.
fn passed(rig: &mut Rig, ms: u64, tcp: &Tcp) -> (Vec<u8>, crate::watch_edit::Edit) {
    let packet = tcp.to_fh(&rig.ends);
    let out = rig.agent.on_ingress(&packet, crate::rig::ns(ms));
    let passed = out.passed.expect("a new ACK passes");
    let (s, _) = parse(&packet, 0, None, false).expect("TCP");
    let edit = crate::watch_edit::edited(&packet, &passed, &s);
    (passed, edit)
}

#[test]
fn a_new_acks_blocks_are_blanked_while_holes_are_in_hand() {
    type Change = fn(&mut Rig, &mut Tcp);
    #[rustfmt::skip]
    let rows: [(&str, Change, bool); 9] = [
        /* 1 */ ("as it is", |_, _| (), true),
        /* 2 */ ("payload", |_, t| t.payload = vec![1], true),
        /* 3 */ ("FIN", |_, t| t.flags |= LH_FIN, false),
        /* 4 */ ("URG", |_, t| t.flags |= LH_URG, false),
        /* 5 */ ("ECE", |_, t| t.flags |= LH_ECE, false),
        /* 6 */ ("unknown option", |_, t| t.options.extend(option::other(253, 4)), true),
        /* 7 */ ("MPTCP", |_, t| t.options.extend(option::other(30, 4)), false),
        /* 8 */ ("FH sends the hole again", |r, _| assert!(r.data(215, 1_000, 1_000)), false),
        /* 9 */ ("user space gone", |r, _| r.agent.set_alive(false), false),
    ];
    for (i, (why, change, want)) in rows.into_iter().enumerate() {
        let mut rig = rig(true);
        rig.burst(200, 0, 1_000, 5);
        let mut tcp = rig.pure(1_000, &[(2_000, 3_000)]);
        change(&mut rig, &mut tcp);
        assert_eq!(blanked(&mut rig, 216, &tcp), want, "row {}: {why}", i + 1);
    }
}

#[test]
fn a_new_ack_that_closes_the_window_passes_as_it_is() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 5);
    rig.window = 0;
    let tcp = rig.pure(1_000, &[(2_000, 3_000)]);
    assert!(!blanked(&mut rig, 216, &tcp));
}

#[test]
fn an_upstream_hole_stays_visible() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 2);
    data!(rig, 203, 3_000, 1_000);
    let tcp = rig.pure(1_000, &[(3_000, 4_000)]);
    assert!(!blanked(&mut rig, 213, &tcp));
}

#[test]
fn an_exhausted_repair_stays_visible() {
    let config = Config {
        max_local: 1,
        ..Config::default()
    };
    let mut rig = rig_with(config, true);
    rig.burst(200, 0, 1_000, 4);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => pass, resend [0]);
    assert_eq!(rig.count(LH_C_exhausted_segments), 1);
}

#[test]
fn what_is_held_goes_out_in_time() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 5);
    let tcp = rig.pure(1_000, &[(2_000, 3_000)]);
    let (passed, edit) = passed(&mut rig, 216, &tcp);
    assert!(edit.blanked);
    let mut out = Vec::new();
    while out.is_empty() {
        let ms = rig.deadline().expect("a timer") + 1;
        assert!(ms <= 216 + 151, "150 ms");
        let done = rig.agent.on_timer(crate::rig::ns(ms));
        out.extend(done.into_iter().flat_map(|(_, o)| o.to_fh));
    }
    // With its blocks, and the window that FH knows already: the controller holds FH.
    let like = crate::watch_edit::like;
    assert_eq!(out.len(), 1);
    assert_eq!(like(&out[0]), like(&tcp.to_fh(&rig.ends)));
    let granted = |p: &[u8]| u16::from_be_bytes([p[34], p[35]]);
    assert_eq!(granted(&out[0]), granted(&passed));
    assert!(rig.flow().has(LH_FLOW_ABANDONED));
}

#[test]
fn picked_up_in_mid_stream_nothing_is_edited() {
    let mut rig = Rig::silent(&Options {
        config: Config::default(),
        sack: true,
        ..Options::default()
    });
    rig.burst(200, 0, 1_000, 5);
    for (ms, ack, block) in [(212, 0, 2_000), (213, 1_000, 3_000), (214, 1_000, 4_000)] {
        let packet = rig.pure(ack, &[(2_000, block)]).to_fh(&rig.ends);
        let out = rig.agent.on_ingress(&packet, crate::rig::ns(ms));
        assert_eq!(
            out.passed,
            Some(packet),
            "nothing brakes: nothing is hidden"
        );
    }
    assert_eq!(rig.count(LH_C_local_retransmits), 1, "but repaired");
}

/// A segment of one byte into a closed window is taken for a probe; what is
/// missing before it was lost upstream all the same.
#[test]
fn a_gap_before_a_probe_stays_visible() {
    let mut rig = rig(false);
    rig.burst(200, 0, 1_000, 2);
    rig.window = 0;
    ack!(rig, 212, 2_000 => pass);
    data!(rig, 220, 2_000, 1_000);
    assert!(!rig.data(221, 3_500, 1), "not cached");
    data!(rig, 222, 3_501, 1_000);
    rig.window = 1_000;
    ack!(rig, 232, 3_000 => pass);
    ack!(rig, 233, 3_000 => pass);
}
