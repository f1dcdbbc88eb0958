// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whose loss it is, where the queue alone does not tell (core/queue.h).

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Config, MSEC_NS};

use crate::bench::{Bench, answered};
use crate::brake::{Line, MSS, bench, key, stamped, state};
use crate::rack::rig;
use crate::rig::{Options, Rig, WIRED_MS, ns};

/// A connection that nobody can brake if it is `sealed` (MPTCP).
fn guarded(sealed: bool, mh_opens: bool) -> Rig {
    Rig::new(&Options {
        config: Config::default(),
        sack: true,
        mh_opens,
        mh_options: match sealed {
            true => option::other(30, 4),
            false => Vec::new(),
        },
        ..Options::default()
    })
}

/// A queue that has grown within a round trip: nobody knows yet how long it gets.
#[test]
fn in_a_slow_start_the_pattern_decides() {
    let start = |lose: fn(u64) -> bool| {
        let mut rig = rig(true);
        let mut line = Line::new(300, 0);
        line.run(&mut rig, 200, (10, 10), |_| false);
        line.run(&mut rig, 20, (10, 30), |_| false);
        let first = line.sent as u32;
        line.run(&mut rig, 110, (30, 40), lose);
        (rig, line, first)
    };
    let (rig, line, _) = start(|i| i % 2 == 0 && i < 40);
    assert_eq!(line.resent, [], "every other segment: FH's");
    assert!(line.shown > 0 && rig.count(LH_C_overflow_suspected) > 0);
    assert_eq!(state(&rig), LH_CONTROL_FREE);

    let (rig, line, first) = start(|i| i == 10);
    assert_eq!(line.resent.first(), Some(&(first + 10 * MSS)), "one: ours");
    assert_eq!(rig.count(LH_C_overflow_suspected), 0);
    assert_eq!(state(&rig), LH_CONTROL_HELD);
}

/// CoDel drops one segment here and there, too, once a queue has stood for 100 ms: without a
/// loss that came without one nothing tells that it is the link. Of a connection that nobody can brake each is what
/// keeps the queue short.
#[test]
fn where_a_queue_stands_the_first_loss_is_fhs() {
    let start = |queue_ms: u64, lossy: bool, sealed: bool| {
        let mut rig = guarded(sealed, false);
        let mut line = Line::new(300, 0);
        line.run(&mut rig, 200, (10, 10), |i| lossy && i == 20);
        line.run(&mut rig, 200, (queue_ms, queue_ms), |_| false);
        line.run(&mut rig, 100, (queue_ms, queue_ms), |i| i == 10);
        (line.resent.len(), rig.count(LH_C_overflow_suspected))
    };
    assert_eq!(start(17, false, false), (0, 1));
    assert_eq!(start(17, true, false), (2, 0), "the link loses");
    assert_eq!(start(12, false, false), (1, 0), "no queue to speak of");
    assert_eq!(start(17, true, true), (1, 1), "the second met a queue");
    assert_eq!(start(12, true, true), (2, 0), "and here none");
}

/// FH, which nobody can brake, halves: with less in the queue than a quarter of a round trip the hop would run dry.
#[test]
fn who_cannot_be_braked_hears_of_a_loss_with_a_queue_that_is_worth_it() {
    let start = |longest_ms: u64, queue_ms: u64| {
        let mut rig = guarded(true, true);
        assert_eq!(rig.flow().raw().wired.rtt_ns, WIRED_MS * MSEC_NS);
        let mut line = Line::new(300, 0);
        line.run(&mut rig, 200, (10, 10), |i| i == 20);
        line.run(&mut rig, 300, (longest_ms, longest_ms), |_| false);
        line.run(&mut rig, 300, (queue_ms, queue_ms), |_| false);
        line.run(&mut rig, 100, (queue_ms, queue_ms), |i| i == 10);
        (line.resent.len(), rig.count(LH_C_overflow_suspected))
    };
    assert_eq!(start(60, 18), (2, 0), "8 of 25 ms");
    assert_eq!(start(60, 40), (1, 1), "30 of 25 ms");
    assert_eq!(start(18, 18), (1, 1), "half of the longest will do");
}

