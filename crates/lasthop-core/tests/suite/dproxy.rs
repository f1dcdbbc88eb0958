// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme dproxy (docs/design.md, section 5.11), step by step at the end that receives: what it asks
//! for, what waits, what goes on. Numbers are those of figure 5 of Murray, Koziniec and Dixon (2009),
//! whose packets have 1,448 bytes.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Agent, Config, Key, MSEC_NS, Outcome, SEC_NS, Setup, parse};

pub const SIZE: u32 = 1_448;
/// Number of the sender's first data byte: 0 in the figure.
pub const FIRST: u32 = u32::MAX - 9_000;
pub const OTHER: u32 = 7_000;
/// Round trip to the other proxy.
const PARTNER_NS: u64 = 4 * MSEC_NS;

/// The proxy that receives data over the link, and the hosts beyond it on either side.
pub struct Down {
    pub agent: Agent,
    pub ends: Ends,
    /// Which connection, by the sender's port.
    pub key: Key,
    pub timestamps: bool,
    pub now: u64,
}

/// Numbers, each with the ms at which it was asked for or went on.
pub type Timed = Vec<(u64, u32)>;

/// What became of a packet, in the figure's numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What went on to the receiver, in this order.
    pub on: Vec<u32>,
    /// What was asked for.
    pub asked: Vec<u32>,
}

fn seen(on: &[u32], asked: &[u32]) -> Seen {
    Seen {
        on: on.to_vec(),
        asked: asked.to_vec(),
    }
}

pub fn dproxy() -> Config {
    Config {
        role: LH_ROLE_MOBILE,
        ..Config::dproxy()
    }
}

fn rel(seq: u32) -> u32 {
    seq.wrapping_sub(FIRST)
}

impl Down {
    pub fn new(config: Config) -> Self {
        Self::with(Setup {
            config,
            ..Setup::default()
        })
    }

    pub fn with(setup: Setup) -> Self {
        let agent = Agent::new(setup);
        let mut down = Self {
            agent,
            ends: Ends::v4(1),
            key: Key::default(),
            timestamps: false,
            now: SEC_NS,
        };
        down.agent.set_partner(Some(PARTNER_NS));
        down.open(1);
        down
    }

    /// Another connection, which is the present one from now on.
    pub fn open(&mut self, host: u16) {
        self.open_between(Ends::v4(host));
    }

    pub fn open_between(&mut self, ends: Ends) {
        self.ends = ends;
        let mut offers = option::mss(1_460);
        offers.extend(option::wscale(7));
        offers.extend(option::sack_ok());
        let of = |seq: u32, ack, flags, options: &[u8]| Tcp {
            seq,
            ack,
            flags,
            options: options.to_vec(),
            ..Tcp::default()
        };
        let syn = of(FIRST.wrapping_sub(1), 0, LH_SYN, &offers).to_mh(&self.ends);
        let (_, key) = parse(&syn, 0, None, false).expect("TCP");
        self.key = key;
        self.agent.on_ingress(&syn, self.now);
        let answer = of(OTHER - 1, FIRST, LH_SYN | LH_ACK, &offers).to_fh(&self.ends);
        self.agent.on_egress(&answer, self.now);
        self.now += MSEC_NS;
        let ack = of(FIRST, OTHER, LH_ACK, &[]).to_mh(&self.ends);
        self.agent.on_ingress(&ack, self.now);
        let window = of(OTHER, FIRST, LH_ACK, &[]).to_fh(&self.ends);
        self.agent.on_egress(&window, self.now);
    }

    pub fn packet(&self, seq: u32, size: u32) -> Vec<u8> {
        let seq = FIRST.wrapping_add(seq);
        let options = match self.timestamps {
            true => [&[1, 1], option::timestamps(seq, 5).as_slice()].concat(),
            false => Vec::new(),
        };
        let tcp = Tcp {
            seq,
            ack: OTHER,
            options,
            payload: crate::rig::payload(seq, size as usize),
            ..Tcp::default()
        };
        tcp.to_mh(&self.ends)
    }

