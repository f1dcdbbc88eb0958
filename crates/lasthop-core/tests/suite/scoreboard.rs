// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the core believes of MH's SACK blocks, after any blocks, sensible or
//! not, and any borders of segments: sums, shortcuts and bounds hold what they
//! promise.

use lasthop_core::bindings::*;
use lasthop_core::{Config, Segment, seq_before};
use proptest::prelude::*;

use crate::bench::{Bench, ack_of};

#[derive(Debug, Clone)]
enum Step {
    /// In order, new.
    Next(u32),
    /// Lost upstream.
    Skip(u32),
    /// Offset from what was acknowledged, and length: FH sends again.
    Again(u32, u32),
    /// Bytes newly acknowledged, and blocks by offset and length.
    Ack(u32, Vec<(u32, u32)>),
    Wait(u64),
    /// The copy fails.
    NoCopy(u32),
}

fn blocks() -> impl Strategy<Value = Vec<(u32, u32)>> {
    let block = prop_oneof![
        12 => ((0u32..30).prop_map(|n| n * 100), (1u32..12).prop_map(|n| n * 100)),
        4 => (0u32..3_000, 1u32..500),
        1 => any::<(u32, u32)>(),
    ];
    proptest::collection::vec(block, 0..5)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => Just(Step::Next(100)),
        2 => (1u32..300).prop_map(Step::Next),
        1 => (1u32..300).prop_map(Step::Skip),
        2 => (0u32..3_000, 1u32..300).prop_map(|(at, len)| Step::Again(at, len)),
        1 => (0u32..30).prop_map(|n| Step::Again(n * 100, 100)),
        6 => blocks().prop_map(|b| Step::Ack(0, b)),
        3 => (0u32..1_500, blocks()).prop_map(|(n, b)| Step::Ack(n, b)),
        1 => (0u32..10, blocks()).prop_map(|(n, b)| Step::Ack(n * 100, b)),
        4 => (1u64..40).prop_map(Step::Wait),
        1 => Just(Step::NoCopy(100)),
    ]
}

/// As receivers do: blocks that touch are one.
fn merged(mut blocks: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    blocks.retain(|b| b.0 < 10_000 && b.1 < 10_000);
    blocks.sort_unstable();
    let mut out: Vec<(u32, u32)> = Vec::new();
    for (at, len) in blocks {
        match out.last_mut() {
            Some(last) if last.0 + last.1 >= at => last.1 = last.1.max(at + len - last.0),
            _ => out.push((at, len)),
        }
    }
    out
}

/// Blocks by their offset from the ACK, and length.
fn ack(b: &mut Bench, ack: u32, blocks: &[(u32, u32)]) -> Segment {
    let ends = |&(at, len): &(u32, u32)| {
        let left = ack.wrapping_add(at);
        (left, left.wrapping_add(len))
    };
    let s = ack_of(ack, &blocks.iter().map(ends).collect::<Vec<_>>());
    b.segment_from_mh(&s);
    s
}

/// Whether the block counts (RFC 2018): above the ACK, below what was sent.
fn valid(f: &lh_flow, s: &Segment, block: &lh_sack_block) -> bool {
    seq_before(s.ack, block.left)
        && seq_before(block.left, block.right)
        && !seq_before(f.max, block.right)
}

fn check_sacked(b: &mut Bench, s: &Segment) -> Result<(), TestCaseError> {
    let entries = b.entries();
    let f = b.flow.raw();
    if s.ack != f.una {
        return Ok(());
    }
    for block in s.sack_blocks().iter().filter(|k| valid(f, s, k)) {
        for e in &entries {
            let inside = !seq_before(e.seq, block.left) && !seq_before(block.right, e.end);
            prop_assert!(
                !inside || u32::from(e.flags) & LH_SEG_SACKED != 0,
                "[{}, {}) is SACKED",
                e.seq.wrapping_sub(f.una),
                e.end.wrapping_sub(f.una)
            );
        }
    }
    Ok(())
}

/// Segments that MH has above what it acknowledges, and their bytes.
fn sacked(b: &mut Bench) -> (u32, u32) {
    let sacked = |e: &&lh_seg| u32::from(e.flags) & LH_SEG_SACKED != 0;
    let entries = b.entries();
    let bytes = |e: &lh_seg| e.end.wrapping_sub(e.seq);
    let of = entries.iter().filter(sacked);
    (of.clone().count() as u32, of.map(bytes).sum())
}

