// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme rack in outages (core/outage.h): how one is noticed, how its end is found out, by which
//! flow, and the lost window repaired. The handshake gave a local round trip of 10 ms and a wired
//! one of 90. Every script loses eleven segments of which the first is 1,000, from 201 on; the last
//! progress is at 212. A probe is due 26 ms after the last departure.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Config, parse};

use crate::rack;
use crate::rig::{MH_BASE, Options, Rig, Seen, ns, rig_with, wire};

/// A connection, and another of the same receiver that has shown what the hop carries: 5 Mbit/s.
fn rig(sack: bool) -> Rig {
    let mut rig = rack::rig(sack);
    let (ends, key) = (rig.ends, rig.key);
    select(&mut rig, 1_000);
    for i in 0..71 {
        if i < 61 {
            data!(rig, 105 + i as u64, base(1_000) + i * 1_000, 1_000);
        }
        if i > 10 {
            rig.ack(105 + i as u64, base(1_000) + (i - 10) * 1_000, &[]);
        }
    }
    rig.ack(180, base(1_000) + 61_000, &[]);
    (rig.ends, rig.key) = (ends, key);
    rig
}

/// Twelve segments go, one arrives.
pub fn cut_off(sack: bool) -> Rig {
    let mut rig = rig(sack);
    rig.burst(200, 0, 1_000, 12);
    ack!(rig, 212, 1_000 => pass);
    rig
}

/// The two probes that fail, and the outage that is noticed then. @return when.
fn fail(rig: &mut Rig) -> u64 {
    let mut last = 0;
    for n in 0..2 {
        let at = rig.deadline().expect("a probe") + 1;
        let seen = rig.timer(at);
        assert_eq!(seen.resent.first(), Some(&1_000), "probe {n} at {at}");
        last = at;
    }
    assert_eq!(rig.count(LH_C_outages), 0);
    while rig.count(LH_C_outages) == 0 {
        let at = rig.deadline().expect("the verdict") + 1;
        assert!(at < last + 60, "noticed by {at}");
        rig.timer(at);
        last = at;
    }
    last
}

/// Everything that the timers do up to `ms`, and when.
fn run_until(rig: &mut Rig, ms: u64) -> Vec<(u64, Seen)> {
    let mut all = Vec::new();
    for _ in 0..10_000 {
        match rig.deadline().filter(|&at| at < ms) {
            Some(at) => all.push((at, rig.timer(at + 1))),
            None => return all,
        }
    }
    panic!("deadlines without end");
}

/// When something was sent again.
fn probes(seen: &[(u64, Seen)]) -> Vec<u64> {
    let sent = seen.iter().filter(|(_, seen)| !seen.resent.is_empty());
    sent.map(|&(at, _)| at).collect()
}

fn link(rig: &mut Rig, ms: u64, up: bool) -> Vec<u32> {
    let done = rig.agent.on_link(up, ns(ms));
    let actions = done.into_iter().map(|(_, o)| o.actions.expect("actions"));
    let seqs: Vec<_> = actions.map(|a| a.retransmits().to_vec()).collect();
    seqs.concat()
        .iter()
        .map(|r| r.seq.wrapping_sub(wire(0)))
        .collect()
}

/// Whatever its length, up to five seconds: the end is noticed within 50 ms.
#[test]
fn the_end_is_looked_for_often() {
    for sack in [false, true] {
        let mut rig = cut_off(sack);
        let since = fail(&mut rig);
        let at = probes(&run_until(&mut rig, since + 5_000));
        let gaps = at.windows(2).map(|w| w[1] - w[0]);
        assert!(gaps.clone().max() <= Some(50), "{at:?}");
        assert!(gaps.min() >= Some(31), "no flood: {at:?}");
        assert_eq!(rig.count(LH_C_exhausted_segments), 0);
    }
}

