// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme csnoop (docs/design.md, section 5.10): packet traces of a hop whose MACs report what they
//! delivered and what they gave up.

use std::cell::Cell;
use std::rc::Rc;

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp};
use lasthop_core::{Config, MSEC_NS, parse};

use crate::ends::Random;
use crate::hop::{End, FIRST, HOP_NS, Hop, Plan, rel};
use crate::hop_trace::{lose_first, lose_on_wire, lose_times, lose_what};

/// An agent at the sender's end alone, or at both.
fn plan(down: bool, both: bool) -> Plan {
    let ends = Plan::of(Config::csnoop());
    Plan {
        down,
        base: ends.base.filter(|_| down || both),
        mobile: ends.mobile.filter(|_| !down || both),
        partner: false,
        mac: true,
        ..ends
    }
}

fn sender(down: bool) -> End {
    if down { End::Base } else { End::Mobile }
}

/// Kim and Chung (2007), figure 3: packets 2 to 4 are dropped. The next that is delivered brings all
/// three, before any duplicate has come back, and the sender notices nothing; down and up.
#[test]
fn what_was_given_up_goes_out_with_the_next_delivery() {
    for (down, both, v6) in [
        (true, false, false),
        (true, true, true),
        (false, false, true),
        (false, true, false),
    ] {
        let mut hop = Hop::new(Plan {
            v6,
            ..plan(down, both)
        });
        let lost = &[1_000, 2_000, 3_000];
        hop.loses = lose_first(sender(down), lost);
        hop.run(1_000);
        assert!(hop.all_came());
        assert_eq!(hop.count(sender(down), LH_C_retransmits_mac), 3);
        assert_eq!(hop.count(sender(down), LH_C_local_retransmits), 3);
        // 4,000 is delivered when its answer comes; the repairs take as long as any.
        let first = hop.came_ms[&4_000];
        for seq in lost {
            assert_eq!(hop.came_ms[seq] - first, HOP_NS / MSEC_NS, "{seq}");
        }
        assert_eq!(hop.signs_of_loss(), 0, "{:?} {:#?}", hop.seen, hop.trace);
    }
}

/// Figure 1: four drops in a row, as `snack` has them: within one local round trip.
#[test]
fn four_drops_in_a_row_within_a_local_round_trip() {
    for down in [true, false] {
        let mut hop = Hop::new(plan(down, true));
        let four = &[2_000, 3_000, 4_000, 5_000];
        hop.loses = lose_first(sender(down), four);
        hop.run(1_000);
        assert!(hop.all_came());
        let last = four.iter().map(|seq| hop.came_ms[seq]).max().unwrap();
        assert!(last - hop.came_ms[&6_000] <= 2 * HOP_NS / MSEC_NS);
        assert_eq!(hop.count(sender(down), LH_C_local_retransmits), 4);
        assert_eq!(hop.signs_of_loss(), 0, "{:?} {:#?}", hop.seen, hop.trace);
    }
}

/// Figure 4: nothing follows the lost ones, so that no delivery shows that the link carries: the
/// timer. No duplicate has to come for it to run, and the sender's timeout is far.
#[test]
fn a_lost_tail_is_the_timers() {
    for down in [true, false] {
        let mut hop = Hop::new(plan(down, false));
        hop.loses = lose_first(sender(down), &[8_000, 9_000]);
        hop.run(1_000);
        assert!(hop.all_came(), "{:?}", hop.trace);
        // SW + 4 RW of a hop that takes 5 ms, whose deviation falls from 2.5 ms.
        let after = hop.came_ms[&9_000] - hop.came_ms[&7_000];
        assert!((10..=30).contains(&after), "{after} ms");
        assert_eq!(hop.count(sender(down), LH_C_retransmits_mac), 2);
        assert_eq!(hop.signs_of_loss(), 0, "{:?} {:#?}", hop.seen, hop.trace);
    }
}

/// Figure 6: data and all ACKs of a window are lost. ACKs have no part in it: what was given up is
/// repaired while none comes.
#[test]
fn lost_acks_do_no_harm() {
    let mut hop = Hop::new(plan(true, false));
    let mut data = lose_first(End::Base, &[1_000, 2_000, 3_000]);
    let mut acks = 0;
    hop.loses = Box::new(move |end, cargo, s| {
        let ack = end == End::Mobile && s.as_ref().is_some_and(|s| s.payload_bytes == 0);
        acks += i32::from(ack);
        data(end, cargo, s) || (ack && acks <= 9)
    });
    hop.run(1_000);
    assert_eq!(hop.came_ms.len(), 10, "{:#?}", hop.trace);
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 3);
    let (first, last) = (hop.came_ms.values().min(), hop.came_ms.values().max());
    assert!(last.unwrap() - first.unwrap() < 15, "{:?}", hop.came_ms);
}

