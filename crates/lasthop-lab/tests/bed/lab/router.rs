// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! End to end without any agent: the plain router must carry every byte, and the bed must be what
//! it says.

use std::time::Duration;

use lasthop_lab::bed::counters::kernel_counter;
use lasthop_lab::bed::emulator;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::sockets::SocketLimits;
use lasthop_lab::bed::transfer::{Transfer, TransferReport};
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::profile::Profile;
use lasthop_lab::data::switch::{Gro, Switch};
use lasthop_lab::data::topology::Family;
use lasthop_lab::data::way::{Opener, Way};
use serde_json::json;

fn link(loss: f64) -> LinkOptions {
    LinkOptions {
        rate_bps: 50_000_000,
        rtt_ns: 20_000_000,
        loss,
        ..LinkOptions::default()
    }
}

fn run(bed: &TestBed, transfer: Transfer) -> TransferReport {
    let report = transfer.start(bed).unwrap().wait().unwrap();
    assert!(report.content_ok(), "{:?}", report.first_failure());
    let stats = bed.emulator_stats().unwrap();
    assert_eq!(emulator::distortion(&stats), None);
    report
}

#[test]
fn twenty_megabytes_without_loss() {
    if super::skipped("twenty_megabytes_without_loss") {
        return;
    }
    let bed = TestBed::up(&link(0.0)).unwrap();
    let report = run(&bed, Transfer::new().bytes(20_000_000));
    let air = bed.emulator_stats().unwrap().air.a_to_b;
    assert_eq!(report.total_bytes(), 20_000_000);
    assert_eq!(air.data_lost, 0);
    // Nothing is lost but at the queue, and every such loss is repaired by the sender.
    let resent = report.flows[0].retransmits;
    assert!(resent >= air.data_queue_dropped, "{resent} resent, {air:?}");
    let mbit = 160.0 * 1e9 / report.completion_ns().unwrap() as f64;
    assert!((5.0..50.0).contains(&mbit), "{mbit} Mbit/s over 50 Mbit/s");
}

#[test]
fn five_percent_loss_both_ways_both_families_both_openers() {
    if super::skipped("five_percent_loss") {
        return;
    }
    let bed = TestBed::up(&link(0.05)).unwrap();
    let mut lost = [0, 0];
    for way in [Way::Down, Way::Up] {
        for family in [Family::V4, Family::V6] {
            for opener in [Opener::Fh, Opener::Mh] {
                let transfer = Transfer::new().direction(way).family(family).opener(opener);
                let report = run(&bed, transfer.bytes(1_000_000));
                assert!(report.flows[0].retransmits > 0);
            }
        }
        let air = bed.emulator_stats().unwrap().air;
        lost = [air.a_to_b.data_lost, air.b_to_a.data_lost];
    }
    // Four transfers of 700 frames each way.
    assert!(lost.iter().all(|lost| (80..250).contains(lost)), "{lost:?}");
}

#[test]
fn same_seed_loses_the_same_frames() {
    if super::skipped("same_seed_loses_the_same_frames") {
        return;
    }
    // Data loss only and a paced sender far below the rate: then the first losses do not depend
    // on timing, and neither does which bytes they hit.
    let lost = |seed| {
        let link = LinkOptions {
            loss_up: Some(0.0),
            seed,
            ..link(0.02)
        };
        let bed = TestBed::up(&link).unwrap();
        run(&bed, Transfer::new().bytes(2_000_000).cc("reno"));
        let air = bed.emulator_stats().unwrap().air.a_to_b;
        (air.received_frames, air.lost_frames)
    };
    let (frames, once) = lost(3);
    let (_, again) = lost(3);
    // The number of frames may differ by a spurious retransmission or two, and with it the last
    // losses.
    assert!(once.abs_diff(again) <= 2, "{once} and {again} of {frames}");
}

#[test]
fn round_trip_is_what_was_asked_for() {
    if super::skipped_alone("round_trip") {
        return;
    }
    let link = LinkOptions {
        rtt_ns: 60_000_000,
        ..link(0.0)
    };
    let bed = TestBed::up(&link).unwrap();
    for (family, address) in [("-4", "10.2.0.2"), ("-6", "fd02::2")] {
        let running = Transfer::new()
            .family(if family == "-4" {
                Family::V4
            } else {
                Family::V6
            })
            .bytes(10_000)
            .start(&bed)
            .unwrap();
        let report = running.wait().unwrap();
        // Handshake, and the initial window of 10 segments: two round trips.
        let ms = report.completion_ns().unwrap() as f64 / 1e6;
        assert!(
            (88.0..160.0).contains(&ms),
            "{address}: {ms} ms to the last byte"
        );
    }
}

