// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme dproxy: what the agent at the hop's other end is asked for and has not, or leaves to FH, it says
//! so (message ABSENT), and nobody waits for it (docs/design.md, section 5.11).

use lasthop_core::bindings::*;
use lasthop_core::{Config, MSEC_NS};

use crate::dproxy::{Down, FIRST, SIZE, dproxy};
use crate::hop::{Cargo, End, Hop, Plan};
use crate::hop_trace::lose_on_wire;
use crate::rig::{Rig, rig_with, wire};

impl Down {
    /// The other end answers: not these. What goes on at that.
    fn absent(&mut self, blocks: &[(u32, u32)]) -> Vec<u32> {
        let at = |seq: u32| FIRST.wrapping_add(seq);
        let list: Vec<_> = blocks.iter().map(|b| (at(b.0), at(b.1))).collect();
        let key = self.key;
        let outcome = self.agent.on_absent(&key, &list, self.now);
        self.look(outcome).on
    }
}

/// What has waited for it goes on at once, in order; what is still missing is waited for.
#[test]
fn nothing_waits_for_what_will_not_come() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    down.comes(4 * SIZE);
    assert_eq!(down.absent(&[(SIZE, 2 * SIZE)]), [2 * SIZE]);
    assert_eq!(down.waiting(), 1);
    assert_eq!(down.count(LH_C_holes_absent), 1);
    assert_eq!(down.count(LH_C_holes_given_up), 1);
    assert_eq!(down.comes(3 * SIZE).on, [3 * SIZE, 4 * SIZE]);
    // FH repairs it: it passes, and is no sample of how long a repair takes.
    down.now += 200 * MSEC_NS;
    let replay_us = down.agent.flow(&down.key).unwrap().raw().arrival.replay_us;
    assert_eq!(down.comes(SIZE).on, [SIZE]);
    let now_us = down.agent.flow(&down.key).unwrap().raw().arrival.replay_us;
    assert_eq!(now_us, replay_us);
    down.at_rest();
}

/// The answer goes by bytes: of a hole as much as it covers from either end, and nothing else.
#[test]
fn an_answer_covers_what_it_names() {
    let hole = |down: &Down| {
        let arrival = &down.agent.flow(&down.key).unwrap().raw().arrival;
        let hole = arrival.hole[0];
        assert_eq!(arrival.nr_holes, 1);
        (
            hole.left.wrapping_sub(FIRST),
            hole.right.wrapping_sub(FIRST),
        )
    };
    for (block, left) in [
        ((SIZE, SIZE + 500), (SIZE + 500, 2 * SIZE)),
        ((0, SIZE + 500), (SIZE + 500, 2 * SIZE)),
        ((SIZE + 500, 2 * SIZE), (SIZE, SIZE + 500)),
        ((SIZE + 500, 9 * SIZE), (SIZE, SIZE + 500)),
        // In the middle of it, beside it, nothing, and the wrong way round.
        ((SIZE + 500, SIZE + 600), (SIZE, 2 * SIZE)),
        ((0, SIZE), (SIZE, 2 * SIZE)),
        ((2 * SIZE, 9 * SIZE), (SIZE, 2 * SIZE)),
        ((SIZE, SIZE), (SIZE, 2 * SIZE)),
        ((2 * SIZE, SIZE), (SIZE, 2 * SIZE)),
    ] {
        let mut down = Down::new(dproxy());
        down.comes(0);
        down.comes(2 * SIZE);
        assert!(down.absent(&[block]).is_empty(), "{block:?}");
        assert_eq!(hole(&down), left, "{block:?}");
        assert_eq!(down.count(LH_C_holes_given_up), 0, "{block:?}");
    }
}

/// All that one message names; what is not missing is no affair of the message's.
#[test]
fn all_that_is_named_is_given_up() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    for n in [2, 4, 6, 8] {
        down.comes(n * SIZE);
    }
    let blocks = [1, 3, 5, 7].map(|n| (n * SIZE, (n + 1) * SIZE));
    assert_eq!(down.absent(&blocks), [2, 4, 6, 8].map(|n| n * SIZE));
    assert_eq!(down.count(LH_C_holes_absent), 4);
    down.at_rest();
    assert!(down.absent(&[(0, 20 * SIZE)]).is_empty());
    assert_eq!(down.comes(9 * SIZE).on, [9 * SIZE]);
    down.at_rest();
}

/// Without a partner it is nobody's word.
#[test]
fn nobody_answers_without_a_partner() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    down.agent.set_partner(None);
    assert!(down.absent(&[(SIZE, 2 * SIZE)]).is_empty());
    assert_eq!(down.count(LH_C_holes_absent), 0);
}

/// A base whose connection has sent segments of 1,000 bytes, all but those that the wire has lost.
fn base(config: Config, lost: &[i64], n: i64) -> Rig {
    let mut rig = rig_with(config, true);
    rig.agent.set_partner(Some(10 * MSEC_NS));
    for i in (0..n).filter(|i| !lost.contains(i)) {
        rig.data(200, 1_000 * i, 1_000);
    }
    rig
}

