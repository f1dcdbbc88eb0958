// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Classification, tags and checksums on hand-made frames.

use super::*;

const DATA: Kind = Kind {
    link_control: false,
    tcp_data: true,
};

const OTHER_IP: Kind = Kind {
    link_control: false,
    tcp_data: false,
};

fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x11; ADDRESSES_BYTES];
    frame.extend(ethertype.to_be_bytes());
    frame.extend(payload);
    frame
}

fn tcp(payload_bytes: usize) -> Vec<u8> {
    let mut segment = vec![0; 32]; // header with 12 bytes of options
    segment[12] = 8 << 4;
    segment.resize(32 + payload_bytes, 0xaa);
    segment
}

fn ipv4(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 20];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    packet[6..8].copy_from_slice(&fragment.to_be_bytes());
    packet[9] = protocol;
    packet.extend(payload);
    packet
}

fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 40];
    packet[0] = 0x60;
    packet[4..6].copy_from_slice(&(payload.len() as u16).to_be_bytes());
    packet[6] = next_header;
    packet.extend(payload);
    packet
}

#[test]
fn tcp_data_is_payload_not_padding() {
    let mut ack = ethernet(ETHERTYPE_IPV4, &ipv4(PROTOCOL_TCP, 0, &tcp(0)));
    ack.resize(80, 0); // padding beyond the packet
    assert_eq!(classify(&ack), OTHER_IP);
    assert_eq!(
        classify(&ethernet(ETHERTYPE_IPV4, &ipv4(PROTOCOL_TCP, 0, &tcp(1)))),
        DATA
    );
    assert_eq!(
        classify(&ethernet(ETHERTYPE_IPV6, &ipv6(PROTOCOL_TCP, &tcp(1)))),
        DATA
    );
    assert_eq!(
        classify(&ethernet(ETHERTYPE_IPV6, &ipv6(PROTOCOL_TCP, &tcp(0)))),
        OTHER_IP
    );
}

#[test]
fn a_connection_has_one_key_for_both_directions_and_versions_differ() {
    let mut segment = tcp(0);
    segment[..4].copy_from_slice(&[0x9c, 0x40, 0, 80]);
    let mut back = segment.clone();
    back[..4].copy_from_slice(&[0, 80, 0x9c, 0x40]);
    let mut packet = ipv4(PROTOCOL_TCP, 0, &segment);
    packet[12..20].copy_from_slice(&[10, 0, 0, 9, 10, 0, 0, 2]);
    let mut answer = ipv4(PROTOCOL_TCP, 0, &back);
    answer[12..20].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 9]);
    let key = flow_key(&ethernet(ETHERTYPE_IPV4, &packet)).unwrap();
    assert_eq!(flow_key(&ethernet(ETHERTYPE_IPV4, &answer)), Some(key));
    assert_eq!(key.map(|(address, _)| address[3]), [2, 9]);
    assert_eq!(key.map(|(_, port)| port), [80, 40_000]);
    // The same ports between the same hosts the other way round are another connection.
    packet[20..24].copy_from_slice(&[0, 80, 0x9c, 0x40]);
    assert_ne!(flow_key(&ethernet(ETHERTYPE_IPV4, &packet)), Some(key));

    let mut packet = ipv6(PROTOCOL_TCP, &segment);
    packet[39] = 7;
    let key = flow_key(&ethernet(ETHERTYPE_IPV6, &packet)).unwrap();
    assert_eq!(key.map(|(address, _)| address[15]), [0, 7]);
    let later_fragment = ethernet(ETHERTYPE_IPV4, &ipv4(PROTOCOL_TCP, 100, &segment));
    assert_eq!(flow_key(&later_fragment), None);
    assert_eq!(
        flow_key(&ethernet(ETHERTYPE_IPV4, &ipv4(17, 0, &segment))),
        None
    );
}

#[test]
fn later_fragments_and_other_protocols_are_plain_ip() {
    for packet in [
        ipv4(PROTOCOL_TCP, 100, &tcp(9)),
        ipv4(17, 0, &[0; 20]),
        ipv4(1, 0, &[8; 20]),
    ] {
        assert_eq!(classify(&ethernet(ETHERTYPE_IPV4, &packet)), OTHER_IP);
    }
    let mut fragment = vec![PROTOCOL_TCP, 0, 0x01, 0x00, 0, 0, 0, 1];
    fragment.extend(tcp(9));
    assert_eq!(
        classify(&ethernet(ETHERTYPE_IPV6, &ipv6(44, &fragment))),
        OTHER_IP
    );
    fragment[2] = 0; // the first fragment has the TCP header
    assert_eq!(
        classify(&ethernet(ETHERTYPE_IPV6, &ipv6(44, &fragment))),
        DATA
    );
}

