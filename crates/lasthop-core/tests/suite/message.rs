// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Messages between agents (core/message.h): SipHash by the paper's vectors and by another's
//! implementation, there and back, and everything that is not just what was sealed is refused.

use std::hash::Hasher;
use std::net::IpAddr;

use lasthop_core::bindings::*;
use lasthop_core::message::siphash;
use lasthop_core::packet::checksum;
use lasthop_core::{Hello, Message, Missing, Sender, Us};
use proptest::prelude::*;

pub fn key(n: u8) -> lh_key {
    lh_key::new(&[n; 16])
}

pub fn keys() -> lh_keys {
    lh_keys::new(&[key(1), key(2)])
}

pub fn here() -> IpAddr {
    IpAddr::from([10, 0, 0, 7])
}

fn hello() -> Message {
    let mut m = Message::new(here(), 5, LH_STREAM_USER, 9);
    m.put_hello(&Hello {
        can: 1,
        time_ns: u64::MAX - 3,
        echo_epoch: 4,
        echo_time_ns: 0x0102_0304_0506_0708,
        kept_ns: 77,
    });
    m.seal(&key(1));
    m
}

/// A connection as the agent that misses data of it has it: they come from behind the hop.
fn connection(family: u8) -> lh_flow_key {
    let bytes = if family == 4 { 4 } else { 16 };
    let mut key = lh_flow_key {
        mh_port: 80,
        fh_port: 40_000,
        vlan: [0x1007, 0],
        family,
        ..lh_flow_key::default()
    };
    for i in 0..bytes {
        key.mh[i] = 200 + i as u8;
        key.fh[i] = 1 + i as u8;
    }
    key
}

fn missing(blocks: &[(u32, u32)]) -> Message {
    let mut m = Message::new(here(), 5, LH_STREAM_KERNEL, 1);
    assert!(m.put_missing(&Missing::of(&connection(6), blocks)));
    m.seal(&key(1));
    m
}

fn open(bytes: &[u8]) -> (u32, Message) {
    let mut m = Message::received(bytes, here());
    (m.open(&keys()), m)
}

/// Appendix A of the paper, and the first of the reference implementation's list.
#[test]
fn siphash_is_that_of_the_paper() {
    let (key, data): ([u8; 16], [u8; 16]) = (
        std::array::from_fn(|i| i as u8),
        std::array::from_fn(|i| i as u8),
    );
    for (len, hash) in [
        (0, 0x726f_db47_dd0e_0e31),
        (1, 0x74f8_39c5_93dc_67fd),
        (2, 0x0d6c_8009_d9a9_4f5a),
        (7, 0xab02_00f5_8b01_d137),
        (8, 0x93f5_f579_9a93_2462),
        (15, 0xa129_ca61_49be_45e5),
    ] {
        assert_eq!(siphash(&key, &data[..len]), hash, "{len} bytes");
    }
}

