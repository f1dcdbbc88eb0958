// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Truth table of sequence arithmetic (RFC 9293 section 3.4).

use lasthop_core::seq_before;

#[test]
fn before_is_modulo_2_to_the_32() {
    const MAX: u32 = u32::MAX;
    const HALF: u32 = 1 << 31;
    #[rustfmt::skip]
    let rows = [
        /*  1 */ (0, 0, false),
        /*  2 */ (0, 1, true),
        /*  3 */ (1, 0, false),
        /*  4 */ (MAX, 0, true),
        /*  5 */ (0, MAX, false),
        /*  6 */ (MAX, MAX, false),
        /*  7 */ (MAX - 1, MAX, true),
        /*  8 */ (0, HALF - 1, true),
        /*  9 */ (HALF - 1, 0, false),
        /* 10 */ (HALF, HALF + 1, true),
        /* 11 */ (HALF - 1, HALF, true), // the sign of a plain int changes here
        /* 12 */ (HALF, HALF - 1, false),
        /* 13 */ (MAX - 99, 100, true),
        /* 14 */ (100, MAX - 99, false),
        /* 15 */ (HALF + 1, 0, true),
        /* 16 */ (0, HALF + 1, false),
    ];
    for (i, (a, b, want)) in rows.into_iter().enumerate() {
        assert_eq!(seq_before(a, b), want, "row {}: {a} before {b}", i + 1);
    }
}
