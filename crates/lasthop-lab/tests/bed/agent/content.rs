// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What arrives is what was sent, whatever the link does to it.

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::switch::Gro;
use lasthop_lab::data::topology::Family;
use lasthop_lab::data::way::{Opener, Way};

use super::{able, counter, fast_link, run};

/// One transfer through the agent. `gro`: BS sees super-packets whose checksums are unfinished.
fn transfer(loss: f64, bytes: u64, way: Way, family: Family, gro: Gro) {
    let mut link = fast_link(loss);
    link.gro = gro;
    let bed = TestBed::up(&link).expect("test bed");
    let mut agent = bed.start_agent("snoop", &[]).expect("agent");
    // BBR for what the agent can't help: the test is about content, not about patience.
    let cc = if way == Way::Up { "bbr" } else { "cubic" };
    let opener = if way == Way::Up {
        Opener::Mh
    } else {
        Opener::Fh
    };
    let spec = Transfer::new()
        .bytes(bytes)
        .direction(way)
        .family(family)
        .opener(opener)
        .cc(cc);
    run(&bed, spec);

    let air = bed.emulator_stats().expect("emulator").air;
    if way == Way::Down {
        let cached = counter(&mut agent, "cached_bytes");
        assert!(
            cached * 100 >= bytes * 98,
            "only {cached} of {bytes} bytes were cached"
        );
        if air.a_to_b.data_lost > 20 {
            assert!(counter(&mut agent, "local_retransmits") > 0, "no repair");
        }
    }
    assert_eq!(counter(&mut agent, "retransmit_errors"), 0);
    assert_eq!(counter(&mut agent, "bypass_malformed"), 0);
    agent.stop().expect("agent stops");
}

macro_rules! content {
    ($($name:ident: $loss:expr, $mb:expr, $way:ident, $family:ident, $gro:ident;)*) => {$(
        #[test]
        fn $name() {
            if able() {
                transfer($loss, $mb * 1_000_000, Way::$way, Family::$family, Gro::$gro);
            }
        }
    )*};
}

content! {
    down_v4_without_loss: 0.0, 20, Down, V4, Off;
    down_v4_without_loss_gro: 0.0, 8, Down, V4, On;
    down_v6_without_loss_gro: 0.0, 8, Down, V6, On;
    down_v4_1_percent: 0.01, 20, Down, V4, Off;
    down_v4_1_percent_gro: 0.01, 20, Down, V4, On;
    down_v6_1_percent: 0.01, 20, Down, V6, Off;
    down_v6_1_percent_gro: 0.01, 20, Down, V6, On;
    down_v4_5_percent: 0.05, 5, Down, V4, Off;
    down_v4_5_percent_gro: 0.05, 5, Down, V4, On;
    down_v6_5_percent_gro: 0.05, 5, Down, V6, On;
    down_v4_20_percent: 0.2, 1, Down, V4, Off;
    down_v4_20_percent_gro: 0.2, 1, Down, V4, On;
    down_v6_20_percent: 0.2, 1, Down, V6, Off;
    up_v4_without_loss: 0.0, 20, Up, V4, Off;
    up_v6_1_percent_gro: 0.01, 20, Up, V6, On;
    up_v4_5_percent: 0.05, 5, Up, V4, Off;
    up_v4_20_percent_gro: 0.2, 1, Up, V4, On;
}

/// The whole matrix, and five times the bytes: `make test-long`.
#[test]
#[ignore = "long: several minutes"]
fn every_combination_and_longer() {
    if !able() {
        return;
    }
    for (loss, mb) in [(0.0, 100), (0.01, 100), (0.05, 25), (0.2, 5)] {
        for way in [Way::Down, Way::Up] {
            for family in [Family::V4, Family::V6] {
                for gro in [Gro::Off, Gro::On] {
                    transfer(loss, mb * 1_000_000, way, family, gro);
                }
            }
        }
    }
}
