// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From the command line to stations, bounds and figures.

use super::*;
use crate::emulator::air_config;
use crate::words::link as parse;

#[test]
fn lists_go_round() {
    let link =
        parse("--hosts 3 --host-rate 5mbit,300mbit --host-loss 1%,0% --host-queue bdp,7").unwrap();
    let air = air_config(&link).unwrap();
    air.validate().unwrap();
    for (stations, way) in [
        (&air.a_to_b.stations, Way::Down),
        (&air.b_to_a.stations, Way::Up),
    ] {
        let rates: Vec<_> = stations.iter().map(|s| s.rate_bps.unwrap()).collect();
        assert_eq!(rates, [5_000_000, 300_000_000, 5_000_000]);
        let losses: Vec<_> = stations.iter().map(|s| s.loss.unwrap()).collect();
        assert_eq!(losses, [0.01, 0.0, 0.01]);
        let queues: Vec<_> = stations.iter().map(|s| s.queue_frames.unwrap()).collect();
        assert_eq!(queues, [45, 7, 45]); // 5 Mbit/s × 110 ms / 8 / 1514
        assert_eq!(link.all_queue_packets(way), 97);
    }
    let addresses = &air.a_to_b.stations[2].addresses;
    assert_eq!(format!("{addresses:?}"), "[10.2.0.4, fd02::4]");
    assert_eq!(link.nominal_rate_bps(), 310_000_000);
    assert!((link.mean_random_loss(Way::Down) - 0.02 / 3.0).abs() < 1e-12);
    let summary = link.summary();
    assert!(
        summary.contains("3 hosts of 5mbit/300mbit, loss 1%/0% each"),
        "{summary}"
    );
}

#[test]
fn what_is_not_said_is_that_of_the_hop() {
    let link = parse("--host-rate 5mbit,10mbit --loss 3% --loss-up 0% --queue 9").unwrap();
    assert_eq!(link.hosts.count(), 2);
    let air = air_config(&link).unwrap();
    assert_eq!((air.a_to_b.loss, air.b_to_a.loss), (0.03, 0.0));
    // A change of the hop's loss in mid-run reaches those that have none of their own.
    assert!(air.a_to_b.stations.iter().all(|s| s.loss.is_none()));
    assert_eq!(air.a_to_b.stations[0].queue_frames, Some(9));
    let shared = parse("--hosts 4").unwrap();
    assert!(air_config(&shared).unwrap().a_to_b.stations.is_empty());
    assert_eq!(shared.nominal_rate_bps(), 20_000_000);
    assert_eq!(parse("").unwrap().hosts.summary(), "");
}

#[test]
fn contradictions_name_their_options() {
    for (words, hint) in [
        ("--rate 5mbit --host-rate 5mbit", "--host-rate"),
        (
            "--rate-wave 5mbit,6mbit,1s --host-rate 5mbit",
            "--rate-wave",
        ),
        ("--hosts 2 --host-loss 1%", "--host-rate"),
        ("--hosts 2 --host-queue 7", "--host-rate"),
        ("--hosts 1 --host-rate 5mbit,6mbit", "--hosts 2"),
        ("--host-rate 5mbit --host-loss 1%,2%", "--host-loss"),
        ("--hosts 0", "--hosts"),
        ("--host-rate 5", "5mbit"),
    ] {
        let error = parse(words).unwrap_err();
        assert!(error.contains(hint), "{words}: {error}");
    }
    let link = LinkOptions {
        hosts: HostOptions {
            host_loss: vec![0.5],
            ..HostOptions::default()
        },
        ..LinkOptions::default()
    };
    assert!(link.validate().is_err(), "the library is told, too");
    let two = parse("--host-rate 5mbit,6mbit").unwrap().hosts;
    two.check_flows(2).unwrap();
    let error = two.check_flows(1).unwrap_err().to_string();
    assert!(error.contains("--flows 2"), "{error}");
    let many = parse("--hosts 251").unwrap();
    let error = many.hosts.check_test_bed().unwrap_err().to_string();
    assert!(error.contains("250") && error.contains("ns3"), "{error}");
}

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
