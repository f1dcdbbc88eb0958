// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! An 802.11 MAC under both directions of a relay: one half-duplex medium for which two stations
//! contend, in place of a rate for each direction.
//!
//! From the bottom up: `timing` (constants of the physical layers), `dcf` (when a station may
//! send), `policy` (who answers) and `room` (how much goes into an access), `sender` and `receiver`
//! (what each end of a direction keeps), `medium` (who sends what in which exchange), `energy` and
//! `events` (accounts and news of it), `radio` (the medium between the queues and the delays of two
//! directions). Nothing here knows a clock.
//!
//! What is meant to be compared with papers stands in `tests`: airtimes by hand, saturation
//! throughput, collisions, TCP-like traffic at 54 Mbit/s.

mod config;
mod dcf;
mod energy;
mod events;
mod medium;
mod policy;
mod radio;
mod receiver;
mod room;
mod sender;
#[cfg(test)]
mod tests;
mod timing;

pub use self::config::{LossPer, MacConfig};
pub use self::energy::Energy;
pub(crate) use self::events::EventHub;
pub use self::events::{Event, EventKind, HEADER_BYTES, Headers, RECORD_BYTES};
pub use self::policy::Policy;
pub(crate) use self::radio::Radio;
pub use self::timing::{Preamble, Standard};
