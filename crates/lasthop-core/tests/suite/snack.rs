// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme snack (docs/design.md, section 5.9): packet traces of a hop with an agent at either end.

use lasthop_core::bindings::*;
use lasthop_core::{Config, MSEC_NS};

use crate::ends::Random;
use crate::hop::{Cargo, End, Hop, Plan};
use crate::hop_trace::{lose_first, lose_on_wire, lose_what};
use crate::rig::{ns, rig_with, wire};

const FOUR: &[u32] = &[2_000, 3_000, 4_000, 5_000];

/// What was lost on the hop came to the receiver within so many ms of the first that showed it.
fn repaired_within(hop: &Hop, lost: &[u32], shown_by: u32) -> u64 {
    let last = lost.iter().map(|seq| hop.came_ms[seq]).max();
    last.expect("something was lost") - hop.came_ms[&shown_by]
}

/// As published: of what is missing one ACK tells.
fn published(down: bool) -> Plan {
    let plan = Plan {
        down,
        ..Plan::default()
    };
    plan.with(|config| config.asks = 1)
}

/// Kim and Chung (2007), figure 1, left: from FH to MH. MH's end detects and tells in the first
/// duplicate ACK, the base repairs all four at once, and FH notices nothing.
#[test]
fn four_drops_on_the_way_down_are_repaired_within_a_local_round_trip() {
    let mut hop = Hop::new(published(true));
    hop.loses = lose_first(End::Base, FOUR);
    hop.run(1_000);
    assert!(hop.all_came());
    assert_eq!(repaired_within(&hop, FOUR, 6_000), 10);
    assert_eq!(hop.lines("missing").len(), 1, "{:?}", hop.trace);
    assert!(hop.lines("missing")[0].ends_with("mobile ack 2000 missing 2000-6000"));
    assert_eq!(hop.count(End::Base, LH_C_retransmits_asked), 4);
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 4);
    assert_eq!(hop.lines("base data 7000").len(), 1, "what was not lost");
    assert_eq!(hop.signs_of_loss(), 0, "{:?}", hop.seen);
}

/// The same, right: from MH to FH. The base detects; FH's ACKs are 40 ms away, so that it tells by
/// a message, and the mobile end repairs. The duplicates that FH sends meanwhile end there.
#[test]
fn four_drops_on_the_way_up_are_repaired_within_a_local_round_trip() {
    let mut hop = Hop::new(published(false));
    hop.loses = lose_first(End::Mobile, FOUR);
    hop.run(1_000);
    assert!(hop.all_came());
    // A millisecond more: for so long an ACK might have come by.
    assert_eq!(repaired_within(&hop, FOUR, 6_000), 11);
    assert_eq!(hop.lines("tells").len(), 1, "{:?}", hop.trace);
    assert!(hop.lines("tells")[0].ends_with("base tells 2000-6000"));
    assert_eq!(hop.count(End::Mobile, LH_C_retransmits_asked), 4);
    assert_eq!(hop.count(End::Mobile, LH_C_local_retransmits), 4);
    assert_eq!(hop.signs_of_loss(), 0, "{:?}", hop.seen);
    assert!(hop.count(End::Mobile, LH_C_suppressed_acks) >= 4);
}

/// Figure 3's losses (packets 2 to 4), by what snack makes of them, and over IPv6.
#[test]
fn three_drops_over_ipv6() {
    for down in [true, false] {
        let mut hop = Hop::new(Plan {
            down,
            v6: true,
            ..Plan::default()
        });
        let from = if down { End::Base } else { End::Mobile };
        hop.loses = lose_first(from, &[1_000, 2_000, 3_000]);
        hop.run(1_000);
        assert!(hop.all_came());
        assert!(repaired_within(&hop, &[1_000, 2_000, 3_000], 4_000) <= 11);
        assert_eq!(hop.signs_of_loss(), 0, "{:?} {:#?}", hop.seen, hop.trace);
    }
}

/// Figure 4: data and all ACKs lost. No ACK tells anything, but the base's timer, which needs no
/// duplicate to run, repairs before FH's timeout of 200 ms at least.
#[test]
fn a_lost_tail_is_the_timers_at_the_base() {
    // That no duplicate drove a repair is no reason for it not to run: none does here.
    for timer_arm in [LH_TIMER_ALWAYS, LH_TIMER_AFTER_DUP] {
        let mut hop = Hop::new(Plan::default().with(|config| config.timer_arm = timer_arm));
        let mut down = lose_first(End::Base, &[8_000, 9_000]);
        hop.loses = Box::new(move |end, cargo, s| down(end, cargo, s));
        hop.run(1_000);
        assert!(hop.all_came(), "{:?}", hop.trace);
        assert!(hop.came_ms[&8_000] - hop.came_ms[&7_000] < 200);
        // One after the other: nothing behind the last one shows that it is missing as well.
        assert_eq!(hop.count(End::Base, LH_C_retransmits_timer), 2);
        assert_eq!(hop.signs_of_loss(), 0, "{:?} {:#?}", hop.seen, hop.trace);
    }
}

