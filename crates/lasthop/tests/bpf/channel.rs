// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Messages between agents: what the programs take, refuse and leave alone, that they believe whom
//! the native core believes, and what they send.

use std::net::IpAddr;

use lasthop::programs::{Agent, Program, Setup};
use lasthop_core::bindings::*;
use lasthop_core::message::hello_to;
use lasthop_core::{Message, Missing, Partners, Sender, Us};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{DROP, NEXT, in_namespace, load, run, setup};

pub const PORT: u16 = 30_467;
const OURS: u64 = 1_000;
const MSEC: u64 = 1_000_000;

pub fn key(n: u8) -> lh_key {
    lh_key::new(&[n; 16])
}

fn keys() -> lh_keys {
    lh_keys::new(&[key(1), key(2)])
}

fn us() -> Us {
    Us {
        addr4: Sender::at([10, 0, 0, 9].into()).addr,
        addr6: Sender::at("fe80::9".parse().unwrap()).addr,
        hw: [2, 0, 0, 0, 0, 9],
        ..Us::default()
    }
}

pub fn agent(setup: &Setup) -> Agent {
    let agent = load(&Setup {
        port: PORT,
        ..setup.clone()
    });
    agent.begin_life(OURS).expect("partners");
    agent.set_keys(&keys()).expect("keys");
    agent.set_us(&us()).expect("us");
    agent
}

/// A HELLO of another agent that answers ours.
pub fn hello(from: &str, epoch: u64, counter: u64, now_ns: u64) -> Message {
    let mut m = Message::new(from.parse().unwrap(), epoch, LH_STREAM_KERNEL, counter);
    let can = LH_CAN_REPAIR_MISSING | LH_CAN_HEAR_ABSENT;
    let mut hello = hello_to(None, can.into(), 77);
    (hello.echo_epoch, hello.echo_time_ns) = (OURS, now_ns.saturating_sub(5 * MSEC));
    m.put_hello(&hello);
    m.from.hw = [2, 0, 0, 0, 0, counter as u8];
    m.seal(&key(1));
    m
}

pub fn all(family: u8) -> Sender {
    let all = if family == 4 { "224.0.0.1" } else { "ff02::1" };
    Sender::at(all.parse().unwrap())
}

#[test]
fn a_message_is_taken_and_kept_from_the_stack() {
    in_namespace(|| {
        for (from, l2_bytes) in [
            ("10.0.0.1", 14),
            ("fe80::1", 14),
            ("10.0.0.1", 0),
            ("fe80::1", 0),
        ] {
            let agent = agent(&Setup {
                l2_bytes,
                ..setup()
            });
            let mut m = hello(from, 5, 1, 100 * MSEC);
            if l2_bytes == 0 {
                m.from.hw = [0; 6];
                m.seal(&key(1));
            }
            let packet = m.packet(&all(m.from.family), l2_bytes, PORT);
            let outcome = run(&agent, Program::Ingress, &packet, 100 * MSEC);
            assert_eq!(outcome.retval, DROP, "{from}");
            assert_eq!(agent.counter("messages_accepted").unwrap(), 1);
            let partners = agent.partners().unwrap();
            let partner = partners.known().next().expect("a partner");
            assert_eq!(partner.at.ip(), from.parse::<IpAddr>().unwrap());
            assert_eq!(
                partner.rtt_min_ns,
                5 * MSEC + 500,
                "with what two clocks may differ"
            );
            let again = run(&agent, Program::Ingress, &packet, 101 * MSEC);
            assert_eq!(again.retval, DROP);
            assert_eq!(agent.counter("messages_replayed").unwrap(), 1);
            // Read and gone: nothing went by without help.
            assert_eq!(agent.counter("bypass_not_tcp").unwrap(), 0);
        }
    });
}

#[test]
fn what_is_no_message_for_us_passes() {
    in_namespace(|| {
        let ours = agent(&setup());
        let m = hello("10.0.0.1", 5, 1, 100 * MSEC);
        let right = m.packet(&all(4), 14, PORT);
        let mut forwarded = right.clone();
        forwarded[14 + 8] = 254;
        let other_host = m.packet(&Sender::at([10, 0, 0, 8].into()), 14, PORT);
        let other_port = m.packet(&all(4), 14, PORT + 1);
        let mut tagged = right.clone();
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        for packet in [&forwarded, &other_host, &other_port, &tagged] {
            let outcome = run(&ours, Program::Ingress, packet, 100 * MSEC);
            assert_eq!(outcome.retval, NEXT);
            assert_eq!(&outcome.data, packet, "as it came");
        }
        assert_eq!(ours.counter("messages_off_link").unwrap(), 1);
        assert_eq!(ours.counter("messages_accepted").unwrap(), 0);
        assert_eq!(ours.counter("bypass_not_tcp").unwrap(), 4);
        assert_eq!(ours.partners().unwrap().known().count(), 0);
        // Nobody has a key: a packet like others, and nothing is sent.
        let none = load(&setup());
        let outcome = run(&none, Program::Ingress, &right, 100 * MSEC);
        assert_eq!((outcome.retval, &outcome.data), (NEXT, &right));
        assert!(!none.say_hello(None, 4).unwrap());
        let counters = none.counters().unwrap().n;
        let messages = LH_C_messages_accepted as usize..=LH_C_messages_unsent as usize;
        assert!(counters[messages].iter().all(|n| *n == 0));
    });
}

