// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Who may ask an agent of scheme snack for what, and how often one asks (docs/design.md, section 5.9):
//! hosts that write what only agents write, and hosts whose data have a gap each.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, checksum_ok, option};
use lasthop_core::{Agent, Config, MSEC_NS, Segment, Setup, parse};

const MSS: u32 = 1_000;

/// An agent that hears the one at the hop's other end, 10 ms away.
fn agent(role: u32) -> Agent {
    let config = Config {
        role,
        queue_guard: 0,
        ..Config::snack()
    };
    let mut agent = Agent::new(Setup {
        config,
        ..Setup::default()
    });
    agent.set_partner(Some(10 * MSEC_NS));
    agent
}

/// Both ends' numbers begin with 1.
fn shakes_hands(agent: &mut Agent, ends: &Ends) {
    let options = [option::mss(1_000), option::wscale(7), option::sack_ok()].concat();
    let syn = |flags, seq, ack| Tcp {
        seq,
        ack,
        flags,
        options: options.clone(),
        ..Tcp::default()
    };
    agent.on_egress(&syn(LH_SYN, 0, 0).to_mh(ends), MSEC_NS);
    agent.on_ingress(&syn(LH_SYN | LH_ACK, 0, 1).to_fh(ends), 2 * MSEC_NS);
}

fn ack(seq: u32, ack: u32) -> Tcp {
    Tcp {
        seq,
        ack,
        ..Tcp::default()
    }
}

fn data(seq: u32, bytes: u32) -> Tcp {
    Tcp {
        payload: vec![7; bytes as usize],
        ..ack(seq, 1)
    }
}

fn parsed(packet: &[u8], to_mh: bool) -> Segment {
    parse(packet, 0, None, to_mh).expect("TCP").0
}

/// A host on the wired side can't ask the agent at the hop's other end: what it writes does not get
/// onto the hop, in ACKs or in data, whose copies are without it as well.
#[test]
fn a_list_from_the_wire_does_not_get_onto_the_hop() {
    for ends in [Ends::v4(1), Ends::v6(1)] {
        let mut base = agent(LH_ROLE_BASE);
        shakes_hands(&mut base, &ends);
        for tcp in [ack(1, 1), data(1, MSS)] {
            let packet = Tcp {
                options: option::missing(&[(1, 100_000)]),
                ..tcp
            }
            .to_mh(&ends);
            assert_eq!(parsed(&packet, true).nr_missing, 1);
            let out = base.on_egress(&packet, 3 * MSEC_NS);
            let leaves = out.annotated.expect("another packet");
            assert_eq!(leaves.len(), packet.len());
            assert!(checksum_ok(&leaves));
            assert_eq!(parsed(&leaves, true).nr_missing, 0);
        }
        let asks = Tcp {
            options: option::missing(&[(1, 1 + MSS)]),
            ..ack(1, 1)
        };
        let out = base.on_ingress(&asks.to_fh(&ends), 100 * MSEC_NS);
        assert_eq!(parsed(&out.to_mh[0], true).nr_missing, 0, "the copy");
    }
}

/// Of a connection that the base does not know, either. (Found by fuzzing, in the native host.)
#[test]
fn a_list_of_an_unknown_connection_ends_at_the_base() {
    let mut base = agent(LH_ROLE_BASE);
    let asks = Tcp {
        options: option::missing(&[(1, 1 + MSS)]),
        ..ack(1, 1)
    };
    let out = base.on_ingress(&asks.to_fh(&Ends::v4(1)), MSEC_NS);
    let passed = out.passed.expect("another packet");
    assert!(checksum_ok(&passed));
    assert_eq!(parsed(&passed, false).nr_missing, 0);
}

/// No agent writes two such options, nor any where a checksum of the hosts' own covers them.
#[test]
fn what_no_agent_writes_asks_for_nothing() {
    let ends = Ends::v4(1);
    let md5 = option::other(19, 18);
    for options in [
        [
            option::missing(&[(1, 1 + MSS)]),
            option::missing(&[(1, 1 + MSS)]),
        ]
        .concat(),
        [md5, option::missing(&[(1, 1 + MSS)])].concat(),
    ] {
        let mut base = agent(LH_ROLE_BASE);
        shakes_hands(&mut base, &ends);
        base.on_egress(&data(1, MSS).to_mh(&ends), 3 * MSEC_NS);
        let asks = Tcp {
            options,
            ..ack(1, 1)
        };
        let out = base.on_ingress(&asks.to_fh(&ends), 100 * MSEC_NS);
        assert!(out.to_mh.is_empty());
        assert_eq!(base.counter(LH_C_asked), 0);
    }
}

/// A mobile host's connections of which each segment shows one more gap.
struct Gaps {
    ends: Vec<Ends>,
    next: Vec<u32>,
    told: usize,
}

