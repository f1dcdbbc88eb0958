// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What only scheme rack does to packets: an ACK that passes without its blocks, a CE mark.

use lasthop::programs::{Agent, Outcome, Program, Setup, SkbContext};
use lasthop_core::bindings::{LH_ACK, LH_CLOCK_ALWAYS, LH_PSH, LH_SYN, lh_config};
use lasthop_core::packet::{Ends, Tcp, checksum, checksum_ok, option};

use super::{NEXT, REDIRECT, in_namespace, load, run, setup};

const MSEC: u64 = 1_000_000;
const MSS: u32 = 400;

struct Talk {
    agent: Agent,
    ends: Ends,
    vlans: Vec<(u16, u16)>,
}

impl Talk {
    fn new(ends: Ends, vlans: Vec<(u16, u16)>) -> Self {
        Self::with(ends, vlans, lh_config::default())
    }

    fn with(ends: Ends, vlans: Vec<(u16, u16)>, config: lh_config) -> Self {
        Self {
            agent: load(&Setup { config, ..setup() }),
            ends,
            vlans,
        }
    }

    fn tcp(&self) -> Tcp {
        Tcp {
            ethernet: true,
            vlans: self.vlans.clone(),
            ..Tcp::default()
        }
    }

    /// The number `i` of the segments from FH.
    fn segment(&self, i: u32) -> Vec<u8> {
        Tcp {
            seq: 1 + i * MSS,
            payload: (0..MSS).map(|b| (b + i) as u8).collect(),
            flags: LH_ACK | LH_PSH,
            ..self.tcp()
        }
        .to_mh(&self.ends)
    }

    fn out(&self, packet: &[u8], ms: u64) -> Outcome {
        let out = run(&self.agent, Program::Egress, packet, (1_000 + ms) * MSEC);
        assert_eq!(out.retval, NEXT);
        out
    }

    fn back(&self, packet: &[u8], ms: u64) -> Outcome {
        run(&self.agent, Program::Ingress, packet, (1_000 + ms) * MSEC)
    }

    fn ack(&self, segments: u32, options: Vec<u8>) -> Vec<u8> {
        let ack = 1 + segments * MSS;
        Tcp {
            seq: 1,
            ack,
            options,
            // Less than the clock grants: it edits nothing.
            window: 5_000,
            ..self.tcp()
        }
        .to_fh(&self.ends)
    }

    fn count(&self, name: &str) -> u64 {
        self.agent.counter(name).expect(name)
    }
}

/// The repair goes out on the ACK's own skb, the ACK is put together again behind it, and its
/// blocks are blanked meanwhile.
fn blanked(ends: Ends, vlans: Vec<(u16, u16)>) {
    let talk = Talk::new(ends, vlans);
    let syn = Tcp {
        seq: 0,
        flags: LH_SYN,
        ..talk.tcp()
    };
    let answer = Tcp {
        ack: 1,
        flags: LH_SYN | LH_ACK,
        ..talk.tcp()
    };
    talk.out(&syn.to_mh(&ends), 1);
    assert_eq!(talk.back(&answer.to_fh(&ends), 11).retval, NEXT);
    for i in 0..5 {
        talk.out(&talk.segment(i), 20 + u64::from(i));
    }
    let sack = option::sack(&[(1 + 2 * MSS, 1 + 3 * MSS)]);
    let ack = talk.ack(1, sack.clone());
    let passed = talk.back(&ack, 35);
    assert_eq!(passed.retval, NEXT);
    assert_eq!(
        passed.data,
        talk.ack(1, vec![1; sack.len()]),
        "NOPs, and the checksum of it"
    );
    assert!(checksum_ok(&passed.data[14 + 4 * talk.vlans.len()..]));
    assert_eq!(talk.count("retransmits_order"), 1);
    assert_eq!((passed.context.mark, passed.context.priority), (0, 0));
}

#[test]
fn an_ack_passes_without_its_blocks_ipv4() {
    in_namespace(|| blanked(Ends::v4(1), Vec::new()));
}

#[test]
fn an_ack_passes_without_its_blocks_ipv6() {
    in_namespace(|| blanked(Ends::v6(1), Vec::new()));
}

#[test]
fn an_ack_passes_without_its_blocks_vlan() {
    in_namespace(|| blanked(Ends::v4(1), vec![(0x8100, 7)]));
}

