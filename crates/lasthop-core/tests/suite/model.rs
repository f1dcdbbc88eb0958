// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The ring cache against a plain vector that follows the rules in words
//! (docs/design.md, section 3.2).

use proptest::prelude::*;

use crate::bench::Bench;

#[derive(Debug, Clone)]
enum Step {
    /// Offset from what was acknowledged, and length.
    Data(u32, u32),
    /// In order, new.
    Next(u32),
    /// Bytes newly acknowledged, of those outstanding.
    Ack(u32),
    Forget,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u32..6_000, 1u32..300).prop_map(|(at, len)| Step::Data(at, len)),
        12 => (1u32..300).prop_map(Step::Next),
        3 => (0u32..3_000).prop_map(Step::Ack),
        1 => Just(Step::Forget),
    ]
}

/// Offsets from the first byte; they never wrap here.
#[derive(Default)]
struct Model {
    ring: Vec<(u32, u32)>,
    una: u32,
    max: u32,
    cap: usize,
}

impl Model {
    fn data(&mut self, seq: u32, end: u32) {
        if end <= self.una {
            return;
        }
        if seq >= self.max {
            self.max = end;
            if self.ring.len() < self.cap - self.cap / 10 {
                self.ring.push((seq, end));
            }
            return;
        }
        self.max = self.max.max(end);
        let at = self.ring.partition_point(|e| e.1 <= seq);
        let next = self.ring.get(at + 1).map_or(u32::MAX, |e| e.0);
        let full = self.ring.len() >= self.cap;
        match self.ring.get_mut(at) {
            Some(e) if e.0 < end => {
                if e.0 == seq && end >= e.1 && end <= next {
                    e.1 = end;
                }
            }
            _ if full => {}
            _ => self.ring.insert(at, (seq, end)),
        }
    }

    fn ack(&mut self, ack: u32) {
        self.una = self.una.max(ack);
        self.ring.retain(|e| e.1 > ack);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_ring_follows_the_model(
        base in prop_oneof![any::<u32>(), (0u32..40_000).prop_map(|n| u32::MAX - n)],
        chunk in any::<u32>(),
        cap in 1usize..400,
        steps in proptest::collection::vec(step(), 1..400),
    ) {
        let mut b = Bench::new();
        b.cap = cap as u32;
        let mut model = Model { cap, ..Model::default() };
        // Ring positions may stand anywhere as well.
        b.flow.raw_mut().ring.spent = chunk & !63;
        b.flow.raw_mut().ring.head = chunk & !63;
        b.flow.raw_mut().ring.tail = chunk & !63;
        b.data(base, 1);
        model.data(0, 1);
        for step in steps {
            match step {
                Step::Data(at, len) => {
                    let seq = model.una + at;
                    b.data(base.wrapping_add(seq), len);
                    model.data(seq, seq + len);
                }
                Step::Next(len) => {
                    let seq = model.max;
                    b.data(base.wrapping_add(seq), len);
                    model.data(seq, seq + len);
                }
                Step::Ack(bytes) => {
                    let ack = model.una + bytes.min(model.max - model.una);
                    b.ack(base.wrapping_add(ack));
                    model.ack(ack);
                }
                Step::Forget => {
                    b.host.free(&mut b.flow);
                    model.ring.clear();
                }
            }
            let got: Vec<_> = b
                .ring()
                .iter()
                .map(|e| (e.0.wrapping_sub(base), e.1.wrapping_sub(base)))
                .collect();
            prop_assert_eq!(&got, &model.ring);
            let (slots, chunks) = b.memory();
            let f = b.flow.raw();
            let spent = f.ring.head.wrapping_sub(f.ring.spent) as usize;
            prop_assert_eq!(slots as usize, model.ring.len() + spent);
            prop_assert!(chunks <= slots.div_ceil(64) + 1);
        }
        b.host.free(&mut b.flow);
        prop_assert_eq!(b.memory(), (0, 0));
    }
}
