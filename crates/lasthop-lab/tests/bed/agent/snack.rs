// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme `snack`: an agent at either end of the hop, data in both directions.

use lasthop_lab::bed::transfer::{Transfer, TransferReport};
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::queue::Queue;
use lasthop_lab::data::topology::Family;
use lasthop_lab::data::way::Way;

use super::both::Ends;
use super::{able, able_in_peace, fast_link, resent, run, told};

/// What the hop lost is repaired from the end that sent it, because the other end says so, and little
/// of it comes to the sender's notice.
fn repaired(way: Way, family: Family) -> TransferReport {
    // Nothing brakes who has no losses, and drops of the hop's own queue would be repaired as well:
    // the wire is the bottleneck, and a burst of slow start has room before the hop.
    let mut ends = Ends::start(
        "snack",
        &LinkOptions {
            wired_rate_bps: 20_000_000,
            queue: Queue::Packets(1_000),
            ..fast_link(0.03)
        },
    );
    let transfer = Transfer::new().direction(way).family(family);
    let report = run(&ends.bed, transfer.bytes(8_000_000));
    let (from, to) = match way {
        Way::Down => (0, 1),
        Way::Up => (1, 0),
    };
    let (lost, asked) = (ends.lost(way), ends.count(from, "retransmits_asked"));
    let told = ends.count(to, "told_options") + ends.count(to, "told_messages");
    let by_message = ends.count(to, "told_messages");
    eprintln!(
        "{way:?} {family:?}: lost {lost}, holes {}, told {told} ({by_message} in messages), asked repairs {asked}, all {}, sender resent {}, held {}",
        ends.count(to, "holes"),
        ends.count(from, "local_retransmits"),
        resent(&report),
        ends.count(from, "suppressed_acks"),
    );
    assert!(lost > 100, "the hop lost only {lost}");
    bound!(told * 4 >= lost, "{told} lists for {lost} losses");
    bound!(asked * 10 >= lost * 8, "{asked} repairs for {lost} losses");
    bound!(asked * 2 <= lost * 3, "{asked} repairs for {lost} losses");
    bound!(
        resent(&report) * 4 <= lost,
        "{} for {lost}",
        resent(&report)
    );
    for end in 0..2 {
        assert_eq!(ends.count(end, "retransmit_errors"), 0);
        assert_eq!(ends.count(end, "messages_unsent"), 0);
    }
    report
}

#[test]
fn down_is_repaired_from_the_base() {
    if able_in_peace() {
        repaired(Way::Down, Family::V4);
    }
}

#[test]
fn up_is_repaired_from_the_mobile_end_v6() {
    if able_in_peace() {
        repaired(Way::Up, Family::V6);
    }
}

/// Neither end does anything for the other without a key; nor does the mobile end by itself.
#[test]
fn an_agent_that_is_alone_hides_nothing_of_what_goes_up() {
    if !able() {
        return;
    }
    let mut ends = Ends::start("snack", &fast_link(0.02));
    ends.agents.remove(0).stop().expect("stop");
    super::wait_until("MH's agent finds itself alone", || {
        let peers = super::channel::peers(&ends.bed, Host::Mh);
        (peers[0]["state"] == "silent", format!("{peers:?}"))
    });
    let report = run(
        &ends.bed,
        Transfer::new().direction(Way::Up).bytes(1_000_000),
    );
    assert!(resent(&report) > 0);
    assert_eq!(ends.count(0, "local_retransmits"), 0);
    assert_eq!(ends.count(0, "suppressed_acks"), 0);
}

/// Whose `--role auto` goes by the routes asks them again at a reload, with the rights that it has by then.
#[test]
fn a_role_that_goes_by_the_routes_is_read_again() {
    if !able() {
        return;
    }
    let ends = Ends::start("snack", &fast_link(0.0));
    let lines = told(&ends.bed, "reload");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["reload"], "unchanged", "{lines:?}");
}

/// A queue of one product of rate and round trip before the hop, which is the bottleneck: with
/// `brake` the losses of the air are repaired and not those of the queue, for there are hardly any.
pub(super) fn braked(scheme: &str, settings: &str, way: Way) -> Ends {
    let mut ends = Ends::start_with(scheme, &fast_link(0.03), settings);
    // A first burst may overflow the queue before anything is known of it: little of so much.
    let transfer = Transfer::new().direction(way);
    let report = run(&ends.bed, transfer.bytes(32_000_000));
    let air = ends.bed.emulator_stats().expect("emulator").air;
    let (end, hop) = match way {
        Way::Down => (0, air.a_to_b),
        Way::Up => (1, air.b_to_a),
    };
    let (lost, repairs) = (hop.data_lost, ends.count(end, "local_retransmits"));
    eprintln!(
        "{way:?}: air {lost}, queue {}, repairs {repairs} (asked {}), sender resent {}, edited {}, left {}",
        hop.data_queue_dropped,
        ends.count(end, "retransmits_asked"),
        resent(&report),
        ends.count(end, "windows_edited"),
        ends.count(end, "overflow_suspected"),
    );
    assert!(lost > 100, "the air lost only {lost}");
    bound!(repairs <= lost * 2, "{repairs} for {lost}");
    bound!(repairs * 10 >= lost * 8, "{repairs} for {lost}");
    assert!(ends.count(end, "windows_edited") > 0);
    for end in 0..2 {
        assert_eq!(ends.count(end, "retransmit_errors"), 0);
    }
    ends
}

/// As the brake wants them.
const BRAKED: &str = "brake = true\nsack_mask = true\n";

#[test]
fn with_the_brake_the_hops_queue_does_not_overflow() {
    if able() {
        braked("snack", BRAKED, Way::Down);
    }
}

#[test]
fn with_the_brake_nor_does_it_on_the_way_up() {
    if able() {
        braked("snack", BRAKED, Way::Up);
    }
}