proptest! {
    #[test]
    fn siphash_is_that_of_another(key: [u8; 16], data in proptest::collection::vec(any::<u8>(), 0..300)) {
        let half = |at: usize| u64::from_le_bytes(key[at..at + 8].try_into().unwrap());
        #[allow(deprecated)] // what replaced it does not say which SipHash it is
        let mut other = std::hash::SipHasher::new_with_keys(half(0), half(8));
        other.write(&data);
        prop_assert_eq!(siphash(&key, &data), other.finish());
    }

    /// Whatever the bytes are, they are refused, whoever is said to have sent them.
    #[test]
    fn anything_else_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), from: u32) {
        let mut m = Message::received(&bytes, IpAddr::from(from.to_be_bytes()));
        prop_assert_ne!(m.open(&keys()), LH_OPENED);
    }

    /// And so are bytes that have the right beginning.
    #[test]
    fn what_only_begins_right_is_refused(
        begin in 0usize..40,
        rest in proptest::collection::vec(any::<u8>(), 0..260),
    ) {
        let mut bytes = hello().wire();
        bytes.truncate(begin);
        bytes.extend(rest);
        prop_assert_ne!(open(&bytes).0, LH_OPENED);
    }

    #[test]
    fn numbers_come_through(
        (epoch, counter, time_ns, echo_epoch, kept_ns) in any::<(u64, u64, u64, u64, u64)>(),
        v6: [u8; 16],
    ) {
        let from = IpAddr::from(v6);
        let mut m = Message::new(from, epoch, LH_STREAM_KERNEL, counter);
        let said = Hello { can: 3, time_ns, echo_epoch, echo_time_ns: 8, kept_ns };
        m.put_hello(&said);
        m.seal(&key(2));
        let mut heard = Message::received(&m.wire(), from);
        let opened = heard.open(&keys());
        if epoch == 0 || counter == 0 {
            prop_assert_eq!(opened, LH_OPENED_MALFORMED);
        } else {
            prop_assert_eq!(opened, LH_OPENED);
            prop_assert_eq!((heard.epoch, heard.counter, heard.stream), (epoch, counter, 1));
            prop_assert_eq!(heard.hello(), Some(said));
        }
    }
}

/// Byte by byte, so that two builds on machines of either byte order understand each other.
#[test]
fn a_hello_on_the_wire() {
    let wire = hello().wire();
    let head = [
        0x4c, 0x48, 0x50, 0x4d, 1, 1, 0, 0, // magic, version, type, stream
    ];
    assert_eq!(wire.len(), 32 + 40 + 8);
    assert_eq!(wire[..8], head);
    assert_eq!(wire[8..12], key(1).id.to_be_bytes());
    assert_eq!(wire[12..16], [0, 40, 0, 0]);
    assert_eq!(wire[16..24], 5u64.to_be_bytes());
    assert_eq!(wire[24..32], 9u64.to_be_bytes());
    assert_eq!(wire[32..40], 1u64.to_be_bytes());
    assert_eq!(wire[40..48], (u64::MAX - 3).to_be_bytes());
    assert_eq!(wire[56..64], [1, 2, 3, 4, 5, 6, 7, 8]);
    // The MAC, by the definition in message.h.
    let mut sealed = [0; 24];
    sealed[..4].copy_from_slice(&[10, 0, 0, 7]);
    sealed[16] = 4;
    let without = [&sealed[..], &wire[..72]].concat();
    assert_eq!(wire[72..], siphash(&[1; 16], &without).to_be_bytes());
    // Of a device with a layer-2 address.
    let mut m = hello();
    m.from.hw = [2, 3, 4, 5, 6, 7];
    m.seal(&key(1));
    sealed[18..].copy_from_slice(&m.from.hw);
    let with = [&sealed[..], &wire[..72]].concat();
    assert_eq!(m.wire()[72..], siphash(&[1; 16], &with).to_be_bytes());
}

#[test]
fn what_is_missing_comes_through_turned_round() {
    for (family, nr) in [(4, 1), (6, 8), (4, 8), (6, 3)] {
        let blocks: Vec<(u32, u32)> = (0..nr)
            .map(|i| ((u32::MAX - 5).wrapping_add(i * 20), 7 + i * 20))
            .collect();
        let ours = connection(family);
        let mut m = Message::new(here(), 5, LH_STREAM_KERNEL, 1);
        assert!(m.put_missing(&Missing::of(&ours, &blocks)));
        m.seal(&key(1));
        let (opened, heard) = open(&m.wire());
        assert_eq!(opened, LH_OPENED);
        let told = heard.missing().unwrap();
        assert!(heard.hello().is_none());
        assert_eq!((told.key.mh, told.key.mh_port), (ours.fh, ours.fh_port));
        assert_eq!((told.key.fh, told.key.fh_port), (ours.mh, ours.mh_port));
        assert_eq!((told.key.family, told.key.vlan), (family, ours.vlan));
        assert_eq!(told.key.pad, [0; 3], "the key is hashed");
        let listed: Vec<_> = told.block.iter().map(|b| (b.left, b.right)).collect();
        assert_eq!((told.nr, &listed[..nr as usize]), (nr, &blocks[..]));
    }
    let mut m = Message::default();
    assert!(!m.put_missing(&Missing::of(&connection(4), &[])));
    let nine = Missing {
        nr: 9,
        ..Missing::of(&connection(4), &[(1, 2)])
    };
    assert!(!m.put_missing(&nine));
}

