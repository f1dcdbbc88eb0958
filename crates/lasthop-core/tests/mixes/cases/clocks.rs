// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How long the machine has been running is nothing to the core, which keeps some times in fewer bits than it has.

use super::{each_seed, ends};
use crate::case::{Case, SEC};
use crate::mixes::{link, moved, pieces, strides};

/// Nanoseconds on the clock when it has wrapped in 16 bits of 2^20 ns, in 32 of microseconds, in 16 of 2^33 ns.
const WRAPS_NS: [u64; 3] = [1 << 36, (1 << 32) * 1_000, 1 << 49];

const SEEDS: u64 = 8;

/// Of a few seeds: by the least difference in time one mix becomes another.
struct Mean {
    efficiency: f64,
    repairs: f64,
    chunk_ms: f64,
}

fn mean(case: &Case) -> Mean {
    let mut mean = Mean {
        efficiency: 0.0,
        repairs: 0.0,
        chunk_ms: 0.0,
    };
    for report in each_seed(case, SEEDS) {
        println!("{}", report.line());
        mean.efficiency += report.efficiency() / SEEDS as f64;
        mean.repairs += report.repairs as f64 / SEEDS as f64;
        mean.chunk_ms += report.chunks_ms().0 / SEEDS as f64;
    }
    mean
}

/// The clock has wrapped some seconds after the start, at a moment at which it is busy.
fn wraps_meanwhile(name: &str, case: &Case) {
    let fresh = mean(case);
    for wrap_ns in WRAPS_NS {
        // Whole seconds, as bins of 100 ms begin with the simulation.
        let uptime_ns = (wrap_ns / SEC - 8) * SEC;
        println!("{name} {wrap_ns}");
        let old = mean(&Case {
            uptime_ns,
            ..case.clone()
        });
        assert!(old.efficiency >= 0.98 * fresh.efficiency, "{name}");
        assert!(old.repairs <= 1.1 * fresh.repairs + 10.0, "{name}");
        let (old, fresh) = (old.chunk_ms, fresh.chunk_ms);
        assert!(old <= 1.1 * fresh, "{name}: {old} ms for {fresh}");
    }
}

#[test]
fn a_clock_may_wrap() {
    let one = link(0.02).flows(1, "reno");
    wraps_meanwhile("one", &one.with_agent());
    wraps_meanwhile("ends", &one.with_ends(ends(1)));
    wraps_meanwhile("strides", &strides(10, "cubic", 40, 0.01).with_agent());
    let late = pieces(110, 10, "late", (1_448, 30), 0.05);
    wraps_meanwhile("late", &moved(late).with_agent());
}
