// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What lies between the two interfaces: links of each direction's own, or a medium for both.

use crate::config::{Config, Direction};
use crate::frame::FrameMeta;
use crate::hop::Hop;
use crate::label::Label;
use crate::mac::Radio;
use crate::model::{Exit, Verdict};
use crate::queue::Waiting;
use crate::stats::DirectionStats;

/// Both directions of a relay. `T` is whatever stands for a frame's bytes.
pub enum Links<T> {
    /// Each for itself.
    Apart([Hop<T>; 2]),
    /// On one medium.
    Shared(Box<Radio<T>>),
}

impl<T: Send + 'static> Links<T> {
    /// As the configuration says, idle.
    pub fn new(config: &Config) -> Self {
        match &config.mac {
            Some(mac) => Self::Shared(Box::new(Radio::new(config, mac))),
            None => {
                Self::Apart(Direction::ALL.map(|d| Hop::new(config.direction(d), config.seed, d)))
            }
        }
    }

    /// Takes over new settings.
    pub fn configure(&mut self, config: &Config) {
        match self {
            Self::Shared(radio) => radio.configure(config),
            Self::Apart(hops) => {
                for (hop, direction) in hops.iter_mut().zip(Direction::ALL) {
                    hop.configure(config.direction(direction));
                }
            }
        }
    }

    /// A frame reaches the link; `bytes` are its own.
    pub fn push(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        (meta, label): (FrameMeta, Label),
        token: T,
        arrival_ns: u64,
    ) -> Verdict<T> {
        match self {
            Self::Shared(radio) => {
                radio.push(direction, Waiting::new(token, meta, label, arrival_ns));
                Verdict::Queued // a drop comes out like all else
            }
            Self::Apart(hops) => {
                let hop = &mut hops[direction.index()];
                let link = hop.link_of(bytes);
                hop.push(link, meta, label, token, arrival_ns)
            }
        }
    }

    /// The next frame of a direction that has left by `now_ns`, in order of due time, of what
    /// arrived by `known_ns` of either direction: see [`crate::LinkModel::pop_due_of`].
    pub fn pop_due(
        &mut self,
        direction: Direction,
        known_ns: [u64; 2],
        now_ns: u64,
    ) -> Option<Exit<T>> {
        match self {
            // What one station does depends on the other.
            Self::Shared(radio) => {
                radio.pop_due(direction, now_ns.min(known_ns[0]).min(known_ns[1]))
            }
            Self::Apart(hops) => {
                let index = direction.index();
                hops[index].pop_due(known_ns[index], now_ns)
            }
        }
    }

    /// How long after its arrival a frame of that direction may be pushed without being late.
    pub fn least_delay_ns(&self, direction: Direction) -> u64 {
        match self {
            Self::Shared(_) => 0,
            Self::Apart(hops) => hops[direction.index()].least_delay_ns(),
        }
    }

    /// When [`Links::pop_due`] should be called next; `None` while all is empty.
    pub fn next_due_ns(&self) -> Option<u64> {
        match self {
            Self::Shared(radio) => radio.next_due_ns(),
            Self::Apart(hops) => hops.iter().filter_map(Hop::next_due_ns).min(),
        }
    }

    /// Frames of a direction that wait for transmission.
    pub fn queue_frames(&self, direction: Direction) -> u64 {
        let frames = match self {
            Self::Shared(radio) => radio.queue_frames(direction),
            Self::Apart(hops) => hops[direction.index()].queue_frames(),
        };
        frames as u64
    }

    /// Adds what the links themselves know to a direction's counters.
    pub fn report(&self, direction: Direction, now_ns: u64, stats: &mut DirectionStats) {
        stats.queue_frames = self.queue_frames(direction);
        match self {
            Self::Apart(hops) => {
                stats.in_flight_frames = hops[direction.index()].in_flight_frames() as u64;
            }
            Self::Shared(radio) => {
                stats.in_flight_frames = radio.in_flight_frames(direction) as u64;
                let max_frames = radio.queue_max_frames(direction) as u64;
                stats.queue_max_frames = stats.queue_max_frames.max(max_frames);
                stats.mac = radio.stats(direction);
                stats.energy = radio.energy(direction, now_ns);
            }
        }
    }
}
