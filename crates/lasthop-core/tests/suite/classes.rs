// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Classes of ACKs (docs/design.md, section 3.4), told by what they do. Five segments of
//! 100 bytes are under way from 0 on, 100 is acknowledged.

use lasthop_core::bindings::*;
use lasthop_core::packet::Tcp;

use crate::rig::{Options, Rig, wire};

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Class {
    New,
    Old,
    Refused,
    Duplicate,
    Same,
}

fn class(rig: &mut Rig, tcp: Tcp) -> Class {
    let una = rig.flow().raw().una;
    let dup = rig.count(LH_C_duplicate_acks);
    let old = i32::from(tcp.ack.wrapping_sub(una) as u16 as i16) < 0;
    rig.mh_sends(300, tcp);
    let f = rig.flow().raw();
    match (rig.count(LH_C_duplicate_acks) - dup, f.una == una) {
        (1, true) => Class::Duplicate,
        (0, true) if rig.count(LH_C_bypass_unacceptable) > 0 => Class::Refused,
        (0, true) if old => Class::Old,
        (0, true) => Class::Same,
        (0, false) if f.una == wire(500) && f.max == f.una => Class::New,
        (0, false) => Class::New,
        other => panic!("{other:?}"),
    }
}

type Change = fn(&mut Tcp);

/// ACK number, blocks, what else is changed, class.
type Row = (i64, &'static [(i64, i64)], Change, Class);

fn check(sack: bool, rows: &[Row]) {
    for (i, &(ack, blocks, change, want)) in rows.iter().enumerate() {
        let mut rig = Rig::new(&Options {
            sack,
            ..Options::default()
        });
        rig.burst(200, 0, 100, 5);
        rig.ack(250, 100, &[]);
        let mut tcp = rig.pure(ack, blocks);
        change(&mut tcp);
        assert_eq!(class(&mut rig, tcp), want, "row {}, SACK {sack}", i + 1);
    }
}

fn as_it_is(_: &mut Tcp) {}

#[test]
fn without_sack() {
    use Class::*;
    #[rustfmt::skip]
    check(false, &[
        /*  1 */ (100, &[], as_it_is, Duplicate),
        /*  2 */ (101, &[], as_it_is, New),
        /*  3 */ (500, &[], as_it_is, New),
        /*  4 */ (501, &[], as_it_is, Refused),
        /*  5 */ (90_000, &[], as_it_is, Refused),
        /*  6 */ (99, &[], as_it_is, Old),
        /*  7 */ (0, &[], as_it_is, Old),
        /*  8 */ (100, &[], |t| t.window += 1, Same), // a window update
        /*  9 */ (100, &[], |t| t.window -= 1, Same),
        /* 10 */ (100, &[], |t| t.payload = vec![1], Same),
        /* 11 */ (100, &[], |t| t.flags |= LH_FIN, Same),
        /* 12 */ (100, &[], |t| t.flags |= LH_ECE, Duplicate),
    ]);
}

#[test]
fn with_sack_only_blocks_tell() {
    use Class::*;
    #[rustfmt::skip]
    check(true, &[
        /*  1 */ (100, &[], as_it_is, Same),
        /*  2 */ (100, &[(200, 300)], as_it_is, Duplicate),
        /*  3 */ (100, &[(200, 300)], |t| t.window += 1, Duplicate),
        /*  4 */ (100, &[(0, 100)], as_it_is, Same), // DSACK below the ACK
        /*  5 */ (100, &[(0, 100), (200, 300)], as_it_is, Duplicate),
        /*  6 */ (100, &[(200, 300)], |t| t.payload = vec![1], Duplicate), // never held
        /*  7 */ (100, &[(200, 300)], |t| t.flags |= LH_FIN, Same),
        /*  8 */ (200, &[(300, 400)], as_it_is, New),
        /*  9 */ (50, &[(200, 300)], as_it_is, Old),
        /* 10 */ (600, &[(700, 800)], as_it_is, Refused),
    ]);
}

#[test]
fn nothing_is_a_duplicate_while_nothing_is_under_way() {
    for sack in [false, true] {
        let mut rig = Rig::new(&Options {
            sack,
            ..Options::default()
        });
        rig.burst(200, 0, 100, 2);
        rig.ack(250, 200, &[]);
        for ms in 0..5 {
            ack!(rig, 260 + ms, 200 => pass);
        }
        assert_eq!(rig.count(LH_C_duplicate_acks), 0);
    }
}

#[test]
fn a_mid_stream_flow_that_shows_blocks_is_a_sack_flow() {
    let mut rig = Rig::silent(&Options {
        sack: true,
        ..Options::default()
    });
    rig.burst(0, 0, 100, 5);
    rig.ack(10, 0, &[]);
    rig.ack(11, 0, &[(100, 200)]);
    assert!(rig.flow().has(LH_FLOW_SACK_SEEN));
    assert!(rig.flow().uses_sack());
    assert_eq!(rig.count(LH_C_duplicate_acks), 1);
    rig.ack(12, 0, &[]); // bare: no duplicate any more
    assert_eq!(rig.count(LH_C_duplicate_acks), 1);
}

#[test]
fn ack_with_syn_or_rst_is_no_ack_for_the_scheme() {
    let mut rig = Rig::plain();
    rig.burst(200, 0, 100, 5);
    let acks = rig.count(LH_C_ack_segments);
    for flags in [LH_SYN | LH_ACK, LH_RST | LH_ACK, LH_RST, 0] {
        let tcp = Tcp {
            flags,
            ..rig.pure(0, &[])
        };
        assert!(!rig.mh_sends(210, tcp).held);
    }
    assert_eq!(rig.count(LH_C_ack_segments), acks);
}
