// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The link model in virtual time: no sockets, no clock, any user.

use super::*;
use crate::config::Aqm;
use crate::effect::Effect;
use crate::frame_samples::{ARP, FULL, MS_PER_FRAME_BPS};
use crate::queue::discipline::EXEMPT_HEADROOM_FRAMES;

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

/// Frames that are read up to the least delay after their arrival meet the same queue and leave at
/// the same times, and at each time all that is due by then is there.
#[test]
fn reading_late_changes_nothing() {
    let mut random = crate::random::Random::new(5, Direction::AToB, "arrivals");
    let mut arrivals: Vec<u64> = (0..800).map(|_| random.bits() % (600 * MS)).collect();
    arrivals.sort_unstable();
    for aqm in [Aqm::Fifo, Aqm::Codel, Aqm::FqCodel] {
        for reorder in [0.0, 0.1] {
            let config = DirectionConfig {
                loss: 0.1,
                queue_frames: 20,
                jitter_ns: MS,
                reorder,
                reorder_delay_ns: 2 * MS,
                aqm,
                ..slow_link()
            };
            let at_once = read_at_intervals(&config, &arrivals, 1, 10_000);
            for (interval_ns, step_ns) in [(MS, 70_000), (5 * MS, 110_000), (5 * MS, 3 * MS)] {
                let late = read_at_intervals(&config, &arrivals, interval_ns, step_ns);
                assert_eq!(late, at_once, "{aqm:?} {reorder} {interval_ns} {step_ns}");
            }
        }
    }
}

/// All that comes out if frames are read at multiples of `interval_ns`, and what is due is asked
/// for every `step_ns`.
fn read_at_intervals(
    config: &DirectionConfig,
    arrivals: &[u64],
    interval_ns: u64,
    step_ns: u64,
) -> Vec<(usize, Fate, u64)> {
    let mut model = model(config.clone());
    let (mut arrivals, mut exits) = (arrivals.iter().enumerate().peekable(), Vec::new());
    for now_ns in (0..2_000 * MS).step_by(step_ns as usize) {
        let known_ns = now_ns - now_ns % interval_ns;
        while let Some((token, arrival_ns)) = arrivals.next_if(|(_, at_ns)| **at_ns <= known_ns) {
            if model.push(FULL, token, *arrival_ns) == Verdict::QueueDropped(token) {
                exits.push((token, Fate::QueueDropped, *arrival_ns));
            }
        }
        while let Some(exit) = model.pop_due_of(known_ns, now_ns) {
            let is_late = exit.due_ns + step_ns <= now_ns && exit.fate == Fate::Delivered;
            assert!(
                !is_late,
                "due at {} ns, not there before {now_ns}",
                exit.due_ns
            );
            exits.push((exit.token, exit.fate, exit.due_ns));
        }
    }
    exits.sort_by_key(|(token, _, due_ns)| (*due_ns, *token));
    exits
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
    model.effects.0.push(Box::new(Detour(0)));
    model.configure(&slow_link());
    model.push(FULL, 0, 0);
    model.push(FULL, 1, 0);
    // The one that may overtake begins at 1 ms, and nothing takes less than the delay.
    assert_eq!(model.next_due_ns(), Some(6 * MS));
    let order: Vec<usize> = drain(&mut model, u64::MAX)
        .iter()
        .map(|exit| exit.0)
        .collect();
    assert_eq!(order, [1, 0]);
}

/// Deliveries, in order of due time, of `frames` that all arrive at once.
fn delivered(config: DirectionConfig, frames: usize) -> Vec<(usize, u64)> {
    let mut model = model(DirectionConfig {
        queue_frames: frames,
        ..config
    });
    for token in 0..frames {
        assert_eq!(model.push(FULL, token, 0), Verdict::Queued);
    }
    let exits = drain(&mut model, u64::MAX);
    exits.iter().map(|exit| (exit.0, exit.2)).collect()
}

fn in_order(exits: &[(usize, u64)]) -> bool {
    exits.windows(2).all(|pair| pair[0].0 < pair[1].0)
}

#[test]
fn batches_come_at_multiples_and_keep_the_mean_rate() {
    const BATCH_NS: u64 = 10 * MS;
    let config = DirectionConfig {
        rate_bps: 20_000_000,
        delay_ns: 3 * MS,
        batch_ns: BATCH_NS,
        ..Default::default()
    };
    let exits = delivered(config, 4000);
    assert!(in_order(&exits) && exits.iter().all(|exit| exit.1 % BATCH_NS == 0));
    // 20 Mbit/s for 10 ms are 16.5 full frames.
    let mut batches = vec![0u32; (exits[3999].1 / BATCH_NS) as usize + 1];
    for exit in &exits {
        batches[(exit.1 / BATCH_NS) as usize] += 1;
    }
    let whole = &batches[2..batches.len() - 1];
    assert!(whole.iter().all(|count| (16..=17).contains(count)));
    let mean = whole.iter().sum::<u32>() as f64 / whole.len() as f64;
    let expected = 20e6 * 10e-3 / 8.0 / 1514.0;
    assert!((mean / expected - 1.0).abs() < 0.002, "{mean}");
}

