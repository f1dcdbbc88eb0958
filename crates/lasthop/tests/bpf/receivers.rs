// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Receivers' places in the table that all flows share, which has no lock.

use std::mem::offset_of;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use lasthop::programs::{Agent, Program, Setup};
use lasthop_core::bindings::{LH_ACK, LH_SYN, lh_config, lh_device};
use lasthop_core::packet::{Ends, Tcp};

use super::{in_namespace_alone, load, only_on, run, setup, skip, two_cpus};

const SEC: u64 = 1_000_000_000;
const ROUNDS: u32 = 5_000;

/// Connection `which` of receiver `round`.
fn ends(round: u32, which: u16) -> Ends {
    let [_, a, b, c] = round.to_be_bytes();
    Ends {
        mh: SocketAddr::from(([10, a, b, c], 40_000 + which)),
        ..Ends::v4(0)
    }
}

fn at(round: u32) -> u64 {
    u64::from(round + 1) * 61 * SEC
}

fn tcp(flags: u32, ack: u32) -> Tcp {
    Tcp {
        ack,
        ..super::tcp(0, flags, 0)
    }
}

fn busy_receivers(agent: &Agent) -> u32 {
    let bytes = agent.device().expect("device");
    let from = offset_of!(lh_device, busy_peers);
    u32::from_ne_bytes(bytes[from..from + 4].try_into().expect("a word"))
}

/// Two connections of a receiver that has no place are answered at once, on two CPUs: once nothing is cached
/// nobody is counted as busy.
#[test]
fn two_cpus_give_a_receiver_its_place() {
    let Some(cpus) = two_cpus() else {
        return skip("two CPUs at once: has one");
    };
    in_namespace_alone(move || {
        let agent = load(&Setup {
            max_flows: 1_000,
            config: lh_config::default(),
            ..setup()
        });
        let turn = [AtomicU32::new(0), AtomicU32::new(0)];
        let meet = |which: usize, round: u32| {
            turn[which].store(round, Ordering::SeqCst);
            while turn[1 - which].load(Ordering::SeqCst) < round {
                std::hint::spin_loop();
            }
        };
        let answers = |which: u16| {
            only_on(cpus[usize::from(which)]);
            for round in 0..ROUNDS {
                let ends = ends(round, which);
                let syn = tcp(LH_SYN, 0).to_mh(&ends);
                let answer = tcp(LH_SYN | LH_ACK, 1).to_fh(&ends);
                let own = at(round) + u64::from(which) * SEC / 2;
                if which == 1 {
                    meet(1, 3 * round + 1);
                }
                run(&agent, Program::Egress, &syn, own);
                if which == 0 {
                    meet(0, 3 * round + 1);
                }
                meet(which.into(), 3 * round + 2);
                run(&agent, Program::Ingress, &answer, at(round) + SEC);
                meet(which.into(), 3 * round + 3);
                if which == 0 && round % 400 == 399 {
                    agent.sweep(true).expect("sweep");
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| answers(0));
            scope.spawn(|| answers(1));
        });
        agent.sweep(true).expect("sweep");
        assert_eq!(agent.usage().slots, 0);
        assert_eq!(busy_receivers(&agent), 0, "of {ROUNDS} receivers");
    });
}
