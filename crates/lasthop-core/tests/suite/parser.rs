// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Truth tables of the parser (core/segment.h).

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Bypass, Key, Segment, parse};

fn data() -> Tcp {
    Tcp {
        seq: 1_000,
        ack: 2_000,
        window: 300,
        payload: vec![7; 100],
        ..Tcp::default()
    }
}

fn ethernet(vlans: &[(u16, u16)]) -> Tcp {
    Tcp {
        ethernet: true,
        vlans: vlans.to_vec(),
        ..data()
    }
}

fn parsed(packet: &[u8], l2_bytes: u32) -> (Segment, Key) {
    parse(packet, l2_bytes, None, true).expect("a TCP segment")
}

fn with_options(options: &[u8]) -> Segment {
    let tcp = Tcp {
        options: options.to_vec(),
        ..data()
    };
    parsed(&tcp.to_mh(&Ends::v4(0)), 0).0
}

#[test]
fn plain_values_of_ipv4_and_ipv6() {
    for ends in [Ends::v4(3), Ends::v6(3)] {
        let packet = data().to_mh(&ends);
        let (s, key) = parsed(&packet, 0);
        assert_eq!((s.seq, s.end, s.ack, s.window), (1_000, 1_100, 2_000, 300));
        assert_eq!((s.payload_bytes, s.opts, s.nr_sack), (100, 0, 0));
        assert_eq!(u32::from(s.flags), LH_ACK);
        assert_eq!(u32::from(s.wscale), LH_WSCALE_NONE);
        assert_eq!(usize::from(s.hdr_bytes) + 100, packet.len());
        assert_eq!((key.mh_addr(), key.mh_port), (ends.mh.ip(), ends.mh.port()));
        assert_eq!((key.fh_addr(), key.fh_port), (ends.fh.ip(), ends.fh.port()));
        let (_, back) = parse(&data().to_fh(&ends), 0, None, false).expect("TCP");
        assert_eq!(back, key, "both directions are one flow");
    }
    let (_, key) = parsed(&data().to_mh(&Ends::v6(3)), 0);
    assert_eq!(key.to_string(), "[2001:db8::1]:80 > [2001:db8:1::2]:40003");
}

#[test]
fn syn_and_fin_occupy_a_number_each() {
    let rows = [
        /* 1 */ (LH_SYN, 0, 1),
        /* 2 */ (LH_SYN | LH_ACK, 10, 11),
        /* 3 */ (LH_FIN | LH_ACK, 0, 1),
        /* 4 */ (LH_FIN | LH_ACK, 10, 11),
        /* 5 */ (LH_SYN | LH_FIN, 0, 2),
        /* 6 */ (LH_RST, 0, 0),
        /* 7 */ (LH_ACK | LH_URG | LH_PSH, 5, 5),
    ];
    for (i, (flags, len, want)) in rows.into_iter().enumerate() {
        let tcp = Tcp {
            seq: u32::MAX,
            flags,
            payload: vec![0; len],
            ..Tcp::default()
        };
        let (s, _) = parsed(&tcp.to_mh(&Ends::v4(0)), 0);
        assert_eq!(s.end.wrapping_sub(s.seq), want, "row {}", i + 1);
        assert_eq!(s.payload_bytes as usize, len, "row {}", i + 1);
    }
}

#[test]
fn all_nine_flags() {
    for bit in 0..9 {
        let tcp = Tcp {
            flags: 1 << bit,
            ..Tcp::default()
        };
        let (s, _) = parsed(&tcp.to_mh(&Ends::v4(0)), 0);
        assert_eq!(s.flags, 1 << bit);
    }
}

