// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Several lossy hops in a row, each with its own pair of proxies.

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::counters::kernel_counter;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::ends::Agents;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::queue::Queue;
use lasthop_lab::data::topology::Family;
use lasthop_lab::data::way::Way;

use super::{able, counter, fast_link, resent, run};

const HOPS: usize = 3;

/// Three hops of 10 ms that lose 3 % each of what goes either way; the wire is the bottleneck, so that
/// no queue before a hop overflows.
fn link() -> LinkOptions {
    LinkOptions {
        rtt_ns: 50_000_000,
        hops: HOPS as u8,
        wired_rate_bps: 20_000_000,
        queue: Queue::Packets(1_000),
        ..fast_link(0.03)
    }
}

/// A counter of the agent at each hop's end from which data go, and at that to which they go.
fn counts(agents: &mut [AgentHandle], way: Way, name: &str) -> [(u64, u64); HOPS] {
    let mut each = agents.iter_mut().map(|agent| counter(agent, name));
    [(); HOPS].map(|()| {
        let base = each.next().expect("the base's");
        let mobile = each.next().expect("the mobile end's");
        match way {
            Way::Down => (base, mobile),
            Way::Up => (mobile, base),
        }
    })
}

/// Every byte right; each hop's losses are repaired on that hop; and the receiver sees in order what
/// no hop gave up.
fn repaired(way: Way, family: Family) {
    let bed = TestBed::up(&link()).expect("test bed");
    let ends = bed.start_ends(Agents::Both, "dproxy", &[]);
    let mut agents = ends.expect("three pairs");
    assert_eq!(agents.len(), 2 * HOPS);
    let transfer = Transfer::new().direction(way).family(family);
    let report = run(&bed, transfer.bytes(8_000_000));
    let stats = bed.emulator_stats().expect("emulators");
    let hops = std::iter::once(&stats.air).chain(&stats.further);
    let lost: Vec<u64> = hops
        .map(|hop| match way {
            Way::Down => hop.a_to_b.data_lost + hop.a_to_b.data_queue_dropped,
            Way::Up => hop.b_to_a.data_lost + hop.b_to_a.data_queue_dropped,
        })
        .collect();
    let mut of = |name| counts(&mut agents, way, name);
    let repairs = of("retransmits_asked").map(|(from, _)| from);
    let given_up = of("holes_given_up").map(|(_, to)| to);
    let untold = of("holes_untold").map(|(_, to)| to);
    let unsequenced = of("unsequenced").map(|(_, to)| to);
    let receiver = match way {
        Way::Down => Host::Mh,
        Way::Up => Host::Fh,
    };
    let late = kernel_counter(bed.namespace(receiver), "netstat", "TcpExt", "TCPOFOQueue");
    let late = late.expect("netstat");
    eprintln!(
        "{way:?} {family:?}: lost {lost:?}, repairs {repairs:?}, given up {given_up:?}, untold {untold:?}, unsequenced {unsequenced:?}, out of order {late}, sender resent {}",
        resent(&report)
    );
    for (lost, repairs) in lost.iter().zip(repairs) {
        // 5,500 frames and more.
        assert!(*lost > 100, "a hop lost only {lost}");
        bound!(repairs * 10 >= lost * 7, "{repairs} for {lost}");
        bound!(repairs * 10 <= lost * 13, "{repairs} for {lost}");
    }
    let open = |of: [u64; HOPS]| of.iter().sum::<u64>();
    let gaps = open(given_up) + open(untold) + open(unsequenced);
    // Behind a gap comes what is on its way until the sender fills it: no more than two round trips
    // of the wire's rate, 166 segments.
    bound!(late <= gaps * 170, "{late} out of order for {gaps} gaps");
    // What one hop gave up the next ones may miss and give up as well.
    bound!(gaps * 5 <= lost.iter().sum(), "{gaps} gaps, {lost:?} lost");
    for name in ["retransmit_errors", "release_errors", "suppressed_acks"] {
        assert_eq!(of(name), [(0, 0); HOPS], "{name}");
    }
    for agent in agents {
        agent.stop().expect("stop");
    }
    bed.down().expect("nothing is left");
}

#[test]
fn three_hops_down() {
    if able() {
        repaired(Way::Down, Family::V4);
    }
}

#[test]
fn three_hops_up() {
    if able() {
        repaired(Way::Up, Family::V6);
    }
}
