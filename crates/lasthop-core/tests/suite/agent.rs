// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The native host itself: table, memory, devices, what is not TCP.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp};
use lasthop_core::{Agent, Bypass, Config, Key, Limits, MSEC_NS, Setup, parse};

fn key(ends: &Ends) -> Key {
    let (_, key) = parse(&Tcp::default().to_mh(ends), 0, None, true).expect("TCP");
    key
}

fn data(seq: u32, len: usize) -> Tcp {
    Tcp {
        seq,
        payload: vec![9; len],
        ..Tcp::default()
    }
}

/// These tests are about the agent; the classic scheme's repairs are the easiest to foresee.
fn classic() -> Setup {
    Setup {
        config: Config::snoop(),
        ..Setup::default()
    }
}

fn ack(ack: u32) -> Tcp {
    Tcp {
        ack,
        ..Tcp::default()
    }
}

/// A hole at `seq` 0 and its repair, over any kind of device.
fn repairs(agent: &mut Agent, ends: &Ends, vlan: Option<u16>, shape: &Tcp) {
    let lost = Tcp {
        ethernet: shape.ethernet,
        vlans: shape.vlans.clone(),
        ..data(0, 500)
    };
    let lost = lost.to_mh(ends);
    agent.on_egress_vlan(&lost, vlan, 1_000);
    let next = Tcp {
        seq: 500,
        ..shape.clone()
    };
    let next = Tcp {
        payload: vec![8; 500],
        ..next
    };
    agent.on_egress_vlan(&next.to_mh(ends), vlan, 2_000);
    let dup = Tcp {
        payload: Vec::new(),
        ..shape.clone()
    };
    assert!(!agent.on_ingress_vlan(&dup.to_fh(ends), vlan, 3_000).dropped);
    let outcome = agent.on_ingress_vlan(&dup.to_fh(ends), vlan, 4_000);
    assert!(outcome.dropped);
    assert_eq!(outcome.to_mh, [lost]);
}

#[test]
fn every_kind_of_device() {
    for ends in [Ends::v4(1), Ends::v6(1)] {
        let mut raw = Agent::new(classic());
        repairs(&mut raw, &ends, None, &Tcp::default());
        let mut ethernet = Agent::new(Setup {
            l2_bytes: 14,
            ..classic()
        });
        let plain = Tcp {
            ethernet: true,
            ..Tcp::default()
        };
        let tagged = Tcp {
            vlans: vec![(0x8100, 5)],
            ..plain.clone()
        };
        repairs(&mut ethernet, &ends, None, &plain);
        repairs(&mut ethernet, &ends, Some(5), &plain);
        repairs(&mut ethernet, &ends, Some(6), &plain);
        repairs(&mut ethernet, &ends, Some(6), &tagged);
        assert_eq!(ethernet.keys().count(), 4, "VLANs are told apart");
    }
}

#[test]
fn flows_do_not_disturb_each_other() {
    let mut agent = Agent::new(classic());
    for n in 0..100 {
        repairs(&mut agent, &Ends::v4(n), None, &Tcp::default());
        repairs(&mut agent, &Ends::v6(n), None, &Tcp::default());
    }
    assert_eq!(agent.keys().count(), 200);
    assert_eq!(agent.counter(LH_C_local_retransmits), 200);
}

#[test]
fn a_full_table_passes() {
    let mut agent = Agent::new(Setup {
        max_flows: 1,
        ..classic()
    });
    agent.on_egress(&data(0, 10).to_mh(&Ends::v4(0)), 1);
    let outcome = agent.on_egress(&data(0, 10).to_mh(&Ends::v4(1)), 2);
    assert_eq!(outcome, Default::default());
    assert_eq!(agent.counter(LH_C_bypass_table_full), 1);
    assert_eq!(agent.counter(LH_C_flows_created), 1);
}

#[test]
fn under_pressure_flows_share() {
    let mut agent = Agent::new(Setup {
        limits: Limits {
            slots: 40,
            chunks: 40,
            ..Limits::default()
        },
        ..classic()
    });
    // Each has proved that it is there.
    for n in 0..2 {
        agent.on_egress(&data(0, 100).to_mh(&Ends::v4(n)), 1);
        agent.on_ingress(&ack(100).to_fh(&Ends::v4(n)), 1);
    }
    let fill = |agent: &mut Agent, n, upto: u32| {
        for i in 1..upto {
            agent.on_egress(&data(i * 100, 100).to_mh(&Ends::v4(n)), 1);
        }
        agent.host().pool().slots_used()
    };
    // Alone it gets three quarters, then nine tenths of everything.
    assert_eq!(fill(&mut agent, 0, 41), 36);
    // The second one gets what is left, not more than its share.
    assert_eq!(fill(&mut agent, 1, 41), 40);
    // The first gives back what it has beyond its half, and the second takes it.
    agent.sweep(2);
    assert_eq!(agent.host().pool().slots_used(), 24);
    assert_eq!(agent.counter(LH_C_evicted_segments), 16);
    for i in 41..80 {
        agent.on_egress(&data(i * 100, 100).to_mh(&Ends::v4(1)), 3);
    }
    assert_eq!(agent.host().pool().slots_used(), 38);
    // Once the first is done, the second may have more.
    agent.on_ingress(&ack(4_100).to_fh(&Ends::v4(0)), 4);
    agent.on_timer(4 + 10 * MSEC_NS); // what the ACK left is given back
    let before = agent.host().pool().slots_used();
    assert!(before < 20);
    agent.on_egress(&data(8_000, 100).to_mh(&Ends::v4(1)), 11 * MSEC_NS);
    assert_eq!(agent.host().pool().slots_used(), before + 1);
}

