// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Figures of outages from made-up samples, 10 ms apart.

use super::*;
use crate::bed::transfer::sockets::TcpInfo;

const MS: u64 = 1_000_000;
/// Measured from 5 s to 15 s.
const MEASURED_NS: (u64, u64) = (5000 * MS, 15_000 * MS);

fn link(outage: &str) -> LinkOptions {
    LinkOptions {
        outage: Some(outage.parse().unwrap()),
        rtt_ns: 100 * MS,
        ..LinkOptions::default()
    }
}

/// One connection that receives 100 bytes per millisecond, but nothing from 6 s to `resumes_ms`,
/// and less per millisecond for the first 400 ms after that. The window is 40, 1 from the timeout
/// until 100 ms after the resumption, and 20 then, when the sender is open again.
fn moments(resumes_ms: u64, slow: u64) -> Vec<Moment> {
    let bytes = |ms: u64| {
        let early = 100 * ms.min(6000);
        let gone = ms.saturating_sub(resumes_ms);
        early + slow * gone.min(400) + 100 * gone.saturating_sub(400)
    };
    let sender = |ms: u64| {
        let recovering = (6250..resumes_ms + 100).contains(&ms);
        TcpInfo {
            cwnd_segments: match ms {
                _ if recovering => 1,
                ..6250 => 40,
                _ => 20,
            },
            ca_state: if recovering {
                CaState::Loss
            } else {
                CaState::Open
            },
            sent_bytes: bytes(ms) + 4000,
            acked_bytes: bytes(ms),
            ..TcpInfo::default()
        }
    };
    (0..=1500)
        .map(|index| 10 * index)
        .map(|ms| Moment {
            at_ns: ms * MS,
            received_bytes: vec![bytes(ms)],
            senders: vec![Some(sender(ms))],
        })
        .collect()
}

fn of(moments: &[Moment], outage: &str) -> OutageFigures {
    figures(moments, &link(outage), MEASURED_NS, true)
}

#[test]
fn an_outage_and_its_recovery() {
    let figures = of(&moments(6600, 50), "6s,300ms");
    assert_eq!(figures.cwnd_before, Some(40));
    assert_eq!(figures.cwnd_least, Some(1));
    assert_eq!(figures.cwnd_left, Some(20));
    // The first look after 6.6 s that sees bytes.
    assert_eq!(figures.pause_ns, Some(610 * MS));
    // Of a window of 500 ms that begins x after the resumption, 400 - x are at half the rate:
    // 90 % from x = 300 on, which is 600 ms after the outage.
    assert_eq!(figures.recovery_ns, Some(600 * MS));
}

#[test]
fn a_window_is_never_shorter_than_two_round_trips() {
    let slow_path = LinkOptions {
        rtt_ns: 1000 * MS,
        ..link("6s,300ms")
    };
    let figures = figures(&moments(6600, 50), &slow_path, MEASURED_NS, true);
    // Of 2 s, 400 ms at half the rate are 90 %: no waiting, once bytes come at all.
    assert_eq!(figures.recovery_ns, Some(300 * MS));
    let mut flows = link("6s,300ms");
    flows.variation.flow_rtt_ns = vec![100 * MS, 1000 * MS];
    assert_eq!(window_ns(&flows), 2000 * MS);
}

/// As Reno without SACK after a timeout that the kernel took for spurious: open for a moment,
/// the old window back, before the losses are found.
#[test]
fn a_timeout_taken_back_is_no_recovery() {
    let mut moments = moments(6600, 50);
    for moment in &mut moments[661..664] {
        let sender = moment.senders[0].as_mut().unwrap();
        (sender.ca_state, sender.cwnd_segments) = (CaState::Open, 40);
        assert!(sender.acked_bytes > 600_000, "progress");
    }
    assert_eq!(of(&moments, "6s,300ms").cwnd_left, Some(20));
}

#[test]
fn an_outage_that_the_sender_does_not_notice() {
    let mut moments = moments(6050, 100);
    for moment in &mut moments {
        let sender = moment.senders[0].as_mut().unwrap();
        (sender.ca_state, sender.cwnd_segments) = (CaState::Open, 40);
    }
    let figures = of(&moments, "6s,50ms");
    assert_eq!(figures.cwnd_before, Some(40));
    assert_eq!(figures.cwnd_least, Some(40));
    assert_eq!(figures.cwnd_left, Some(40));
    assert_eq!(figures.pause_ns, Some(60 * MS));
    assert_eq!(figures.recovery_ns, Some(0));
}

#[test]
fn outages_in_the_warm_up_do_not_count() {
    let moments = moments(6600, 50);
    assert_eq!(of(&moments, "4s,300ms"), OutageFigures::default());
    assert_eq!(of(&moments, "15s,300ms"), OutageFigures::default());
    // The second one is the first that begins in time.
    assert_eq!(of(&moments, "2s,300ms,4s"), of(&moments, "6s,300ms,4s"));
    let all = figures(&moments, &link("6s,300ms"), (6001 * MS, 15_000 * MS), true);
    assert_eq!(all, OutageFigures::default());
}

#[test]
fn what_never_recovers_is_null() {
    // Nothing arrives any more.
    let dead = of(&moments(20_000, 0), "6s,300ms");
    assert_eq!(dead.cwnd_before, Some(40));
    assert_eq!(dead.cwnd_least, Some(1));
    assert_eq!(
        (dead.cwnd_left, dead.pause_ns, dead.recovery_ns),
        (None, None, None)
    );
    // Bytes arrive, but half a second before the measured time ends there are too few.
    let late = of(&moments(14_500, 50), "6s,300ms");
    assert_eq!(late.pause_ns, Some(8510 * MS));
    assert_eq!(late.recovery_ns, None);
    assert_eq!(late.cwnd_least, Some(1));
}

#[test]
fn the_next_outage_ends_the_figures() {
    let figures = of(&moments(6600, 50), "6s,300ms,1200ms");
    assert_eq!(figures.pause_ns, Some(610 * MS));
    assert_eq!(
        figures.recovery_ns, None,
        "no window of 500 ms before 7.2 s is full enough"
    );
    assert_eq!(figures.cwnd_left, Some(20));
}

#[test]
fn an_outage_that_outlasts_the_measured_time() {
    let figures = of(&moments(20_000, 0), "14s,3s");
    assert_eq!(
        (figures.cwnd_before, figures.cwnd_least),
        (Some(1), Some(1))
    );
    assert_eq!(
        (figures.cwnd_left, figures.pause_ns, figures.recovery_ns),
        (None, None, None)
    );
}

#[test]
fn windows_are_those_of_a_single_connection() {
    let figures = figures(&moments(6600, 50), &link("6s,300ms"), MEASURED_NS, false);
    assert_eq!(figures.cwnd_before, None);
    assert_eq!(figures.cwnd_least, None);
    assert_eq!(figures.cwnd_left, None);
    assert_eq!(
        figures.recovery_ns,
        Some(600 * MS),
        "the goodput is that of all"
    );
}

#[test]
fn without_samples_or_outages_there_is_nothing_to_say() {
    assert_eq!(of(&[], "6s,300ms"), OutageFigures::default());
    let calm = LinkOptions::default();
    let none = figures(&moments(6600, 50), &calm, MEASURED_NS, true);
    assert_eq!(none, OutageFigures::default());
    // Not connected yet, and nothing received: nothing to compare with.
    let mut idle = moments(6600, 50);
    for moment in &mut idle {
        (moment.received_bytes, moment.senders) = (vec![0], vec![None]);
    }
    assert_eq!(of(&idle, "6s,300ms"), OutageFigures::default());
}
