// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From the command line to stations, bounds and figures.

use super::*;
use crate::data::emulation::air_config;
use crate::data::link::LinkOptions;
use crate::data::way::Way;
use crate::data::words::link as parse;

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
