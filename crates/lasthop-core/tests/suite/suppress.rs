// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What may be kept from FH (docs/design.md, section 3.5; CAKE's ACK filter
//! is the model of the refusals): one row per reason.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Tcp, option};
use lasthop_core::{Config, MSEC_NS, parse};

use crate::rig::{Options, Rig, classic, ns, rig_with, wire};
use crate::watch_edit::edited;

/// Ten segments of 100 bytes at 200 ms, the first one lost: its duplicates
/// carry a block for the second one.
fn lossy(config: Config, sack: bool) -> Rig {
    let mut rig = rig_with(config, sack);
    rig.burst(200, 0, 100, 10);
    rig
}

fn duplicate(rig: &Rig) -> Tcp {
    match rig.flow().uses_sack() {
        true => rig.pure(0, &[(100, 200)]),
        false => rig.pure(0, &[]),
    }
}

#[test]
fn the_plain_duplicate_is_held() {
    for sack in [false, true] {
        let mut rig = lossy(classic(), sack);
        let tcp = duplicate(&rig);
        let seen = rig.mh_sends(220, tcp);
        expect!(seen, hold, resend[0]);
        assert_eq!(rig.count(LH_C_suppressed_acks), 1);
    }
}

#[test]
fn refusals_by_the_packet() {
    type Change = fn(&mut Tcp);
    #[rustfmt::skip]
    let rows: [(&str, Change); 15] = [
        /*  1 */ ("ECE set", |t| t.flags |= LH_ECE),
        /*  2 */ ("CWR set", |t| t.flags |= LH_CWR),
        /*  3 */ ("AccECN's third bit", |t| t.flags |= LH_AE),
        /*  4 */ ("URG", |t| t.flags |= LH_URG),
        /*  5 */ ("FIN", |t| t.flags |= LH_FIN),
        /*  6 */ ("SYN", |t| t.flags |= LH_SYN),
        /*  7 */ ("RST", |t| t.flags |= LH_RST),
        /*  8 */ ("no ACK", |t| t.flags &= !LH_ACK),
        /*  9 */ ("payload", |t| t.payload = vec![1]),
        /* 10 */ ("unknown option", |t| t.options.extend(option::other(253, 4))),
        /* 11 */ ("MPTCP", |t| t.options.extend(option::other(30, 4))),
        /* 12 */ ("DSACK below", |t| t.options = option::sack(&[(wire(-50), wire(0)), (wire(100), wire(200))])),
        /* 13 */ ("DSACK inside", |t| t.options = option::sack(&[(wire(100), wire(200)), (wire(100), wire(300))])),
        /* 14 */ ("window shrinks", |t| t.window -= 1),
        /* 15 */ ("window closes", |t| t.window = 0),
    ];
    for (i, (why, change)) in rows.into_iter().enumerate() {
        let mut rig = lossy(classic(), true);
        let mut tcp = duplicate(&rig);
        change(&mut tcp);
        let seen = rig.mh_sends(220, tcp);
        assert!(!seen.held, "row {}: {why}", i + 1);
        assert_eq!(rig.count(LH_C_suppressed_acks), 0, "row {}: {why}", i + 1);
    }
}

/// What passes in any case tells of no hole in hand, until time is up: then one with data of MH's shows what is
/// missing, and a copy of one with an unknown option goes out as it came.
#[test]
fn what_passes_in_any_case_tells_of_no_hole() {
    type Change = fn(&mut Tcp);
    let rows: [(&str, Change, usize); 3] = [
        ("payload", |t| t.payload = vec![1; 300], 0),
        (
            "PSH",
            |t| (t.payload, t.flags) = (vec![1], t.flags | LH_PSH),
            0,
        ),
        ("option", |t| t.options.extend(option::other(172, 12)), 1),
    ];
    for (why, change, copies) in rows {
        let mut rig = lossy(Config::default(), true);
        let mut tcp = duplicate(&rig);
        change(&mut tcp);
        let came = tcp.to_fh(&rig.ends);
        let passes = |rig: &mut Rig, ms| {
            let out = rig.agent.on_ingress(&came, ns(ms));
            let passed = out.passed.expect("it passes in any case");
            let (s, _) = parse(&came, 0, None, false).expect("TCP");
            edited(&came, &passed, &s).blanked
        };
        assert!(passes(&mut rig, 212), "{why}");
        assert!(passes(&mut rig, 361), "{why}");
        assert_eq!(rig.timer(362).released, copies, "{why}");
        assert!(!passes(&mut rig, 363), "{why}");
        assert_eq!(rig.count(LH_C_released_acks), copies as u64, "{why}");
    }
}

