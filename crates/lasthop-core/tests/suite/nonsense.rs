// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Whatever comes in, the core keeps its contract (pool.rs looks after that),
//! data goes on, and memory comes back.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp, option};
use lasthop_core::{Agent, Limits, Setup};
use proptest::prelude::*;

/// Numbers close enough to each other that they matter.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        20 => (0u32..4_000).prop_map(|n| n.wrapping_sub(2_000)),
        1 => any::<u32>(),
    ]
}

fn options() -> impl Strategy<Value = Vec<u8>> {
    let blocks = proptest::collection::vec((number(), number()), 1..4);
    prop_oneof![
        3 => Just(Vec::new()),
        6 => blocks.prop_map(|b| option::sack(&b)),
        1 => Just([option::sack_ok(), option::mss(100), option::wscale(3)].concat()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

fn flags() -> impl Strategy<Value = u32> {
    prop_oneof![
        20 => Just(LH_ACK),
        2 => Just(LH_SYN),
        2 => Just(LH_SYN | LH_ACK),
        2 => Just(LH_FIN | LH_ACK),
        1 => 0u32..512,
    ]
}

prop_compose! {
    fn segment()(
        seq in number(),
        ack in number(),
        flags in flags(),
        window in prop_oneof![Just(0u16), Just(500), any::<u16>()],
        options in options(),
        len in prop_oneof![Just(0usize), Just(1), 0usize..300],
    ) -> Tcp {
        Tcp { seq, ack, flags, window, options, payload: vec![7; len], ..Tcp::default() }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Data(Tcp),
    Ack(Tcp),
    Bytes(Vec<u8>),
    Wait(u64),
    Alive(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => segment().prop_map(Step::Data),
        10 => segment().prop_map(Step::Ack),
        2 => proptest::collection::vec(any::<u8>(), 0..200).prop_map(Step::Bytes),
        5 => (0u64..2_000).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Alive),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_contract_is_kept(
        steps in proptest::collection::vec(step(), 1..200),
        slots in prop_oneof![Just(1_000u32), 1u32..10],
        chunks in prop_oneof![Just(1_000u32), 0u32..3],
    ) {
        let mut agent = Agent::new(Setup {
            limits: Limits {
                slots,
                chunks,
                ..Limits::default()
            },
            ..Setup::default()
        });
        let ends = Ends::v4(0);
        let mut now_ns = 1;
        for step in steps {
            match step {
                Step::Data(tcp) => {
                    prop_assert!(!agent.on_egress(&tcp.to_mh(&ends), now_ns).dropped);
                }
                Step::Ack(tcp) => {
                    let outcome = agent.on_ingress(&tcp.to_fh(&ends), now_ns);
                    let pure = tcp.payload.is_empty()
                        && tcp.flags & (LH_SYN | LH_FIN | LH_RST | LH_URG) == 0
                        && tcp.flags & LH_ACK != 0;
                    prop_assert!(pure || !outcome.dropped);
                }
                Step::Bytes(bytes) => {
                    prop_assert!(!agent.on_egress(&bytes, now_ns).dropped);
                    prop_assert!(!agent.on_ingress(&bytes, now_ns).dropped);
                }
                Step::Wait(ms) => {
                    now_ns += ms * 1_000_000;
                    agent.on_timer(now_ns);
                    let next = agent.next_deadline();
                    prop_assert!(next.is_none_or(|at| at > now_ns), "a timer that spins");
                }
                Step::Alive(alive) => agent.set_alive(alive),
            }
            agent.sweep(now_ns);
        }
        let keys: Vec<_> = agent.keys().copied().collect();
        for key in keys {
            agent.forget(&key, now_ns);
        }
        let pool = agent.host().pool();
        prop_assert_eq!((pool.slots_used(), pool.chunks_used()), (0, 0));
    }
}