/// All ACKs of a window are lost: what the MAC has delivered asks for another at the local timeout.
/// Not where no MAC delivered it, nor at the mobile end, whose timer knows no path; not as published.
#[test]
fn what_arrived_and_is_not_answered_asks_again() {
    let answered = |down, probe, unreported, timer_arm| {
        let plan = Plan {
            timeout_ns: 3_000_000_000,
            ..plan(down, false)
        };
        let mut hop = Hop::new(plan.with(|config| {
            config.probe = probe;
            config.timer_arm = timer_arm;
        }));
        let mut acks = 0;
        hop.loses = Box::new(move |end, _, s| {
            let ack = end != sender(down) && s.as_ref().is_some_and(|s| s.payload_bytes == 0);
            acks += i32::from(ack);
            ack && acks <= 10
        });
        hop.unreported = Box::new(move |s| unreported && s.payload_bytes != 0);
        hop.run(1_000);
        assert_eq!(hop.came_ms.len(), 10, "{:#?}", hop.trace);
        let probes = hop.count(sender(down), LH_C_retransmits_timer);
        assert_eq!(hop.count(sender(down), LH_C_local_retransmits), probes);
        let all = hop.seen.last().is_some_and(|(ack, _)| *ack == 10_000);
        (all, probes)
    };
    for timer_arm in [LH_TIMER_ALWAYS, LH_TIMER_AFTER_DUP] {
        assert_eq!(answered(true, 1, false, timer_arm), (true, 1));
        assert_eq!(answered(true, 0, false, timer_arm), (false, 0));
        assert_eq!(answered(true, 1, true, timer_arm), (false, 0));
        assert_eq!(answered(false, 1, false, timer_arm), (false, 0));
    }
}

/// A repair that is given up as well is repaired again.
#[test]
fn repairs_are_repaired() {
    let mut hop = Hop::new(plan(true, false));
    hop.loses = lose_times(End::Base, 2_000, 4);
    hop.run(1_000);
    assert!(hop.all_came(), "{:#?}", hop.trace);
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 4);
    assert_eq!(hop.count(End::Base, LH_C_mac_given_up), 4);
}

/// `max_local` tries per segment; then it is the sender's, and it gets to see its duplicates.
#[test]
fn after_the_last_try_it_is_the_senders() {
    let mut hop = Hop::new(Plan {
        timeout_ns: 2_000_000_000,
        ..plan(true, false)
    });
    let copies = Rc::new(Cell::new(0));
    let count = copies.clone();
    hop.loses = Box::new(move |end, _, s| {
        let it = end == End::Base && s.as_ref().is_some_and(|s| rel(s.seq) == 2_000);
        count.set(count.get() + i32::from(it));
        it && count.get() <= 11
    });
    hop.run(5_000);
    assert!(hop.all_came(), "{:#?}", hop.trace);
    assert!(copies.get() >= 12, "the sender's own");
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 10);
    assert_eq!(hop.count(End::Base, LH_C_exhausted_segments), 1);
    assert!(hop.signs_of_loss() > 0);
}

/// What the wire lost no MAC reports: the sender hears of it at once, and nothing is repaired.
#[test]
fn losses_of_the_wire_are_shown() {
    for down in [true, false] {
        let mut hop = Hop::new(Plan {
            timeout_ns: 500_000_000,
            ..plan(down, true)
        });
        hop.wire_loses = lose_on_wire(2_000);
        hop.run(3_000);
        assert!(hop.all_came());
        assert!(hop.signs_of_loss() >= 5, "down {down}: {:?}", hop.seen);
        assert_eq!(hop.count(sender(down), LH_C_suppressed_acks), 0);
        assert_eq!(hop.count(sender(down), LH_C_local_retransmits), 0);
    }
}

/// Loss of the hop and of the wire in one window. On the way up the one is hidden and the other is
/// shown; on the way down the wire's is behind the hop's, and FH has to see it in any case.
#[test]
fn losses_of_both_are_told_apart() {
    for down in [true, false] {
        let mut hop = Hop::new(Plan {
            timeout_ns: 500_000_000,
            ..plan(down, false)
        });
        hop.loses = lose_first(sender(down), &[2_000]);
        hop.wire_loses = lose_on_wire(5_000);
        hop.run(3_000);
        assert!(hop.all_came());
        assert!(down || hop.shown(2_000).0 <= 1, "{:?}", hop.seen);
        assert!(hop.shown(5_000).0 > 1, "{:?}", hop.seen);
        assert_eq!(hop.count(sender(down), LH_C_local_retransmits), 1);
    }
}

