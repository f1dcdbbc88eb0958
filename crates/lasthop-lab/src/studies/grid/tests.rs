// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use std::collections::BTreeSet;

use super::*;
use crate::base::words;

fn options(words: &str) -> GridOptions {
    words::options(words).unwrap()
}

fn planned_by(words: &str) -> Vec<Experiment> {
    let planned = planned(&options(words), &[]).unwrap();
    planned
        .into_iter()
        .map(|planned| planned.experiment)
        .collect()
}

fn runs(words: &str) -> usize {
    let of = |e: &Experiment| e.axis.points.len() * e.series.len() * e.seeds.len();
    planned_by(words).iter().map(of).sum()
}

#[test]
fn every_file_is_one_of_them() {
    for (directory, files) in [
        ("grid", [&QUICK_GRID[..], &GRID[..]].concat()),
        ("mixes", MIXES.to_vec()),
    ] {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
        let entries = fs::read_dir(format!("{root}/{directory}")).unwrap();
        let there: BTreeSet<String> = entries
            .map(|entry| entry.unwrap().path())
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let names: BTreeSet<String> = files.iter().map(|file| file.name.to_owned()).collect();
        assert_eq!(there, names);
    }
}

#[test]
fn sizes_of_the_choices() {
    for (words, count) in [
        ("", 16),
        ("--quick", 16),
        ("--full", 1368),
        ("--full --seed 1", 456),
        (
            "--loss 2% --rtt 110ms --cc reno --variant base --rate 20mbit",
            6,
        ),
        ("--quick --cc bbr", 4),
        ("--variant wired,wave --loss 0", 36),
        ("--rate 5mbit,100mbit --variant base", 288),
        ("--full --cc cubic --duration 5s", 456),
    ] {
        assert_eq!(runs(words), count, "{words}");
    }
}

/// How many points of the grid each condition is about.
#[test]
fn scopes() {
    let mut counts = Vec::new();
    for experiment in planned_by("--full") {
        let points = experiment.axis.points.len();
        for check in &experiment.checks {
            let at = check.at.as_ref().map_or(points, Vec::len);
            counts.push((experiment.name.clone(), at * check.places.len()));
        }
    }
    let [loss, variants] = ["loss", "variants"].map(|name| {
        let own = counts.iter().filter(|(of, _)| of == name);
        own.map(|(_, count)| *count).collect::<Vec<usize>>()
    });
    assert_eq!(
        loss,
        [
            // The bound: 0.1 to 5 %, 10 % and 20 % at four round trips; 400 ms; other rates.
            5 * 4 * 3,
            4 * 3,
            4 * 3,
            5 * 3,
            2 * 6 * 3,
            // Delay: p50, p95, and without loss.
            7 * 4 * 2,
            7 * 4 * 2,
            7 * 3,
            // No harm without loss, and at all.
            7 * 3,
            168,
            // Repairs, the sender's retransmissions, content.
            168,
            7 * 3,
            168,
        ]
    );
    assert_eq!(
        variants,
        [10 * 3 - 2, 60 - 4, 2 * 2 * 2, 2 * 2, 60, 9 * 3, 60]
    );
}

#[test]
fn whole_and_shortened_ones_are_right() {
    let whole = planned_by("--mixes");
    let short = planned_by("--mixes --quick --duration 2s");
    assert_eq!(whole.len(), short.len());
    for (whole, short) in whole.iter().zip(&short) {
        assert!(!whole.panels.is_empty(), "{}: no [[panel]]", whole.name);
        assert_eq!(short.seeds, [1], "{}", short.name);
        assert_eq!(short.axis.points.len(), 2, "{}", short.name);
        assert!(
            short.checks.len() >= whole.checks.len() / 2,
            "{}",
            short.name
        );
    }
}

#[test]
fn every_part_of_the_grid_is_an_experiment() {
    for words in [
        "--loss 0",
        "--loss 20%",
        "--rtt 400ms",
        "--rate 5mbit",
        "--cc bbr",
        "--variant wave --cc bbr",
        "--variant lte,queue-20 --loss 2%",
        "--quick --loss 20%",
        "--mixes --cc bbr",
        "--mixes --quick --cc cubic --scheme snoop",
        "--full --scheme slack",
    ] {
        assert!(!planned_by(words).is_empty(), "{words}");
    }
    let slack = planned_by("--scheme slack");
    assert_eq!(slack[0].series[1].name, "slack");
    assert_eq!(slack[0].checks[0].places[0].of, "slack");
}

#[test]
fn every_scheme_can_stand_in_every_file() {
    for scheme in lasthop_core::schemes() {
        for part in ["--quick", "--full --loss 2%", "--mixes --quick"] {
            let planned = planned_by(&format!("{part} --scheme {}", scheme.name));
            assert!(!planned.is_empty(), "{part} {}", scheme.name);
        }
    }
}

#[test]
fn what_is_not_there_is_answered_with_what_is() {
    let said = |words: &str| planned(&options(words), &[]).unwrap_err().to_string();
    let error = said("--loss 3% --variant queue-20");
    assert!(
        error.contains("--loss has 0%, 0.1%") && error.contains("queue-1000"),
        "{error}"
    );
    let error = said("--mixes=page");
    assert!(
        error.contains("`page`") && error.contains("pages-rtt"),
        "{error}"
    );
    assert!(said("--loss 2").contains("2%"));
    let error = said("--quick --variant base");
    assert!(
        error.contains("--quick") && !error.contains('\n'),
        "{error}"
    );
    let error = said("--mixes --variant wave");
    assert!(error.ends_with("--variant has base"), "{error}");
    assert!(said("--agent-config /nonexistent").contains("/nonexistent"));
}

#[test]
fn results_have_a_place() {
    assert_eq!(options("--quick").out, Path::new("lasthop-grid"));
    assert_eq!(options("--mixes").out, Path::new("lasthop-mixes"));
    assert_eq!(options("--mixes --out D").out, Path::new("D"));
    let planned = planned(&options("--mixes=pages,upload --out D"), &[]).unwrap();
    assert_eq!(planned[0].directory, Path::new("D/upload"));
    for runs in ["--quick", "--loss 2%", "--seed 1", "--scheme snoop"] {
        let error = words::options::<GridOptions>(&format!("--summary-only {runs}")).unwrap_err();
        assert!(error.contains("--summary-only"), "{error}");
    }
}

#[test]
fn the_command_is_repeated_wherever_it_is() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (said, again) in [
        ("grid --loss 2% --out D --cc bbr", "grid --loss 2% --cc bbr"),
        (
            "grid --out=D -j --jobs 3 --mixes=pages",
            "grid --mixes=pages",
        ),
    ] {
        assert_eq!(repeated(&words(said)), words(again));
    }
}
