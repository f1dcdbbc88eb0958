// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Made-up soaks: a good one passes, and each leak and each failure is found.

use super::*;

const HOUR_S: f64 = 3600.0;
const MIB: u64 = 1 << 20;

/// Conditions, each with what has just that one fail.
type Spoils<T> = [(&'static str, fn(&mut T)); 6];

/// An hour with a sample every 5 s, a reload every minute that takes memory for 10 s, and what `more`
/// adds to each.
fn course(more: impl Fn(&mut Sample)) -> Course {
    let sample = |index: u64| {
        let at_s = index as f64 * 5.0;
        let loads = index % 12 < 2;
        let noise = (index * 7919 % 13) * 4096;
        let mut sample = Sample {
            at_s,
            pid: 1,
            flows: 4_000,
            slots: 300,
            rss_bytes: 24 * MIB + noise + if loads { 30 * MIB } else { 0 },
            anonymous_bytes: 6 * MIB + noise + if loads { 20 * MIB } else { 0 },
            maps_bytes: 200 * MIB,
            fds: 31 + u64::from(loads),
            heartbeat_age_ms: 500,
            ..Sample::default()
        };
        more(&mut sample);
        sample
    };
    let mut rest = Sample {
        at_s: HOUR_S + 30.0,
        ..Sample::default()
    };
    rest.counters.packets = 50_000_000;
    rest.counters.local_retransmits = 100_000;
    (rest.counters.flows_created, rest.counters.flows_removed) = (3_600_000, 3_600_000);
    more(&mut rest);
    let mut tally = Tally::default();
    (tally.opened, tally.finished) = (3_602_000, 3_602_000);
    Course {
        samples: (0..720).map(sample).collect(),
        rest,
        tally,
        load_s: HOUR_S,
        reloads: 60,
        take_overs: 4,
        outages: 180,
        ..Course::default()
    }
}

fn failed(course: &Course) -> Vec<&'static str> {
    let failed = judge(course).into_iter().filter(|c| !c.met);
    failed.map(|c| c.what).collect()
}

#[test]
fn a_good_one_passes() {
    assert_eq!(failed(&course(|_| ())), [""; 0]);
}

#[test]
fn a_byte_per_connection_is_found() {
    // A thousand new ones per second: 1.7 MiB in the second half.
    let leaking = course(|s| {
        let leak = (s.at_s * 1_000.0) as u64;
        s.rss_bytes += leak;
        s.anonymous_bytes += leak;
    });
    assert_eq!(
        failed(&leaking),
        ["RSS, growth in KiB", "anonymous, growth in KiB"]
    );
    // It stops growing at half-time: what a heap needs to come to its size.
    let settles = course(|s| {
        s.anonymous_bytes += (s.at_s.min(HOUR_S / 2.0) * 1_000.0) as u64;
    });
    assert_eq!(failed(&settles), [""; 0]);
}

#[test]
fn a_descriptor_per_reload_is_found() {
    let leaking = course(|s| s.fds += (s.at_s / 60.0) as u64);
    assert_eq!(failed(&leaking), ["descriptors, growth"]);
}

/// Pools grow with need and shrink again; what they don't give back is found.
#[test]
fn an_area_of_a_pool_that_stays_is_found() {
    let needs = course(|s| {
        s.maps_bytes += if s.at_s < 140.0 { 0 } else { 40 * MIB };
        s.maps_bytes += u64::from(s.at_s % 500.0 < 30.0) * 4 * MIB;
    });
    assert_eq!(failed(&needs), [""; 0]);
    let leaking = course(|s| s.maps_bytes += (s.at_s / 600.0) as u64 * 4 * MIB);
    assert_eq!(failed(&leaking), ["maps, growth in bytes"]);
}

#[test]
fn what_does_not_come_back_is_found() {
    let parts: Spoils<Sample> = [
        ("flows at rest", |s| s.flows = 1),
        ("slots at rest", |s| s.slots = 32),
        ("chunks at rest", |s| s.chunks = 1),
        ("flows not given back", |s| s.counters.flows_removed -= 1),
        ("bypass_lock", |s| s.counters.bypass_lock = 52),
        ("repairs not sent", |s| s.counters.retransmit_errors = 3),
    ];
    for (what, spoil) in parts {
        let mut course = course(|_| ());
        spoil(&mut course.rest);
        assert_eq!(failed(&course), [what]);
    }
    let mut underflow = course(|_| ());
    underflow.rest.slots = u64::MAX; // given back twice
    assert_eq!(failed(&underflow), ["slots at rest"]);
}

#[test]
fn failures_of_the_load_are_found() {
    let parts: Spoils<Course> = [
        ("content errors", |c| c.tally.content_errors = 1),
        ("resets", |c| c.tally.resets = 1),
        ("unfinished connections", |c| c.tally.finished -= 1),
        ("failed reloads", |c| c.failed_reloads = 1),
        ("take-overs", |c| c.take_overs = 0),
        ("oldest heartbeat, ms", |c| {
            c.samples[9].heartbeat_age_ms = 2_500
        }),
    ];
    for (what, spoil) in parts {
        let mut course = course(|_| ());
        spoil(&mut course);
        assert_eq!(failed(&course), [what]);
    }
}

#[test]
fn too_few_samples_judge_nothing_well() {
    let mut short = course(|_| ());
    short.samples.truncate(364);
    assert!(failed(&short).contains(&"RSS, growth in KiB"));
    assert_eq!(growth(&[]), None);
}

#[test]
fn the_floor_of_a_series_counts() {
    let series = |of: fn(f64) -> f64| (0..100).map(|i| (f64::from(i), of(f64::from(i)))).collect();
    let peaks: Vec<(f64, f64)> = series(|x| if x as u32 % 5 == 0 { 10.0 } else { 1e9 });
    assert_eq!(growth(&peaks), Some(0.0));
    let rises: Vec<(f64, f64)> = series(|x| 5.0 + x * 2.0);
    assert!((growth(&rises).unwrap() - 198.0).abs() < 1.0);
    let falls: Vec<(f64, f64)> = series(|x| 500.0 - x);
    assert!(growth(&falls).unwrap() < -90.0);
}
