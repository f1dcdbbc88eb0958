// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What was damaged on the link is not believed (bpf/verify.bpf.h): a test run's packet is one that
//! no device has looked at.

use lasthop::programs::Program;
use lasthop_core::packet::{Ends, Tcp, option};

use super::fixtures::{MSEC, MSS, Talk};
use super::{NEXT, in_namespace, run, setup};

/// Bytes of the packet that no checksum covers: Ethernet, tags, and in IPv6 what a router may
/// change.
fn uncovered(packet: &[u8], vlans: usize) -> usize {
    let l3 = 14 + 4 * vlans;
    match packet[l3] >> 4 {
        4 => l3,
        _ => l3 + 8,
    }
}

/// An ACK of everything, with a payload of `bytes`, is damaged in one byte after another. The parts
/// by which a packet is told to be TCP at all, or whole, are none of this test's.
fn damaged(ends: Ends, vlans: Vec<(u16, u16)>, options: Vec<u8>, bytes: usize) {
    let nr_vlans = vlans.len();
    let mut talk = Talk::new(&setup(), ends);
    talk.vlans = vlans;
    talk.start();
    let right = Tcp {
        ack: 1 + 5 * MSS as u32,
        options,
        payload: (0..bytes).map(|i| (i * 7) as u8).collect(),
        ..talk.tcp()
    }
    .to_fh(&talk.ends);
    let acks = || talk.count("ack_segments");
    let (before, mut wrong) = (acks(), 0);
    for at in uncovered(&right, nr_vlans)..right.len() {
        let mut packet = right.clone();
        packet[at] ^= 0x55;
        assert_eq!(
            run(&talk.agent, Program::Ingress, &packet, 31 * MSEC).retval,
            NEXT
        );
        wrong += 1;
        assert_eq!(acks(), before, "byte {at}");
        assert_eq!(talk.agent.usage().slots, 5, "byte {at}");
    }
    // Some are no TCP segment any more, and are counted as such.
    let counted = talk.count("bypass_checksum");
    assert!(counted > wrong * 2 / 3, "{counted} of {wrong}");
    run(&talk.agent, Program::Ingress, &right, 32 * MSEC);
    assert_eq!(acks(), before + 1);
    assert_eq!(talk.agent.usage().slots, 0);
}

#[test]
fn what_is_damaged_moves_nothing_ipv4() {
    in_namespace(|| damaged(Ends::v4(1), Vec::new(), Vec::new(), 0));
}

#[test]
fn what_is_damaged_moves_nothing_ipv6() {
    in_namespace(|| damaged(Ends::v6(1), Vec::new(), Vec::new(), 0));
}

/// More than one step of the sum, and an odd length.
#[test]
fn what_is_damaged_moves_nothing_with_data() {
    in_namespace(|| damaged(Ends::v4(1), vec![(0x8100, 5)], Vec::new(), 301));
    in_namespace(|| damaged(Ends::v6(1), vec![(0x8100, 5)], Vec::new(), 1_400));
}

/// Headers of each length that the sum takes another way for, and longer ones than are mostly read.
#[test]
fn what_is_damaged_moves_nothing_with_options() {
    let timestamps = || [vec![1, 1], option::timestamps(5, 6)].concat();
    let blocks = || option::sack(&[(9_000, 9_100), (9_200, 9_300), (9_400, 9_500)]);
    in_namespace(move || {
        damaged(Ends::v4(1), Vec::new(), timestamps(), 0);
        damaged(Ends::v6(1), Vec::new(), timestamps(), 0);
        let both = || [timestamps(), vec![1, 1], blocks()].concat();
        damaged(Ends::v4(1), Vec::new(), both(), 0);
        damaged(Ends::v6(1), vec![(0x88a8, 7), (0x8100, 5)], both(), 3);
        damaged(Ends::v6(1), vec![(0x88a8, 7), (0x8100, 5)], both(), 300);
    });
}

/// Extension headers that reach beyond the bytes that are mostly read: what stands there is never the packet's
/// before. Destination options of 80 bytes, in which a lazy reader would find the header that follows.
#[test]
fn long_chains_of_headers_are_read_to_their_end() {
    in_namespace(|| {
        let talk = Talk::new(&setup(), Ends::v6(1));
        talk.start();
        let before = talk.count("data_segments");
        for n in 0..4 {
            let other = Tcp {
                payload: vec![[44, 59, 17, 6][n]; 400],
                ..talk.tcp()
            };
            run(
                &talk.agent,
                Program::Egress,
                &other.to_mh(&Ends::v6(2)),
                31 * MSEC,
            );
            let long = Tcp {
                seq: 1 + (5 + n as u32) * MSS as u32,
                payload: vec![7; MSS],
                extensions: vec![(43, vec![0; 46]), (60, vec![1; 6])],
                ..talk.tcp()
            };
            run(
                &talk.agent,
                Program::Egress,
                &long.to_mh(&talk.ends),
                32 * MSEC,
            );
        }
        assert_eq!(talk.count("bypass_not_tcp"), 0);
        assert_eq!(talk.count("bypass_fragment"), 0);
        assert_eq!(talk.count("bypass_malformed"), 0);
        assert_eq!(talk.count("data_segments"), before + 8);
    });
}