/// Loses the segment, and the first ACK that tells of it.
fn lose_data_and_request(hop: &mut Hop) {
    let (mut data, mut told) = (lose_first(End::Base, &[2_000]), 0);
    hop.loses = Box::new(move |end, cargo, s| {
        let tells = s.as_ref().is_some_and(|s| s.nr_missing != 0);
        told += i32::from(tells);
        data(end, cargo, s) || (tells && told == 1)
    });
}

/// A request that got lost is repeated when no repair came for twice the usual time.
#[test]
fn a_lost_request_is_repeated() {
    let mut hop = Hop::new(published(true));
    lose_data_and_request(&mut hop);
    hop.run(1_000);
    assert!(hop.all_came());
    let told = [hop.lines("missing").len(), hop.lines("tells").len()];
    assert_eq!(told.iter().sum::<usize>(), 2, "{:?}", hop.trace);
    assert_eq!(hop.count(End::Base, LH_C_retransmits_asked), 1);
    // 40 ms: twice what is assumed as long as no repair was seen.
    assert!(repaired_within(&hop, &[2_000], 3_000) <= 51);
}

/// The next ACK tells of it as well, so that nobody waits for that: what is known one ACK later is
/// repaired, and hidden, one ACK later. The end that hears both repairs once.
#[test]
fn the_next_ack_tells_too() {
    for lost in [false, true] {
        let mut hop = Hop::new(Plan::default());
        hop.loses = lose_first(End::Base, &[2_000]);
        if lost {
            lose_data_and_request(&mut hop);
        }
        hop.run(1_000);
        assert!(hop.all_came());
        assert_eq!(hop.lines("missing 2000-3000").len(), 2, "{:?}", hop.trace);
        assert_eq!(hop.lines("tells").len(), 0, "{:?}", hop.trace);
        assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 1);
        assert!(repaired_within(&hop, &[2_000], 3_000) <= 11);
        assert_eq!(hop.signs_of_loss(), 0, "{:?}", hop.seen);
    }
}

/// What is told again goes along with what is new, in a message where both have no room in an ACK.
#[test]
fn what_is_new_is_told_beside_what_is_told_again() {
    let mut hop = Hop::new(Plan {
        timestamps: true,
        ..Plan::default()
    });
    hop.loses = lose_first(End::Base, &[2_000, 4_000]);
    hop.run(1_000);
    assert!(hop.all_came());
    let told: Vec<_> = ["missing 2", "tells"].map(|of| hop.lines(of)).concat();
    assert!(told[0].ends_with("missing 2000-3000"), "{told:?}");
    assert!(told[1].ends_with("tells 2000-3000 4000-5000"), "{told:?}");
    assert!(told[2].ends_with("tells 4000-5000"), "{told:?}");
    assert_eq!(told.len(), 3);
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 2);
    assert_eq!(hop.signs_of_loss(), 0, "{:?}", hop.seen);
}

/// Murray, Koziniec and Dixon (2009): what was asked for later has come, so the earlier request or
/// its repair was lost. It is asked for again at once.
#[test]
fn a_lost_repair_is_told_by_a_later_one() {
    let mut hop = Hop::new(Plan::default());
    let mut gone = 0;
    let mut data = lose_first(End::Base, &[2_000, 3_000]);
    hop.loses = Box::new(move |end, cargo, s| {
        if data(end, cargo, s) {
            return true;
        }
        // Its repair, too.
        let again = end == End::Base && s.as_ref().is_some_and(|s| crate::hop::rel(s.seq) == 2_000);
        gone += i32::from(again);
        again && gone == 1
    });
    hop.run(1_000);
    assert!(hop.all_came());
    assert_eq!(
        hop.count(End::Base, LH_C_retransmits_asked),
        3,
        "{:#?}",
        hop.trace
    );
    assert!(
        repaired_within(&hop, &[2_000], 4_000) <= 22,
        "{:?}",
        hop.trace
    );
}