#[test]
fn every_other_length_is_refused() {
    for whole in [hello().wire(), missing(&[(1, 2), (5, 9)]).wire()] {
        assert_eq!(open(&whole).0, LH_OPENED);
        for bytes in 0..whole.len() {
            assert_eq!(open(&whole[..bytes]).0, LH_OPENED_MALFORMED, "{bytes}");
        }
        for more in 1..300 {
            let mut long = whole.clone();
            long.resize(whole.len() + more, 0);
            assert_eq!(open(&long).0, LH_OPENED_MALFORMED, "{more} more");
        }
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    for whole in [hello().wire(), missing(&[(1, 2)]).wire()] {
        for bit in 0..whole.len() * 8 {
            let mut wrong = whole.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            let (opened, _) = open(&wrong);
            let expected = match bit / 8 {
                0..=3 | 7 | 12..=15 => LH_OPENED_MALFORMED,
                4 => LH_OPENED_VERSION,
                8..=11 => LH_OPENED_KEY,
                _ => LH_OPENED_FORGED,
            };
            assert_eq!(opened, expected, "bit {bit}");
        }
    }
}

#[test]
fn a_message_is_its_senders_own() {
    let wire = hello().wire();
    for other in [IpAddr::from([10, 0, 0, 8]), "a00:7::".parse().unwrap()] {
        let mut m = Message::received(&wire, other);
        assert_eq!(m.open(&keys()), LH_OPENED_FORGED);
    }
    // Who copies it into a frame of their own would get the answers.
    let mut m = Message::received(&wire, here());
    m.from.hw = [2, 0, 0, 0, 0, 8];
    assert_eq!(m.open(&keys()), LH_OPENED_FORGED);
}

#[test]
fn two_keys_open_and_no_other() {
    let sealed = |n| {
        let mut m = hello();
        m.seal(&key(n));
        m.wire()
    };
    assert_eq!(open(&sealed(1)).0, LH_OPENED);
    assert_eq!(open(&sealed(2)).0, LH_OPENED);
    assert_eq!(open(&sealed(3)).0, LH_OPENED_KEY);
    let mut m = Message::received(&sealed(1), here());
    assert_eq!(m.open(&lh_keys::default()), LH_OPENED_KEY);
    // A key that only has the same number.
    let mut other = key(3);
    other.id = key(1).id;
    let mut m = Message::received(&sealed(1), here());
    assert_eq!(m.open(&lh_keys::new(&[other])), LH_OPENED_FORGED);
}

#[test]
fn bodies_that_make_no_sense() {
    let opened = |change: &dyn Fn(&mut Message)| {
        let mut m = missing(&[(1, 2)]);
        change(&mut m);
        m.seal(&key(1));
        open(&m.wire()).0
    };
    let be = |x: u64| x.to_be();
    assert_eq!(opened(&|_| ()), LH_OPENED);
    // An empty block, and one the wrong way round.
    assert_eq!(opened(&|m| m.w[10] = be(1 << 32 | 1)), LH_OPENED_MALFORMED);
    assert_eq!(opened(&|m| m.w[10] = be(2 << 32 | 1)), LH_OPENED_MALFORMED);
    // More blocks than there are, none, too many, and no family.
    assert_eq!(
        opened(&|m| m.w[9] = be(4 << 56 | 2 << 48)),
        LH_OPENED_MALFORMED
    );
    assert_eq!(opened(&|m| m.w[9] = be(4 << 56)), LH_OPENED_MALFORMED);
    assert_eq!(
        opened(&|m| m.w[9] = be(4 << 56 | 255 << 48)),
        LH_OPENED_MALFORMED
    );
    assert_eq!(
        opened(&|m| m.w[9] = be(5 << 56 | 1 << 48)),
        LH_OPENED_MALFORMED
    );
    assert_eq!(opened(&|m| m.body_bytes = 48), LH_OPENED_MALFORMED);
    assert_eq!(opened(&|m| m.stream = 2), LH_OPENED_MALFORMED);
    assert_eq!(opened(&|m| m.type_ = 4), LH_OPENED_VERSION);
    // ABSENT has the body of MISSING, and is neither without blocks.
    let absent = |words: u64| {
        opened(&|m| (m.type_, m.w[9]) = (LH_MESSAGE_ABSENT as u8, be(4 << 56 | words << 48)))
    };
    assert_eq!((absent(1), absent(0)), (LH_OPENED, LH_OPENED_MALFORMED));
    assert_eq!(opened(&|m| m.type_ = LH_MESSAGE_HELLO as u8), LH_OPENED);
    assert_eq!(
        opened(&|m| (m.type_, m.body_bytes) = (LH_MESSAGE_HELLO as u8, 32)),
        LH_OPENED_MALFORMED
    );
    // What a later one has more is left unread.
    assert_eq!(opened(&|m| m.body_bytes = LH_BODY_BYTES), LH_OPENED);
}

/// A datagram with its headers: from, to, hops, port, and what it carries.
pub fn datagram(from: IpAddr, to: IpAddr, hops: u8, port: u16, payload: &[u8]) -> Vec<u8> {
    let udp = [
        &4321u16.to_be_bytes()[..],
        &port.to_be_bytes(),
        &((payload.len() + 8) as u16).to_be_bytes(),
        &[0, 0],
        payload,
    ]
    .concat();
    let (head, ether) = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut head = vec![0x45, 0, 0, 0, 0, 0, 0, 0, hops, 17, 0, 0];
            head[2..4].copy_from_slice(&((udp.len() + 20) as u16).to_be_bytes());
            head.extend(from.octets());
            head.extend(to.octets());
            (head, 0x0800u16)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let mut head = vec![0x60, 0, 0, 0, 0, 0, 17, hops];
            head[4..6].copy_from_slice(&(udp.len() as u16).to_be_bytes());
            head.extend(from.octets());
            head.extend(to.octets());
            (head, 0x86dd)
        }
        _ => panic!("two families"),
    };
    let ethernet = [&[2; 6][..], &[3, 4, 5, 6, 7, 8], &ether.to_be_bytes()].concat();
    [ethernet, head, udp].concat()
}