    pub fn look(&self, outcome: Outcome) -> Seen {
        let passed = outcome.passed.into_iter();
        let on = passed.chain(outcome.to_fh).map(|packet| {
            let (s, _) = parse(&packet, 0, None, false).expect("TCP");
            let bytes = &packet[usize::from(s.hdr_bytes)..];
            assert_eq!(bytes, crate::rig::payload(s.seq, bytes.len()));
            rel(s.seq)
        });
        let asked = outcome.told.iter().flatten();
        Seen {
            on: on.collect(),
            asked: asked.map(|block| rel(block.0)).collect(),
        }
    }

    /// The packet `seq` comes over the link.
    pub fn comes(&mut self, seq: u32) -> Seen {
        let packet = self.packet(seq, SIZE);
        let outcome = self.agent.on_ingress(&packet, self.now);
        self.look(outcome)
    }

    /// The present connection's timer at `ms` after the start.
    pub fn timer(&mut self, ns: u64) -> Seen {
        self.now = self.now.max(ns);
        let done = self.agent.on_timer(self.now);
        let mut all = Seen::default();
        for (_, outcome) in done {
            let seen = self.look(outcome);
            all.on.extend(seen.on);
            all.asked.extend(seen.asked);
        }
        all
    }

    pub fn waiting(&self) -> u32 {
        self.agent.flow(&self.key).expect("the flow").waiting()
    }

    pub fn count(&self, counter: u32) -> u64 {
        self.agent.counter(counter)
    }

    /// Lets the timer run whenever it wants to, for so long. @return what was asked for, and when.
    pub fn run_ms(&mut self, ms: u64) -> (Timed, Timed) {
        let (start, end) = (self.now, self.now + ms * MSEC_NS);
        let (mut asked, mut on) = (Vec::new(), Vec::new());
        while let Some(at) = self.agent.next_deadline().filter(|&at| at <= end) {
            let seen = self.timer(at);
            let ms = (self.now - start) / MSEC_NS;
            asked.extend(seen.asked.into_iter().map(|seq| (ms, seq)));
            on.extend(seen.on.into_iter().map(|seq| (ms, seq)));
        }
        self.now = end;
        (asked, on)
    }

    /// Everything that was lent is given back.
    pub fn at_rest(&self) {
        assert_eq!(self.waiting(), 0);
        assert_eq!(self.agent.host().pool().slots_used(), 0);
        assert_eq!(self.agent.host().pool().chunks_used(), 0);
        assert_eq!(self.agent.next_deadline(), None);
    }
}

/// Figure 5, a to d. What its labels call 2836, 4334 and 10135 are misprints of 2896, 4344 and 10136.
#[test]
fn figure_5_step_by_step() {
    let mut down = Down::new(dproxy());
    // a: three in sequence, and then 5792 and 7240, and 10136 are missing. One request for each.
    assert_eq!(down.comes(0), seen(&[0], &[]));
    for seq in [1_448, 2_896, 4_344] {
        assert_eq!(down.comes(seq), seen(&[seq], &[]));
    }
    assert_eq!(down.comes(8_688), seen(&[], &[5_792, 7_240]));
    assert_eq!(down.comes(11_584), seen(&[], &[10_136]));
    assert_eq!(down.comes(13_032), seen(&[], &[]));
    assert_eq!(down.count(LH_C_told_messages), 3);
    // b: 7240 is replayed, 5792 was asked for before it and is not here: asked for once more.
    down.now += 2 * MSEC_NS;
    assert_eq!(down.comes(7_240), seen(&[], &[5_792]));
    assert_eq!(down.comes(14_480), seen(&[], &[]));
    // c: 15928 is new, 10136 is replayed. It was asked for before 5792 was for the second time.
    assert_eq!(down.comes(15_928), seen(&[], &[]));
    assert_eq!(down.comes(10_136), seen(&[], &[]));
    assert_eq!(down.waiting(), 7);
    // d: 5792 comes. Five go on, and the buffer begins at 13032.
    let packet = down.packet(5_792, SIZE);
    let outcome = down.agent.on_ingress(&packet, down.now);
    let actions = outcome.actions.expect("the core's word");
    assert_eq!(actions.releases().len(), 5);
    let on = down.look(outcome).on;
    assert_eq!(on[..5], [5_792, 7_240, 8_688, 10_136, 11_584]);
    // The rest, once these are through.
    assert_eq!(on[5..], [13_032, 14_480, 15_928]);
    assert_eq!(down.comes(17_376), seen(&[17_376], &[]));
    down.at_rest();
}

