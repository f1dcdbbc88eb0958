// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Pages, as they are loaded on other ways than the one that most cases share.

use super::{both, each_seed};
use crate::case::Case;
use crate::mixes::{beside_upload, browse, narrow};
use crate::report::Report;

/// The mean of a figure over the first seeds, without agent and with it.
fn means(case: &Case, seeds: u64, figure: impl Fn(&Report) -> f64) -> (f64, f64) {
    let mean = |case: &Case| {
        let figures = each_seed(case, seeds).map(|report| figure(&report));
        figures.sum::<f64>() / seeds as f64
    };
    (mean(case), mean(&case.with_agent()))
}

/// The end of a slow start gets lost in a full queue, and nothing behind it tells. A probe in time repaired one segment,
/// and kept FH's own from repairing all: by one a probe a page of 0.62 s took 0.81 s (one of eight 1.56 s), and beside
/// an upload, without any loss of the link's, 1.33 s and not 0.80.
#[test]
fn pages_wait_for_no_lost_end() {
    let way = (50.0, 30, 4);
    for (case, most) in [
        (browse(way, "cubic", 0.002), 1.1),
        (beside_upload(browse(way, "cubic", 0.0)), 1.15),
    ] {
        both(&case, |none, rack| {
            let (none, rack) = (none.page_median_ms(), rack.page_median_ms());
            assert!(rack <= most * none, "{rack} ms for {none}");
        });
    }
}

/// Nothing is lost but in the queue, and nothing that met it full comes through: for that FH was braked, and what
/// overflowed from then on was repaired as the link's, or the end of a window a segment per probe. RTT p95 3.1 s for
/// 0.26.
#[test]
fn a_page_beside_an_upload_is_not_held_up() {
    for (way, most) in [((2.0, 60, 10), 6.5), ((50.0, 30, 4), 1.3)] {
        let case = beside_upload(browse(way, "cubic", 0.0));
        let (none, rack) = means(&case, 6, |report| report.rtt_p95_ms);
        println!("{way:?} {none} {rack}");
        assert!(rack <= most * none, "{rack} ms for {none}");
    }
}

/// The link has lost something, so that each new connection is braked from its first loss on. The bursts of slow
/// starts passed for a standing queue on a hop that was idle for most of the round trip: 1.30 and 1.33 times as long.
#[test]
fn a_page_over_a_long_way_is_not_held_up() {
    for way in [(10.0, 250, 20), (10.0, 350, 300)] {
        let case = browse(way, "cubic", 0.002);
        let (none, rack) = means(&case, 4, Report::page_median_ms);
        println!("{way:?} {none} {rack}");
        assert!(rack <= 1.15 * none, "{rack} ms for {none}");
    }
}

/// As many flows as a hop of 0.25 Mbit/s can't serve, and no loss: 0.66 of the bound for 0.81.
#[test]
fn twenty_flows_on_a_narrow_hop_lose_little() {
    for cc in ["reno", "cubic"] {
        both(&narrow(20, cc, 0.0), |none, rack| {
            assert!(rack.mbit() >= 0.9 * none.mbit());
            assert!(rack.rtt_p95_ms <= 1.4 * none.rtt_p95_ms);
        });
    }
}