#[test]
fn headers_in_front_of_tcp() {
    let v4_options = Tcp {
        ip_options: vec![1; 40],
        ..data()
    };
    let one = Tcp {
        extensions: vec![(0, vec![0; 6])],
        ..data()
    };
    let three = Tcp {
        extensions: vec![(0, vec![0; 6]), (43, vec![0; 22]), (60, vec![0; 14])],
        ..data()
    };
    #[rustfmt::skip]
    let rows = [
        /* 1 */ (data().to_mh(&Ends::v4(0)), 0, 0, 20),
        /* 2 */ (v4_options.to_mh(&Ends::v4(0)), 0, 0, 60),
        /* 3 */ (data().to_mh(&Ends::v6(0)), 0, 0, 40),
        /* 4 */ (one.to_mh(&Ends::v6(0)), 0, 0, 48),
        /* 5 */ (three.to_mh(&Ends::v6(0)), 0, 0, 88),
        /* 6 */ (ethernet(&[]).to_mh(&Ends::v4(0)), 14, 14, 34),
        /* 7 */ (ethernet(&[]).to_mh(&Ends::v6(0)), 14, 14, 54),
        /* 8 */ (ethernet(&[(0x8100, 5)]).to_mh(&Ends::v4(0)), 14, 18, 38),
        /* 9 */ (ethernet(&[(0x88a8, 5), (0x8100, 6)]).to_mh(&Ends::v4(0)), 14, 22, 42),
    ];
    for (i, (packet, l2_bytes, l3, l4)) in rows.into_iter().enumerate() {
        let (s, _) = parsed(&packet, l2_bytes);
        assert_eq!((s.l3_offset, s.l4_offset), (l3, l4), "row {}", i + 1);
        assert_eq!(s.payload_bytes, 100, "row {}", i + 1);
        assert_eq!((s.seq, s.end), (1_000, 1_100), "row {}", i + 1);
    }
}