/// Then ever more seldom, and after ten minutes it is FH's affair.
#[test]
fn probes_become_rare_and_end() {
    let mut rig = cut_off(true);
    let since = fail(&mut rig);
    let at = probes(&run_until(&mut rig, 10_000_000));
    assert!((600..900).contains(&at.len()), "{} probes", at.len());
    assert!(at.last() < Some(&(since + 305_000)));
    let minute = at.iter().filter(|&&at| at > since + 60_000);
    let minute = minute.filter(|&&at| at < since + 120_000).count();
    assert!(minute < 120, "{minute} in the second minute");
    assert_eq!(rig.deadline(), None);
    // FH's own attempt gets an answer.
    ack!(rig, 20_000_000, 2_000 => pass, resend [2_000, 3_000]);
}

#[test]
fn the_window_is_repaired_as_by_slow_start() {
    for sack in [false, true] {
        let mut rig = cut_off(sack);
        let since = fail(&mut rig);
        run_until(&mut rig, since + 1_000);
        let ms = since + 1_020;
        ack!(rig, ms, 2_000 => pass, resend [2_000, 3_000]);
        ack!(rig, ms + 11, 4_000 => pass, resend [4_000, 5_000, 6_000, 7_000]);
        ack!(rig, ms + 22, 6_000 => pass, resend [8_000, 9_000, 10_000, 11_000]);
        ack!(rig, ms + 23, 8_000 => pass);
        ack!(rig, ms + 34, 12_000 => pass);
        assert_eq!(rig.deadline(), None);
        assert_eq!(rig.flow().raw().outage.back_ns, 0);
        assert!(!rig.flow().has(LH_FLOW_RECOVERY));
        assert_eq!(rig.count(LH_C_outages), 1);
    }
}

/// The repairs queue: one for one, whoever fills the queue.
#[test]
fn the_window_makes_no_queue() {
    for sack in [false, true] {
        let mut rig = cut_off(sack);
        let ms = fail(&mut rig) + 20;
        ack!(rig, ms, 2_000 => pass, resend [2_000, 3_000]);
        ack!(rig, ms + 31, 3_000 => pass, resend [4_000]);
        ack!(rig, ms + 32, 4_000 => pass, resend [5_000]);
        ack!(rig, ms + 43, 5_000 => pass, resend [6_000, 7_000]);
    }
}

/// FH sends on all the time, so that no probe is due: the end shows by itself.
#[test]
fn an_outage_that_fh_bridges_is_noticed_at_its_end() {
    let mut rig = cut_off(true);
    rig.burst(212, 12_000, 1_000, 80);
    assert_eq!(rig.count(LH_C_local_retransmits), 0);
    let seen = rig.ack(302, 1_000, &[(91_000, 92_000)]);
    expect!(seen, hold, resend [1_000, 2_000]);
    let seen = rig.ack(313, 3_000, &[(91_000, 92_000)]);
    expect!(seen, pass, resend [3_000, 4_000, 5_000, 6_000]);
}

/// The last of FH's window gets lost, and the next one comes a round trip later: MH had nothing to say.
#[test]
fn a_silence_with_one_segment_under_way_is_no_outage() {
    for lost in [1, 2] {
        let mut rig = rig(true);
        rig.burst(200, 0, 1_000, 1 + lost);
        ack!(rig, 212, 1_000 => pass);
        let next = 1_000 + lost as i64 * 1_000;
        rig.timer(rig.deadline().expect("a probe") - 1);
        rig.burst(262, next, 1_000, 2);
        rig.ack(273, 1_000, &[(next, next + 1_000)]);
        let ended = rig.flow().raw().outage.ended_ns;
        assert_eq!(ended != 0, lost == 2, "{lost}");
    }
}

/// A queue that stood before it is not known any more, or the first loss after it would be an AQM's.
#[test]
fn what_stood_before_an_outage_is_forgotten() {
    let mut rig = rig(true);
    rig.burst(200, 0, 1_000, 12);
    rig.ack(218, 2_000, &[]);
    assert_ne!(rig.flow().raw().queue.above_ns, 0);
    while rig.count(LH_C_outages) == 0 {
        let at = rig.deadline().expect("a probe, or the verdict");
        rig.timer(at + 1);
    }
    let at = rig.deadline().expect("a probe") + 1;
    rig.timer(at);
    rig.ack(at + 11, 3_000, &[]);
    assert_eq!(rig.flow().raw().queue.above_ns, 0);
}

