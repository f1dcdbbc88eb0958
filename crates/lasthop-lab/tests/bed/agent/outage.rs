// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Outages of the hop longer than the sender's timeout (schemes `slack` and `rack`), the word of
//! the link, and the closed window.

use std::io::Write;
use std::time::Duration;

use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::{RunningTransfer, Transfer, TransferReport};
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::profile::Profile;

use super::{PATIENCE, able, check, counter, fast_link, wait_until};

/// Three outages, each longer than a timeout and shorter than two.
const OUTAGES: &str = "1500ms,700ms,2500ms";

/// The papers' sender: no SACK, a timeout of 500 ms beyond the round trip.
pub fn vintage() -> LinkOptions {
    LinkOptions {
        rate_bps: 10_000_000,
        rtt_ns: 60_000_000,
        local_rtt_ns: 10_000_000,
        loss: 0.0,
        profile: Profile::Vintage,
        ..LinkOptions::default()
    }
}

fn config(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("file");
    file.write_all(text.as_bytes()).expect("write");
    file
}

fn start(bed: &TestBed, bytes: u64, cc: &str) -> RunningTransfer {
    let transfer = Transfer::new().bytes(bytes).cc(cc).deadline(PATIENCE);
    let running = transfer.start(bed).expect("transfer");
    let outages = OUTAGES.parse().expect("outages");
    bed.schedule_outage(outages, running.started(), Duration::from_secs(8))
        .expect("outages");
    running
}

/// Retransmission timeouts of all senders on FH.
fn timeouts(bed: &TestBed) -> u64 {
    let text = bed
        .command(Host::Fh, &["cat", "/proc/net/netstat"])
        .expect("netstat");
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let at = names
        .split_whitespace()
        .position(|name| name == "TCPTimeouts")
        .expect("TCPTimeouts");
    let value = values.split_whitespace().nth(at).expect("its value");
    value.parse().expect("a number")
}

/// Timeouts of the sender, bursts and inapplicable outages of the agent.
fn through_outages(scheme: &str) -> (u64, u64, u64) {
    let bed = TestBed::up(&vintage()).expect("test bed");
    let file = config("rto_min = \"500ms\"\n");
    let path = file.path().to_str().expect("path");
    let mut agent = bed.start_agent(scheme, &["--config", path]).expect("agent");
    let before = timeouts(&bed);
    check(&start(&bed, 5_000_000, "reno").wait().expect("the transfer"));
    let count = timeouts(&bed) - before;
    let bursts = counter(&mut agent, "slack_bursts");
    let mute = counter(&mut agent, "slack_inapplicable");
    agent.stop().expect("stop");
    (count, bursts, mute)
}

#[test]
fn slack_averts_timeouts() {
    if !able() {
        return;
    }
    let (snoop, _, _) = through_outages("snoop");
    let (slack, bursts, mute) = through_outages("slack");
    assert!(snoop >= 2, "only {snoop} timeouts in three outages");
    bound!(bursts >= 2, "only {bursts} bursts, {mute} without");
    bound!(slack * 2 <= snoop, "{slack} timeouts, {snoop} with snoop");
}

/// Today's sender, which bare copies don't move: the closed window must cost no content, and the
/// transfer must go on after it.
#[test]
fn freeze_costs_no_content() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.01)).expect("test bed");
    let file = config("freeze = true\n");
    let path = file.path().to_str().expect("path");
    let mut agent = bed
        .start_agent("slack", &["--config", path])
        .expect("agent");
    check(&start(&bed, 30_000_000, "cubic").wait().expect("transfer"));
    assert!(counter(&mut agent, "outages") > 0);
    assert!(counter(&mut agent, "freezes") > 0);
    assert_eq!(counter(&mut agent, "slack_bursts"), 0);
    agent.stop().expect("stop");
}

