// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How much an ACK makes the core look at, with 3,600 segments cached: whoever crafts ACKs must
//! not have us walk the window for each. The unit is a segment or chunk that was looked at.

use lasthop_core::bindings::*;
use lasthop_core::{Config, Limits, MSEC_NS, Segment};

use crate::bench::Bench;

const MSS: u32 = 1_000;
const N: u32 = 3_600;

fn window() -> Bench {
    window_of(N)
}

fn window_of(n: u32) -> Bench {
    let mut b = Bench::with(Limits {
        slots: n + 1_400,
        chunks: n / 36,
        ..Limits::default()
    });
    b.config = Config::default();
    b.flow.raw_mut().flags |= LH_FLOW_SACK_FH | LH_FLOW_SACK_MH;
    b.data(0, MSS);
    b.now_ns += 10 * MSEC_NS;
    b.ack(MSS);
    for i in 1..=n {
        b.now_ns += 1_000;
        b.data(i * MSS, MSS);
    }
    b.now_ns += 10 * MSEC_NS;
    b
}

/// An ACK of `ack` segments with blocks of segments. @return what was looked at.
fn looks(b: &mut Bench, ack: u32, blocks: &[(u32, u32)]) -> u64 {
    let mut s = Segment {
        ack: ack * MSS,
        flags: LH_ACK as u16,
        window: 1_000,
        wscale: LH_WSCALE_NONE as u8,
        nr_sack: blocks.len() as u8,
        ..Segment::default()
    };
    for (to, &(left, right)) in s.sack.iter_mut().zip(blocks) {
        (to.left, to.right) = (left * MSS, right * MSS);
    }
    b.now_ns += MSEC_NS;
    let before = b.host.pool().looks();
    b.segment_from_mh(&s);
    b.host.pool().looks() - before
}

#[test]
fn two_lists_of_blocks_in_turn_are_no_walk_each() {
    let mut b = window();
    for i in 0..80 {
        let upto = if i % 2 == 0 { 1_200 } else { N };
        let blocks = [(2, upto), (3, upto - 1), (4, upto - 2), (5, upto - 3)];
        let n = looks(&mut b, 1, &blocks);
        assert!(n < 1_500, "list {i}: {n}");
    }
    // All that they say is known by then.
    assert_eq!(b.flow.raw().delivery.sacked_bytes, (N - 2) * MSS);
    assert_eq!(b.flow.raw().sacked_max, N * MSS);
}

/// A window that is told of at once is taken in over several ACKs, and no hole that it does not
/// have is repaired meanwhile.
#[test]
fn a_whole_window_is_taken_in_by_and_by() {
    let mut b = window();
    let mut repaired = 0;
    for i in 0..40 {
        let before = b.host.counter(LH_C_local_retransmits);
        let n = looks(&mut b, 1, &[(2, N + 1)]);
        assert!(n < 1_000, "ACK {i}: {n}");
        repaired += b.host.counter(LH_C_local_retransmits) - before;
    }
    assert_eq!(b.flow.raw().delivery.sacked_bytes, (N - 1) * MSS);
    assert!(repaired <= 3, "{repaired} repairs of one hole");
}

/// Nor do blocks that are more than an ACK's share stay unknown where each says the same: the next one
/// goes on behind those that were looked through.
#[test]
fn a_list_of_blocks_is_taken_in_by_and_by() {
    let mut b = window();
    let blocks = [(2, 100), (102, 200), (202, 300), (302, 400)];
    for _ in 0..3 {
        looks(&mut b, 1, &blocks);
    }
    assert_eq!(b.flow.raw().delivery.sacked_bytes, 4 * 98 * MSS);
    assert_eq!(b.flow.raw().sacked_max, 400 * MSS);
}

/// A repair convicts repairs only: the rest of the window behind it is not looked through again
/// with each ACK.
#[test]
fn behind_a_repair_each_ack_looks_at_little() {
    let mut b = window();
    looks(&mut b, 1, &[(2, 4)]);
    assert_eq!(b.host.counter(LH_C_local_retransmits), 1);
    b.now_ns += 20 * MSEC_NS;
    for i in 0..100 {
        let n = looks(&mut b, 4 + 2 * i, &[]);
        assert!(n < 250, "ACK {i}: {n}");
    }
}

/// Left to FH, a window of losses is not looked through with each ACK either.
#[test]
fn what_waits_for_fh_is_looked_at_in_turns() {
    let mut b = window();
    b.config.max_local = 1;
    for i in 0..30 {
        let n = looks(&mut b, 1, &[(N - 50 + i, N - 49 + i)]);
        assert!(n < 1_500, "ACK {i}: {n}");
    }
}

