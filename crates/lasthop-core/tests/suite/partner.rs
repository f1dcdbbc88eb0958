// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whom of the agents at the other end to believe (core/partner.h).

use std::net::IpAddr;

use lasthop_core::bindings::*;
use lasthop_core::message::hello_to;
use lasthop_core::{Message, Missing, Partners};
use proptest::prelude::*;

use super::message::{key, keys};

const SEC: u64 = 1_000_000_000;
const OURS: u64 = 1000;

fn from(n: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, n])
}

/// The agent at the other end, with a table of its own.
struct Other {
    addr: IpAddr,
    partners: Box<Partners>,
    counter: u64,
    /// Its clock is so far ahead of ours.
    ahead_ns: u64,
}

impl Other {
    fn new(n: u8, epoch: u64) -> Self {
        Self {
            addr: from(n),
            partners: Partners::new(epoch),
            counter: 0,
            ahead_ns: 77 * SEC,
        }
    }

    fn next(&mut self) -> Message {
        self.counter += 1;
        let mut m = Message::new(self.addr, self.partners.epoch, LH_STREAM_USER, self.counter);
        m.from.hw = [m.from.addr[3]; 6];
        m
    }

    /// What it says at a time of our clock: an answer, where it has heard us.
    fn hello(&mut self, now_ns: u64) -> Message {
        let there_ns = now_ns + self.ahead_ns;
        let hello = hello_to(self.partners.known().next(), 0, there_ns);
        let mut m = self.next();
        m.put_hello(&hello);
        m.seal(&key(1));
        m
    }

    fn missing(&mut self) -> Message {
        let mut m = self.next();
        assert!(m.put_missing(&Missing::of(
            &lh_flow_key {
                family: 4,
                ..lh_flow_key::default()
            },
            &[(1, 2)]
        )));
        m.seal(&key(1));
        m
    }

    fn hears(&mut self, m: &Message, now_ns: u64) -> u32 {
        take(&mut self.partners, m, now_ns + self.ahead_ns)
    }
}

fn take(partners: &mut Partners, m: &Message, now_ns: u64) -> u32 {
    let mut came = Message::received(&m.wire(), m.from.ip());
    came.from.hw = m.from.hw;
    match came.open(&keys()) {
        LH_OPENED => partners.take(&came, now_ns),
        refused => refused,
    }
}

/// Two that have said hello to each other, at 1 s and 2 s; each way takes 3 ms.
fn met(n: u8, epoch: u64) -> (Other, Other) {
    let (mut we, mut they) = (Other::new(99, OURS), Other::new(n, epoch));
    we.ahead_ns = 0;
    meet(&mut we, &mut they, SEC);
    (we, they)
}

const WAY: u64 = 3_000_000;
/// What a kept second may be off by.
const DOUBT: u64 = (SEC + WAY) / LH_PARTNER_DRIFT as u64;

fn meet(we: &mut Other, they: &mut Other, at: u64) {
    let ours = we.hello(at);
    assert_eq!(they.hears(&ours, at + WAY), LH_OPENED);
    let theirs = they.hello(at + SEC);
    assert_eq!(we.hears(&theirs, at + SEC + WAY), LH_OPENED);
}

#[test]
fn who_answers_is_confirmed_and_measured() {
    let (mut we, mut they) = met(1, 5);
    let known: Vec<_> = we.partners.known().collect();
    assert_eq!(known.len(), 1);
    let partner = known[0];
    assert!(partner.up(2 * SEC + WAY));
    let rtt = 2 * WAY + DOUBT;
    assert_eq!((partner.rtt_min_ns, partner.srtt_ns), (rtt, rtt));
    assert_eq!(partner.at.ip(), from(1));
    assert!(!partner.up(7 * SEC), "it is silent");
    assert_eq!(they.partners.known().next().unwrap().rtt_min_ns, 0);
    let ours = we.hello(2 * SEC + 2 * WAY);
    // A slow way: the least stays.
    they.hears(&ours, 2 * SEC + 5 * WAY);
    let there = they.partners.known().next().unwrap();
    let doubt = 5 * WAY / u64::from(LH_PARTNER_DRIFT);
    assert_eq!(there.rtt_min_ns, 4 * WAY + doubt);
    assert!(there.confirmed == 1);
}

