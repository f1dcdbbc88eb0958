// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Options and figures of what goes beside the flows.

use super::*;
use crate::bed::transfer::{ReceivedSample, RttSample};
use crate::cell::beside::BesideFigures;
use crate::cell::words::compare as parse;

const S: u64 = 1_000_000_000;

#[test]
fn usage_errors_name_the_option() {
    for (words, hint) in [
        ("--arrivals 4", "4/s"),
        ("--arrival-sizes web", "--arrivals"),
        ("--arrivals 4/s --arrival-sizes big", "--arrival-sizes"),
        ("--neighbour udp", "udp:10mbit"),
        ("--neighbour cubic,5s,1s", "--neighbour"),
        ("--page --arrivals 4/s", "--arrivals"),
        ("--page --neighbour cubic", "--neighbour"),
    ] {
        let error = parse(words).unwrap_err();
        assert!(error.contains(hint), "{words}: {error}");
    }
}

#[test]
fn contradictions() {
    for (words, hint) in [
        ("--arrivals 4/s --bytes 1MB", "--duration"),
        ("--neighbour bbr --bytes 1MB", "--duration"),
        ("--neighbour bbr --direction up", "--direction up"),
        ("--arrivals 4/s --flow-rtt 50ms,100ms", "--flow-rtt"),
        ("--neighbour bbr,25s", "never begins"),
    ] {
        let options = parse(words).unwrap();
        let error = options.check_options().unwrap_err().to_string();
        assert!(error.contains(hint), "{words}: {error}");
        assert_eq!(error.lines().count(), 1);
    }
    for words in [
        "--arrivals 4/s --flows 2",
        "--neighbour bbr,24s --direction both",
    ] {
        parse(words).unwrap().check_options().unwrap();
    }
}

#[test]
fn several_neighbours_are_repeated_or_joined() {
    let repeated = parse("--neighbour cubic,1s --neighbour udp:1mbit,2s,3s").unwrap();
    let joined = parse("--neighbour cubic,1s;udp:1mbit,2s,3s").unwrap();
    assert_eq!(repeated.beside, joined.beside);
    let summary = joined.beside.summary();
    assert_eq!(
        summary,
        ", beside cubic from 1s on, beside UDP at 1mbit from 2s to 3s"
    );
}

/// A megabit in each second, and a round trip that says which second it is.
fn steady(seconds: u64) -> TransferReport {
    let sample = |second: u64| ReceivedSample {
        at_ns: second * S,
        bytes: vec![second * 125_000],
    };
    let rtt = |second: u64| RttSample {
        at_ns: second * S,
        connection: 0,
        rtt_us: second as u32 * 1000,
    };
    TransferReport {
        received: (0..=seconds).map(sample).collect(),
        rtt: (0..=seconds).map(rtt).collect(),
        ..TransferReport::default()
    }
}

#[test]
fn figures_of_neighbours_are_about_their_time() {
    let options = parse("--neighbour cubic,8s,15s;udp:1mbit,2s,12s").unwrap();
    let main = steady(25);
    let neighbour = |rtt| NeighbourReport {
        received: Series::of(&main.received, 0),
        rtt,
    };
    let beside = Report {
        arrivals: None,
        neighbours: vec![neighbour(main.rtt.clone()), neighbour(Vec::new())],
        failure: None,
    };
    let figures = BesideFigures::new(&options.beside, &beside, &main, (5 * S, 25 * S));
    assert_eq!(figures.neighbour_goodputs_mbit, Some(vec![Some(1.0); 2]));
    assert_eq!(figures.neighbour_goodput_mbit, Some(2.0));
    assert_eq!(figures.neighbour_rtt_p95_ms, Some(14.0)); // of 8 to 14
    assert_eq!(figures.goodput_beside_mbit, Some(1.0));
    assert_eq!(figures.rtt_p95_after_ms, Some(25.0)); // of 17 to 25
    assert_eq!(figures.arrivals, None);
}

#[test]
fn arrivals_of_the_measured_time_count_and_some_never_arrive() {
    let mut options = parse("--arrivals 4/s").unwrap();
    let ms = |ms: u64| Some(ms * 1_000_000);
    // One before the measured time, one after.
    let times = vec![
        (S, ms(999)),
        (6 * S, ms(30)),
        (7 * S, ms(10)),
        (8 * S, ms(20)),
        (30 * S, None),
    ];
    let report = |times: &[(u64, Option<u64>)]| Report {
        arrivals: Some(times.to_vec()),
        neighbours: Vec::new(),
        failure: None,
    };
    let measured = (5 * S, 25 * S);
    let figures = BesideFigures::new(&options.beside, &report(&times), &steady(25), measured);
    assert_eq!(figures.arrivals, Some(3));
    assert_eq!(
        (figures.arrival_p50_ms, figures.arrival_p95_ms),
        (Some(20.0), Some(30.0))
    );
    let times = [(6 * S, ms(30)), (7 * S, None), (8 * S, ms(20))];
    let figures = BesideFigures::new(&options.beside, &report(&times), &steady(25), measured);
    assert_eq!(figures.arrival_p50_ms, Some(30.0));
    assert_eq!(figures.arrival_p95_ms, None, "it never came");
    options.beside.arrivals = None;
    let figures = BesideFigures::new(&options.beside, &report(&times), &steady(25), measured);
    assert_eq!(figures, BesideFigures::default());
}
