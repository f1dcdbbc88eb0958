// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Hops that carry no more although nothing queues, with the kernel's TCP.

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::variation::Variation;

use super::{able, counter, run};

/// 10 of 100 Mbit/s are let pass. Hidden from four CUBIC flows, what a policer drops was a half of all.
#[test]
fn a_policer_drops_little() {
    if !able() {
        return;
    }
    let police = "10mbit,50ms".parse().expect("policer");
    let link = LinkOptions {
        rate_bps: 100_000_000,
        rtt_ns: 50_000_000,
        loss: 0.0,
        variation: Variation {
            police: Some(police),
            ..Variation::default()
        },
        ..LinkOptions::default()
    };
    let bed = TestBed::up(&link).expect("test bed");
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let transfer = || run(&bed, Transfer::new().flows(4).bytes(4_000_000).cc("cubic"));
    let air = || bed.emulator_stats().expect("emulator").air.a_to_b;
    // How soon it is found is chance: six spans in a row have to lose enough, and a trial hardly anything.
    let mut found = 0;
    for _ in 0..3 {
        transfer();
        found = counter(&mut agent, "limits_found");
        if found > 0 {
            break;
        }
    }
    let before = air();
    transfer();
    let after = air();
    agent.stop().expect("stop");
    let dropped = after.data_queue_dropped - before.data_queue_dropped;
    let received = after.data_received - before.data_received;
    bound!(
        found > 0 && dropped < received / 4,
        "{dropped} of {received} segments were dropped, limits_found {found}"
    );
}