/// A hop that gets longer is not measured for ever by what it was, nor one of a moment by all that
/// came later.
#[test]
fn the_least_round_trip_is_of_the_last_minute() {
    let (mut we, mut they) = met(1, 5);
    let mut at = 3 * SEC;
    let mut meets = |ways: u64, at: u64| {
        let ours = we.hello(at);
        they.hears(&ours, at + WAY);
        let theirs = they.hello(at + SEC);
        we.hears(&theirs, at + SEC + ways * WAY);
        we.partners.known().next().unwrap().rtt_min_ns
    };
    let mut least = Vec::new();
    while at < 70 * SEC {
        least.push(meets(9, at) / WAY);
        at += 2 * SEC;
    }
    assert_eq!(least[..13], [2; 13], "for half a minute");
    assert_eq!(*least.last().unwrap(), 10);
    assert_eq!(meets(1, at) / WAY, 2, "shorter again, at once");
    assert_eq!(
        meets(9, at + 3600 * SEC) / WAY,
        10,
        "it slept, and woke elsewhere"
    );
}

/// The time for which the other end kept our HELLO is by its clock. One that goes faster than ours
/// makes it seem longer than the whole round trip; it is confirmed all the same, and never nearer
/// than it is.
#[test]
fn a_fast_clock_confirms_and_does_not_shorten_the_hop() {
    const NEAR: u64 = 20_000;
    // What is known of one whose clock has gained so much since it heard us.
    let answers = |gained_ns: u64| {
        let (mut we, mut they) = (Other::new(99, OURS), Other::new(1, 5));
        we.ahead_ns = 0;
        let ours = we.hello(SEC);
        they.hears(&ours, SEC + NEAR);
        they.ahead_ns += gained_ns;
        let theirs = they.hello(2 * SEC);
        assert_eq!(we.hears(&theirs, 2 * SEC + NEAR), LH_OPENED);
        let known = we.partners.known().next().unwrap();
        assert_eq!(known.confirmed, 1, "{gained_ns} ns");
        known.rtt_min_ns
    };
    for ppm in [0, 20, 90] {
        let least = answers(SEC * ppm / 1_000_000);
        let right = 2 * NEAR..2 * NEAR + 2 * DOUBT;
        assert!(right.contains(&least), "{ppm} ppm: {least}");
    }
    // Whoever claims more than any clock's error tells nothing of the hop.
    assert_eq!(answers(SEC / 2), 0);
}

#[test]
fn nothing_but_hello_before_the_answer() {
    let (mut we, mut they) = (Other::new(99, OURS), Other::new(1, 5));
    let early = they.missing();
    assert_eq!(we.hears(&early, SEC), LH_OPENED_UNCONFIRMED);
    assert_eq!(we.partners.known().count(), 0, "and it takes no place");
    let hello = they.hello(SEC);
    assert_eq!(we.hears(&hello, SEC), LH_OPENED);
    let still = they.missing();
    assert_eq!(we.hears(&still, SEC), LH_OPENED_UNCONFIRMED);
    meet(&mut we, &mut they, 2 * SEC);
    let now = they.missing();
    assert_eq!(we.hears(&now, 3 * SEC + WAY), LH_OPENED);
    assert_eq!(we.partners.known().next().unwrap().nr_unconfirmed, 1);
}

/// Each counts once; what was overtaken still does, up to the window.
#[test]
fn a_replay_is_refused() {
    let (mut we, mut they) = met(1, 5);
    let at = 2 * SEC + WAY;
    let sent: Vec<Message> = (0..70).map(|_| they.missing()).collect();
    assert_eq!(we.hears(&sent[69], at), LH_OPENED);
    for (i, m) in sent.iter().enumerate().rev().skip(1) {
        let expected = if 69 - i < 64 {
            LH_OPENED
        } else {
            LH_OPENED_REPLAYED
        };
        assert_eq!(we.hears(m, at), expected, "{i}");
    }
    for m in &sent {
        assert_eq!(we.hears(m, at), LH_OPENED_REPLAYED);
    }
    // The programs count for themselves.
    let mut other = they.missing();
    (other.stream, other.counter) = (LH_STREAM_KERNEL as u8, 1);
    other.seal(&key(1));
    assert_eq!(we.hears(&other, at), LH_OPENED);
    assert_eq!(we.hears(&other, at), LH_OPENED_REPLAYED);
}

/// An overtaken HELLO is heard, and has nothing to tell any more.
#[test]
fn an_old_hello_tells_nothing() {
    let (mut we, mut they) = met(1, 5);
    let (old, new) = (they.hello(3 * SEC), they.hello(4 * SEC));
    assert_eq!(we.hears(&new, 4 * SEC), LH_OPENED);
    let time = we.partners.known().next().unwrap().hello_time_ns;
    assert_eq!(we.hears(&old, 4 * SEC), LH_OPENED);
    assert_eq!(we.partners.known().next().unwrap().hello_time_ns, time);
}