#[test]
fn a_wave_carries_each_rate_while_it_lasts_and_the_queue_holds_the_rest() {
    const SECOND: u64 = 1000 * MS;
    let config = DirectionConfig {
        rate_wave: vec![(30_000_000, 2 * SECOND), (10_000_000, 2 * SECOND)],
        rate_bps: 5, // has no say
        ..Default::default()
    };
    let exits = delivered(config.clone(), 12_000);
    for (phase, rate_bps) in [30e6, 10e6, 30e6].into_iter().enumerate() {
        let begin_ns = phase as u64 * 2 * SECOND;
        let within = begin_ns..begin_ns + 2 * SECOND;
        let frames = exits.iter().filter(|exit| within.contains(&exit.1));
        let expected = rate_bps * 2.0 / 8.0 / 1514.0;
        assert!((frames.count() as f64 - expected).abs() <= 1.5, "{phase}");
    }
    // Frames that come every millisecond fit at 30 Mbit/s; at 10 Mbit/s a queue of ten overflows.
    let mut model = model(DirectionConfig {
        queue_frames: 10,
        ..config
    });
    let dropped: Vec<u64> = (0..4000)
        .filter(|ms| model.push(FULL, 0, ms * MS) != Verdict::Queued)
        .collect();
    assert!(dropped.iter().all(|ms| (2000..4000).contains(ms)));
    let expected = 2000.0 - 10e6 * 2.0 / 8.0 / 1514.0 - 11.0;
    assert!((dropped.len() as f64 - expected).abs() <= 2.0, "{expected}");
}

#[test]
fn a_trace_sets_the_rate_and_the_queue_is_in_front_of_it() {
    let trace = |ms: &[u64]| crate::RateTrace::new(ms.to_vec()).unwrap();
    // Five full frames every 20 ms.
    let config = DirectionConfig {
        rate_trace: trace(&[3, 3, 9, 12, 20]),
        queue_frames: 4,
        delay_ns: MS,
        ..Default::default()
    };
    let exits = delivered(config.clone(), 1000);
    assert!(in_order(&exits));
    assert_eq!(
        exits[..6]
            .iter()
            .map(|exit| exit.1 / MS)
            .collect::<Vec<_>>(),
        [4, 4, 10, 13, 21, 24]
    );
    assert_eq!(exits[999].1, 1000 / 5 * 20 * MS + MS);

    let mut model = model(config);
    let queued = (0..9).filter(|i| model.push(FULL, *i, 0) == Verdict::Queued);
    assert_eq!(queued.count(), 5, "one in service and four that wait");
    // At 3 ms two leave; small frames that come then find the rest of nothing.
    assert_eq!(model.push(ARP, 9, 3 * MS + 1), Verdict::Queued);
    assert_eq!(model.queue_frames(), 3);
}

#[test]
fn reordered_frames_are_overtaken_by_as_many_as_the_detour_allows() {
    let config = DirectionConfig {
        reorder: 0.1,
        reorder_delay_ns: 5 * MS + MS / 2,
        ..slow_link()
    };
    let exits = delivered(config, 5000);
    assert_eq!(exits.len(), 5000);
    let late: Vec<&(usize, u64)> = exits
        .iter()
        .filter(|(token, due_ns)| *due_ns > (*token as u64 + 6) * MS)
        .collect();
    assert!((400..600).contains(&late.len()), "{}", late.len()); // 500 ± 4.7 σ
    for (token, due_ns) in late {
        assert_eq!(*due_ns, (*token as u64 + 6) * MS + 5 * MS + MS / 2);
    }
    let rest = exits
        .iter()
        .filter(|(token, due)| *due == (*token as u64 + 6) * MS);
    assert!(in_order(&rest.copied().collect::<Vec<_>>()));
}

/// Two connections of different delays and jitter besides: each in order, one past the other.
#[test]
fn flows_overtake_each_other_but_not_themselves() {
    let mut model = model(DirectionConfig {
        flow_delays_ns: vec![0, 40 * MS],
        jitter_ns: 3 * MS,
        ..slow_link()
    });
    for token in 0..1000 {
        let flow = Some(token as u32 % 2);
        model.push(FrameMeta { flow, ..FULL }, token, 0);
    }
    let exits = drain(&mut model, u64::MAX);
    let of = |parity| {
        let own = exits.iter().filter(|exit| exit.0 % 2 == parity);
        own.map(|exit| (exit.0, exit.2)).collect::<Vec<_>>()
    };
    assert!(in_order(&of(0)) && in_order(&of(1)));
    let extra = |(token, due_ns): &(usize, u64)| due_ns - (*token as u64 + 6) * MS;
    assert!(of(0).iter().all(|exit| extra(exit) <= 3 * MS));
    assert!(
        of(1)
            .iter()
            .all(|exit| (40 * MS..=43 * MS).contains(&extra(exit)))
    );
}
