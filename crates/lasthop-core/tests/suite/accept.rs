// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Forged packets, one at a time: whatever the connection can't have sent changes nothing
//! (core/accept.h), and what may be its own is believed no longer than the connection proves
//! otherwise.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Tcp, option};
use lasthop_core::{Config, MSEC_NS};

use crate::rig::{MH_BASE, Options, Rig, wire};

/// Window that MH grants in all scripts.
const WINDOW: i64 = 1_000 << 7;

/// A connection with SACK: ten segments from 0 on, the second has arrived, an ACK is kept.
fn helped(config: Config) -> Rig {
    let mut rig = crate::rig::rig_with(config, true);
    rig.burst(200, 0, 100, 10);
    ack!(rig, 212, 0, sack [(100, 200)] => hold, resend [0]);
    rig
}

/// Help goes on: MH gets the repair, reports the next hole, that one is repaired and hidden.
fn still_helped(rig: &mut Rig, why: &str) {
    let seen = rig.ack(222, 200, &[]);
    assert!(!seen.held && seen.resent.is_empty(), "{why}");
    let seen = rig.ack(223, 200, &[(300, 400)]);
    assert!(seen.held, "{why}");
    assert_eq!(seen.resent, [200], "{why}");
    assert_eq!(rig.ring().first(), Some(&(200, 300)), "{why}");
    let seen = rig.ack(232, 1_000, &[]);
    assert!(!seen.held && seen.resent.is_empty(), "{why}");
}

fn schemes() -> [Config; 2] {
    [crate::rig::classic(), Config::default()]
}

/// What is left of the flow's state, as bytes, without what only counts packets.
fn state(rig: &Rig) -> Vec<u8> {
    let mut f = *rig.flow().raw();
    f.nr_data = 0;
    f.payload_bytes = 0;
    f.conn.syn = lh_syn::default();
    f.claim = lh_claim::default();
    f.flags &= !LH_FLOW_CLAIM;
    let at = (&raw const f).cast::<u8>();
    // SAFETY: lh_flow is plain data, and its padding was zeroed with the rest.
    unsafe { std::slice::from_raw_parts(at, size_of::<lh_flow>()) }.to_vec()
}