#[test]
fn refusals_by_the_state() {
    type Before = fn(&mut Rig);
    #[rustfmt::skip]
    let rows: [(&str, Before); 9] = [
        /* 1 */ ("user space gone", |r| r.agent.set_alive(false)),
        /* 2 */ ("sent again by FH", |r| { r.data(210, 0, 100); }),
        /* 3 */ ("FH's repetition overlaps", |r| { r.data(210, 0, 150); }),
        /* 4 */ ("MPTCP connection", |_| {}),
        /* 5 */ ("ECN flags were set on the last one", |r| {
            let tcp = Tcp { flags: LH_ACK | LH_ECE, ..r.pure(0, &[]) };
            r.mh_sends(205, tcp);
        }),
        /* 6 */ ("FH never saw this number", |_| {}),
        /* 7 */ ("n_local at its limit", |r| {
            for ms in [400, 800, 1_600, 3_200, 6_400, 9_600, 12_800, 16_000, 19_200, 22_400] {
                r.timer(ms);
            }
        }),
        /* 8 */ ("a second hole, uncached", |r| {
            r.data(210, 1_100, 100);
            r.ack(211, 0, &[(1_100, 1_200)]);
        }),
        /* 9 */ ("a second hole, filled late", |r| {
            r.data(210, 1_100, 100);
            r.data(211, 1_000, 100);
            r.ack(212, 0, &[(1_100, 1_200)]);
        }),
    ];
    for (i, (why, before)) in rows.into_iter().enumerate() {
        let row = i + 1;
        let mut rig = match row {
            6 => {
                // Picked up in mid-stream: no ACK has passed yet.
                let mut rig = Rig::silent(&Options {
                    sack: true,
                    ..Options::default()
                });
                rig.burst(200, 0, 100, 10);
                rig
            }
            4 => {
                let mut rig = Rig::new(&Options {
                    sack: true,
                    mh_options: option::other(30, 12),
                    ..Options::default()
                });
                rig.ack(150, 0, &[]);
                rig.burst(200, 0, 100, 10);
                rig
            }
            _ => lossy(classic(), true),
        };
        before(&mut rig);
        let tcp = rig.pure(0, &[(100, 200)]);
        let seen = rig.mh_sends(30_000, tcp);
        assert!(!seen.held, "row {row}: {why}");
        assert_eq!(rig.count(LH_C_suppressed_acks), 0, "row {row}: {why}");
    }
}

#[test]
fn a_second_hole_that_is_cached_does_not_matter() {
    let mut rig = lossy(classic(), true);
    ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
    ack!(rig, 221, 0, sack [(300, 400), (100, 200)] => hold);
}

#[test]
fn without_sack_only_the_head_matters() {
    let mut rig = lossy(classic(), false);
    rig.data(210, 1_100, 100);
    rig.data(211, 1_000, 100); // lost upstream, it seems
    ack!(rig, 220, 0 => hold, resend [0]);
}

#[test]
fn beyond_the_hold_time_everything_passes() {
    let mut rig = lossy(classic(), true);
    ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
    let hold_ms = rig.flow().hold_ns(&classic()) / MSEC_NS;
    assert_eq!(hold_ms, 150);
    ack!(rig, 369, 0, sack [(100, 300)] => hold);
    ack!(rig, 370, 0, sack [(100, 400)] => pass);
    assert!(rig.flow().has(LH_FLOW_ABANDONED));
    ack!(rig, 371, 0, sack [(100, 500)] => pass);
    // Until a new ACK comes.
    ack!(rig, 380, 100, sack [(200, 500)] => pass, resend [100]);
    ack!(rig, 381, 100, sack [(200, 600)] => hold);
}

/// How long an ACK is kept is settled when it is: a shorter round trip that shows meanwhile
/// may allow for more (three of 900 ms, but of 1,200 ms none), which FH knows nothing of.
#[test]
fn the_hold_does_not_grow_while_it_lasts() {
    let config = Config {
        suppress: LH_SUPPRESS_ON,
        ..Config::default()
    };
    let mut rig = Rig::silent(&Options {
        sack: true,
        config,
        ..Options::default()
    });
    rig.burst(200, 0, 100, 10);
    ack!(rig, 210, 0 => pass);
    rig.data(520, 1_000, 100);
    assert!(rig.ack(1_400, 0, &[(100, 1_000)]).held);
    let kept_until = 1_400 * MSEC_NS + rig.flow().hold_ns(&config);
    rig.ack(1_420, 0, &[(100, 1_100)]);
    assert!(1_420 * MSEC_NS + rig.flow().hold_ns(&config) > kept_until + 400 * MSEC_NS);
    rig.timer(kept_until / MSEC_NS - 1);
    assert!(rig.flow().is_held());
    assert_eq!(rig.timer(kept_until / MSEC_NS).released, 1);
    assert!(!rig.flow().is_held());
}