/// The same without the timer's or the order's help: each request is one message, of one packet.
#[test]
fn each_missing_packet_is_a_message_of_its_own() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    let packet = down.packet(5 * SIZE, SIZE);
    let outcome = down.agent.on_ingress(&packet, down.now);
    let piece = |n: u32| {
        (
            FIRST.wrapping_add(n * SIZE),
            FIRST.wrapping_add((n + 1) * SIZE),
        )
    };
    assert_eq!(outcome.told, [1, 2, 3, 4].map(|n| vec![piece(n)]));
}

/// What is left over of a gap, and packets that are smaller, are pieces of their own size.
#[test]
fn the_last_piece_of_a_gap_is_what_is_left() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    let seen = down.comes(2 * SIZE + 100);
    assert_eq!(seen.asked, [SIZE, 2 * SIZE]);
    // And if they come in other pieces, they come.
    let packet = down.packet(SIZE, 700);
    let outcome = down.agent.on_ingress(&packet, down.now);
    assert_eq!(down.look(outcome).on, [SIZE]);
    let packet = down.packet(SIZE + 700, SIZE - 600);
    let outcome = down.agent.on_ingress(&packet, down.now);
    assert_eq!(down.look(outcome).on, [SIZE + 700, 2 * SIZE + 100]);
    down.at_rest();
}

/// Without a repair it is asked for after two, three and four times the mean time of one, which is
/// 20 ms as long as none was seen, and given up at five or four.
#[test]
fn requests_are_repeated_by_time_and_given_up() {
    for (give_up, last) in [(5, Some(80)), (4, None)] {
        let mut down = Down::new(Config {
            give_up,
            ..dproxy()
        });
        down.comes(0);
        assert_eq!(down.comes(2 * SIZE).asked, [SIZE]);
        let (asked, on) = down.run_ms(300);
        let times: Vec<u64> = asked.iter().map(|a| a.0).collect();
        let expected: Vec<u64> = [40, 60].into_iter().chain(last).collect();
        assert_eq!(times, expected);
        assert!(asked.iter().all(|a| a.1 == SIZE));
        assert_eq!(on, [(u64::from(give_up) * 20, 2 * SIZE)]);
        assert_eq!(down.count(LH_C_holes_given_up), 1);
        // It goes on in order behind the gap, and the receiver's report is the sender's to answer.
        assert_eq!(down.comes(3 * SIZE).on, [3 * SIZE]);
        down.at_rest();
    }
}

/// The mean is that of the repairs that were seen, and two milliseconds at the least.
#[test]
fn the_mean_time_of_a_repair_is_learned() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    for n in 0..40 {
        down.comes((2 * n + 2) * SIZE);
        down.now += 6 * MSEC_NS;
        down.comes((2 * n + 1) * SIZE);
    }
    assert_eq!(down.comes(83 * SIZE).asked, [81 * SIZE, 82 * SIZE]);
    let (asked, _) = down.run_ms(100);
    let times: Vec<u64> = asked.iter().map(|a| a.0).collect();
    assert_eq!(times, [12, 12, 18, 18, 24, 24]);

    let mut down = Down::new(dproxy());
    down.comes(0);
    for n in 0..10 {
        down.comes((2 * n + 2) * SIZE);
        down.comes((2 * n + 1) * SIZE);
    }
    let flow = down.agent.flow(&down.key).expect("the flow").raw();
    assert_eq!(flow.arrival.replay_us, 2_000);
}

/// Another connection begins with what this one has learned.
#[test]
fn the_mean_time_of_a_repair_is_the_links() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    down.now += 6 * MSEC_NS;
    down.comes(SIZE);
    down.open(2);
    down.comes(0);
    down.comes(2 * SIZE);
    let (asked, on) = down.run_ms(100);
    let times: Vec<u64> = asked.iter().map(|a| a.0).collect();
    assert_eq!(times, [12, 18, 24]);
    assert_eq!(on, [(30, 2 * SIZE)]);
}