/// lh_cache_covers() without its shortcut.
fn covered(b: &mut Bench, upto: u32) -> bool {
    let mut expect = b.flow.raw().una;
    for e in b.entries() {
        if !seq_before(expect, upto) {
            break;
        }
        let flags = u32::from(e.flags);
        let lost = LH_SEG_CONG | LH_SEG_FH_RTX | LH_SEG_NO_COPY;
        let repairable = flags & lost == 0 && u32::from(e.n_local) < b.config.max_local;
        if seq_before(expect, e.seq) || !(flags & LH_SEG_SACKED != 0 || repairable) {
            return false;
        }
        expect = e.end;
    }
    !seq_before(expect, upto)
}

fn check_covers(b: &mut Bench) -> Result<(), TestCaseError> {
    let f = *b.flow.raw();
    for upto in [f.una.wrapping_add(1), f.sacked_max] {
        let blocked = f.flags & LH_FLOW_BLOCKED != 0 && seq_before(f.cache.blocked_start, upto);
        if !seq_before(f.una, upto) || seq_before(f.max, upto) || blocked {
            continue;
        }
        prop_assert!(covered(b, upto), "the shortcut says so");
    }
    Ok(())
}

fn check_bounds(b: &mut Bench) -> Result<(), TestCaseError> {
    let head = b.flow.raw().ring.head;
    for (i, e) in b.entries().iter().enumerate() {
        let flags = u32::from(e.flags);
        let open = flags & (LH_SEG_SACKED | LH_SEG_NO_COPY) == 0;
        if open && u32::from(e.n_local) < b.config.max_local {
            let bound = b.host.oldest_tx_ns(&b.flow, head.wrapping_add(i as u32));
            prop_assert!(
                bound <= e.last_tx_ns,
                "{bound} is no lower bound of {}",
                e.last_tx_ns
            );
        }
    }
    Ok(())
}

fn run(base: u32, max_local: u32, honest: bool, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut b = Bench::new();
    b.config = Config {
        max_local,
        ..Config::default()
    };
    b.data(base, 1);
    ack(&mut b, base.wrapping_add(1), &[]);
    for step in steps {
        let (una, max) = (b.flow.raw().una, b.flow.raw().max);
        match step {
            Step::Next(len) => drop(b.data(max, len)),
            Step::Skip(len) => drop(b.data(max.wrapping_add(50), len)),
            Step::Again(at, len) => drop(b.data(una.wrapping_add(at), len)),
            Step::Wait(ms) => {
                b.now_ns += ms * 1_000_000;
                b.timer();
            }
            Step::NoCopy(len) => {
                let actions = b.data(max, len);
                if actions.store().is_some() {
                    b.host.store_failed(&mut b.flow, &actions);
                }
            }
            Step::Ack(n, blocks) => {
                let to = una.wrapping_add(n.min(max.wrapping_sub(una)));
                if honest {
                    let s = ack(&mut b, to, &merged(blocks));
                    check_sacked(&mut b, &s)?;
                } else {
                    ack(&mut b, to, &blocks);
                }
            }
        }
        let f = b.flow.raw();
        let known = (f.nr_sacked, f.delivery.sacked_bytes);
        prop_assert_eq!(sacked(&mut b), known);
        check_covers(&mut b)?;
        check_bounds(&mut b)?;
    }
    b.host.free(&mut b.flow);
    prop_assert_eq!(b.memory(), (0, 0));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_scoreboard_is_right(
        base in prop_oneof![any::<u32>(), (0u32..4_000).prop_map(|n| u32::MAX - n)],
        max_local in 1u32..11,
        honest in any::<bool>(),
        steps in proptest::collection::vec(step(), 1..300),
    ) {
        run(base, max_local, honest, steps)?;
    }
}

/// Something can't be repaired all the time, for longer than the numbers last.
#[test]
fn the_shortcut_survives_the_wrap() {
    let mut b = Bench::new();
    b.config = Config::default();
    let len = 1 << 20;
    b.cap = 10; // nine segments of new data are cached
    b.data(0, len);
    for _ in 0..6_000 {
        let max = b.flow.raw().max;
        b.data(max, len);
        let (una, max) = (b.flow.raw().una, b.flow.raw().max);
        if max.wrapping_sub(una) > 20 * len {
            ack(&mut b, una.wrapping_add(len), &[]);
        }
        let f = *b.flow.raw();
        for upto in (1..20).map(|k| f.una.wrapping_add(k * len)) {
            let looks = f.flags & LH_FLOW_BLOCKED != 0 && seq_before(f.cache.blocked_start, upto);
            let far = seq_before(f.max, upto);
            assert!(
                looks || far || covered(&mut b, upto),
                "uncached, and it shows"
            );
        }
    }
}
