// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme rack at both ends of a hop (parameter `partner`): downloads are the base's alone, uploads are
//! told of by the base and repaired at the mobile end.

use lasthop_core::Config;
use lasthop_core::bindings::*;

use crate::ends::Random;
use crate::hop::{End, Hop, Plan};
use crate::hop_trace::{lose_first, lose_on_wire, lose_times, lose_what};

const FOUR: &[u32] = &[2_000, 3_000, 4_000, 5_000];

fn pair(down: bool) -> Plan {
    let config = Config {
        partner: LH_PARTNER_ON,
        ..Config::default()
    };
    Plan {
        down,
        timestamps: true,
        timeout_ns: 300_000_000,
        ..Plan::of(config)
    }
}

/// What the base misses the mobile end sends again within a round trip of the hop, and the sender behind it
/// notices nothing.
#[test]
fn an_upload_is_repaired_from_the_mobile_end() {
    for v6 in [false, true] {
        let mut hop = Hop::new(Plan { v6, ..pair(false) });
        hop.loses = lose_first(End::Mobile, FOUR);
        hop.run(1_000);
        assert!(hop.all_came());
        assert_eq!(hop.count(End::Mobile, LH_C_retransmits_asked), 4);
        assert_eq!(hop.count(End::Mobile, LH_C_local_retransmits), 4);
        assert_eq!(hop.signs_of_loss(), 0, "{:?}", hop.seen);
    }
}

/// A duplicate is kept back for as long as three repairs over the hop take, as at the base, and not by the round
/// trip of the path: what is lost three times is not seen.
#[test]
fn an_ack_waits_for_a_third_repair() {
    let mut hop = Hop::new(pair(false));
    hop.loses = lose_times(End::Mobile, 2_000, 3);
    hop.run(1_000);
    assert!(hop.all_came());
    assert_eq!(hop.count(End::Mobile, LH_C_local_retransmits), 3);
    assert_eq!(hop.signs_of_loss(), 0, "{:?} {:#?}", hop.seen, hop.trace);
}

/// Nobody has seen yet how long a repair takes over this hop: by what the agents know of each other's distance
/// each try has its time, and what is lost three times is not seen either.
#[test]
fn over_a_long_hop_each_try_has_its_time() {
    let mut hop = Hop::new(Plan {
        hop_ns: 300_000_000,
        timeout_ns: 4_000_000_000,
        ..pair(false)
    });
    hop.loses = lose_times(End::Mobile, 2_000, 3);
    hop.run(10_000);
    assert!(hop.all_came());
    assert_eq!(hop.count(End::Mobile, LH_C_local_retransmits), 3);
    assert_eq!(hop.count(End::Base, LH_C_holes_given_up), 0);
    assert_eq!(
        hop.count(End::Base, LH_C_told_messages),
        3,
        "{:#?}",
        hop.trace
    );
    assert_eq!(hop.signs_of_loss(), 0, "{:?} {:#?}", hop.seen, hop.trace);
}

/// A download is repaired by `rack`'s own rules: nobody asks for it, and nobody is told of what no one would
/// repair.
#[test]
fn a_download_is_the_bases_alone() {
    let mut hop = Hop::new(pair(true));
    hop.loses = lose_first(End::Base, FOUR);
    hop.run(1_000);
    assert!(hop.all_came());
    assert_eq!(hop.count(End::Base, LH_C_local_retransmits), 4);
    assert_eq!(hop.count(End::Base, LH_C_retransmits_asked), 0);
    assert_eq!(hop.count(End::Mobile, LH_C_local_retransmits), 0);
    assert!(hop.lines("missing").is_empty(), "{:?}", hop.trace);
    assert!(hop.lines("tells").is_empty(), "{:?}", hop.trace);
}

/// Beyond the base losses are a router's, perhaps for lack of room: the sender of an upload sees those.
#[test]
fn losses_of_the_wire_are_shown() {
    let mut hop = Hop::new(pair(false));
    hop.wire_loses = lose_on_wire(2_000);
    hop.run(5_000);
    assert!(hop.all_came());
    assert_eq!(hop.count(End::Mobile, LH_C_local_retransmits), 0);
    assert!(hop.signs_of_loss() > 0);
}

/// Without an answer from there the mobile end leaves all to the sender, and the base is `rack`.
#[test]
fn alone_the_mobile_end_lets_all_pass() {
    for down in [true, false] {
        let mut hop = Hop::new(Plan {
            partner: false,
            ..pair(down)
        });
        let from = if down { End::Base } else { End::Mobile };
        hop.loses = lose_first(from, FOUR);
        hop.run(5_000);
        assert!(hop.all_came());
        let repairs = hop.count(from, LH_C_local_retransmits);
        assert_eq!(repairs, if down { 4 } else { 0 });
        assert!(hop.lines("tells").is_empty() && hop.lines("missing").is_empty());
    }
}

/// Random losses of data, ACKs, requests and repairs alike in an upload: no repair is for nothing more often
/// than a loss explains.
#[test]
fn random_losses_of_uploads_are_repaired() {
    for seed in 0..6 {
        let mut random = Random(seed + 1);
        let mut hop = Hop::new(Plan {
            segments: 2_000,
            window: 60,
            ..pair(false)
        });
        let lost = lose_what(&mut hop, move |_, _| random.below(20) == 0);
        hop.run(100_000);
        assert!(hop.all_came(), "seed {seed}");
        let repairs = hop.count(End::Mobile, LH_C_local_retransmits);
        let lost = lost.get();
        assert!(lost > 80, "{lost}");
        assert!(
            repairs * 10 <= lost * 12 && repairs * 10 >= lost * 9,
            "seed {seed}: {repairs} repairs for {lost} losses"
        );
    }
}
