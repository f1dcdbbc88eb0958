// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme snack in the programs: who may tell what is missing, and to whom it is told.

use lasthop::programs::{Agent, Program, Setup};
use lasthop_core::bindings::*;
use lasthop_core::message::hello_to;
use lasthop_core::packet::{Ends, Tcp, checksum_ok, option};
use lasthop_core::{Config, Message, Sender, Us, parse};

use super::{in_namespace, load, run, setup};

const PORT: u16 = 30_467;
const OURS: u64 = 1_000;
const MSEC: u64 = 1_000_000;
/// Layer-2 addresses that MH's frames come from.
const AGENT: [u8; 6] = [2, 0, 0, 0, 0, 7];
const ANOTHER: [u8; 6] = [2, 0, 0, 0, 0, 8];

/// The base's agent, which has heard the one at `AGENT`.
fn base() -> Agent {
    let agent = load(&Setup {
        port: PORT,
        config: Config {
            role: LH_ROLE_BASE,
            ..Config::snack()
        },
        ..setup()
    });
    let key = lh_key::new(&[1; 16]);
    agent.begin_life(OURS).expect("partners");
    agent.set_keys(&lh_keys::new(&[key])).expect("keys");
    let us = Us {
        addr4: Sender::at([10, 0, 0, 9].into()).addr,
        ..Us::default()
    };
    agent.set_us(&us).expect("us");
    let mut m = Message::new([10, 0, 0, 1].into(), 5, LH_STREAM_USER, 1);
    let mut hello = hello_to(None, u64::from(LH_CAN_REPAIR_MISSING), 77);
    (hello.echo_epoch, hello.echo_time_ns) = (OURS, 95 * MSEC);
    m.put_hello(&hello);
    m.from.hw = AGENT;
    m.seal(&key);
    let all = Sender::at([224, 0, 0, 1].into());
    run(
        &agent,
        Program::Ingress,
        &m.packet(&all, 14, PORT),
        100 * MSEC,
    );
    assert_eq!(agent.partners().unwrap().known().count(), 1);
    agent
}

fn framed(tcp: Tcp) -> Tcp {
    Tcp {
        ethernet: true,
        ..tcp
    }
}

fn from_mh(agent: &Agent, tcp: Tcp, hw: [u8; 6], ms: u64) {
    let mut frame = framed(tcp).to_fh(&Ends::v4(1));
    frame[6..12].copy_from_slice(&hw);
    run(agent, Program::Ingress, &frame, ms * MSEC);
}

/// What is left of a packet towards MH.
fn to_mh(agent: &Agent, tcp: Tcp, ms: u64) -> Vec<u8> {
    let frame = framed(tcp).to_mh(&Ends::v4(1));
    run(agent, Program::Egress, &frame, ms * MSEC).data
}

fn shakes_hands(agent: &Agent) {
    let options = [option::mss(1_000), option::wscale(7), option::sack_ok()].concat();
    let syn = |flags, ack| Tcp {
        flags,
        ack,
        options: options.clone(),
        ..Tcp::default()
    };
    to_mh(agent, syn(LH_SYN, 0), 110);
    from_mh(agent, syn(LH_SYN | LH_ACK, 1), AGENT, 111);
}

fn told(packet: &[u8]) -> u8 {
    assert!(checksum_ok(&packet[14..]));
    parse(packet, 14, None, true).expect("TCP").0.nr_missing
}

/// A gap in MH's data is told of in the next ACK.
fn gap(agent: &Agent, seq: u32, hw: [u8; 6], ms: u64) -> u8 {
    let data = |seq| Tcp {
        seq,
        ack: 1,
        payload: vec![1; 100],
        ..Tcp::default()
    };
    from_mh(agent, data(seq), hw, ms);
    from_mh(agent, data(seq + 200), hw, ms);
    let ack = Tcp {
        seq: 1,
        ack: seq + 100,
        ..Tcp::default()
    };
    told(&to_mh(agent, ack, ms))
}

#[test]
fn a_list_from_the_wire_does_not_get_onto_the_hop() {
    in_namespace(|| {
        let agent = base();
        shakes_hands(&agent);
        let options = option::missing(&[(1, 65_536)]);
        for payload in [vec![], vec![1; 100]] {
            let tcp = Tcp {
                seq: 1,
                ack: 1,
                options: options.clone(),
                payload,
                ..Tcp::default()
            };
            let sent = framed(tcp.clone()).to_mh(&Ends::v4(1));
            assert_eq!(told(&sent), 1);
            let leaves = to_mh(&agent, tcp, 120);
            assert_eq!((told(&leaves), leaves.len()), (0, sent.len()));
        }
    });
}

/// MH leaves the network of the other agent: what nobody would take out again is not written any more.
#[test]
fn who_comes_from_elsewhere_is_not_told() {
    in_namespace(|| {
        let agent = base();
        shakes_hands(&agent);
        assert_eq!(gap(&agent, 1, AGENT, 250), 1);
        assert_eq!(gap(&agent, 401, ANOTHER, 400), 0);
        assert_eq!(gap(&agent, 801, AGENT, 600), 1, "and comes back");
    });
}
