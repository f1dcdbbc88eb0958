// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! libFuzzer's program: the environment variable LASTHOP_FUZZ names the target, the arguments are
//! libFuzzer's (scripts/fuzz.sh).
#![no_main]

use std::sync::OnceLock;

use lasthop_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<&Target> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("LASTHOP_FUZZ").unwrap_or_default();
        let found = TARGETS.iter().find(|target| target.name == name);
        found.expect("LASTHOP_FUZZ must name a target")
    });
    (target.run)(data);
});
