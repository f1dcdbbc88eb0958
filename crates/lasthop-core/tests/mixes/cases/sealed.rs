// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Connections that nobody can brake (MPTCP, TCP-AO), and who is beside them.

use super::both;
use crate::case::Case;
use crate::lane::Discipline;
use crate::mixes::{call, link, sealed};

/// Their repairs hide congestion as well: FH's own copies came twice, and by what MH said of those it took each brake
/// back. Pieces of the call took 3.2 s in the mean behind CoDel, and one in twenty 8.2 s.
#[test]
fn a_call_beside_one_goes_on() {
    for discipline in [Discipline::Fifo, Discipline::Codel] {
        for loss in [0.0, 0.0004, 0.01] {
            println!("{discipline:?} {loss}");
            both(&call(discipline, loss), |none, rack| {
                let (none_ms, ms) = (none.chunks_ms(), rack.chunks_ms());
                assert!(ms.0 <= 1.1 * none_ms.0 + 20.0, "{ms:?} for {none_ms:?}");
                assert!(ms.1 <= 1.1 * none_ms.1 + 40.0, "{ms:?} for {none_ms:?}");
                assert!(rack.mbit() >= 0.95 * none.mbit());
                assert!(rack.twice() < 200, "{}", rack.twice());
            });
        }
    }
}

/// Without a queue their losses are repaired; with one of a quarter of a round trip, of 110 ms, they are what keeps it
/// so short. With any queue one Reno had 0.78 of the bound at 1 %, and four 0.82 at 5 %.
#[test]
fn their_queue_is_no_longer_than_it_has_to_be() {
    for (flows, cc, least) in [(1, "reno", 0.75), (4, "reno", 0.87), (4, "cubic", 0.94)] {
        for loss in [0.01, 0.05] {
            println!("{flows} {cc} {loss}");
            both(&sealed(link(loss).flows(flows, cc)), |_, rack| {
                assert!(rack.efficiency() >= least, "{}", rack.efficiency());
                assert!(rack.rtt_p95_ms <= 150.0, "{} ms", rack.rtt_p95_ms);
            });
        }
    }
}

/// Of four over 40 ms 6,200 segments came twice: 0.83 of the bound.
#[test]
fn bbr_is_no_slower() {
    for (rtt, flows) in [(40, 4), (110, 4), (110, 1)] {
        println!("{rtt} {flows}");
        let case = sealed(Case::new(20.0, rtt, 10, 0.01).flows(flows, "bbr"));
        both(&case, |none, rack| {
            assert!(rack.mbit() >= 0.98 * none.mbit());
            assert!(rack.twice() < 200, "{}", rack.twice());
        });
    }
}
