// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Hand-made super-packets, cut; what comes out is checked by sums of its own.

use super::*;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const TCP_BYTES: usize = 32; // with timestamps
const ETHERNET_BYTES: usize = 14;

/// One's complement sum, word by word.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut bytes = parts.concat();
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    let mut sum = 0u32;
    for word in bytes.chunks(2) {
        sum += u32::from(word[0]) << 8 | u32::from(word[1]);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// What the pseudo-header adds, for a segment of so many bytes.
fn pseudo(addresses: &[u8], protocol: u8, bytes: usize) -> Vec<u8> {
    let mut header = addresses.to_vec();
    header.extend((bytes as u32).to_be_bytes());
    header.extend([0, 0, 0, protocol]);
    header
}

fn ip_header(is_v4: bool, protocol: u8, transport_bytes: usize) -> Vec<u8> {
    if is_v4 {
        let mut header = vec![0x45, 0, 0, 0, 0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0];
        header.extend([10, 1, 0, 2, 10, 3, 0, 2]);
        put16(&mut header, IPV4_LENGTH, 20 + transport_bytes);
        return header;
    }
    let mut header = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
    put16(&mut header, IPV6_LENGTH, transport_bytes);
    header.extend((0..32).map(|i| i * 7 + 1));
    header
}

fn addresses(header: &[u8]) -> &[u8] {
    match header[0] >> 4 {
        4 => &header[12..20],
        _ => &header[8..40],
    }
}

/// A super-packet as the kernel shows it: the checksum is the pseudo-header's sum.
fn super_packet(is_v4: bool, protocol: u8, payload: &[u8]) -> (Vec<u8>, usize) {
    let mut transport = vec![0x9c, 0x40, 0x1f, 0x90];
    match protocol {
        PROTOCOL_TCP => {
            transport.extend([0xff, 0xff, 0xfe, 0x00, 1, 2, 3, 4]);
            transport.extend([(TCP_BYTES as u8 / 4) << 4, 0x80 | 0x10 | 0x08 | 0x01, 1, 0]);
            transport.extend([0, 0, 0, 0, 1, 1, 8, 10, 9, 9, 9, 9, 8, 8, 8, 8]);
        }
        _ => transport.extend([0; 4]),
    }
    transport.extend(payload);
    let header = ip_header(is_v4, protocol, transport.len());
    let checksum_at = if protocol == PROTOCOL_TCP {
        TCP_CHECKSUM
    } else {
        UDP_CHECKSUM
    };
    let partial = sum(&[&pseudo(addresses(&header), protocol, transport.len())]);
    put16(&mut transport, checksum_at, usize::from(partial));
    let ethertype: [u8; 2] = if is_v4 { [0x08, 0x00] } else { [0x86, 0xdd] };
    let transport_at = ETHERNET_BYTES + header.len();
    let frame = [&[2; 12][..], &ethertype, &header, &transport].concat();
    (frame, transport_at)
}

fn cut(frame: &[u8], how: Segmentation) -> Vec<Vec<u8>> {
    let segments = Segments::new(frame, how).expect("can be cut");
    let mut out = vec![0; segments.longest_bytes()];
    let mut write = |index| {
        let bytes = segments.write(index, &mut out);
        out[..bytes].to_vec()
    };
    (0..segments.count()).map(&mut write).collect()
}

fn check_sums(segment: &[u8], transport_at: usize, protocol: u8) {
    let header = &segment[ETHERNET_BYTES..transport_at];
    let transport = &segment[transport_at..];
    if header[0] >> 4 == 4 {
        assert_eq!(sum(&[header]), 0xffff, "IPv4 header");
        assert_eq!(
            be16(header, IPV4_LENGTH),
            Some((segment.len() - ETHERNET_BYTES) as u16)
        );
    } else {
        assert_eq!(be16(header, IPV6_LENGTH), Some(transport.len() as u16));
    }
    let pseudo = pseudo(addresses(header), protocol, transport.len());
    assert_eq!(sum(&[&pseudo, transport]), 0xffff, "transport");
}

fn payload(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 31 + i / 251) as u8).collect()
}

