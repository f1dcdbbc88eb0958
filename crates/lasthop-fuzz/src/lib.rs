// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Everything that bytes of strangers reach, as functions of bytes that must not panic, read out of
//! bounds or break the contract. `make fuzz` lets libFuzzer look for inputs. Those that reach
//! something new are in `corpus/`, those that showed a bug in `findings/`; `cargo test -p
//! lasthop-fuzz` replays both.

pub mod capture;
pub mod configuration;
pub mod control;
pub mod input;
pub mod packet;
pub mod transfer;

/// What is fuzzed.
pub struct Target {
    /// As `make fuzz TARGET=` knows it; also the name of its directory in `corpus/`.
    pub name: &'static str,
    /// Takes any bytes.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 5] = [
    Target {
        name: "packet",
        run: packet::run,
    },
    Target {
        name: "transfer",
        run: transfer::run,
    },
    Target {
        name: "configuration",
        run: configuration::run,
    },
    Target {
        name: "control",
        run: control::run,
    },
    Target {
        name: "capture",
        run: capture::run,
    },
];
