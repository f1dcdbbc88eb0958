// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme `shadow`: what it counts, and that it does nothing.

use lasthop_core::bindings::*;
use lasthop_core::packet::Tcp;
use lasthop_core::packet::option;
use lasthop_core::{Config, Outcome};

use crate::rig::{LOCAL_MS, Options, Rig, Seen, WIRED_MS, wire};

/// With scheme `shadow` nothing is done about `packet`, whether it is from FH or from MH.
pub fn untouched(config: &Config, packet: &[u8], outcome: &Outcome) {
    if config.policy() & LH_POLICY_SHADOW == 0 {
        return;
    }
    assert!(!outcome.dropped && outcome.to_mh.is_empty() && outcome.to_fh.is_empty());
    assert!(
        outcome
            .passed
            .as_deref()
            .is_none_or(|passed| passed == packet)
    );
    if let Some(actions) = &outcome.actions {
        let touched = (actions.mark_ce, actions.store(), actions.hold);
        assert_eq!(touched, (0, None, 0));
    }
}

/// A connection with SACK that is watched, whose first ten segments have arrived at 200 ms: so much for
/// the round trip.
fn watched() -> Rig {
    let mut rig = Rig::new(&Options {
        sack: true,
        config: Config::shadow(),
        ..Options::default()
    });
    rig.ack(150, 0, &[]);
    sends(&mut rig, 190, 0, 10);
    for n in (2..=10).step_by(2) {
        acks(&mut rig, 199 + n as u64, n * 1_000, &[]);
    }
    rig
}

fn sends(rig: &mut Rig, ms: u64, seq: i64, n: i64) {
    for i in 0..n {
        let outcome = rig.fh_sends(ms + i as u64, rig.segment(seq + i * 1_000, 1_000));
        let actions = outcome.actions.expect("the flow is there");
        assert_eq!(actions.store(), None, "no packet is copied");
    }
}

/// The same, all at one time.
fn burst(rig: &mut Rig, ms: u64, seq: i64, n: i64) {
    for i in 0..n {
        sends(rig, ms, seq + i * 1_000, 1);
    }
}

/// An ACK, of which nothing may come.
fn acks(rig: &mut Rig, ms: u64, ack: i64, sack: &[(i64, i64)]) {
    let nothing = Seen {
        held: false,
        resent: Vec::new(),
        released: 0,
    };
    assert_eq!(rig.ack(ms, ack, sack), nothing);
    assert_eq!(rig.deadline(), None, "no timer runs");
}

fn sums(rig: &Rig) -> lh_shadow_sums {
    rig.flow().raw().shadow.sums
}

/// As `rack` has it repaired with the third of the ACKs, and FH sends it a wired round trip later.
#[test]
fn what_is_sent_again_was_lost() {
    let mut rig = watched();
    sends(&mut rig, 300, 10_000, 5);
    acks(&mut rig, 311, 10_000, &[(11_000, 12_000)]);
    acks(&mut rig, 312, 10_000, &[(11_000, 13_000)]);
    acks(&mut rig, 313, 10_000, &[(11_000, 15_000)]);
    assert_eq!(sums(&rig).lost, 0, "FH has not said so");
    sends(&mut rig, 311 + WIRED_MS, 10_000, 1);
    assert_eq!(sums(&rig).lost, 1);
    assert_eq!((sums(&rig).late_ns + 500_000) / 1_000_000, WIRED_MS);
    acks(&mut rig, 311 + WIRED_MS + LOCAL_MS, 15_000, &[]);
    let sums = sums(&rig);
    assert_eq!((sums.lost, sums.superfluous, sums.mistaken), (1, 0, 0));
    assert_eq!((sums.segs, sums.bytes), (15, 15_000));
}

/// Sent twice in vain: two losses.
#[test]
fn lost_again_counts_again() {
    let mut rig = watched();
    sends(&mut rig, 300, 10_000, 2);
    acks(&mut rig, 311, 10_000, &[(11_000, 12_000)]);
    sends(&mut rig, 400, 10_000, 1);
    sends(&mut rig, 405, 12_000, 1);
    acks(&mut rig, 415, 10_000, &[(11_000, 13_000)]);
    sends(&mut rig, 510, 10_000, 1);
    acks(&mut rig, 520, 13_000, &[]);
    assert_eq!(sums(&rig).lost, 2);
}

/// Nothing behind it tells of it: FH's timeout does, and `rack` would have probed before.
#[test]
fn a_lost_tail_is_a_loss() {
    let mut rig = watched();
    sends(&mut rig, 300, 10_000, 1);
    sends(&mut rig, 600, 10_000, 1);
    acks(&mut rig, 610, 11_000, &[]);
    let sums = sums(&rig);
    assert_eq!((sums.lost, sums.late), (1, 1));
    assert!(
        (150_000_000..300_000_000).contains(&sums.late_ns),
        "{sums:?}"
    );
}

