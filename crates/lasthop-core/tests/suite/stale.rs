// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What was seen before a pause, a reload or another time says nothing of now: each of these was believed for
//! longer than it held.

use lasthop_core::bindings::*;
use lasthop_core::{Config, MSEC_NS, SEC_NS, Segment};

use crate::bench::{Bench, ack_of, answered};
use crate::brake::{MSS, bench, key};
use crate::rack::rig;

/// A flow whose receiver has a place.
pub fn of_a_receiver() -> Bench {
    let mut b = bench(Config::default(), 7);
    answered(&mut b.flow);
    b.host.set_peer(&mut b.flow, &key(1), b.now_ns);
    b
}

/// One of its segments is acknowledged, and its receiver known: 10 ms without a queue, 20 Mbit/s. The time, and its place.
pub fn meets(b: &mut Bench) -> (u64, u32) {
    b.data(MSS, MSS);
    b.now_ns += 10 * MSEC_NS;
    b.ack(2 * MSS);
    let place = b.flow.raw().peer;
    let peer = b.host.peer_mut(place);
    (peer.lmin_now_ns, peer.rate) = (10 * MSEC_NS, 2_500_000);
    (b.now_ns, place)
}

fn data_with_ect(b: &mut Bench, seq: u32) -> bool {
    let segment = Segment {
        seq,
        end: seq + MSS,
        payload_bytes: MSS,
        ecn: 2,
        flags: LH_ACK as u16,
        wscale: LH_WSCALE_NONE as u8,
        ..Segment::default()
    };
    b.segment_from_fh(&segment).mark_ce == 1
}

/// A queue that stood when the last ACK came brings a mark, and none after a pause in which it has drained.
#[test]
fn no_mark_for_a_queue_of_before_a_pause() {
    for (pause_ms, marked) in [(1, true), (1_500, false)] {
        let mut b = of_a_receiver();
        b.flow.raw_mut().flags &= !LH_FLOW_WSCALE; // its window can't be edited
        b.data(MSS, MSS);
        b.now_ns += 10 * MSEC_NS;
        b.ack(2 * MSS);
        let now_ns = b.now_ns;
        let f = b.flow.raw_mut();
        f.queue.recent_ns = [150 * MSEC_NS; 4];
        f.queue.lossy_ns = now_ns;
        let place = f.peer;
        let peer = b.host.peer_mut(place);
        (peer.lossy_ns, peer.lossy_for_ns) = (now_ns, 10 * SEC_NS);
        b.now_ns += pause_ms * MSEC_NS;
        assert_eq!(data_with_ect(&mut b, 2 * MSS), marked, "{pause_ms} ms");
    }
}

/// A recovery by duplicates, as an outage without SACK leaves one, ends for a flow of which blocks have come
/// meanwhile: else nothing that new ACKs deliver would ever be a sample again.
#[test]
fn a_recovery_from_before_the_first_block_ends() {
    let mut b = bench(Config::default(), 7);
    b.flow.raw_mut().flags |= LH_FLOW_RECOVERY | LH_FLOW_SACK_SEEN;
    b.flow.raw_mut().recovery.point = 3 * MSS;
    for n in 1..5 {
        b.data(n * MSS, MSS);
    }
    b.now_ns += 10 * MSEC_NS;
    b.segment_from_mh(&ack_of(2 * MSS, &[]));
    assert_ne!(b.flow.raw().flags & LH_FLOW_RECOVERY, 0);
    b.segment_from_mh(&ack_of(4 * MSS, &[]));
    assert_eq!(b.flow.raw().flags & LH_FLOW_RECOVERY, 0);
}

/// Patience with reordering begins anew with what comes late after more than 10 s in order.
#[test]
fn patience_with_reordering_is_forgotten() {
    let mut rig = rig(true);
    let mut learned = Vec::new();
    for (at, seq) in [(200, 0), (300, 4_000), (400, 8_000), (12_000, 12_000)] {
        rig.burst(at, seq, 1_000, 4);
        rig.ack(at + 12, seq, &[(seq + 1_000, seq + 2_000)]);
        if let Some(due) = rig.deadline().filter(|&due| due < at + 20) {
            rig.timer(due + 1);
        }
        rig.ack(at + 14, seq + 3_000, &[]);
        rig.ack(at + 24, seq + 4_000, &[]);
        learned.push(rig.flow().raw().order.reo_ns);
    }
    // By a quarter of Lmin, which may have become another by a bit.
    assert!(learned[2] > 2 * learned[0], "{learned:?}");
    assert!(learned[3] < 2 * learned[0], "{learned:?}");
}

