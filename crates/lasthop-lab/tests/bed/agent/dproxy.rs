// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme `dproxy`: two proxies around the hop, whose receiver sees everything in order.

use lasthop_lab::bed::counters::kernel_counter;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::{Transfer, TransferReport};
use lasthop_lab::data::burst::Burst;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::queue::Queue;
use lasthop_lab::data::switch::{Gro, Switch};
use lasthop_lab::data::topology::Family;
use lasthop_lab::data::way::Way;

use super::both::Ends;
use super::{PATIENCE, able, able_alone, check, fast_link, resent, run};

/// A hop that loses so much of what goes either way, in bursts of three on the average; the wire is the
/// bottleneck, so that no queue before the hop overflows.
fn link(loss: f64) -> LinkOptions {
    let burst = Burst {
        loss,
        mean_packets: 3.0,
    };
    LinkOptions {
        wired_rate_bps: 20_000_000,
        queue: Queue::Packets(1_000),
        burst: Some(burst),
        burst_up: Some(burst),
        ..fast_link(0.0)
    }
}

/// A counter of the receiver's kernel.
fn of_receiver(bed: &TestBed, way: Way, name: &str) -> u64 {
    let host = match way {
        Way::Down => Host::Mh,
        Way::Up => Host::Fh,
    };
    kernel_counter(bed.namespace(host), "netstat", "TcpExt", name).expect("netstat")
}

/// The ends from which and to which data go.
fn ends(way: Way) -> (usize, usize) {
    match way {
        Way::Down => (0, 1),
        Way::Up => (1, 0),
    }
}

/// Segments that went past that end's agent, whose flow was busy on another processor for milliseconds: a
/// virtual one that was taken from the machine. Each may be out of order, and be asked for and so come
/// twice. They are few.
fn passed(hop: &mut Ends, end: usize) -> u64 {
    let past = hop.count(end, "bypass_lock");
    let segments = hop.count(end, "data_segments") + hop.count(end, "ack_segments");
    bound!(past * 100 <= segments, "{past} of {segments} passed");
    past
}

/// A transfer over a hop that loses so much: every byte right, and the receiver sees in order what was
/// not given up.
fn repaired(way: Way, family: Family, loss: f64, bytes: u64) -> TransferReport {
    let mut hop = Ends::start("dproxy", &link(loss));
    let transfer = Transfer::new().direction(way).family(family);
    let report = run(&hop.bed, transfer.bytes(bytes));
    let (from, to) = ends(way);
    let lost = hop.lost(way);
    let counts = [
        "holes",
        "holes_given_up",
        "holes_absent",
        "holes_untold",
        "waited",
        "sequenced",
        "unsequenced",
        "overcrowded",
        "copies_dropped",
        "told_messages",
    ];
    let counts = counts.map(|name| (name, hop.count(to, name)));
    let late = of_receiver(&hop.bed, way, "TCPOFOQueue");
    let twice = of_receiver(&hop.bed, way, "TCPDSACKOldSent");
    let repairs = hop.count(from, "retransmits_asked");
    let past = passed(&mut hop, to);
    eprintln!(
        "{way:?} {family:?} {loss}: lost {lost}, repairs {repairs}, {counts:?}, out of order {late}, twice {twice}, sender resent {}, {past} passed",
        resent(&report)
    );
    let of = |name: &str| counts.iter().find(|c| c.0 == name).expect("a name").1;
    bound!(repairs * 10 >= lost * 7, "{repairs} for {lost}");
    bound!(repairs * 10 <= lost * 13, "{repairs} for {lost}");
    assert_eq!(of("waited"), of("sequenced"));
    assert_eq!(of("unsequenced"), 0);
    let given_up = of("holes_given_up") + of("holes_untold");
    if given_up == 0 {
        assert!(
            late <= past,
            "{late} out of order though nothing was given up, {past} passed"
        );
    }
    if loss <= 0.05 {
        bound!(given_up * 10 <= lost, "{given_up} given up of {lost}");
        // A repair that a busy machine delays is given up, comes after all, and from the sender, too.
        let agents = twice.saturating_sub(resent(&report));
        bound!(
            agents * 50 <= lost + past * 50,
            "{agents} came twice by the agents, {lost} lost, {past} passed"
        );
    }
    for end in 0..2 {
        assert_eq!(hop.count(end, "retransmit_errors"), 0);
        assert_eq!(hop.count(end, "release_errors"), 0);
        assert_eq!(hop.count(end, "messages_unsent"), 0);
        assert_eq!(hop.count(end, "suppressed_acks"), 0);
        assert_eq!(hop.count(end, "windows_edited"), 0);
    }
    report
}