/// FH sends a segment each millisecond, of which each arrives after `sojourn_ms` of the time, over a hop that has
/// carried so much at its best. @return how often the way was taken for a longer one.
fn takes_longer(rate: u64, sojourn_ms: impl Fn(u64) -> u64) -> u64 {
    let mut b = bench(Config::default(), 7);
    answered(&mut b.flow);
    b.host.set_peer(&mut b.flow, &key(1), b.now_ns);
    let (place, start_ns) = (b.flow.raw().peer, b.now_ns);
    let (mut sent, mut acked) = (1, 0);
    for ms in 0..4_000 {
        b.now_ns = start_ns + ms * MSEC_NS;
        b.host.peer_mut(place).rate = rate;
        b.data(sent * MSS, MSS);
        sent += 1;
        // Two at a time: no delayed ACK.
        if u64::from(acked) + 1 + sojourn_ms(ms) <= ms {
            acked += 2;
            b.ack(acked * MSS);
        }
    }
    assert_eq!(u32::from(b.flow.raw().control.state), LH_CONTROL_FREE);
    b.host.counter(LH_C_lmin_raised)
}

/// While nothing is lost FH is FREE, and nobody is tried. Taken for a queue, a way that becomes longer would leave
/// all to FH that the link loses from then on. But a queue of its own stands only where the hop is busy, and no
/// queue stays as it is.
#[test]
fn a_longer_way_is_no_queue_that_stands() {
    let longer = |ms: u64| if ms < 1_000 { 10 } else { 30 };
    assert_eq!(takes_longer(2_500_000, longer), 1);
    assert_eq!(takes_longer(1_000_000, longer), 0, "as busy as ever");
    let comes_and_goes = |ms: u64| if ms % 500 < 250 { 24 } else { 34 };
    assert_eq!(takes_longer(2_500_000, comes_and_goes), 0);
    let short = |ms: u64| if ms < 1_000 { 10 } else { 17 };
    assert_eq!(takes_longer(2_500_000, short), 0, "an AQM may keep that");
}

/// Frames that come in batches wait for the next, whatever queues; a queue that is longer than the pauses
/// between them stands all the same.
#[test]
fn what_waits_for_the_hops_next_batch_is_no_queue() {
    let start = |batch: u64, queue_ms: u64| {
        let mut rig = rig(true);
        let mut line = Line::new(300, 0);
        line.run(&mut rig, 100, (10, 10), |_| false);
        line.batch = batch;
        line.run(&mut rig, 300, (10 + queue_ms, 10 + queue_ms), |_| false);
        line.run(&mut rig, 100, (10 + queue_ms, 10 + queue_ms), |i| i == 10);
        (line.resent.len(), rig.count(LH_C_overflow_suspected))
    };
    assert_eq!(start(1, 0), (1, 0));
    assert_eq!(start(20, 0), (1, 0));
    assert_eq!(start(20, 50), (0, 1));
    assert_eq!(start(1, 20), (0, 1));
}

/// What has run empty has not stood: no AQM drops then. Bursts of twenty arrive together, 7 ms after the hop's round
/// trip. Of the last one the fifth segment is lost.
#[test]
fn between_bursts_no_queue_stands() {
    let mut rig = rig(true);
    let (mut seq, mut ms) = (0, 100);
    for i in 0..16 {
        ms += 30;
        let at = ms + if i == 0 { 10 } else { 17 };
        for k in 0..20 {
            rig.data(ms, seq + k * 1_000, 1_000);
        }
        if i == 15 {
            rig.ack(at, seq + 4_000, &[]);
            rig.ack(at, seq + 4_000, &[(seq + 5_000, seq + 20_000)]);
            break;
        }
        for k in (2..=20).step_by(2) {
            rig.ack(at, seq + k * 1_000, &[]);
        }
        seq += 20_000;
    }
    assert_eq!(rig.count(LH_C_overflow_suspected), 0);
}

/// Bursts of twenty leave every 100 ms, and each comes 250 and so many ms later, on a hop that always has one
/// under way. Of the last one the fifth segment is lost. @return how many losses were left to FH.
fn bursts_on_a_long_hop(late_ms: &[u64]) -> u64 {
    let mut rig = unknown_hop();
    let leaves = |i: usize| 1_000 + 100 * i as u64;
    let mut events: Vec<(u64, bool, usize)> = (0..late_ms.len())
        .flat_map(|i| {
            [
                (leaves(i), false, i),
                (leaves(i) + 250 + late_ms[i], true, i),
            ]
        })
        .collect();
    events.sort_unstable();
    for (at, arrives, i) in events {
        let seq = 20_000 * i as i64;
        let last = i + 1 == late_ms.len();
        match (arrives, last) {
            (false, _) => (0..20).for_each(|k| {
                rig.data(at, seq + k * 1_000, 1_000);
            }),
            (true, false) => (2..=20).step_by(2).for_each(|k| {
                rig.ack(at, seq + k * 1_000, &[]);
            }),
            (true, true) => {
                rig.ack(at, seq + 4_000, &[]);
                rig.ack(at, seq + 4_000, &[(seq + 5_000, seq + 20_000)]);
            }
        }
    }
    rig.count(LH_C_overflow_suspected)
}

