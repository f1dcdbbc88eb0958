// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is sent over the hop again and again although nothing is lost any more: a transfer of some seconds each,
//! of which only the number of repairs counts.

use std::collections::{BTreeMap, HashSet};

use lasthop_core::Config;

use crate::rig::rig_with;

/// What is under way: when it comes, how many came before it, and what it is.
type Queue = BTreeMap<(u64, u64), i64>;

fn due(queue: &mut Queue, ms: u64) -> Option<i64> {
    let first = queue.first_entry()?;
    (first.key().0 <= ms).then(|| first.remove())
}

/// 20 s of segments of `len` (the SYNs say 1,000), 20 at a time, to a receiver without SACK: 10 ms there and
/// back, one in a hundred lost on the way there. @return losses, repairs.
fn transfer(config: Config, len: i64) -> (u32, u32) {
    let mut rig = rig_with(config, false);
    let (mut hop, mut up, mut fh) = (Queue::new(), Queue::new(), Queue::new());
    let mut got = HashSet::new();
    let (mut next, mut rcv, mut una, mut una_ms) = (0, 0, 0, 200);
    let (mut n, mut last, mut x, mut lost, mut repairs) = (0_u64, 0, 7_u64, 0, 0);
    for ms in 200..20_200_u64 {
        let mut out = Vec::new();
        while let Some(ack) = due(&mut fh, ms) {
            if ack > una {
                (una, una_ms) = (ack, ms);
            }
        }
        if ms - una_ms > 600 {
            una_ms = ms; // FH's timeout
            rig.data(ms, una * len, len as usize);
            out.push(una);
        }
        for _ in 0..2 {
            if next < una + 20 {
                rig.data(ms, next * len, len as usize);
                out.push(next);
                next += 1;
            }
        }
        let mut seen = Vec::new();
        while let Some(ack) = due(&mut up, ms) {
            let s = rig.ack(ms, ack * len, &[]);
            if !s.held {
                n += 1;
                fh.insert((ms + 20, n), ack);
            }
            seen.push(s);
        }
        seen.push(rig.timer(ms));
        for seq in seen.iter().flat_map(|s| &s.resent) {
            repairs += 1;
            out.push(i64::from(*seq) / len);
        }
        for seg in out {
            n += 1;
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if (x >> 33) % 100 == 0 {
                lost += 1;
                continue;
            }
            last = last.max(ms + 8 + (x >> 45) % 3);
            hop.insert((last, n), seg);
        }
        while let Some(seg) = due(&mut hop, ms) {
            got.insert(seg);
            while got.contains(&rcv) {
                rcv += 1;
            }
            n += 1;
            up.insert((ms + 2, n), rcv);
        }
    }
    (lost, repairs)
}

/// What MH answers to a superfluous repair is known beforehand, whatever the segment's size.
#[test]
fn small_segments_are_repaired_no_more_often_than_large_ones() {
    for len in [1_000, 600, 499, 400, 100] {
        let (lost, repairs) = transfer(Config::default(), len);
        assert!(
            repairs < 2 * lost + 50,
            "{len} bytes: {repairs} repairs for {lost} losses"
        );
    }
}
