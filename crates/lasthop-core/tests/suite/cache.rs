// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The ring cache (core/cache.h): order, growth, limits, memory.

use lasthop_core::bindings::*;
use lasthop_core::{Call, Config, Limits, Segment};

use crate::bench::{Bench, ack_of};
use crate::rig::Rig;

/// `n` segments of 100 bytes from `seq` on, all of them cached.
fn fill(b: &mut Bench, seq: u32, n: u32) {
    for i in 0..n {
        let actions = b.data(seq.wrapping_add(i * 100), 100);
        assert!(actions.store().is_some(), "segment {i}");
    }
}

fn rows(seq: u32, n: u32) -> Vec<(u32, u32)> {
    (0..n)
        .map(|i| seq.wrapping_add(i * 100))
        .map(|s| (s, s.wrapping_add(100)))
        .collect()
}

#[test]
fn grows_and_shrinks_over_chunk_borders() {
    let mut b = Bench::new();
    for n in [1, 63, 64, 65, 127, 128, 129, 200] {
        fill(&mut b, 1_000, n);
        assert_eq!(b.ring(), rows(1_000, n));
        assert_eq!(b.memory(), (n, n.div_ceil(64)), "{n} segments");
        for left in (0..n).rev() {
            b.ack(1_000 + (n - left) * 100);
            assert_eq!(b.ring(), rows(1_000 + (n - left) * 100, left));
            assert_eq!(b.memory().0, left);
        }
        assert_eq!(b.memory(), (0, 0), "{n} segments");
        let mut fresh = Bench::new();
        std::mem::swap(&mut fresh, &mut b);
    }
}

#[test]
fn every_segment_has_a_slot_of_its_own() {
    let mut b = Bench::new();
    fill(&mut b, 0, 300);
    let mut slots: Vec<_> = b.entries().iter().map(|e| e.slot).collect();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), 300);
}

#[test]
fn sequence_numbers_wrap() {
    let mut b = Bench::new();
    let start = u32::MAX - 5_050;
    fill(&mut b, start, 100);
    assert_eq!(b.ring(), rows(start, 100));
    assert_eq!(b.flow.raw().max, start.wrapping_add(10_000));
    b.ack(start.wrapping_add(6_000));
    assert_eq!(b.ring(), rows(start.wrapping_add(6_000), 40));
    b.ack(start.wrapping_add(10_000));
    assert_eq!(b.settled(), (0, 0));
}

#[test]
fn ring_positions_wrap() {
    let mut b = Bench::new();
    // An empty ring may stand anywhere at a chunk's border.
    b.flow.raw_mut().ring.spent = u32::MAX - 127;
    b.flow.raw_mut().ring.head = u32::MAX - 127;
    b.flow.raw_mut().ring.tail = u32::MAX - 127;
    fill(&mut b, 0, 300);
    assert_eq!(b.ring(), rows(0, 300));
    assert!(
        b.flow.raw().ring.tail < b.flow.raw().ring.head,
        "it has wrapped"
    );
    // Something late, on this side of the wrap and on the other.
    b.data(30_100, 100);
    b.data(30_000, 100);
    assert_eq!(b.ring().last(), Some(&(30_100, 30_200)));
    assert_eq!(b.ring(), rows(0, 302));
    b.ack(15_000);
    assert_eq!(b.ring(), rows(15_000, 152));
    b.ack(30_200);
    assert_eq!(b.settled(), (0, 0));
}

#[test]
fn partial_acknowledgement_keeps_the_segment() {
    let mut b = Bench::new();
    fill(&mut b, 0, 3);
    b.ack(150);
    assert_eq!(b.ring(), [(100, 200), (200, 300)]);
    b.ack(199);
    assert_eq!(b.ring(), [(100, 200), (200, 300)]);
    b.ack(200);
    assert_eq!(b.ring(), [(200, 300)]);
}