/// What the hop's pauses make late met no queue, for what departed before had drained: as in the first round trips
/// of a start over a satellite.
#[test]
fn bursts_apart_met_no_queue() {
    assert_eq!(bursts_on_a_long_hop(&[0, 25, 0, 25, 0, 25, 25, 25]), 0);
}

/// More than pauses explain is a queue, if not ours: an AQM may drop there.
#[test]
fn bursts_apart_may_meet_anothers_queue() {
    let grows: Vec<u64> = (0..20).map(|i| 5 * i).chain([100; 4]).collect();
    assert_eq!(bursts_on_a_long_hop(&grows), 1);
}

/// Without a handshake, which would tell of 10 ms.
fn unknown_hop() -> Rig {
    Rig::silent(&Options {
        sack: true,
        config: Config::default(),
        ..Options::default()
    })
}

/// The bursts of a slow start stand for longer there, and no AQM that is set for such a hop
/// drops by then.
#[test]
fn a_long_hop_bears_longer_bursts() {
    let start = |standing_ms: u64| {
        let mut rig = unknown_hop();
        let mut line = Line::new(300, 0);
        line.run(&mut rig, 1_200, (560, 560), |_| false);
        line.run(&mut rig, 100, (560, 566), |_| false);
        line.run(&mut rig, standing_ms, (566, 566), |_| false);
        line.run(&mut rig, 1_200, (566, 566), |i| i == 10);
        rig.count(LH_C_overflow_suspected)
    };
    assert_eq!(start(200), 0);
    assert_eq!(start(700), 1);
}

/// Its own queue would look like an overflow; but one that has not answered to C for twelve
/// intervals, nor to a trial, is somebody else's.
#[test]
fn the_queue_of_a_held_flow_is_its_own_while_it_may_answer_to_c() {
    for defied in [false, true] {
        let mut rig = rig(true);
        let mut line = Line::new(300, 0);
        // Losses here and there: the link's, of late.
        line.run(&mut rig, 100, (10, 10), |i| i == 20);
        line.run(&mut rig, 1_000, (10, 60), |i| i % 500 == 20);
        let doubt = |rig: &Rig| rig.flow().raw().control.doubt;
        while defied && doubt(&rig) < 12 {
            line.run(&mut rig, 100, (60, 60), |i| i == 20);
        }
        assert_eq!((state(&rig), doubt(&rig) >= 12), (LH_CONTROL_HELD, defied));
        let (resent, suspected) = (line.resent.len(), rig.count(LH_C_overflow_suspected));
        line.run(&mut rig, 85, (60, 60), |i| i == 20);
        let more = rig.count(LH_C_overflow_suspected) - suspected;
        let want = if defied { (0, 1) } else { (1, 0) };
        assert_eq!((line.resent.len() - resent, more), want);
    }
}

/// Whether FH, which sent two segments per round trip for two seconds, passes for one that
/// begins anew after a pause of so many milliseconds. A queue of `queue_ms` stands.
fn begins_anew(queue_ms: u64, pause_ms: u64, outstanding: bool) -> bool {
    let mut b = bench(Config::default(), 7);
    answered(&mut b.flow);
    b.host.set_peer(&mut b.flow, &key(1), b.now_ns);
    let (mut seq, mut ms) = (MSS, 0);
    let mut round = |b: &mut Bench, pause_ms: u64, queue_ms: u64, whole: bool| {
        b.now_ns += pause_ms * MSEC_NS;
        for _ in 0..2 {
            b.data(seq, MSS);
            seq += MSS;
        }
        b.now_ns += (10 + queue_ms) * MSEC_NS;
        ms += pause_ms + 10 + queue_ms;
        stamped(b, if whole { seq } else { seq - MSS }, ms as u32);
        b.flow.raw().control.age
    };
    for i in 0..20 {
        round(&mut b, 80, if i < 4 { 0 } else { queue_ms }, true);
    }
    let before = round(&mut b, 80, queue_ms, !outstanding);
    assert_eq!(before, 5, "a round trip's pause is none");
    round(&mut b, pause_ms, queue_ms, true) < before
}

/// What it queues is gone by itself, unless others keep the queue.
#[test]
fn who_has_paused_may_queue_more() {
    assert!(begins_anew(0, 110, false));
    assert!(!begins_anew(0, 80, false), "it waited for its ACKs");
    assert!(!begins_anew(0, 110, true), "it still does");
    assert!(!begins_anew(20, 110, false), "it waited behind a queue");
}