/// The second probe gets through. Its answer reports what MH had before; the rest is lost.
#[test]
fn a_probe_in_time_brings_the_window_as_well() {
    let mut rig = cut_off(true);
    timer!(rig, 238 => pass, resend [1_000]);
    timer!(rig, 264 => pass, resend [1_000, 2_000]);
    ack!(rig, 275, 5_000, sack [(1_000, 2_000)] => pass, resend [5_000, 6_000]);
    ack!(rig, 286, 7_000 => pass, resend [7_000, 8_000, 9_000, 10_000]);
    assert_eq!(rig.count(LH_C_outages), 0);
    // Also where the next one is a probe, too.
    let mut rig = cut_off(true);
    timer!(rig, 238 => pass, resend [1_000]);
    timer!(rig, 264 => pass, resend [1_000, 2_000]);
    ack!(rig, 275, 2_000 => pass, resend [3_000, 4_000]);
}

/// A repair that gets lost again is found by the order of departures, as ever.
#[test]
fn a_repair_of_the_window_may_get_lost() {
    let mut rig = cut_off(true);
    let ms = fail(&mut rig) + 40;
    run_until(&mut rig, ms);
    ack!(rig, ms + 20, 2_000 => pass, resend [2_000, 3_000]);
    ack!(rig, ms + 31, 2_000, sack [(3_000, 4_000)] => hold, resend [2_000, 4_000]);
    ack!(rig, ms + 42, 4_000 => pass, resend [5_000, 6_000]);
}

/// Also where each went out as the last that the budget had room for, and the hop is seen to have kept
/// what it had: a chunk that is not looked through to its end has a bound all the same. Here the second
/// chunk begins with 64,000.
#[test]
fn a_repair_may_get_lost_at_the_end_of_a_budget() {
    let mut rig = rig(true);
    rig.burst(130, 0, 1_000, 61);
    ack!(rig, 198, 61_000 => pass);
    rig.burst(200, 61_000, 1_000, 12);
    ack!(rig, 212, 62_000 => pass);
    run_until(&mut rig, 400);
    assert_eq!(rig.count(LH_C_outages), 1);
    ack!(rig, 420, 63_000 => pass, resend [63_000, 64_000]);
    ack!(rig, 431, 64_000 => pass, resend [65_000, 66_000]);
    ack!(rig, 433, 64_000, sack [(66_000, 67_000)] => hold);
    assert_eq!(rig.flow().raw().outage.lost_ns, 0, "too early an answer");
    ack!(rig, 442, 64_000, sack [(65_000, 67_000)] => hold, resend [64_000]);
    assert!(rig.deadline() > Some(442), "a timer that spins");
}

/// What MH had got before, and could not tell, is no reason to stop.
#[test]
fn what_arrived_before_is_not_repaired() {
    let mut rig = cut_off(true);
    let ms = fail(&mut rig) + 40;
    run_until(&mut rig, ms);
    ack!(rig, ms + 20, 4_000, sack [(6_000, 8_000)] => pass, resend [4_000, 5_000]);
    ack!(rig, ms + 31, 8_000 => pass, resend [8_000, 9_000, 10_000, 11_000]);
}

/// A device that kept its queue delivers it now: nothing goes out twice but the beginning.
#[test]
fn a_queue_that_was_kept_is_left_to_itself() {
    let mut rig = cut_off(true);
    let ms = fail(&mut rig) + 40;
    run_until(&mut rig, ms);
    ack!(rig, ms + 20, 2_000 => pass, resend [2_000, 3_000]);
    ack!(rig, ms + 21, 3_000 => pass);
    ack!(rig, ms + 22, 4_000 => pass);
    ack!(rig, ms + 23, 5_000 => pass);
    assert_eq!(rig.count(LH_C_retransmits_order), 2);
}