/// docs/design.md, section 3.10. FH has sent 1,000 bytes; the scale is 7, the MSS 1,000.
#[test]
fn windows() {
    let strict = Config {
        strict_window: 1,
        ..classic()
    };
    let lax = classic();
    #[rustfmt::skip]
    let rows = [
        // window of the last passed ACK, of the duplicate; held?
        /* 1 */ (1_000, 1_000, lax, true),
        /* 2 */ (1_000, 1_001, lax, true), // growth, and FH has plenty
        /* 3 */ (1_000, 999, lax, false), // shrinks
        /* 4 */ (24, 25, lax, true), // edge 3,072: 2,072 bytes left
        /* 5 */ (23, 24, lax, false), // edge 2,944: 1,944 bytes left, two segments are 2,000
        /* 6 */ (8, 9, lax, false),
        /* 7 */ (8, 8, lax, true), // no change, no matter how little is left
        /* 8 */ (1_000, 1_001, strict, false),
        /* 9 */ (1_000, 1_000, strict, true),
    ];
    for (i, (passed, now, config, held)) in rows.into_iter().enumerate() {
        let mut rig = lossy(config, true);
        rig.window = passed;
        rig.ack(215, 0, &[]);
        rig.window = now;
        let seen = rig.ack(220, 0, &[(100, 200)]);
        assert_eq!(seen.held, held, "row {}", i + 1);
    }
}

/// The growth was kept back when FH had plenty; when FH comes near the edge
/// that it knows, the repetition of that window must pass.
#[test]
fn a_window_that_was_kept_back_still_counts_as_news() {
    let mut rig = lossy(classic(), true);
    rig.window = 40; // edge 5,120
    rig.ack(215, 0, &[]);
    rig.window = 100; // edge 12,800
    ack!(rig, 220, 0, sack [(100, 200)] => hold, resend [0]);
    rig.burst(221, 1_000, 700, 4); // up to 3,800: less than two segments left
    ack!(rig, 226, 0, sack [(100, 300)] => pass);
    // FH knows the blocks now as well: there is nothing left to hide.
    ack!(rig, 227, 0, sack [(100, 400)] => pass);
}

#[test]
fn strict_windows_remember_what_passed_too() {
    let config = Config {
        strict_window: 1,
        ..classic()
    };
    let mut rig = lossy(config, true);
    rig.window += 5;
    rig.ack(220, 0, &[(100, 200)]);
    assert_eq!(
        rig.flow().raw().hold.fwd_edge,
        wire(0).wrapping_add(1_005 << 7)
    );
    ack!(rig, 221, 0, sack [(100, 300)] => hold);
}

#[test]
fn without_a_known_scale_any_change_passes() {
    let mut rig = Rig::silent(&Options {
        sack: true,
        ..Options::default()
    });
    rig.burst(200, 0, 100, 10);
    rig.ack(210, 0, &[]);
    rig.ack(211, 0, &[(100, 200)]);
    assert_eq!(rig.count(LH_C_suppressed_acks), 1, "no change, held");
    rig.window += 1;
    ack!(rig, 212, 0, sack [(100, 300)] => pass);
    ack!(rig, 213, 0, sack [(100, 400)] => pass); // nothing left to hide
}

#[test]
fn scheme_none_only_looks_on() {
    let mut rig = Rig::new(&Options {
        sack: true,
        config: Config::observe(),
        ..Options::default()
    });
    for i in 0..10 {
        assert!(!rig.data(200, i * 100, 100));
    }
    for i in 1..10 {
        ack!(rig, 220, 0, sack [(100, i * 100 + 100)] => pass);
    }
    assert_eq!(rig.agent.next_deadline(), None);
    assert_eq!(rig.count(LH_C_duplicate_acks), 9);
    assert_eq!(rig.count(LH_C_data_segments), 10);
    assert_eq!(rig.agent.host().pool().slots_used(), 0);
    assert!(ns(0) > 0);
}