#[test]
fn an_earlier_life_is_refused() {
    let (mut we, mut they) = met(1, 5);
    let recorded = they.hello(2 * SEC + WAY);
    let mut later = Other::new(1, 6);
    meet(&mut we, &mut later, 3 * SEC);
    assert_eq!(we.partners.known().count(), 1, "the earlier life is over");
    assert_eq!(we.hears(&recorded, 4 * SEC + 2 * WAY), LH_OPENED_REPLAYED);
    let again = they.hello(5 * SEC);
    assert_eq!(we.hears(&again, 5 * SEC), LH_OPENED_REPLAYED);
    assert_eq!(we.partners.known().next().unwrap().epoch, 6);
}

/// An earlier life that was heard by IPv6 only comes to the address at which a later one is known.
#[test]
fn an_earlier_life_at_another_address_ends_no_later_one() {
    let (mut we, mut earlier) = (Other::new(99, OURS), Other::new(1, 5));
    we.ahead_ns = 0;
    earlier.addr = "fe80::1".parse().unwrap();
    let hello = earlier.hello(SEC);
    assert_eq!(we.hears(&hello, SEC), LH_OPENED);
    let mut later = Other::new(1, 6);
    meet(&mut we, &mut later, 2 * SEC);
    let ours = we.hello(8 * SEC);
    assert_eq!(earlier.hears(&ours, 8 * SEC), LH_OPENED);
    earlier.addr = from(1);
    let hello = earlier.hello(9 * SEC);
    assert_eq!(we.hears(&hello, 9 * SEC), LH_OPENED);
    assert!(
        we.partners
            .known()
            .any(|p| p.epoch == 6 && p.confirmed == 1)
    );
}

/// An agent that restarts with an earlier clock (a router that has none of its own to go on by) is heard once its
/// life before is silent; a recording of an earlier life is not, while that one is.
#[test]
fn who_restarts_with_an_earlier_clock_is_heard_soon() {
    let (mut we, mut later) = met(1, 6);
    let mut they = Other::new(1, 5);
    let hello = they.hello(3 * SEC);
    assert_eq!(we.hears(&hello, 3 * SEC), LH_OPENED_REPLAYED);
    let mut at = 4 * SEC;
    while !we.partners.known().any(|p| p.epoch == 5 && p.up(at)) {
        assert!(at < 10 * SEC, "for a minute nobody listened");
        let now = we.partners.known().find(|p| p.epoch == 5);
        let ours = hello_to(now, 0, at);
        let mut m = we.next();
        m.put_hello(&ours);
        m.seal(&key(1));
        they.hears(&m, at + WAY);
        let theirs = they.hello(at + SEC);
        we.hears(&theirs, at + SEC + WAY);
        at += SEC;
    }
    let missing = they.missing();
    assert_eq!(we.hears(&missing, at + WAY), LH_OPENED);
    // What of the life before comes late changes nothing.
    let late = later.hello(at);
    we.hears(&late, at + WAY);
    let missing = they.missing();
    assert_eq!(we.hears(&missing, at + 2 * WAY), LH_OPENED);
}

/// A HELLO that answers one which we have not sent yet confirms nobody.
#[test]
fn an_answer_from_the_future_confirms_nobody() {
    let (mut we, mut they) = (Other::new(99, OURS), Other::new(1, 5));
    let mut hello = hello_to(None, 0, 1);
    (hello.echo_epoch, hello.echo_time_ns) = (OURS, 9 * SEC);
    let mut m = they.next();
    m.put_hello(&hello);
    m.seal(&key(1));
    we.ahead_ns = 0;
    assert_eq!(we.hears(&m, SEC), LH_OPENED);
    let partner = we.partners.known().next().unwrap();
    assert!(!partner.up(SEC));
    assert_eq!(partner.rtt_min_ns, 0);
}

/// What has not answered in the name of somebody who has is nobody.
#[test]
fn who_answers_ends_a_later_life_that_has_not() {
    let (mut we, mut earlier) = (Other::new(99, OURS), Other::new(1, 5));
    we.ahead_ns = 0;
    earlier.addr = "fe80::1".parse().unwrap();
    let hello = earlier.hello(SEC);
    assert_eq!(we.hears(&hello, SEC), LH_OPENED);
    let hello = Other::new(1, 6).hello(4 * SEC);
    assert_eq!(we.hears(&hello, 4 * SEC), LH_OPENED);
    assert_eq!(we.partners.known().count(), 2);
    earlier.addr = from(1);
    let ours = we.hello(5 * SEC);
    assert_eq!(earlier.hears(&ours, 5 * SEC), LH_OPENED);
    let hello = earlier.hello(6 * SEC);
    assert_eq!(we.hears(&hello, 6 * SEC), LH_OPENED);
    let known: Vec<_> = we.partners.known().map(|p| p.epoch).collect();
    assert_eq!(known, [5]);
}

