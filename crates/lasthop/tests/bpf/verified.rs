// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the verifier of this kernel had to look at, and how long the programs are: numbers to
//! compare between two builds, and never near the million that a kernel allows.
//!
//! `cargo test --release -p lasthop --test bpf verified -- --nocapture --test-threads 1`

use lasthop::agent::Setup;
use lasthop_core::Config;

use super::{held, in_namespace, load, setup};

const MOST: u64 = 900_000; // BPF_COMPLEXITY_LIMIT_INSNS is a million

#[test]
fn the_verifier_has_not_too_much_to_look_at() {
    in_namespace(|| {
        for (name, config) in [
            ("rack", Config::default()),
            ("snoop", Config::snoop()),
            ("slack", Config::slack()),
        ] {
            let setup = Setup { config, ..setup() };
            let agent = load(&setup);
            let mut counts: Vec<u64> = held("prog_id:", "verified_insns:").into_values().collect();
            counts.sort_unstable();
            println!("verified: {name} {counts:?}");
            assert!(counts.len() >= 2, "{counts:?}");
            assert!(counts.iter().all(|&n| n < MOST), "{name}: {counts:?}");
            drop(agent);
        }
    });
}
