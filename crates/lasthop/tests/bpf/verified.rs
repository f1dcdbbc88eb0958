// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the verifier of this kernel had to look at, and how long the programs are: numbers to
//! compare between two builds, and never near the million that a kernel allows, nor so near that one of
//! Linux 6.6 gets there, which looks at three times as much (docs/kernels.md).
//!
//! `cargo test --release -p lasthop --test bpf verified -- --nocapture --test-threads 1`

use lasthop::programs::Setup;
use lasthop_core::{Config, Named};
use libbpf_rs::query::ProgInfoIter;

use super::{held, in_namespace_alone, load, setup};

/// BPF_COMPLEXITY_LIMIT_INSNS is a million.
const MOST: u64 = 900_000;
/// The most of a kernel that has learned to see that loops end.
const MOST_OF_YOUNG: u64 = 250_000;
const YOUNG: (u32, u32) = (6, 12);

fn most() -> u64 {
    let release = nix::sys::utsname::uname().expect("uname");
    let release = release.release().to_string_lossy();
    let mut numbers = release.split('.').map_while(|part| part.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) < YOUNG => MOST,
        _ => MOST_OF_YOUNG,
    }
}

#[test]
fn the_verifier_has_not_too_much_to_look_at() {
    let most = most();
    in_namespace_alone(move || {
        const WITH: [(&str, u32, u32); 3] = [("", 0, 0), ("brake", 1, 0), ("partner", 0, 1)];
        let each = |Named { id, name, .. }: Named| WITH.map(|with| (id, name, with));
        for (scheme, name, (with, brake, partner)) in lasthop_core::schemes().flat_map(each) {
            let alone = Config {
                scheme,
                ..Config::default()
            };
            let config = Config {
                brake,
                partner,
                ..alone
            };
            if !with.is_empty() && config.policy() == alone.policy() {
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
            println!("verified: {name} {with} {programs:?}");
            assert!(programs.len() >= 2, "{programs:?}");
            assert!(programs.iter().all(|p| p.1 < most), "{name}: {programs:?}");
            drop(agent);
        }
    });
}
