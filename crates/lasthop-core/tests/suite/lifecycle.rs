// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Birth, options and death of flows (docs/design.md, section 7).

use lasthop_core::bindings::*;
use lasthop_core::packet::{Tcp, option};
use lasthop_core::{Config, MSEC_NS};

use crate::rig::{LOCAL_MS, MH_BASE, Options, Rig, WIRED_MS, WSCALE, classic, ns, rig_with, wire};

#[test]
fn the_handshake_gives_samples_whoever_opens() {
    for mh_opens in [false, true] {
        let rig = Rig::new(&Options {
            mh_opens,
            ..Options::default()
        });
        let f = rig.flow().raw();
        assert_eq!(f.rtt.srtt_ns, LOCAL_MS * MSEC_NS, "MH opens: {mh_opens}");
        assert_eq!(f.wired.rtt_ns, WIRED_MS * MSEC_NS, "MH opens: {mh_opens}");
        assert_eq!((f.una, f.max), (wire(0), wire(0)));
        assert_eq!(rig.flow().hold_ns(&classic()), 150 * MSEC_NS);
    }
}

#[test]
fn a_repeated_syn_gives_no_sample() {
    // FH's SYN is sent twice: which one is answered? (Karn)
    let mut rig = Rig::silent(&Options::default());
    let syn = rig.fh_syn(LH_SYN, &[]);
    rig.fh_sends(0, syn.clone());
    rig.fh_sends(1_000, syn);
    rig.mh_sends(1_010, rig.mh_syn(LH_SYN | LH_ACK, &[]));
    assert_eq!(rig.flow().raw().rtt.srtt_ns, 0);
    assert_eq!(rig.flow().raw().una, wire(0));
    // MH's SYN-ACK is sent twice.
    let mut rig = Rig::silent(&Options::default());
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &[]));
    rig.mh_sends(10, rig.mh_syn(LH_SYN | LH_ACK, &[]));
    rig.mh_sends(1_010, rig.mh_syn(LH_SYN | LH_ACK, &[]));
    rig.fh_sends(1_011, rig.bare());
    assert_eq!(rig.flow().raw().wired.rtt_ns, 0);
    assert_eq!(rig.flow().raw().rtt.srtt_ns, 10 * MSEC_NS);
}

#[test]
fn a_syn_sent_three_times_gives_no_sample_either() {
    let mut rig = Rig::silent(&Options::default());
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &[]));
    for ms in [10, 1_010, 3_010] {
        rig.mh_sends(ms, rig.mh_syn(LH_SYN | LH_ACK, &[]));
    }
    rig.fh_sends(3_011, rig.bare());
    assert_eq!(rig.flow().raw().wired.rtt_ns, 0);
    // MH opens, and repeats its SYN.
    let mut rig = Rig::silent(&Options::default());
    rig.mh_sends(0, rig.mh_syn(LH_SYN, &[]));
    rig.mh_sends(1_000, rig.mh_syn(LH_SYN, &[]));
    rig.fh_sends(1_001, rig.fh_syn(LH_SYN | LH_ACK, &[]));
    assert_eq!(rig.flow().raw().wired.rtt_ns, 0);
}

/// Beyond a round trip of 1 s FH repeats its SYN before the answer gets there. That was taken for
/// a new connection: without the wired round trip ACKs were released before repairs came through.
#[test]
fn a_syn_repeated_after_its_answer_forgets_nothing() {
    for config in [classic(), Config::default()] {
        let mut rig = Rig::silent(&Options {
            config,
            ..Options::default()
        });
        let options = [option::sack_ok(), option::wscale(7)].concat();
        let syn = rig.fh_syn(LH_SYN, &options);
        rig.fh_sends(0, syn.clone());
        rig.mh_sends(800, rig.mh_syn(LH_SYN | LH_ACK, &options));
        rig.fh_sends(1_000, syn);
        rig.fh_sends(1_200, rig.bare());
        let flow = rig.flow();
        assert_eq!(flow.raw().wired.rtt_ns, 400 * MSEC_NS);
        assert_eq!(flow.raw().rtt.min_ns, 800 * MSEC_NS);
        assert!(flow.uses_sack() && flow.has(LH_FLOW_WSCALE) && flow.has(LH_FLOW_FWD));
        assert!(rig.ring().is_empty(), "the copy is MH's already");
    }
}