/// Sets the ECN codepoint of an Ethernet frame.
fn with_ecn(mut frame: Vec<u8>, ecn: u8) -> Vec<u8> {
    let l3 = if frame[12] == 0x81 { 18 } else { 14 };
    if frame[l3] >> 4 == 6 {
        frame[l3 + 1] |= ecn << 4;
        return frame;
    }
    frame[l3 + 1] |= ecn;
    frame[l3 + 10..l3 + 12].fill(0);
    let sum = !checksum(&frame[l3..l3 + 20], 0);
    frame[l3 + 10..l3 + 12].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// Picked up in mid-stream, so that the window can't be edited, and a queue stands before 20
/// segments of an ECT flow.
fn queued(ends: Ends) -> Talk {
    queued_tagged(ends, Vec::new())
}

fn queued_tagged(ends: Ends, vlans: Vec<(u16, u16)>) -> Talk {
    // The queue is long whether the link loses anything or not, and does not overflow.
    let config = lh_config {
        clock: LH_CLOCK_ALWAYS,
        queue_guard: 0,
        ..lh_config::default()
    };
    let talk = Talk::with(ends, vlans, config);
    for i in 0..20 {
        let data = with_ecn(talk.segment(i), 2);
        assert_eq!(talk.out(&data, 20 + u64::from(i)).data, data);
    }
    // Two at once: no delayed ACK.
    talk.back(&talk.ack(2, Vec::new()), 31); // 10 ms: no queue
    for i in 2..6 {
        talk.back(&talk.ack(2 * i, Vec::new()), 70 + 8 * u64::from(i)); // 63 ms and more
    }
    talk
}

/// A standing queue is marked. The cached copy is not.
fn marked(ends: Ends) {
    let talk = queued(ends);
    let data = |i| with_ecn(talk.segment(i), 2);
    assert_eq!(talk.out(&data(20), 150).data, with_ecn(talk.segment(20), 3));
    assert_eq!(talk.count("ce_marks"), 1);
    // Once per round trip.
    assert_eq!(talk.out(&data(21), 151).data, data(21));
    // FH's window is not touched, and what comes to repair is the packet as FH sent it.
    let ack = talk.ack(20, Vec::new());
    let passed = talk.back(&ack, 200);
    assert_eq!((passed.retval, passed.data), (NEXT, ack.clone()));
    let turned = talk.back(&ack, 201);
    assert_eq!((turned.retval, turned.data), (REDIRECT, data(20)));
}

#[test]
fn a_standing_queue_is_marked_ipv4() {
    in_namespace(|| marked(Ends::v4(1)));
}

#[test]
fn a_standing_queue_is_marked_ipv6() {
    in_namespace(|| marked(Ends::v6(1)));
}

/// The mark of a super-packet is asked for with its first slice, and is not forgotten over the
/// others.
fn super_marked(ends: Ends) {
    let talk = queued(ends);
    let whole = Tcp {
        seq: 1 + 20 * MSS,
        payload: (0..3 * MSS).map(|b| b as u8).collect(),
        ..talk.tcp()
    }
    .to_mh(&ends);
    let context = SkbContext {
        tstamp: (1_000 + 150) * MSEC,
        gso_size: MSS,
        gso_segs: 3,
        ..SkbContext::default()
    };
    let packet = with_ecn(whole.clone(), 2);
    let sent = talk
        .agent
        .run(Program::Egress, &packet, &context, 1)
        .expect("run");
    assert_eq!((sent.retval, sent.data), (NEXT, with_ecn(whole, 3)));
    assert_eq!(talk.count("data_segments"), 23);
    assert_eq!(talk.count("ce_marks"), 1);
}

#[test]
fn a_super_packet_keeps_its_mark_ipv4() {
    in_namespace(|| super_marked(Ends::v4(1)));
}

#[test]
fn a_super_packet_keeps_its_mark_ipv6() {
    in_namespace(|| super_marked(Ends::v6(1)));
}

/// What a frame with a tag within (the inner one of two, behind a bridge) has before its IP header is not IP's.
fn marked_behind_a_tag(ends: Ends, tci: u16) {
    let talk = queued_tagged(ends, vec![(0x8100, tci)]);
    let data = |i| with_ecn(talk.segment(i), 2);
    assert_eq!(talk.out(&data(20), 150).data, with_ecn(talk.segment(20), 3));
    assert_eq!(talk.count("ce_marks"), 1);
}

#[test]
fn a_mark_behind_a_tag_ipv4() {
    in_namespace(|| marked_behind_a_tag(Ends::v4(1), 5));
}

#[test]
fn a_mark_behind_a_tag_ipv6() {
    in_namespace(|| marked_behind_a_tag(Ends::v6(1), 0x010));
}
