// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Link emulator: relays Ethernet frames between two interfaces of one network namespace and
//! gives each direction a rate, a delay, a queue and losses of its own.
//!
//! The crate has two halves. The *model* ([`LinkModel`], [`effect`], [`mac`]) knows neither sockets nor a
//! clock: frames come in with their arrival time, and leave with the *theoretical* time at which
//! a link would have delivered them. The *relay* ([`Relay`]) reads and writes the frames and lets
//! the model decide. Because every time is derived from earlier theoretical times, a process that
//! is scheduled late sends one frame late, and no error adds up.
//!
//! All times are nanoseconds since [`Relay::run`] began, sizes are bytes on the wire with the
//! Ethernet header and without the frame check sequence (a full TCP segment counts 1514).
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//!
//! let config = linkemu::Config::from_json(
//!     r#"{"a": "east", "b": "west", "a_to_b": {"rate_bps": 20000000, "delay_ns": 5000000}}"#,
//! )?;
//! let mut relay = linkemu::Relay::open(config)?;
//! let handle = relay.stats_handle(); // for other threads: statistics, changes, stop
//! let stats = relay.run(&AtomicBool::new(false))?;
//! # let _ = (handle, stats);
//! # Ok::<(), linkemu::Error>(())
//! ```

mod clock;
mod config;
pub mod control;
pub mod effect;
mod entrance;
mod error;
mod exits;
mod flows;
mod frame;
#[cfg(test)]
mod frame_samples;
mod gso;
mod handle;
mod hop;
mod label;
mod links;
pub mod mac;
mod model;
mod outbox;
mod policer;
mod pool;
mod port;
mod queue;
mod random;
mod reading;
mod relay;
mod schedule;
mod socket;
mod stations;
mod stats;
mod trace;

pub use config::{Aqm, Config, Direction, DirectionConfig, Target, Update};
pub use effect::lost_frames;
pub use error::{Error, Result};
pub use frame::{FrameMeta, MAX_FRAME_BYTES};
pub use handle::RelayHandle;
pub use label::{Label, PureAck};
pub use model::{Exit, Fate, LinkModel, Verdict};
pub use random::Random;
pub use relay::Relay;
pub use stations::StationConfig;
pub use stats::{DirectionStats, MacStats, Stats};
pub use trace::RateTrace;