/// The same where MH opens.
#[test]
fn a_syn_of_mh_repeated_after_its_answer_forgets_nothing() {
    let mut rig = Rig::silent(&Options::default());
    let options = option::wscale(7);
    rig.mh_sends(0, rig.mh_syn(LH_SYN, &options));
    rig.fh_sends(400, rig.fh_syn(LH_SYN | LH_ACK, &options));
    rig.mh_sends(1_000, rig.mh_syn(LH_SYN, &options));
    assert!(rig.flow().has(LH_FLOW_STARTED) && rig.flow().has(LH_FLOW_WSCALE));
    assert_eq!(rig.flow().raw().wired.rtt_ns, 400 * MSEC_NS);
}

#[test]
fn a_late_copy_of_the_opening_syn_forgets_nothing() {
    let mut rig = Rig::new(&Options {
        mh_opens: true,
        ..Options::default()
    });
    data!(rig, 200, 0, 1_000);
    rig.mh_sends(201, rig.mh_syn(LH_SYN, &[]));
    assert_eq!(rig.ring().len(), 1, "the copy says nothing new");
    assert_eq!(rig.flow().raw().max, wire(1_000));
    // Another number is the port's next connection.
    let next = Tcp {
        seq: MH_BASE.wrapping_add(77_777),
        ..rig.mh_syn(LH_SYN, &[])
    };
    rig.mh_sends(300, next);
    assert_eq!(rig.ring().len(), 1, "unless FH does not answer it");
    let answer = Tcp {
        seq: wire(5_000_000),
        ack: MH_BASE.wrapping_add(77_778),
        ..rig.fh_syn(LH_SYN | LH_ACK, &[])
    };
    rig.fh_sends(390, answer);
    assert_eq!(rig.ring().len(), 0);
    assert_eq!(rig.flow().raw().conn.isn_mh, MH_BASE.wrapping_add(77_777));
    assert_eq!(rig.flow().raw().wired.rtt_ns, 90 * MSEC_NS);
}

#[test]
fn options_of_both_syns() {
    let syn = |wscale: bool, sack: bool| {
        let mut o = option::mss(1_400);
        if wscale {
            o.extend(option::wscale(5));
        }
        if sack {
            o.extend(option::sack_ok());
        }
        o
    };
    for mh_opens in [false, true] {
        #[rustfmt::skip]
        let rows = [
            // FH scales, MH scales, FH SACK, MH SACK; shift in use, SACK in use
            /* 1 */ (true, true, true, true, 5, true),
            /* 2 */ (true, false, true, true, 0, true),
            /* 3 */ (false, true, true, true, 0, true),
            /* 4 */ (false, false, false, true, 0, false),
            /* 5 */ (true, true, true, false, 5, false),
        ];
        for (i, (fs, ms, fk, mk, shift, sack)) in rows.into_iter().enumerate() {
            let mut rig = Rig::silent(&Options::default());
            if mh_opens {
                rig.mh_sends(0, rig.mh_syn(LH_SYN, &syn(ms, mk)));
                rig.fh_sends(90, rig.fh_syn(LH_SYN | LH_ACK, &syn(fs, fk)));
            } else {
                rig.fh_sends(0, rig.fh_syn(LH_SYN, &syn(fs, fk)));
                rig.mh_sends(10, rig.mh_syn(LH_SYN | LH_ACK, &syn(ms, mk)));
            }
            let f = rig.flow().raw();
            assert!(rig.flow().has(LH_FLOW_WSCALE));
            assert_eq!(
                f.conn.wscale_mh,
                shift,
                "row {}, MH opens: {mh_opens}",
                i + 1
            );
            assert_eq!(f.conn.mss, 1_400);
            assert_eq!(rig.flow().uses_sack(), sack, "row {}", i + 1);
        }
    }
}

