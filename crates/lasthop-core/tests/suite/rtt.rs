// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Round-trip estimators against floating-point models, timeouts, hold time.

use lasthop_core::bindings::*;
use lasthop_core::{Config, MSEC_NS, SEC_NS};

use crate::bench::Bench;
use crate::rig::classic;

/// Samples as a link might give them, in microseconds.
fn samples() -> impl Iterator<Item = u64> {
    let mut x = 12_345u64;
    (0..500).map(move |i| {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let noise = (x >> 33) % 40_000;
        if i % 50 == 49 { 400_000 } else { 5_000 + noise }
    })
}

/// One segment goes out and its ACK comes `r` later.
fn sample(b: &mut Bench, r_ns: u64) {
    let seq = b.flow.raw().max;
    b.data(seq, 100);
    b.now_ns += r_ns;
    b.ack(seq.wrapping_add(100));
    b.now_ns += MSEC_NS;
}

fn close(got: u64, want: f64) -> bool {
    (got as f64 - want).abs() <= want * 1e-6 + 64.0
}

#[test]
fn std_follows_rfc_6298() {
    let mut b = Bench::new();
    let (mut srtt, mut var) = (0.0f64, 0.0f64);
    for (i, us) in samples().enumerate() {
        sample(&mut b, us * 1_000);
        let r = us as f64 * 1e3;
        if i == 0 {
            (srtt, var) = (r, r / 2.0);
        } else {
            // The deviation comes first: section 2.3.
            var = 0.75 * var + 0.25 * (srtt - r).abs();
            srtt = 0.875 * srtt + 0.125 * r;
        }
        let f = b.flow.raw();
        assert!(close(f.rtt.srtt_ns, srtt), "{i}: {} {srtt}", f.rtt.srtt_ns);
        assert!(
            close(f.rtt.rttvar_ns, var),
            "{i}: {} {var}",
            f.rtt.rttvar_ns
        );
    }
}

#[test]
fn ns2_weighs_the_new_sample_with_seven_eighths() {
    let mut b = Bench::new();
    b.config = Config::ns2();
    let g = 0.125;
    let (mut srtt, mut var) = (0.1e9f64, 0.25e9f64);
    for (i, us) in samples().enumerate() {
        sample(&mut b, us * 1_000);
        let r = us as f64 * 1e3;
        srtt = g * srtt + (1.0 - g) * r;
        let dev = (r - srtt).abs();
        var = g * dev + (1.0 - g) * var;
        let f = b.flow.raw();
        assert!(close(f.rtt.srtt_ns, srtt), "{i}: {} {srtt}", f.rtt.srtt_ns);
        assert!(
            close(f.rtt.rttvar_ns, var),
            "{i}: {} {var}",
            f.rtt.rttvar_ns
        );
        let lrto = (srtt + 4.0 * var).max(0.1e9);
        assert!(close(b.flow.lrto_ns(&b.config), lrto));
    }
}

#[test]
fn one_sample_per_window_with_ns2() {
    let mut b = Bench::new();
    b.config = Config::ns2();
    for i in 0..4 {
        b.data(i * 100, 100);
    }
    b.now_ns += 10 * MSEC_NS;
    b.ack(100); // a sample; the next one is due past 400
    let first = b.flow.raw().rtt.srtt_ns;
    b.now_ns += 30 * MSEC_NS;
    b.ack(300);
    assert_eq!(b.flow.raw().rtt.srtt_ns, first);
    b.ack(400);
    assert_ne!(b.flow.raw().rtt.srtt_ns, first);
}

#[test]
fn timeouts_have_a_floor_and_a_ceiling() {
    let mut b = Bench::new();
    let ms = |ns: u64| ns / MSEC_NS;
    #[rustfmt::skip]
    let rows = [
        // srtt, rttvar, std, ns2 (ms)
        /* 1 */ (0, 0, 1_000, 1_100), // no sample: the greatest; ns-2's start values
        /* 2 */ (1, 0, 80, 100),
        /* 3 */ (10, 5, 80, 100),
        /* 4 */ (60, 5, 80, 100),
        /* 5 */ (60, 6, 84, 100),
        /* 6 */ (60, 20, 140, 140),
        /* 7 */ (500, 200, 1_000, 1_300),
    ];
    for (i, (srtt, var, std, ns2)) in rows.into_iter().enumerate() {
        b.flow.raw_mut().rtt.srtt_ns = srtt * MSEC_NS;
        b.flow.raw_mut().rtt.rttvar_ns = var * MSEC_NS;
        assert_eq!(ms(b.flow.lrto_ns(&classic())), std, "row {}", i + 1);
        assert_eq!(ms(b.flow.lrto_ns(&Config::ns2())), ns2, "row {}", i + 1);
    }
}