/// A sender of bursts, of the last of which the end is not acknowledged. Each waits for `n` milliseconds in all,
/// as long as it is. @return the next number, and when the last burst left.
fn send_bursts(rig: &mut Rig, bursts: &[i64], missing: i64) -> (i64, u64) {
    let (mut seq, mut ms) = (0, 100);
    for (i, &n) in bursts.iter().enumerate() {
        ms += 100;
        for k in 0..n {
            rig.data(ms, seq + k * 1_000, 1_000);
        }
        let arrive = if i + 1 == bursts.len() {
            n - missing
        } else {
            n
        };
        for k in (2..=arrive).step_by(2) {
            rig.ack(ms + 10 + k as u64, seq + k * 1_000, &[]);
        }
        seq += n * 1_000;
    }
    (seq, ms)
}

/// What is lost of the last burst's end, once the probe timer has decided: whether something was sent again
/// here, and losses that are left to FH.
fn end_of_a_burst(bursts: &[i64], missing: i64) -> (bool, u64) {
    let mut rig = rig(true);
    send_bursts(&mut rig, bursts, missing);
    let mut resent = 0;
    while resent + rig.count(LH_C_overflow_suspected) == 0 {
        let due = rig.deadline().expect("a probe");
        resent += rig.timer(due + 1).resent.len() as u64;
    }
    (resent > 0, rig.count(LH_C_overflow_suspected))
}

/// A slow start's bursts end at the longest queue that there has been, whatever is lost there: an overflow
/// takes more than one or two, and from then on.
#[test]
fn the_end_of_a_slow_starts_burst_is_no_overflow() {
    assert_eq!(end_of_a_burst(&[10, 20, 40], 2), (true, 0));
    assert_eq!(end_of_a_burst(&[10, 20, 40], 4), (false, 1));
    assert_eq!(end_of_a_burst(&[40, 40, 40, 40], 2), (false, 1), "no start");
}

/// A segment of the receiver's other flow.
fn of_another(seq: u32, ack: u32, len: usize) -> (Ends, Tcp) {
    let segment = Tcp {
        seq,
        ack,
        flags: LH_ACK,
        window: 1_000,
        payload: vec![7; len],
        ..Tcp::default()
    };
    (Ends::v4(2), segment)
}

/// It has got something.
fn another_gets(rig: &mut Rig) {
    let (ends, first) = of_another(1, 1, 1_000);
    rig.agent.on_egress(&first.to_mh(&ends), ns(110));
    let (ends, ack) = of_another(1, 1_001, 0);
    rig.agent.on_ingress(&ack.to_fh(&ends), ns(120));
}

/// And waits for more.
fn another_waits(rig: &mut Rig, ms: u64) {
    let (ends, more) = of_another(1_001, 1, 1_000);
    rig.agent.on_egress(&more.to_mh(&ends), ns(ms));
}

/// Of several flows nobody knows whose start it is; nor once all of them are silent, for what they sent has
/// overflowed the queue.
#[test]
fn a_flow_that_waits_with_others_is_not_alone() {
    let mut rig = rig(true);
    another_gets(&mut rig);
    let (_, ms) = send_bursts(&mut rig, &[10, 20, 40], 2);
    another_waits(&mut rig, ms);
    while let Some(due) = rig.deadline().filter(|&due| due < ms + 300) {
        rig.timer(due + 1);
    }
    assert!(rig.flow().has(LH_FLOW_OVERFLOW));
}

/// The first burst of a flow, of which the first segment arrives, and what FH sends then, before anything has shown a
/// queue. @return how many were sent again here.
fn first_burst(burst: i64, others: bool) -> u64 {
    let mut rig = rig(true);
    another_gets(&mut rig);
    if others {
        another_waits(&mut rig, 190);
    }
    for k in 0..burst {
        rig.data(200, k * 1_000, 1_000);
    }
    rig.ack(211, 1_000, &[]);
    rig.data(260, burst * 1_000, 1_000);
    rig.ack(271, 1_000, &[(burst * 1_000, burst * 1_000 + 1_000)]);
    rig.count(LH_C_local_retransmits)
}

/// Of the bursts with which several begin those that come last find the queue full: nothing of them arrives that
/// could show it. One flow alone has the queue for itself, and of two segments nothing can be told.
#[test]
fn a_burst_that_is_lost_beside_others_is_fhs() {
    assert_eq!(first_burst(10, true), 0);
    assert!(first_burst(10, false) > 0);
    assert!(first_burst(3, true) > 0);
}