#[test]
fn what_the_connection_cant_have_sent_changes_nothing() {
    type Packet = fn(&Rig) -> Tcp;
    let far = 1_000_000_000;
    #[rustfmt::skip]
    let rows: [(&str, bool, Packet); 17] = [
        // From the lossy side; true: towards MH.
        ("SYN-ACK with another scale", false, |r| r.mh_syn(LH_SYN | LH_ACK, &option::wscale(14))),
        ("SYN-ACK of any number", false, |r| Tcp {
            seq: 99, ack: 77, ..r.mh_syn(LH_SYN | LH_ACK, &option::wscale(14))
        }),
        ("SYN of any number", false, |r| Tcp { seq: 99, ..r.mh_syn(LH_SYN, &[]) }),
        ("SYN of FH's, any number", true, |r| Tcp { seq: 99, ..r.fh_syn(LH_SYN, &[]) }),
        ("SYN-ACK of FH's", true, |r| Tcp { seq: 99, ..r.fh_syn(LH_SYN | LH_ACK, &[]) }),
        ("ACK of what FH has not sent", false, |r| r.pure(1_001, &[])),
        ("far ACK", false, |r| r.pure(1_000_000_000, &[])),
        ("ACK of long ago", false, |r| r.pure(-500_000, &[])),
        ("ACK from beyond MH's own numbers", false, |r| Tcp {
            seq: MH_BASE + 50_000_000, ..r.pure(500, &[])
        }),
        ("block list at a far number", false, |r| Tcp {
            seq: MH_BASE.wrapping_sub(50_000_000), ..r.pure(0, &[(200, 900)])
        }),
        ("RST of MH's, any number", false, |r| Tcp {
            seq: MH_BASE + 50_000_000, flags: LH_RST, ..r.pure(0, &[])
        }),
        ("RST of FH's, any number", true, |r| Tcp {
            seq: wire(1_000_000), flags: LH_RST | LH_ACK, ..r.bare()
        }),
        ("FIN of MH's, any number", false, |r| Tcp {
            seq: MH_BASE + 50_000_000, flags: LH_FIN | LH_ACK, ..r.pure(0, &[])
        }),
        ("FIN of FH's, far ahead", true, |r| Tcp {
            seq: wire(1_000_000), flags: LH_FIN | LH_ACK, ..r.bare()
        }),
        ("signed segment, any number", true, |r| Tcp {
            options: option::other(19, 18), ..r.segment(1_000_000, 100)
        }),
        ("data that acknowledge what MH has not sent", true, |r| Tcp {
            ack: MH_BASE + 1, ..r.segment(1_000, 100)
        }),
        ("neither ACK nor RST", true, |r| Tcp { flags: 0, ..r.segment(1_000, 100) }),
    ];
    for config in schemes() {
        for (what, to_mh, packet) in &rows {
            let mut rig = helped(config);
            let (before, tcp) = (state(&rig), packet(&rig));
            let resent = rig.count(LH_C_local_retransmits);
            if *to_mh {
                let out = rig.fh_sends(215, tcp);
                assert_eq!(out.actions.and_then(|a| a.store()), None, "{what}");
            } else {
                expect!(rig.mh_sends(215, tcp), pass);
            }
            assert!(state(&rig) == before, "{what}");
            assert_eq!(rig.count(LH_C_local_retransmits), resent, "{what}");
            still_helped(&mut rig, what);
        }
        let mut rig = helped(config);
        let before = state(&rig);
        rig.fh_sends(215, rig.segment(far, 100));
        assert!(state(&rig) == before, "data far ahead");
        still_helped(&mut rig, "data far ahead");
    }
}

/// Beyond the window that we saw MH grant FH may send if we missed a word of MH's; that
/// is forwarded, and neither cached nor taken for what FH sends next.
#[test]
fn data_beyond_the_window_is_not_cached() {
    for config in schemes() {
        let mut rig = helped(config);
        for i in 0..500 {
            let seq = WINDOW - 99 + 100 * i;
            assert!(!rig.data(215, seq, 100), "{seq}");
        }
        assert_eq!(rig.ring().len(), 10);
        assert_eq!(rig.flow().raw().max, wire(1_000));
        still_helped(&mut rig, "a segment behind the window");
        rig.burst(240, 1_000, 100, 5);
        ack!(rig, 252, 1_000, sack [(1_100, 1_200)] => hold, resend [1_000]);
        assert!(rig.data(260, WINDOW - 100, 100), "the last that fits");
    }
}

/// An RST at a right number may be forged, too: it suspends the flow until the connection
/// shows that it lives, and nothing that was learned is lost.
#[test]
fn an_rst_suspends_no_longer_than_the_connection_is_quiet() {
    for config in schemes() {
        for by_mh in [false, true] {
            let mut rig = helped(config);
            let before = *rig.flow().raw();
            if by_mh {
                let rst = Tcp {
                    flags: LH_RST,
                    ..rig.pure(0, &[])
                };
                expect!(rig.mh_sends(215, rst), pass);
            } else {
                let rst = Tcp {
                    seq: wire(1_000),
                    flags: LH_RST | LH_ACK,
                    ..rig.bare()
                };
                rig.fh_sends(215, rst);
            }
            assert!(rig.flow().has(LH_FLOW_RESET));
            assert!(rig.flow().is_held(), "and goes out in time");
            still_helped(&mut rig, "RST");
            let after = *rig.flow().raw();
            assert!(!rig.flow().has(LH_FLOW_RESET));
            assert_eq!(after.conn.wscale_mh, before.conn.wscale_mh);
            assert_eq!(after.wired.rtt_ns, before.wired.rtt_ns);
        }
        // FH's data prove it as well.
        let mut rig = helped(config);
        let rst = Tcp {
            flags: LH_RST,
            ..rig.pure(0, &[])
        };
        rig.mh_sends(215, rst);
        data!(rig, 216, 1_000, 100);
        assert!(!rig.flow().has(LH_FLOW_RESET));
    }
}

