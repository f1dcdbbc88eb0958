// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Where a connection's entry is: what is remembered of that may be wrong at any time, and costs no packet.

use lasthop::programs::{Agent, Program, Setup};
use lasthop_core::bindings::{LH_ACK, LH_SYN};
use lasthop_core::packet::{Ends, Tcp};

use super::{in_namespace, load, run, setup};

const MSEC: u64 = 1_000_000;
const FLOWS: u16 = 16;

fn opens(agent: &Agent, n: u16, ms: u64) {
    let ends = Ends::v4(n);
    let tcp = |flags, ack| Tcp {
        flags,
        ack,
        ..super::tcp(0, flags, 0)
    };
    let syn = tcp(LH_SYN, 0).to_mh(&ends);
    run(agent, Program::Egress, &syn, ms * MSEC);
    let answer = tcp(LH_SYN | LH_ACK, 1).to_fh(&ends);
    run(agent, Program::Ingress, &answer, ms * MSEC);
}

fn sends(agent: &Agent, n: u16, segment: u32, ms: u64) {
    let data = super::tcp(1 + segment * 100, LH_ACK, 100);
    run(agent, Program::Egress, &data.to_mh(&Ends::v4(n)), ms * MSEC);
}

/// Data segments of each connection, by the entry that has its key.
fn counted(agent: &Agent) -> Vec<u64> {
    let flows = agent.flows().expect("flows");
    let of = |n| {
        let port = Ends::v4(n).mh.port();
        let mut its = flows.iter().filter(|entry| entry.key.mh_port == port);
        let entry = its.next().expect("an entry");
        assert!(its.next().is_none());
        entry.flow.nr_data
    };
    (0..FLOWS).map(of).collect()
}

fn small() -> Agent {
    load(&Setup {
        max_flows: u32::from(FLOWS),
        ..setup()
    })
}

/// As many connections as there is room for, so that some share what is remembered of both.
#[test]
fn each_packet_finds_its_connection() {
    in_namespace(|| {
        let agent = small();
        for n in 0..FLOWS {
            opens(&agent, n, 1);
        }
        let mut order: Vec<u16> = (0..FLOWS).collect();
        for round in 0..12 {
            for &n in &order {
                sends(&agent, n, round, 2);
            }
            assert_eq!(counted(&agent), vec![u64::from(round) + 1; 16]);
            order.rotate_left(3);
            order.swap(0, 7);
        }
        assert_eq!(agent.counter("flows_created").unwrap(), u64::from(FLOWS));
    });
}

/// Another one has its place meanwhile.
#[test]
fn a_connection_that_comes_back_is_found_where_it_is() {
    in_namespace(|| {
        let agent = small();
        for n in 0..FLOWS {
            opens(&agent, n, 1);
            sends(&agent, n, 0, 2);
        }
        assert_eq!(agent.sweep(true).unwrap(), u64::from(FLOWS));
        for n in (0..FLOWS).map(|n| (5 * n + 3) % FLOWS) {
            opens(&agent, n, 4);
            sends(&agent, n, 0, 7);
        }
        for n in 0..FLOWS {
            sends(&agent, n, 1, 8);
        }
        assert_eq!(counted(&agent), vec![2; 16]);
    });
}