#[test]
fn vintage_sender_is_held_by_its_window() {
    if super::skipped("vintage") {
        return;
    }
    let link = LinkOptions {
        profile: Profile::Vintage,
        rtt_ns: 100_000_000,
        ..link(0.0)
    };
    let bed = TestBed::up(&link).unwrap();
    let running = Transfer::new()
        .cc("reno")
        .duration(Duration::from_secs(4))
        .start(&bed)
        .unwrap();
    running.wait_for_bytes(1_000_000).unwrap();
    let begin = running.snapshot();
    let report = running.wait().unwrap();
    assert!(report.content_ok());
    // 64 KiB per 100 ms are 5.2 Mbit/s.
    let bytes = report.total_bytes() - begin.total_bytes();
    let mbit = bytes as f64 * 8000.0 / (report.elapsed_ns - begin.at_ns) as f64;
    assert!((4.0..5.4).contains(&mbit), "{mbit} Mbit/s");
    let route = bed
        .command(Host::Fh, &["ip", "route", "show", "default"])
        .unwrap();
    assert!(
        route.contains("rto_min lock 500ms") && route.contains("initcwnd 2"),
        "{route}"
    );
}

/// The set-up of the paper of 1995: short segments, and a window of a few of them.
#[test]
fn segments_and_windows_are_as_small_as_asked_for() {
    if super::skipped("segments_and_windows") {
        return;
    }
    for profile in [Profile::Modern, Profile::Vintage, Profile::Linux24] {
        for window_bytes in [9_000, 200_000] {
            let bed = TestBed::up(&LinkOptions {
                profile,
                rtt_ns: 40_000_000,
                ..link(0.0)
            })
            .unwrap();
            let limits = SocketLimits {
                mss_bytes: Some(446),
                window_bytes: Some(window_bytes),
            };
            let bytes = 15 * u64::from(window_bytes);
            let transfer = Transfer::new().limits(limits).cc("reno").bytes(bytes);
            let report = run(&bed, transfer.watch(Duration::from_millis(5)));
            let seen = report.moments.iter().filter_map(|m| m.senders[0]);
            let widest = seen.map(|sender| sender.window_bytes).max().unwrap();
            let wanted = match profile {
                Profile::Modern => window_bytes,
                Profile::Vintage | Profile::Linux24 => window_bytes.min(65_535), // no window scaling
            };
            assert!(widest <= wanted, "{profile:?}: {widest} of {wanted} bytes");
            assert!(
                widest >= wanted / 10 * 9,
                "{profile:?}: {widest} of {wanted} bytes"
            );
            let air = bed.emulator_stats().unwrap().air.a_to_b;
            let per_frame = bytes / air.data_received.max(1);
            assert!(
                (400..=446).contains(&per_frame),
                "{per_frame} bytes per frame"
            );
        }
    }
}

/// BS forwards fewer packets than the hop carries frames exactly when it sees super-packets; the
/// hop's emulator counts none that is oversize, so they are cut up after BS' egress hook.
#[test]
fn gro_shows_super_packets_at_bs() {
    if super::skipped("gro") {
        return;
    }
    let frames_per_packet = |gro| {
        let bed = TestBed::up(&LinkOptions { gro, ..link(0.0) }).unwrap();
        let bs = bed.namespace(Host::Bs);
        run(&bed, Transfer::new().bytes(10_000_000));
        let forwarded = kernel_counter(bs, "snmp", "Ip", "ForwDatagrams").unwrap();
        let air = bed.emulator_stats().unwrap().air;
        let frames = air.a_to_b.received_frames + air.b_to_a.received_frames;
        assert!(forwarded > 0);
        frames as f64 / forwarded as f64
    };
    let (off, on) = (frames_per_packet(Gro::Off), frames_per_packet(Gro::On));
    assert!(off < 1.01, "GRO off, but {off} frames per forwarded packet");
    assert!(
        on > 1.2,
        "GRO on, but only {on} frames per forwarded packet"
    );
}

