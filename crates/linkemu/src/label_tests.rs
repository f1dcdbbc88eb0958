// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Labels and marks of hand-made frames.

use super::*;

const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
const SACK: [u8; 12] = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];

fn tcp(flags: u16, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut segment = vec![0x9c, 0x40, 0, 80, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0x78];
    let words = (20 + options.len() as u16) / 4;
    segment.extend((words << 12 | flags).to_be_bytes());
    segment.extend([0; 6]);
    [&segment, options, payload].concat()
}

fn v4(protocol: u8, tos: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 14 + 20];
    frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, tos]);
    frame[16..18].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    frame[23] = protocol;
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    let checksum = !sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(payload);
    frame
}

fn v6(next_header: u8, class: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 14 + 40];
    let first = [0x86, 0xdd, 0x60 | class >> 4, class << 4];
    frame[12..16].copy_from_slice(&first);
    frame[18..20].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    frame[20] = next_header;
    frame[29] = 1;
    frame.extend(payload);
    frame
}

fn sum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let sum: u32 = words.sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[test]
fn pure_acks() {
    let ack = |flags, plain| {
        Some(PureAck {
            number: 0x1234_5678,
            flags,
            plain,
        })
    };
    for (segment, expected) in [
        (tcp(0x10, &[], &[]), ack(0x10, true)),
        (tcp(0x10, &TIMESTAMPS, &[]), ack(0x10, true)),
        (tcp(0x10, &SACK, &[]), ack(0x10, false)),
        (tcp(0x10, &[8, 0, 0, 0], &[]), ack(0x10, true)),
        (tcp(0x10, &[8, 200, 0, 0], &[]), ack(0x10, false)),
        (tcp(0x1d0, &[], &[]), ack(0x1d0, true)),
        (tcp(0x10, &[], &[7]), None),
        (tcp(0x11, &[], &[]), None),
        (tcp(0x12, &[], &[]), None),
        (tcp(0x14, &[], &[]), None),
        (tcp(0x04, &[], &[]), None),
        (tcp(0x10, &[], &[])[..19].to_vec(), None),
    ] {
        for frame in [v4(6, 0, &segment), v6(6, 0, &segment)] {
            assert_eq!(label(&frame).ack, expected, "{segment:x?}");
        }
    }
    // Padding to the least size of a frame is no data.
    let mut padded = v4(6, 0, &tcp(0x10, &[], &[]));
    padded.resize(60, 0);
    assert_eq!(label(&padded).ack, ack(0x10, true));
}

#[test]
fn flows_by_five_numbers() {
    let data = v4(6, 0, &tcp(0x18, &TIMESTAMPS, &[1; 100]));
    let same = v4(6, 2, &tcp(0x10, &SACK, &[]));
    assert_eq!(label(&data).flow, label(&same).flow);
    let mut other_port = data.clone();
    other_port[35] ^= 1;
    let mut back = data.clone();
    back[26..34].rotate_left(4);
    let udp = |port: u8| v4(17, 0, &[0, 1, 0, port, 0, 0, 0, 0]);
    let mut fragment = udp(2);
    fragment[21] = 1;
    let flows = [
        &data,
        &other_port,
        &back,
        &udp(2),
        &udp(3),
        &fragment,
        &v6(6, 0, &tcp(0x10, &[], &[])),
        &v6(17, 0, &[0, 1, 0, 2]),
        &v6(17, 0, &[0, 1, 0, 3]),
        &v4(1, 0, &[8, 0]),
    ];
    for (i, a) in flows.iter().enumerate() {
        for b in &flows[..i] {
            assert_ne!(label(a).flow, label(b).flow, "{a:x?} {b:x?}");
        }
    }
    for odd in [&data[..20], &data[..10], &[]] {
        assert_eq!(label(odd), Label::default());
    }
}

#[test]
fn fragments_are_one_flow() {
    for (protocol, content) in [(17, vec![0, 1, 0, 2]), (6, tcp(0x18, &[], &[1; 4]))] {
        let piece = |more: u8, offset: u8| {
            let mut frame = v4(protocol, 0, &content);
            (frame[20], frame[21]) = (more << 5, offset);
            label(&frame).flow
        };
        assert_eq!(piece(1, 0), piece(1, 9));
        assert_eq!(piece(1, 0), piece(0, 9));
        let piece = |offset: u8, more: u8| {
            let header = [protocol, 0, 0, offset << 3 | more, 0, 0, 0, 1];
            label(&v6(44, 0, &[&header[..], &content].concat())).flow
        };
        assert_eq!(piece(0, 1), piece(9, 1));
        assert_eq!(piece(0, 1), piece(9, 0));
    }
}

#[test]
fn marks_keep_the_checksum_right() {
    for tos in [0x00, 0x01, 0x02, 0x03, 0xfd] {
        let mut frame = v4(6, tos, &tcp(0x10, &[], &[]));
        assert_eq!(label(&frame).ecn_capable, tos & 3 != 0);
        assert_eq!(sum(&frame[14..34]), 0xffff);
        mark(&mut frame);
        assert_eq!((frame[15], sum(&frame[14..34])), (tos | 3, 0xffff));
        let mut frame = v6(6, tos, &tcp(0x10, &[], &[]));
        assert_eq!(label(&frame).ecn_capable, tos & 3 != 0);
        mark(&mut frame);
        assert_eq!(
            (frame[14] & 0xf, frame[15] >> 4),
            (tos >> 4, (tos | 3) & 0xf)
        );
    }
    let mut arp = vec![0; 42];
    mark(&mut arp);
    assert_eq!(arp, [0; 42]);
}
