// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme `rack` and ECN (RFC 3168): marks are the brake of connections whose window the agent
//! may not edit, and of no others.

use std::time::Instant;

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use serde_json::json;

use super::sockets::{Line, tcp_counter};
use super::{able, counter, lost, resent, run};

/// 20 Mbit/s and 110 ms, with a queue of one product of the two.
fn bed(loss: f64, ecn: bool) -> TestBed {
    let link = LinkOptions {
        loss,
        ..LinkOptions::default()
    };
    let bed = TestBed::up(&link).expect("test bed");
    for host in [Host::Fh, Host::Mh] {
        let value = if ecn { "1" } else { "0" };
        let known = bed.namespace(host).set_sysctl("ipv4.tcp_ecn", value);
        assert!(known.expect("sysctl"), "this kernel has no tcp_ecn");
    }
    bed
}

/// An agent that brakes whoever fills the queue, whether the link loses anything or not.
fn start_always(bed: &TestBed) -> AgentHandle {
    let path = bed.directory().join("always.toml");
    std::fs::write(&path, "clock = \"always\"\n").expect("configuration");
    let path = path.to_str().expect("path");
    bed.start_agent("rack", &["--config", path]).expect("agent")
}

/// Packets with a mark that MH's kernel took.
fn marks_received(bed: &TestBed) -> u64 {
    tcp_counter(bed, Host::Mh, "IpExt", "InCEPkts")
}

/// The agent comes after the handshake, does not know the window's scale and may not edit it:
/// marks are its only brake.
#[test]
fn marks_brake_where_the_window_is_unknown() {
    if !able() {
        return;
    }
    let bed = bed(0.0, true);
    let line = Line::tcp(&bed, |_, _| {});
    let mut agent = start_always(&bed);
    line.carry(0, 15_000_000);
    let (marks, received) = (counter(&mut agent, "ce_marks"), marks_received(&bed));
    let segments = counter(&mut agent, "data_segments");
    assert!(marks > 0, "no mark");
    // One a round trip at the most, which is 76 full frames at this rate.
    bound!(marks * 50 < segments, "{marks} marks, {segments} segments");
    // With a wrong checksum MH would take none. The queue may have dropped some.
    assert!(
        received > 0 && received <= marks,
        "{received} of {marks} marks came to MH"
    );
    assert_eq!(counter(&mut agent, "windows_edited"), 0);
    line.end();
    agent.stop().expect("stop");
}

/// Where the window can be edited it is the only brake: two would be one too many.
#[test]
fn no_marks_where_the_window_is_known() {
    if !able() {
        return;
    }
    let bed = bed(0.0, true);
    let mut agent = start_always(&bed);
    run(&bed, Transfer::new().bytes(10_000_000));
    assert!(counter(&mut agent, "windows_edited") > 0);
    assert_eq!(counter(&mut agent, "ce_marks"), 0);
    assert_eq!(marks_received(&bed), 0);
    agent.stop().expect("stop");
}

/// That a connection uses ECN does not keep the agent from hiding its losses.
#[test]
fn losses_are_hidden_all_the_same() {
    if !able() {
        return;
    }
    let bed = bed(0.02, true);
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let report = run(&bed, Transfer::new().bytes(10_000_000));
    let (lost, resent) = (lost(&bed), resent(&report));
    assert!(lost > 50, "the link lost only {lost} frames");
    bound!(resent * 5 <= lost, "{resent} resent for {lost} losses");
    assert_eq!(counter(&mut agent, "ce_marks"), 0);
    agent.stop().expect("stop");
}

/// What 8 MB over a hop came to.
struct Carried {
    seconds: f64,
    /// Frames that the air lost meanwhile.
    lost: u64,
    /// Packets that the agent marked meanwhile, none without an agent.
    marks: u64,
}

/// 8 MB over a hop with this loss, after 4 MB without any; `scheme` joins after the handshake.
fn carried(scheme: Option<&str>, ecn: bool, loss: f64) -> Carried {
    let bed = bed(0.0, ecn);
    let line = Line::tcp(&bed, |_, _| {});
    let mut agent = scheme.map(|s| bed.start_agent(s, &[]).expect("agent"));
    line.carry(0, 4_000_000);
    bed.set_air(&json!({"dir": "a_to_b", "loss": loss}))
        .expect("loss");
    let mut marks = || agent.as_mut().map_or(0, |a| counter(a, "ce_marks"));
    let lost = || bed.emulator_stats().expect("emulator").air.a_to_b.data_lost;
    let (marks_before, lost_before) = (marks(), lost());
    let start = Instant::now();
    line.carry(4_000_000, 8_000_000);
    let seconds = start.elapsed().as_secs_f64();
    let (marks, lost) = (marks() - marks_before, lost() - lost_before);
    line.end();
    Carried {
        seconds,
        lost,
        marks,
    }
}

/// A mark tells of a standing queue. Where there is none any more, a loss and its repair are no
/// reason for the next mark: those who hide losses must not make as many signs of their own. When
/// each loss made one it took four times as long. Two to four marks are the queue's; each costs a
/// second, and that is all that a time can tell.
#[test]
fn marks_tell_of_queues_not_of_repairs() {
    if !able() {
        return;
    }
    let unmarked = carried(Some("rack"), false, 0.01).seconds;
    let Carried {
        seconds,
        lost,
        marks,
    } = carried(Some("rack"), true, 0.01);
    assert!(lost > 40, "the air lost only {lost} frames");
    bound!(marks * 10 < lost, "{marks} marks for {lost} losses");
    bound!(
        seconds < 2.0 * unmarked,
        "8 MB took {seconds:.1} s with marks and {unmarked:.1} s without ECN"
    );
}

/// The agent is no harm to a sender that loses nothing.
#[test]
fn marks_do_no_harm_without_loss() {
    if !able() {
        return;
    }
    let [rack, none] = [Some("rack"), None].map(|s| carried(s, true, 0.0).seconds);
    bound!(
        rack < 1.15 * none,
        "8 MB took {rack:.1} s with marks and {none:.1} s without the agent"
    );
}

/// A sender that the agent has no brake for fills the queue, whatever C a trial puts on paper
/// (core/control.c). That is no sign of a longer way: other flows to the receiver would be let into
/// the queue.
#[test]
fn a_queue_without_a_brake_is_no_longer_way() {
    if !able() {
        return;
    }
    let bed = bed(0.0, false);
    let line = Line::tcp(&bed, |_, _| {});
    let mut agent = start_always(&bed);
    line.carry(0, 20_000_000);
    let raised = counter(&mut agent, "lmin_raised");
    line.end();
    agent.stop().expect("stop");
    assert_eq!(raised, 0, "times that the way was found to have grown");
}