#[test]
fn late_segments_are_inserted_in_order_and_count_as_congestion() {
    let mut b = Bench::new();
    fill(&mut b, 0, 70);
    b.data(9_000, 100);
    b.data(8_000, 100);
    b.data(8_500, 100);
    b.data(7_000, 100); // adjacent to what is there
    let ring = b.ring();
    assert_eq!(
        ring[70..],
        [
            (7_000, 7_100),
            (8_000, 8_100),
            (8_500, 8_600),
            (9_000, 9_100)
        ]
    );
    let flags: Vec<_> = b.entries()[70..]
        .iter()
        .map(|e| u32::from(e.flags))
        .collect();
    assert_eq!(flags, [LH_SEG_CONG, LH_SEG_CONG, LH_SEG_CONG, 0]);
    assert_eq!(b.host.counter(LH_C_upstream_lost), 3);
    assert_eq!(b.flow.raw().max, 9_100);
}

#[test]
fn a_late_segment_moves_its_elders_slots_with_them() {
    let mut b = Bench::new();
    let first = b.data(0, 100).store();
    let third = b.data(200, 100).store();
    let second = b.data(100, 100).store();
    let slots: Vec<_> = b.entries().iter().map(|e| Some(e.slot)).collect();
    assert_eq!(slots, [first, second, third]);
}

#[test]
fn at_most_512_entries_are_moved() {
    for (behind, cached) in [(511, true), (512, true), (513, false)] {
        let mut b = Bench::new();
        b.data(0, 100);
        fill(&mut b, 1_000, behind);
        assert_eq!(b.data(500, 100).store().is_some(), cached, "{behind}");
        let overlap = b.host.counter(LH_C_uncached_overlap);
        assert_eq!(overlap, u64::from(!cached));
        assert_eq!(b.memory().0, 1 + behind + u32::from(cached));
        if cached {
            let mut want = vec![(0, 100), (500, 600)];
            want.extend(rows(1_000, behind));
            assert_eq!(b.ring(), want);
        }
    }
}

#[test]
fn new_data_stops_at_nine_tenths() {
    let mut b = Bench::new();
    b.cap = 100;
    b.data(0, 100);
    fill(&mut b, 10_000, 89);
    assert_eq!(b.data(18_900, 100).store(), None);
    assert_eq!(b.host.counter(LH_C_uncached_full), 1);
    // The earlier ones are needed first.
    for i in 1..=10 {
        assert!(b.data(i * 200, 100).store().is_some(), "late one {i}");
    }
    assert_eq!(b.data(9_000, 100).store(), None);
    assert_eq!(b.host.counter(LH_C_uncached_full), 2);
    assert_eq!(b.flow.cached(), 100);
    // What is cached may always be refreshed.
    assert!(b.data(10_000, 100).store().is_some());
}

#[test]
fn a_flow_never_exceeds_its_ring() {
    let mut b = Bench::new();
    let mut cached = 0;
    for i in 0..20_000 {
        cached += u32::from(b.data(i * 10, 10).store().is_some());
    }
    assert_eq!(cached, 16_384 - 1_638);
    assert_eq!(b.memory().0, cached);
    assert_eq!(
        b.host.counter(LH_C_uncached_full),
        u64::from(20_000 - cached)
    );
    b.ack(200_000);
    assert_eq!(b.settled(), (0, 0));
}

#[test]
fn memory_that_runs_out_is_no_error() {
    let mut b = Bench::with(Limits {
        slots: 10,
        chunks: 10,
        ..Limits::default()
    });
    for i in 0..20 {
        assert_eq!(b.data(i * 100, 100).store().is_some(), i < 10);
    }
    assert_eq!(b.host.counter(LH_C_uncached_full), 10);
    assert_eq!(b.flow.raw().max, 2_000, "known, though not kept");
    let mut b = Bench::with(Limits {
        slots: 100,
        chunks: 1,
        ..Limits::default()
    });
    for i in 0..80 {
        assert_eq!(b.data(i * 100, 100).store().is_some(), i < 64);
    }
    assert_eq!(b.memory(), (64, 1), "the slot without an entry is back");
    b.ack(8_000);
    assert_eq!(b.settled(), (0, 0));
}

