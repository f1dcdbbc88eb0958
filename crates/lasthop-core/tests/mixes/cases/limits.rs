// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Hops that carry no more although nothing queues: behind policers, and with queues of a few packets.

use super::{both, counted};
use crate::case::Case;
use crate::mixes::{policed, policed_fades, policed_lossy, policed_page, policed_rare_acks, short};
use crate::report::Report;

/// Full segments that were delivered after the warm-up, as drops are counted.
fn delivered(report: &Report, case: &Case) -> f64 {
    report.mbit() * case.duration_ns as f64 / 8e3 / 1448.0
}

/// Half of all was dropped, and RTTs were 0.3 s with one flow and 0.8 to 1 s with four.
#[test]
fn what_a_policer_drops_is_little() {
    for burst_ms in [10, 50, 200] {
        for (flows, cc) in [(1, "cubic"), (4, "reno"), (4, "bbr")] {
            for loss in [0.0, 0.01] {
                println!("{burst_ms} ms {flows} {cc} {loss}");
                let case = policed(burst_ms, loss).flows(flows, cc);
                both(&case, |none, rack| {
                    assert!(rack.rtt_p95_ms < 100.0, "{} ms", rack.rtt_p95_ms);
                    let dropped = rack.queue_dropped as f64 / delivered(rack, &case);
                    assert!(dropped < 0.2, "{dropped} of it");
                    assert!(rack.mbit() > 0.93 * none.mbit());
                });
            }
        }
    }
}

/// Twenty flows can't be braked to a segment or two each, nor ten to ten each: losses are theirs, as without agent, and
/// already in the trial that tells.
#[test]
fn many_flows_meet_a_policer_as_without_agent() {
    let twenty = ["cubic", "bbr", "reno"].map(|cc| policed(50, 0.0).flows(20, cc));
    for case in [policed_rare_acks()].iter().chain(&twenty) {
        both(case, |none, rack| {
            assert!(rack.mbit() > 0.97 * none.mbit());
            assert!(rack.queue_dropped as f64 <= 1.5 * none.queue_dropped as f64);
            assert!(rack.rtt_p95_ms < 2.0 * none.rtt_p95_ms);
        });
    }
}

/// Where half of all had been lost each trial was in vain, since less came in it: 30,000 repairs for 1,600 losses.
#[test]
fn a_policer_is_found_where_losses_hide_it() {
    both(&policed_lossy(), |none, rack| {
        assert!(rack.queue_dropped < 3 * none.queue_dropped);
        assert!(rack.mbit() > 0.8 * none.mbit());
    });
}

#[test]
fn pages_come_through_a_policer_as_soon_as_without_agent() {
    for (burst_ms, cc) in [(10, "cubic"), (50, "cubic"), (200, "bbr")] {
        println!("{burst_ms} ms {cc}");
        both(&policed_page(burst_ms, cc, 0.0), |none, rack| {
            let (none, rack) = (none.page_median_ms(), rack.page_median_ms());
            assert!(rack <= 1.2 * none, "{rack} ms for {none}");
        });
    }
}

/// A queue of 2.4 ms overflows before it shows: RTT p95 were 105 to 540 ms.
#[test]
fn a_short_queue_is_kept_to() {
    for (flows, cc) in [(1, "reno"), (4, "cubic"), (4, "bbr")] {
        println!("{flows} {cc}");
        both(&short(10, 0.01).flows(flows, cc), |_, rack| {
            assert!(rack.rtt_p95_ms < 100.0, "{} ms", rack.rtt_p95_ms);
            assert!(rack.efficiency() > 0.95, "{}", rack.efficiency());
        });
    }
}

/// What is lost without a queue on a bad link is no limit's, however much it is.
#[test]
fn a_bad_link_has_no_limit() {
    for (rtt, flows, cc) in [(110, 1, "reno"), (200, 4, "cubic"), (20, 4, "bbr")] {
        println!("{rtt} ms {flows} {cc}");
        both(
            &Case::new(20.0, rtt, 10, 0.2).flows(flows, cc),
            |_, rack| {
                assert_eq!(counted(rack, "limits_found"), 0);
                assert!(rack.efficiency() > 0.9, "{}", rack.efficiency());
            },
        );
    }
}

/// A link with a policer gets worse: what it loses from then on is not the policer's, and C was cut for it to 0.6.
#[test]
fn a_link_that_gets_worse_is_not_kept_to_less() {
    for (burst_ms, flows) in [(50, 1), (200, 4)] {
        both(&policed_fades(burst_ms, flows), |_, rack| {
            assert!(counted(rack, "limits_found") > 0);
            // By what the policer lets pass, of a link of ten times that.
            assert!(rack.efficiency() > 0.08, "{}", rack.efficiency());
        });
    }
}