/// A receiver that has left, with many connections, does not keep out another: what nobody has
/// asked for goes, and its flows are no reason for a larger part.
#[test]
fn who_has_left_gives_the_cache_back() {
    let mut agent = Agent::new(Setup {
        limits: Limits {
            slots: 400,
            chunks: 400,
            ..Limits::default()
        },
        flow_segments: 100,
        ..classic()
    });
    let ends = |mh: u8, port: u16| Ends {
        mh: ([10, 0, 0, mh], 80).into(),
        fh: ([192, 0, 2, 1], port).into(),
    };
    // A window of a hundred segments, of which MH acknowledges the first.
    let window = |agent: &mut Agent, ends: &Ends, from: u32, ms: u64| {
        for i in 0..100 {
            agent.on_egress(&data(from + i * 100, 100).to_mh(ends), ms * MSEC_NS);
            if i == 0 {
                agent.on_ingress(&ack(from + 100).to_fh(ends), ms * MSEC_NS);
            }
        }
        agent.entries(&key(ends)).len()
    };
    for port in 0..40 {
        window(&mut agent, &ends(1, port), 0, 1_000);
    }
    let other = ends(2, 99);
    let mut got = Vec::new();
    for i in 0..4_u32 {
        let ms = 2_000 + 1_000 * u64::from(i);
        got.push(window(&mut agent, &other, i * 10_000, ms));
        agent.sweep((ms + 10) * MSEC_NS);
        let all = ack((i + 1) * 10_000);
        agent.on_ingress(&all.to_fh(&other), (ms + 20) * MSEC_NS);
    }
    assert!(got[0] < 10 && got[3] > 80, "{got:?}");
    agent.on_timer(5_100 * MSEC_NS); // what the last ACK left is given back
    // Whoever has not got on for ten seconds keeps hardly anything.
    agent.sweep(13_002 * MSEC_NS);
    assert!(agent.host().pool().slots_used() < 41 * 4 + 100);
}

#[test]
fn what_is_not_tcp_is_counted() {
    let mut agent = Agent::new(classic());
    let mut packet = data(0, 10).to_mh(&Ends::v4(0));
    packet[9] = 17;
    assert_eq!(agent.on_egress(&packet, 1).bypass, Some(Bypass::NotTcp));
    packet[6] = 0x20;
    assert_eq!(agent.on_ingress(&packet, 1).bypass, Some(Bypass::Fragment));
    packet[0] = 0x41;
    let outcome = agent.on_ingress(&packet, 1);
    assert_eq!(outcome.bypass, Some(Bypass::Malformed));
    assert!(!outcome.dropped);
    assert_eq!(agent.counter(LH_C_bypass_not_tcp), 1);
    assert_eq!(agent.counter(LH_C_bypass_fragment), 1);
    assert_eq!(agent.counter(LH_C_bypass_malformed), 1);
}

#[test]
fn larger_than_a_slot_passes_uncached() {
    let mut agent = Agent::new(classic());
    let ends = Ends::v4(0);
    let largest = (LH_CACHE_PKT_MAX - LH_HDR_BYTES) as usize;
    agent.on_egress(&data(0, largest).to_mh(&ends), 1);
    assert_eq!(agent.host().pool().slots_used(), 1);
    agent.on_egress(&data(largest as u32, largest + 1).to_mh(&ends), 1);
    assert_eq!(agent.host().pool().slots_used(), 1);
    assert_eq!(agent.counter(LH_C_uncached_size), 1);
}

#[test]
fn padding_is_not_cached() {
    let mut agent = Agent::new(Setup {
        l2_bytes: 14,
        ..classic()
    });
    let tcp = Tcp {
        ethernet: true,
        ..data(0, 1)
    };
    let bare = tcp.to_mh(&Ends::v4(0));
    let mut padded = bare.clone();
    padded.resize(60, 0);
    let slot = agent.on_egress(&padded, 1).actions.and_then(|a| a.store());
    let slot = slot.expect("cached");
    assert_eq!(agent.host().pool().packet(slot), Some(bare.as_slice()));
}

#[test]
fn deadlines_come_in_order() {
    let mut agent = Agent::new(classic());
    for (n, at) in [(0, 300), (1, 100), (2, 200)] {
        let (data, ends) = (data(0, 10), Ends::v4(n));
        agent.on_egress(&data.to_mh(&ends), at);
        let ack = Tcp {
            seq: data.ack,
            ack: data.seq,
            ..Tcp::default()
        };
        agent.on_ingress(&ack.to_fh(&ends), at); // ACKs come by
    }
    let second = 1_000_000_000;
    assert_eq!(agent.next_deadline(), Some(second + 100));
    assert!(agent.on_timer(second + 99).is_empty());
    let fired = agent.on_timer(second + 250);
    let ports: Vec<_> = fired.iter().map(|(key, _)| key.mh_port).collect();
    assert_eq!(ports, [40_001, 40_002]);
    assert_eq!(agent.next_deadline(), Some(second + 300));
}
