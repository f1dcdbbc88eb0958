// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Everything that bytes of strangers reach, as functions of bytes that must not panic, read out of
//! bounds or break the contract. `make fuzz` lets libFuzzer look for inputs. Those that reach
//! something new are in `corpus/`, those that showed a bug in `findings/`; `cargo test -p
//! lasthop-fuzz` replays both.

pub mod capture;
pub mod configuration;
pub mod control;
pub mod input;
pub mod message;
pub mod packet;
pub mod transfer;
pub mod twin;

/// What is fuzzed.
pub struct Target {
    /// As `make fuzz TARGET=` knows it.
    pub name: &'static str,
    /// Its directory in `corpus/`; another target's if it takes the same inputs.
    pub corpus: &'static str,
    /// Whether it needs root.
    pub root: bool,
    /// Takes any bytes.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 7] = [
    Target {
        name: "packet",
        corpus: "packet",
        root: false,
        run: packet::run,
    },
    Target {
        name: "transfer",
        corpus: "transfer",
        root: false,
        run: transfer::run,
    },
    Target {
        name: "message",
        corpus: "message",
        root: false,
        run: message::run,
    },
    Target {
        name: "configuration",
        corpus: "configuration",
        root: false,
        run: configuration::run,
    },
    Target {
        name: "control",
        corpus: "control",
        root: false,
        run: control::run,
    },
    Target {
        name: "capture",
        corpus: "capture",
        root: false,
        run: capture::run,
    },
    Target {
        name: "twin",
        corpus: "transfer",
        root: true,
        run: twin::run,
    },
];