/// So does patience with a receiver whose ACKs come late.
#[test]
fn probes_in_vain_are_forgotten() {
    let mut rig = rig(true);
    let mut vain = Vec::new();
    for (at, seq) in [(200, 0), (400, 3_000), (20_000, 6_000)] {
        rig.burst(at, seq, 1_000, 3);
        let due = rig.deadline().expect("a probe") + 1;
        assert_eq!(rig.timer(due).resent, [seq as u32]);
        rig.ack(due + 11, seq + 3_000, &[(seq, seq + 1_000)]);
        vain.push(rig.flow().raw().recovery.vain);
    }
    assert!(vain[1] > vain[0] && vain[2] == vain[0], "{vain:?}");
}

/// A scheme without brake keeps no account of queues, and does not go by that of the scheme that was there
/// until a reload.
#[test]
fn a_scheme_that_was_another_judges_no_queue() {
    let mut b = of_a_receiver();
    b.config = Config {
        queue_guard: 1,
        ..Config::sack()
    };
    for n in 1..6 {
        b.data(n * MSS, MSS);
    }
    let (place, now_ns) = (b.flow.raw().peer, b.now_ns);
    b.flow.raw_mut().flags |= LH_FLOW_SACK_SEEN;
    b.host.peer_mut(place).above_ns = now_ns - SEC_NS / 2; // as `rack` has left it
    b.now_ns += 10 * MSEC_NS;
    let out = b.segment_from_mh(&ack_of(MSS, &[(2 * MSS, 6 * MSS)]));
    assert_eq!(out.retransmits().len(), 1);
}

/// A bench at a receiver that meets a trial, whose last part begins now and is so long.
fn on_trial(last_ms: u64) -> (Bench, u32) {
    let mut b = of_a_receiver();
    let (now_ns, place) = meets(&mut b);
    let peer = b.host.peer_mut(place);
    (peer.trial_ns, peer.trial_end_ns) = (now_ns, now_ns + last_ms * MSEC_NS);
    (b, place)
}

/// So many segments from @seq on, acknowledged together after a while. @return where the next begins.
fn round(b: &mut Bench, seq: u32, segs: u32, ms: u64) -> u32 {
    for n in 0..segs {
        b.data(seq + n * MSS, MSS);
    }
    b.now_ns += ms * MSEC_NS;
    b.ack(seq + segs * MSS);
    seq + segs * MSS
}

/// A trial in whose last part, or behind which, nothing came is not judged by what comes later.
#[test]
fn a_trial_that_ends_in_a_pause_says_nothing() {
    for (pause_ms, raised) in [(20, true), (1_000, false)] {
        let (mut b, _) = on_trial(120);
        let seq = round(&mut b, 2 * MSS, 2, 60);
        round(&mut b, seq, 2, 60 + pause_ms);
        let count = b.host.counter(LH_C_lmin_raised);
        assert_eq!(count == 1, raised, "{pause_ms} ms");
    }
}

/// C that is as small as it gets can't be halved. Twice of it tells: where that brings half as much again, or more, no
/// queue stood, and the way is as long as it seems.
#[test]
fn twice_the_least_tells_a_longer_way_from_a_queue() {
    for (segs, raised) in [(2, false), (3, true)] {
        let (mut b, place) = on_trial(60);
        let peer = b.host.peer_mut(place);
        (peer.trial, peer.trial_first) = (LH_TRIAL_TWICE as u8, 2 * MSS);
        // What the first of these delivers is where the count of the last part begins.
        let seq = round(&mut b, 2 * MSS, 2, 50);
        round(&mut b, seq, segs, 50);
        let count = b.host.counter(LH_C_lmin_raised);
        assert_eq!(count == 1, raised, "{segs}");
    }
}

/// What the first part of such a trial brought can't be made up for in its last.
#[test]
fn a_trial_whose_first_part_brought_nothing_tells_of_a_queue() {
    let (mut b, place) = on_trial(60);
    b.host.peer_mut(place).trial = LH_TRIAL_TWICE as u8;
    let mut seq = round(&mut b, 2 * MSS, 2, 20);
    // Of a single segment none is a sample of the last part, but each says that time has passed.
    for _ in 0..12 {
        seq = round(&mut b, seq, 1, 1);
    }
    seq = round(&mut b, seq, 20, 20);
    round(&mut b, seq, 20, 30);
    assert_eq!(b.host.peer_mut(place).trial_end_ns, 0, "it is over");
    assert_eq!(b.host.counter(LH_C_lmin_raised), 0);
}