#[test]
fn a_message_is_found_in_its_packet() {
    let v4 = (here(), IpAddr::from([224, 0, 0, 1]));
    let v6: (IpAddr, IpAddr) = ("fe80::7".parse().unwrap(), "ff02::1".parse().unwrap());
    for (from, to) in [v4, v6] {
        let mut said = hello();
        said.from = Sender::at(from);
        said.from.hw = [3, 4, 5, 6, 7, 8];
        said.seal(&key(1));
        let packet = datagram(from, to, 255, 7, &said.wire());
        let mut found = Message::find(&packet, 14, 7).unwrap();
        assert_eq!((found.from.ip(), found.from.hops), (from, 255));
        assert_eq!(found.from.hw, [3, 4, 5, 6, 7, 8]);
        assert_eq!(found.from.to, Sender::at(to).addr);
        assert_eq!(found.open(&keys()), LH_OPENED);
        let bare = Message::find(&packet[14..], 0, 7).unwrap();
        assert_eq!((bare.from.ip(), bare.from.hw), (from, [0; 6]));
        assert!(Message::find(&packet, 14, 8).is_none(), "another port");
        for len in 0..packet.len() {
            let mut cut = Message::find(&packet[..len], 14, 7).unwrap_or_default();
            assert_ne!(cut.open(&keys()), LH_OPENED, "{len}");
        }
    }
    let (from, to) = v4;
    let right = datagram(from, to, 255, 7, &hello().wire());
    // Options, a fragment, TCP, a tag.
    for (at, byte) in [(14, 0x46), (20, 0x20), (23, 6), (12, 0x81)] {
        let mut other = right.clone();
        other[at] = byte;
        assert!(Message::find(&other, 14, 7).is_none(), "byte {at}");
    }
}

