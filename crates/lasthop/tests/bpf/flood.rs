// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Who sends what nobody answers gets an eighth of the flow table, and no receiver's place.

use lasthop::programs::{Agent, Program};
use lasthop_core::bindings::{LH_ACK, LH_FLOW_WSCALE, LH_SYN, lh_config, lh_flow_entry};
use lasthop_core::packet::{Ends, Tcp, option};

use super::{DROP, NEXT, REDIRECT, in_namespace, load, run, setup};

const MSEC: u64 = 1_000_000;
const MSS: u32 = 400;
/// A table of so many; an eighth of it may be unanswered.
const FLOWS: u32 = 64;

fn ends(port: u16) -> Ends {
    Ends {
        mh: ([10, 7, (port >> 8) as u8, port as u8], 80).into(),
        fh: ([198, 51, 100, 1], 10_000 + port).into(),
    }
}

fn tcp() -> Tcp {
    Tcp {
        ethernet: true,
        ..Tcp::default()
    }
}

fn syn(flags: u32, ack: u32) -> Tcp {
    Tcp {
        seq: 0,
        ack,
        flags,
        options: [option::mss(1_000), option::wscale(7), option::sack_ok()].concat(),
        ..tcp()
    }
}

fn sends(agent: &Agent, program: Program, packet: &[u8], ms: u64) -> i32 {
    run(agent, program, packet, ms * MSEC).retval
}

/// Opens a connection to a receiver of its own while the flood goes on; @return whether a loss of
/// its is repaired, with all options known.
fn opens(agent: &Agent, port: u16, mh_opens: bool, ms: u64) -> bool {
    let ends = ends(port);
    let (out, back) = (Program::Egress, Program::Ingress);
    let (first, second) = (syn(LH_SYN, 0), syn(LH_SYN | LH_ACK, 1));
    if mh_opens {
        assert_eq!(sends(agent, back, &first.to_fh(&ends), ms), NEXT);
        flood(agent, 5, ms + 1);
        assert_eq!(sends(agent, out, &second.to_mh(&ends), ms + 90), NEXT);
    } else {
        assert_eq!(sends(agent, out, &first.to_mh(&ends), ms), NEXT);
        flood(agent, 5, ms + 1);
        assert_eq!(sends(agent, back, &second.to_fh(&ends), ms + 10), NEXT);
    }
    let bare = Tcp {
        seq: 1,
        ack: 1,
        ..tcp()
    };
    if mh_opens {
        assert_eq!(sends(agent, back, &bare.to_fh(&ends), ms + 91), NEXT);
    }
    for i in 0..5 {
        let data = Tcp {
            seq: 1 + i * MSS,
            ack: 1,
            payload: vec![i as u8; MSS as usize],
            ..tcp()
        };
        assert_eq!(sends(agent, out, &data.to_mh(&ends), ms + 100), NEXT);
    }
    let sack = Tcp {
        seq: 1,
        ack: 1,
        options: option::sack(&[(1 + MSS, 1 + 2 * MSS)]),
        ..tcp()
    };
    let verdict = sends(agent, back, &sack.to_fh(&ends), ms + 112);
    let known = agent.flows().expect("flows").iter().any(|entry| {
        u32::from(entry.key.mh_port) == 80
            && entry.key.fh_port == 10_000 + port
            && entry.flow.flags & LH_FLOW_WSCALE != 0
            && entry.flow.conn.wscale_mh == 7
            && entry.flow.peer != 0
    });
    known && (verdict == REDIRECT || verdict == DROP)
}

/// SYNs and data to receivers that are not there, and SYNs from them.
fn flood(agent: &Agent, n: u16, ms: u64) {
    for i in 0..n {
        let ends = ends(1_000 + (ms as u16).wrapping_mul(31).wrapping_add(i) % 20_000);
        let data = Tcp {
            seq: 77,
            ack: 5,
            payload: vec![1; 10],
            ..tcp()
        };
        let (program, packet) = match i % 3 {
            0 => (Program::Egress, syn(LH_SYN, 0).to_mh(&ends)),
            1 => (Program::Egress, data.to_mh(&ends)),
            _ => (Program::Ingress, syn(LH_SYN, 0).to_fh(&ends)),
        };
        assert_eq!(sends(agent, program, &packet, ms), NEXT);
    }
}

