// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme `dproxy` in the programs, at the end that receives data over the hop: what waits, what goes on
//! in its place, what is asked for, and that all memory comes back.

use lasthop::programs::{Agent, Outcome, Program, Setup, SkbContext};
use lasthop_core::Config;
use lasthop_core::bindings::{
    LH_ACK, LH_MESSAGE_ABSENT, LH_MESSAGE_MISSING, LH_ROLE_BASE, LH_ROLE_MOBILE, LH_STREAM_KERNEL,
    LH_SYN,
};
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Message, Missing, parse};

use super::channel::{PORT, agent as with_keys, all, hello};
use super::{DROP, NEXT, in_namespace, setup};

const MSEC: u64 = 1_000_000;
const SIZE: u32 = 500;

/// The agent, a connection whose data come over the hop, and the other agent there.
pub struct Down {
    pub agent: Agent,
    ends: Ends,
    ethernet: bool,
    now: u64,
}

impl Down {
    pub fn new(v6: bool, ethernet: bool) -> Self {
        Self::at(LH_ROLE_MOBILE, v6, ethernet)
    }

    fn at(role: u32, v6: bool, ethernet: bool) -> Self {
        let agent = with_keys(&Setup {
            config: Config {
                role,
                ..Config::dproxy()
            },
            l2_bytes: if ethernet { 14 } else { 0 },
            ..setup()
        });
        let down = Self {
            agent,
            ends: if v6 { Ends::v6(1) } else { Ends::v4(1) },
            ethernet,
            now: 100 * MSEC,
        };
        // Its frames come from where those of the test's packets do.
        let mut hello = hello("10.0.0.1", 5, 2, down.now);
        if !ethernet {
            hello.from.hw = [0; 6];
            hello.seal(&super::channel::key(1));
        }
        let l2 = if ethernet { 14 } else { 0 };
        let packet = hello.packet(&all(4), l2, PORT);
        assert_eq!(down.runs(Program::Ingress, &packet, 0).retval, DROP);
        let offers = [option::mss(1_460), option::wscale(7)].concat();
        let syn = |seq, ack, flags| Tcp {
            seq,
            ack,
            flags,
            options: offers.clone(),
            ..down.tcp()
        };
        let syns = [syn(0, 0, LH_SYN), syn(0, 1, LH_SYN | LH_ACK)];
        down.runs(Program::Ingress, &syns[0].to_fh(&down.ends), 0);
        down.runs(Program::Egress, &syns[1].to_mh(&down.ends), 0);
        let ack = Tcp {
            seq: 1,
            ack: 1,
            ..down.tcp()
        };
        down.runs(Program::Ingress, &ack.to_fh(&down.ends), 0);
        down
    }

    fn tcp(&self) -> Tcp {
        Tcp {
            ethernet: self.ethernet,
            ..Tcp::default()
        }
    }

    fn runs(&self, program: Program, packet: &[u8], part: u32) -> Outcome {
        let context = SkbContext {
            tstamp: self.now,
            gso_size: part,
            gso_segs: (packet.len() as u32).checked_div(part).unwrap_or(0),
            ..SkbContext::default()
        };
        self.agent.run(program, packet, &context, 1).expect("run")
    }

    /// Packet `n` of the connection, or so many from there on at once.
    fn packet(&self, n: u32, size: u32) -> Vec<u8> {
        let tcp = Tcp {
            seq: 1 + n * SIZE,
            ack: 1,
            payload: vec![n as u8; size as usize],
            ..self.tcp()
        };
        tcp.to_fh(&self.ends)
    }

    pub fn comes(&self, n: u32) -> i32 {
        self.runs(Program::Ingress, &self.packet(n, SIZE), 0).retval
    }

    /// The other agent's message number `counter`: of the packets `n` on, which are missing or will not
    /// come.
    fn hears(&self, kind: u32, counter: u64, n: std::ops::Range<u32>) {
        let packet = self.packet(0, SIZE);
        let l2 = if self.ethernet { 14 } else { 0 };
        let (_, key) = parse(&packet, l2, None, false).expect("TCP");
        let mut m = Message::new("10.0.0.1".parse().unwrap(), 5, LH_STREAM_KERNEL, counter);
        let theirs = Missing::of(&key, &[]).key;
        let list = Missing::of(&theirs, &[(1 + n.start * SIZE, 1 + n.end * SIZE)]);
        let put = match kind {
            LH_MESSAGE_MISSING => m.put_missing(&list),
            _ => m.put_absent(&list),
        };
        assert!(put);
        if self.ethernet {
            m.from.hw = [2, 0, 0, 0, 0, 2];
        }
        m.seal(&super::channel::key(1));
        let packet = m.packet(&all(4), l2, PORT);
        assert_eq!(self.runs(Program::Ingress, &packet, 0).retval, DROP);
        self.counts(&[("messages_accepted", counter - 1)]);
    }

    /// What was released comes by.
    fn comes_by(&self, n: u32) {
        let context = SkbContext {
            tstamp: self.now,
            mark: self.agent.view().setup().mark_value,
            ..SkbContext::default()
        };
        let packet = self.packet(n, SIZE);
        let outcome = self.agent.run(Program::Ingress, &packet, &context, 1);
        let outcome = outcome.expect("run");
        assert_eq!((outcome.retval, outcome.context.mark), (NEXT, 0));
        assert_eq!(outcome.data, packet);
    }

    fn count(&self, counter: &str) -> u64 {
        self.agent.counter(counter).expect("a counter")
    }

    pub fn counts(&self, counters: &[(&str, u64)]) {
        for &(counter, n) in counters {
            assert_eq!(self.count(counter), n, "{counter}");
        }
    }

