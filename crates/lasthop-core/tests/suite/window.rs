// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The windows that FH gets to see (core/window.h).

use lasthop_core::bindings::*;
use lasthop_core::{Config, Segment};

use crate::brake::{MSS, bench};

/// C was cut: what was granted stays, and each ACK shows it in whole units.
#[test]
fn an_edge_that_stays_is_no_ratchet() {
    for wscale in [7, 12, 14] {
        let unit = 1u32 << wscale;
        let mut b = bench(Config::default(), wscale);
        let granted = 40 * unit + 20_777;
        let now_ns = b.now_ns;
        let f = b.flow.raw_mut();
        f.fwd_edge = granted;
        f.clock.state = LH_CLOCK_HELD as u8;
        f.clock.c_bytes = 3 * unit + 2 * MSS;
        f.clock.lossy_ns = now_ns;
        f.clock.interval_ns = now_ns;
        let mut ack = 0;
        let mut shown = Vec::new();
        while ack + 4 * unit + 5 * MSS < granted {
            b.data(ack + MSS, MSS);
            ack += MSS;
            b.now_ns += 1_000;
            let out = b.segment_from_mh(&Segment {
                ack,
                flags: LH_ACK as u16,
                window: 0xffff,
                wscale: LH_WSCALE_NONE as u8,
                ..Segment::default()
            });
            assert_ne!(out.window, LH_KEEP_WINDOW, "scale {wscale}");
            shown.push(ack + (out.window << wscale));
        }
        assert!(shown.len() > 3);
        for edge in shown {
            let off = i64::from(granted) - i64::from(edge);
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
            let mut b = bench(Config::default(), wscale);
            let now_ns = b.now_ns;
            let f = b.flow.raw_mut();
            f.fwd_edge = 5 * MSS + rest;
            f.clock.state = LH_CLOCK_HELD as u8;
            f.clock.c_bytes = (2 * MSS + unit) / 2; // half of the least: a trial
            f.clock.lossy_ns = now_ns;
            f.clock.interval_ns = now_ns;
            for ack in (2..=5).map(|i| i * MSS) {
                b.data(ack - MSS, MSS);
                b.now_ns += 1_000;
                let out = b.segment_from_mh(&Segment {
                    ack,
                    flags: LH_ACK as u16,
                    window: 0xffff,
                    wscale: LH_WSCALE_NONE as u8,
                    ..Segment::default()
                });
                assert_ne!(out.window, LH_KEEP_WINDOW, "scale {wscale}");
                let granted = out.window << wscale;
                assert!(granted >= MSS, "scale {wscale}, rest {rest}: {granted}");
            }
        }
    }
}