/// Given up, repaired, delivered, and then lost on the wire: what was the hop's is FH's now, and no
/// later than the repair's answer would have come.
#[test]
fn a_repair_that_the_wire_lost_is_the_senders() {
    let mut hop = Hop::new(Plan {
        segments: 200,
        timeout_ns: 2_000_000_000,
        ..plan(false, false)
    });
    hop.loses = lose_first(End::Mobile, &[50_000]);
    hop.wire_loses = lose_on_wire(50_000);
    hop.run(1_500);
    assert_eq!(hop.count(End::Mobile, LH_C_retransmits_mac), 1);
    assert!(hop.shown(50_000).1 > 0, "{:?}", hop.seen);
}

/// Two holes, both in hand: the ACK that the first repair brings shows FH nothing of the second.
#[test]
fn blocks_of_what_is_repaired_are_hidden_by_default() {
    let signs = |down, mask| {
        let mut hop = Hop::new(plan(down, false).with(|config| config.sack_mask = mask));
        hop.loses = lose_first(sender(down), &[2_000, 5_000]);
        hop.run(300);
        assert!(hop.all_came());
        hop.signs_of_loss()
    };
    for down in [true, false] {
        assert_eq!(signs(down, Config::default().sack_mask), 0);
        assert!(signs(down, LH_MASK_OFF) > 0);
    }
}

/// A hole that nobody reported is shown although the blocks of others are hidden (`sack_mask`).
#[test]
fn blocks_of_what_was_not_reported_pass() {
    let mut hop = Hop::new(Plan {
        timeout_ns: 500_000_000,
        segments: 10,
        ..plan(true, false)
    });
    hop.loses = lose_first(End::Base, &[2_000, 5_000]);
    hop.unreported = Box::new(|s| rel(s.seq) == 5_000);
    hop.run(300);
    assert!(hop.shown(5_000).1 > 0, "{:?}", hop.seen);
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 1);
}

/// FH's copy, cut otherwise, is on its way: what was given up before it is not sent beside it.
#[test]
fn a_younger_copy_that_is_cut_otherwise_speaks_for_itself() {
    let Small {
        mut agent,
        first,
        second,
    } = small(Config::csnoop());
    let old = report(LH_MAC_GIVEN_UP, 1_000, 1_010);
    agent.on_mac(&first, first.len(), &old, 1_010 * MSEC_NS);
    let again = Tcp {
        seq: FIRST,
        ack: 1,
        payload: vec![1; 700],
        ..Tcp::default()
    };
    agent.on_egress(&again.to_mh(&Ends::v4(1)), 1_020 * MSEC_NS);
    let done = report(LH_MAC_DELIVERED, 1_001, 1_021);
    let out = agent.on_mac(&second, second.len(), &done, 1_021 * MSEC_NS);
    assert!(out.to_mh.is_empty());
}

/// A source that could not keep up has lost a report: that loss is the sender's, as without an agent.
#[test]
fn what_was_not_reported_is_not_touched() {
    let mut hop = Hop::new(Plan {
        timeout_ns: 500_000_000,
        ..plan(true, false)
    });
    hop.loses = lose_first(End::Base, &[2_000]);
    hop.unreported = Box::new(|s| rel(s.seq) == 2_000);
    hop.run(3_000);
    assert!(hop.all_came());
    assert!(hop.signs_of_loss() >= 5);
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 0);
    assert_eq!(hop.count(End::Base, LH_C_suppressed_acks), 0);
}

/// Random losses of data and ACKs, each end alone and both: a repair for each frame that was lost,
/// none else but a rare one for an ACK that was, and what stays the sender's is what was lost ten
/// times in a row.
#[test]
fn a_repair_per_loss() {
    for (seed, (down, both)) in [(true, false), (true, true), (false, false), (false, true)]
        .into_iter()
        .cycle()
        .take(12)
        .enumerate()
    {
        let mut random = Random(seed as u64 + 1);
        let mut hop = Hop::new(Plan {
            segments: 2_000,
            window: 60,
            timestamps: seed % 3 == 0,
            sack: seed % 5 != 0,
            v6: seed % 2 == 0,
            timeout_ns: 300_000_000,
            ..plan(down, both)
        });
        let lost = lose_what(&mut hop, move |_, _| random.below(20) == 0);
        hop.run(100_000);
        assert!(hop.all_came(), "seed {seed}");
        let from = sender(down);
        let (lost, repairs) = (lost.get(), hop.count(from, LH_C_retransmits_mac));
        assert!(lost > 80, "{lost}");
        let probes = hop.count(from, LH_C_local_retransmits) - repairs;
        assert_eq!(hop.count(from, LH_C_retransmits_timer), probes);
        assert!(probes <= u64::from(down) * lost / 20, "{probes} for ACKs");
        assert!(
            repairs <= lost && repairs * 100 >= lost * 97,
            "seed {seed}: {repairs} repairs for {lost} losses"
        );
    }
}

