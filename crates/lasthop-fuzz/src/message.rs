// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Messages between agents (core/message.h, core/partner.h): bytes of strangers, and a talk of those
//! who have the key, in whatever order.

use std::net::{IpAddr, Ipv6Addr};

use lasthop_core::bindings::{
    LH_MAX_PARTNERS, LH_MESSAGE_ABSENT, LH_MESSAGE_HELLO, LH_MESSAGE_MISSING, LH_MISSING_MAX,
    LH_OPENED, lh_flow_key, lh_key, lh_keys,
};
use lasthop_core::message::hello_to;
use lasthop_core::{Hello, Message, Missing, Partners, Sender, Us};

use crate::input::Input;

const PORT: u16 = 30_467;
const MSEC: u64 = 1_000_000;
const OURS: u64 = 7;

fn keys() -> lh_keys {
    lh_keys::new(&[lh_key::new(&[1; 16]), lh_key::new(&[2; 16])])
}

/// Without the key nothing opens, whether as a packet or as what it carries.
fn of_a_stranger(bytes: &[u8]) {
    for l2_bytes in [0, 14] {
        if let Some(mut found) = Message::find(bytes, l2_bytes, PORT) {
            assert!(matches!(found.from.family, 4 | 6));
            assert_ne!(found.open(&keys()), LH_OPENED);
        }
    }
    let mut message = Message::received(bytes, [10, 0, 0, 1].into());
    assert_ne!(message.open(&keys()), LH_OPENED);
}

/// One of a few, by IPv4 or IPv6.
fn address(who: u8, how: u8) -> IpAddr {
    match how & 8 {
        0 => [10, 0, 0, who].into(),
        _ => Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, who.into()).into(),
    }
}

/// Somebody of a few, in one of a few lives, says something.
fn said(input: &mut Input<'_>, now_ns: u64) -> (Message, u8) {
    let who = input.below(80) as u8;
    let epoch = 8 + u64::from(who) * 4 + input.below(4) as u64;
    let stream = u32::from(input.byte() & 1);
    let counter = u64::from(input.short());
    let how = input.byte();
    let mut message = Message::new(address(who, how), epoch, stream, counter);
    if how & 16 != 0 {
        message.from.hw = frames(&message.from);
    }
    if how & 1 != 0 {
        let key = lh_flow_key {
            family: if how & 2 != 0 { 6 } else { 4 },
            ..lh_flow_key::default()
        };
        let blocks: Vec<(u32, u32)> = (0..1 + how % 8)
            .map(|_| (input.word(), input.word()))
            .collect();
        let list = Missing::of(&key, &blocks);
        assert!(match how & 4 {
            0 => message.put_missing(&list),
            _ => message.put_absent(&list),
        });
    } else {
        message.put_hello(&Hello {
            echo_epoch: if how & 2 != 0 { OURS } else { 0 },
            echo_time_ns: now_ns.wrapping_sub(u64::from(input.short()) * MSEC),
            kept_ns: u64::from(input.short()) * MSEC,
            ..hello_to(None, 0, now_ns)
        });
    }
    message.seal(&keys().key[usize::from(how >> 7)]);
    (message, how)
}

/// The layer-2 address that somebody's frames come from.
fn frames(from: &Sender) -> [u8; 6] {
    [2, 0, 0, 0, 0, from.addr[3]]
}

/// Goes over the link as a packet, to all of it or to us, and is what it was for who finds it there.
fn travels(message: &Message, how: u8) -> Message {
    let l2_bytes = if how & 16 != 0 { 14 } else { 0 };
    let who_are = |from: &Sender| Us {
        addr4: if from.family == 4 { from.addr } else { [0; 16] },
        addr6: if from.family == 6 { from.addr } else { [0; 16] },
        hw: if l2_bytes != 0 { frames(from) } else { [0; 6] },
        ..Us::default()
    };
    let us = Sender::at(address(99, how));
    let mut to = match how & 32 {
        0 => us,
        _ => Sender {
            family: us.family,
            ..Sender::default()
        },
    };
    let mut sent = *message;
    assert!(sent.address(&who_are(&message.from), &mut to));
    let packet = sent.packet(&to, l2_bytes, PORT);
    let found = Message::find(&packet, l2_bytes, PORT).expect("a message that was sent");
    assert_eq!(found.wire(), message.wire());
    assert_eq!(found.from.addr, message.from.addr);
    assert!(found.is_for(&who_are(&us)));
    assert!(how & 32 != 0 || !found.is_for(&who_are(&message.from)));
    found
}

/// What opened makes sense.
fn reads(message: &Message) {
    match u32::from(message.type_) {
        LH_MESSAGE_HELLO => assert!(message.hello().is_some() && message.missing().is_none()),
        LH_MESSAGE_MISSING | LH_MESSAGE_ABSENT => {
            let missing = message.missing().or(message.absent()).expect("a list");
            assert!((1..=LH_MISSING_MAX).contains(&missing.nr));
            assert!(matches!(missing.key.family, 4 | 6));
        }
        other => panic!("a message of type {other}"),
    }
}

/// A byte says whether a stranger's bytes follow, or a talk.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    if input.byte() & 1 != 0 {
        return of_a_stranger(input.bytes(usize::MAX));
    }
    let mut partners = Partners::new(OURS);
    let mut now_ns = MSEC;
    while !input.is_empty() {
        now_ns += u64::from(input.byte()) * 10 * MSEC;
        let (message, how) = said(&mut input, now_ns);
        let mut message = travels(&message, how);
        let mut copied = message;
        copied.from.hw[0] ^= 1;
        assert_ne!(copied.open(&keys()), LH_OPENED, "in another's frame");
        if message.open(&keys()) != LH_OPENED {
            continue;
        }
        reads(&message);
        let before = partners.clone();
        let taken = partners.take(&message, now_ns) == LH_OPENED;
        assert!(partners.known().count() <= LH_MAX_PARTNERS as usize);
        let mut same = before.known().filter(|p| p.epoch == message.epoch);
        let known = same.next();
        assert!(same.next().is_none(), "one place for each life");
        if taken && u32::from(message.type_) != LH_MESSAGE_HELLO {
            assert!(known.is_some_and(|p| p.confirmed == 1));
        }
        if taken {
            assert_ne!(partners.take(&message, now_ns), LH_OPENED, "it came before");
        }
        for partner in partners.known().filter(|p| p.up(now_ns)) {
            assert_eq!(hello_to(Some(partner), 0, now_ns).echo_epoch, partner.epoch);
            assert!(partners.find(&partner.at, now_ns).is_some());
        }
        for partner in before.known().filter(|p| p.up(now_ns)) {
            let there = partners.known().any(|p| p.epoch == partner.epoch);
            // It may have been heard by the other family this time.
            let now = partners.known().find(|p| p.epoch == message.epoch);
            let later =
                now.is_some_and(|p| p.at.addr == partner.at.addr && p.epoch > partner.epoch);
            assert!(
                there || later,
                "only a later life of its own takes its place"
            );
        }
    }
}