#[test]
fn hold_time_is_three_quarters_of_what_drives_fh_into_a_timeout() {
    let mut b = Bench::new();
    #[rustfmt::skip]
    let rows = [
        // local, wired, hold (ms): 0.75 * min(2R, R + 200), 20 to 2,000
        /* 1 */ (0, 0, 20),
        /* 2 */ (5, 5, 20),
        /* 3 */ (10, 10, 30),
        /* 4 */ (10, 90, 150),
        /* 5 */ (100, 100, 300), // both terms are equal here
        /* 6 */ (100, 300, 450),
        /* 7 */ (10, 590, 600),
        /* 8 */ (100, 2_000, 1_725),
        /* 9 */ (100, 3_000, 2_000),
    ];
    for (i, (local, wired, want)) in rows.into_iter().enumerate() {
        b.flow.raw_mut().rtt.srtt_ns = local * MSEC_NS;
        b.flow.raw_mut().wired.rtt_ns = wired * MSEC_NS;
        let hold = b.flow.hold_ns(&b.config) / MSEC_NS;
        assert_eq!(hold, want, "row {}", i + 1);
    }
}

#[test]
fn with_rack_the_hold_time_lets_a_repair_of_a_long_hop_come_back() {
    let mut b = Bench::new();
    let config = Config::default();
    // local, hold (ms): 0.75 * max(200, 4.5 * local), at most 2,000
    for (local, want) in [
        (10, 150),
        (100, 337),
        (250, 843),
        (560, 1_890),
        (800, 2_000),
        (1_100, 150),
    ] {
        b.flow.raw_mut().rtt.min_ns = local * MSEC_NS;
        let hold = b.flow.hold_ns(&config) / MSEC_NS;
        assert_eq!(hold, want, "{local}");
    }
}

#[test]
fn no_sample_of_what_was_sent_twice() {
    let prepared = || {
        let mut b = Bench::new();
        sample(&mut b, 10 * MSEC_NS);
        let seq = b.flow.raw().max;
        b.data(seq, 100);
        b.data(seq + 100, 100);
        (b, seq)
    };
    let unchanged = |mut b: Bench, ack: u32| {
        let before = b.flow.raw().rtt.srtt_ns;
        b.now_ns += 200 * MSEC_NS;
        b.ack(ack);
        before == b.flow.raw().rtt.srtt_ns
    };
    let (b, seq) = prepared();
    assert!(!unchanged(b, seq + 200), "a clean one counts");
    let (mut b, seq) = prepared();
    b.data(seq, 100); // by the sender
    assert!(unchanged(b, seq + 200), "anything below counts");
    let (mut b, seq) = prepared();
    b.now_ns += SEC_NS;
    assert_eq!(b.timer().nr_retransmit, 1); // by us
    assert!(unchanged(b, seq + 200));
    let (mut b, seq) = prepared();
    b.ack(seq); // a duplicate: the order was disturbed
    assert!(unchanged(b, seq + 200));
    let (b, seq) = prepared();
    assert!(unchanged(b, seq + 50), "nothing is acknowledged as a whole");
}

#[test]
fn a_sample_of_more_than_a_minute_is_a_broken_clock() {
    let mut b = Bench::new();
    sample(&mut b, 10 * MSEC_NS);
    sample(&mut b, 61 * SEC_NS);
    assert_eq!(b.flow.raw().rtt.srtt_ns, 10 * MSEC_NS);
}

#[test]
fn a_sample_of_zero_is_a_sample() {
    let mut b = Bench::new();
    sample(&mut b, 0);
    assert_eq!(b.flow.raw().rtt.srtt_ns, 1);
    assert_eq!(b.flow.lrto_ns(&b.config), 80 * MSEC_NS);
    assert_eq!(b.host.counter(LH_C_local_retransmits), 0);
}
