// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Programs that follow others on the same maps: connections go on, with what is new.

use std::time::{Duration, Instant};

use lasthop::programs::{Agent, Outcome, Program, Setup, SkbContext, Successor};
use lasthop::tcx::{self, Hook};
use lasthop::units;
use lasthop_core::Config;
use lasthop_core::bindings::{LH_ACK, LH_RULE_EXCLUDE, LH_SYN, lh_rule};
use lasthop_core::packet::{Ends, Tcp, option};

use super::dproxy::Down;
use super::{DROP, NEXT, in_namespace, load, run, setup};

const MSEC: u64 = 1_000_000;
const SIZE: u32 = 1_000;

fn follow(agent: &mut Agent, setup: &Setup) {
    let maps = agent.maps().expect("maps");
    let next = Successor::load(&maps, agent.setup(), setup).expect("load");
    agent.succeed(next).expect("succeed");
    agent.release_unwanted(|| ()).expect("sweep");
}

fn with(config: Config) -> Setup {
    Setup { config, ..setup() }
}

fn tcp(seq: u32, ack: u32) -> Tcp {
    Tcp {
        seq,
        ack,
        window: 60_000,
        flags: LH_ACK,
        ethernet: true,
        ..Tcp::default()
    }
}

/// A connection of `ends` with five segments under way.
fn opened(agent: &Agent, ends: &Ends) {
    let options = [option::mss(1_460), option::wscale(7), option::sack_ok()].concat();
    let syn = |ack: u32, flags| Tcp {
        flags,
        options: options.clone(),
        ..tcp(0, ack)
    };
    run(
        agent,
        Program::Egress,
        &syn(0, LH_SYN).to_mh(ends),
        100 * MSEC,
    );
    let answer = syn(1, LH_SYN | LH_ACK).to_fh(ends);
    run(agent, Program::Ingress, &answer, 110 * MSEC);
    run(agent, Program::Egress, &tcp(1, 1).to_mh(ends), 120 * MSEC);
    for n in 0..5 {
        sends(agent, ends, n, 130);
    }
}

fn sends(agent: &Agent, ends: &Ends, n: u32, ms: u64) -> Outcome {
    let data = Tcp {
        payload: vec![n as u8; SIZE as usize],
        ..tcp(1 + n * SIZE, 1)
    };
    run(agent, Program::Egress, &data.to_mh(ends), ms * MSEC)
}

/// MH has the first `ack` segments, and those of `block`.
fn answers(agent: &Agent, ends: &Ends, ack: u32, block: Option<(u32, u32)>, ms: u64) -> Outcome {
    let at = |n: u32| 1 + n * SIZE;
    let block = block.map(|(left, right)| option::sack(&[(at(left), at(right))]));
    let ack = Tcp {
        options: block.unwrap_or_default(),
        ..tcp(1, at(ack))
    };
    run(agent, Program::Ingress, &ack.to_fh(ends), ms * MSEC)
}

/// With another scheme and other parameters a connection has its cache, its numbers and its counts, and
/// is repaired.
#[test]
fn connections_go_on_with_another_scheme() {
    in_namespace(|| {
        for (from, to) in [
            (Config::snoop(), Config::default()),
            (Config::default(), Config::snoop()),
            (Config::default(), Config::sack()),
            (Config::slack(), Config::dproxy()),
        ] {
            let mut agent = load(&with(from));
            opened(&agent, &Ends::v4(1));
            let before = agent.usage();
            let cached = agent.counter("cached_segments").unwrap();
            let was = agent.flow(0).unwrap().unwrap();
            assert_eq!((before.flows, before.slots), (1, 5));
            follow(&mut agent, &with(to));
            assert_eq!(agent.setup().config.scheme, to.scheme);
            assert_eq!(agent.usage(), before);
            let is = agent.flow(0).unwrap().unwrap();
            assert_eq!(
                (was.generation, was.created_ns),
                (is.generation, is.created_ns)
            );
            assert_eq!((was.flow.flags, was.flow.max), (is.flow.flags, is.flow.max));
            // Data that follow are cached, and what MH has goes.
            sends(&agent, &Ends::v4(1), 5, 140);
            assert_eq!(answers(&agent, &Ends::v4(1), 2, None, 150).retval, NEXT);
            assert_eq!(agent.usage().slots, 4);
            assert_eq!(agent.counter("cached_segments").unwrap(), cached + 1);
            assert_eq!(agent.counter("bypass_unacceptable").unwrap(), 0);
            answers(&agent, &Ends::v4(1), 2, Some((3, 6)), 160);
            let repairs = agent.counter("local_retransmits").unwrap();
            assert!(repairs <= 1);
            if to.scheme == Config::snoop().scheme || to.scheme == Config::sack().scheme {
                assert_eq!(repairs, 1);
            }
            assert_eq!(agent.sweep(true).unwrap(), 1);
            assert_eq!((agent.usage().slots, agent.usage().chunks), (0, 0));
        }
    });
}