/// Nor is a window that is acknowledged at once: its memory comes back by and by, with packets
/// and, where none come, by the timer.
#[test]
fn an_ack_of_a_whole_window_looks_at_little() {
    let mut b = window();
    let before = b.flow.raw().delivery.bytes;
    let n = looks(&mut b, N + 1, &[]);
    assert!(n < 700, "{n}");
    let f = b.flow.raw();
    assert_eq!((f.una, f.delivery.bytes - before), ((N + 1) * MSS, N * MSS));
    assert_eq!((f.ring.head, f.ring.tail), (N, N));
    assert_eq!(b.memory().0, N - 16);
    b.data((N + 1) * MSS, MSS);
    assert_eq!(b.memory().0, N - 31);
    assert_eq!(b.settled(), (1, 1));
    b.ack((N + 2) * MSS);
    assert_eq!(b.memory(), (0, 0));
}

/// What the chunks know of their segments is what these would have told: windows in which
/// segments came late, were SACKed here and there, and were then acknowledged in one go.
#[test]
fn whole_chunks_are_booked_as_their_segments() {
    let mut rng = 1u32;
    let mut random = |n: u32| {
        rng = rng.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (rng >> 8) % n
    };
    for _ in 0..200 {
        let (n, late) = (300 + random(600), 100 + random(400));
        let mut b = Bench::with(Limits {
            slots: 5_000,
            chunks: 100,
            ..Limits::default()
        });
        b.flow.raw_mut().flags |= LH_FLOW_SACK_FH | LH_FLOW_SACK_MH;
        b.data(0, MSS);
        b.ack(MSS);
        let before = b.flow.raw().delivery.bytes;
        for i in (1..n).filter(|i| *i != late.min(n - 1)) {
            b.data(i * MSS, MSS);
        }
        for _ in 0..6 {
            let mut blocks = [(0, 0); 4];
            for block in &mut blocks {
                let left = 2 + random(n - 3);
                *block = (left, (left + 1 + random(100)).min(n - 1));
            }
            looks(&mut b, 1, &blocks);
        }
        b.data(late.min(n - 1) * MSS, MSS);
        let upto = 150 + random(n - 150);
        looks(&mut b, upto, &[]);
        let sacked: u32 = b
            .entries()
            .iter()
            .map(|e| {
                let yes = u32::from(e.flags) & LH_SEG_SACKED != 0;
                if yes { e.end - e.seq } else { 0 }
            })
            .sum();
        let f = b.flow.raw();
        assert_eq!(
            f.delivery.sacked_bytes, sacked,
            "{n} segments, ACK of {upto}"
        );
        assert_eq!(
            f.delivery.bytes - before,
            (upto - 1) * MSS + sacked,
            "{n} segments, ACK of {upto}"
        );
    }
}

/// Nor does each ACK have the window walked because FH has sent a segment again that MH has.
#[test]
fn what_fh_has_repeated_is_no_walk_each() {
    let mut b = window();
    b.config.suppress = LH_SUPPRESS_ON;
    b.data((N - 10) * MSS, MSS);
    for _ in 0..40 {
        looks(&mut b, 1, &[(2, N + 1)]);
    }
    for i in 0..30 {
        let n = looks(&mut b, 1 + i / 10, &[(100, N + i % 2)]);
        assert!(n < 700, "ACK {i}: {n}");
    }
}

/// Of a very large window not even all chunks are looked at with each ACK, neither for losses nor for what
/// blocks tell; what either of them says is found within a few.
#[test]
fn a_very_large_window_is_walked_in_turns() {
    const MANY: u32 = 14_400;
    for lost in [70, 7_000, MANY - 100] {
        let mut b = window_of(MANY);
        b.config.max_local = 1;
        b.config.queue_guard = 0; // what stands is this window
        // Its first segment is FH's by now, and all but one of the others have arrived.
        for _ in 0..200 {
            looks(&mut b, 1, &[(2, lost), (lost + 1, MANY)]);
        }
        let before = b.flow.raw().nr_retransmits;
        assert_eq!(before, 2, "the first and {lost}");
        let f = b.flow.raw();
        assert_eq!(f.delivery.sacked_bytes, (MANY - 3) * MSS, "of {lost}");
        assert_eq!(f.sacked_max, MANY * MSS, "of {lost}");
        for i in 0..100 {
            let n = looks(&mut b, 1, &[(2, lost), (lost + 1, MANY - i % 2)]);
            assert!(n < 120, "ACK {i} of {lost}: {n}");
        }
    }
}