/// Two segments, of which the MAC may report.
struct Small {
    agent: lasthop_core::Agent,
    first: Vec<u8>,
    second: Vec<u8>,
}

fn small(config: Config) -> Small {
    let ends = Ends::v4(1);
    let mut agent = lasthop_core::Agent::new(lasthop_core::Setup {
        config,
        ..Default::default()
    });
    let data = |seq: u32| {
        Tcp {
            seq,
            ack: 1,
            payload: vec![1; 1_000],
            ..Tcp::default()
        }
        .to_mh(&ends)
    };
    let (first, second) = (data(FIRST), data(FIRST.wrapping_add(1_000)));
    agent.on_egress(&first, 1_000 * MSEC_NS);
    agent.on_egress(&second, 1_001 * MSEC_NS);
    Small {
        agent,
        first,
        second,
    }
}

fn report(event: u32, queued_ms: u64, at_ms: u64) -> lh_mac_report {
    lh_mac_report {
        event,
        queued_ns: queued_ms * MSEC_NS,
        at_ns: at_ms * MSEC_NS,
        pad: 0,
    }
}

/// An attempt that failed is a loss with `undelivered = "attempt"` only.
#[test]
fn attempts_count_where_they_are_to() {
    for (undelivered, repairs) in [(LH_UNDELIVERED_FINAL, 0), (LH_UNDELIVERED_ATTEMPT, 1)] {
        let Small {
            mut agent,
            first,
            second,
        } = small(Config {
            undelivered,
            ..Config::csnoop()
        });
        let failed = report(LH_MAC_UNDELIVERED, 1_000, 1_002);
        agent.on_mac(&first, first.len(), &failed, 1_002 * MSEC_NS);
        let done = report(LH_MAC_DELIVERED, 1_001, 1_003);
        let out = agent.on_mac(&second, second.len(), &done, 1_003 * MSEC_NS);
        assert_eq!(out.to_mh.len(), repairs);
        assert_eq!(agent.counter(LH_C_mac_undelivered), 1);
        assert_eq!(agent.counter(LH_C_mac_delivered), 1);
    }
}

/// A copy was given up, but a younger one is on its way: it has a report of its own.
#[test]
fn a_younger_copy_speaks_for_itself() {
    let Small {
        mut agent,
        first,
        second,
    } = small(Config::csnoop());
    agent.on_egress(&first, 1_200 * MSEC_NS); // the sender's timeout
    let old = report(LH_MAC_GIVEN_UP, 1_000, 1_210);
    agent.on_mac(&first, first.len(), &old, 1_210 * MSEC_NS);
    let done = report(LH_MAC_DELIVERED, 1_001, 1_211);
    let out = agent.on_mac(&second, second.len(), &done, 1_211 * MSEC_NS);
    assert!(out.to_mh.is_empty());
    let young = report(LH_MAC_GIVEN_UP, 1_200, 1_220);
    agent.on_mac(&first, first.len(), &young, 1_220 * MSEC_NS);
    let out = agent.on_mac(&second, second.len(), &done, 1_221 * MSEC_NS);
    assert_eq!(
        out.to_mh.len(),
        1,
        "the sender's copy, too, is the hop's to lose"
    );
}

/// SW + 4 RW from the departures, with gains of 1/8 and 1/4, the mean first.
#[test]
fn the_timer_is_the_papers() {
    let Small {
        mut agent,
        first,
        second,
    } = small(Config::csnoop());
    // W = 8 ms: SW 8, RW 4. Then W = 24 ms: SW 10, RW 4 - 1 + 14 / 4 = 6.5.
    let done = |ms| report(LH_MAC_DELIVERED, 1_001, ms);
    agent.on_mac(&first, first.len(), &done(1_008), 1_008 * MSEC_NS);
    agent.on_mac(&second, second.len(), &done(1_025), 1_025 * MSEC_NS);
    agent.on_egress(
        &Tcp {
            seq: FIRST.wrapping_add(2_000),
            ack: 1,
            payload: vec![1; 1_000],
            ..Tcp::default()
        }
        .to_mh(&Ends::v4(1)),
        1_030 * MSEC_NS,
    );
    let lost = report(LH_MAC_GIVEN_UP, 1_001, 1_040);
    agent.on_mac(&second, second.len(), &lost, 1_040 * MSEC_NS);
    assert_eq!(agent.next_deadline(), Some(1_076 * MSEC_NS));
    assert!(agent.on_timer(1_075 * MSEC_NS).is_empty());
    let repaired = agent.on_timer(1_076 * MSEC_NS);
    assert_eq!(repaired[0].1.to_mh, [second]);
}