/// ns-3's SYNs have no such option, and it need not come (RFC 9293 section 3.7.1): a clock in
/// segments of 536 bytes held such senders at one segment per round trip.
#[test]
fn the_segment_size_is_learned_where_no_syn_says_it() {
    let mut rig = Rig::silent(&Options::default());
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &[]));
    rig.mh_sends(10, rig.mh_syn(LH_SYN | LH_ACK, &[]));
    data!(rig, 200, 0, 100);
    assert_eq!(rig.flow().raw().conn.mss, 0, "no more than the default");
    data!(rig, 201, 100, 1_000);
    data!(rig, 202, 1_100, 100);
    assert_eq!(rig.flow().raw().conn.mss, 1_000);
}

#[test]
fn half_a_handshake_leaves_the_scale_unknown() {
    // The other SYN went before we came.
    let mut rig = Rig::silent(&Options::default());
    rig.mh_sends(0, rig.mh_syn(LH_SYN | LH_ACK, &option::wscale(7)));
    assert!(!rig.flow().has(LH_FLOW_WSCALE));
    let mut rig = Rig::silent(&Options::default());
    rig.fh_sends(0, rig.fh_syn(LH_SYN | LH_ACK, &option::wscale(7)));
    assert!(!rig.flow().has(LH_FLOW_WSCALE));
}

#[test]
fn mptcp_and_authentication_are_remembered() {
    #[rustfmt::skip]
    let rows = [
        /* 1 */ (option::other(30, 12), LH_FLOW_MPTCP),
        /* 2 */ (option::other(19, 18), LH_FLOW_AUTH),
        /* 3 */ (option::other(29, 16), LH_FLOW_AUTH),
    ];
    for (i, (options, flag)) in rows.into_iter().enumerate() {
        for from_mh in [false, true] {
            let mut rig = Rig::silent(&Options::default());
            let (fh, mh) = match from_mh {
                true => (Vec::new(), options.clone()),
                false => (options.clone(), Vec::new()),
            };
            rig.fh_sends(0, rig.fh_syn(LH_SYN, &fh));
            rig.mh_sends(10, rig.mh_syn(LH_SYN | LH_ACK, &mh));
            assert!(rig.flow().has(flag), "row {}, MH: {from_mh}", i + 1);
        }
    }
}

#[test]
fn who_may_open_a_flow() {
    type Packet = fn(&Rig) -> Tcp;
    #[rustfmt::skip]
    let rows: [(&str, bool, Packet, bool); 9] = [
        /* 1 */ ("FH's SYN", true, |r| r.fh_syn(LH_SYN, &[]), true),
        /* 2 */ ("FH's data", true, |r| r.segment(0, 10), true),
        /* 3 */ ("FH's FIN", true, |r| Tcp { flags: LH_FIN | LH_ACK, ..r.bare() }, true),
        /* 4 */ ("FH's bare ACK", true, |r| r.bare(), false),
        /* 5 */ ("FH's RST", true, |r| Tcp { flags: LH_RST, ..r.bare() }, false),
        /* 6 */ ("MH's SYN", false, |r| r.mh_syn(LH_SYN, &[]), true),
        /* 7 */ ("MH's SYN-ACK", false, |r| r.mh_syn(LH_SYN | LH_ACK, &[]), true),
        /* 8 */ ("MH's data", false, |r| Tcp { payload: vec![1], ..r.pure(0, &[]) }, false),
        /* 9 */ ("MH's SYN and RST", false, |r| r.mh_syn(LH_SYN | LH_RST, &[]), false),
    ];
    for (i, (what, to_mh, packet, opens)) in rows.into_iter().enumerate() {
        let mut rig = Rig::silent(&Options::default());
        let tcp = packet(&rig);
        if to_mh {
            rig.fh_sends(0, tcp);
        } else {
            rig.mh_sends(0, tcp);
        }
        assert_eq!(
            rig.agent.keys().count() == 1,
            opens,
            "row {}: {what}",
            i + 1
        );
    }
}