/// Late is not lost, and `rack` would have repaired it for nothing.
#[test]
fn reordering_is_no_loss() {
    let mut rig = watched();
    sends(&mut rig, 300, 10_000, 3);
    acks(&mut rig, 311, 10_000, &[(11_000, 12_000)]);
    acks(&mut rig, 312, 13_000, &[]);
    let sums = sums(&rig);
    assert_eq!((sums.lost, sums.mistaken), (0, 1));
}

/// FH was too quick: the ACK of the first copy comes right behind the second one, and its DSACK later.
#[test]
fn what_was_sent_for_nothing_is_no_loss() {
    let mut rig = watched();
    sends(&mut rig, 300, 10_000, 1);
    sends(&mut rig, 307, 10_000, 1);
    acks(&mut rig, 310, 11_000, &[]);
    assert_eq!((sums(&rig).lost, sums(&rig).superfluous), (0, 1));
    dsack(&mut rig, 317, 11_000, (10_000, 11_000));
    assert_eq!((sums(&rig).lost, sums(&rig).superfluous), (0, 1), "once");
    // The same, where the ACK of the first copy was lost.
    sends(&mut rig, 400, 11_000, 1);
    sends(&mut rig, 700, 11_000, 1);
    dsack(&mut rig, 710, 12_000, (11_000, 12_000));
    assert_eq!((sums(&rig).lost, sums(&rig).superfluous), (0, 2));
}

fn dsack(rig: &mut Rig, ms: u64, ack: i64, (left, right): (i64, i64)) {
    let tcp = Tcp {
        options: option::sack(&[(wire(left), wire(right))]),
        ..rig.pure(ack, &[])
    };
    let seen = rig.mh_sends(ms, tcp);
    assert!(!seen.held && seen.resent.is_empty());
}

/// What never came here was not lost behind us; what came late was not lost at all.
#[test]
fn gaps_from_before_are_told_apart() {
    let mut rig = watched();
    sends(&mut rig, 300, 11_000, 2);
    acks(&mut rig, 311, 10_000, &[(11_000, 13_000)]);
    sends(&mut rig, 400, 10_000, 1);
    acks(&mut rig, 410, 13_000, &[]);
    assert_eq!((sums(&rig).lost, sums(&rig).upstream_lost), (0, 1));
    sends(&mut rig, 500, 14_000, 1);
    sends(&mut rig, 501, 13_000, 1);
    acks(&mut rig, 511, 15_000, &[]);
    assert_eq!((sums(&rig).lost, sums(&rig).upstream_lost), (0, 1));
}

/// Three tries in vain, then MH is there again.
#[test]
fn outages_are_seen() {
    let mut rig = watched();
    sends(&mut rig, 300, 10_000, 1);
    for ms in [600, 1_000, 1_800] {
        sends(&mut rig, ms, 10_000, 1);
    }
    acks(&mut rig, 1_810, 11_000, &[]);
    let sums = sums(&rig);
    assert_eq!((sums.outages, sums.lost), (1, 3));
    assert!(
        (1_200..1_250).contains(&(sums.outage_ns / 1_000_000)),
        "{sums:?}"
    );
}

/// While FH waits for the wired part of its round trip it is not idle; while it has nothing to send it is.
#[test]
fn waiting_for_the_wire_is_no_idleness() {
    let mut rig = watched();
    let before = sums(&rig).busy_ns;
    sends(&mut rig, 209 + WIRED_MS, 10_000, 1);
    acks(&mut rig, 219 + WIRED_MS, 11_000, &[]);
    assert_eq!(
        (sums(&rig).busy_ns - before) / 1_000_000,
        WIRED_MS + LOCAL_MS
    );
    let before = sums(&rig).busy_ns;
    sends(&mut rig, 2_000, 11_000, 1);
    acks(&mut rig, 2_010, 12_000, &[]);
    assert_eq!((sums(&rig).busy_ns - before) / 1_000_000, LOCAL_MS);
    let device = rig.agent.host().watched();
    assert_eq!(device.nr_busy, 0);
    assert_eq!(device.busy_ns, sums(&rig).busy_ns);
}

