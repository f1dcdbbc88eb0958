// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `make mixes` prints the mixes over many seeds: the mean of each and the least with its seed.
//! One seed in thirty shows what the cases' three do not. OUT=FILE keeps the figures,
//! AGAINST=FILE puts an earlier run's beside them; so a law is judged by all that it changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::sync::Mutex;

use crate::case::Case;
use crate::report::Report;
use crate::table::under;
use crate::{catalogue, run};

/// What is compared of a run, and with how many digits. All but the share of the bound are better
/// when less.
const FIGURES: [(&str, usize); 8] = [
    ("share", 3),
    ("rtt95", 0),
    ("page_ms", 0),
    ("done95_ms", 0),
    ("rto", 1),
    ("chunk_ms", 0),
    ("chunk95_ms", 0),
    ("twice", 0),
];

type Figures = [f64; FIGURES.len()];

/// A case's, by seed.
type Runs = BTreeMap<u64, Figures>;

fn figures(r: &Report) -> Figures {
    let (done, page) = (r.completions(0.95), r.page_median_ms());
    let (chunk, chunk95) = r.chunks_ms();
    [
        r.efficiency(),
        r.rtt_p95_ms,
        page,
        done,
        r.timeouts() as f64,
        chunk,
        chunk95,
        r.twice() as f64,
    ]
}

/// A line of the file is a mix, a scheme, a seed and the figures, with tabs between.
type Kept = BTreeMap<(String, String), Runs>;

fn read(file: &str) -> Kept {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("AGAINST={file}: {e}"));
    let mut kept = Kept::new();
    for (i, line) in text.lines().enumerate() {
        let parsed = (|| {
            let mut words = line.split('\t');
            let key = (words.next()?.to_owned(), words.next()?.to_owned());
            let seed = words.next()?.parse().ok()?;
            let values: Vec<f64> = words.map_while(|w| w.parse().ok()).collect();
            Some((key, seed, values.try_into().ok()?))
        })();
        let (key, seed, values) =
            parsed.unwrap_or_else(|| panic!("AGAINST={file}: line {}: {line}", i + 1));
        kept.entry(key).or_default().insert(seed, values);
    }
    kept
}

/// Each of the numbers, on as many threads as there are CPUs.
pub fn on_all_cpus(numbers: RangeInclusive<u64>, each: impl Fn(u64) + Sync) {
    let next = Mutex::new(numbers);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(number) = next.lock().expect("no thread panicked").next() else {
                        return;
                    };
                    each(number);
                }
            });
        }
    });
}

/// All seeds of a case.
fn over_seeds(case: &Case, seeds: u64) -> Runs {
    let done = Mutex::new(BTreeMap::new());
    on_all_cpus(1..=seeds, |seed| {
        let case = Case {
            seed,
            ..case.clone()
        };
        let of = figures(&run(&case));
        done.lock().expect("no thread panicked").insert(seed, of);
    });
    done.into_inner().expect("no thread panicked")
}

/// The mean of figure `i`, and the worst with its seed.
fn summary(runs: &Runs, i: usize) -> (f64, f64, u64) {
    let mean = runs.values().map(|v| v[i]).sum::<f64>() / runs.len().max(1) as f64;
    let worse = |v: &f64| if i == 0 { *v } else { -*v };
    let worst = runs.iter().map(|(seed, v)| (v[i], *seed));
    let (at, seed) = worst
        .min_by(|a, b| worse(&a.0).total_cmp(&worse(&b.0)))
        .unwrap_or_default();
    (mean, at, seed)
}

/// Figures that are 0 everywhere (pages, where nobody loads any) are left out.
fn line(runs: &Runs, before: Option<&Runs>) -> String {
    let mut line = String::new();
    for (i, (name, digits)) in FIGURES.into_iter().enumerate() {
        let (mean, worst, seed) = summary(runs, i);
        let was = before.map(|b| summary(b, i));
        if mean == 0.0 && was.is_none_or(|was| was.0 == 0.0) {
            continue;
        }
        let _ = write!(line, "  {name} {mean:.digits$} ({worst:.digits$} @{seed})");
        if let Some((mean, worst, seed)) = was {
            let _ = write!(line, ", was {mean:.digits$} ({worst:.digits$} @{seed})");
        }
    }
    line
}

#[test]
#[ignore = "prints a table"]
fn seeds() {
    let seeds = std::env::var("SEEDS").map_or(32, |n| n.parse().expect("SEEDS: a number"));
    let schemes = std::env::var("SCHEMES").unwrap_or_else(|_| "rack".into());
    let before = std::env::var("AGAINST")
        .map(|file| read(&file))
        .unwrap_or_default();
    let mut out = std::env::var("OUT")
        .ok()
        .map(|file| std::fs::File::create(&file).unwrap_or_else(|e| panic!("OUT={file}: {e}")));
    catalogue::each(|name, case| {
        for scheme in schemes.split(',') {
            let runs = over_seeds(&under(case, scheme), seeds);
            let key = (name.to_owned(), scheme.to_owned());
            println!("{name:28} {scheme:5}{}", line(&runs, before.get(&key)));
            let Some(out) = &mut out else { continue };
            for (seed, values) in &runs {
                let values = values.map(|v| v.to_string()).join("\t");
                writeln!(out, "{name}\t{scheme}\t{seed}\t{values}").expect("OUT: written");
            }
        }
    });
}