/// Reports of what nobody here has sent count, and do nothing.
#[test]
fn strangers_and_nonsense_are_ignored() {
    let Small { mut agent, .. } = small(Config::csnoop());
    let lost = report(LH_MAC_GIVEN_UP, 1, 1_010);
    let of = |ends: &Ends, seq| {
        Tcp {
            seq,
            ack: 1,
            payload: vec![1; 100],
            ..Tcp::default()
        }
        .to_mh(ends)
    };
    let stranger = of(&Ends::v4(2), FIRST);
    agent.on_mac(&stranger, stranger.len(), &lost, 1_010 * MSEC_NS);
    assert_eq!(agent.counter(LH_C_mac_strangers), 1);
    for seq in [
        1u32 << 31,
        FIRST.wrapping_sub(1),
        FIRST.wrapping_add(1 << 30),
    ] {
        let packet = of(&Ends::v4(1), seq);
        agent.on_mac(&packet, packet.len(), &lost, 1_010 * MSEC_NS);
    }
    agent.on_mac(&[0x45; 30], 30, &lost, 1_010 * MSEC_NS);
    agent.on_mac(&[], 0, &lost, 1_010 * MSEC_NS);
    assert_eq!(agent.next_deadline(), None);
    assert!(agent.on_timer(5_000 * MSEC_NS).is_empty());
}

/// What a stranger sends in FH's name goes over the hop as well, and is delivered or given up. It says
/// nothing of FH's segments, whatever part of them it covers.
#[test]
fn frames_that_the_connection_cannot_have_sent_tell_nothing() {
    let Small {
        mut agent, first, ..
    } = small(Config::csnoop());
    let heard = Tcp {
        seq: 1,
        ack: FIRST,
        ..Tcp::default()
    };
    agent.on_ingress(&heard.to_fh(&Ends::v4(1)), 1_002 * MSEC_NS);
    let lost = report(LH_MAC_GIVEN_UP, 1_000, 1_010);
    agent.on_mac(&first, first.len(), &lost, 1_010 * MSEC_NS);
    let forged = Tcp {
        seq: FIRST.wrapping_sub(100),
        ack: 0xdead_0000,
        payload: vec![1; 1_400],
        ..Tcp::default()
    }
    .to_mh(&Ends::v4(1));
    let done = report(LH_MAC_DELIVERED, 1_011, 1_012);
    let out = agent.on_mac(&forged, forged.len(), &done, 1_012 * MSEC_NS);
    assert!(out.to_mh.is_empty());
    agent.on_timer(2_000 * MSEC_NS);
    assert_eq!(agent.counter(LH_C_retransmits_mac), 1, "it waited still");
}

/// Other schemes ask for no reports, and make nothing of them.
#[test]
fn other_schemes_ignore_reports() {
    for config in [Config::default(), Config::snoop(), Config::snack()] {
        let Small {
            mut agent,
            first,
            second,
        } = small(config);
        let lost = report(LH_MAC_GIVEN_UP, 1_000, 1_002);
        agent.on_mac(&first, first.len(), &lost, 1_002 * MSEC_NS);
        let done = report(LH_MAC_DELIVERED, 1_001, 1_003);
        let out = agent.on_mac(&second, second.len(), &done, 1_003 * MSEC_NS);
        assert!(out.to_mh.is_empty());
        assert_eq!(agent.counter(LH_C_mac_given_up), 0);
    }
}

/// What the MAC says of a time that is still to come gives no sample.
#[test]
fn a_report_from_the_future_gives_no_sample() {
    for (at_ms, sampled) in [(1_010, true), (60_000, false)] {
        let Small {
            mut agent, first, ..
        } = small(Config::csnoop());
        let delivered = report(LH_MAC_DELIVERED, 1_000, at_ms);
        agent.on_mac(&first, first.len(), &delivered, 1_010 * MSEC_NS);
        let (_, key) = parse(&first, 0, None, true).expect("TCP");
        let flow = agent.flow(&key).expect("the flow is there");
        assert_eq!(flow.raw().mac.sojourn_ns > 0, sampled);
    }
}
