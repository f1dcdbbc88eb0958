// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme dproxy (docs/design.md, section 5.11), both ends: a connection over a hop that loses data,
//! requests and repairs.

use std::collections::HashSet;

use lasthop_core::Config;
use lasthop_core::bindings::*;

use crate::ends::Random;
use crate::hop::{Cargo, End, Hop, MSS, Plan};
use crate::hop_trace::{lose_first, lose_on_wire, lose_what};

fn plan(down: bool) -> Plan {
    let config = Config {
        queue_guard: 0,
        ..Config::dproxy()
    };
    Plan {
        down,
        ..Plan::of(config)
    }
}

/// The end that receives the data, and the one that sends them.
fn ends(down: bool) -> (End, End) {
    match down {
        true => (End::Mobile, End::Base),
        false => (End::Base, End::Mobile),
    }
}

/// Whether the receiver got each segment once, in order.
fn in_order(hop: &Hop) -> bool {
    hop.came
        .iter()
        .zip((0..).step_by(MSS as usize))
        .all(|(&came, due)| came == due)
}

/// Segments that came for the first time after a later one had.
fn late(hop: &Hop) -> u64 {
    let (mut seen, mut most, mut late) = (HashSet::new(), 0, 0);
    for &seq in &hop.came {
        late += u64::from(seen.insert(seq) && seq < most);
        most = most.max(seq);
    }
    late
}

/// A burst is repaired within a round trip of the hop, the receiver sees nothing of it, nor does the
/// sender, and no ACK is touched.
#[test]
fn a_burst_is_repaired_unseen() {
    for (down, v6) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut hop = Hop::new(Plan { v6, ..plan(down) });
        let (at, from) = ends(down);
        hop.loses = lose_first(from, &[2_000, 3_000, 4_000]);
        hop.run(1_000);
        assert!(hop.all_came() && in_order(&hop), "{:?}", hop.came);
        assert_eq!(hop.came.len(), 10);
        assert_eq!(hop.lines("tells").len(), 3, "{:#?}", hop.trace);
        assert_eq!(hop.count(from, LH_C_retransmits_asked), 3);
        assert_eq!(hop.count(at, LH_C_waited), hop.count(at, LH_C_sequenced));
        assert_eq!(hop.signs_of_loss(), 0, "{:?}", hop.seen);
        assert_eq!(hop.lines("missing").len(), 0);
        // The round trip, and the three behind the gap.
        assert!(
            hop.came_ms[&4_000] - hop.came_ms[&1_000] <= 16,
            "{:#?}",
            hop.trace
        );
    }
}

/// A request that gets lost shows when a later one is answered.
#[test]
fn a_lost_request_is_told_by_a_later_repair() {
    let mut hop = Hop::new(plan(true));
    let (mut data, mut told) = (lose_first(End::Base, &[2_000, 3_000]), 0);
    hop.loses = Box::new(move |end, cargo, s| {
        told += i32::from(matches!(cargo, Cargo::Told(_)));
        data(end, cargo, s) || (matches!(cargo, Cargo::Told(_)) && told == 1)
    });
    hop.run(1_000);
    assert!(hop.all_came() && in_order(&hop));
    assert_eq!(hop.lines("tells 2000").len(), 2, "{:#?}", hop.trace);
    assert_eq!(hop.count(End::Base, LH_C_retransmits_asked), 2);
    assert!(hop.came_ms[&2_000] - hop.came_ms[&1_000] <= 30);
    assert_eq!(hop.signs_of_loss(), 0, "{:?}", hop.seen);
}

/// What the wire lost the other end does not have: given up, shown to the receiver, repaired by its
/// sender.
#[test]
fn losses_of_the_wire_are_shown() {
    let mut hop = Hop::new(Plan {
        timeout_ns: 500_000_000,
        ..plan(true)
    });
    hop.wire_loses = lose_on_wire(2_000);
    hop.run(3_000);
    assert!(hop.all_came());
    assert!(hop.signs_of_loss() > 0, "{:?}", hop.seen);
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 0);
    assert_eq!(hop.count(End::Mobile, LH_C_holes_given_up), 1);
}

/// A tail: nothing behind it shows that it is missing. With `tail_probe` the base's timer does.
#[test]
fn a_lost_tail_is_the_senders_unless_it_is_probed() {
    for (tail_probe, timer_arm) in [
        (0, LH_TIMER_ALWAYS),
        (1, LH_TIMER_ALWAYS),
        (1, LH_TIMER_AFTER_DUP),
    ] {
        let plan = Plan {
            timeout_ns: 500_000_000,
            ..plan(true)
        };
        let mut hop = Hop::new(plan.with(|config| {
            config.tail_probe = tail_probe;
            config.timer_arm = timer_arm;
        }));
        hop.loses = lose_first(End::Base, &[9_000]);
        hop.run(3_000);
        assert!(hop.all_came());
        let took = hop.came_ms[&9_000] - hop.came_ms[&8_000];
        assert_eq!(took < 200, tail_probe == 1, "{took}");
        assert_eq!(
            hop.count(End::Base, LH_C_retransmits_timer),
            tail_probe.into()
        );
    }
}

/// Without an answer from the other end both let everything pass, and repair nothing.
#[test]
fn alone_an_end_does_nothing() {
    let mut hop = Hop::new(Plan {
        partner: false,
        timeout_ns: 500_000_000,
        ..plan(true)
    });
    hop.loses = lose_first(End::Base, &[2_000]);
    hop.run(3_000);
    assert!(hop.all_came());
    assert!(hop.signs_of_loss() > 0);
    assert_eq!(hop.count(End::Mobile, LH_C_waited), 0);
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 0);
}

/// Random losses of data, ACKs, requests and repairs alike, both directions, both families: the
/// receiver gets everything in order but where its sender had to help, hardly anything twice, and no
/// more repairs go out than losses explain. Afterwards all memory is back.
#[test]
fn random_losses_are_repaired_in_order() {
    for (seed, per_mille) in (0..16).zip([10, 50, 100, 200].into_iter().cycle()) {
        let down = seed / 4 % 2 == 0;
        let mut random = Random(seed + 1);
        let mut hop = Hop::new(Plan {
            segments: 2_000,
            window: 60,
            timestamps: seed % 3 == 0,
            v6: seed % 5 == 0,
            timeout_ns: 300_000_000,
            ..plan(down)
        });
        let lost = lose_what(&mut hop, move |_, _| random.chance(per_mille));
        hop.run(100_000);
        let (at, from) = ends(down);
        let case = format!("seed {seed}, {per_mille} of 1,000");
        assert!(hop.all_came(), "{case}");
        let (repairs, lost) = (hop.count(from, LH_C_local_retransmits), lost.get());
        assert!(repairs <= lost + lost / 4, "{case}: {repairs} for {lost}");
        assert!(repairs * 10 >= lost * 8, "{case}: {repairs} for {lost}");
        let given_up = hop.count(at, LH_C_holes_given_up);
        assert!(
            late(&hop) <= given_up,
            "{case}: {} late, {given_up} given up",
            late(&hop)
        );
        if per_mille <= 50 {
            assert!(given_up <= lost / 10, "{case}: {given_up} of {lost}");
        }
        assert_eq!(hop.agent(at).host().pool().chunks_used(), 0, "{case}");
    }
}
