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

/// Where in its passage an effect meets a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// While it is transmitted: what takes the link's time.
    Transmission,
    /// On its way through the air: what keeps it from arriving.
    Loss,
    /// After that: when it arrives.
    Delay,
}

/// Name (which also picks the random stream: never rename one) and constructor of each effect, in
/// the order in which they act, that of the stages. At most one of the rates is in force.
const CHAIN: &[(Stage, &str, Build)] = &[
    (Stage::Transmission, "rate", rate::build),
    (Stage::Transmission, "rate_wave", rate_wave::build),
    (Stage::Transmission, "rate_trace", rate_trace::build),
    (Stage::Loss, "outage", outage::build),
    (Stage::Loss, "every", every::build),
    (Stage::Loss, bernoulli::NAME, bernoulli::build),
    (Stage::Loss, "gilbert", gilbert::build),
    (Stage::Loss, "ber", ber::build),
    (Stage::Delay, "delay", delay::build),
    (Stage::Delay, "jitter", jitter::build),
    (Stage::Delay, "flow_delay", flow_delay::build),
    (Stage::Delay, "reorder", reorder::build),
    (Stage::Delay, "batch", batch::build),
];

/// Effects of one direction that act one after another.
pub struct Chain(pub(crate) Vec<Box<dyn Effect>>);

impl Chain {
    /// Those of the stages named, their generators seeded for `direction`.
    pub fn new(
        config: &DirectionConfig,
        seed: u64,
        direction: Direction,
        stages: &[Stage],
    ) -> Self {
        let chosen = CHAIN.iter().filter(|(stage, ..)| stages.contains(stage));
        let build = |(_, name, build): &(Stage, &str, Build)| {
            build(config, Random::new(seed, direction, name))
        };
        Self(chosen.map(build).collect())
    }

    /// Takes over new settings.
    pub fn configure(&mut self, config: &DirectionConfig) {
        self.0.iter_mut().for_each(|e| e.configure(config));
    }

    /// Lets a frame pass.
    pub fn apply(&mut self, frame: &FrameMeta, passage: &mut Passage) {
        self.0.iter_mut().for_each(|e| e.apply(frame, passage));
    }

    /// The least delay of any frame after its transmission.
    pub fn least_delay_ns(&self) -> u64 {
        self.0.iter().map(|e| e.least_delay_ns()).sum()
    }

    /// Whether a later frame may be delivered before an earlier one.
    pub fn may_overtake(&self) -> bool {
        self.0.iter().any(|e| e.may_overtake())
    }
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
