// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Properties: whatever the link does, the invariants of docs/design.md, section 4, hold
//! (watch.rs), and the transfer completes with the right content.

use lasthop_core::bindings::*;
use lasthop_core::{Config, MSEC_NS};
use proptest::prelude::*;

use crate::rig::classic;
use crate::sim::{Foreign, Params, Path, Sim};

fn path(delay: u64, jitter: u64, loss: u32, dup: u32) -> impl Strategy<Value = Path> {
    (1..=delay, 0..=jitter, 0..=loss, 0..=dup).prop_map(|(delay_ms, jitter_ms, loss, dup)| Path {
        delay_ms,
        jitter_ms,
        loss,
        dup,
    })
}

pub fn config() -> impl Strategy<Value = Config> {
    (
        any::<bool>(),
        1u32..4,
        any::<bool>(),
        1u32..11,
        any::<(bool, bool)>(),
    )
        .prop_map(
            |(ns2, dup_thresh, after_dup, max_local, (strict, guard))| Config {
                dup_thresh,
                max_local,
                timer_arm: if after_dup {
                    LH_TIMER_AFTER_DUP
                } else {
                    LH_TIMER_ALWAYS
                },
                strict_window: u32::from(strict),
                queue_guard: u32::from(guard),
                ..if ns2 { Config::ns2() } else { Config::snoop() }
            },
        )
}

/// Scheme rack with everything that may be set.
pub fn rack() -> impl Strategy<Value = Config> {
    let suppress = prop_oneof![
        3 => Just(LH_SUPPRESS_AUTO),
        1 => Just(LH_SUPPRESS_ON),
        1 => Just(LH_SUPPRESS_OFF),
    ];
    (
        suppress,
        prop_oneof![
            3 => Just(LH_CLOCK_AUTO),
            3 => Just(LH_CLOCK_ALWAYS),
            1 => Just(LH_CLOCK_OFF),
        ],
        1u64..12,
        3u32..11,
        any::<bool>(),
    )
        .prop_map(|(suppress, clock, target_ms, max_local, strict)| Config {
            suppress,
            clock,
            max_local,
            target_ns: target_ms * MSEC_NS,
            strict_window: u32::from(strict),
            ..Config::default()
        })
}

/// Scheme slack on top of what the classic rules leave open.
pub fn slack() -> impl Strategy<Value = Config> {
    (config(), any::<bool>(), 0u32..4, 1u32..4, 20u64..400).prop_map(
        |(classic, freeze, handoff, slack_bursts, rto_min_ms)| Config {
            scheme: LH_SCHEME_slack,
            freeze: u32::from(freeze),
            handoff,
            slack_bursts,
            rto_min_ns: rto_min_ms * MSEC_NS,
            ..classic
        },
    )
}

/// Scheme sack on top of the same.
pub fn sack() -> impl Strategy<Value = Config> {
    (config(), any::<(bool, bool)>()).prop_map(|(classic, (mask, brake))| Config {
        scheme: LH_SCHEME_sack,
        sack_mask: u32::from(mask),
        brake: u32::from(brake),
        ..classic
    })
}

/// Initial numbers: anywhere, but often where something wraps.
fn base() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        (0u32..20_000).prop_map(|n| u32::MAX - n),
        (0u32..20_000).prop_map(|n| i32::MAX as u32 - n),
    ]
}

fn foreign() -> impl Strategy<Value = Foreign> {
    prop_oneof![
        8 => Just(Foreign::Nothing),
        1 => Just(Foreign::Mptcp),
        1 => Just(Foreign::Auth),
    ]
}

prop_compose! {
    pub fn params(config: BoxedStrategy<Config>)(
        (seed, base, config) in (any::<u64>(), base(), config),
        (segments, max_segment, window_segments) in (1usize..100, 1usize..200, 1usize..40),
        (sack, delay_acks, handshake, resegment) in any::<(bool, bool, bool, bool)>(),
        wired in path(150, 30, 80, 40),
        down in path(40, 20, 350, 60),
        up in path(40, 20, 350, 60),
        tx_us in 0u64..8_000,
        (upload, ecn, window) in (0u32..100, 0u32..60, 0u32..200),
        (close, timestamps, ect, foreign) in (
            prop_oneof![2 => Just(0u32), 1 => 0u32..60], any::<bool>(), any::<bool>(), foreign(),
        ),
        slots in prop_oneof![3 => Just(4_096u32), 1 => 1u32..30],
    ) -> Params {
        Params {
            seed, base, segments, max_segment, window_segments, sack, delay_acks, handshake,
            resegment, wired, down, up, tx_us, upload, ecn, window, slots, config,
            close, timestamps, ect, foreign,
            alternate: false,
            forget: 0,
            dying: 0,
            blind: 0,
            noise: false,
        }
    }
}