/// The packet that the programs send: what another agent finds in it, and right checksums.
#[test]
fn a_message_in_its_packet_and_back() {
    let us = Us {
        addr4: Sender::at(here()).addr,
        addr6: Sender::at("fe80::7".parse().unwrap()).addr,
        ..Us::default()
    };
    let peers: [(IpAddr, [u8; 6]); 2] = [
        (IpAddr::from([224, 0, 0, 1]), [1, 0, 0x5e, 0, 0, 1]),
        ("ff02::1".parse().unwrap(), [0x33, 0x33, 0, 0, 0, 1]),
    ];
    for (all, hw) in peers {
        for (l2_bytes, ours) in [(14, [2, 0, 0, 0, 0, 9]), (0, [0; 6])] {
            let us = Us { hw: ours, ..us };
            let mut m = hello();
            let mut to = Sender {
                family: Sender::at(all).family,
                ..Sender::default()
            };
            assert!(m.address(&us, &mut to));
            assert_eq!((to.ip(), to.hw), (all, hw));
            m.seal(&key(1));
            let packet = m.packet(&to, l2_bytes, 7);
            let l3 = l2_bytes as usize;
            let (head, ends) = match to.family {
                4 => (20, l3 + 12..l3 + 20),
                _ => (40, l3 + 8..l3 + 40),
            };
            let udp = &packet[l3 + head..];
            let pseudo = [&packet[ends], &[0, 17], &udp[4..6]].concat();
            assert_eq!(checksum(&[&pseudo[..], udp].concat(), 0), 0xffff);
            if to.family == 4 {
                assert_eq!(checksum(&packet[l3..l3 + 20], 0), 0xffff);
            }
            let mut found = Message::find(&packet, l2_bytes, 7).unwrap();
            assert_eq!(found.open(&keys()), LH_OPENED);
            assert!(found.is_for(&us));
            assert_eq!(found.from.hops, 255);
            if l2_bytes == 14 {
                assert_eq!((&packet[..6], found.from.hw), (&hw[..], us.hw));
            }
        }
    }
    let nobody = Us::default();
    let mut to = Sender::at(here());
    assert!(!hello().address(&nobody, &mut to), "without an address");
    let packet = hello().packet(&to, 14, 7);
    assert!(Message::find(&packet, 14, 7).unwrap().is_for(&us));
    assert!(!Message::find(&packet, 14, 7).unwrap().is_for(&nobody));
}

/// Nothing on the way takes messages that come one right after the other for a train of one sender's (GRO).
#[test]
fn two_in_a_row_leave_from_two_ports() {
    let to = Sender::at(here());
    let mut from = (0..16_385).map(|counter| {
        let m = Message { counter, ..hello() };
        let packet = m.packet(&to, 0, 7);
        assert_eq!(packet[22..24], [0, 7]);
        u16::from_be_bytes([packet[20], packet[21]])
    });
    let (first, last) = (from.next().unwrap(), from.next_back().unwrap());
    assert_eq!((first, last), (49_152, 49_152));
    assert!(
        from.enumerate()
            .all(|(i, port)| usize::from(port) == 49_153 + i)
    );
}
