// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The lists that command line, JSON and documentation are made of.

use std::collections::HashSet;

use lasthop_core::bindings::*;
use lasthop_core::{Config, counters, scheme_by_name, schemes};

#[test]
fn counters_have_unique_names_and_one_line_each() {
    let all: Vec<_> = counters().collect();
    assert_eq!(all.len(), LH_NR_COUNTERS as usize);
    let names: HashSet<_> = all.iter().map(|c| c.name).collect();
    assert_eq!(names.len(), all.len());
    for (i, c) in all.iter().enumerate() {
        assert_eq!(c.id as usize, i);
        assert!(!c.doc.is_empty() && !c.doc.contains('\n'), "{}", c.name);
        assert!(
            c.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
            "{}",
            c.name
        );
    }
    assert_eq!(all[LH_C_suppressed_acks as usize].name, "suppressed_acks");
}

#[test]
fn schemes_are_found_by_name() {
    assert_eq!(schemes().count(), LH_NR_SCHEMES as usize);
    assert_eq!(scheme_by_name("none"), Some(LH_SCHEME_none));
    assert_eq!(scheme_by_name("snoop"), Some(LH_SCHEME_snoop));
    assert_eq!(scheme_by_name("Snoop"), None);
    for s in schemes() {
        assert!(!s.doc.is_empty(), "{}", s.name);
    }
}

#[test]
fn defaults_are_those_of_the_design() {
    let c = Config::snoop();
    assert_eq!(
        (c.scheme, c.dup_thresh, c.max_local),
        (LH_SCHEME_snoop, 1, 10)
    );
    assert_eq!(
        (c.lrto_floor_ns, c.lrto_max_ns),
        (80_000_000, 1_000_000_000)
    );
    assert_eq!((c.hold_min_ns, c.hold_max_ns), (20_000_000, 2_000_000_000));
    assert_eq!(c.idle_ns, 60_000_000_000);
    assert_eq!((c.ns2_tick_ns, c.ns2_gain_1024), (100_000_000, 128));
    assert_eq!(
        (c.ns2_srtt_ns, c.ns2_rtt_var_ns),
        (100_000_000, 250_000_000)
    );
    assert_eq!((c.timer_arm, c.strict_window), (LH_TIMER_ALWAYS, 0));
    let ns2 = Config::ns2();
    assert_eq!((ns2.rtt_profile, ns2.dup_thresh), (LH_RTT_NS2, 2));
    assert_eq!(Config::observe().scheme, LH_SCHEME_none);
}
