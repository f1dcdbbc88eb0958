// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Who sends a little at a time, to receivers of every kind, and what comes back or overtakes.

use super::both;
use crate::mixes::{PIECES, RECEIVERS, carries, detours, moved, pieces};
use crate::report::Report;
use crate::wire::Carries;

/// Each kind of receiver and of pieces with that loss, over a short hop and over one that is half of the way.
fn each(loss: f64, judge: impl Fn(&Report, &Report)) {
    for (receiver, ..) in RECEIVERS {
        for often in PIECES {
            for (rtt, local) in [(110, 10), (40, 20)] {
                println!("{receiver} {often:?} {loss} {rtt} ms");
                both(&pieces(rtt, local, receiver, often, loss), &judge);
            }
        }
    }
}

fn takes_no_longer(none: &Report, rack: &Report) {
    let (none, rack) = (none.chunks_ms().0, rack.chunks_ms().0);
    // Who keeps the ACK of each may be probed that much later than FH repeats everything.
    assert!(rack <= 1.05 * none + 4.0, "{rack} ms for {none}");
}

#[test]
fn pieces_take_no_longer() {
    for loss in [0.01, 0.05] {
        each(loss, takes_no_longer);
    }
}

/// Receivers that keep their ACKs, and do not say what came twice, are not sent everything twice: 3,000 segments of
/// 6,000 went out again, one every 30 ms to somebody who acknowledges every eighth.
#[test]
fn nobody_gets_everything_twice() {
    for loss in [0.0, 0.01] {
        each(loss, |_, rack| {
            let segments = rack.mbit() * 180e6 / 8.0 / 1448.0;
            let twice = rack.twice() as f64;
            assert!(twice <= segments / 5.0 + 20.0, "{twice} of {segments}");
        });
    }
}

/// A delayed ACK that passed for a queue, or a longer way, held calls and answers back for 4 to 40 s in the mean:
/// C came to rest where all that it grants is what MH waits for.
#[test]
fn pieces_are_not_held_back() {
    for (receiver, ..) in RECEIVERS {
        for often in [(1_448, 30), (10_000, 400)] {
            for loss in [0.01, 0.05] {
                println!("{receiver} {often:?} {loss}");
                both(
                    &moved(pieces(110, 10, receiver, often, loss)),
                    takes_no_longer,
                );
            }
        }
    }
    let long = pieces(80, 40, "eighth", (10_000, 400), 0.01);
    let rack = crate::run(&crate::case::Case { seed: 4, ..long }.with_agent());
    assert!(rack.chunks_ms().0 < 100.0, "{:?}", rack.chunks_ms());
}

/// What MH's ACKs carry besides tells FH of no hole that is in hand.
#[test]
fn acks_that_carry_more_tell_no_more() {
    for carried in [Carries::Payload(300), Carries::Option] {
        for cc in ["reno", "cubic"] {
            both(&carries(carried, cc, 0.01), |_, rack| {
                assert!(rack.efficiency() >= 0.98, "{}", rack.efficiency());
                assert!(rack.resent() * 50 <= rack.lost, "{}", rack.line());
            });
        }
    }
}

/// Frames that take longer than others are not repaired over and over, nor is FH told of each.
#[test]
fn what_others_overtake_is_not_lost() {
    for (ms, share) in [(8, 0.02), (15, 0.2)] {
        for cc in ["reno", "cubic", "bbr"] {
            both(&detours(ms, share, cc, 0.01), |_, rack| {
                assert!(rack.efficiency() >= 0.95, "{}", rack.efficiency());
                assert!(rack.repairs * 4 <= rack.lost * 5, "{}", rack.line());
            });
            both(&detours(ms, share, cc, 0.0), |none, rack| {
                assert!(rack.mbit() >= 0.99 * none.mbit());
                assert!(rack.rtt_p95_ms <= 1.1 * none.rtt_p95_ms + 2.0);
            });
        }
    }
}