#[test]
fn a_fin_is_cached_and_repaired() {
    let mut rig = Rig::plain();
    data!(rig, 200, 0, 100);
    let fin = Tcp {
        seq: wire(100),
        flags: LH_FIN | LH_ACK,
        ..rig.bare()
    };
    rig.fh_sends(201, fin);
    assert_eq!(rig.ring(), [(0, 100), (100, 101)]);
    rig.ack(210, 100, &[]);
    timer!(rig, 290 => pass, resend [100]);
    ack!(rig, 300, 101 => pass);
    assert_eq!(rig.deadline(), None);
    assert!(rig.flow().has(LH_FLOW_FIN_FH_ACKED));
}

#[test]
fn closed_both_ways_and_quiet() {
    let mut rig = Rig::plain();
    let fin = Tcp {
        flags: LH_FIN | LH_ACK,
        ..rig.bare()
    };
    rig.fh_sends(200, fin);
    rig.ack(210, 1, &[]);
    assert_eq!(rig.agent.sweep(ns(50_000)), 0, "half-closed");
    let fin = Tcp {
        flags: LH_FIN | LH_ACK,
        ..rig.pure(1, &[])
    };
    expect!(rig.mh_sends(50_000, fin), pass);
    assert_eq!(rig.agent.sweep(ns(50_500)), 0, "its ACK is still to come");
    let last = Tcp {
        seq: wire(1),
        ack: MH_BASE + 1,
        ..rig.bare()
    };
    rig.fh_sends(50_600, last);
    assert_eq!(rig.agent.sweep(ns(50_760)), 0, "twice LRTO is 160 ms");
    assert_eq!(rig.agent.sweep(ns(50_761)), 1);
    assert_eq!(rig.count(LH_C_flows_removed), 1);
}

#[test]
fn reset_by_either_side() {
    for by_mh in [false, true] {
        let mut rig = Rig::plain();
        rig.burst(200, 0, 100, 5);
        if by_mh {
            let rst = Tcp {
                flags: LH_RST,
                ..rig.pure(0, &[])
            };
            expect!(rig.mh_sends(210, rst), pass);
        } else {
            let rst = Tcp {
                flags: LH_RST | LH_ACK,
                seq: wire(500),
                ..rig.bare()
            };
            rig.fh_sends(210, rst);
        }
        assert_eq!(rig.agent.next_deadline(), None);
        assert_eq!(rig.agent.sweep(ns(370)), 0, "unless the connection goes on");
        assert_eq!(rig.agent.sweep(ns(371)), 1);
        assert_eq!(rig.agent.host().pool().slots_used(), 0);
    }
}

#[test]
fn idle_and_half_open_flows() {
    let mut rig = Rig::plain();
    rig.burst(200, 0, 100, 5);
    rig.ack(300, 500, &[]);
    assert_eq!(rig.agent.sweep(ns(60_300)), 0);
    assert_eq!(rig.agent.sweep(ns(60_301)), 1);
    // Never answered: sooner.
    let mut rig = Rig::silent(&Options::default());
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &[]));
    assert_eq!(rig.agent.sweep(ns(10_000)), 0);
    assert_eq!(rig.agent.sweep(ns(10_001)), 1);
}

#[test]
fn port_reuse_with_a_new_initial_number() {
    for mh_opens in [false, true] {
        let mut rig = Rig::new(&Options {
            sack: true,
            ..Options::default()
        });
        rig.ack(150, 0, &[]);
        rig.burst(200, 0, 100, 5);
        ack!(rig, 210, 0, sack [(100, 200)] => hold, resend [0]);
        let far = 1_000_000_000u32;
        let fh_syn = |flags| Tcp {
            seq: far,
            ack: 6,
            ..rig.fh_syn(flags, &option::wscale(2))
        };
        let mh_syn = |flags| Tcp {
            seq: 5,
            ack: far.wrapping_add(1),
            ..rig.mh_syn(flags, &option::wscale(3))
        };
        if mh_opens {
            let (a, b) = (mh_syn(LH_SYN), fh_syn(LH_SYN | LH_ACK));
            rig.mh_sends(1_000, a);
            rig.fh_sends(1_090, b);
        } else {
            let (a, b) = (fh_syn(LH_SYN), mh_syn(LH_SYN | LH_ACK));
            rig.fh_sends(1_000, a);
            rig.mh_sends(1_010, b);
        }
        assert_eq!(rig.agent.host().pool().slots_used(), 0);
        let f = rig.flow().raw();
        assert_eq!(f.max, far.wrapping_add(1));
        assert_eq!(f.conn.wscale_mh, 3);
        assert!(!rig.flow().uses_sack() && !rig.flow().is_held());
        // And the new connection is helped.
        let rel = i64::from(far.wrapping_add(1).wrapping_sub(wire(0)));
        rig.ack(1_100, rel, &[]);
        rig.burst(1_200, rel, 100, 3);
        ack!(rig, 1_220, rel => hold, resend [rel as u32]);
    }
}

