// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Queue disciplines in virtual time.

use super::fq_codel::FqCodel;
use super::*;
use crate::frame::FrameMeta;
use crate::frame_samples::{ARP, FULL, MS_PER_FRAME_BPS};
use crate::label::{Label, PureAck};
use crate::model::{Exit, Fate, LinkModel, Verdict};

const MS: u64 = 1_000_000;
const NOBODY: [u64; 0] = [];

fn config(aqm: Aqm) -> DirectionConfig {
    DirectionConfig {
        rate_bps: MS_PER_FRAME_BPS,
        queue_frames: 100_000,
        aqm,
        ..Default::default()
    }
}

fn model(config: &DirectionConfig) -> LinkModel<u64> {
    LinkModel::new(config, 1, Direction::AToB)
}

fn flow(flow: u64) -> Label {
    Label {
        flow,
        ..Label::default()
    }
}

fn drain(model: &mut LinkModel<u64>) -> Vec<Exit<u64>> {
    std::iter::from_fn(|| model.pop_due(u64::MAX)).collect()
}

fn tokens(exits: &[Exit<u64>], fate: Fate) -> Vec<u64> {
    let exits = exits.iter().filter(|exit| exit.fate == fate);
    exits.map(|exit| exit.token).collect()
}

/// Two frames per frame time from `from_ms` to `to_ms`.
fn overload(model: &mut LinkModel<u64>, label: Label, from_ms: u64, to_ms: u64) {
    for half in 2 * from_ms..2 * to_ms {
        model.push_labelled(FULL, label, half, half * MS / 2);
    }
}

/// When frames are dropped, in ms. Transmissions begin at whole ones.
fn drops_ms(exits: &[Exit<u64>]) -> Vec<u64> {
    let drops = exits.iter().filter(|exit| exit.fate == Fate::AqmDropped);
    drops.map(|exit| exit.due_ns / MS).collect()
}

/// RFC 8289: the sojourn time is above 5 ms from 10 ms on, has been for an interval at 110 ms, and
/// from then on the distance of drops is 100 ms by the square root of their number, whenever the
/// drops themselves come about.
fn schedule_ms(until_ms: u64) -> Vec<u64> {
    let mut next_ms = 110.0;
    let mut due_ms = Vec::new();
    for count in 1.. {
        if next_ms >= until_ms as f64 {
            break;
        }
        due_ms.push(next_ms.ceil() as u64);
        next_ms += 100.0 / f64::from(count).sqrt();
    }
    due_ms
}

#[test]
fn codel_drops_on_its_schedule() {
    let mut model = model(&config(Aqm::Codel));
    overload(&mut model, flow(1), 0, 1000);
    let drops: Vec<u64> = drops_ms(&drain(&mut model));
    let drops: Vec<u64> = drops.into_iter().filter(|ms| *ms < 1000).collect();
    assert_eq!(drops, schedule_ms(1000));
    assert!(drops.len() > 15, "{drops:?}");
}

#[test]
fn codel_marks_instead_where_it_is_understood() {
    let mut model = model(&config(Aqm::Codel));
    let label = Label {
        ecn_capable: true,
        ..flow(1)
    };
    overload(&mut model, label, 0, 1000);
    let exits = drain(&mut model);
    assert_eq!(tokens(&exits, Fate::AqmDropped), NOBODY);
    // Delivered at the end of its transmission, one millisecond after the decision.
    let marks = exits.iter().filter(|exit| exit.marked);
    let marks: Vec<u64> = marks.map(|exit| exit.due_ns / MS - 1).collect();
    let schedule = schedule_ms(1000);
    assert_eq!(marks[..schedule.len()], schedule);
}

#[test]
fn codel_leaves_short_queues_and_last_frames_alone() {
    // Four full frames wait for up to 4 ms.
    let mut short = model(&config(Aqm::Codel));
    for batch in 0..500 {
        for i in 0..5 {
            short.push_labelled(FULL, flow(1), i, batch * 5 * MS);
        }
    }
    assert_eq!(tokens(&drain(&mut short), Fate::AqmDropped), NOBODY);
    // 100 ms per frame: one that waits is always above the target, and never has an MTU behind it.
    let slow = DirectionConfig {
        rate_bps: MS_PER_FRAME_BPS / 100,
        ..config(Aqm::Codel)
    };
    let mut slow = model(&slow);
    slow.push_labelled(FULL, flow(1), 0, 0);
    for i in 0..100 {
        slow.push_labelled(FULL, flow(1), i, i * 100 * MS);
    }
    assert_eq!(tokens(&drain(&mut slow), Fate::AqmDropped), NOBODY);
}