#[test]
fn a_sign_of_mh_brings_the_oldest_at_once() {
    for (sack, after, resent) in [
        (false, 25, vec![1_000]),
        (true, 25, vec![1_000]),
        (true, 8, vec![2_000]), // a probe on its way is the oldest at once
    ] {
        let mut rig = cut_off(sack);
        let since = fail(&mut rig);
        let seen = run_until(&mut rig, since + 100);
        let ms = probes(&seen).last().expect("a probe") + after;
        rig.window += 1; // an update of the window
        let seen = rig.ack(ms, 1_000, &[]);
        assert_eq!((seen.held, seen.resent), (false, resent));
        assert!(rig.deadline().expect("a probe") <= ms + 27, "soon again");
    }
}

#[test]
fn the_links_word_replaces_the_failures() {
    let mut rig = cut_off(true);
    assert_eq!(link(&mut rig, 220, false), [0; 0]);
    assert_eq!(rig.count(LH_C_outages), 1);
    assert_eq!(rig.deadline(), Some(5_220), "the word may be wrong");
    assert_eq!(link(&mut rig, 700, true), [1_000]);
    assert_eq!(rig.deadline(), Some(732), "the word may be early");
    timer!(rig, 733 => pass, resend [1_000]);
    ack!(rig, 751, 2_000 => pass, resend [2_000, 3_000]);
    assert_eq!(rig.count(LH_C_outages), 1);
}

/// What answers a handshake ends no outage: it would stand on when the first data go, and have them sent again and
/// again.
#[test]
fn a_handshake_has_no_outage() {
    let mut rig = Rig::silent(&Options {
        config: Config::default(),
        ..Options::default()
    });
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &option::mss(1_000)));
    link(&mut rig, 20, false);
    link(&mut rig, 40, true);
    assert_eq!(rig.count(LH_C_outages), 0);
    rig.mh_sends(60, rig.mh_syn(LH_SYN | LH_ACK, &option::mss(1_000)));
    rig.fh_sends(150, rig.bare());
    rig.data(160, 0, 1_000);
    assert_eq!(probes(&run_until(&mut rig, 200)), [0; 0]);
}

#[test]
fn mh_knows_better_than_the_link() {
    let mut rig = cut_off(true);
    link(&mut rig, 213, false);
    ack!(rig, 214, 3_000 => pass);
    ack!(rig, 215, 4_000 => pass);
    assert_eq!(rig.flow().raw().outage.down_ns, 0);
    assert_eq!(rig.count(LH_C_local_retransmits), 0);
}

// What FH sends meanwhile.

/// `tcp` with timestamps of `value`.
fn stamped(mut tcp: Tcp, value: u32, echo: u32) -> Tcp {
    let mut options = option::timestamps(value, echo);
    options.append(&mut tcp.options);
    Tcp { options, ..tcp }
}

/// FH's timeout sends the oldest once more, with a younger timestamp. That copy gets lost; the older
/// one must go out, or MH would drop the rest of the window (PAWS).
#[test]
fn fhs_attempt_does_not_make_the_window_stale() {
    for noticed in [true, false] {
        let mut rig = rig(true);
        for i in 0..5 {
            let tcp = stamped(rig.segment(i * 1_000, 1_000), 100, 5);
            rig.fh_sends(200 + i as u64, tcp);
        }
        let first = stamped(rig.segment(1_000, 1_000), 100, 5).to_mh(&rig.ends);
        let ack = stamped(rig.pure(1_000, &[]), 5, 100);
        rig.mh_sends(211, ack);
        let ms = if noticed { fail(&mut rig) } else { 261 };
        run_until(&mut rig, ms);
        rig.fh_sends(ms + 1, stamped(rig.segment(1_000, 1_000), 300, 5));
        let (at, sent) = loop {
            let at = rig.deadline().expect("a probe") + 1;
            let outcomes = rig.agent.on_timer(ns(at));
            let sent = outcomes.into_iter().flat_map(|(_, o)| o.to_mh).next();
            if let Some(sent) = sent {
                break (at, sent);
            }
        };
        assert_eq!(sent, first);
        let ack = stamped(rig.pure(2_000, &[]), 5, 100).to_fh(&rig.ends);
        let outcome = rig.agent.on_ingress(&ack, ns(at + 11));
        assert_eq!(outcome.to_mh.len(), 2, "the rest is worth sending");
    }
}