#[test]
fn a_flood_of_the_unanswered_keeps_nobody_out() {
    in_namespace(|| {
        let agent = load(&lasthop::programs::Setup {
            max_flows: FLOWS,
            config: lh_config::default(),
            ..setup()
        });
        flood(&agent, 600, 1_000);
        assert_eq!(agent.usage().flows, u64::from(FLOWS / 8));
        assert!(agent.counter("bypass_unanswered").expect("it") > 500);
        assert_eq!(agent.counter("bypass_table_full").expect("it"), 0);
        assert!(
            agent
                .flows()
                .expect("flows")
                .iter()
                .all(|entry| entry.flow.peer == 0)
        );
        for (i, mh_opens) in [(0, false), (1, true), (2, false), (3, true)] {
            assert!(
                opens(&agent, i, mh_opens, 2_000 + 1_000 * u64::from(i)),
                "{i}"
            );
        }
        assert_eq!(agent.usage().flows, u64::from(FLOWS / 8) + 4);
        // Who opens now must not take the place of one that was there before.
        flood(&agent, 600, 9_000);
        assert_eq!(agent.usage().flows, u64::from(FLOWS / 8) + 4);
    });
}

/// For what waits for an answer there is a small hash, and a larger one once many do: nothing that the small
/// one knows gets lost so.
#[test]
fn what_remembers_syns_grows_with_need() {
    in_namespace(|| {
        let agent = load(&lasthop::programs::Setup {
            max_flows: 4_096,
            config: lh_config::default(),
            ..setup()
        });
        agent.reserve().grow();
        let first = agent.taken_bytes();
        let table = 512 * size_of::<lh_flow_entry>() as u64;
        let mut ms = 1_000;
        while agent.counter("bypass_unanswered").expect("it") == 0 {
            flood(&agent, 15, ms);
            ms += 1;
            assert!(ms < 1_100);
            if agent.usage().flows <= 256 {
                agent.reserve().grow();
                assert!(agent.taken_bytes() - first < table, "the table's");
            }
        }
        let first = agent.taken_bytes();
        assert_eq!(agent.usage().flows, 512);
        let ends = ends(7);
        let (syn, answer) = (syn(LH_SYN, 0), syn(LH_SYN | LH_ACK, 1));
        sends(&agent, Program::Egress, &syn.to_mh(&ends), ms);
        assert_eq!(agent.usage().flows, 512);
        agent.reserve().grow();
        let more = agent.taken_bytes() - first;
        assert!(more > table + 16_384 * 100, "{more}, the table's {table}");
        flood(&agent, 3_000, ms + 1);
        sends(&agent, Program::Ingress, &answer.to_fh(&ends), ms + 20);
        let known = agent
            .flows()
            .expect("flows")
            .into_iter()
            .any(|entry| entry.key.fh_port == 10_007 && entry.flow.flags & LH_FLOW_WSCALE != 0);
        assert!(known);
    });
}

/// Who finds no place in the table because it has not grown yet is remembered, too.
#[test]
fn a_table_that_is_about_to_grow_loses_no_options() {
    in_namespace(|| {
        let agent = load(&lasthop::programs::Setup {
            max_flows: 4_096,
            config: lh_config::default(),
            ..setup()
        });
        let opened = |n: u16| {
            sends(
                &agent,
                Program::Egress,
                &syn(LH_SYN, 0).to_mh(&ends(n)),
                1_000,
            );
        };
        let answered = |n: u16| {
            let answer = syn(LH_SYN | LH_ACK, 1).to_fh(&ends(n));
            sends(&agent, Program::Ingress, &answer, 1_010);
        };
        for n in 0..400 {
            opened(n);
            if n < 399 {
                answered(n);
            }
        }
        let there = agent.usage().flows;
        assert!(there < 399, "{there}");
        agent.reserve().grow();
        answered(399);
        assert_eq!(agent.usage().flows, there + 1);
        let last = agent.flows().expect("flows").pop().expect("one");
        assert_eq!((last.key.fh_port, last.flow.conn.wscale_mh), (10_399, 7));
    });
}