/// What a connection has shown is not forgotten with it.
#[test]
fn ended_connections_count() {
    let mut rig = watched();
    sends(&mut rig, 300, 10_000, 2);
    acks(&mut rig, 311, 10_000, &[(11_000, 12_000)]);
    sends(&mut rig, 400, 10_000, 1);
    acks(&mut rig, 410, 12_000, &[]);
    let key = rig.key;
    let last = sums(&rig);
    rig.agent.forget(&key, 0);
    let ended = rig.agent.host().watched().ended;
    assert_eq!(ended[LH_SHADOW_SENDER_UNKNOWN as usize], last);
    assert_eq!(last.lost, 1);
}

/// Of a link of a segment per millisecond, before which segments queue.
#[test]
fn trains_tell_the_rate() {
    let mut rig = watched();
    burst(&mut rig, 300, 10_000, 40);
    for i in (2..=40).step_by(2) {
        acks(&mut rig, 309 + i as u64, 10_000 + i * 1_000, &[]);
    }
    sends(&mut rig, 400, 50_000, 2);
    acks(&mut rig, 411, 52_000, &[]);
    let rates = rig.agent.host().watched().rates;
    let places: Vec<usize> = (0..rates.len()).filter(|i| rates[*i] > 0).collect();
    // 10^6 bytes per second lie between 2^19.75 and 2^20.
    assert_eq!(places, [(19 - 13) * 4 + 3], "{rates:?}");
    assert!(rates[places[0]] >= 24_000);
}

/// The end of a burst is lost in the queue that the burst has made, and what tells of it departs when that
/// queue is empty again. FH sends it again.
fn end_of_a_burst_again() -> Rig {
    let mut rig = watched();
    sends(&mut rig, 300, 10_000, 6);
    acks(&mut rig, 330, 12_000, &[]);
    acks(&mut rig, 332, 14_000, &[]);
    sends(&mut rig, 335, 16_000, 2);
    acks(&mut rig, 347, 14_000, &[(16_000, 18_000)]);
    sends(&mut rig, 440, 14_000, 2);
    rig
}

#[test]
fn the_end_of_a_burst_met_its_queue() {
    let mut rig = end_of_a_burst_again();
    acks(&mut rig, 452, 18_000, &[]);
    let sums = sums(&rig);
    assert_eq!((sums.lost, sums.lost_full), (2, 2));
}

/// FH sends the end again, and what answers is the first of both: they are taken back from where they were booked.
#[test]
fn what_met_a_full_queue_is_taken_back_there() {
    let mut rig = end_of_a_burst_again();
    assert_eq!(sums(&rig).lost_full, 2);
    acks(&mut rig, 444, 18_000, &[]);
    let sums = sums(&rig);
    assert_eq!((sums.lost, sums.lost_full, sums.superfluous), (0, 0, 2));
}

/// The same of a receiver that acknowledges each segment, as in a start: its ACKs are prompt, for others had
/// departed right behind what they tell of.
#[test]
fn the_end_of_a_burst_met_its_queue_where_each_is_acknowledged() {
    let mut rig = watched();
    burst(&mut rig, 300, 10_000, 24);
    for i in 1..=20 {
        acks(&mut rig, 310 + i as u64, 10_000 + i * 1_000, &[]);
    }
    let by_queue = rig.agent.host().watched().segs;
    assert!(by_queue[5] >= 4, "16 ms and more: {by_queue:?}");
    sends(&mut rig, 335, 34_000, 2);
    acks(&mut rig, 346, 30_000, &[(34_000, 35_000)]);
    acks(&mut rig, 347, 30_000, &[(34_000, 36_000)]);
    burst(&mut rig, 440, 30_000, 4);
    acks(&mut rig, 452, 36_000, &[]);
    let sums = sums(&rig);
    assert_eq!((sums.lost, sums.lost_full), (4, 4));
}

/// What FH sends again has its queue, too, though no sample is taken by it: another queue than the one
/// before, here, and copies that get lost in it met a long one.
#[test]
fn what_is_sent_again_met_its_own_queue() {
    let mut rig = watched();
    sends(&mut rig, 300, 10_000, 8);
    acks(&mut rig, 316, 10_000, &[(15_000, 17_000)]);
    acks(&mut rig, 317, 10_000, &[(15_000, 18_000)]);
    burst(&mut rig, 400, 10_000, 5);
    acks(&mut rig, 430, 11_000, &[(15_000, 18_000)]);
    acks(&mut rig, 431, 12_000, &[(15_000, 18_000)]);
    acks(&mut rig, 432, 12_000, &[(14_000, 18_000)]);
    burst(&mut rig, 520, 12_000, 2);
    let lost = rig.agent.host().watched().lost;
    assert_eq!(lost.iter().sum::<u64>(), 7, "{lost:?}");
    assert_eq!(lost[5], 2, "{lost:?}");
}