#[test]
fn down_at_one_and_five_percent() {
    if able_alone() {
        repaired(Way::Down, Family::V4, 0.01, 16_000_000);
        repaired(Way::Down, Family::V6, 0.05, 8_000_000);
    }
}

#[test]
fn up_at_one_and_five_percent() {
    if able_alone() {
        repaired(Way::Up, Family::V6, 0.01, 16_000_000);
        repaired(Way::Up, Family::V4, 0.05, 8_000_000);
    }
}

#[test]
fn at_ten_and_twenty_percent() {
    if able() {
        repaired(Way::Down, Family::V4, 0.1, 4_000_000);
        repaired(Way::Up, Family::V4, 0.2, 1_000_000);
    }
}

/// Super-packets from both sides, and checksums that devices were to finish.
#[test]
fn super_packets_and_unfinished_checksums() {
    if !able() {
        return;
    }
    let mut hop = Ends::start(
        "dproxy",
        &LinkOptions {
            gro: Gro::On,
            checksum_offload: Switch::On,
            ..link(0.02)
        },
    );
    for way in [Way::Down, Way::Up] {
        run(&hop.bed, Transfer::new().direction(way).bytes(4_000_000));
        let (_, to) = ends(way);
        assert!(hop.count(to, "sequenced") > 100);
        assert_eq!(hop.count(to, "release_errors"), 0);
    }
}

/// Both ways at once on one hop.
#[test]
fn both_ways_at_once() {
    if !able() {
        return;
    }
    let mut hop = Ends::start("dproxy", &link(0.03));
    let start = |way| {
        let transfer = Transfer::new().direction(way).bytes(4_000_000).flows(3);
        transfer
            .deadline(PATIENCE)
            .start(&hop.bed)
            .expect("transfer")
    };
    let running = [start(Way::Down), start(Way::Up)];
    for transfer in running {
        check(&transfer.wait().expect("transfer"));
    }
    for end in 0..2 {
        assert!(hop.count(end, "sequenced") > 100);
    }
}

/// More flows than packets that may wait: nobody does, and nothing is lost by that.
#[test]
fn two_hundred_flows_overflow_the_buffer() {
    if !able() {
        return;
    }
    let mut hop = Ends::start("dproxy", &link(0.05));
    run(&hop.bed, Transfer::new().flows(200).bytes(100_000));
    let (crowded, passed) = (hop.count(1, "overcrowded"), hop.count(1, "unsequenced"));
    eprintln!("overcrowded {crowded}, unsequenced {passed}");
    assert!(crowded + passed > 0);
}

/// Either proxy dies in mid-transfer, and another one takes its place.
#[test]
fn either_proxy_may_die() {
    if !able() {
        return;
    }
    for end in 0..2 {
        let bytes = 12_000_000;
        let mut hop = Ends::start("dproxy", &link(0.03));
        let transfer = Transfer::new().bytes(bytes).deadline(PATIENCE);
        let running = transfer.start(&hop.bed).expect("transfer");
        running.wait_for_bytes(bytes / 4).expect("a quarter");
        hop.agents.remove(end).kill().expect("kill");
        running.wait_for_bytes(bytes / 3).expect("a third");
        hop.start_again(end);
        check(&running.wait().expect("the rest"));
        let repairs = hop.count(0, "retransmits_asked");
        assert!(
            repairs > 20,
            "{repairs} asked for after end {end} came back"
        );
        assert!(hop.count(1, "sequenced") > 20);
    }
}
