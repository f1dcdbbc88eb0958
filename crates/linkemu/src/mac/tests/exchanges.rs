// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Single exchanges, to the microsecond.

use super::*;
use crate::config::Direction::{AToB, BToA};
use crate::frame_samples::ARP;
use crate::mac::EventKind;

const B: &str = r#"{"standard":"802.11b"}"#;

#[test]
fn a_lone_frame_takes_its_airtime_and_nothing_else() {
    for (mac, data_us, ack_us) in [
        (B, 1310, 10 + 248),
        (
            r#"{"standard":"802.11b","preamble":"short"}"#,
            1214,
            10 + 152,
        ),
        (r#"{"standard":"802.11a"}"#, 248, 16 + 28),
        (r#"{"standard":"802.11a","policy":"no_ack"}"#, 248, 0),
        (r#"{"standard":"802.11g"}"#, 254, 10 + 34),
        // Two bytes of QoS, and then request and BlockAck.
        (
            r#"{"standard":"802.11a","policy":"block_ack_burst"}"#,
            252,
            16 + 32 + 16 + 72,
        ),
        (
            r#"{"standard":"802.11a","policy":"block_ack_each"}"#,
            252,
            16 + 32 + 16 + 72,
        ),
    ] {
        let mut bench = Bench::lossless(mac);
        bench.push_at(AToB, FULL, 7, 5_000 * US);
        bench.finish();
        let arrives_us = 5_000 + data_us;
        assert_eq!(
            bench.times_us(AToB),
            [(7, Fate::Delivered, arrives_us)],
            "{mac}"
        );
        let told: Vec<_> = bench
            .events
            .iter()
            .map(|e| (e.kind, e.at_ns / US))
            .collect();
        match ack_us {
            0 => assert_eq!(told, []),
            _ => assert_eq!(told, [(EventKind::Delivered, arrives_us + ack_us)], "{mac}"),
        }
    }
}

#[test]
fn the_delay_of_the_direction_comes_on_top() {
    let mut bench = Bench::new(B, r#"{"delay_ns":2000000}"#, "{}", 1);
    bench.push(AToB, FULL, 0);
    bench.finish();
    assert_eq!(bench.times_us(AToB), [(0, Fate::Delivered, 3310)]);
}

#[test]
fn frames_back_to_back_are_a_difs_and_whole_slots_apart() {
    let mut bench = Bench::lossless(B);
    (0..200).for_each(|token| bench.push(AToB, FULL, token));
    bench.finish();
    let times: Vec<u64> = bench.times_us(AToB).iter().map(|(.., us)| *us).collect();
    let exchange_us = 1310 + 10 + 248 + 50;
    let backoffs = times.windows(2).map(|pair| pair[1] - pair[0] - exchange_us);
    let backoffs: Vec<u64> = backoffs.collect();
    assert!(
        backoffs.iter().all(|us| us % 20 == 0 && *us <= 31 * 20),
        "{backoffs:?}"
    );
    assert!(backoffs.contains(&0) && backoffs.contains(&620));
}

#[test]
fn an_answer_that_does_not_come_is_waited_for() {
    let mut bench = Bench::new(B, r#"{"loss_every":1}"#, "{}", 1);
    bench.push(AToB, FULL, 0);
    bench.finish();
    let stats = bench.radio.stats(AToB);
    assert_eq!(
        (stats.attempts, stats.retries, stats.final_drops),
        (7, 6, 1)
    );
    assert_eq!(stats.airtime_ns, 7 * 1310 * US);
    let kinds: Vec<EventKind> = bench.events.iter().map(|e| e.kind).collect();
    assert_eq!(kinds[..6], [EventKind::Undelivered; 6]);
    assert_eq!(kinds[6..], [EventKind::UndeliveredFinal]);
    assert_eq!(bench.events[0].at_ns, (1310 + 222) * US);
    // Each further attempt: DIFS, slots of a window that doubles, the frame, the timeout.
    let mut window = 31;
    for pair in bench.events.windows(2) {
        window = 2 * window + 1;
        let slots_us = (pair[1].at_ns - pair[0].at_ns) / US - (50 + 1310 + 222);
        assert!(
            slots_us % 20 == 0 && slots_us / 20 <= window.min(1023),
            "{slots_us}"
        );
    }
    let given_up_us = bench.events[6].at_ns / US;
    assert_eq!(bench.times_us(AToB), [(0, Fate::Lost, given_up_us)]);
}

#[test]
fn arrivals_of_both_directions_count_in_the_order_of_their_times() {
    let run = |swap: bool| {
        let mut bench = Bench::lossless(B);
        let mut pushes = [(AToB, 100 * US), (BToA, 50 * US)];
        if swap {
            pushes.reverse();
        }
        for (direction, at_ns) in pushes {
            bench.push_at(direction, FULL, 0, at_ns);
        }
        bench.finish();
        (bench.times_us(AToB), bench.times_us(BToA))
    };
    assert_eq!(run(false), run(true));
    assert_eq!(run(false).1, [(0, Fate::Delivered, 50 + 1310)]);
}

#[test]
fn asking_often_or_seldom_gives_the_same_times() {
    let run = |mac: &str, step_ns: u64| {
        let mut bench = Bench::new(mac, r#"{"loss":0.2}"#, r#"{"loss":0.1}"#, 5);
        let mut now_ns = 0;
        for token in 0..400 {
            let arrival_ns = u64::from(token) * 260 * US;
            while step_ns > 0 && now_ns + step_ns < arrival_ns {
                now_ns += step_ns;
                for direction in Direction::ALL {
                    while let Some(exit) = bench.radio.pop_due(direction, now_ns) {
                        bench.exits[direction.index()].push(exit);
                    }
                }
            }
            bench.push_at(AToB, FULL, token, arrival_ns);
            bench.push_at(BToA, ACK, token, arrival_ns);
        }
        bench.finish();
        (bench.times_us(AToB), bench.times_us(BToA))
    };
    for mac in [
        r#"{"standard":"802.11a","policy":"block_ack_burst","block_frames":4,"control_loss":0.1}"#,
        r#"{"standard":"802.11a","control_loss":0.1,"txop_ns":2048000}"#,
        r#"{"standard":"802.11a","policy":"no_ack","txop_ns":2048000}"#,
        r#"{"standard":"802.11a","policy":"block_ack_burst","block_frames":4,"txop_ns":4096000}"#,
    ] {
        let seldom = run(mac, 0);
        assert_eq!(run(mac, 7 * US), seldom);
        assert_eq!(run(mac, 10_000 * US), seldom);
        assert_eq!(seldom.0.len() + seldom.1.len(), 800);
    }
}

#[test]
fn full_queues_drop_and_everything_is_accounted_for() {
    let mut bench = Bench::new(B, r#"{"queue_frames":5,"loss":0.9}"#, "{}", 1);
    (0..20).for_each(|token| bench.push(AToB, FULL, token));
    bench.push(AToB, ARP, 99);
    assert_eq!(bench.radio.in_flight_frames(AToB), 21);
    bench.step();
    let inside = bench.radio.queue_frames(AToB) + bench.radio.in_flight_frames(AToB);
    assert_eq!(inside + bench.exits[0].len(), 21);
    assert_eq!(bench.radio.queue_max_frames(AToB), 6);
    bench.finish();
    let fates = |fate| bench.exits[0].iter().filter(|e| e.fate == fate).count();
    assert_eq!(fates(Fate::QueueDropped), 14);
    assert_eq!(fates(Fate::Lost) + fates(Fate::Delivered), 7);
    assert!(bench.delivered(AToB).contains(&99), "ARP is spared");
    assert_eq!(bench.radio.in_flight_frames(AToB), 0);
}

#[test]
fn the_three_times_add_up_to_all_that_has_passed() {
    for (policy, txop_us) in [
        ("ack", 0),
        ("ack", 2_048),
        ("no_ack", 0),
        ("no_ack", 2_048),
        ("block_ack_burst", 0),
        ("block_ack_burst", 2_048),
        ("block_ack_each", 0),
    ] {
        let txop_ns = txop_us * US;
        let mac = format!(r#"{{"standard":"802.11a","policy":"{policy}","txop_ns":{txop_ns}}}"#);
        let mut bench = Bench::new(&mac, r#"{"loss":0.1}"#, "{}", 1);
        bench.saturate(&Direction::ALL, SECOND);
        let [a, b] = Direction::ALL.map(|d| bench.radio.energy(d, bench.now_ns));
        for energy in [a, b] {
            let total_ns = energy.tx_ns + energy.rx_ns + energy.idle_ns;
            assert!(total_ns >= bench.now_ns && total_ns < bench.now_ns + SECOND / 50);
            let joules = 0.6 * energy.tx_ns as f64 + 0.3 * (energy.rx_ns + energy.idle_ns) as f64;
            assert!((joules / 1e3 - energy.energy_uj as f64).abs() < 1.0);
        }
        // What one hears the other has sent; what both send at once is heard by neither.
        assert!(a.rx_ns <= b.tx_ns && b.rx_ns <= a.tx_ns);
        assert_eq!(
            a.tx_ns - b.rx_ns,
            b.tx_ns - a.rx_ns,
            "{policy}: the time of collisions"
        );
        let airtime_ns: u64 = Direction::ALL
            .map(|d| bench.radio.stats(d).airtime_ns)
            .iter()
            .sum();
        assert_eq!(airtime_ns, a.tx_ns + b.tx_ns, "{policy}");
    }
}