/// What was kept back goes out, though the connection seems to be reset.
#[test]
fn an_rst_loses_no_kept_ack() {
    let mut rig = helped(crate::rig::classic());
    let rst = Tcp {
        flags: LH_RST,
        ..rig.pure(0, &[])
    };
    rig.mh_sends(215, rst);
    timer!(rig, 1_000 => pass, release 1);
}

#[test]
fn data_behind_a_fin_prove_it_forged() {
    let mut rig = helped(Config::default());
    let fin = |rig: &Rig, seq| Tcp {
        seq: wire(seq),
        flags: LH_FIN | LH_ACK,
        ..rig.bare()
    };
    rig.fh_sends(215, fin(&rig, 500));
    assert!(rig.flow().has(LH_FLOW_FIN_FH));
    data!(rig, 216, 1_000, 100);
    assert!(!rig.flow().has(LH_FLOW_FIN_FH));
    let fin = Tcp {
        flags: LH_FIN | LH_ACK,
        ..rig.pure(0, &[])
    };
    rig.mh_sends(217, fin);
    assert!(rig.flow().has(LH_FLOW_FIN_MH));
    let more = Tcp {
        payload: vec![1; 10],
        ..rig.pure(0, &[])
    };
    rig.mh_sends(218, more);
    assert!(!rig.flow().has(LH_FLOW_FIN_MH));
}

/// A timestamp that FH has not sent yet, echoed: PAWS would make MH drop all that is cached,
/// were it true.
#[test]
fn an_echo_of_the_future_blocks_nothing() {
    let mut rig = Rig::new(&Options {
        sack: true,
        config: Config::default(),
        ..Options::default()
    });
    let stamped = |tcp: Tcp, val, echo| Tcp {
        options: [option::timestamps(val, echo), tcp.options].concat(),
        ..tcp
    };
    for i in 0..10 {
        rig.fh_sends(200, stamped(rig.segment(100 * i, 100), 5_000, 70));
    }
    let forged = stamped(rig.pure(0, &[]), 71, 900_000);
    rig.mh_sends(205, forged);
    let sack = stamped(rig.pure(0, &[(100, 200)]), 72, 5_000);
    expect!(rig.mh_sends(212, sack), hold, resend[0]);
}

/// The agent saw neither side for longer than a window, as while its program is exchanged: what
/// both ends agree on is picked up, as if it had just come.
#[test]
fn what_both_ends_agree_on_is_picked_up() {
    let mut rig = helped(Config::default());
    let far = 50_000_000;
    assert!(!rig.data(300, far, 100), "one end's word");
    assert_eq!(rig.flow().raw().max, wire(1_000));
    ack!(rig, 310, far + 100 => pass);
    assert_eq!(rig.count(LH_C_resynchronised), 0, "both, but too soon");
    // Somewhere else no answer is one.
    ack!(rig, 1_301, far - 10_000_000 => pass);
    assert_eq!(rig.count(LH_C_resynchronised), 0);
    ack!(rig, 1_302, far + 100 => pass);
    assert_eq!(rig.count(LH_C_resynchronised), 1);
    rig.burst(1_310, far + 100, 100, 5);
    ack!(rig, 1_320, far + 100 => pass);
    let (left, right) = (far + 200, far + 300);
    ack!(rig, 1_321, far + 100, sack [(left, right)] => pass, resend [far as u32 + 100]);
}

