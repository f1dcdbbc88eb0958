// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the maps take of the kernel's memory, by its own account.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use lasthop::programs::{Program, Setup, SkbContext};
use lasthop_core::bindings::{LH_SLOT_BYTES, lh_flow_entry};
use libbpf_rs::{MapHandle, MapType};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::{areas, held, in_namespace, in_namespace_alone, load, sends, setup};

/// Bytes of each map that this process has, by its number: of areas, too, of which it has no descriptors, but
/// which maps of theirs name.
fn maps() -> HashMap<u64, u64> {
    let of_maps = [MapType::ArrayOfMaps, MapType::HashOfMaps];
    let of_maps = held("map_id:", "map_type:")
        .into_iter()
        .filter(|(_, kind)| of_maps.iter().any(|of| *of as u64 == *kind));
    let areas: Vec<_> = of_maps
        .filter_map(|(id, _)| MapHandle::from_map_id(id as u32).ok())
        .flat_map(|map| areas(&map))
        .collect();
    let bytes = held("map_id:", "memlock:");
    drop(areas);
    bytes
}

fn about(taken: u64, reckoned: u64) {
    let off = taken as f64 / reckoned as f64;
    assert!(
        (0.97..1.04).contains(&off),
        "{taken} bytes, reckoned {reckoned}"
    );
}

/// The limit on memory is kept by reckoning: before anything is taken.
#[test]
fn memory_is_as_reckoned() {
    in_namespace_alone(|| {
        for (max_flows, cache_total_bytes) in [(64, 1 << 20), (64, 16 << 20), (4_096, 4 << 20)] {
            let before = maps();
            let taken = || -> u64 {
                let after = maps();
                let new = after.iter().filter(|(id, _)| !before.contains_key(id));
                new.map(|(_, bytes)| bytes).sum()
            };
            let agent = load(&Setup {
                max_flows,
                cache_total_bytes,
                ..setup()
            });
            about(taken(), agent.taken_bytes());
            agent.fill().expect("memory");
            assert_eq!(agent.taken_bytes(), agent.memory_bytes());
            about(taken(), agent.memory_bytes());
        }
    });
}

/// The pool begins small, and grows by as much as is asked for, up to its limit.
#[test]
fn the_cache_grows_with_need() {
    in_namespace(|| {
        let limit = 16 << 20;
        let agent = load(&Setup {
            cache_total_bytes: limit,
            cache_flow_bytes: limit,
            ..setup()
        });
        let most = agent.memory_bytes();
        let first = agent.taken_bytes();
        assert!(most - first > limit * 3 / 4, "{first} of {most}");
        agent.reserve().grow();
        assert_eq!(agent.taken_bytes(), first, "nothing is in use");
        let slots = limit / u64::from(LH_SLOT_BYTES);
        let mut steps = vec![first];
        for of in 1..40 {
            sends(&agent, of, 400);
            agent.reserve().grow();
            let taken = agent.taken_bytes();
            if taken != *steps.last().expect("the first") {
                steps.push(taken);
            }
        }
        assert!((4..8).contains(&steps.len()), "doubles: {steps:?}");
        assert_eq!(*steps.last().expect("the last"), most);
        assert!(agent.usage().slots > slots * 3 / 4);
        assert!(agent.usage().slots <= slots);
        assert_eq!(agent.sweep(true).expect("sweep"), 39);
        assert_eq!((agent.usage().slots, agent.usage().chunks), (0, 0));
    });
}

/// Does it while this process gets no more descriptors, and so no more maps.
fn without_memory(work: impl FnOnce()) {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("limit");
    let set = |soft| setrlimit(Resource::RLIMIT_NOFILE, soft, hard).expect("limit");
    set(0);
    work();
    set(soft);
}

/// What there was no memory for is asked for again, a minute later, with what there was from the beginning
/// until it is there.
#[test]
fn a_pool_that_found_no_memory_asks_again() {
    in_namespace_alone(|| {
        let limit = 16 << 20;
        let agent = load(&Setup {
            cache_total_bytes: limit,
            cache_flow_bytes: limit,
            ..setup()
        });
        let (first, begin) = (agent.taken_bytes(), Instant::now());
        let after = |seconds| {
            agent
                .reserve()
                .give_back(begin + Duration::from_secs(seconds));
            agent.taken_bytes() - first
        };
        sends(&agent, 1, 400);
        sends(&agent, 2, 400);
        without_memory(|| agent.reserve().grow());
        agent.reserve().grow();
        assert_eq!((after(0), after(59)), (0, 0));
        without_memory(|| assert_eq!(after(60), 0));
        assert_eq!((after(61), after(120)), (0, 0));
        let more = after(121);
        assert!(more > 0);
        sends(&agent, 3, 400);
        sends(&agent, 4, 400);
        agent.reserve().grow();
        assert!(agent.taken_bytes() - first > more, "as ever");
    });
}

/// The table does, too; what asks for a place while none is there goes without.
#[test]
fn the_table_grows_with_need() {
    in_namespace(|| {
        let agent = load(&Setup {
            max_flows: 2_000,
            ..setup()
        });
        let mut steps = vec![agent.taken_bytes()];
        let mut known = Vec::new();
        for of in 1..=2_100 {
            sends(&agent, of, 0);
            if of % 50 == 0 {
                agent.reserve().grow();
            }
            let taken = agent.taken_bytes();
            if taken != *steps.last().expect("the first") {
                steps.push(taken);
                known.push(agent.usage().flows);
            }
        }
        assert!(
            (3..6).contains(&known.len()) && known[0] < 500,
            "doubles: {known:?}"
        );
        assert!(steps[0] < steps.last().expect("the last") / 2, "{steps:?}");
        assert_eq!(agent.usage().flows, 2_000);
        assert!(agent.counter("bypass_table_full").expect("it") >= 100);
        let mut seen = Vec::new();
        let look = |index, flow: &lh_flow_entry| {
            seen.push((index, flow.key.mh_port));
            Ok(())
        };
        agent.each_flow(look).expect("flows");
        assert_eq!(seen.len(), 2_000);
        assert!(seen.is_sorted_by(|a, b| a.0 < b.0));
        let ports: HashSet<u16> = seen.iter().map(|(_, port)| *port).collect();
        assert_eq!(ports.len(), 2_000, "each once");
        assert_eq!(agent.sweep(true).expect("sweep"), 2_000);
        assert_eq!(agent.flows().expect("flows").len(), 0);
    });
}

/// Programs that run low say so, once.
#[test]
fn the_programs_ask_for_more() {
    in_namespace(|| {
        let agent = load(&Setup {
            cache_total_bytes: 16 << 20,
            ..setup()
        });
        let asked = std::cell::Cell::new(0);
        let events = agent.events().expect("events");
        let mut ring = libbpf_rs::RingBufferBuilder::new();
        let count = |raw: &[u8]| {
            asked.set(asked.get() + u32::from(raw[..4] == [0xff; 4]));
            0
        };
        ring.add(&events, count).expect("ring");
        let ring = ring.build().expect("ring");
        let told = |expected| {
            ring.consume().expect("consume");
            assert_eq!(asked.replace(0), expected);
        };
        sends(&agent, 1, 200);
        told(0);
        sends(&agent, 2, 300);
        told(1);
        let context = SkbContext::default();
        assert_eq!(
            agent
                .run(Program::Sweep, &[0; 64], &context, 1)
                .expect("run")
                .retval,
            0
        );
        told(0);
        agent.reserve().grow();
        sends(&agent, 3, 400);
        told(1);
    });
}