#[test]
fn link_control_is_arp_discovery_and_whatever_is_not_ip() {
    for (frame, link_control) in [
        (ethernet(0x0806, &[0; 28]), true),
        (ethernet(0x88cc, &[0; 40]), true),
        (
            ethernet(ETHERTYPE_IPV6, &ipv6(PROTOCOL_ICMPV6, &[135, 0, 0, 0])),
            true,
        ),
        (
            ethernet(ETHERTYPE_IPV6, &ipv6(PROTOCOL_ICMPV6, &[137, 0, 0, 0])),
            true,
        ),
        (
            ethernet(ETHERTYPE_IPV6, &ipv6(PROTOCOL_ICMPV6, &[128, 0, 0, 0])),
            false,
        ),
        (
            ethernet(ETHERTYPE_IPV6, &ipv6(PROTOCOL_ICMPV6, &[2, 0, 0, 0])),
            false,
        ),
        (ethernet(ETHERTYPE_IPV4, &ipv4(1, 0, &[8, 0, 0, 0])), false),
    ] {
        assert_eq!(classify(&frame).link_control, link_control, "{frame:02x?}");
    }
}

#[test]
fn extension_headers_and_tags_are_walked() {
    let mut payload = vec![60, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]; // hop by hop, 16 bytes
    payload.extend([PROTOCOL_TCP, 0, 0, 0, 0, 0, 0, 0]); // destination options
    payload.extend(tcp(3));
    let packet = ipv6(0, &payload);
    let mut tagged = vec![0x00, 0x05]; // inner tag
    tagged.extend(ETHERTYPE_IPV6.to_be_bytes());
    tagged.extend(&packet);
    assert_eq!(classify(&ethernet(0x8100, &tagged)), DATA);
}

#[test]
fn no_prefix_of_a_frame_panics() {
    let mut fragment = vec![PROTOCOL_TCP, 0, 0, 0, 0, 0, 0, 1];
    fragment.extend(tcp(9));
    for frame in [
        ethernet(ETHERTYPE_IPV4, &ipv4(PROTOCOL_TCP, 0, &tcp(9))),
        ethernet(ETHERTYPE_IPV6, &ipv6(44, &fragment)),
        ethernet(ETHERTYPE_IPV4, &[0xff; 60]),
        ethernet(ETHERTYPE_IPV6, &[0xff; 60]),
        [0x81, 0x00].repeat(40),
    ] {
        (0..=frame.len()).for_each(|end| {
            classify(&frame[..end]);
            flow_key(&frame[..end]);
        });
    }
}

#[test]
fn tag_returns_to_its_place() {
    let frame = ethernet(ETHERTYPE_IPV4, &[1, 2, 3]);
    let tag = Some(VlanTag {
        tpid: 0x8100,
        tci: 0x6005,
    });
    let mut out = vec![0; tagged_bytes(&frame, tag)];
    copy_with_tag(&frame, tag, &mut out);
    assert_eq!(out[..12], frame[..12]);
    assert_eq!(out[12..], [0x81, 0x00, 0x60, 0x05, 0x08, 0x00, 1, 2, 3]);
    let mut plain = vec![0; tagged_bytes(&frame, None)];
    copy_with_tag(&frame, None, &mut plain);
    assert_eq!(plain, frame);
}

/// A finished checksum makes the sum over pseudo-header and segment all ones.
#[test]
fn finished_checksum_verifies() {
    let pseudo_sum = 0x1234u16;
    for length in [21usize, 22, 1001] {
        let mut frame: Vec<u8> = (0..length as u32).map(|i| (i * 37) as u8).collect();
        frame[20..].iter_mut().for_each(|b| *b ^= 0x5a);
        let (start, offset) = (2, 16);
        frame[18..20].copy_from_slice(&pseudo_sum.to_be_bytes());
        assert!(finish_checksum(&mut frame, start, offset));
        let total = u32::from(ones_complement_sum(&frame[start..])) + u32::from(pseudo_sum);
        assert_eq!((total >> 16) + (total & 0xffff), 0xffff);
    }
}

#[test]
fn udp_never_sends_a_zero_checksum_and_bad_offsets_are_refused() {
    let mut frame = vec![0xff; 8];
    assert!(finish_checksum(&mut frame, 0, UDP_CHECKSUM_OFFSET));
    assert_eq!(frame[6..], [0xff, 0xff]);
    assert!(!finish_checksum(&mut frame, 7, 0));
    assert!(!finish_checksum(&mut frame, usize::MAX, 2));
}