/// A FIN takes a number (RFC 9293 section 3.4) and is answered, with or without data: FH's word as
/// well. A bare ACK is not.
#[test]
fn a_bare_fin_is_a_word_too() {
    for (fin, agreed) in [(LH_FIN, 1), (0, 0)] {
        let mut rig = helped(Config::default());
        let far = 50_000_000;
        let last = Tcp {
            flags: fin | LH_ACK,
            ..rig.segment(far, 0)
        };
        rig.fh_sends(300, last);
        let end = far + i64::from(fin != 0);
        ack!(rig, 1_302, end => pass);
        assert_eq!(rig.count(LH_C_resynchronised), agreed, "{fin}");
    }
}

/// FH's own data take the claim of another back.
#[test]
fn a_claim_lasts_until_fh_goes_on() {
    let mut rig = helped(Config::default());
    let far = 50_000_000;
    rig.data(300, far, 100);
    data!(rig, 301, 1_000, 100);
    ack!(rig, 2_000, far + 100 => pass);
    assert_eq!(rig.count(LH_C_resynchronised), 0);
}

/// Nobody saw its handshake.
fn mid_stream() -> Rig {
    Rig::silent(&Options {
        sack: true,
        config: Config::default(),
        ..Options::default()
    })
}

/// In mid-stream nobody knows what FH had sent before: an ACK ahead of what we saw may be right.
/// If not, both ends go on below it, and after a second that counts.
#[test]
fn in_mid_stream_an_ack_ahead_is_believed_for_a_second() {
    let mut rig = mid_stream();
    rig.burst(0, 0, 100, 10);
    ack!(rig, 12, 0 => pass);
    ack!(rig, 13, 50_000 => pass);
    assert_eq!(rig.flow().raw().una, wire(50_000));
    for i in 0..20 {
        let (ms, seq) = (100 + 100 * i as u64, 1_000 + 100 * i);
        rig.data(ms, seq, 100);
        rig.ack(ms + 12, seq + 100, &[]);
    }
    assert_eq!(rig.count(LH_C_resynchronised), 1);
    rig.burst(3_000, 3_000, 100, 5);
    ack!(rig, 3_012, 3_000, sack [(3_100, 3_200)] => pass, resend [3_000]);
}

/// Beyond several times what was on its way before, one end's word is not enough, though the
/// window's scale may be 14.
#[test]
fn in_mid_stream_what_was_used_bounds_what_may_be() {
    let mut rig = mid_stream();
    rig.burst(0, 0, 100, 10);
    ack!(rig, 12, 0 => pass);
    ack!(rig, 13, 5_000_000 => pass);
    assert!(!rig.data(14, 5_000_000, 100), "no data of FH's");
    assert_eq!(rig.count(LH_C_bypass_unacceptable), 2);
    rig.data(15, 1_000, 100);
    ack!(rig, 16, 5_000_100 => pass);
    assert_eq!(
        rig.flow().raw().una,
        wire(0),
        "FH's own data take the claim back"
    );
    assert_eq!(rig.flow().raw().max, wire(1_100));
    ack!(rig, 20, 0, sack [(100, 200)] => pass, resend [0]);
}

/// Slow start doubles what is on its way with each round trip: that is no jump.
#[test]
fn in_mid_stream_slow_start_is_followed() {
    let mut rig = mid_stream();
    let (mut ms, mut sent, mut flight) = (0, 0, 10_000);
    while flight < 1_000_000 {
        for _ in 0..flight / 1_000 {
            assert!(rig.data(ms, sent, 1_000), "{sent} of {flight}");
            sent += 1_000;
        }
        // Each ACK has FH send twice as much.
        let una = sent - flight;
        for i in 1..=flight / 2_000 {
            rig.ack(ms + 20, una + 2_000 * i, &[]);
            for _ in 0..4 {
                assert!(rig.data(ms + 20, sent, 1_000), "{sent} of {flight}");
                sent += 1_000;
            }
        }
        (ms, flight) = (ms + 40, sent - una - flight);
        rig.ack(ms, sent - flight, &[]);
        rig.ack(ms + 1, sent, &[]);
    }
    assert_eq!(rig.count(LH_C_bypass_unacceptable), 0);
}