#[test]
fn picked_up_in_mid_stream() {
    let mut rig = Rig::silent(&Options::default());
    rig.burst(0, 0, 100, 10);
    ack!(rig, 5, -500 => pass); // older than what we saw
    ack!(rig, 8, 0 => pass); // the first one that FH can compare with
    ack!(rig, 9, 0 => hold, resend [0]);
    ack!(rig, 20, 1_000 => pass);
    assert_eq!(rig.flow().raw().rtt.srtt_ns, 0, "that one was sent twice");
    rig.burst(100, 1_000, 100, 1);
    rig.ack(110, 1_100, &[]);
    assert_eq!(rig.flow().raw().rtt.srtt_ns, 10 * MSEC_NS);
}

#[test]
fn data_in_a_syn_is_not_ours() {
    let mut rig = Rig::silent(&Options::default());
    let tfo = Tcp {
        payload: vec![1; 50],
        ..rig.fh_syn(LH_SYN, &option::other(34, 10))
    };
    let outcome = rig.fh_sends(0, tfo);
    assert_eq!(outcome.actions.and_then(|a| a.store()), None);
    // MH took the data as well: an ACK of what we did not keep.
    let tcp = Tcp {
        ack: wire(50),
        ..rig.mh_syn(LH_SYN | LH_ACK, &[])
    };
    expect!(rig.mh_sends(10, tcp), pass);
    data!(rig, 100, 50, 100);
    ack!(rig, 110, 150 => pass);
    assert_eq!(rig.flow().raw().una, wire(150));
    assert!(rig.ring().is_empty());
}

/// MH acknowledges the data with the SYN. Nothing moved then until the next ACK: a request lost right behind
/// them was FH's timeout.
#[test]
fn behind_data_in_a_syn_the_timer_runs() {
    for config in [classic(), Config::default()] {
        for (in_syn, taken) in [(0, 0), (50, 50), (50, 0)] {
            let mut rig = Rig::silent(&Options {
                config,
                ..Options::default()
            });
            let syn = Tcp {
                payload: vec![1; in_syn],
                ..rig.fh_syn(LH_SYN, &[])
            };
            rig.fh_sends(0, syn);
            let answer = Tcp {
                ack: wire(taken),
                ..rig.mh_syn(LH_SYN | LH_ACK, &[])
            };
            rig.mh_sends(LOCAL_MS, answer);
            let f = rig.flow().raw();
            assert_eq!(f.rtt.srtt_ns, LOCAL_MS * MSEC_NS);
            assert_eq!((f.una, f.max), (wire(taken), wire(taken)));
            let end = Tcp {
                seq: wire(taken),
                ..rig.bare()
            };
            rig.fh_sends(100, end);
            data!(rig, 100, taken, 100); // lost
            assert!(rig.deadline().is_some(), "{taken} of {in_syn}");
        }
    }
}

/// ACKs take another way: nothing that is sent again could be known to be lost.
#[test]
fn where_acks_take_another_way_nothing_is_sent_again() {
    let of = |config| Config {
        queue_guard: 0,
        ..config
    };
    for config in [
        classic(),
        of(Config::sack()),
        of(Config::snack()),
        of(Config::slack()),
        Config::default(),
    ] {
        let mut rig = Rig::silent(&Options {
            config,
            ..Options::default()
        });
        let mut resent = 0;
        for i in 0..3_000 {
            rig.data(i * 10, i as i64 * 100, 100);
            resent += rig.timer(i * 10 + 1).resent.len();
        }
        assert_eq!(resent, 0, "scheme {}", config.scheme);
    }
}