/// From the beginning of a transfer's only outage to the first byte after its end, ms.
pub fn pause_of(report: &TransferReport, begin_ns: u64, length_ns: u64) -> u64 {
    let moments = &report.moments;
    let before = moments.iter().rfind(|m| m.at_ns < begin_ns + length_ns);
    let before = before.expect("a look within the outage").received_bytes[0];
    let after = moments.iter().find(|m| m.received_bytes[0] > before);
    (after.expect("it goes on").at_ns - begin_ns) / 1_000_000
}

/// The pause that an outage of two seconds makes, ms.
fn pause_ms(scheme: &str, cc: &str) -> u64 {
    const BEGIN_NS: u64 = 3_000_000_000;
    const LENGTH_NS: u64 = 2_000_000_000;
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let agent = bed.start_agent(scheme, &[]).expect("agent");
    let transfer = Transfer::new().bytes(30_000_000).cc(cc).deadline(PATIENCE);
    let running = transfer.watch(Duration::from_millis(10));
    let running = running.start(&bed).expect("transfer");
    let outage = "3s,2s".parse().expect("an outage");
    bed.schedule_outage(outage, running.started(), Duration::from_secs(8))
        .expect("outage");
    let report = running.wait().expect("the transfer");
    check(&report);
    agent.stop().expect("stop");
    pause_of(&report, BEGIN_NS, LENGTH_NS)
}

/// An outage longer than the sender's first timeouts: without help nothing moves until the next one.
#[test]
fn rack_finds_the_end_of_an_outage() {
    if !able() {
        return;
    }
    for cc in ["cubic", "reno"] {
        let (none, rack) = (pause_ms("none", cc), pause_ms("rack", cc));
        assert!(rack >= 2_000, "{cc}: {rack} ms is no outage");
        // What exceeds the outage itself: half of what it is without agent, or next to nothing.
        let (none_over, rack_over) = (none.saturating_sub(2_000), rack - 2_000);
        bound!(
            rack_over * 2 <= none_over.max(2_000 / 5),
            "{cc}: {rack} ms, without agent {none}"
        );
    }
}

#[test]
fn the_link_verb_reaches_the_connections() {
    if !able() {
        return;
    }
    let binary = find_binary("lasthop").expect("lasthop");
    let binary = binary.to_str().expect("path");
    for (scheme, heeds) in [("slack", true), ("rack", true), ("snoop", false)] {
        let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
        let mut agent = bed.start_agent(scheme, &[]).expect("agent");
        let running = start(&bed, 10_000_000, "cubic");
        running.wait_for_bytes(1_000_000).expect("the beginning");
        let link = |state| {
            bed.command(Host::Bs, &[binary, "link", "wl0", state])
                .expect("link")
        };
        let (down, up) = (link("down"), link("up"));
        for (text, state) in [(down, "down"), (up, "up")] {
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(text.starts_with(&format!("wl0 {state}: ")), "{text}");
            assert_eq!(text.contains("takes no notice"), !heeds, "{text}");
        }
        assert_eq!(counter(&mut agent, "outages") > 0, heeds);
        check(&running.wait().expect("the rest"));
        agent.stop().expect("stop");
    }
    let nobody = TestBed::up(&fast_link(0.0)).expect("test bed");
    let error = nobody
        .command(Host::Bs, &[binary, "link", "wl0", "down"])
        .expect_err("nobody is there");
    assert!(format!("{error:#}").contains("wl0 is not attached"));
}

/// The far end of the cable is pulled: the carrier goes, and the kernel tells.
#[test]
fn the_carrier_is_heeded() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.0)).expect("test bed");
    let mut agent = bed.start_agent("slack", &[]).expect("agent");
    let transfer = Transfer::new().bytes(20_000_000).deadline(PATIENCE);
    let running = transfer.start(&bed).expect("transfer");
    running.wait_for_bytes(2_000_000).expect("the beginning");
    let cable = |state| {
        bed.command(Host::Air, &["ip", "link", "set", "bs", state])
            .expect("cable")
    };
    cable("down");
    wait_until("an outage by the carrier", || {
        let n = counter(&mut agent, "outages");
        (n > 0, format!("{n} outages"))
    });
    cable("up");
    check(&running.wait().expect("the rest"));
    agent.stop().expect("stop");
}