/// Tags inside the packet, the one beside it, and the key's.
type Tags = (&'static [(u16, u16)], Option<u16>, Option<[u16; 2]>);

#[test]
fn vlan_tags_are_part_of_the_key() {
    let tag = |tci: u16| tci & 0xfff | 0x1000;
    #[rustfmt::skip]
    let rows: [Tags; 12] = [
        /* 1 */ (&[], None, Some([0, 0])),
        /* 2 */ (&[], Some(0xe000), Some([0, 0])), // a priority tag names no VLAN
        /* 3 */ (&[], Some(7), Some([tag(7), 0])),
        /* 4 */ (&[(0x8100, 0xe007)], None, Some([tag(7), 0])), // priority is not
        /* 5 */ (&[(0x8100, 8)], Some(7), Some([tag(7), tag(8)])),
        /* 6 */ (&[(0x88a8, 7), (0x8100, 8)], None, Some([tag(7), tag(8)])),
        /* 7 */ (&[(0x88a8, 7), (0x8100, 8)], Some(6), None), // three tags
        /* 8 */ (&[(0x8100, 7), (0x8100, 8), (0x8100, 9)], None, None),
        /* 9 */ (&[(0x8100, 0)], None, Some([0, 0])),
        /* 10 */ (&[(0x8100, 0x2000), (0x8100, 8)], None, Some([tag(8), 0])),
        /* 11 */ (&[(0x88a8, 7), (0x8100, 0x2000)], None, Some([tag(7), 0])),
        /* 12 */ (&[(0x8100, 7), (0x8100, 0)], Some(6), None), // three all the same
    ];
    for (i, (inside, beside, want)) in rows.into_iter().enumerate() {
        let packet = ethernet(inside).to_mh(&Ends::v4(0));
        let got = parse(&packet, 14, beside, true);
        match want {
            Some(vlan) => assert_eq!(got.expect("TCP").1.vlan, vlan, "row {}", i + 1),
            None => assert_eq!(got, Err(Bypass::NotTcp), "row {}", i + 1),
        }
    }
}

/// A packet with some bytes changed.
fn patched(mut packet: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    packet[at..at + bytes.len()].copy_from_slice(bytes);
    packet
}

#[test]
fn what_is_not_ours() {
    let v4 = data().to_mh(&Ends::v4(0));
    let v6 = data().to_mh(&Ends::v6(0));
    let eth = ethernet(&[]).to_mh(&Ends::v4(0));
    let cut = |n: usize| v4[..n].to_vec();
    let mut short = v4.clone();
    short[2..4].copy_from_slice(&39u16.to_be_bytes());
    let ext = |kind: u8| {
        let tcp = Tcp {
            extensions: vec![(kind, vec![0; 6])],
            ..data()
        };
        tcp.to_mh(&Ends::v6(0))
    };
    let chain = |n: usize, contents: usize| {
        let tcp = Tcp {
            extensions: vec![(60, vec![0; contents]); n],
            ..data()
        };
        tcp.to_mh(&Ends::v6(0))
    };
    use Bypass::{Fragment, Malformed, NotTcp};
    #[rustfmt::skip]
    let rows = [
        /*  1 */ (Vec::new(), 0, NotTcp),
        /*  2 */ (cut(39), 0, NotTcp),
        /*  3 */ (patched(v4.clone(), 9, &[17]), 0, NotTcp),
        /*  4 */ (patched(v6.clone(), 6, &[17]), 0, NotTcp),
        /*  5 */ (patched(eth.clone(), 12, &[0x08, 0x06]), 14, NotTcp),
        /*  6 */ (ext(50), 0, NotTcp), // ESP
        /*  7 */ (ext(51), 0, NotTcp), // AH
        /*  8 */ (patched(v4.clone(), 6, &[0x20, 0]), 0, Fragment), // the first one
        /*  9 */ (patched(v4.clone(), 6, &[0, 1]), 0, Fragment),
        /* 10 */ (patched(v4.clone(), 6, &[0x1f, 0xff]), 0, Fragment),
        /* 11 */ (ext(44), 0, Fragment),
        /* 12 */ (patched(v4.clone(), 0, &[0x44]), 0, Malformed), // header of 16 bytes
        /* 13 */ (patched(eth.clone(), 14, &[0x65]), 14, Malformed), // version
        /* 14 */ (patched(v4.clone(), 32, &[0x40]), 0, Malformed), // TCP of 16 bytes
        /* 15 */ (patched(v4[..40].to_vec(), 32, &[0x60]), 0, Malformed), // beyond the end
        /* 16 */ (short, 0, Malformed), // total length below the headers'
        /* 17 */ (cut(139), 0, Malformed), // truncated by a byte
        /* 18 */ (patched(v4.clone(), 2, &[0, 0]), 0, Malformed), // BIG TCP
        /* 19 */ (patched(v6.clone(), 4, &[0, 0]), 0, Malformed), // BIG TCP
        /* 20 */ (chain(5, 6), 0, NotTcp), // more extensions than we walk
        /* 21 */ (chain(3, 94), 0, Malformed), // TCP past what we look at
        /* 21a */ (chain(2, 86), 0, Malformed), // there, but with no room for all its options
        /* 22 */ (patched(v4.clone(), 0, &[0x4f]), 0, Malformed), // options eat TCP
        /* 23 */ (v4.clone(), 14, NotTcp), // no Ethernet header after all
    ];
    for (i, (packet, l2_bytes, want)) in rows.into_iter().enumerate() {
        let got = parse(&packet, l2_bytes, None, true);
        assert_eq!(got.map(|_| ()), Err(want), "row {}", i + 1);
    }
}

#[test]
fn ethernet_padding_is_no_payload() {
    let bare = Tcp {
        ethernet: true,
        ..Tcp::default()
    };
    let mut packet = bare.to_fh(&Ends::v4(0));
    assert_eq!(packet.len(), 54);
    packet.resize(60, 0);
    let (s, _) = parse(&packet, 14, None, false).expect("TCP");
    assert_eq!((s.payload_bytes, s.end.wrapping_sub(s.seq)), (0, 0));
}

#[test]
fn any_truncation_is_refused() {
    let tcp = Tcp {
        options: option::timestamps(1, 2),
        ..data()
    };
    for packet in [tcp.to_mh(&Ends::v4(0)), tcp.to_mh(&Ends::v6(0))] {
        for n in 0..packet.len() {
            assert!(parse(&packet[..n], 0, None, true).is_err(), "{n} bytes");
        }
    }
}

#[test]
fn options_one_by_one() {
    let s = with_options(&option::mss(1_460));
    assert_eq!((u32::from(s.opts), s.mss), (LH_OPT_MSS, 1_460));
    let s = with_options(&option::wscale(9));
    assert_eq!((u32::from(s.opts), s.wscale), (LH_OPT_WSCALE, 9));
    let s = with_options(&option::wscale(15));
    assert_eq!(s.wscale, 14, "RFC 7323 section 2.3");
    let s = with_options(&option::timestamps(0xdead_beef, 7));
    assert_eq!(u32::from(s.opts), LH_OPT_TS);
    assert_eq!((s.tsval, s.tsecr), (0xdead_beef, 7));
    #[rustfmt::skip]
    let rows = [
        /*  1 */ (option::sack_ok(), LH_OPT_SACK_OK),
        /*  2 */ (option::other(30, 12), LH_OPT_MPTCP),
        /*  3 */ (option::other(19, 18), LH_OPT_AUTH), // TCP-MD5
        /*  4 */ (option::other(29, 16), LH_OPT_AUTH), // TCP-AO
        /*  5 */ (option::other(34, 10), LH_OPT_UNKNOWN), // TFO cookie
        /*  6 */ (option::other(253, 4), LH_OPT_UNKNOWN),
        /*  7 */ (option::other(2, 5), LH_OPT_UNKNOWN), // MSS of a wrong length
        /*  8 */ (option::other(3, 4), LH_OPT_UNKNOWN),
        /*  9 */ (option::other(4, 3), LH_OPT_UNKNOWN),
        /* 10 */ (option::other(8, 9), LH_OPT_UNKNOWN),
        /* 11 */ (option::other(5, 9), LH_OPT_UNKNOWN), // SACK without a block
        /* 12 */ (vec![1, 1, 1, 1], 0),
        /* 13 */ (vec![0, 30, 12, 0], 0), // nothing counts behind the end
        /* 14 */ ([vec![1, 1], option::timestamps(1, 2)].concat(), LH_OPT_TS),
        /* 15 */ ([option::mss(9), option::sack_ok(), option::timestamps(1, 2)].concat(),
                  LH_OPT_MSS | LH_OPT_SACK_OK | LH_OPT_TS),
    ];
    for (i, (options, want)) in rows.into_iter().enumerate() {
        let s = with_options(&options);
        assert_eq!(u32::from(s.opts), want, "row {}", i + 1);
    }
}

#[test]
fn options_of_impossible_length() {
    #[rustfmt::skip]
    let rows: [&[u8]; 5] = [
        /* 1 */ &[2, 0, 1, 1],
        /* 2 */ &[2, 1, 1, 1],
        /* 3 */ &[8, 10, 0, 0], // runs past the header
        /* 4 */ &[1, 1, 1, 5], // no room for its length: the payload's byte
        /* 5 */ &[253, 255, 0, 0],
    ];
    for (i, options) in rows.into_iter().enumerate() {
        let tcp = Tcp {
            options: options.to_vec(),
            payload: vec![10; 40],
            ..data()
        };
        let got = parse(&tcp.to_mh(&Ends::v4(0)), 0, None, true);
        assert_eq!(got.map(|_| ()), Err(Bypass::Malformed), "row {}", i + 1);
    }
}

#[test]
fn sack_blocks_and_dsack() {
    // The ACK number is 2,000.
    #[rustfmt::skip]
    let rows: [(&[(u32, u32)], u8); 10] = [
        /*  1 */ (&[(2_100, 2_200)], 0),
        /*  2 */ (&[(2_300, 2_400), (2_100, 2_200)], 0),
        /*  3 */ (&[(1_900, 2_000)], 1), // below the ACK
        /*  4 */ (&[(1_000, 1_100), (2_100, 2_200)], 1),
        /*  5 */ (&[(2_120, 2_140), (2_100, 2_200)], 1), // inside the second
        /*  6 */ (&[(2_100, 2_200), (2_100, 2_200)], 1), // equal to the second
        /*  7 */ (&[(2_100, 2_210), (2_100, 2_200)], 0), // it has grown past it
        /*  8 */ (&[(2_100, 2_200), (2_100, 2_300), (2_500, 2_600), (2_700, 2_800)], 1),
        /*  9 */ (&[(2_500, 2_600), (2_100, 2_200), (2_300, 2_400)], 0),
        /* 10 */ (&[(2_100, 2_200), (1_000, 1_100)], 0), // only the first one reports
    ];
    for (i, (blocks, dsack)) in rows.into_iter().enumerate() {
        let s = with_options(&option::sack(blocks));
        let got: Vec<_> = s.sack_blocks().iter().map(|b| (b.left, b.right)).collect();
        assert_eq!(got, blocks, "row {}", i + 1);
        assert_eq!(s.dsack, dsack, "row {}", i + 1);
        assert_eq!(u32::from(s.opts), LH_OPT_SACK, "row {}", i + 1);
    }
}

#[test]
fn sack_across_the_wrap() {
    let tcp = Tcp {
        ack: u32::MAX - 10,
        options: option::sack(&[(u32::MAX - 5, 20)]),
        ..data()
    };
    let (s, _) = parsed(&tcp.to_fh(&Ends::v4(0)), 0);
    assert_eq!(s.dsack, 0);
    let tcp = Tcp { ack: 30, ..tcp };
    let (s, _) = parsed(&tcp.to_fh(&Ends::v4(0)), 0);
    assert_eq!(s.dsack, 1);
}
