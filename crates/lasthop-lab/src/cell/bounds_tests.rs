// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Bounds and figures of several receivers, of links as the command line says them.

use super::*;
use crate::data::emulation::air_config;
use crate::data::topology::Family;
use crate::data::words::link as parse;

#[test]
fn bounds_of_own_links_and_of_a_common_one() {
    let own = parse("--host-rate 5mbit,300mbit --host-loss 2%,0% --hosts 3").unwrap();
    let full = own.full_segment(Family::V4, None);
    let share = 1448.0 / 1514.0;
    let bounds = Bounds::new(&own, full, Way::Down, None, 2);
    assert!((bounds.hosts_bps[0] - 5e6 * 0.98 * share).abs() < 1.0);
    assert!((bounds.hosts_bps[1] - 300e6 * share).abs() < 1.0);
    // The third host has no flow.
    let used: f64 = bounds.hosts_bps[..2].iter().sum();
    assert!((bounds.total_bps - used).abs() < 1.0);
    let wired = LinkOptions {
        wired_rate_bps: 100_000_000,
        ..own
    };
    let bounds = Bounds::new(&wired, full, Way::Down, None, 3);
    assert_eq!(bounds.total_bps, 100e6 * share);

    let common = parse("--hosts 2 --loss 0%").unwrap();
    let bounds = Bounds::new(&common, full, Way::Down, None, 3);
    assert!((bounds.hosts_bps[0] - 20e6 * share * 2.0 / 3.0).abs() < 1.0);
    assert!((bounds.hosts_bps.iter().sum::<f64>() - bounds.total_bps).abs() < 1.0);
}

#[test]
fn flows_go_over_the_hosts_in_turn() {
    assert_eq!(sums_by_host(&[1, 10, 100, 1000, 10_000], 2), [10_101, 1010]);
    let sample = |connection, rtt_us| RttSample {
        at_ns: 5,
        connection,
        rtt_us,
    };
    // Three flows, two transfers each.
    let samples =
        [(0, 1000), (1, 2000), (2, 3000), (3, 4000), (4, 5000)].map(|(c, us)| sample(c, us));
    let of = |percent| rtt_by_host_ms(&samples, 0, 3, 2, percent);
    assert_eq!(of(100.0), [Some(4.0), Some(5.0)]);
    assert_eq!(of(1.0), [Some(1.0), Some(2.0)]);
    assert_eq!(rtt_by_host_ms(&samples, 6, 3, 2, 50.0), [None, None]);
}

#[test]
fn bounds_of_uploads_heed_the_rate() {
    let link = parse("--rate-up 2mbit --loss 0%").unwrap();
    let full = link.full_segment(Family::V4, None);
    let bounds = |link: &LinkOptions, way| Bounds::new(link, full, way, None, 2).total_bps;
    let share = full.payload_share();
    assert!((bounds(&link, Way::Up) - 2e6 * share).abs() < 1.0);
    assert!((bounds(&link, Way::Down) - 20e6 * share).abs() < 1.0);
    let own = parse("--host-rate 5mbit,50mbit --rate-up 2mbit --queue-up 9 --loss 0%").unwrap();
    assert!((bounds(&own, Way::Up) - 4e6 * share).abs() < 1.0);
    let stations = air_config(&own).unwrap().b_to_a.stations;
    let up = stations.iter().map(|s| (s.rate_bps, s.queue_frames));
    assert!(up.eq([(Some(2_000_000), Some(9)); 2]));
}

#[test]
fn bounds_go_by_the_mean_rate_and_not_by_the_queue() {
    let bound = |words: &str, way| {
        let link = parse(words).unwrap();
        measure::bound_bps(&link, link.full_segment(Family::V4, None), way, 0.0)
    };
    let wave = bound("--rate-wave 30mbit,10mbit,2s", Way::Down);
    let sized = bound("--rate-wave 30mbit,10mbit,2s --rate 40mbit", Way::Down);
    assert_eq!((wave, sized), (bound("", Way::Down), wave));
    // Ten full frames every 20 ms down, and what is said up.
    let file = tempfile::NamedTempFile::new().unwrap();
    let lines: String = (1..=10).map(|i| format!("{}\n", 2 * i)).collect();
    std::fs::write(file.path(), lines).unwrap();
    let words = format!("--rate-trace {} --rate 15mbit", file.path().display());
    let payload = 1448.0 / 1514.0;
    assert!((bound(&words, Way::Down) - 6_056_000.0 * payload).abs() < 1.0);
    assert!((bound(&words, Way::Up) - 15_000_000.0 * payload).abs() < 1.0);
}
