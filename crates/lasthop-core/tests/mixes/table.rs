// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `cargo test --release -p lasthop-core --test mixes table -- --ignored --nocapture`
//! prints the mixes with and without the agent, of one seed (SEED=n) and in detail. MIXES=NAME,…
//! chooses; `make mixes` (seeds.rs) compares many seeds.

use lasthop_core::bindings::{LH_MASK_OFF, LH_POLICY_MAC, LH_POLICY_SEQUENCE};
use lasthop_core::{Config, scheme_by_name};

use crate::case::Case;
use crate::catalogue;
use crate::run;

/// The case under a scheme, with agents at both ends under `snack`, of which there are kinds (`-open`: FH
/// sees the blocks); the environment sets what is tried of `rack` (SUPPRESS, CLOCK, GUARD: the parameter's
/// number; TARGET_US, HOLD_MAX_MS). A name that says nothing here must not pass for no agent's figures.
pub fn under(case: &Case, scheme: &str) -> Case {
    let case = case.clone();
    if let Some(kind) = scheme.strip_prefix("snack") {
        let kinds = ["", "-bare", "-open", "-brake", "-brake-open"];
        assert!(kinds.contains(&kind), "{scheme}: snack has {kinds:?}");
        return case.with_ends(Config {
            brake: u32::from(kind.starts_with("-brake")),
            sack_mask: match kind.ends_with("-open") {
                true => LH_MASK_OFF,
                false => Config::snack().sack_mask,
            },
            queue_guard: u32::from(kind != "-bare"),
            ..Config::snack()
        });
    }
    if scheme == "none" {
        return case;
    }
    let known = scheme_by_name(scheme).map(|scheme| Config {
        scheme,
        ..Config::default()
    });
    let mut config = known.unwrap_or_else(|| panic!("no scheme {scheme}"));
    assert!(
        config.policy() & (LH_POLICY_MAC | LH_POLICY_SEQUENCE) == 0,
        "{scheme}: the mixes have no MAC that reports, and nothing waits at their receivers"
    );
    if scheme != "rack" {
        return case.with_config(config);
    }
    let set = |name: &str, to: &mut u32| {
        if let Ok(v) = std::env::var(name) {
            *to = v.parse().expect("a number");
        }
    };
    set("SUPPRESS", &mut config.suppress);
    set("CLOCK", &mut config.clock);
    set("GUARD", &mut config.queue_guard);
    if let Ok(us) = std::env::var("TARGET_US") {
        config.target_ns = 1_000 * us.parse::<u64>().expect("a number");
    }
    if let Ok(ms) = std::env::var("HOLD_MAX_MS") {
        config.hold_max_ns = 1_000_000 * ms.parse::<u64>().expect("a number");
    }
    case.with_config(config)
}

/// Runs it under each of SCHEMES, and prints what came of it.
pub fn show(name: &str, case: &Case) {
    let only = std::env::var("SCHEMES").unwrap_or_else(|_| "none,rack".into());
    for scheme in only.split(',') {
        let mut case = under(case, scheme);
        if let Ok(seed) = std::env::var("SEED") {
            case.seed = seed.parse().expect("a number");
        }
        let began = std::time::Instant::now();
        let r = run(&case);
        let pages = match r.page_ms.is_empty() {
            true => String::new(),
            false => format!(" page {:.0}", r.page_median_ms()),
        };
        let each: String = match r.flows.len() {
            2..=4 => r
                .flows
                .iter()
                .map(|f| format!(" [{:.2} {:.0}/{:.0}]", f.mbit, f.rtt_p50_ms, f.rtt_p95_ms))
                .collect(),
            _ => String::new(),
        };
        let done = match r.flows.iter().filter(|f| f.completion_ms.is_some()).count() {
            0 => String::new(),
            n => format!(
                " done {n} p50 {:.0} p95 {:.0}",
                r.completions(0.5),
                r.completions(0.95)
            ),
        };
        println!(
            "{name:28} {scheme:5} {}{pages}{each}{done} ({:.1} s)",
            r.line(),
            began.elapsed().as_secs_f64()
        );
        if std::env::var_os("COUNTERS").is_some() {
            println!("#   {:?}", r.counters);
        }
    }
}

#[test]
#[ignore = "prints a table"]
fn table() {
    catalogue::each(show);
}

/// Figures under a scheme's name are that scheme's.
#[test]
fn each_scheme_is_run_by_its_name() {
    let case = Case::default();
    let of = |scheme: &str| under(&case, scheme).agent.map(|config| config.scheme);
    assert_eq!(of("none"), None);
    for scheme in ["rack", "snoop", "slack", "sack", "snack", "shadow"] {
        assert_eq!(of(scheme), scheme_by_name(scheme), "{scheme}");
    }
    assert!(
        under(&case, "snack-brake")
            .far
            .is_some_and(|far| far.brake == 1)
    );
    for scheme in ["rak", "split", "csnoop", "dproxy", "snack-break"] {
        assert!(std::panic::catch_unwind(|| of(scheme)).is_err(), "{scheme}");
    }
}
