// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the window controller may believe, and what it may do to windows: one test per
//! mistake that was made.

use std::collections::VecDeque;

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Config, Flow, Host, Key, Limits, MSEC_NS, SEC_NS, Setup, names, parse};

use crate::bench::{Bench, answered};
use crate::brake::{self, MSS};
use crate::rig::{Options, Rig, ns, rig_with, wire};

/// The controller engages as soon as a queue stands.
fn always() -> Config {
    Config {
        clock: LH_CLOCK_ALWAYS,
        ..Config::default()
    }
}

fn rig(sack: bool) -> Rig {
    rig_with(always(), sack)
}

/// A sender that never pauses: a segment each millisecond from 200 on.
struct Stream {
    under_way: VecDeque<u64>,
    sent: i64,
    acked: i64,
}

impl Stream {
    fn new() -> Self {
        Self {
            under_way: VecDeque::new(),
            sent: 0,
            acked: 0,
        }
    }

    /// One millisecond; what left `sojourn` ago is acknowledged.
    fn step(&mut self, rig: &mut Rig, ms: u64, sojourn: u64) {
        rig.data(ms, self.sent, 1_000);
        self.sent += 1_000;
        self.under_way.push_back(ms);
        while self.under_way.front().is_some_and(|at| ms - at >= sojourn) {
            self.under_way.pop_front();
            self.acked += 1_000;
            rig.ack(ms, self.acked, &[]);
        }
    }
}

/// Pairs of segments over a hop whose queue grows from none to 30 ms, each pair
/// acknowledged at once: the controller is engaged. @return when, and the next number.
fn engaged(rig: &mut Rig) -> (u64, i64) {
    let (mut ms, mut seq) = (200, 0);
    for (sojourn, n) in [(10, 5), (40, 90)] {
        for _ in 0..n {
            data!(rig, ms, seq, 1_000);
            data!(rig, ms, seq + 1_000, 1_000);
            rig.ack(ms + sojourn, seq + 2_000, &[]);
            seq += 2_000;
            ms += sojourn + 1;
        }
    }
    assert_eq!(rig.flow().raw().control.state, LH_CONTROL_HELD as u8);
    (ms, seq)
}

fn window(packet: &[u8]) -> u16 {
    u16::from_be_bytes([packet[34], packet[35]])
}

// Windows.

/// Another window makes a duplicate a window update (RFC 5681 section 2): FH
/// would never see three.
#[test]
fn without_sack_duplicates_that_pass_keep_the_window() {
    let mut rig = rig(false);
    let (ms, seq) = engaged(&mut rig);
    // FH's network lost the segment at seq; ten behind it.
    for i in 1..=10 {
        rig.data(ms, seq + i * 1_000, 1_000);
    }
    let known = rig.flow().raw().hold.fwd_edge.wrapping_sub(wire(seq));
    assert!(known < u32::from(rig.window) << crate::rig::WSCALE);
    let packet = rig.pure(seq, &[]).to_fh(&rig.ends);
    for i in 1..=10 {
        let out = rig.agent.on_ingress(&packet, ns(ms + 40 + i));
        let passed = out.passed.expect("FH has to repair this");
        let granted = u32::from(window(&passed)) << crate::rig::WSCALE;
        assert_eq!(granted, known, "duplicate {i}");
    }
}

/// Nothing was hidden from FH: what it gets is what MH sent, the first duplicate after the
/// handshake included, whose SYN-ACK showed a window that is never scaled.
#[test]
fn without_sack_duplicates_of_a_free_flow_pass_as_they_are() {
    let mut rig = Rig::silent(&Options {
        config: Config::default(),
        ..Options::default()
    });
    let options = option::wscale(crate::rig::WSCALE);
    rig.fh_sends(0, rig.fh_syn(LH_SYN, &options));
    let answer = Tcp {
        window: rig.window,
        ..rig.mh_syn(LH_SYN | LH_ACK, &options)
    };
    rig.mh_sends(10, answer);
    rig.fh_sends(100, rig.bare());
    rig.data(200, 1_000, 1_000); // the first one got lost upstream
    let packet = rig.pure(0, &[]).to_fh(&rig.ends);
    let out = rig.agent.on_ingress(&packet, ns(212));
    assert_eq!(out.passed, Some(packet));
}