/// Both open (RFC 9293 section 3.5): MH's SYN crosses FH's, and each answers the other's. Whichever answer comes
/// first, both ends' options are known, and the connection is as any other.
#[test]
fn a_simultaneous_open_teaches_options() {
    for mh_first in [true, false] {
        let mut rig = Rig::silent(&Options {
            sack: true,
            ..Options::default()
        });
        let options = [
            option::mss(1_000),
            option::wscale(WSCALE),
            option::sack_ok(),
        ]
        .concat();
        let (of_fh, of_mh) = (
            rig.fh_syn(LH_SYN | LH_ACK, &options),
            rig.mh_syn(LH_SYN | LH_ACK, &options),
        );
        rig.fh_sends(0, rig.fh_syn(LH_SYN, &options));
        rig.mh_sends(1, rig.mh_syn(LH_SYN, &options));
        if mh_first {
            rig.mh_sends(10, of_mh);
            rig.fh_sends(91, of_fh);
        } else {
            rig.fh_sends(91, of_fh);
            rig.mh_sends(101, of_mh);
        }
        rig.ack(102, 0, &[]);
        assert!(rig.flow().has(LH_FLOW_WSCALE) && rig.flow().uses_sack());
        let f = rig.flow().raw();
        assert_eq!((f.una, f.max), (wire(0), wire(0)));
        assert!(f.wired.rtt_ns == 0 || f.wired.rtt_ns == WIRED_MS * MSEC_NS);
        data!(rig, 110, 0, 100);
        ack!(rig, 120, 100 => pass);
        assert!(rig.ring().is_empty());
    }
}

/// A SYN-ACK of FH's on a live connection of which only MH's SYN was seen moves nothing unless both of its numbers
/// are what MH has said.
#[test]
fn a_forged_answer_to_a_crossing_syn_opens_nothing() {
    for (seq, ack) in [(-1, 1), (0, 0), (70_000, 0), (-1, -1)] {
        let mut rig = Rig::silent(&Options::default());
        let options = option::wscale(WSCALE);
        rig.mh_sends(1, rig.mh_syn(LH_SYN, &options));
        rig.mh_sends(10, rig.mh_syn(LH_SYN | LH_ACK, &options));
        let forged = Tcp {
            seq: wire(seq),
            ack: MH_BASE.wrapping_add_signed(ack),
            ..rig.fh_syn(LH_SYN | LH_ACK, &options)
        };
        rig.fh_sends(91, forged);
        assert!(!rig.flow().has(LH_FLOW_SYN_FH), "{seq} {ack}");
    }
}

/// Of the data in a SYN on a live connection all or none is acknowledged: numbers in between are easy to guess.
#[test]
fn an_answer_to_a_part_of_a_syns_data_is_refused() {
    let mut rig = rig_with(classic(), false);
    rig.burst(200, 0, 100, 3);
    let una = rig.flow().raw().una;
    let new = wire(500_000_000);
    let syn = Tcp {
        seq: new,
        payload: vec![1; 300],
        ..rig.fh_syn(LH_SYN, &[])
    };
    rig.fh_sends(300, syn);
    let answer = Tcp {
        seq: 77_000,
        ack: new.wrapping_add(151),
        ..rig.mh_syn(LH_SYN | LH_ACK, &[])
    };
    rig.mh_sends(310, answer);
    assert_eq!(rig.flow().raw().una, una);
    assert_eq!(rig.ring().len(), 3);
}

/// What may be FH's by a window that we did not see granted is FH's data, and no RST.
#[test]
fn an_rst_ahead_of_the_window_is_refused() {
    let mut rig = rig_with(classic(), false);
    rig.burst(200, 0, 100, 3);
    let edge = rig.flow().raw().fh.edge;
    let rst = Tcp {
        seq: edge.wrapping_add(1),
        flags: LH_RST | LH_ACK,
        ..rig.bare()
    };
    rig.fh_sends(210, rst);
    assert!(!rig.flow().has(LH_FLOW_RESET));
}