/// Recorded in a life of ours before: right MAC, and nothing that answers us now.
#[test]
fn a_recording_confirms_nobody() {
    let (mut we, mut they) = met(1, 5);
    let recorded = [they.hello(3 * SEC), they.missing()];
    // We start anew, our clock as well.
    we.partners = Partners::new(OURS + 1);
    assert_eq!(we.hears(&recorded[0], 2 * SEC), LH_OPENED);
    assert_eq!(we.hears(&recorded[1], 2 * SEC), LH_OPENED_UNCONFIRMED);
    let known = we.partners.known().next().unwrap();
    assert_eq!((known.confirmed, known.rtt_min_ns), (0, 0));
    // And of this life, when all is forgotten: too old.
    let (mut we, mut they) = met(1, 5);
    let recorded = they.hello(3 * SEC);
    we.partners.partner[0] = lh_partner::default();
    assert_eq!(we.hears(&recorded, 12 * SEC), LH_OPENED);
    assert_eq!(we.partners.known().next().unwrap().confirmed, 0);
}

/// A recording can't keep the real one out, nor take its place.
#[test]
fn a_later_life_that_does_not_answer_moves_nobody() {
    let mut future = Other::new(1, u64::MAX);
    let recorded = future.hello(SEC);
    let (mut we, mut they) = met(1, 5);
    assert_eq!(we.hears(&recorded, 3 * SEC), LH_OPENED);
    let now = they.missing();
    assert_eq!(we.hears(&now, 3 * SEC), LH_OPENED);
    // Where it was first, for as long as it is heard.
    let (mut we, mut they) = (Other::new(99, OURS), Other::new(1, 5));
    assert_eq!(we.hears(&recorded, SEC), LH_OPENED);
    let hello = they.hello(2 * SEC);
    assert_eq!(we.hears(&hello, 2 * SEC), LH_OPENED_REPLAYED);
    assert_eq!(we.hears(&recorded, 4 * SEC), LH_OPENED_REPLAYED);
    meet(&mut we, &mut they, 6 * SEC);
    assert_eq!(we.partners.known().filter(|p| p.confirmed == 1).count(), 1);
}

#[test]
fn our_own_message_is_none() {
    let mut we = Other::new(99, OURS);
    let own = we.hello(SEC);
    assert_eq!(we.hears(&own, SEC), LH_OPENED_OWN);
    assert_eq!(we.partners.known().count(), 0);
}

#[test]
fn so_many_and_no_more() {
    let (mut we, mut they) = met(1, 5);
    let mut at = 3 * SEC;
    let mut send = |we: &mut Other, at: u64| {
        let m = they.missing();
        we.hears(&m, at)
    };
    for i in 0..LH_PARTNER_BURST {
        assert_eq!(send(&mut we, at), LH_OPENED, "{i}");
    }
    assert_eq!(send(&mut we, at), LH_OPENED_LIMITED);
    let mut accepted = 0;
    for _ in 0..10_000 {
        at += SEC / 10_000;
        accepted += u32::from(send(&mut we, at) == LH_OPENED);
    }
    assert_eq!(accepted, LH_PARTNER_RATE);
    assert_eq!(we.partners.known().next().unwrap().nr_limited, 9001);
}

/// The link lives by HELLO, however much else there is.
#[test]
fn hello_is_heard_beside_too_many_lists() {
    let (mut we, mut they) = met(1, 5);
    let at = 3 * SEC;
    for _ in 0..2 * LH_PARTNER_BURST {
        let m = they.missing();
        we.hears(&m, at);
    }
    let list = they.missing();
    assert_eq!(we.hears(&list, at), LH_OPENED_LIMITED);
    let hello = they.hello(at);
    assert_eq!(we.hears(&hello, at), LH_OPENED);
}

