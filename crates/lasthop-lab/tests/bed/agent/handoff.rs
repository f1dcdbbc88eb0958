// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Fast retransmission on handoff at the mobile host: its agent hears that the link is there again.

use std::time::Duration;

use lasthop_lab::bed::agent::{LinkState, tell_link};
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::ends::Agents;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::stack::StackOptions;

use super::outage::{pause_of, vintage};
use super::{PATIENCE, able, check, counter};

const BEGIN: Duration = Duration::from_secs(3);
const LENGTH: Duration = Duration::from_millis(400);

/// A sender without SACK whose timeout is at least a second: the coarse one of 1995.
fn coarse() -> LinkOptions {
    LinkOptions {
        stack: StackOptions {
            rto_min_ns: Some(1_000_000_000),
            ..StackOptions::default()
        },
        ..vintage()
    }
}

/// What the link's word brought about.
struct Handoff {
    /// From the outage's beginning to the next byte, ms.
    pause_ms: u64,
    /// Copies of ACKs.
    copies: u64,
}

/// An outage in mid-transfer, of which the agent at the mobile host is told.
fn handoff(config: &str) -> Handoff {
    let bed = TestBed::up(&coarse()).expect("test bed");
    let path = bed.directory().join("agent.toml");
    std::fs::write(&path, config).expect("configuration");
    let args = ["--config", path.to_str().expect("path")];
    let mut agents = bed
        .start_ends(Agents::Mobile, "slack", &args)
        .expect("agent");
    let transfer = Transfer::new()
        .bytes(6_000_000)
        .cc("reno")
        .deadline(PATIENCE);
    let running = transfer.watch(Duration::from_millis(10));
    let running = running.start(&bed).expect("transfer");
    bed.schedule_outage(
        "3s,400ms".parse().expect("an outage"),
        running.started(),
        Duration::from_secs(8),
    )
    .expect("outage");
    let over = running.started() + BEGIN + LENGTH;
    std::thread::sleep(over.saturating_duration_since(std::time::Instant::now()));
    let device = &Agents::Mobile.ends(bed.topology())[0].place.device;
    tell_link(bed.namespace(Host::Mh), device, LinkState::Up).expect("link");
    let report = running.wait().expect("the transfer");
    check(&report);
    let [begin_ns, length_ns] = [BEGIN, LENGTH].map(|d| d.as_nanos() as u64);
    Handoff {
        pause_ms: pause_of(&report, begin_ns, length_ns),
        copies: counter(&mut agents[0], "handoff_acks"),
    }
}

/// Caceres and Iftode (1995): pauses of 800 ms and more become 200 ms, those of the handoff itself.
#[test]
fn the_sender_goes_on_as_soon_as_the_link_does() {
    if !able() {
        return;
    }
    let with = handoff("handoff = 3\n");
    let without = handoff("");
    eprintln!(
        "pause {} ms, without copies {} ms",
        with.pause_ms, without.pause_ms
    );
    assert_eq!((with.copies, without.copies), (3, 0));
    assert!(
        without.pause_ms >= 900,
        "{} ms: no timeout",
        without.pause_ms
    );
    bound!(
        with.pause_ms * 3 <= without.pause_ms * 2,
        "{} ms",
        with.pause_ms
    );
}
