// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Ends that work together against others: what they can have the agent send, and what of it is everybody's.

use std::collections::HashMap;
use std::net::SocketAddr;

use lasthop_core::bindings::*;
use lasthop_core::packet::option;
use lasthop_core::{Config, Limits, MSEC_NS, SEC_NS, Setup, parse};

use crate::brake::MSS;
use crate::rig::{Options, Rig, ns};
use crate::stale::{meets, of_a_receiver};

/// Receiver `n`, its connection `port`.
fn select(rig: &mut Rig, n: u16, port: u16) {
    let [high, low] = n.to_be_bytes();
    rig.ends.mh = SocketAddr::from(([10, 9, high, low], port));
    let packet = rig.bare().to_mh(&rig.ends);
    rig.key = parse(&packet, 0, None, true).expect("TCP").1;
}

/// Somebody's download of 3 MB/s, and so many receivers that answer once and lack a segment when they fall
/// silent. At 262 ms.
fn silent(receivers: u16, connections: u16, places: u32) -> Rig {
    let mut rig = Rig::new(&Options {
        config: Config::default(),
        sack: true,
        setup: Setup {
            limits: Limits {
                peers: places,
                ..Limits::default()
            },
            ..Setup::default()
        },
        ..Options::default()
    });
    rig.window = 60_000;
    for i in 0..300 {
        rig.burst(100 + 2 * i as u64 / 5, i * 1_000, 1_000, 1);
        if i > 20 {
            rig.ack(101 + 2 * i as u64 / 5, (i - 20) * 1_000, &[]);
        }
    }
    rig.ack(231, 300_000, &[]);
    for n in 0..receivers {
        for port in 0..connections {
            select(&mut rig, n, 4_000 + port);
            rig.fh_sends(232, rig.fh_syn(LH_SYN, &option::sack_ok()));
            rig.mh_sends(242, rig.mh_syn(LH_SYN | LH_ACK, &option::sack_ok()));
            rig.fh_sends(243, rig.bare());
            rig.data(250, 0, 1_000);
            rig.ack(260, 1_000, &[]);
            rig.data(261, 1_000, 1_000);
        }
    }
    rig
}

/// Packets that the timers send up to `ms`, by destination: the last 20 bytes before the data tell.
fn sent_until(rig: &mut Rig, ms: u64) -> HashMap<Vec<u8>, usize> {
    let mut sent = HashMap::new();
    while let Some(at) = rig.deadline().filter(|&at| at < ms) {
        for (_, outcome) in rig.agent.on_timer(ns(at + 1)) {
            for packet in outcome.to_mh {
                *sent.entry(packet[16..24].to_vec()).or_default() += 1;
            }
        }
    }
    sent
}

/// Whoever has many addresses, or more connections than receivers have places: an eighth of what the hop carries
/// is for the probes of all of them, and each has its turn.
#[test]
fn all_receivers_probes_together_have_a_share_of_the_hop() {
    for (receivers, connections, places) in [(200, 1, LH_PEERS), (1, 200, 1)] {
        let mut rig = silent(receivers, connections, places);
        sent_until(&mut rig, 1_262); // what made it an outage
        let sent = sent_until(&mut rig, 5_262);
        let all: usize = sent.values().sum();
        // 300 segments of the download and 200 of theirs came within a tenth of a second at the most.
        assert!(all < 4 * 5_000 / 8, "{all} of {places}");
        assert_eq!(sent.len(), 200, "one each at the least");
    }
}

/// A word from MH ends an outage, and what was tried in vain is forgiven: not for a byte at a time.
#[test]
fn who_acknowledges_byte_by_byte_gets_no_segment_without_end() {
    let mut rig = silent(1, 1, LH_PEERS);
    let mut all = 0;
    for i in 1..=100 {
        let at = 262 + 3_000 * i;
        all += sent_until(&mut rig, at).values().sum::<usize>();
        all += rig.ack(at, 1_000 + i as i64, &[]).resent.len();
    }
    assert!(all < 400, "{all} copies of a segment");
}

/// Half of C is for all flows of a receiver: not for three minutes, because one of them has a sender that answers
/// a minute late.
#[test]
fn a_trial_is_short_whoever_answers_late() {
    let mut b = of_a_receiver();
    b.now_ns = 200 * SEC_NS;
    let (now_ns, place) = meets(&mut b);
    let peer = b.host.peer_mut(place);
    (peer.lossy_ns, peer.lossy_for_ns) = (now_ns, 30 * SEC_NS);
    let f = b.flow.raw_mut();
    (f.delivery.stride_now, f.delivery.stride_before) = (2, 2); // it does not wait for more
    f.control.state = LH_CONTROL_HELD as u8;
    f.control.old_edge = 0;
    (f.control.doubt, f.control.c_bytes) = (50, 100 * MSS);
    f.control.interval_ns = now_ns - 100 * SEC_NS;
    b.data(2 * MSS, MSS);
    b.data(3 * MSS, MSS);
    let w = &mut b.flow.raw_mut().wired; // after these, which answer the ACK at once
    (w.now_ns, w.before_ns, w.rtt_ns) = (60 * SEC_NS, 60 * SEC_NS, 60 * SEC_NS);
    b.now_ns += 150 * MSEC_NS;
    b.ack(4 * MSS);
    let trial = b.host.peer(place).trial_end_ns;
    assert!(trial > b.now_ns, "there is one");
    assert!(
        trial <= b.now_ns + 6 * SEC_NS,
        "{} s",
        (trial - b.now_ns) / SEC_NS
    );
}