/// 64 places, each with its sender: one more finds none until one has been silent for a minute, or
/// never answered.
#[test]
fn places_are_few() {
    let mut we = Other::new(99, OURS);
    for n in 0..64 {
        let mut they = Other::new(n, 5 + u64::from(n));
        meet(&mut we, &mut they, SEC);
    }
    let mut one = Other::new(200, 500);
    let hello = one.hello(3 * SEC);
    assert_eq!(we.hears(&hello, 3 * SEC), LH_OPENED_FULL);
    let hello = one.hello(63 * SEC);
    assert_eq!(we.hears(&hello, 63 * SEC), LH_OPENED);
    // Unconfirmed: four seconds.
    let mut we = Other::new(99, OURS);
    for n in 0..64 {
        let hello = Other::new(n, 5 + u64::from(n)).hello(SEC);
        assert_eq!(we.hears(&hello, SEC), LH_OPENED);
    }
    let hello = one.hello(3 * SEC);
    assert_eq!(we.hears(&hello, 3 * SEC), LH_OPENED_FULL);
    let hello = one.hello(5 * SEC);
    assert_eq!(we.hears(&hello, 5 * SEC), LH_OPENED);
}

/// One agent, two addresses: it is written to where it was heard first, and else where it is heard.
#[test]
fn an_agent_of_two_families_is_one() {
    let (mut we, mut they) = met(1, 5);
    they.addr = "fe80::1".parse().unwrap();
    let hello = they.hello(3 * SEC);
    assert_eq!(we.hears(&hello, 3 * SEC), LH_OPENED);
    assert_eq!(we.partners.known().count(), 1);
    assert_eq!(we.partners.known().next().unwrap().at.ip(), from(1));
    let hello = they.hello(7 * SEC);
    assert_eq!(we.hears(&hello, 7 * SEC), LH_OPENED);
    assert_eq!(we.partners.known().next().unwrap().at.ip(), they.addr);
}

#[test]
fn who_sends_through_a_frame_is_found() {
    let (mut we, _) = met(1, 5);
    let mut they = Other::new(2, 6);
    meet(&mut we, &mut they, SEC);
    let at = |hw: u8| lh_sender {
        hw: [hw; 6],
        ..lh_sender::default()
    };
    assert_eq!(we.partners.find(&at(1), 2 * SEC), Some(0));
    assert_eq!(we.partners.find(&at(2), 2 * SEC), Some(1));
    assert_eq!(we.partners.find(&at(3), 2 * SEC), None);
    assert_eq!(we.partners.find(&at(1), 9 * SEC), None, "it is silent");
}

/// A key is changed on one side, then on the other: nothing gets lost meanwhile.
#[test]
fn a_key_is_changed_without_a_pause() {
    let (old, new) = (key(1), key(2));
    let steps = [[old, old], [old, new], [new, old], [new, new]];
    for pair in steps.windows(2) {
        let mut m = Message::new(from(1), 5, LH_STREAM_USER, 1);
        m.put_hello(&hello_to(None, 0, 1));
        // One side is a step ahead of the other.
        for (sends, hears) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            m.seal(&sends[0]);
            let mut came = Message::received(&m.wire(), from(1));
            assert_eq!(came.open(&lh_keys::new(&hears)), LH_OPENED);
        }
    }
}

proptest! {
    /// However counters come, each is taken once at most, and the newest always.
    #[test]
    fn no_counter_counts_twice(counters in proptest::collection::vec(1u64..300, 1..400)) {
        let (mut we, mut they) = met(1, 5);
        let (mut taken, mut top) = (std::collections::HashSet::new(), 2);
        for (i, counter) in counters.into_iter().enumerate() {
            they.counter = counter;
            let m = they.missing();
            let opened = we.hears(&m, 3 * SEC + i as u64 * 10_000_000);
            let fresh = m.counter > 1 && !taken.contains(&m.counter);
            let inside = m.counter + 64 > top;
            prop_assert_eq!(opened == LH_OPENED, fresh && inside, "{} after {}", m.counter, top);
            if opened == LH_OPENED {
                taken.insert(m.counter);
                top = top.max(m.counter);
            }
        }
    }

    /// Who has no key changes nothing.
    #[test]
    fn strangers_change_nothing(packets in proptest::collection::vec(
        (proptest::collection::vec(any::<u8>(), 1..240), 0usize..100, any::<bool>()), 1..20)
    ) {
        let (we, mut they) = met(1, 5);
        let before = we.partners.clone();
        for (noise, at, over_real) in packets {
            let mut bytes = if over_real { they.hello(3 * SEC).wire() } else { noise.clone() };
            if let (true, Some(byte)) = (over_real, noise.first()) {
                let at = at % bytes.len();
                bytes[at] ^= byte | 1;
            }
            let mut m = Message::received(&bytes, from(1));
            prop_assert_ne!(m.open(&keys()), LH_OPENED);
        }
        prop_assert_eq!(before, we.partners);
    }
}
