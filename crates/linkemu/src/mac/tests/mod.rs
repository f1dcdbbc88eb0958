// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The MAC in virtual time: no sockets, no clock.

mod blocks;
mod bursts;
mod exchanges;
mod losses;
mod saturation;
mod tcp;

use super::{Event, Headers, Radio};
use crate::config::{Config, Direction};
use crate::exits::{Exit, Fate};
use crate::frame::FrameMeta;
use crate::frame_samples::FULL;
use crate::label::Label;
use crate::queue::Waiting;

const US: u64 = 1_000;
const SECOND: u64 = 1_000_000_000;

/// A full segment's ACK: 40 bytes of headers, 12 of timestamps.
const ACK: FrameMeta = FrameMeta {
    bytes: 66,
    lossy: true,
    tcp_data: false,
    flow: None,
};

/// A radio, its time, and what has come out of it.
struct Bench {
    radio: Radio<u32>,
    now_ns: u64,
    exits: [Vec<Exit<u32>>; 2],
    events: Vec<Event>,
}

/// Frames have no bytes here; their tokens take their place.
fn no_headers(token: &u32) -> Option<Headers> {
    Some(Headers {
        ethertype: 0,
        bytes: token.to_le_bytes()[..].into(),
    })
}

impl Bench {
    /// `mac` and both directions as they stand in a configuration.
    fn new(mac: &str, a_to_b: &str, b_to_a: &str, seed: u64) -> Self {
        let text = format!(
            r#"{{"a":"x","b":"y","seed":{seed},"mac":{mac},"a_to_b":{a_to_b},"b_to_a":{b_to_a}}}"#
        );
        let config = Config::from_json(&text).unwrap();
        let mut radio = Radio::new(&config, config.mac.as_ref().unwrap());
        radio.want_events(Some(no_headers));
        Self {
            radio,
            now_ns: 0,
            exits: [Vec::new(), Vec::new()],
            events: Vec::new(),
        }
    }

    /// As an access point to a client and back, both without loss.
    fn lossless(mac: &str) -> Self {
        Self::new(mac, "{}", "{}", 1)
    }

    fn push(&mut self, direction: Direction, meta: FrameMeta, token: u32) {
        self.push_at(direction, meta, token, self.now_ns);
    }

    fn push_at(&mut self, direction: Direction, meta: FrameMeta, token: u32, arrival_ns: u64) {
        let frame = Waiting::new(token, meta, Label::default(), arrival_ns);
        self.radio.push(direction, frame);
    }

    /// Goes on to the next time at which something leaves; the ways and fates of what does are
    /// returned.
    fn step(&mut self) -> Option<Vec<(Direction, Fate)>> {
        self.now_ns = self.now_ns.max(self.radio.next_due_ns()?);
        let mut left = Vec::new();
        for direction in Direction::ALL {
            while let Some(exit) = self.radio.pop_due(direction, self.now_ns) {
                left.push((direction, exit.fate));
                self.exits[direction.index()].push(exit);
            }
        }
        while let Some(event) = self.radio.pop_event(self.now_ns) {
            self.events.push(event);
        }
        Some(left)
    }

    fn finish(&mut self) {
        while self.step().is_some() {}
    }

    /// Keeps so many full frames waiting in each direction for a time.
    fn saturate(&mut self, senders: &[Direction], duration_ns: u64) {
        let mut tokens = [0; 2];
        while self.now_ns < duration_ns {
            for direction in senders {
                while self.radio.queue_frames(*direction) + self.radio.in_flight_frames(*direction)
                    < 70
                {
                    self.push(*direction, FULL, tokens[direction.index()]);
                    tokens[direction.index()] += 1;
                }
            }
            self.step();
        }
    }

    fn delivered(&self, direction: Direction) -> Vec<u32> {
        let exits = self.exits[direction.index()].iter();
        exits
            .filter(|e| e.fate == Fate::Delivered)
            .map(|e| e.token)
            .collect()
    }

    fn lost(&self, direction: Direction) -> usize {
        let exits = self.exits[direction.index()].iter();
        exits.filter(|e| e.fate == Fate::Lost).count()
    }

    /// Fates and times, the latter in microseconds.
    fn times_us(&self, direction: Direction) -> Vec<(u32, Fate, u64)> {
        let exits = self.exits[direction.index()].iter();
        exits.map(|e| (e.token, e.fate, e.due_ns / US)).collect()
    }
}
