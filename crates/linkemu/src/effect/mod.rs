// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a link does to a frame, one effect per file.
//!
//! A frame that reaches the head of the queue passes through all effects of the table `CHAIN`, in
//! order. Each may lengthen its transmission (rate, retransmissions of the MAC), mark it lost, or
//! add to the delay after transmission (propagation, jitter). An effect sees only the frame's
//! summary and its passage so far, so it needs no clock. To add one: a key in
//! [`DirectionConfig`], a file with its [`Effect`] and a `build` function, a line in the table.
//!
//! Every effect exists all the time and does nothing while its key has the neutral value, so that
//! a change at run time keeps the state of its generator.

use crate::config::{Direction, DirectionConfig};
#[cfg(test)]
use crate::frame::FrameMeta;
use crate::random::Random;

mod batch;
mod ber;
mod bernoulli;
mod delay;
mod every;
mod flow_delay;
mod gilbert;
mod jitter;
mod outage;
mod passage;
mod rate;
mod rate_trace;
mod rate_wave;
mod reorder;

pub use self::bernoulli::lost_frames;
pub use self::passage::{Effect, Passage};

type Build = fn(&DirectionConfig, Random) -> Box<dyn Effect>;

/// Name (which also picks the random stream: never rename one) and constructor of each effect, in
/// the order in which they act: first what takes link time, then loss, then delay. At most one
/// of the rates is in force.
const CHAIN: &[(&str, Build)] = &[
    ("rate", rate::build),
    ("rate_wave", rate_wave::build),
    ("rate_trace", rate_trace::build),
    ("outage", outage::build),
    ("every", every::build),
    (bernoulli::NAME, bernoulli::build),
    ("gilbert", gilbert::build),
    ("ber", ber::build),
    ("delay", delay::build),
    ("jitter", jitter::build),
    ("flow_delay", flow_delay::build),
    ("reorder", reorder::build),
    ("batch", batch::build),
];

/// All effects of one direction.
pub fn chain(config: &DirectionConfig, seed: u64, direction: Direction) -> Vec<Box<dyn Effect>> {
    let build = |(name, build): &(&str, Build)| build(config, Random::new(seed, direction, name));
    CHAIN.iter().map(build).collect()
}

#[cfg(test)]
fn lossy_frame(bytes: u32) -> FrameMeta {
    FrameMeta {
        bytes,
        lossy: true,
        tcp_data: false,
        flow: None,
    }
}

/// Deliveries of frames that take no time and start `spacing_ns` apart.
#[cfg(test)]
fn deliveries_of(effect: &mut dyn Effect, frames: u64, spacing_ns: u64) -> Vec<u64> {
    let frame = lossy_frame(1514);
    let pass = |i| {
        let mut passage = Passage::at(i * spacing_ns);
        effect.apply(&frame, &mut passage);
        passage.delivery_ns()
    };
    (0..frames).map(pass).collect()
}

#[cfg(test)]
fn lost_of(effect: &mut dyn Effect, frames: usize, bytes: u32) -> Vec<bool> {
    let frame = lossy_frame(bytes);
    let pass = |_| {
        let mut passage = Passage::at(0);
        effect.apply(&frame, &mut passage);
        passage.lost
    };
    (0..frames).map(pass).collect()
}
