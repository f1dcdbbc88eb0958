// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The windows that FH gets to see (core/window.h), and the holes (core/scheme/rack.c).

use lasthop_core::bindings::*;
use lasthop_core::{Config, MSEC_NS, Segment};

use crate::bench::{Bench, ack_of};
use crate::brake::{MSS, bench};

/// FH is braked to `c_bytes`, and knows `edge`.
fn held(wscale: u8, edge: u32, c_bytes: u32) -> Bench {
    let mut b = bench(Config::default(), wscale);
    let now_ns = b.now_ns;
    let f = b.flow.raw_mut();
    f.hold.fwd_edge = edge;
    f.control.state = LH_CONTROL_HELD as u8;
    f.control.c_bytes = c_bytes;
    f.queue.lossy_ns = now_ns;
    f.control.interval_ns = now_ns;
    b
}

/// Bytes that MH's next ACK, whose window is the widest, grants FH once edited.
fn granted(b: &mut Bench, ack: u32, wscale: u8) -> u32 {
    b.now_ns += 1_000;
    let out = b.segment_from_mh(&Segment {
        ack,
        flags: LH_ACK as u16,
        window: 0xffff,
        wscale: LH_WSCALE_NONE as u8,
        ..Segment::default()
    });
    assert_ne!(out.window, LH_KEEP_WINDOW, "scale {wscale}");
    out.window << wscale
}

/// C was cut: what was granted stays, and each ACK shows it in whole units.
#[test]
fn an_edge_that_stays_is_no_ratchet() {
    for wscale in [7, 12, 14] {
        let unit = 1u32 << wscale;
        let edge = 40 * unit + 20_777;
        let mut b = held(wscale, edge, 3 * unit + 2 * MSS);
        let mut ack = 0;
        let mut shown = Vec::new();
        while ack + 4 * unit + 5 * MSS < edge {
            b.data(ack + MSS, MSS);
            ack += MSS;
            shown.push(ack + granted(&mut b, ack, wscale));
        }
        assert!(shown.len() > 3);
        for shown in shown {
            let off = i64::from(edge) - i64::from(shown);
            assert!(
                (0..i64::from(unit)).contains(&off),
                "scale {wscale}: {off} off"
            );
        }
    }
}

/// FH may send less than a segment, and has nothing under way: no ACK would ever come by which
/// the window could open. On the test bed FH's probe of a zero window helped, after a second.
#[test]
fn who_has_nothing_under_way_may_send_a_segment() {
    for wscale in [0, 7, 10, 14] {
        for rest in [0, 1, 300, MSS - 1] {
            let unit = 1u32 << wscale;
            // Half of the least C: a trial.
            let mut b = held(wscale, 5 * MSS + rest, (2 * MSS + unit) / 2);
            for ack in (2..=5).map(|i| i * MSS) {
                b.data(ack - MSS, MSS);
                let granted = granted(&mut b, ack, wscale);
                assert!(granted >= MSS, "scale {wscale}, rest {rest}: {granted}");
            }
        }
    }
}

fn with_timestamps(mut s: Segment) -> Segment {
    s.opts |= LH_OPT_TS as u8;
    s
}

/// A sender that is held is shown what is missing only where as many repairs as a hole may take fit into the
/// quarter of a round trip that it waits for (RFC 8985): so many more as repairs get lost.
#[test]
fn a_sender_with_the_patience_for_the_repairs_sees_the_holes() {
    // Repairs by time order before this one, lost ones of them, and how many a hole may take.
    let rows = [
        (0, 0, 4),
        (30, 0, 3),
        (29, 0, 4),
        (100, 5, 4),
        (100, 10, 5),
        (100, 15, 6),
        (100, 20, 7),
    ];
    for (ordered, repeated, tries) in rows {
        for (wired_ms, shown) in [(40 * tries - 10, false), (40 * tries + 10, true)] {
            sees_the_hole(wired_ms, (ordered, repeated), shown);
        }
    }
    sees_the_hole(100_000, (100, 30), false);
}

/// The hop takes 10 ms.
fn sees_the_hole(wired_ms: u64, (ordered, repeated): (u32, u32), shown: bool) {
    let mut b = held(7, 20 * MSS, 20 * MSS);
    let f = b.flow.raw_mut();
    f.flags |= LH_FLOW_SACK_SEEN | LH_FLOW_TS;
    f.wired.rtt_ns = wired_ms * MSEC_NS;
    f.recovery.ordered = ordered;
    f.recovery.repeated = repeated;
    for n in 1..4 {
        b.data(n * MSS, MSS);
    }
    b.now_ns += 10 * MSEC_NS;
    let out = b.segment_from_mh(&with_timestamps(ack_of(MSS, &[(2 * MSS, 4 * MSS)])));
    assert_eq!(out.retransmits().len(), 1, "repaired here");
    let known = format!("{wired_ms} ms of wire, {repeated} lost of {ordered}");
    assert_eq!(out.blank_sack == 0, shown, "{known}");
}