/// The same, where the hop loses so many of a thousand packets, both ways.
fn losing(params: Params, loss: u32) -> Params {
    let hop = |p: Path| Path { loss, ..p };
    Params {
        down: hop(params.down),
        up: hop(params.up),
        ..params
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn invariants_over_any_link(params in params(config().boxed())) {
        Sim::new(params).run();
    }

    /// State is soft, and user space may die: that costs speed only.
    #[test]
    fn invariants_when_state_gets_lost(
        params in params(config().boxed()),
        forget in 0u32..50,
        dying in 0u32..20,
    ) {
        Sim::new(Params { forget, dying, ..params }).run();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]

    fn rack_keeps_the_invariants_over_any_link(params in params(rack().boxed())) {
        Sim::new(params).run();
    }

    #[test]

    fn rack_keeps_the_invariants_when_state_gets_lost(
        params in params(rack().boxed()),
        forget in 0u32..50,
        dying in 0u32..20,
    ) {
        Sim::new(Params { forget, dying, ..params }).run();
    }

    /// Half of everything gets lost on the hop: it takes time, but it ends.
    #[test]

    fn rack_gets_through_where_half_gets_lost(
        params in params(rack().boxed()),
        alternate in any::<bool>(),
    ) {
        let loss = if alternate { 0 } else { 500 };
        Sim::new(Params { alternate, ..losing(params, loss) }).run();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn slack_keeps_the_invariants_over_any_link(params in params(slack().boxed())) {
        Sim::new(params).run();
    }

    #[test]
    fn slack_keeps_the_invariants_where_half_gets_lost(
        params in params(slack().boxed()),
        forget in 0u32..20,
        dying in 0u32..20,
    ) {
        Sim::new(Params { forget, dying, ..losing(params, 500) }).run();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn sack_keeps_the_invariants_over_any_link(params in params(sack().boxed())) {
        Sim::new(params).run();
    }

    #[test]
    fn sack_keeps_the_invariants_where_half_gets_lost(
        params in params(sack().boxed()),
        forget in 0u32..20,
        dying in 0u32..20,
    ) {
        Sim::new(Params { forget, dying, ..losing(params, 500) }).run();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Who sees none of the packets can forge what he likes: the transfer goes as beside packets
    /// that mean nothing, packet by packet. (Any packet makes the agent reckon its deadline anew.)
    #[test]
    fn a_blind_forger_changes_nothing(
        params in prop_oneof![
            params(rack().boxed()), params(config().boxed()), params(slack().boxed()),
            params(sack().boxed()),
        ],
    ) {
        let attacked = Params { blind: 20, ..params };
        let noise = Params { noise: true, ..attacked.clone() };
        prop_assert_eq!(Sim::new(attacked).run(), Sim::new(noise).run());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Where nothing gets lost, nothing is done.
    #[test]
    fn a_clean_link_is_left_alone(params in params(config().boxed())) {
        let clean = |delay_ms| Path { delay_ms, jitter_ms: 0, loss: 0, dup: 0 };
        let report = Sim::new(Params {
            wired: clean(params.wired.delay_ms),
            down: clean(params.down.delay_ms.min(15)),
            up: clean(params.up.delay_ms.min(15)),
            tx_us: params.tx_us.min(1_000),
            handshake: true,
            close: 0,
            ..params
        })
        .run();
        prop_assert_eq!((report.repairs, report.held, report.sender_resent), (0, 0, 0));
    }
}

proptest! {
    /// Who only watches leaves every packet as it is (`Sim::untouched`), and repeats none.
    #[test]
    fn who_watches_changes_nothing(
        params in params(Just(Config::shadow()).boxed()),
        (forget, dying) in (0u32..3, 0u32..3),
    ) {
        let report = Sim::new(Params { forget, dying, ..params }).run();
        prop_assert_eq!((report.repairs, report.held), (0, 0));
    }
}

/// The same losses with and without the agent: what it is all about.
#[test]
fn the_agent_helps() {
    let hop = |loss| Path {
        delay_ms: 5,
        jitter_ms: 0,
        loss,
        dup: 0,
    };
    for sack in [false, true] {
        let total = |config: Config| {
            let reports = (0..40).map(|seed| {
                let params = Params {
                    seed,
                    base: 5,
                    segments: 200,
                    max_segment: 100,
                    window_segments: 30,
                    sack,
                    delay_acks: true,
                    handshake: true,
                    resegment: false,
                    wired: Path {
                        delay_ms: 80,
                        ..hop(0)
                    },
                    down: hop(30),
                    up: hop(30),
                    tx_us: 1_000,
                    upload: 0,
                    ecn: 0,
                    window: 0,
                    close: 0,
                    timestamps: false,
                    ect: false,
                    foreign: Foreign::Nothing,
                    alternate: false,
                    forget: 0,
                    dying: 0,
                    blind: 0,
                    noise: false,
                    slots: 4_096,
                    config,
                };
                Sim::new(params).run()
            });
            reports.fold((0, 0), |(ns, resent), r| {
                (ns + r.done_ns, resent + r.sender_resent)
            })
        };
        let (none_ns, none_resent) = total(Config::observe());
        let (snoop_ns, snoop_resent) = total(classic());
        println!("SACK {sack}: {none_ns} ns, {none_resent} resent; {snoop_ns} ns, {snoop_resent}");
        assert!(snoop_ns < none_ns, "SACK {sack}: slower");
        assert!(snoop_resent * 2 < none_resent, "SACK {sack}: hides little");
    }
}