/// What it answers to a request for these at `ms`: repairs, and what will not come.
fn asks(rig: &mut Rig, ms: u64, blocks: &[(i64, i64)]) -> (usize, Vec<(u32, u32)>) {
    let list: Vec<_> = blocks.iter().map(|b| (wire(b.0), wire(b.1))).collect();
    let key = rig.key;
    let outcome = rig.agent.on_partner(&key, &list, crate::rig::ns(ms));
    let rel = |seq: u32| seq.wrapping_sub(wire(0));
    let absent = outcome.absent.iter().map(|b| (rel(b.0), rel(b.1)));
    (outcome.to_mh.len(), absent.collect())
}

fn config() -> Config {
    Config {
        queue_guard: 0,
        ..Config::dproxy()
    }
}

/// Gaps of the wire are named, runs of them as one, beside the repairs of what the hop has lost.
#[test]
fn the_base_says_what_it_never_had() {
    let mut rig = base(config(), &[1, 2, 6], 9);
    let asked = asks(&mut rig, 300, &[(1_000, 4_000), (6_000, 7_000)]);
    assert_eq!(asked, (1, vec![(1_000, 3_000), (6_000, 7_000)]));
    assert_eq!(rig.count(LH_C_told_absent), 1);
    // What is acknowledged, or was never sent, is not missing.
    rig.ack(301, 2_000, &[]);
    let asked = asks(
        &mut rig,
        302,
        &[(0, 2_000), (2_000, 3_000), (9_000, 99_000)],
    );
    assert_eq!(asked, (0, vec![(2_000, 3_000)]));
    assert_eq!(rig.count(LH_C_told_absent), 2);
}

/// What has just left is on its way, what was sent again as often as may be is not, once the last copy
/// would have come.
#[test]
fn what_is_under_way_is_not_absent() {
    let mut rig = base(
        Config {
            max_local: 2,
            ..config()
        },
        &[],
        3,
    );
    let mut ask = |ms| asks(&mut rig, ms, &[(1_000, 2_000)]);
    assert_eq!(ask(201), (0, vec![]), "it has just left");
    assert_eq!(ask(220), (1, vec![]));
    assert_eq!(ask(221), (0, vec![]), "so has the repair");
    assert_eq!(ask(240), (1, vec![]));
    assert_eq!(ask(241), (0, vec![]));
    assert_eq!(ask(260), (0, vec![(1_000, 2_000)]));
}

/// Only who can heed it gets it: an agent of a scheme that waits for nothing doesn't.
#[test]
fn who_waits_for_nothing_is_told_nothing() {
    let snack = Config {
        queue_guard: 0,
        ..Config::snack()
    };
    let mut rig = base(snack, &[1], 3);
    assert_eq!(asks(&mut rig, 300, &[(1_000, 2_000)]), (0, vec![]));
    assert_eq!(rig.count(LH_C_told_absent), 0);
}

/// Answers share what messages there are: who asks for nothing but what is not here gets an answer to
/// each of the first, and the rest wait for the next tenth of a second.
#[test]
fn answers_are_counted_with_the_other_messages() {
    let mut rig = base(config(), &[1], 3);
    let mut answered = 0;
    for _ in 0..1_000 {
        answered += asks(&mut rig, 350, &[(1_000, 2_000)]).1.len();
    }
    assert!((80..100).contains(&answered), "{answered}");
    assert_eq!(asks(&mut rig, 550, &[(1_000, 2_000)]).1.len(), 1);
}

/// Over a hop: a loss of the wire is shown to the receiver a round trip of the hop after it was noticed,
/// and a lost answer costs what it cost before there were any.
#[test]
fn a_loss_of_the_wire_costs_a_round_trip_of_the_hop() {
    for (answer_lost, least_ms, most_ms) in [(false, 0, 15), (true, 60, 160)] {
        let mut hop = Hop::new(Plan {
            timeout_ns: 500_000_000,
            ..Plan::of(config())
        });
        hop.wire_loses = lose_on_wire(2_000);
        hop.loses = Box::new(move |_, cargo, _| answer_lost && matches!(cargo, Cargo::Absent(_)));
        hop.run(3_000);
        assert!(hop.all_came());
        assert!(hop.signs_of_loss() > 0, "{:?}", hop.seen);
        assert!(
            !hop.lines("has not 2000-3000").is_empty(),
            "{:#?}",
            hop.trace
        );
        let waited = hop.came_ms[&3_000] - hop.came_ms[&1_000];
        assert!(
            (least_ms..=most_ms).contains(&waited),
            "{waited}: {:#?}",
            hop.trace
        );
        assert_eq!(hop.count(End::Mobile, LH_C_holes_given_up), 1);
        assert_eq!(
            hop.count(End::Mobile, LH_C_holes_absent),
            u64::from(!answer_lost)
        );
    }
}