#[test]
fn codel_never_drops_what_is_exempt() {
    let mut model = model(&config(Aqm::Codel));
    for half in 0..4000 {
        let meta = if half % 4 == 0 { ARP } else { FULL };
        model.push_labelled(meta, flow(1), half, half * MS / 2);
    }
    let dropped = tokens(&drain(&mut model), Fate::AqmDropped);
    assert!(dropped.len() > 10 && dropped.iter().all(|token| token % 4 != 0));
}

/// RFC 8289, section 5.5: what it came to the last time is where it begins again, if that was
/// within 16 intervals.
#[test]
fn codel_remembers_its_rate_for_a_while() {
    for (pause_ms, remembers) in [(300, true), (3000, false)] {
        let mut model = model(&config(Aqm::Codel));
        overload(&mut model, flow(1), 0, 1000);
        let mut exits = Vec::new();
        let mut empty_ms = 1000;
        while model.queue_frames() > 0 {
            empty_ms += 1;
            exits.extend(std::iter::from_fn(|| model.pop_due(empty_ms * MS)));
        }
        let first = drops_ms(&exits).len() as f64;
        let again_ms = empty_ms + pause_ms;
        overload(&mut model, flow(1), again_ms, again_ms + 1000);
        let drops = drops_ms(&drain(&mut model));
        let expected_ms = match remembers {
            true => 100.0 / (first - 1.0).sqrt(),
            false => 100.0,
        };
        assert_eq!(drops[0], again_ms + 110);
        let gap_ms = (drops[1] - drops[0]) as f64;
        assert!(
            (0.0..=1.0).contains(&(gap_ms - expected_ms)),
            "{gap_ms}, {expected_ms}"
        );
    }
}

#[test]
fn a_sparse_flow_passes_a_bulk_flow() {
    for (aqm, due_ms) in [(Aqm::Fifo, 201), (Aqm::FqCodel, 52)] {
        let mut model = model(&config(aqm));
        for token in 0..200 {
            model.push_labelled(FULL, flow(1), token, 0);
        }
        model.push_labelled(FULL, flow(2), 1000, 50 * MS + 1);
        let exits = drain(&mut model);
        let sparse = exits.iter().find(|exit| exit.token == 1000).unwrap();
        assert_eq!(sparse.due_ns, due_ms * MS, "{aqm:?}");
    }
}

/// One that is new only because its queue keeps running empty gets no more than its turn
/// (RFC 8290, section 4.2), and drops hit whoever has a queue.
#[test]
fn flows_share_by_bytes_and_only_those_with_a_queue_lose_frames() {
    let mut model = model(&config(Aqm::FqCodel));
    let small = FrameMeta { bytes: 500, ..FULL };
    for ms in 0..2000 {
        // 2 Mbit/s of 12: sparse.
        if ms % 6 == 0 {
            model.push_labelled(FULL, flow(3), 3, ms * MS);
        }
        model.push_labelled(FULL, flow(1), 1, ms * MS);
        for _ in 0..3 {
            model.push_labelled(small, flow(2), 2, ms * MS);
        }
    }
    let exits = drain(&mut model);
    let carried = |token| -> f64 {
        let within = exits.iter().filter(|exit| exit.due_ns < 2000 * MS);
        let own = within.filter(|exit| exit.token == token && exit.fate == Fate::Delivered);
        own.map(|exit| f64::from(exit.meta.bytes)).sum()
    };
    assert!((carried(1) / carried(2) - 1.0).abs() < 0.01);
    assert_eq!(carried(3), 334.0 * 1514.0);
    let dropped = tokens(&exits, Fate::AqmDropped);
    assert!(dropped.contains(&1) && dropped.contains(&2) && !dropped.contains(&3));
}

#[test]
fn an_overflow_takes_half_of_the_fattest_queue() {
    let limited = DirectionConfig {
        queue_frames: 100,
        ..config(Aqm::FqCodel)
    };
    let mut model = model(&limited);
    for token in 0..91 {
        model.push_labelled(FULL, flow(1), token, 0);
    }
    for token in 1000..1010 {
        assert_eq!(
            model.push_labelled(FULL, flow(2), token, 0),
            Verdict::Queued
        );
    }
    assert_eq!(model.queue_frames(), 100);
    assert_eq!(model.push_labelled(FULL, flow(3), 2000, 0), Verdict::Queued);
    assert_eq!(model.queue_frames(), 101 - 45);
    // ARP is before everybody, and has room of its own.
    assert_eq!(model.push_labelled(ARP, flow(0), 3000, 0), Verdict::Queued);
    let exits = drain(&mut model);
    assert_eq!(
        tokens(&exits, Fate::QueueDropped),
        (1..46).collect::<Vec<_>>()
    );
    let delivered = tokens(&exits, Fate::Delivered);
    assert_eq!((delivered.len(), delivered[1]), (1 + 45 + 10 + 1 + 1, 3000));
}