#[test]
fn free_gives_everything_back() {
    for n in [0, 1, 64, 65, 3_000] {
        let mut b = Bench::new();
        fill(&mut b, u32::MAX - 1_000, n);
        b.host.free(&mut b.flow);
        assert_eq!(b.memory(), (0, 0), "{n} segments");
        assert_eq!(b.flow.cached(), 0);
    }
}

#[test]
fn what_the_sender_repeats_is_refreshed() {
    let mut b = Bench::new();
    fill(&mut b, 0, 3);
    b.ack(0); // the number that FH knows
    b.ack(0);
    assert_eq!(b.entries()[0].n_local, 1);
    let slot = b.entries()[0].slot;
    b.now_ns += 1_000;
    assert_eq!(b.data(0, 100).store(), Some(slot));
    let e = b.entries()[0];
    assert_eq!((e.seq, e.end, e.n_local), (0, 100, 0));
    assert_eq!(u32::from(e.flags), LH_SEG_FH_RTX);
    assert_eq!(e.last_tx_ns, b.now_ns);
    assert_eq!(b.host.counter(LH_C_refreshed_segments), 1);
    assert_eq!(b.host.counter(LH_C_cached_segments), 3);
}

/// seq, end, stored, the ring then, which entries are now the sender's (bits).
type Overlap = (u32, u32, bool, [(u32, u32); 3], u8);

#[test]
fn uneven_overlap() {
    // Cached are [1000, 1100), [1100, 1200), [1300, 1400).
    #[rustfmt::skip]
    let rows: [Overlap; 10] = [
        /*  1 */ (1_000, 1_100, true, [(1_000, 1_100), (1_100, 1_200), (1_300, 1_400)], 0b001),
        /*  2 */ (1_000, 1_050, false, [(1_000, 1_100), (1_100, 1_200), (1_300, 1_400)], 0b001),
        /*  3 */ (1_000, 1_200, false, [(1_000, 1_100), (1_100, 1_200), (1_300, 1_400)], 0b011),
        /*  4 */ (1_100, 1_250, true, [(1_000, 1_100), (1_100, 1_250), (1_300, 1_400)], 0b010),
        /*  5 */ (1_100, 1_300, true, [(1_000, 1_100), (1_100, 1_300), (1_300, 1_400)], 0b010),
        /*  6 */ (1_100, 1_301, false, [(1_000, 1_100), (1_100, 1_200), (1_300, 1_400)], 0b110),
        /*  7 */ (1_050, 1_100, false, [(1_000, 1_100), (1_100, 1_200), (1_300, 1_400)], 0b001),
        /*  8 */ (1_050, 1_150, false, [(1_000, 1_100), (1_100, 1_200), (1_300, 1_400)], 0b011),
        /*  9 */ (1_250, 1_350, false, [(1_000, 1_100), (1_100, 1_200), (1_300, 1_400)], 0b100),
        /* 10 */ (1_300, 1_500, true, [(1_000, 1_100), (1_100, 1_200), (1_300, 1_500)], 0b100),
    ];
    for (i, (seq, end, stored, ring, senders)) in rows.into_iter().enumerate() {
        let row = i + 1;
        let mut b = Bench::new();
        for seq in [1_000, 1_100, 1_300] {
            b.data(seq, 100);
        }
        b.now_ns += 5;
        assert_eq!(
            b.data(seq, end - seq).store().is_some(),
            stored,
            "row {row}"
        );
        assert_eq!(b.ring(), ring, "row {row}");
        assert_eq!(b.memory().0, 3, "row {row}");
        let overlap = b.host.counter(LH_C_uncached_overlap);
        assert_eq!(overlap, u64::from(!stored), "row {row}");
        for (k, e) in b.entries().iter().enumerate() {
            let senders = senders >> k & 1 == 1;
            let marked = u32::from(e.flags) & LH_SEG_FH_RTX != 0;
            assert_eq!(marked, senders, "row {row}, entry {k}");
            // docs/design.md, section 5.2: the sender's copy starts the repairs anew.
            assert_eq!(e.last_tx_ns == b.now_ns, senders, "row {row}, entry {k}");
        }
    }
}