/// What the wire lost is its sender's: told of or not, nobody here has it, and the sender hears of it.
#[test]
fn losses_of_the_wire_are_shown() {
    for down in [true, false] {
        let mut hop = Hop::new(Plan {
            down,
            timeout_ns: 500_000_000,
            ..Plan::default()
        });
        hop.wire_loses = lose_on_wire(2_000);
        hop.run(3_000);
        assert!(hop.all_came());
        assert!(hop.signs_of_loss() >= 5, "down {down}: {:?}", hop.seen);
        let end = if down { End::Base } else { End::Mobile };
        assert_eq!(hop.count(end, LH_C_suppressed_acks), 0);
        assert_eq!(hop.count(end, LH_C_local_retransmits), 0);
    }
}

/// Loss of the hop and of the wire in one window: the one is hidden, the other is shown.
#[test]
fn losses_of_both_are_told_apart_on_the_way_up() {
    let mut hop = Hop::new(Plan {
        down: false,
        timeout_ns: 500_000_000,
        ..Plan::default()
    });
    hop.loses = lose_first(End::Mobile, &[2_000]);
    hop.wire_loses = lose_on_wire(5_000);
    hop.run(3_000);
    assert!(hop.all_came());
    assert_eq!(hop.shown(2_000).1, 0, "{:?}", hop.seen);
    assert!(hop.shown(5_000).1 > 0, "{:?}", hop.seen);
}

/// Without an answer from the other end the base is `sack`, blocks and all unless they are to be
/// hidden, and the mobile end lets all pass.
#[test]
fn alone_the_base_repairs_and_the_mobile_end_does_not() {
    for (down, sack_mask) in [
        (true, LH_MASK_ON),
        (true, LH_MASK_AUTO),
        (false, LH_MASK_ON),
    ] {
        let plan = Plan {
            down,
            partner: false,
            timeout_ns: 500_000_000,
            ..Plan::default()
        };
        let mut hop = Hop::new(plan.with(|config| config.sack_mask = sack_mask));
        let from = if down { End::Base } else { End::Mobile };
        hop.loses = lose_first(from, FOUR);
        hop.run(5_000);
        assert!(hop.all_came());
        assert_eq!(hop.lines("missing").len() + hop.lines("tells").len(), 0);
        let repairs = hop.count(from, LH_C_local_retransmits);
        assert_eq!(repairs, if down { 4 } else { 0 });
        let hidden = down && sack_mask == LH_MASK_ON;
        assert_eq!(hop.signs_of_loss() == 0, hidden);
    }
}

/// At the mobile end no scheme that goes by ACKs does anything.
#[test]
fn at_the_mobile_end_other_schemes_rest() {
    for config in [
        Config::default(),
        Config::snoop(),
        Config::sack(),
        Config::slack(),
    ] {
        let mut hop = Hop::new(Plan {
            down: false,
            mobile: Some(Config {
                role: LH_ROLE_MOBILE,
                ..config
            }),
            base: None,
            timeout_ns: 500_000_000,
            ..Plan::default()
        });
        hop.loses = lose_first(End::Mobile, FOUR);
        hop.run(5_000);
        assert!(hop.all_came());
        assert_eq!(hop.count(End::Mobile, LH_C_cached_segments), 0);
        assert_eq!(hop.count(End::Mobile, LH_C_local_retransmits), 0);
        assert!(hop.signs_of_loss() > 0);
        assert!(hop.agent(End::Mobile).next_deadline().is_none());
    }
}

/// Timestamps and three blocks fill the header: a message tells in their place.
#[test]
fn a_message_tells_what_has_no_room() {
    let mut hop = Hop::new(Plan {
        timestamps: true,
        segments: 14,
        ..Plan::default()
    });
    const LOST: &[u32] = &[2_000, 4_000, 6_000, 8_000];
    hop.loses = lose_first(End::Base, LOST);
    // The repairs go as well, so that there are four blocks to tell of.
    hop.run(1_000);
    assert!(hop.all_came());
    assert!(!hop.lines("tells").is_empty(), "{:?}", hop.trace);
    assert!(!hop.lines("missing").is_empty(), "{:?}", hop.trace);
    assert_eq!(hop.count(End::Base, LH_C_retransmits_asked), 4);
}

/// Without SACK the duplicates are bare, and the list is all that tells of a burst.
#[test]
fn without_sack_a_burst_is_repaired_at_once_as_well() {
    for down in [true, false] {
        let mut hop = Hop::new(Plan {
            down,
            sack: false,
            ..Plan::default()
        });
        let from = if down { End::Base } else { End::Mobile };
        hop.loses = lose_first(from, FOUR);
        hop.run(1_000);
        assert!(hop.all_came());
        assert!(repaired_within(&hop, FOUR, 6_000) <= 11);
        assert_eq!(hop.signs_of_loss(), 0, "{:?}", hop.seen);
    }
}

