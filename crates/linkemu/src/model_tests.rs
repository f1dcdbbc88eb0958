// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The link model in virtual time: no sockets, no clock, any user.

use super::*;

const FULL: FrameMeta = FrameMeta {
    bytes: 1514,
    lossy: true,
    tcp_data: true,
    flow: None,
};
const ARP: FrameMeta = FrameMeta {
    bytes: 42,
    lossy: false,
    tcp_data: false,
    flow: None,
};
/// 1514 bytes at 12.112 Mbit/s take exactly one millisecond.
const MS_PER_FRAME_BPS: u64 = 12_112_000;
const MS: u64 = 1_000_000;

fn model(config: DirectionConfig) -> LinkModel<usize> {
    LinkModel::new(&config, 1, Direction::AToB)
}

fn slow_link() -> DirectionConfig {
    DirectionConfig {
        rate_bps: MS_PER_FRAME_BPS,
        delay_ns: 5 * MS,
        ..Default::default()
    }
}

fn drain(model: &mut LinkModel<usize>, now_ns: u64) -> Vec<(usize, Fate, u64)> {
    let exits = std::iter::from_fn(|| model.pop_due(now_ns));
    exits
        .map(|exit| (exit.token, exit.fate, exit.due_ns))
        .collect()
}

#[test]
fn departures_are_theoretical_however_late_the_caller() {
    let mut model = model(slow_link());
    for (token, arrival_ns) in [0, 0, 100, 10 * MS, 10 * MS + 1].into_iter().enumerate() {
        assert_eq!(model.push(FULL, token, arrival_ns), Verdict::Queued);
    }
    let due: Vec<u64> = drain(&mut model, u64::MAX)
        .iter()
        .map(|exit| exit.2)
        .collect();
    // Back to back while the link is busy; the fourth finds it idle.
    assert_eq!(due, [6 * MS, 7 * MS, 8 * MS, 16 * MS, 17 * MS]);
}

#[test]
fn asking_often_or_seldom_gives_the_same_times() {
    let arrivals: Vec<u64> = (0..500).map(|i| i * i * 3000 % (400 * MS)).collect();
    let mut arrivals = arrivals;
    arrivals.sort_unstable();
    let config = DirectionConfig {
        loss: 0.3,
        queue_frames: 20,
        ..slow_link()
    };
    let run = |step_ns: u64| {
        let mut model = model(config.clone());
        let (mut exits, mut now_ns) = (Vec::new(), 0);
        for (token, arrival_ns) in arrivals.iter().enumerate() {
            while now_ns + step_ns < *arrival_ns {
                now_ns += step_ns;
                exits.extend(drain(&mut model, now_ns));
            }
            model.push(FULL, token, *arrival_ns);
        }
        exits.extend(drain(&mut model, u64::MAX));
        exits
    };
    let seldom = run(u64::MAX / 2);
    assert_eq!(run(10_000), seldom);
    assert_eq!(run(7 * MS), seldom);
}

#[test]
fn nothing_is_early() {
    let mut model = model(slow_link());
    model.push(FULL, 0, 0);
    assert_eq!(model.next_due_ns(), Some(6 * MS));
    assert_eq!(drain(&mut model, 6 * MS - 1), []);
    assert_eq!(drain(&mut model, 6 * MS), [(0, Fate::Delivered, 6 * MS)]);
    assert_eq!(model.next_due_ns(), None);
}

#[test]
fn unlimited_rate_never_queues() {
    let mut model = model(DirectionConfig {
        queue_frames: 1,
        ..Default::default()
    });
    for token in 0..1000 {
        assert_eq!(model.push(FULL, token, 7), Verdict::Queued);
    }
    assert_eq!(model.queue_frames(), 0);
    let exits = drain(&mut model, 7);
    assert!(
        exits
            .iter()
            .enumerate()
            .all(|(i, exit)| *exit == (i, Fate::Delivered, 7))
    );
    assert_eq!(exits.len(), 1000);
}

#[test]
fn queue_limit_leaves_out_the_frame_in_transmission() {
    let mut model = model(DirectionConfig {
        queue_frames: 3,
        ..slow_link()
    });
    let verdicts: Vec<bool> = (0..6)
        .map(|token| model.push(FULL, token, 0) == Verdict::Queued)
        .collect();
    assert_eq!(verdicts, [true, true, true, true, false, false]);
    assert_eq!((model.queue_frames(), model.in_flight_frames()), (3, 1));
    // The second transmission starts at 1 ms: from then on there is room for one more.
    assert_eq!(model.push(FULL, 6, MS - 1), Verdict::QueueDropped(6));
    assert_eq!(model.push(FULL, 7, MS), Verdict::Queued);
    assert_eq!(model.push(FULL, 8, MS), Verdict::QueueDropped(8));
}

#[test]
fn exempt_frames_pass_a_full_queue_within_bounds() {
    let mut model = model(DirectionConfig {
        queue_frames: 2,
        loss: 1.0,
        ..slow_link()
    });
    for token in 0..3 {
        model.push(FULL, token, 0);
    }
    assert_eq!(model.push(FULL, 3, 0), Verdict::QueueDropped(3));
    let taken = (0..200)
        .filter(|i| model.push(ARP, 100 + i, 0) == Verdict::Queued)
        .count();
    assert_eq!(taken, EXEMPT_HEADROOM_FRAMES);
    let exits = drain(&mut model, u64::MAX);
    assert!(
        exits
            .iter()
            .all(|(token, fate, _)| (*fate == Fate::Delivered) == (*token >= 100))
    );
}