#[test]
fn an_outage_is_no_queue() {
    let mut rig = cut_off(true);
    let since = fail(&mut rig);
    run_until(&mut rig, since + 2_000);
    let srtt = rig.flow().raw().rtt.srtt_ns;
    // MH had three of them all the time.
    ack!(rig, since + 2_020, 5_000 => pass, resend [5_000, 6_000]);
    let flow = rig.flow().raw();
    assert_eq!(flow.rtt.srtt_ns, srtt);
    assert!(flow.order.rtt_ns <= srtt);
    assert!(flow.queue.recent_ns.iter().all(|&r| r < 20_000_000));
    assert_eq!(flow.control.doubt, 0);
    assert!(flow.control.c_bytes >= 10_000, "{}", flow.control.c_bytes);
    assert!(rig.deadline().expect("a probe") < since + 2_060);
}

#[test]
fn a_syn_that_nobody_answers_is_no_outage() {
    let mut rig = Rig::silent(&crate::rig::Options {
        config: Config::default(),
        ..Default::default()
    });
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &[]));
    for _ in 0..3 {
        let at = rig.deadline().expect("a repair");
        assert_eq!(rig.agent.on_timer(ns(at))[0].1.to_mh.len(), 1);
    }
    assert_eq!(rig.deadline(), None);
    assert_eq!(rig.count(LH_C_outages), 0);
}

// Many flows of one receiver.

/// Where the numbers of flow `i` begin: repairs are told apart by them.
pub fn base(i: u16) -> i64 {
    i64::from(i) * 100_000
}

/// Turns to flow `i`.
pub fn select(rig: &mut Rig, i: u16) {
    rig.ends = Ends::v4(1);
    let port = rig.ends.mh.port();
    rig.ends.mh.set_port(port + 1 + i);
    let packet = rig.bare().to_mh(&rig.ends);
    rig.key = parse(&packet, 0, None, true).expect("TCP").1;
}

/// The same, with its handshake first.
pub fn greet(rig: &mut Rig, i: u16) {
    select(rig, i);
    let syn = rig.fh_syn(LH_SYN, &option::sack_ok());
    let seq = wire(base(i) - 1);
    rig.fh_sends(150, Tcp { seq, ..syn });
    let answer = rig.mh_syn(LH_SYN | LH_ACK, &option::sack_ok());
    let ack = wire(base(i));
    rig.mh_sends(160, Tcp { ack, ..answer });
}

/// `n` connections, each with four segments on the hop when it goes.
fn crowd(n: u16) -> Rig {
    let mut rig = rig(true);
    for i in 0..n {
        greet(&mut rig, i);
        rig.burst(200, base(i), 1_000, 5);
        ack!(rig, 212, base(i) + 1_000 => pass);
    }
    rig
}

#[test]
fn the_flows_of_a_receiver_share_one_prober() {
    let n = 100;
    let mut rig = crowd(n);
    // Their probes before that have half of the hop.
    run_until(&mut rig, 1_500);
    assert_eq!(rig.count(LH_C_outages), u64::from(n));
    let seen = run_until(&mut rig, 4_500);
    let sent: usize = seen.iter().map(|(_, s)| s.resent.len()).sum();
    assert!((80..=100).contains(&sent), "{sent} probes in three seconds");
    // One of them hears MH: all go on, each with its own oldest segment.
    let last = seen.iter().rev().find_map(|(_, s)| s.resent.first());
    let prober = (last.expect("a probe") / 100_000) as u16;
    select(&mut rig, prober);
    let una = base(prober) as u32 + 2_000;
    ack!(rig, 4_505, i64::from(una) => pass, resend [una, una + 1_000]);
    let seen = run_until(&mut rig, 4_575);
    let resent = seen.iter().flat_map(|(_, s)| &s.resent);
    let heads = resent.filter(|&seq| seq % 100_000 == 1_000).count();
    assert!(heads >= usize::from(n) - 1, "{heads} go on");
    for i in 0..n {
        select(&mut rig, i);
        assert_ne!(rig.flow().raw().outage.ended_ns, 0, "{i}");
    }
}

