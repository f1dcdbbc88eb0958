// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Pools that give back what they have not needed for long, while packets pass: no number of theirs gets lost
//! or doubled.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lasthop::programs::{Agent, Program, Setup};
use libbpf_rs::MapCore;
use nix::sched::sched_getaffinity;
use nix::unistd::Pid;

use super::{in_namespace_alone, load, map, only_on, run, sends, setup, skip, two_cpus};

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let words = bytes.chunks_exact(4);
    words.map(|word| u32::from_ne_bytes(word.try_into().expect("four")))
}

/// What is free on a stack, which is left empty.
fn popped(name: &str) -> Vec<u32> {
    let stack = map(name);
    let batch = || stack.lookup_and_delete(&[]).expect("a stack");
    let mut all: Vec<u32> = std::iter::from_fn(batch)
        .flat_map(|batch| numbers(&batch).collect::<Vec<_>>())
        .collect();
    all.sort_unstable();
    all
}

/// Gives back second by second until nothing changes for `still` seconds. `meanwhile`: what passes in one.
fn gives_back(agent: &Agent, from: Instant, still: u64, meanwhile: impl Fn()) -> Instant {
    let second = Duration::from_secs(1);
    let (mut now, mut changed, mut passed) = (from, from, from);
    let mut taken = agent.taken_bytes();
    while now < changed + Duration::from_secs(still) {
        let next = agent.reserve().give_back(now);
        assert!(next > now && next <= now + second);
        if next >= passed + second {
            meanwhile();
            passed = next;
        }
        now = next;
        if agent.taken_bytes() != taken {
            (taken, changed) = (agent.taken_bytes(), now);
        }
    }
    now
}

/// `of` connections with so many segments each.
fn fills(agent: &Agent, of: std::ops::Range<u16>, segments: u32) {
    for n in of {
        sends(agent, n, segments);
        if n % 10 == 0 {
            agent.reserve().grow();
        }
    }
}

/// Says so when it goes, whatever the reason.
struct Sets<'a>(&'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// All that there is of each pool is free, once.
fn check(agent: &Agent, there: [u32; 3]) {
    let usage = agent.usage();
    assert_eq!((usage.slots, usage.chunks, usage.flows), (0, 0, 0));
    let mut slots = popped("free_slots");
    slots.extend(agent.slots_at_hand().expect("counters"));
    slots.sort_unstable();
    let all = [slots, popped("free_chunks"), popped("free_flows")];
    for (found, there) in all.into_iter().zip(there) {
        assert_eq!(found.len(), there as usize);
        assert!(found.into_iter().eq(0..there));
    }
}

fn table() -> Setup {
    Setup {
        max_flows: 1_000,
        cache_total_bytes: 16 << 20,
        ..setup()
    }
}

/// 16 MiB, 1,000 flows, and a chunk for each of them and each 64 slots: whole areas.
const MOST: [u32; 3] = [8_192, 1_152, 1_000];