#[test]
fn lost_frames_use_the_link_and_leave_at_the_end_of_transmission() {
    let mut model = model(DirectionConfig {
        loss_every: 2,
        ..slow_link()
    });
    for token in 0..3 {
        model.push(FULL, token, 0);
    }
    assert_eq!(
        drain(&mut model, u64::MAX),
        [
            (1, Fate::Lost, 2 * MS),
            (0, Fate::Delivered, 6 * MS),
            (2, Fate::Delivered, 8 * MS)
        ]
    );
}

#[test]
fn wakes_for_waiting_frames_when_all_in_flight_are_gone() {
    let mut model = model(DirectionConfig {
        loss: 1.0,
        ..slow_link()
    });
    model.push(FULL, 0, 0);
    model.push(FULL, 1, 0);
    assert_eq!(model.next_due_ns(), Some(MS));
    assert_eq!(drain(&mut model, MS), [(0, Fate::Lost, MS)]);
    assert_eq!(model.next_due_ns(), Some(2 * MS));
}

#[test]
fn outage_takes_what_ends_inside() {
    let outages_ns = vec![(2 * MS, 4 * MS)];
    let mut model = model(DirectionConfig {
        outages_ns,
        ..slow_link()
    });
    for token in 0..5 {
        model.push(FULL, token, 0);
    }
    let mut exits = drain(&mut model, u64::MAX);
    exits.sort_unstable_by_key(|exit| exit.0);
    let lost: Vec<bool> = exits.iter().map(|exit| exit.1 == Fate::Lost).collect();
    assert_eq!(lost, [false, true, true, false, false]); // ends at 1, 2, 3, 4, 5 ms
}

#[test]
fn changes_hold_for_what_still_waits_and_keep_order() {
    let mut model = model(slow_link());
    for token in 0..3 {
        model.push(FULL, token, 0);
    }
    model.configure(&DirectionConfig {
        rate_bps: 2 * MS_PER_FRAME_BPS,
        ..Default::default()
    });
    // The first is on its way with the old delay; the others are faster but must not overtake.
    assert_eq!(
        drain(&mut model, u64::MAX),
        [
            (0, Fate::Delivered, 6 * MS),
            (1, Fate::Delivered, 6 * MS),
            (2, Fate::Delivered, 6 * MS)
        ]
    );
    model.push(FULL, 3, 20 * MS);
    assert_eq!(
        drain(&mut model, u64::MAX),
        [(3, Fate::Delivered, 20 * MS + MS / 2)]
    );
}

fn losses(seed: u64, direction: Direction, config: &DirectionConfig) -> Vec<usize> {
    let mut model = LinkModel::new(config, seed, direction);
    (0..5000).for_each(|token| {
        model.push(FULL, token, token as u64);
    });
    let exits = drain(&mut model, u64::MAX);
    let mut lost: Vec<usize> = exits
        .iter()
        .filter(|exit| exit.1 == Fate::Lost)
        .map(|exit| exit.0)
        .collect();
    lost.sort_unstable();
    lost
}

#[test]
fn seeds_reproduce_and_directions_and_effects_are_independent() {
    let config = DirectionConfig {
        loss: 0.05,
        ..Default::default()
    };
    let base = losses(1, Direction::AToB, &config);
    assert!((180..320).contains(&base.len()), "{}", base.len()); // 250 ± 4.5 σ
    assert_eq!(base, losses(1, Direction::AToB, &config));
    assert_ne!(base, losses(1, Direction::BToA, &config));
    assert_ne!(base, losses(2, Direction::AToB, &config));
    // Another effect adds its losses and leaves these as they are.
    let with_ber = losses(
        1,
        Direction::AToB,
        &DirectionConfig {
            ber: 1e-5,
            ..config
        },
    );
    assert!(with_ber.len() > base.len() && base.iter().all(|lost| with_ber.contains(lost)));
}

/// A third party's effect needs nothing but the trait: here, every second frame takes a detour.
struct Detour(u32);

impl Effect for Detour {
    fn configure(&mut self, _: &DirectionConfig) {}
    fn apply(&mut self, _: &FrameMeta, passage: &mut Passage) {
        self.0 += 1;
        passage.delay_ns += u64::from(self.0 % 2) * 10 * MS;
    }
    fn may_overtake(&self) -> bool {
        true
    }
}

#[test]
fn an_effect_may_reorder_when_it_says_so() {
    let mut model = model(slow_link());
    model.effects.push(Box::new(Detour(0)));
    model.configure(&slow_link());
    model.push(FULL, 0, 0);
    model.push(FULL, 1, 0);
    assert_eq!(model.next_due_ns(), Some(MS)); // start of the frame that may overtake
    let order: Vec<usize> = drain(&mut model, u64::MAX)
        .iter()
        .map(|exit| exit.0)
        .collect();
    assert_eq!(order, [1, 0]);
}