/// MH has forgotten one of its connections, the others go on: ten tries, as ever.
#[test]
fn a_connection_that_died_alone_is_no_outage() {
    let mut rig = crowd(2);
    let mut resent = 0;
    for ms in 213..5_000 {
        select(&mut rig, 0);
        let at = base(0) + (ms as i64 - 213) * 10 + 5_000;
        data!(rig, ms, at, 10);
        resent += rig
            .timer(ms)
            .resent
            .iter()
            .filter(|&&s| s == 101_000)
            .count();
        ack!(rig, ms, at + 10 => pass);
    }
    assert_eq!(rig.count(LH_C_outages), 0);
    assert_eq!(resent, 10);
    assert_eq!(rig.count(LH_C_exhausted_segments), 1);
}

/// The prober's connection ends: another one takes its place.
#[test]
fn there_is_always_a_prober() {
    let n = 10;
    let mut rig = crowd(n);
    run_until(&mut rig, 600);
    for i in 0..n - 1 {
        select(&mut rig, i);
        let rst = Tcp {
            flags: LH_RST | LH_ACK,
            ..rig.bare()
        };
        rig.fh_sends(600, rst);
    }
    let at = probes(&run_until(&mut rig, 1_600));
    assert!(at.len() >= 20, "{at:?}");
    assert!(at[0] < 670, "{at:?}");
}

/// A segment that never arrives (it is too large for what is behind the hop, or MH refuses it), of a connection on
/// which MH sends, too: each of MH's packets seems to end the outage. Tries and probes are as many as if MH
/// were silent: ten for each copy of FH's, and the probes of one outage (invariant I9).
#[test]
fn tries_are_bounded_while_mh_is_heard() {
    let slack = Config {
        queue_guard: 0,
        ..Config::slack()
    };
    for (config, probes) in [(Config::default(), 810), (slack, 64)] {
        let mut rig = rig_with(config, true);
        let (mut resent, mut copies, mut next, mut rto) = (0, 0, 200, 300);
        for ms in 200..600_000u64 {
            if ms == next {
                rig.data(ms, 0, 1_000);
                copies += 1;
                next += rto;
                rto = (2 * rto).min(120_000);
            }
            if ms % 200 == 150 {
                let sent = MH_BASE + (ms - 150) as u32 / 2;
                let request = Tcp {
                    seq: sent - 100,
                    payload: vec![1; 100],
                    ..rig.pure(0, &[])
                };
                resent += rig.mh_sends(ms, request).resent.len();
                let answer = Tcp {
                    ack: sent,
                    seq: wire(1_000),
                    ..rig.bare()
                };
                rig.fh_sends(ms, answer);
            }
            resent += rig.timer(ms).resent.len();
        }
        assert!(
            resent <= probes + 10 * copies,
            "{resent} repairs of a segment that FH sent {copies} times"
        );
    }
}

/// Whose tries were used up has some once more after an outage, and what came of other repairs convicts it then: it goes
/// out at once, and is not due for ever.
#[test]
fn a_pardoned_head_is_convicted_by_repairs() {
    let mut rig = rig_with(
        Config {
            max_local: 2,
            ..Config::default()
        },
        true,
    );
    rig.burst(200, 0, 1_000, 9);
    rig.ack(212, 1_000, &[]);
    ack!(rig, 214, 1_000, sack [(3_000, 5_000)] => hold, resend [1_000, 2_000]);
    ack!(rig, 236, 1_000, sack [(2_000, 6_000)] => pass, resend [1_000]);
    ack!(rig, 237, 1_000, sack [(7_000, 9_000), (2_000, 6_000)] => pass, resend [6_000]);
    // What convicts it comes while nothing may be done about it.
    ack!(rig, 252, 1_000, sack [(2_000, 9_000)] => pass);
    link(&mut rig, 254, false);
    ack!(rig, 255, 1_000, sack [(2_000, 9_000)] => pass, resend [1_000]);
    run_until(&mut rig, 400);
}
