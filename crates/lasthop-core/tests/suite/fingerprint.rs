// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the core does, as numbers: a change that shall change nothing leaves them as they were.
//! Verdicts, edits, repairs, released ACKs and deadlines of generated transfers, in mid-stream too,
//! with state that gets lost, forgers, and each scheme.
//!
//! `cargo test --release -p lasthop-core --test suite fingerprint -- --ignored --nocapture`

use lasthop_core::{Config, names};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestRng, TestRunner};

use crate::property::{config, params, rack, sack, slack};
use crate::sim::{Params, Sim};

const TRANSFERS: usize = 2_000;

fn print(name: &str, strategy: BoxedStrategy<Config>) {
    let algorithm = proptest::test_runner::RngAlgorithm::ChaCha;
    let rng = TestRng::deterministic_rng(algorithm);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let strategy = (params(strategy), 0u32..20, 0u32..10, 0u32..4);
    let (mut calls, mut all) = (0, 0u64);
    for _ in 0..TRANSFERS {
        let (params, forget, dying, kind) = strategy.new_tree(&mut runner).unwrap().current();
        let params = match kind {
            0 => Params {
                forget,
                dying,
                ..params
            },
            1 => Params { blind: 3, ..params },
            _ => params,
        };
        let (nr, hash) = Sim::new(params).fingerprint();
        calls += nr;
        all = all.rotate_left(1) ^ hash;
    }
    println!("fingerprint: {name} {calls} calls {all:016x}");
    assert!(calls > 250_000, "{calls}");
}

#[test]
#[ignore = "prints numbers to compare with another build's"]
fn fingerprint() {
    for scheme in names::schemes() {
        let name = scheme.name;
        let strategy = match name {
            "snoop" => config().boxed(),
            "slack" => slack().boxed(),
            "rack" => rack().boxed(),
            "sack" => sack().boxed(),
            _ => Just(Config {
                scheme: scheme.id,
                ..Config::snoop()
            })
            .boxed(),
        };
        print(name, strategy);
    }
}