/// The hold ends with a duplicate: that and the copies of what was kept make the
/// three that FH needs.
#[test]
fn without_sack_released_copies_keep_the_window() {
    // Every other duplicate would have moved the window by enough.
    for n in [9, 10] {
        // A queue that does not answer to C is somebody else's, and may overflow.
        let config = Config {
            queue_guard: 0,
            ..always()
        };
        let mut rig = rig_with(config, false);
        let (ms, seq) = engaged(&mut rig);
        for i in 0..=20 {
            data!(rig, ms, seq + i * 1_000, 1_000);
        }
        let packet = rig.pure(seq, &[]).to_fh(&rig.ends);
        for i in 1..=n {
            rig.agent.on_ingress(&packet, ns(ms + 40 + i));
        }
        let f = rig.flow();
        assert!(f.is_held());
        let known = f.raw().hold.fwd_edge.wrapping_sub(wire(seq));
        let end = f.raw().hold.until_ns;
        let out = rig.agent.on_ingress(&packet, end);
        let seen: Vec<_> = out.to_fh.iter().chain(&out.passed).collect();
        assert_eq!(seen.len(), 3);
        for packet in seen {
            let granted = u32::from(window(packet)) << crate::rig::WSCALE;
            assert_eq!(granted, known, "after {n}");
        }
    }
}

/// MH closes its window in an ACK that can't take the kept one's place, as it brings data: the
/// copies must not open it again (invariant I16). FH would send what MH refuses, and know an edge
/// that the controller does not, left of which the next one that it grants would be.
#[test]
fn released_copies_do_not_open_a_window_that_closed() {
    let mut rig = rig(false);
    rig.burst(200, 0, 1_000, 3);
    ack!(rig, 212, 0 => hold, resend [0]);
    let closing = Tcp {
        window: 0,
        payload: vec![1; 10],
        ..rig.pure(0, &[])
    };
    expect!(rig.mh_sends(215, closing), pass);
    assert!(rig.flow().is_held());
    let end = rig.flow().raw().hold.until_ns;
    let outcomes = rig.agent.on_timer(end);
    let copies: Vec<_> = outcomes.iter().flat_map(|(_, out)| &out.to_fh).collect();
    assert_eq!(copies.len(), 3);
    for copy in copies {
        assert_eq!(window(copy), 0);
    }
}

/// A unit of the scale is less than a segment: asking for a segment more than what is
/// rounded let only every other delivery through.
#[test]
fn each_delivery_moves_the_window() {
    let mut rig = rig(true);
    let (ms, seq) = engaged(&mut rig);
    for i in 0..=20 {
        data!(rig, ms, seq + i * 1_000, 1_000);
    }
    let mut held = String::new();
    for i in 1..=20 {
        let block = (seq + 1_000, seq + 1_000 + i * 1_000);
        let seen = rig.ack(ms + 40 + i as u64, seq, &[block]);
        held.push(if seen.held { '.' } else { 'U' });
    }
    assert_eq!(held.trim_start_matches('.').find('.'), None, "{held}");
}

/// MH's SYN-ACK offers a scale; whether FH had offered one is not known.
#[test]
fn the_scale_is_unknown_unless_fhs_syn_was_seen() {
    for syn in [false, true] {
        let mut rig = Rig::silent(&Options {
            config: Config::default(),
            ..Options::default()
        });
        let options = option::wscale(7);
        if syn {
            rig.fh_sends(0, rig.fh_syn(LH_SYN, &options));
        } else {
            rig.data(0, 0, 100);
        }
        rig.mh_sends(5, rig.mh_syn(LH_SYN | LH_ACK, &options));
        assert_eq!(rig.flow().has(LH_FLOW_WSCALE), syn);
    }
}

// Times.

/// `tcp` with timestamps.
fn stamped(mut tcp: Tcp, value: u32, echo: u32) -> Tcp {
    tcp.options = vec![1, 1, 8, 10];
    tcp.options.extend(value.to_be_bytes());
    tcp.options.extend(echo.to_be_bytes());
    tcp
}