#[test]
fn what_a_stranger_sends_counts_and_does_no_more() {
    in_namespace(|| {
        let agent = agent(&setup());
        let right = hello("10.0.0.1", 5, 1, 100 * MSEC).packet(&all(4), 14, PORT);
        let refused = |packet: &[u8], counter: &str| {
            let before = agent.counter(counter).unwrap();
            let outcome = run(&agent, Program::Ingress, packet, 100 * MSEC);
            assert_eq!(outcome.retval, DROP, "{counter}");
            assert_eq!(agent.counter(counter).unwrap(), before + 1, "{counter}");
            assert_eq!(agent.partners().unwrap().known().count(), 0, "{counter}");
        };
        let payload = 14 + 20 + 8;
        for (at, counter) in [
            (payload, "messages_malformed"),
            (payload + 4, "messages_version"),
            (payload + 8, "messages_key"),
            (payload + 33, "messages_forged"),
            (14 + 15, "messages_forged"), // another's address
        ] {
            let mut wrong = right.clone();
            wrong[at] ^= 1;
            refused(&wrong, counter);
        }
        // Shorter than it says, longer than may be, and with nothing in it.
        refused(&right[..right.len() - 1], "messages_malformed");
        let mut long = right.clone();
        long.resize(payload + 240, 0);
        long[38..40].copy_from_slice(&248u16.to_be_bytes());
        refused(&long, "messages_malformed");
        let mut huge = right.clone();
        huge[38..40].copy_from_slice(&u16::MAX.to_be_bytes());
        refused(&huge, "messages_malformed");
        let mut empty = right.clone();
        empty[38..40].copy_from_slice(&8u16.to_be_bytes());
        refused(&empty, "messages_malformed");
        let own = hello("10.0.0.9", OURS, 1, 0).packet(&all(4), 14, PORT);
        refused(&own, "messages_own");
    });
}

/// A long exchange, with lost, repeated, overtaken and wrong messages of agents that come and go:
/// what the programs believe is what the native core believes, to the last bit.
#[test]
fn the_programs_believe_whom_the_native_core_believes() {
    in_namespace(|| {
        let agent = agent(&setup());
        let mut native = Partners::new(OURS);
        let mut rng = StdRng::seed_from_u64(11);
        let mut now = MSEC;
        let mut opened_as = [0u32; LH_NR_OPENED as usize];
        for _ in 0..3_000 {
            now += rng.random_range(0..40) * MSEC;
            let who = rng.random_range(0..70u8);
            let from = if who % 2 == 0 {
                format!("10.0.0.{who}")
            } else {
                format!("fe80::{who:x}")
            };
            let epoch = 5 + u64::from(who) * 10 + rng.random_range(0..2);
            let counter = now / (20 * MSEC) + rng.random_range(0..60);
            let mut m = hello(&from, epoch, counter, now);
            if rng.random_bool(0.3) {
                let k = lh_flow_key {
                    family: 4,
                    ..lh_flow_key::default()
                };
                assert!(m.put_missing(&Missing::of(&k, &[(1, 2), (3, 9)])));
            }
            m.seal(&key(rng.random_range(1..4)));
            let mut packet = m.packet(&all(m.from.family), 14, PORT);
            if rng.random_bool(0.1) {
                let at = rng.random_range(packet.len() - 80..packet.len());
                packet[at] ^= 0x10;
            }
            let mut found = Message::find(&packet, 14, PORT).expect("a message");
            let mut opened = found.open(&keys());
            if opened == LH_OPENED {
                opened = native.take(&found, now);
            }
            opened_as[opened as usize] += 1;
            assert_eq!(run(&agent, Program::Ingress, &packet, now).retval, DROP);
        }
        let counters = agent.counters().unwrap().n;
        for (i, n) in opened_as.iter().enumerate() {
            assert_eq!(
                counters[LH_C_messages_accepted as usize + i],
                u64::from(*n),
                "{i}"
            );
        }
        println!("opened as {opened_as:?}");
        assert_eq!(agent.partners().unwrap(), native);
    });
}

#[test]
fn what_the_programs_say_is_understood() {
    in_namespace(|| {
        for l2_bytes in [14, 0] {
            let agent = agent(&Setup {
                l2_bytes,
                ..setup()
            });
            for (counter, family) in [(1, 4), (2, 6)] {
                assert!(agent.say_hello(None, family).unwrap());
                assert_eq!(agent.counter("messages_sent").unwrap(), counter);
            }
            assert!(!agent.say_hello(Some(3), 4).unwrap(), "nobody there");
            agent.set_us(&Us::default()).unwrap();
            assert!(!agent.say_hello(None, 4).unwrap(), "without an address");
            assert_eq!(agent.counter("messages_unsent").unwrap(), 1);
            agent.set_us(&us()).unwrap();
            agent.set_keys(&lh_keys::default()).unwrap();
            assert!(!agent.say_hello(None, 4).unwrap(), "without a key");
        }
        let agent = agent(&setup());
        let theirs = hello("fe80::1", 5, 1, 100 * MSEC).packet(&all(6), 14, PORT);
        run(&agent, Program::Ingress, &theirs, 100 * MSEC);
        for (to, counter) in [(None, 1), (Some(0), 2)] {
            let packet = agent.said(to, 6).unwrap().expect("sent");
            let mut m = Message::find(&packet, 14, PORT).expect("a message");
            assert_eq!(m.open(&keys()), LH_OPENED);
            assert_eq!((m.epoch, m.counter), (OURS, counter));
            assert_eq!(m.from.ip(), "fe80::9".parse::<IpAddr>().unwrap());
            assert_eq!(m.from.hw, us().hw);
            let hello = m.hello().unwrap();
            if to.is_some() {
                assert_eq!((hello.echo_epoch, hello.echo_time_ns), (5, 77));
                assert_eq!(packet[..6], [2, 0, 0, 0, 0, 1]);
            } else {
                assert_eq!((hello.echo_epoch, packet[0]), (0, 0x33));
            }
        }
    });
}