#[test]
fn a_packet_that_could_not_be_copied_is_not_sent() {
    let mut b = Bench::new();
    let actions = b.data(0, 100);
    b.host.store_failed(&mut b.flow, &actions);
    b.data(100, 100);
    b.ack(0);
    let actions = b.ack(0);
    assert!(!actions.is_drop());
    assert_eq!((actions.nr_retransmit, actions.next_deadline_ns), (0, 0));
}

#[test]
fn what_the_queue_refused_is_not_cached() {
    let mut b = Bench::new();
    let segment = lasthop_core::Segment {
        seq: 0,
        end: 100,
        payload_bytes: 100,
        flags: LH_ACK as u16,
        ..Default::default()
    };
    let call = lasthop_core::Call {
        accepted: 0,
        ..lasthop_core::Call::at(1)
    };
    let actions = b.host.on_data(&mut b.flow, &b.config, &segment, &call);
    assert_eq!(actions.store(), None);
    assert_eq!(b.flow.raw().max, 100);
}

#[test]
fn old_data_is_forwarded_uncached() {
    let mut b = Bench::new();
    fill(&mut b, 0, 3);
    b.ack(300);
    assert_eq!(b.data(0, 100).store(), None);
    assert_eq!(b.data(200, 100).store(), None);
    assert_eq!(b.host.counter(LH_C_data_segments), 5);
    assert_eq!(b.memory(), (0, 0));
}

/// What was SACKed and has to go is no delivery any more. Amounts that are counted from before it must not come
/// out as nearly 2^32.
#[test]
fn what_is_shed_takes_its_delivery_along() {
    let mut b = Bench::new();
    b.config = Config::default();
    b.flow.raw_mut().flags |= LH_FLOW_SACK_SEEN;
    for i in 0..20 {
        b.data(i * 1_000, 1_000);
    }
    b.segment_from_mh(&ack_of(0, &[(1_000, 20_000)]));
    let got = b.flow.raw().delivery.bytes;
    let f = b.flow.raw_mut();
    (f.control.round_delivered, f.delivery.train_bytes) = (got, got);
    let next = Segment {
        seq: 20_000,
        end: 21_000,
        payload_bytes: 1_000,
        flags: LH_ACK as u16,
        ..Segment::default()
    };
    let scarce = Call {
        pool_segments: 20,
        cap_segments: 4,
        ..Call::at(b.now_ns)
    };
    b.host.on_data(&mut b.flow, &b.config, &next, &scarce);
    let f = b.flow.raw();
    assert!(f.delivery.bytes < got);
    assert_eq!(f.control.round_delivered, f.delivery.bytes);
    assert_eq!(f.delivery.train_bytes, f.delivery.bytes);
}

/// Segments far smaller than a slot take no more than a chunk's places from the others.
#[test]
fn so_many_small_ones_and_no_more() {
    let mut rig = Rig::plain();
    for i in 0..70 {
        rig.data(200, i * 10, 10);
    }
    assert_eq!(rig.ring().len(), 64);
    assert_eq!(rig.count(LH_C_uncached_small), 6);
}

/// The directory goes round: no chunk takes the place of one that is not reclaimed yet.
#[test]
fn a_full_directory_takes_no_more() {
    let mut b = Bench::new();
    fill(&mut b, 1_000, 1);
    let before = (b.flow.raw().ring.head, b.flow.raw().ring.tail);
    let full = b.host.counter(LH_C_uncached_full);
    b.flow.raw_mut().ring.tail = LH_FLOW_CHUNKS * LH_CHUNK_SEGS;
    b.data(1_100, 100);
    assert_eq!(b.host.counter(LH_C_uncached_full), full + 1);
    let ring = &mut b.flow.raw_mut().ring;
    (ring.head, ring.tail) = before;
}