/// RFC 7323 section 5.4: a tick may last a second. What an ACK's predecessors of
/// the same TSval made FH send is no answer to that ACK.
#[test]
fn a_slow_timestamp_clock_gives_no_sample_too_short() {
    let mut rig = rig(true);
    let ack = |rig: &mut Rig, ms, ack, value| {
        let tcp = stamped(rig.pure(ack, &[]), value, 100);
        rig.mh_sends(ms, tcp);
    };
    let data = |rig: &mut Rig, ms, seq, echo| {
        let tcp = stamped(rig.segment(seq, 1_000), 100, echo);
        rig.fh_sends(ms, tcp);
    };
    ack(&mut rig, 150, 0, 5);
    // FH's answer, after 90 ms.
    data(&mut rig, 240, 0, 5);
    data(&mut rig, 240, 1_000, 5);
    ack(&mut rig, 250, 2_000, 5);
    data(&mut rig, 251, 2_000, 5); // of the same flight
    assert_eq!(rig.flow().raw().wired.rtt_ns, 90 * MSEC_NS);
    // The next tick's first ACK is a good question.
    ack(&mut rig, 260, 3_000, 6);
    data(&mut rig, 340, 3_000, 6);
    assert_eq!(rig.flow().raw().wired.rtt_ns, 80 * MSEC_NS);
}

/// Lmin of the rig's receiver.
fn lmin_ns(rig: &Rig) -> u64 {
    let p = rig.agent.host().peer(rig.flow().raw().peer);
    [p.lmin_now_ns, p.lmin_before_ns, u64::MAX]
        .into_iter()
        .filter(|&ns| ns > 0)
        .min()
        .expect("one at least")
}

/// Small segments are serialised sooner: several in one ACK say as little about full ones as one does.
#[test]
fn lmin_is_of_full_segments() {
    let mut rig = rig(true);
    let mut stream = Stream::new();
    for ms in 200..400 {
        stream.step(&mut rig, ms, 10);
    }
    assert_eq!(lmin_ns(&rig), 10 * MSEC_NS);
    rig.ack(410, stream.sent, &[]);
    for (ms, n) in [(420, 1), (430, 2), (440, 3), (450, 6)] {
        for i in 0..n {
            rig.data(ms + i, stream.sent, 100);
            stream.sent += 100;
        }
        rig.ack(ms + n + 2, stream.sent, &[]);
        assert_eq!(lmin_ns(&rig), 10 * MSEC_NS, "{n} in one ACK");
    }
}

/// Short flows are over before their controllers engage; they pass the queue of the
/// long one all the same.
#[test]
fn lmin_does_not_drift_with_short_flows_beside_an_engaged_one() {
    let mut rig = rig(true);
    let mut stream = Stream::new();
    let mut port = 1;
    for ms in 200..50_000 {
        let sojourn = match rig.flow().raw().control.state {
            _ if ms < 400 => 10,
            0 => lmin_ns(&rig) / MSEC_NS + 7,
            _ => lmin_ns(&rig) / MSEC_NS + 5,
        };
        stream.step(&mut rig, ms, sojourn);
        if ms < 1_000 {
            continue;
        }
        port += u16::from(ms % 500 == 0);
        let ends = Ends::v4(port);
        for i in 1..4 {
            let data = Tcp {
                seq: i * 1_000,
                payload: vec![0; 1_000],
                ..Tcp::default()
            };
            if ms % 500 == 0 {
                rig.agent.on_egress(&data.to_mh(&ends), ns(ms));
            }
        }
        if ms % 500 == sojourn {
            let ack = Tcp {
                ack: 3_000,
                ..Tcp::default()
            };
            rig.agent.on_ingress(&ack.to_fh(&ends), ns(ms));
        }
    }
    assert_eq!(lmin_ns(&rig), 10 * MSEC_NS);
}

/// A flow's share of the cache that holds a part of its window only changes
/// nothing that the controller reckons by.
#[test]
fn what_could_not_be_cached_counts_as_delivered() {
    let controllers = [LH_FLOW_SEGS, 8].map(|flow_segments| {
        let mut rig = Rig::new(&Options {
            sack: true,
            config: Config::default(),
            setup: Setup {
                flow_segments,
                ..Setup::default()
            },
            ..Options::default()
        });
        rig.ack(150, 0, &[]);
        let mut stream = Stream::new();
        for ms in 200..4_000 {
            stream.step(&mut rig, ms, if ms < 1_000 { 10 } else { 60 });
        }
        let f = rig.flow().raw();
        assert_eq!(i64::from(f.delivery.bytes), stream.acked);
        (
            f.delivery.bin_before,
            f.delivery.rate_last,
            f.control.c_bytes,
        )
    });
    assert_eq!(controllers[0], controllers[1]);
}

// Receivers' places (core/device.h).

fn place(host: &mut Host, key: &Key, now_ns: u64) -> u32 {
    let mut flow = Flow::new();
    answered(&mut flow);
    host.set_peer(&mut flow, key, now_ns);
    flow.raw().peer
}