/// Bursts of 40 have shown how long the queue gets, a segment takes a millisecond. After a pause another flow sends so
/// many at once, and behind them two are lost; then come two more, which meet no queue.
/// @return how many were left to FH.
fn lost_behind(another: u32) -> u64 {
    let mut rig = rig(true);
    another_gets(&mut rig);
    let (seq, ms) = send_bursts(&mut rig, &[40, 40, 40, 40], 0);
    let ms = ms + 2_000;
    for k in 0..another {
        let (ends, segment) = of_another(1_001 + k * 1_000, 1, 1_000);
        rig.agent.on_egress(&segment.to_mh(&ends), ns(ms));
    }
    for (at, first) in [(ms, seq), (ms + 80, seq + 2_000)] {
        rig.data(at, first, 1_000);
        rig.data(at, first + 1_000, 1_000);
    }
    for k in 1..=2 {
        let behind = (seq + 2_000, seq + 2_000 + k * 1_000);
        rig.ack(ms + 90 + k as u64, seq, &[behind]);
    }
    rig.count(LH_C_overflow_suspected)
}

/// Nothing that met the full queue has come, and tells of it: what has gone to the hop does.
#[test]
fn what_has_departed_tells_of_the_queue() {
    assert_eq!(lost_behind(30), 1);
    assert_eq!(lost_behind(10), 0);
}

/// A burst of 40, of which the 37th gets lost: by three segments nothing can be told, and more will not come
/// before FH's next burst.
#[test]
fn when_a_burst_is_over_the_pattern_has_been_seen() {
    let mut rig = rig(true);
    let (seq, ms) = send_bursts(&mut rig, &[10, 20, 40], 4);
    let una = seq - 4_000;
    for k in 2..=4 {
        let held = (una + 1_000, una + k * 1_000);
        ack!(rig, ms + 46 + k as u64, una, sack [held] => hold);
    }
    let due = rig.deadline().expect("the verdict");
    assert!((ms + 51..ms + 64).contains(&due), "{due}");
    assert_eq!(rig.timer(due + 1).resent, [una as u32]);
    assert_eq!(rig.count(LH_C_retransmits_order), 1);
}

/// What is under way on a hop of a quarter of a second is as much with a short queue as with a long one.
#[test]
fn on_a_long_hop_what_is_under_way_is_no_queue() {
    let start = |queue_ms: u64| {
        let mut rig = unknown_hop();
        let mut line = Line::new(300, 0);
        line.run(&mut rig, 1_200, (250, 250), |_| false);
        line.run(&mut rig, 100, (250, 300), |_| false);
        line.run(&mut rig, 700, (250, 250), |_| false);
        line.run(&mut rig, 100, (250, 250 + queue_ms), |i| i == 80);
        line.run(&mut rig, 400, (250, 250), |_| false);
        rig.count(LH_C_overflow_suspected)
    };
    assert_eq!(start(20), 0);
    assert_eq!(start(50), 1);
}

/// MH acknowledges so many segments at once. Then they come by three, and each ACK is 100 ms late; `behind` others
/// have left right after them. @return the last sojourns, ms.
fn three_at_a_time(stride: i64, behind: i64) -> Vec<u64> {
    let mut rig = rig(true);
    let mut seq = 0;
    for i in 0..behind {
        rig.data(1_000, 1_000 * i, 1_000);
    }
    for (i, n) in [stride; 10].into_iter().chain([3; 10]).enumerate() {
        let ms = 1_000 + 300 * i as u64;
        for _ in 0..n {
            rig.data(ms, seq + 1_000 * behind, 1_000);
            seq += 1_000;
        }
        rig.ack(ms + if i < 10 { 10 } else { 110 }, seq, &[]);
    }
    let recent_ns = rig.flow().raw().queue.recent_ns;
    recent_ns.iter().map(|r| r / MSEC_NS).collect()
}

/// Who acknowledges eight at once may wait for them, and so may who has acknowledged fewer than now, unless there is
/// more that would have come meanwhile.
#[test]
fn who_waits_for_more_segments_shows_no_queue() {
    let all = |stride, behind, holds: fn(&u64) -> bool| {
        let ms = three_at_a_time(stride, behind);
        assert!(ms.iter().all(holds), "{stride} {behind}: {ms:?}");
    };
    all(8, 0, |ms| *ms < 20);
    all(2, 0, |ms| *ms < 20);
    all(2, 1, |ms| *ms > 100);
    all(3, 0, |ms| *ms > 100);
}