#[test]
fn which_flows_share_a_queue_depends_on_the_seed() {
    let queues = |perturbation| {
        let queue: FqCodel<u64> = FqCodel::new(&config(Aqm::FqCodel), perturbation);
        (0..50)
            .map(|n| queue.queue_of(&flow(n)))
            .collect::<Vec<_>>()
    };
    assert_eq!(queues(1), queues(1));
    assert_ne!(queues(1), queues(2));
    assert!(
        queues(1)
            .iter()
            .collect::<std::collections::HashSet<_>>()
            .len()
            > 40
    );
}

#[test]
fn asking_often_or_seldom_gives_the_same_times() {
    for aqm in [Aqm::Codel, Aqm::FqCodel] {
        let run = |step_ns: u64| {
            let mut model = model(&config(aqm));
            let (mut exits, mut now_ns) = (Vec::new(), 0);
            for half in 0..3000 {
                while now_ns + step_ns < half * MS / 2 {
                    now_ns += step_ns;
                    exits.extend(std::iter::from_fn(|| model.pop_due(now_ns)));
                }
                model.push_labelled(FULL, flow(half % 3), half, half * MS / 2);
            }
            exits.extend(drain(&mut model));
            exits
        };
        let seldom = run(u64::MAX / 2);
        assert!(!tokens(&seldom, Fate::AqmDropped).is_empty());
        assert!(run(10_000) == seldom && run(7 * MS) == seldom, "{aqm:?}");
    }
}

fn ack(number: u32) -> Label {
    Label {
        ack: Some(PureAck {
            number,
            flags: 0x10,
            plain: true,
        }),
        ..flow(1)
    }
}

/// Tokens of what is delivered and of what is thinned, of frames that all come at once.
fn thinned(aqm: Aqm, most: u32, labels: &[Label]) -> (Vec<u64>, Vec<u64>) {
    let mut model = model(&DirectionConfig {
        ack_thin: most,
        ..config(aqm)
    });
    for (label, token) in labels.iter().zip(0..) {
        model.push_labelled(FULL, *label, token, 0);
    }
    let exits = drain(&mut model);
    (
        tokens(&exits, Fate::Delivered),
        tokens(&exits, Fate::Thinned),
    )
}

#[test]
fn acks_are_thinned_while_they_wait() {
    let acks: Vec<Label> = (1..=6).map(ack).collect();
    for aqm in [Aqm::Fifo, Aqm::Codel, Aqm::FqCodel] {
        // The first finds the link idle.
        assert_eq!(thinned(aqm, 100, &acks), (vec![0, 5], vec![1, 2, 3, 4]));
        assert_eq!(thinned(aqm, 2, &acks), (vec![0, 2, 4, 5], vec![1, 3]));
        for off in [0, 1] {
            assert_eq!(thinned(aqm, off, &acks).1, NOBODY);
        }
    }
}

#[test]
fn an_ack_takes_the_place_of_the_older_one() {
    let labels = [flow(9), ack(1), flow(9), ack(2), flow(9)];
    assert_eq!(thinned(Aqm::Fifo, 9, &labels), (vec![0, 3, 2, 4], vec![1]));
}

#[test]
fn what_an_ack_says_is_never_lost() {
    let sack = |number| {
        let mut label = ack(number);
        label.ack = label.ack.map(|ack| PureAck {
            plain: false,
            ..ack
        });
        label
    };
    let echo = |number| {
        let mut label = ack(number);
        label.ack = label.ack.map(|ack| PureAck { flags: 0x50, ..ack });
        label
    };
    let other = |number| Label {
        flow: 2,
        ..ack(number)
    };
    for (first, second) in [
        (ack(5), ack(5)),           // a duplicate
        (ack(5), ack(4)),           // an old one
        (sack(5), ack(6)),          // SACK blocks
        (ack(5), echo(6)),          // another flag
        (ack(5), other(6)),         // another connection
        (flow(1), ack(6)),          // data
        (ack(0x8000_0001), ack(1)), // half the numbers apart
    ] {
        let labels = [flow(9), first, second];
        assert_eq!(
            thinned(Aqm::Fifo, 9, &labels),
            (vec![0, 1, 2], vec![]),
            "{labels:?}"
        );
    }
    // Data of the connection between two ACKs keeps its place.
    let labels = [flow(9), ack(1), flow(1), ack(2)];
    assert_eq!(thinned(Aqm::Fifo, 9, &labels).1, NOBODY);
    for labels in [[flow(9), ack(5), sack(6)], [flow(9), ack(u32::MAX), ack(3)]] {
        assert_eq!(thinned(Aqm::Fifo, 9, &labels), (vec![0, 2], vec![1]));
    }
}