/// Where a queue has grown before the hop a repair takes longer than anything was waited for before: that
/// is learned, from what was asked for twice and from what was given up, or it would be asked for in
/// vain for ever.
#[test]
fn repairs_that_take_longer_than_before_are_learned() {
    for took_ms in [15u64, 60] {
        let mut down = Down::new(dproxy());
        down.comes(0);
        for n in 0..8 {
            down.comes((2 * n + 2) * SIZE);
            down.now += 3 * MSEC_NS;
            down.comes((2 * n + 1) * SIZE);
        }
        let before = down.count(LH_C_told_messages);
        for n in 8..40 {
            down.comes((2 * n + 2) * SIZE);
            down.run_ms(took_ms);
            down.comes((2 * n + 1) * SIZE);
        }
        let last = down.count(LH_C_told_messages);
        for n in 40..50 {
            down.comes((2 * n + 2) * SIZE);
            down.run_ms(took_ms);
            down.comes((2 * n + 1) * SIZE);
        }
        let asked = down.count(LH_C_told_messages) - last;
        assert_eq!(asked, 10, "{took_ms} ms");
        assert!(last - before > 32, "{took_ms} ms");
    }
}

/// The rule of order off (row 23): by time alone.
#[test]
fn without_the_rule_of_order_only_time_convicts() {
    let mut down = Down::new(Config {
        order_rule: 0,
        ..dproxy()
    });
    down.comes(0);
    assert_eq!(down.comes(3 * SIZE).asked, [SIZE, 2 * SIZE]);
    down.now += 4 * MSEC_NS;
    assert_eq!(down.comes(2 * SIZE), Seen::default());
    let (asked, _) = down.run_ms(300);
    // Two, three and four times the 4 ms that the other one took.
    assert_eq!(asked, [(4, SIZE), (8, SIZE), (12, SIZE)]);
}

/// More missing at once than a call asks for: the timer goes on at once, from the lowest number.
#[test]
fn a_long_gap_is_asked_for_packet_by_packet() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    let mut asked = down.comes(21 * SIZE).asked;
    let (more, _) = down.run_ms(5);
    asked.extend(more.iter().map(|a| a.1));
    let all: Vec<u32> = (1..21).map(|n| n * SIZE).collect();
    assert_eq!(asked, all);
    for n in 1..20 {
        assert_eq!(down.comes(n * SIZE).on, [n * SIZE]);
    }
    assert_eq!(down.comes(20 * SIZE).on, [20 * SIZE, 21 * SIZE]);
    down.at_rest();
}

/// A flow's part of the buffer: who has more waiting is not waited for, and its receiver sees the gap.
#[test]
fn over_its_share_a_flow_shows_the_gap() {
    let mut down = Down::new(Config {
        reorder_buffer: 10,
        ..dproxy()
    });
    down.comes(0);
    for n in 2..12 {
        assert_eq!(down.comes(n * SIZE).on, []);
    }
    // The eleventh.
    let seen = down.comes(12 * SIZE);
    let all: Vec<u32> = (2..13).map(|n| n * SIZE).collect();
    assert_eq!(seen.on, all);
    assert_eq!(down.count(LH_C_overcrowded), 1);
    // The repair comes for all that, and passes.
    assert_eq!(down.comes(SIZE).on, [SIZE]);
    down.at_rest();
}

/// The buffer is everybody's: five flows have a fifth each, and with more flows than packets
/// nobody waits.
#[test]
fn the_buffer_is_divided_among_the_flows() {
    for (flows, least) in [(5u16, 2u32), (11, 0)] {
        let mut down = Down::new(Config {
            reorder_buffer: 10,
            ..dproxy()
        });
        for host in 1..=flows {
            if host != 1 {
                down.open(host);
            }
            down.comes(0);
        }
        let mut waited = 0;
        for n in 2..6 {
            let seen = down.comes(n * SIZE);
            if seen.on.is_empty() {
                waited += 1;
            } else {
                break;
            }
        }
        assert_eq!(waited, least, "{flows} flows");
        if least == 0 {
            assert!(down.count(LH_C_unsequenced) >= 1);
        }
    }
}