#[test]
fn segments_of_tcp_are_what_the_sender_would_have_sent() {
    const SEGMENT_BYTES: usize = 1448;
    for is_v4 in [true, false] {
        for payload_bytes in [1, 1447, 1448, 1449, 2896, 44 * 1448 + 3] {
            let payload = payload(payload_bytes);
            let (frame, transport_at) = super_packet(is_v4, PROTOCOL_TCP, &payload);
            let how = Segmentation {
                protocol: Protocol::Tcp { cwr_once: true },
                segment_bytes: SEGMENT_BYTES,
                transport_at,
            };
            let segments = cut(&frame, how);
            assert_eq!(segments.len(), payload_bytes.div_ceil(SEGMENT_BYTES));
            let mut whole: Vec<u8> = Vec::new();
            for (index, segment) in segments.iter().enumerate() {
                check_sums(segment, transport_at, PROTOCOL_TCP);
                let tcp = &segment[transport_at..];
                let number = u32::from_be_bytes(tcp[4..8].try_into().unwrap());
                assert_eq!(number, 0xffff_fe00u32.wrapping_add(whole.len() as u32));
                let is_last = index + 1 == segments.len();
                let ends = if is_last { 0x09 } else { 0 };
                let cwr = if index == 0 { 0x80 } else { 0 };
                assert_eq!(tcp[13], 0x10 | ends | cwr, "segment {index}");
                assert_eq!(tcp[20..32], frame[transport_at + 20..transport_at + 32]);
                if is_v4 {
                    let id = be16(&segment[ETHERNET_BYTES..], IPV4_ID);
                    assert_eq!(id, Some(0xfffeu16.wrapping_add(index as u16)));
                }
                whole.extend(&tcp[TCP_BYTES..]);
            }
            assert_eq!(whole, payload);
        }
    }
}

#[test]
fn accurate_ecn_keeps_its_counter_in_each_segment() {
    let (frame, transport_at) = super_packet(true, PROTOCOL_TCP, &payload(3000));
    let how = Segmentation {
        protocol: Protocol::Tcp { cwr_once: false },
        segment_bytes: 1000,
        transport_at,
    };
    let segments = cut(&frame, how);
    assert_eq!(segments.len(), 3);
    assert!(
        segments
            .iter()
            .all(|s| s[transport_at + TCP_FLAGS] & FLAG_CWR != 0)
    );
}

#[test]
fn datagrams_of_udp_have_lengths_and_checksums_of_their_own() {
    for is_v4 in [true, false] {
        let payload = payload(2 * 1200 + 7);
        let (frame, transport_at) = super_packet(is_v4, PROTOCOL_UDP, &payload);
        let how = Segmentation {
            protocol: Protocol::Udp,
            segment_bytes: 1200,
            transport_at,
        };
        let segments = cut(&frame, how);
        let mut whole: Vec<u8> = Vec::new();
        for segment in &segments {
            check_sums(segment, transport_at, PROTOCOL_UDP);
            let udp = &segment[transport_at..];
            assert_eq!(be16(udp, UDP_LENGTH), Some(udp.len() as u16));
            whole.extend(&udp[UDP_HEADER_BYTES..]);
        }
        assert_eq!(segments.len(), 3);
        assert_eq!(whole, payload);
    }
}

#[test]
fn a_tag_within_the_frame_stays() {
    let (frame, transport_at) = super_packet(true, PROTOCOL_TCP, &payload(100));
    let tagged = [&frame[..12], &[0x81, 0x00, 0x60, 0x05], &frame[12..]].concat();
    let how = Segmentation {
        protocol: Protocol::Tcp { cwr_once: true },
        segment_bytes: 60,
        transport_at: transport_at + 4,
    };
    let segments = cut(&tagged, how);
    assert_eq!(segments.len(), 2);
    for segment in &segments {
        assert_eq!(segment[..18], tagged[..18]);
        let bare = [&segment[..12], &segment[16..]].concat();
        check_sums(&bare, transport_at, PROTOCOL_TCP);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (frame, transport_at) = super_packet(true, PROTOCOL_TCP, &payload(5000));
    let good = Segmentation {
        protocol: Protocol::Tcp { cwr_once: true },
        segment_bytes: 1448,
        transport_at,
    };
    assert!(Segments::new(&frame, good).is_some());
    for (what, bytes, how) in [
        (
            "nothing per segment",
            frame.len(),
            Segmentation {
                segment_bytes: 0,
                ..good
            },
        ),
        (
            "inside the IP header",
            frame.len(),
            Segmentation {
                transport_at: 30,
                ..good
            },
        ),
        (
            "beyond the frame",
            frame.len(),
            Segmentation {
                transport_at: 6000,
                ..good
            },
        ),
        ("headers only", transport_at + TCP_BYTES, good),
        ("cut short", transport_at + 10, good),
        ("no network layer", 13, good),
    ] {
        assert!(Segments::new(&frame[..bytes], how).is_none(), "{what}");
    }
    // Whatever the bytes are, nothing panics and nothing is longer than it says.
    let mut random = crate::random::Random::new(1, crate::config::Direction::AToB, "gso");
    for _ in 0..20_000 {
        let mut bytes = frame[..700].to_vec();
        for _ in 0..8 {
            let at = (random.bits() % 80) as usize;
            bytes[at] = random.bits() as u8;
        }
        let how = Segmentation {
            segment_bytes: 1 + (random.bits() % 900) as usize,
            transport_at: (random.bits() % 120) as usize,
            ..good
        };
        let Some(segments) = Segments::new(&bytes, how) else {
            continue;
        };
        let mut out = vec![0; segments.longest_bytes()];
        for index in 0..segments.count() {
            assert!(segments.write(index, &mut out) <= out.len());
        }
    }
}