    pub fn at_rest(&self) {
        let usage = self.agent.usage();
        assert_eq!((usage.slots, usage.chunks), (0, 0));
        self.counts(&[("release_errors", 0), ("messages_unsent", 0)]);
    }
}

#[test]
fn what_waits_goes_on_in_its_order() {
    in_namespace(|| {
        for (v6, ethernet) in [(false, true), (true, true), (false, false)] {
            let down = Down::new(v6, ethernet);
            assert_eq!(down.comes(0), NEXT);
            assert_eq!(down.comes(2), DROP);
            assert_eq!(down.comes(4), DROP);
            down.counts(&[("waited", 2), ("told_messages", 2), ("messages_sent", 2)]);
            assert_eq!(down.comes(1), DROP);
            // This and the next one, which waited; nothing else before they are through.
            down.counts(&[("sequenced", 2)]);
            assert_eq!(down.comes(3), DROP);
            down.comes_by(1);
            down.counts(&[("sequenced", 2)]);
            down.comes_by(2);
            down.counts(&[("sequenced", 4)]);
            down.comes_by(3);
            assert_eq!(down.comes(5), DROP);
            down.comes_by(4);
            down.counts(&[("sequenced", 5)]);
            down.comes_by(5);
            assert_eq!(down.comes(6), NEXT);
            down.at_rest();
        }
    });
}

#[test]
fn a_super_packet_waits_as_its_segments() {
    in_namespace(|| {
        let down = Down::new(false, true);
        assert_eq!(down.comes(0), NEXT);
        let large = down.packet(2, 3 * SIZE);
        assert_eq!(down.runs(Program::Ingress, &large, SIZE).retval, DROP);
        down.counts(&[("waited", 3)]);
        assert_eq!(down.comes(1), DROP);
        down.counts(&[("sequenced", 4)]);
        for n in 1..5 {
            down.comes_by(n);
        }
        down.at_rest();
    });
}

/// More parts than are cut out of one: what could not be kept is not taken, either.
#[test]
fn of_a_super_packet_with_too_many_segments_nothing_is_lost() {
    in_namespace(|| {
        let down = Down::new(false, true);
        assert_eq!(down.comes(0), NEXT);
        let small = down.packet(2, 140 * 20);
        let outcome = down.runs(Program::Ingress, &small, 20);
        assert_eq!(outcome.retval, NEXT);
        down.counts(&[("waited", 0), ("unsequenced", 1)]);
        down.at_rest();
    });
}

#[test]
fn what_waits_goes_on_when_the_programs_leave() {
    in_namespace(|| {
        for v6 in [false, true] {
            let down = Down::new(v6, true);
            assert_eq!(down.comes(0), NEXT);
            for n in 2..40 {
                assert_eq!(down.comes(n + n / 7), DROP);
            }
            assert_eq!(down.agent.sweep(true).expect("sweep"), 1);
            down.counts(&[("waited", 38), ("sequenced", 38)]);
            down.at_rest();
        }
    });
}

/// Where an answer can carry it, what has waited goes on with it; a packet of the other family has the
/// next kick do it.
#[test]
fn an_answer_turns_into_what_has_waited() {
    in_namespace(|| {
        for (v6, ethernet) in [(false, true), (true, true), (false, false)] {
            let down = Down::new(v6, ethernet);
            assert_eq!(down.comes(0), NEXT);
            assert_eq!(down.comes(2), DROP);
            down.hears(LH_MESSAGE_ABSENT, 3, 1..2);
            down.counts(&[("holes_absent", 1), ("sequenced", u64::from(!v6))]);
            if v6 {
                let entry = down.agent.flow(0).expect("flow").expect("one");
                assert_eq!(entry.deadline_ns, down.now);
                let context = SkbContext {
                    tstamp: down.now,
                    cb: [0, entry.generation, 0, 0, 0],
                    ..SkbContext::default()
                };
                let mut template = [0; 64];
                template[12..14].copy_from_slice(&[0x86, 0xdd]);
                let kicked = down.agent.run(Program::Kick, &template, &context, 1);
                kicked.expect("kick");
            }
            down.counts(&[("sequenced", 1)]);
            down.comes_by(2);
            assert_eq!(down.comes(3), NEXT);
            down.at_rest();
        }
    });
}

/// Who has sent data over the hop, and is asked for what it never saw, says so; what it has it sends, by
/// the same message.
#[test]
fn a_request_for_what_is_not_here_is_answered() {
    in_namespace(|| {
        for v6 in [false, true] {
            let mut up = Down::at(LH_ROLE_BASE, v6, true);
            let sends = |up: &Down, n: u32| {
                let data = Tcp {
                    seq: 1 + n * SIZE,
                    ack: 1,
                    payload: vec![n as u8; SIZE as usize],
                    ..up.tcp()
                };
                up.runs(Program::Egress, &data.to_mh(&up.ends), 0);
            };
            [0, 1, 4].into_iter().for_each(|n| sends(&up, n));
            up.now += 100 * MSEC;
            up.hears(LH_MESSAGE_MISSING, 3, 1..4);
            up.counts(&[("asked", 1), ("retransmits_asked", 1), ("told_absent", 1)]);
            let kick = up.agent.flow(0).expect("flow").expect("one").nr_absent;
            assert_eq!(kick, u32::from(v6), "noted for a kick");
            up.counts(&[("messages_sent", u64::from(!v6)), ("messages_unsent", 0)]);
            up.counts(&[("retransmit_errors", 0)]);
            // What is noted is no affair of the next connection that has the place.
            assert_eq!(up.agent.sweep(true).expect("sweep"), 1);
            sends(&up, 5);
            let next = up.agent.flow(0).expect("flow").expect("one");
            assert_eq!((next.used, next.nr_absent), (1, 0));
        }
    });
}