/// Segments leave BS with unfinished checksums then, merged ones above all; with segmentation left
/// to the devices, too, super-packets go as they are, and the emulators cut them.
#[test]
fn offloads_corrupt_nothing() {
    if super::skipped("offloads") {
        return;
    }
    for family in [Family::V4, Family::V6] {
        for segmentation_offload in [Switch::Off, Switch::On] {
            let offload = LinkOptions {
                gro: Gro::On,
                checksum_offload: Switch::On,
                segmentation_offload,
                ..link(0.005)
            };
            let bed = TestBed::up(&offload).unwrap();
            run(&bed, Transfer::new().bytes(3_000_000).family(family));
            let mh = bed.namespace(Host::Mh);
            let wrong = kernel_counter(mh, "snmp", "Tcp", "InCsumErrors").unwrap();
            assert_eq!(wrong, 0, "segments with wrong checksums at MH");
            let frames = bed.emulator_stats().unwrap().wan.a_to_b.received_frames;
            let per_packet = frames as f64 / packets_sent(&bed, Host::Fh, "eth0") as f64;
            match segmentation_offload {
                Switch::On => assert!(per_packet > 1.5, "only {per_packet} frames per packet"),
                Switch::Off => assert!(per_packet < 1.01, "{per_packet} frames per packet"),
            }
        }
    }
}

/// What a host has handed to its device, a super-packet counting once.
fn packets_sent(bed: &TestBed, host: Host, device: &str) -> u64 {
    let words = ["ip", "-j", "-s", "link", "show", device];
    let links: serde_json::Value =
        serde_json::from_str(&bed.command(host, &words).unwrap()).unwrap();
    links[0]["stats64"]["tx"]["packets"].as_u64().unwrap()
}

#[test]
fn two_hundred_flows() {
    if super::skipped("two_hundred_flows") {
        return;
    }
    let bed = TestBed::up(&link(0.01)).unwrap();
    let report = run(&bed, Transfer::new().flows(200).bytes(50_000));
    assert_eq!(report.flows.len(), 200);
    assert_eq!(report.total_bytes(), 200 * 50_000);
}

#[test]
fn device_down_unplugged_and_back_in_mid_transfer() {
    if super::skipped("device") {
        return;
    }
    let bed = TestBed::up(&link(0.0)).unwrap();
    let running = Transfer::new().bytes(10_000_000).start(&bed).unwrap();
    running.wait_for_bytes(1_000_000).unwrap();
    bed.lossy_down().unwrap();
    bed.lossy_up().unwrap();
    running.wait_for_bytes(4_000_000).unwrap();
    bed.lossy_unplug().unwrap();
    bed.lossy_plug().unwrap();
    let report = running.wait().unwrap();
    assert!(report.content_ok(), "{:?}", report.first_failure());
    assert!(bed.emulator_stats().unwrap().air.interface_downs >= 1);
}

/// A reset in the middle is missing content, not a shorter transfer.
#[test]
fn a_cut_off_stream_is_noticed() {
    if super::skipped("cut") {
        return;
    }
    let bed = TestBed::up(&link(0.0)).unwrap();
    let running = Transfer::new().bytes(50_000_000).start(&bed).unwrap();
    running.wait_for_bytes(1_000_000).unwrap();
    bed.command(Host::Mh, &["ss", "--kill", "--tcp", "state", "established"])
        .unwrap();
    let report = running.wait().unwrap();
    assert!(!report.content_ok());
    assert!(report.first_failure().is_some());
    assert_eq!(report.completion_ns(), None);
}

#[test]
fn links_change_at_run_time_and_the_deadline_holds() {
    if super::skipped("run time") {
        return;
    }
    let bed = TestBed::up(&link(0.0)).unwrap();
    let running = Transfer::new()
        .bytes(100_000_000)
        .deadline(Duration::from_secs(2))
        .start(&bed)
        .unwrap();
    running.wait_for_bytes(100_000).unwrap();
    bed.set_air(&json!({"dir": "a_to_b", "loss": 1.0})).unwrap();
    assert!(bed.set_air(&json!({"dir": "a_to_b", "nosuch": 1})).is_err());
    let report = running.wait().unwrap();
    let failure = report.first_failure().unwrap();
    assert!(failure.contains("within the deadline"), "{failure}");
}