/// What was on its way when we came counts as used, whoever is heard first.
#[test]
fn in_mid_stream_a_flight_is_found_at_once() {
    for mh_first in [true, false] {
        let mut rig = mid_stream();
        if !mh_first {
            assert!(rig.data(0, 999_900, 100));
        }
        ack!(rig, 1, 0 => pass);
        for i in 0..2_000 {
            rig.data(2, 1_000_000 + 1_000 * i, 1_000);
            if i > 50 {
                rig.ack(3, 1_000 * (i - 50), &[]);
            }
        }
        assert_eq!(
            rig.ring().len() / 100,
            9,
            "all of what is on its way, but for the first"
        );
        assert_eq!(rig.count(LH_C_bypass_unacceptable), 0);
    }
}

/// After a pause FH may send more at once than ever before. Its first answer shows that.
#[test]
fn in_mid_stream_a_larger_burst_is_helped_after_its_first_answer() {
    let mut rig = mid_stream();
    rig.burst(0, 0, 1_000, 10);
    ack!(rig, 12, 10_000 => pass);
    let burst = 300_000;
    for i in 0..burst / 1_000 {
        rig.data(100, 10_000 + 1_000 * i, 1_000);
    }
    assert!(
        !rig.data(100, 10_000 + burst, 1_000),
        "more than twice 64 kB"
    );
    for i in 1..=burst / 1_000 {
        rig.ack(112, 10_000 + 1_000 * i, &[]);
    }
    assert_eq!(rig.flow().raw().una, wire(10_000 + burst));
    assert_eq!(rig.count(LH_C_resynchronised), 0, "what was learned stays");
    rig.burst(120, 11_000 + burst, 1_000, 5);
    let (una, left) = (11_000 + burst, 12_000 + burst);
    ack!(rig, 130, una => pass);
    ack!(rig, 131, una, sack [(left, left + 1_000)] => pass, resend [una as u32]);
}

/// What was sent within the bound may be acknowledged at once, wherever the edge is.
#[test]
fn in_mid_stream_a_burst_is_acknowledged_at_once() {
    let mut rig = mid_stream();
    rig.burst(0, 0, 1_000, 2);
    ack!(rig, 12, 2_000 => pass);
    rig.burst(100, 2_000, 1_000, 100);
    ack!(rig, 210, 2_000, sack [(3_000, 102_000)] => pass, resend [2_000]);
    ack!(rig, 222, 102_000 => pass);
    assert_eq!(rig.flow().raw().una, wire(102_000));
    assert_eq!(rig.count(LH_C_bypass_unacceptable), 0);
}

/// A flight of more than 4 MiB, of which nobody had seen a part before: MH answers its first
/// segments when FH has sent the last.
#[test]
fn in_mid_stream_a_long_burst_is_found_by_the_answer_to_its_first() {
    let mut rig = mid_stream();
    rig.burst(0, 0, 1_000, 10);
    ack!(rig, 12, 10_000 => pass);
    for i in 0..6_000 {
        rig.data(100, 10_000 + 1_000 * i, 1_000);
    }
    rig.ack(150, 310_000, &[]);
    assert_eq!(rig.flow().raw().una, wire(310_000));
}

/// What the ends have agreed on stays known when FH goes on.
#[test]
fn a_flight_that_was_picked_up_stays_acceptable() {
    let mut rig = helped(Config::default());
    let (far, flight) = (50_000_000, 400_000);
    for i in 0..flight / 1_000 {
        rig.data(2_000, far + 1_000 * i, 1_000);
    }
    ack!(rig, 2_012, far + 1_000 => pass);
    assert_eq!(rig.count(LH_C_resynchronised), 1);
    let before = rig.count(LH_C_bypass_unacceptable);
    for i in 1..flight / 1_000 {
        rig.data(2_013, far + flight + 1_000 * i, 1_000);
        rig.ack(2_013, far + 1_000 * i, &[]);
    }
    assert_eq!(rig.count(LH_C_bypass_unacceptable), before);
}