/// One whose place in an empty table is that of the rig's receiver.
fn neighbour(rig: &Rig) -> Ends {
    let alone = |key: &Key| place(&mut Host::new(Limits::default()), key, SEC_NS);
    let at = |n: u16| Ends {
        mh: ([10, 0, (n >> 8) as u8, n as u8], 5_000).into(),
        ..Ends::v4(9)
    };
    let own = alone(&rig.key);
    let mut all = (1..u16::MAX).map(at);
    all.find(|ends| alone(&key(ends)) == own)
        .expect("one of many")
}

fn key(ends: &Ends) -> Key {
    parse(&Tcp::default().to_mh(ends), 0, None, true)
        .expect("TCP")
        .1
}

/// A flow that is forgotten late.
fn long_idle_rig() -> Rig {
    let config = Config {
        idle_ns: 600 * SEC_NS,
        ..Config::default()
    };
    rig_with(config, true)
}

fn pair(rig: &mut Rig, ms: u64, seq: i64) {
    data!(rig, ms, seq, 1_000);
    data!(rig, ms, seq + 1_000, 1_000);
    rig.ack(ms + 2, seq + 2_000, &[]);
}

fn lmin_now_ms(rig: &Rig, place: u32) -> u64 {
    rig.agent.host().peer(place).lmin_now_ns / MSEC_NS
}

/// A connection of these ends gets three segments, 40 ms after they have left, and so a place if there is one.
fn begins(rig: &mut Rig, ends: &Ends, ms: u64) {
    for i in 1..4 {
        let data = Tcp {
            seq: i * 1_000,
            payload: vec![0; 1_000],
            ..Tcp::default()
        };
        rig.agent.on_egress(&data.to_mh(ends), ns(ms));
    }
    for (ms, ack) in [(ms + 1, 1_000), (ms + 40, 4_000)] {
        let ack = Tcp {
            ack,
            ..Tcp::default()
        };
        rig.agent.on_ingress(&ack.to_fh(ends), ns(ms));
    }
}

#[test]
fn a_place_that_went_to_another_is_not_shared() {
    let mut rig = long_idle_rig();
    pair(&mut rig, 200, 0);
    let place = rig.flow().raw().peer;
    assert_eq!(lmin_now_ms(&rig, place), 2);
    // A minute without a sign: the other one takes over.
    let other = neighbour(&rig);
    begins(&mut rig, &other, 70_000);
    assert_eq!(lmin_now_ms(&rig, place), 40);
    pair(&mut rig, 71_000, 2_000);
    assert_eq!(lmin_now_ms(&rig, place), 40, "not ours any more");
}

/// Whoever types a letter now and then gives no samples.
#[test]
fn a_receiver_that_is_heard_keeps_its_place() {
    let mut rig = long_idle_rig();
    pair(&mut rig, 200, 0);
    let place = rig.flow().raw().peer;
    data!(rig, 40_000, 2_000, 1);
    rig.ack(40_003, 2_001, &[]);
    let other = neighbour(&rig);
    begins(&mut rig, &other, 70_000);
    assert_eq!(lmin_now_ms(&rig, place), 2);
}

/// Not every scheme takes samples, or heeds silence.
#[test]
fn a_busy_receiver_keeps_its_place_with_every_scheme() {
    for scheme in names::schemes() {
        let mut rig = rig_with(
            Config {
                scheme: scheme.id,
                ..Config::default()
            },
            true,
        );
        for n in 0..8 {
            let (ms, seq) = (200 + n * 10_000, n as i64 * 2_000);
            rig.data(ms, seq, 1_000);
            rig.data(ms, seq + 1_000, 1_000);
            rig.ack(ms + 2, seq + 2_000, &[]);
        }
        let flow = *rig.flow().raw();
        let other = neighbour(&rig);
        begins(&mut rig, &other, 72_000);
        let tag = rig.agent.host().peer(flow.peer).tag;
        assert!(flow.peer != 0 && tag == flow.peer_tag, "{}", scheme.name);
    }
}

/// Who has lost a place gets another when it goes on.
#[test]
fn who_goes_on_gets_a_place_again() {
    let mut rig = long_idle_rig();
    pair(&mut rig, 200, 0);
    let first = rig.flow().raw().peer;
    let other = neighbour(&rig);
    begins(&mut rig, &other, 70_000);
    pair(&mut rig, 71_000, 2_000);
    pair(&mut rig, 72_000, 4_000);
    let flow = *rig.flow().raw();
    assert!(flow.peer != 0 && flow.peer != first);
    assert_eq!(rig.agent.host().peer(flow.peer).tag, flow.peer_tag);
}