/// Nobody wants what is missing of a connection that was reset.
#[test]
fn after_a_reset_nothing_is_told() {
    let mut hop = Hop::new(Plan {
        down: false,
        ..Plan::default()
    });
    hop.loses = lose_first(End::Mobile, &[2_000]);
    hop.resets_at = Some(3_000);
    hop.run(1_000);
    assert_eq!(hop.count(End::Base, LH_C_holes), 1);
    assert_eq!(hop.lines("tells").len(), 0, "{:?}", hop.trace);
    assert!(hop.agent(End::Base).next_deadline().is_none());
}

/// A well-formed lie: one repair per segment and local round trip, `max_local` per segment, and
/// nothing towards FH.
#[test]
fn a_liar_gets_a_repair_per_segment_and_round_trip() {
    let mut hop = Hop::new(Plan {
        segments: 10,
        ..Plan::default()
    });
    hop.loses = Box::new(|end, _, s| {
        end == End::Mobile && s.as_ref().is_some_and(|s| s.payload_bytes == 0)
    });
    hop.run(100); // all is sent, and nothing acknowledged
    let (key, from) = (hop.key(End::Base), crate::hop::FIRST);
    let (mut repairs, start) = (0, hop.now);
    let before = hop.count(End::Base, LH_C_local_retransmits);
    for i in 0..100u64 {
        let at = start + i * 100_000;
        let all = [(from, from.wrapping_add(10_000)), (5, 4), (9, 9)];
        let base = hop.agent_mut(End::Base);
        let out = base.on_partner(&key, &all, at);
        assert!(out.to_fh.is_empty());
        repairs += out.to_mh.len();
    }
    // In 10 ms, as long as the round trip is: each once.
    assert!((1..=10).contains(&repairs), "{repairs}");
    for i in 0..10_000u64 {
        let at = start + 10_000_000 + i * 1_000_000;
        let base = hop.agent_mut(End::Base);
        base.on_partner(&key, &[(from, from.wrapping_add(10_000))], at);
    }
    let all = hop.count(End::Base, LH_C_local_retransmits) - before;
    assert!((10..=100).contains(&all), "{all}");
}

/// A timer that is served late finds more than one call may send: the rest is due a little later, and
/// not at once, again and again. (Found by fuzzing.)
#[test]
fn a_late_timer_leaves_the_rest_to_the_next() {
    let mut rig = rig_with(Config::snack(), true);
    rig.agent.set_partner(Some(10 * MSEC_NS));
    rig.burst(10, 0, 1_000, 12);
    let head_due_ms = rig.deadline().expect("the head's timer");
    // All but the head.
    let list = [(wire(1_000), wire(12_000))];
    let key = rig.key;
    let asked = rig.agent.on_partner(&key, &list, ns(head_due_ms - 1));
    assert_eq!(asked.to_mh.len(), LH_MAX_RETRANSMIT as usize);

    let late_ms = head_due_ms + 2;
    let seen = rig.timer(late_ms);
    assert_eq!(seen.resent, [5_000, 6_000, 7_000, 8_000]);
    let next_ns = rig.agent.next_deadline().expect("the rest");
    assert!(next_ns > ns(late_ms));
    assert_eq!(rig.timer(late_ms + 1).resent, [9_000, 10_000, 11_000, 0]);
}

/// Random losses of data, ACKs, requests and repairs alike, both directions: everything arrives, the
/// sender's help is needed for little, and no repair is for nothing more often than a loss explains.
#[test]
fn random_losses_are_repaired() {
    for (seed, down) in (0..12).zip([true, false].into_iter().cycle()) {
        let mut random = Random(seed + 1);
        let mut hop = Hop::new(Plan {
            down,
            segments: 2_000,
            window: 60,
            timestamps: seed % 3 == 0,
            timeout_ns: 300_000_000,
            ..Plan::default()
        });
        let lost = lose_what(&mut hop, move |cargo, s| {
            assert!(matches!(cargo, Cargo::Told(_)) || s.is_some());
            random.below(20) == 0
        });
        hop.run(100_000);
        assert!(hop.all_came(), "seed {seed}");
        let from = if down { End::Base } else { End::Mobile };
        let repairs = hop.count(from, LH_C_local_retransmits);
        let lost = lost.get();
        assert!(lost > 80, "{lost}");
        assert!(
            repairs * 10 <= lost * 12,
            "seed {seed}: {repairs} repairs for {lost} losses"
        );
        assert!(
            repairs * 10 >= lost * 9,
            "seed {seed}: {repairs} repairs for {lost} losses"
        );
    }
}