impl Gaps {
    fn new(base: &mut Agent, host: u8, flows: u16) -> Self {
        let ends: Vec<Ends> = (0..flows)
            .map(|n| {
                let mut ends = Ends::v4(n);
                ends.mh.set_ip([198, 51, 100, host].into());
                ends
            })
            .collect();
        for ends in &ends {
            shakes_hands(base, ends);
        }
        Self {
            next: vec![1; ends.len()],
            ends,
            told: 0,
        }
    }

    /// One segment of each, two segments' room from the one before.
    fn go_on(&mut self, base: &mut Agent, now_ns: u64) {
        for (ends, next) in self.ends.iter().zip(&mut self.next) {
            let out = base.on_ingress(&data(*next, 10).to_fh(ends), now_ns);
            assert!(!out.dropped);
            *next += 20;
        }
    }

    fn count(&mut self, told: &[(lasthop_core::Key, lasthop_core::Outcome)]) {
        let ours = |key: &lasthop_core::Key| {
            let name = |ends: &Ends| parse(&ack(1, 1).to_mh(ends), 0, None, true).expect("TCP").1;
            self.ends.iter().any(|ends| name(ends) == *key)
        };
        let new = told
            .iter()
            .filter(|(key, out)| !out.told.is_empty() && ours(key));
        self.told += new.count();
    }
}

/// The other end takes a thousand messages a second, whoever's data they are about. A host whose data
/// are full of gaps gets what the others leave, and of two such hosts each has a half.
#[test]
fn messages_are_shared_by_those_whose_data_they_are_about() {
    let mut base = agent(LH_ROLE_BASE);
    let mut greedy = Gaps::new(&mut base, 1, 6);
    let mut modest = Gaps::new(&mut base, 2, 1);
    let (mut late, mut waits) = (0, false);
    for ms in 10..2_010 {
        let now_ns = ms * MSEC_NS;
        greedy.go_on(&mut base, now_ns);
        let before = modest.told;
        if ms % 250 == 0 {
            modest.go_on(&mut base, now_ns);
            waits = ms > 250; // the first segment of all shows no gap
        }
        let told = base.on_timer(now_ns);
        greedy.count(&told);
        modest.count(&told);
        if waits && modest.told > before {
            late = late.max(ms % 250);
            waits = false;
        }
    }
    assert!((500..=1_600).contains(&greedy.told), "{}", greedy.told);
    assert!(modest.told >= 7, "{}", modest.told);
    assert!(!waits && late <= 101, "{late} ms later");
    assert!(greedy.told + modest.told <= 20 * 95);
}

/// More gaps than a list takes: the next list is due a little later, and not at once, again and again.
/// (Found by fuzzing.)
#[test]
fn the_timer_leaves_what_a_list_has_no_room_for_to_the_next() {
    let ends = Ends::v4(1);
    let mut base = agent(LH_ROLE_BASE);
    shakes_hands(&mut base, &ends);
    for i in 0..7 {
        let packet = data(1 + 2 * i * MSS, MSS).to_fh(&ends);
        base.on_ingress(&packet, 10 * MSEC_NS);
    }
    let late_ns = 40 * MSEC_NS;
    let gaps =
        |from: u32, to: u32| (from..to).map(|i| (1 + (2 * i + 1) * MSS, 1 + 2 * (i + 1) * MSS));
    let told = base.on_timer(late_ns);
    assert_eq!(told[0].1.told[0], gaps(0, 4).collect::<Vec<_>>());
    let next_ns = base.next_deadline().expect("the rest");
    assert!((late_ns + 1..=late_ns + MSEC_NS).contains(&next_ns));
    let told = base.on_timer(next_ns);
    // Beside it, once more, what the last one told of.
    assert_eq!(told[0].1.told[0][2..], gaps(4, 6).collect::<Vec<_>>());
}

/// CPUs' clocks are some microseconds apart: what the timer has just told of is not due for an ACK
/// whose time was read before.
#[test]
fn a_clock_behind_the_other_does_not_tell_twice() {
    let ends = Ends::v4(1);
    let mut base = agent(LH_ROLE_BASE);
    shakes_hands(&mut base, &ends);
    base.on_ingress(&data(1, MSS).to_fh(&ends), 10 * MSEC_NS);
    base.on_ingress(&data(1 + 2 * MSS, MSS).to_fh(&ends), 11 * MSEC_NS);
    let at = 13 * MSEC_NS;
    let told = base.on_timer(at);
    assert_eq!(
        told.iter().filter(|(_, out)| !out.told.is_empty()).count(),
        1
    );
    base.on_egress(&ack(1, 1 + MSS).to_mh(&ends), at - 3_000);
    assert_eq!(
        base.flow(&parse(&ack(1, 1).to_mh(&ends), 0, None, true).unwrap().1)
            .expect("a flow")
            .raw()
            .arrival
            .hole[0]
            .tries,
        1
    );
}
