// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the maps take of the kernel's memory, by its own account.

use lasthop::programs::Setup;

use super::{held, in_namespace_alone, load, setup};

/// The limit on memory is kept by reckoning: before anything is taken.
#[test]
fn memory_is_as_reckoned() {
    in_namespace_alone(|| {
        for (max_flows, cache_total_bytes) in [(64, 1 << 20), (64, 16 << 20), (4_096, 4 << 20)] {
            let before = held("map_id:", "memlock:");
            let agent = load(&Setup {
                max_flows,
                cache_total_bytes,
                ..setup()
            });
            let after = held("map_id:", "memlock:");
            let new = after.iter().filter(|(id, _)| !before.contains_key(id));
            let taken: u64 = new.map(|(_, bytes)| bytes).sum();
            let reckoned = agent.memory_bytes();
            let off = taken as f64 / reckoned as f64;
            assert!(
                (0.97..1.04).contains(&off),
                "{taken} bytes for {max_flows} flows, reckoned {reckoned}"
            );
        }
    });
}