/// What a flow has from before its receiver lost the place and got it again was forgotten with that.
#[test]
fn no_flow_is_counted_out_that_was_not_counted() {
    let mut rig = long_idle_rig();
    pair(&mut rig, 200, 0);
    data!(rig, 300, 2_000, 1_000);
    let place = rig.flow().raw().peer;
    let active = |rig: &Rig| rig.agent.host().peer(place).active;
    assert_eq!(active(&rig), 1);
    let other = neighbour(&rig);
    begins(&mut rig, &other, 70_000);
    begins(&mut rig, &Ends::v4(9), 140_000); // of the first one's addresses
    assert_eq!(rig.flow().raw().peer_tag, rig.agent.host().peer(place).tag);
    rig.ack(140_100, 3_000, &[]);
    assert_eq!(active(&rig), 0);
}

/// Another CPU's clock is a moment ahead.
#[test]
fn a_receiver_seen_in_the_future_is_not_idle() {
    let rig = rig(true);
    let other = key(&neighbour(&rig));
    let mut host = Host::new(Limits::default());
    let first = place(&mut host, &rig.key, SEC_NS + 1);
    assert_ne!(place(&mut host, &other, SEC_NS), first);
    assert_eq!(place(&mut host, &rig.key, SEC_NS), first);
}

/// ACKs of single segments, each of which may have waited, are no samples: whoever had been braked to two segments, and
/// then lost no more, stayed so for good.
#[test]
fn who_gives_no_samples_is_let_go() {
    let mut b = brake::bench(Config::default(), 7);
    let round = |b: &mut Bench, limited: bool| {
        let from = b.flow.raw().max;
        b.data(from, MSS);
        b.now_ns += 60 * MSEC_NS;
        b.flow.raw_mut().control.limited = u8::from(limited);
        brake::stamped(b, from + MSS, 0);
        let c = &b.flow.raw().control;
        (u32::from(c.state), c.c_bytes, c.nr_samples)
    };
    for _ in 0..20 {
        round(&mut b, true);
    }
    let now_ns = b.now_ns;
    let c = &mut b.flow.raw_mut().control;
    c.state = LH_CONTROL_LETTING as u8;
    c.c_bytes = 4_000;
    c.interval_ns = now_ns;
    let mut now = (0, 0, 0);
    for _ in 0..100 {
        now = round(&mut b, true);
    }
    assert!(
        now.0 == LH_CONTROL_LETTING && now.1 > 8_000 && now.2 == 0,
        "{now:?}"
    );
    for _ in 0..10 {
        now = round(&mut b, false);
    }
    assert_eq!(now.0, LH_CONTROL_FREE);
}

/// Over a long way the rate of two bins is that of a pause between bursts, or of the pause that the last cut has made:
/// C fell from 91 to 3 kB in three round trips of half a second, and what the next burst fills is no queue.
#[test]
fn over_a_long_way_a_pause_is_no_rate() {
    let held_over = |wired_ms: u64| {
        let mut b = brake::bench(always(), 7);
        let round = |b: &mut Bench, sojourn_ms: u64| {
            let from = b.flow.raw().max;
            b.data(from, MSS);
            b.data(from + MSS, MSS);
            b.now_ns += sojourn_ms * MSEC_NS;
            brake::stamped(b, from + 2 * MSS, 0);
        };
        for _ in 0..20 {
            round(&mut b, 10);
        }
        let now_ns = b.now_ns;
        let f = b.flow.raw_mut();
        f.wired.rtt_ns = wired_ms * MSEC_NS;
        f.control.state = LH_CONTROL_HELD as u8;
        f.control.c_bytes = 100_000;
        f.control.round_bytes = 80_000;
        f.control.age = LH_YOUNG_INTERVALS as u8;
        f.delivery.rate_last = 50_000; // bytes per second
        f.control.interval_ns = now_ns;
        for _ in 0..LH_RECENT_SAMPLES {
            round(&mut b, 110);
        }
        b.flow.raw().control.c_bytes
    };
    let (short, long) = (held_over(50), held_over(600));
    assert!(short < 50_000, "{short}");
    assert!((80_000..100_000).contains(&long), "{long}");
}
