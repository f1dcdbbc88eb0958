// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the verifier of this kernel had to look at, and how long the programs are: numbers to
//! compare between two builds, and never near the million that a kernel allows.
//!
//! `cargo test --release -p lasthop --test bpf verified -- --nocapture --test-threads 1`

use lasthop::programs::Setup;
use lasthop_core::{Config, Named};
use libbpf_rs::query::ProgInfoIter;

use super::{held, in_namespace_alone, load, setup};

const MOST: u64 = 900_000; // BPF_COMPLEXITY_LIMIT_INSNS is a million

#[test]
fn the_verifier_has_not_too_much_to_look_at() {
    in_namespace_alone(|| {
        let both = |Named { id, name, .. }: Named| [(id, name, 0), (id, name, 1)];
        for (scheme, name, brake) in lasthop_core::schemes().flat_map(both) {
            let config = Config {
                scheme,
                brake,
                ..Config::default()
            };
            let as_published = Config { brake: 0, ..config };
            if brake != 0 && config.policy() == as_published.policy() {
                continue;
            }
            let setup = Setup {
                config,
                port: 30_467, // with messages between agents
                ..setup()
            };
            let agent = load(&setup);
            let counts = held("prog_id:", "verified_insns:");
            let mut programs: Vec<(String, u64)> = ProgInfoIter::default()
                .filter_map(|p| Some((p.name.to_string_lossy().into(), *counts.get(&p.id.into())?)))
                .collect();
            programs.sort();
            println!("verified: {name} brake {brake} {programs:?}");
            assert!(programs.len() >= 2, "{programs:?}");
            assert!(programs.iter().all(|p| p.1 < MOST), "{name}: {programs:?}");
            drop(agent);
        }
    });
}