/// Nobody answers at the other end, or nobody would wake us: everything passes as it comes, and what
/// waits goes on at once.
#[test]
fn without_help_nothing_waits() {
    for partner in [true, false] {
        let mut down = Down::new(dproxy());
        down.comes(0);
        down.comes(2 * SIZE);
        down.comes(4 * SIZE);
        assert_eq!(down.waiting(), 2);
        if partner {
            down.agent.set_partner(None);
        } else {
            down.agent.set_alive(false);
        }
        assert_eq!(down.comes(6 * SIZE).on, [2 * SIZE, 4 * SIZE, 6 * SIZE]);
        assert_eq!(down.comes(8 * SIZE).on, [8 * SIZE]);
        down.at_rest();
    }
    // By the timer, where nothing else comes.
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    down.agent.set_partner(None);
    let (_, on) = down.run_ms(200);
    assert_eq!(on.iter().map(|on| on.1).collect::<Vec<_>>(), [2 * SIZE]);
}

/// No packet waits longer than 150 ms, whatever comes and gets lost.
#[test]
fn nothing_waits_for_longer_than_it_may() {
    let mut down = Down::new(Config {
        max_local: 100,
        give_up: 8,
        ..dproxy()
    });
    down.comes(0);
    // Each round trip the second one comes and the first one doesn't.
    let start = down.now;
    down.comes(3 * SIZE);
    for _ in 0..20 {
        down.now += 20 * MSEC_NS;
        let seen = down.timer(down.now);
        if !seen.on.is_empty() {
            break;
        }
    }
    assert!(down.now - start <= 150 * MSEC_NS, "{}", down.now - start);
    assert_eq!(down.waiting(), 0);
}

/// A link that is down carries no request; what is missing is asked for when it is back.
#[test]
fn a_link_that_is_down_is_not_asked() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    assert_eq!(down.comes(2 * SIZE).asked, [SIZE]);
    assert_eq!(down.agent.on_link(false, down.now).len(), 1);
    let (asked, _) = down.run_ms(90);
    assert_eq!(asked, []);
    down.agent.on_link(true, down.now);
    let (asked, _) = down.run_ms(1);
    assert_eq!(asked, [(0, SIZE)]);
}

/// What was asked for twice may come twice: the second copy ends here. What its sender sends again does
/// not, by its timestamp.
#[test]
fn nothing_comes_twice() {
    let mut down = Down::new(dproxy());
    down.timestamps = true;
    down.comes(0);
    assert_eq!(down.comes(2 * SIZE).asked, [SIZE]);
    let (asked, _) = down.run_ms(45);
    assert_eq!(asked.len(), 1);
    assert_eq!(down.comes(SIZE).on, [SIZE, 2 * SIZE]);
    assert_eq!(down.comes(SIZE), Seen::default());
    assert_eq!(down.count(LH_C_copies_dropped), 1);
    // One more than was asked for: somebody else's.
    assert_eq!(down.comes(SIZE).on, [SIZE]);
    // And one that waits is here already.
    down.comes(4 * SIZE);
    assert_eq!(down.comes(4 * SIZE), Seen::default());
    assert_eq!(down.comes(3 * SIZE).on, [3 * SIZE, 4 * SIZE]);
    down.at_rest();
}

/// Who is about to be forgotten gets its packets first, in their order.
#[test]
fn what_waits_is_not_lost_with_the_agent() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    for n in 2..30 {
        down.comes((n + n / 7) * SIZE);
    }
    let key = down.key;
    let gone = down.agent.forget(&key, down.now);
    let numbers = gone.iter().map(|packet| {
        let (s, _) = parse(packet, 0, None, false).expect("TCP");
        rel(s.seq)
    });
    let all: Vec<u32> = (2..30).map(|n| (n + n / 7) * SIZE).collect();
    assert_eq!(numbers.collect::<Vec<_>>(), all);
    assert_eq!(down.agent.host().pool().slots_used(), 0);
    assert_eq!(down.agent.host().pool().chunks_used(), 0);
}

/// A new connection between the same ports does not get the old one's packets.
#[test]
fn a_new_connection_begins_anew() {
    let mut down = Down::new(dproxy());
    down.comes(0);
    down.comes(2 * SIZE);
    let rst = Tcp {
        seq: FIRST.wrapping_add(3 * SIZE),
        ack: OTHER,
        flags: LH_RST | LH_ACK,
        ..Tcp::default()
    };
    let outcome = down.agent.on_ingress(&rst.to_mh(&down.ends), down.now);
    assert!(outcome.passed.is_some());
    down.now += 2 * SEC_NS;
    down.timer(down.now);
    down.agent.sweep(down.now);
    down.open(1);
    assert_eq!(down.comes(0).on, [0]);
    down.at_rest();
}