/// A repair that gets lost tells of the next ones, and what was long ago is forgotten.
#[test]
fn repairs_that_get_lost_are_remembered_for_a_while() {
    let mut b = held(7, 60 * MSS, 60 * MSS);
    let f = b.flow.raw_mut();
    f.flags |= LH_FLOW_SACK_SEEN;
    f.recovery.ordered = 255;
    f.recovery.repeated = 50;
    let counts = |b: &Bench| {
        let r = b.flow.raw().recovery;
        (r.ordered, r.repeated)
    };
    for n in 1..12 {
        b.data(n * MSS, MSS);
    }
    b.now_ns += 10 * MSEC_NS;
    // The first is lost and its repair as well, which that of the fourth tells, for it went out later.
    let sacked = |blocks: &[(u32, u32)]| {
        let blocks: Vec<_> = blocks.iter().map(|(a, z)| (a * MSS, z * MSS)).collect();
        ack_of(MSS, &blocks)
    };
    b.segment_from_mh(&sacked(&[(2, 4)]));
    assert_eq!(counts(&b), (256, 50), "a first repair");
    b.now_ns += MSEC_NS;
    b.segment_from_mh(&sacked(&[(5, 7), (2, 4)]));
    assert_eq!(counts(&b), (129, 25), "half of them are forgotten");
    b.now_ns += 10 * MSEC_NS;
    b.segment_from_mh(&sacked(&[(2, 9)]));
    assert_eq!(counts(&b), (130, 26), "a repair's repair");
}

/// The third segment above a hole is a loss to a sender that has never seen anything come late (RFC 8985): it
/// is shown two, however small, and all once such a hole was filled that it had not filled itself.
#[test]
fn a_sender_that_has_seen_nothing_late_sees_two_above_a_hole() {
    for (fills_itself, len) in [(false, MSS), (true, MSS), (false, MSS / 10)] {
        let at = |n: u32| MSS + (n - 1) * len;
        let mut b = held(7, 60 * MSS, 60 * MSS);
        let f = b.flow.raw_mut();
        f.flags |= LH_FLOW_SACK_SEEN | LH_FLOW_TS;
        f.wired.rtt_ns = 400 * MSEC_NS;
        // Five segments of which the first is lost, @more of them acknowledged above it: is that shown?
        let shown = |b: &mut Bench, hole: u32, more: u32| {
            b.now_ns += MSEC_NS;
            let block = (at(hole + 1), at(hole + 1 + more));
            let blocks = &[block][..usize::from(more > 0)];
            let out = b.segment_from_mh(&with_timestamps(ack_of(at(hole), blocks)));
            out.verdict == LH_PASS && out.blank_sack == 0
        };
        let burst = |b: &mut Bench, hole: u32| {
            for n in hole..hole + 5 {
                b.data(at(n), len);
            }
            b.now_ns += 9 * MSEC_NS;
        };
        burst(&mut b, 1);
        let first = [2, 3, 4].map(|more| shown(&mut b, 1, more));
        assert_eq!(first, [true, false, false]);
        if fills_itself {
            b.data(at(1), len);
        }
        assert!(shown(&mut b, 6, 0));
        burst(&mut b, 6);
        let then = [2, 3, 4].map(|more| shown(&mut b, 6, more));
        assert_eq!(then, [true, !fills_itself, !fills_itself]);
    }
}

/// The copies of what was kept tell FH of a window that had opened. The controller, which learns the
/// wired round trip only then, must not take that back (invariant I16).
#[test]
fn what_a_released_copy_grants_is_known() {
    let mut b = held(7, 20 * MSS, 20 * MSS);
    b.config.suppress = LH_SUPPRESS_ON;
    let f = b.flow.raw_mut();
    f.control.state = LH_CONTROL_FREE as u8;
    f.flags |= LH_FLOW_SACK_SEEN;
    f.wired.rtt_ns = 0;
    for n in 1..4 {
        b.data(n * MSS, MSS);
    }
    let ack = |window, blocks: &[(u32, u32)]| Segment {
        window,
        ..ack_of(MSS, blocks)
    };
    b.segment_from_mh(&ack(300, &[]));
    b.now_ns += 10 * MSEC_NS;
    let out = b.segment_from_mh(&ack(1_000, &[(2 * MSS, 4 * MSS)]));
    assert_eq!(out.verdict, LH_DROP);
    b.now_ns = b.flow.raw().hold.until_ns;
    let out = b.timer();
    assert_eq!((out.emit_held, out.held_window), (1, 1_000));
    assert_eq!(b.flow.raw().hold.fwd_edge, MSS + (1_000 << 7));
}
