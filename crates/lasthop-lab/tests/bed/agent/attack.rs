// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Forgers at the wired side and on the link, against transfers at 2 %. With LASTHOP_ATTACK=N in
//! the environment each sends N times as many packets per second, and prints what came of it. The
//! long ones, `--ignored`, send a million of each kind and ten thousand, and floods for a minute.

use std::time::{Duration, Instant};

use lasthop_lab::bed::forger::{ALL, Forgery, Kind, Numbers};
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::{RunningTransfer, Transfer};
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;

use super::{PATIENCE, able, able_alone, check, counter, lost};

const PER_SECOND: u64 = 2_000;
const BYTES: u64 = 3_000_000;
/// Transfers with an agent that are compared: of several seconds, so that one timeout does not decide.
const COMPARED: u64 = 9_000_000;
/// What a transfer is waited for that forgers may end: several times what it takes without an agent.
const MAY_DIE: Duration = Duration::from_secs(40);
/// Transfers under long attacks.
const LONG: u64 = 30_000_000;
/// What who sees the packets can forge without ending or corrupting the connection itself.
const ON_THE_LINK: [Kind; 5] = [
    Kind::Syn,
    Kind::SynAck,
    Kind::Ack,
    Kind::Sack,
    Kind::Checksum,
];

fn times() -> u64 {
    let more = std::env::var("LASTHOP_ATTACK").ok();
    more.and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn link() -> LinkOptions {
    LinkOptions {
        loss: 0.02,
        rtt_ns: 20_000_000,
        ..LinkOptions::default()
    }
}

/// What a transfer came to.
struct Came {
    mbit: f64,
    forged: u64,
    repairs: u64,
    lost: u64,
}

/// A transfer under attack, with the agent or without. Without, forgers on the link may have ended it:
/// that is a rate of 0.
fn under(forgery: Option<Forgery>, scheme: Option<&str>, bytes: u64) -> Came {
    let bed = TestBed::up(&link()).expect("test bed");
    let mut agent = scheme.map(|scheme| bed.start_agent(scheme, &[]).expect("agent"));
    let patience = scheme.map_or(MAY_DIE, |_| PATIENCE);
    let transfer = Transfer::new().bytes(bytes).cc("cubic").deadline(patience);
    let forger = forgery.map(|forgery| forgery.start(&bed).expect("forger"));
    let running = transfer.start(&bed).expect("transfer");
    let report = running.wait().expect("a report");
    let forged = forger.map_or(0, |forger| forger.stop().expect("forger"));
    if scheme.is_some() {
        check(&report);
    }
    Came {
        mbit: report
            .completion_ns()
            .map_or(0.0, |ns| bytes as f64 * 8e3 / ns as f64),
        forged,
        repairs: agent
            .as_mut()
            .map_or(0, |agent| counter(agent, "local_retransmits")),
        lost: lost(&bed),
    }
}

fn forgery(kinds: &[Kind], numbers: Numbers, from: Host) -> Forgery {
    Forgery {
        kinds: kinds.to_vec(),
        numbers,
        from,
        per_second: PER_SECOND * times(),
        seed: 7,
    }
}

/// Who does not see the packets changes nothing: what the agent does for the connection stays.
#[test]
fn blind_forgers_take_no_help_away() {
    if !able() {
        return;
    }
    let none = under(None, None, BYTES);
    let alone = under(None, Some("rack"), COMPARED);
    for from in [Host::Mh, Host::Fh] {
        let attack = forgery(&ALL, Numbers::Random, from);
        let came = under(Some(attack), Some("rack"), COMPARED);
        println!(
            "random from {from:?}: {} packets, {:.2} Mbit/s, without attack {:.2}, without agent {:.2}, {} repairs for {} losses",
            came.forged, came.mbit, alone.mbit, none.mbit, came.repairs, came.lost
        );
        assert!(came.forged > 1_000, "{} packets", came.forged);
        let kept = (came.mbit - none.mbit) / (alone.mbit - none.mbit);
        // Their packets and what is answered take an eighth of the link.
        bound!(kept >= 0.6, "{kept:.2} of the help is left");
        bound!(came.repairs as f64 <= 1.1 * came.lost as f64 + 20.0);
    }
}

/// Who sees them can do harm, but no more than without the agent. RST, FIN and data at exact
/// numbers end or corrupt the connection itself.
#[test]
fn forgers_on_the_link_are_no_stronger_for_the_agent() {
    if !able() {
        return;
    }
    let attack = |kinds: &[Kind]| forgery(kinds, Numbers::Exact, Host::Mh);
    let none = under(Some(attack(&ON_THE_LINK)), None, BYTES);
    for kind in ON_THE_LINK {
        let came = under(Some(attack(&[kind])), Some("rack"), BYTES);
        println!(
            "exact {kind:?}: {} packets, {:.2} Mbit/s, without agent under all {:.2}, {} repairs for {} losses",
            came.forged, came.mbit, none.mbit, came.repairs, came.lost
        );
        assert!(came.forged > 500, "{} packets", came.forged);
        bound!(came.mbit >= 0.95 * none.mbit, "{kind:?}");
    }
}

/// More SYNs than the table has places: the established connection goes on with its help, and a
/// new one gets it.
#[test]
fn a_flood_of_syns_keeps_nobody_out() {
    if !able_alone() {
        return;
    }
    let bed = TestBed::up(&link()).expect("test bed");
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let mut attack = forgery(&[Kind::Flood], Numbers::Random, Host::Mh);
    attack.per_second *= 4;
    let transfer = Transfer::new().bytes(BYTES).cc("cubic").deadline(PATIENCE);
    let long = transfer
        .clone()
        .bytes(2 * BYTES)
        .start(&bed)
        .expect("transfer");
    let forger = attack.start(&bed).expect("forger");
    long.wait_for_bytes(BYTES).expect("half");
    let before = counter(&mut agent, "local_retransmits");
    check(
        &transfer
            .ports(20_000)
            .start(&bed)
            .and_then(|t| t.wait())
            .expect("a new one"),
    );
    check(&long.wait().expect("all of it"));
    let repairs = counter(&mut agent, "local_retransmits");
    let forged = forger.stop().expect("forger");
    let (refused, lost) = (counter(&mut agent, "bypass_table_full"), lost(&bed));
    println!(
        "{forged} SYNs, {repairs} repairs for {lost} losses, {refused} packets found no place"
    );
    assert!(forged > 16_384, "{forged} SYNs");
    assert!(repairs > before, "the second transfer had no help");
    bound!(repairs as f64 > 0.8 * lost as f64, "{repairs} of {lost}");
}

/// Transfers one after the other for as long as `more` wants, each of `bytes`. Returns the mean rate
/// in Mbit/s, repairs and losses.
fn series(
    bed: &TestBed,
    scheme: Option<&str>,
    bytes: u64,
    mut more: impl FnMut(Duration) -> bool,
) -> Came {
    let mut agent = scheme.map(|scheme| bed.start_agent(scheme, &[]).expect("agent"));
    let (began, mut ns, mut n) = (Instant::now(), 0, 0);
    loop {
        let transfer = Transfer::new().bytes(bytes).cc("cubic").deadline(PATIENCE);
        let report = transfer
            .start(bed)
            .and_then(RunningTransfer::wait)
            .expect("all of it");
        check(&report);
        ns += report.completion_ns().expect("completed");
        n += 1;
        if !more(began.elapsed()) {
            break;
        }
    }
    Came {
        mbit: (n * bytes) as f64 * 8e3 / ns as f64,
        forged: 0,
        repairs: agent
            .as_mut()
            .map_or(0, |agent| counter(agent, "local_retransmits")),
        lost: lost(bed),
    }
}

/// The same link without its losses: what an attack leaves of it.
fn lossless() -> LinkOptions {
    LinkOptions {
        loss: 0.0,
        ..link()
    }
}

/// The rate of a long transfer that nobody attacks, Mbit/s.
fn quiet(link: &LinkOptions, scheme: Option<&str>) -> f64 {
    let bed = TestBed::up(link).expect("test bed");
    series(&bed, scheme, LONG, |_| false).mbit
}

/// The same under an attack, until `packets` are out.
fn besieged(
    link: &LinkOptions,
    forgery: &Forgery,
    scheme: Option<&str>,
    bytes: u64,
    packets: u64,
) -> Came {
    let bed = TestBed::up(link).expect("test bed");
    let forger = forgery.clone().start(&bed).expect("forger");
    let came = series(&bed, scheme, bytes, |_| forger.sent() < packets);
    Came {
        forged: forger.stop().expect("forger"),
        ..came
    }
}

/// A million of each kind at random numbers. They take a part of the link, so what the agent gives
/// back of what the losses take counts: with the attack against without.
fn a_million_from(from: Host) {
    const EACH: u64 = 1_000_000;
    let mut attack = forgery(&ALL, Numbers::Random, from);
    attack.per_second = 10_000; // more leave too little of the link to the real packets
    let none = quiet(&link(), None);
    let help = (quiet(&link(), Some("rack")) - none) / (quiet(&lossless(), None) - none);
    let left = besieged(&lossless(), &attack, None, LONG, 0).mbit;
    let none = besieged(&link(), &attack, None, LONG, 0).mbit;
    let packets = EACH * ALL.len() as u64;
    let came = besieged(&link(), &attack, Some("rack"), LONG, packets);
    let kept = (came.mbit - none) / (left - none) / help;
    println!(
        "random from {from:?}: {} packets: {:.2} Mbit/s, {none:.2} without agent, {left:.2} without losses; {kept:.3} of the help that is {help:.3} without attack; {} repairs for {} losses",
        came.forged, came.mbit, came.repairs, came.lost
    );
    assert!(came.forged >= packets, "{} packets", came.forged);
    assert!(came.mbit >= 0.95 * none);
    assert!(kept >= 0.9, "{kept:.3} of the help is left");
    assert!(came.repairs as f64 <= 1.1 * came.lost as f64);
}

#[test]
#[ignore = "a quarter of an hour"]
fn a_million_forged_packets_of_each_kind_from_the_link() {
    if able_alone() {
        a_million_from(Host::Mh);
    }
}

#[test]
#[ignore = "a quarter of an hour"]
fn a_million_forged_packets_of_each_kind_from_the_wired_side() {
    if able_alone() {
        a_million_from(Host::Fh);
    }
}

#[test]
#[ignore = "two minutes"]
fn ten_thousand_packets_of_each_kind_at_exact_numbers() {
    const EACH: u64 = 10_000;
    if !able_alone() {
        return;
    }
    for kind in ON_THE_LINK {
        let attack = forgery(&[kind], Numbers::Exact, Host::Mh);
        let none = besieged(&link(), &attack, None, BYTES, 0).mbit;
        let came = besieged(&link(), &attack, Some("rack"), BYTES, EACH);
        println!(
            "exact {kind:?}: {} packets: {:.2} Mbit/s, without agent {none:.2}; {} repairs for {} losses",
            came.forged, came.mbit, came.repairs, came.lost
        );
        assert!(came.forged >= EACH, "{} packets", came.forged);
        assert!(came.mbit >= 0.95 * none, "{kind:?}");
    }
}

#[test]
#[ignore = "two minutes"]
fn a_flood_for_a_minute() {
    const MINUTE: Duration = Duration::from_secs(60);
    if !able_alone() {
        return;
    }
    let (none, alone) = (quiet(&link(), None), quiet(&link(), Some("rack")));
    let mut attack = forgery(&[Kind::Flood], Numbers::Random, Host::Mh);
    attack.per_second = 100_000;
    let bed = TestBed::up(&link()).expect("test bed");
    let forger = attack.start(&bed).expect("forger");
    let began = Instant::now();
    let came = series(&bed, Some("rack"), LONG, |elapsed| elapsed < MINUTE);
    let (forged, seconds) = (
        forger.stop().expect("forger"),
        began.elapsed().as_secs_f64(),
    );
    println!(
        "{forged} SYNs in {seconds:.0} s, {:.0} a second: {:.2} Mbit/s, {alone:.2} without flood, {none:.2} without agent; {} repairs for {} losses",
        forged as f64 / seconds,
        came.mbit,
        came.repairs,
        came.lost
    );
    assert!(came.repairs as f64 >= 0.98 * came.lost as f64, "help kept");
    assert!(came.repairs as f64 <= 1.1 * came.lost as f64);
}
