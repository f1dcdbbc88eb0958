// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the maps take of the kernel's memory, by its own account.

use std::collections::HashMap;
use std::fs;

use lasthop::programs::Setup;

use super::{in_namespace, load, setup};

/// The maps that this process holds, by their ids, with the bytes that each takes.
fn maps() -> HashMap<u64, u64> {
    let field = |text: &str, name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    fs::read_dir("/proc/self/fdinfo")
        .expect("fdinfo")
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .filter_map(|text| Some((field(&text, "map_id:")?, field(&text, "memlock:")?)))
        .collect()
}

/// The limit on memory is kept by reckoning: before anything is taken.
#[test]
fn memory_is_as_reckoned() {
    in_namespace(|| {
        for (max_flows, cache_total_bytes) in [(64, 16 << 20), (4_096, 4 << 20)] {
            let before = maps();
            let agent = load(&Setup {
                max_flows,
                cache_total_bytes,
                ..setup()
            });
            let after = maps();
            let new = after.iter().filter(|(id, _)| !before.contains_key(id));
            let taken: u64 = new.map(|(_, bytes)| bytes).sum();
            // Counters, receivers and the ring of events are the same for all.
            let reckoned = agent.memory_bytes();
            let off = taken as f64 / reckoned as f64;
            assert!(
                (0.95..1.12).contains(&off),
                "{taken} bytes for {max_flows} flows, reckoned {reckoned}"
            );
        }
    });
}