#[test]
fn what_is_not_needed_is_given_back_while_packets_pass() {
    in_namespace_alone(|| {
        let agent = load(&table());
        let first = agent.taken_bytes();
        let start = Instant::now();
        let [over, pause, rests] = [(); 3].map(|()| AtomicBool::new(false));
        let sent = AtomicU64::new(0);
        let some_are_sent = || {
            // What this CPU has at hand it puts aside with a packet.
            run(&agent, Program::Egress, &[0; 64], 5);
            let before = sent.load(Ordering::Relaxed);
            pause.store(false, Ordering::Relaxed);
            while sent.load(Ordering::Relaxed) < before + 7 {
                assert!(!over.load(Ordering::Relaxed), "nobody sends");
                std::thread::sleep(Duration::from_micros(100));
            }
        };
        // Connections come and go: what was the last one's is the next one's at once, but for moments.
        let turns = Cell::new(0);
        let some_come_and_go = || {
            some_are_sent();
            turns.set(turns.get() + 1);
            if turns.get() % 3 != 0 {
                return;
            }
            pause.store(true, Ordering::Relaxed);
            while !rests.load(Ordering::Relaxed) {
                assert!(!over.load(Ordering::Relaxed), "nobody sends");
                std::thread::sleep(Duration::from_micros(100));
            }
            agent.sweep(true).expect("sweep");
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _over = Sets(&over);
                let mut n: u16 = 0;
                while !over.load(Ordering::Relaxed) {
                    let paused = pause.load(Ordering::Relaxed);
                    rests.store(paused, Ordering::Relaxed);
                    if paused {
                        std::thread::sleep(Duration::from_micros(100));
                        continue;
                    }
                    sends(&agent, 10_000 + n % 20, 3);
                    n = n.wrapping_add(1);
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
            let _over = Sets(&over);
            let mut now = start;
            for _ in 0..2 {
                fills(&agent, 0..950, 12);
                let most = agent.taken_bytes();
                assert!(most > agent.memory_bytes() / 10 * 9, "{most}");
                agent.sweep(true).expect("sweep");
                now = gives_back(&agent, now, 25, || ());
                assert_eq!(agent.taken_bytes(), most, "not at once");
                now = gives_back(&agent, now, 200, some_come_and_go);
                pause.store(false, Ordering::Relaxed);
                let less = agent.taken_bytes();
                assert!(
                    less < first + (3 << 20),
                    "{first} {less} {:?}",
                    agent.usage()
                );
            }
            // Wanted again in the midst of it.
            for n in 0..4 {
                fills(&agent, 0..950, 12);
                agent.sweep(true).expect("sweep");
                for _ in 0..(32 + 3 * n) {
                    now = agent.reserve().give_back(now);
                }
            }
        });
        agent.reserve().keep_all();
        agent.sweep(true).expect("sweep");
        agent.fill().expect("memory");
        check(&agent, MOST);
    });
}

/// An area with a connection that stays is kept, and what is below it; the connection goes on.
#[test]
fn what_is_in_use_stays() {
    in_namespace_alone(|| {
        let agent = load(&table());
        let first = agent.taken_bytes();
        fills(&agent, 0..950, 0);
        let most = agent.taken_bytes();
        let mut flows = agent.flows().expect("flows");
        flows.sort_by_key(|flow| flow.index);
        let middle = flows[800];
        // All but that one are forgotten.
        let others = flows.iter().filter(|flow| flow.index != middle.index);
        for flow in others {
            agent.forget(flow.index).expect("sweep");
        }
        assert_eq!(agent.usage().flows, 1);
        gives_back(&agent, Instant::now(), 70, || ());
        let now = agent.taken_bytes();
        assert!(first < now && now < most, "{first} {now} {most}");
        let kept = agent.flow(middle.index).expect("flow").expect("it");
        assert_eq!((kept.key, kept.generation), (middle.key, middle.generation));
        agent.sweep(true).expect("sweep");
        agent.reserve().keep_all();
        agent.fill().expect("memory");
        check(&agent, MOST);
    });
}

/// A hash that remembers SYNs goes as it came.
#[test]
fn what_a_flood_took_is_given_back() {
    in_namespace_alone(|| {
        let agent = load(&table());
        let first = agent.taken_bytes();
        agent.fill().expect("memory");
        assert_eq!(agent.taken_bytes(), agent.memory_bytes());
        gives_back(&agent, Instant::now(), 70, || ());
        assert_eq!(agent.taken_bytes(), first);
        agent.fill().expect("memory");
        check(&agent, MOST);
    });
}

/// No packet comes by there again, to put aside what that CPU has at hand.
#[test]
fn what_a_cpu_at_rest_has_at_hand_is_fetched() {
    in_namespace_alone(|| {
        let Some([here, there]) = two_cpus() else {
            return skip("test of a CPU at rest: needs two");
        };
        let agent = load(&table());
        let first = agent.taken_bytes();
        only_on(there);
        fills(&agent, 0..950, 12);
        agent.sweep(true).expect("sweep");
        assert!(!agent.slots_at_hand().expect("counters").is_empty());
        let home = only_on(here);
        gives_back(&agent, Instant::now(), 70, || ());
        assert_eq!(agent.taken_bytes(), first);
        assert_eq!(sched_getaffinity(Pid::from_raw(0)), Ok(home), "home again");
        agent.fill().expect("memory");
        check(&agent, MOST);
    });
}