/// What is excluded by now is left alone, and an ACK that was kept of it goes on; others stay.
#[test]
fn new_rules_are_for_connections_that_there_are() {
    in_namespace(|| {
        let mut agent = load(&with(Config::snoop()));
        let (ours, other) = (Ends::v4(1), Ends::v4(2));
        opened(&agent, &ours);
        opened(&agent, &other);
        // A hole: repaired, and the duplicate is kept.
        assert_eq!(answers(&agent, &other, 1, None, 150).retval, NEXT);
        let kept = answers(&agent, &other, 1, Some((2, 5)), 160);
        assert_ne!(kept.retval, NEXT, "kept, and turned around");
        assert_eq!(agent.counter("suppressed_acks").unwrap(), 1);
        let (_, key) = lasthop_core::parse(&tcp(1, 1).to_mh(&other), 14, None, true).unwrap();
        let rule = lh_rule {
            addr: key.mh,
            family: 4,
            prefix_bits: 32,
            port: key.mh_port,
            action: LH_RULE_EXCLUDE,
        };
        follow(
            &mut agent,
            &Setup {
                rules: vec![rule],
                ..with(Config::snoop())
            },
        );
        assert_eq!(agent.usage().flows, 1);
        assert_eq!(agent.counter("released_acks").unwrap(), 1);
        assert_eq!(sends(&agent, &other, 5, 170).retval, NEXT);
        assert_eq!(agent.counter("bypass_filtered").unwrap(), 1);
        let left = agent.flows().unwrap()[0].key;
        assert_ne!(left, key);
        // And back: it is taken up in mid-stream.
        follow(&mut agent, &with(Config::snoop()));
        sends(&agent, &other, 6, 180);
        assert_eq!(agent.usage().flows, 2);
    });
}

/// What waits for its turn goes on before a scheme follows that knows of no turns.
#[test]
fn what_waits_goes_on_first() {
    in_namespace(|| {
        for v6 in [false, true] {
            let mut down = Down::new(v6, true);
            assert_eq!(down.comes(0), NEXT);
            for n in 2..40 {
                assert_eq!(down.comes(n + n / 7), DROP);
            }
            let config = Config::default();
            let next = Setup {
                config: Config {
                    role: down.agent.setup().config.role,
                    ..config
                },
                port: down.agent.setup().port as u16,
                ..setup()
            };
            let alive_ns = down.agent.last_heartbeat_ns();
            follow(&mut down.agent, &next);
            down.counts(&[("waited", 38), ("sequenced", 38)]);
            assert_eq!(down.agent.last_heartbeat_ns(), alive_ns);
            down.at_rest();
            assert_eq!(down.comes(60), NEXT);
        }
    });
}

/// What the maps are made for can't change with them.
#[test]
fn other_sizes_are_refused() {
    in_namespace(|| {
        let agent = load(&setup());
        let maps = agent.maps().unwrap();
        for (next, what) in [
            (
                Setup {
                    max_flows: 65,
                    ..setup()
                },
                "max_flows",
            ),
            (
                Setup {
                    cache_total_bytes: 16 << 20,
                    ..setup()
                },
                "cache_total",
            ),
            (
                Setup {
                    mark: (1, 1),
                    ..setup()
                },
                "mark",
            ),
        ] {
            let error = Successor::load(&maps, agent.setup(), &next).err().unwrap();
            let error = error.to_string();
            assert!(error.starts_with(what) && !error.contains('\n'), "{error}");
        }
    });
}

/// What a connection's timer called when it began is nobody's any more, however long the connection stays.
#[test]
fn programs_that_were_followed_go() {
    in_namespace(|| {
        let mut agent = load(&setup());
        agent.attach().expect("attach");
        let ids = || tcx::programs_on(1, Hook::Egress).expect("programs");
        let first = ids();
        opened(&agent, &Ends::v4(1));
        opened(&agent, &Ends::v6(2));
        follow(&mut agent, &with(Config::default()));
        assert_ne!(ids(), first);
        assert_eq!(agent.usage().flows, 2);
        let until = Instant::now() + Duration::from_secs(10);
        while tcx::program_name(first[0]).is_ok() {
            assert!(Instant::now() < until, "program {} is kept", first[0]);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
}

/// Of two agents on a device, with the same mark, each takes it off what it released itself.
#[test]
fn of_several_agents_each_knows_what_it_released() {
    in_namespace(|| {
        let with = |exclude: bool, shared: bool| {
            let rule = units::rule("198.51.100.0/24", exclude).expect("rule");
            let agent = load(&Setup {
                rules: vec![rule],
                shared,
                ..setup()
            });
            let context = SkbContext {
                mark: 0x4000_0005,
                ..SkbContext::default()
            };
            let ack = Tcp {
                ack: 1,
                ethernet: true,
                ..Tcp::default()
            }
            .to_fh(&Ends::v4(1));
            let out = agent.run(Program::Ingress, &ack, &context, 1);
            let out = out.expect("run");
            (out.retval, out.context.mark)
        };
        assert_eq!(with(false, true), (NEXT, 5), "its own");
        assert_eq!(with(true, true), (NEXT, 0x4000_0005), "the other one's");
        assert_eq!(with(true, false), (NEXT, 5), "alone");
    });
}