/// A SYN-ACK whose SYN nobody saw, and numbers on either half of the circle.
#[test]
fn half_a_handshake_learns_what_is_used() {
    let mut rig = mid_stream();
    let options = [option::wscale(7), option::sack_ok()].concat();
    rig.mh_sends(0, rig.mh_syn(LH_SYN | LH_ACK, &options));
    rig.fh_sends(10, rig.segment(0, 0));
    let mut sent = 0;
    for round in 0..6 {
        let (ms, flight) = (100 + 100 * round, 20_000 << round);
        for i in 0..flight / 1_000 {
            rig.data(ms, sent + 1_000 * i, 1_000);
        }
        sent += flight;
        rig.ack(ms + 20, sent, &[]);
        rig.ack(ms + 21, sent, &[]);
    }
    assert_eq!(rig.flow().raw().una, wire(sent));
    assert!(
        rig.flow().raw().fh.used >= 600_000,
        "{}",
        rig.flow().raw().fh.used
    );
}

/// The port's next connection begins once both have said so, whoever asked in between.
#[test]
fn a_syn_aside_opens_the_next_connection() {
    let mut rig = helped(Config::default());
    let fh = |rig: &Rig, seq| Tcp {
        seq: wire(seq),
        ..rig.fh_syn(LH_SYN, &[option::wscale(2), option::sack_ok()].concat())
    };
    rig.fh_sends(300, fh(&rig, 7_000_000));
    rig.fh_sends(301, fh(&rig, 9_000_000));
    let answer = |rig: &Rig, ack| Tcp {
        seq: 5,
        ack: wire(ack),
        ..rig.mh_syn(
            LH_SYN | LH_ACK,
            &[option::wscale(3), option::sack_ok()].concat(),
        )
    };
    rig.mh_sends(310, answer(&rig, 7_000_001));
    assert_eq!(
        rig.flow().raw().una,
        wire(0),
        "nobody asked for that, lately"
    );
    rig.mh_sends(311, answer(&rig, 9_000_001));
    let f = rig.flow().raw();
    assert_eq!(
        (f.una, f.conn.wscale_fh, f.conn.wscale_mh),
        (wire(9_000_001), 2, 3)
    );
    assert_eq!(f.rtt.srtt_ns, 10 * MSEC_NS);
    assert!(rig.flow().uses_sack());
    assert_eq!(rig.agent.host().pool().slots_used(), 0);
}

/// Whoever sends PSH or a bit without a meaning yet wants it to arrive.
#[test]
fn an_ack_that_says_more_is_not_kept() {
    for flag in [LH_PSH, 0x200, 0x400, 0x800] {
        let mut rig = helped(crate::rig::classic());
        let tcp = Tcp {
            flags: LH_ACK | flag,
            ..rig.pure(0, &[(100, 300)])
        };
        assert!(!rig.mh_sends(216, tcp).held, "{flag:#x}");
    }
}

#[test]
fn the_ports_next_connection_starts_anew() {
    let mut rig = crate::rack::rig(true);
    rig.burst(200, 0, 1_000, 4);
    ack!(rig, 212, 0, sack [(1_000, 2_000)] => hold, resend [0]);
    let syn = Tcp {
        seq: wire(500_000),
        ..rig.fh_syn(LH_SYN, &[])
    };
    rig.fh_sends(300, syn);
    assert_eq!(rig.ring().len(), 4, "it may be forged");
    let answer = Tcp {
        seq: 99,
        ack: wire(500_001),
        ..rig.mh_syn(LH_SYN | LH_ACK, &[])
    };
    rig.mh_sends(310, answer);
    let f = rig.flow().raw();
    assert_eq!(
        (
            f.delivery.sacked_bytes,
            f.flags & LH_FLOW_HELD,
            f.control.state
        ),
        (0, 0, 0)
    );
    assert_eq!(f.una, wire(500_001));
    assert_eq!(rig.ring().len(), 0);
}
