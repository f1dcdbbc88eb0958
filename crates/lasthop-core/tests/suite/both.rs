// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Properties of schemes with an agent at either end of the hop, of the same scheme or not: whatever the
//! link does, messages and reports come to, and the agents forget, they keep their promises (both_sim.rs).

use lasthop_core::Config;
use lasthop_core::bindings::*;
use proptest::prelude::*;

use crate::both_sim::{Both, Plan};
use crate::sim::Path;

fn path(delay: u64, jitter: u64, loss: u32, dup: u32) -> impl Strategy<Value = Path> {
    let jitter = prop_oneof![1 => Just(0), 1 => 0..=jitter];
    (1..=delay, jitter, 0..=loss, 0..=dup).prop_map(|(delay_ms, jitter_ms, loss, dup)| Path {
        delay_ms,
        jitter_ms,
        loss,
        dup,
    })
}

/// Schemes of both ends, mostly the same.
fn configs() -> impl Strategy<Value = [Config; 2]> {
    let config = (
        0usize..5,
        any::<(bool, bool, bool, bool)>(),
        2u32..11,
        (1u32..4, 0u32..3, 1u32..160, 1u32..6),
    )
        .prop_map(
            |(scheme, (brake, guard, order, probe), max_local, (asks, mask, buffer, catch_up))| {
                Config {
                    brake: u32::from(brake),
                    queue_guard: u32::from(guard),
                    order_rule: u32::from(order),
                    probe: u32::from(probe),
                    tail_probe: u32::from(probe),
                    max_local,
                    asks,
                    sack_mask: mask,
                    reorder_buffer: buffer,
                    catch_up,
                    partner: LH_PARTNER_ON,
                    ..[
                        Config::snack(),
                        Config::dproxy(),
                        Config {
                            scheme: LH_SCHEME_csnoop,
                            ..Config::snack()
                        },
                        Config::default(),
                        Config {
                            scheme: LH_SCHEME_sack,
                            ..Config::snack()
                        },
                    ][scheme]
                }
            },
        );
    (config.clone(), config, 0u32..4).prop_map(|(one, other, same)| {
        let other = if same > 0 { one } else { other };
        [
            Config {
                role: LH_ROLE_BASE,
                ..one
            },
            Config {
                role: LH_ROLE_MOBILE,
                ..other
            },
        ]
    })
}

prop_compose! {
    fn plans()(
        (seed, base, configs) in (any::<u64>(), any::<u32>(), configs()),
        (segments, max_segment, window_segments) in (1usize..100, 1usize..200, 1usize..40),
        (down, sack, delay_acks, timestamps, resegment) in any::<(bool, bool, bool, bool, bool)>(),
        (wire, data, acks) in (path(100, 30, 50, 40), path(40, 20, 350, 60), path(40, 20, 350, 60)),
        (tx_us, untold) in (0u64..8_000, prop_oneof![1 => Just(0u32), 1 => 0u32..500]),
        chances in any::<(bool, bool, bool, bool, bool, bool)>(),
        (forget, dying, parting, lies, link) in (0u32..30, 0u32..20, 0u32..50, 0u32..200, 0u32..30),
        outage in (0u64..2_000, 0u64..3_000),
        slots in prop_oneof![3 => Just(4_096u32), 1 => 1u32..30],
        mac in any::<bool>(),
    ) -> Plan {
        let on = |on: bool, chance: u32| if on { chance } else { 0 };
        let (a, b, c, d, e, f) = chances;
        Plan {
            seed, base, segments, max_segment, window_segments, down, sack, delay_acks, timestamps,
            resegment, wire, data, acks, tx_us, untold, slots, mac, configs,
            forget: on(a, forget), dying: on(b, dying), parting: on(c, parting), lies: on(d, lies),
            link: on(e, link), outage: if f { outage } else { (0, 0) },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_ends_keep_the_invariants(plan in plans()) {
        Both::new(plan).run();
    }
}
