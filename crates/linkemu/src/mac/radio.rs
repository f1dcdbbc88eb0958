// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A medium between the queues and the delays of both directions.

use std::collections::VecDeque;

use super::config::MacConfig;
use super::energy::{Energy, Segment};
use super::events::{Event, Headers};
use super::medium::{Ends, Medium};
use crate::config::{Config, Direction, DirectionConfig};
use crate::effect::{Chain, Passage, Stage};
use crate::entrance::Entrance;
use crate::exits::{Exit, Exits, Fate};
use crate::frame::FrameMeta;
use crate::queue::Waiting;
use crate::stats::MacStats;

/// Finds the beginning of a frame's packet.
pub type ReadHeaders<T> = fn(&T) -> Option<Headers>;

/// Queue, losses and delays of one direction.
struct Way<T> {
    entrance: Entrance<T>,
    losses: Chain,
    delays: Chain,
    exits: Exits<T>,
    queue_max_frames: usize,
    /// Frames that have arrived later than the medium has got: the other direction may have some
    /// that came before.
    arrivals: VecDeque<Waiting<T>>,
}

/// Both of them, as the medium sees them.
struct Ways<T> {
    ways: [Way<T>; 2],
    events: VecDeque<Event>,
    read_headers: Option<ReadHeaders<T>>,
}

/// Two directions that share a medium. `T` is whatever stands for the frame's bytes.
pub struct Radio<T> {
    medium: Medium<T>,
    ends: Ways<T>,
    /// Latest arrival that the medium has seen.
    now_ns: u64,
}

impl<T: Send + 'static> Radio<T> {
    /// A silent medium.
    pub fn new(config: &Config, mac: &MacConfig) -> Self {
        let way = |direction| Way::new(config.direction(direction), config.seed, direction);
        Self {
            medium: Medium::new(mac, config.seed),
            ends: Ways {
                ways: Direction::ALL.map(way),
                events: VecDeque::new(),
                read_headers: None,
            },
            now_ns: 0,
        }
    }

    /// Takes over new settings.
    pub fn configure(&mut self, config: &Config) {
        for (way, direction) in self.ends.ways.iter_mut().zip(Direction::ALL) {
            way.configure(config.direction(direction));
        }
        if let Some(mac) = &config.mac {
            self.medium.configure(mac);
        }
    }

    /// From now on events are kept for [`Radio::pop_event`], with the headers of frames that come
    /// to the head of their queue; or they are not any more.
    pub fn want_events(&mut self, read_headers: Option<ReadHeaders<T>>) {
        self.ends.read_headers = read_headers;
        if read_headers.is_none() {
            self.ends.events.clear();
        }
    }

    /// A frame reaches its queue. Arrivals of a direction never go back in time; those of both may
    /// come in any order, as long as [`Radio::pop_due`] has not been asked for that time.
    pub fn push(&mut self, direction: Direction, frame: Waiting<T>) {
        self.ends.way(direction).arrivals.push_back(frame);
    }

    /// The next frame that has left by `now_ns`, in order of due time.
    pub fn pop_due(&mut self, direction: Direction, now_ns: u64) -> Option<Exit<T>> {
        self.advance(now_ns);
        let exits = &mut self.ends.way(direction).exits;
        exits.first_due_ns().filter(|due_ns| *due_ns <= now_ns)?;
        exits.pop()
    }

    /// The next event by `now_ns`.
    pub fn pop_event(&mut self, now_ns: u64) -> Option<Event> {
        self.ends
            .events
            .front()
            .filter(|event| event.at_ns <= now_ns)?;
        self.ends.events.pop_front()
    }

    /// When there will be something to pop or to do; `None` while nothing goes on.
    pub fn next_due_ns(&self) -> Option<u64> {
        let of_way = |way: &Way<T>| {
            let arrival_ns = way.arrivals.front().map(|frame| frame.arrival_ns);
            arrival_ns.into_iter().chain(way.exits.first_due_ns()).min()
        };
        let ways = self.ends.ways.iter().filter_map(of_way);
        let event_ns = self.ends.events.front().map(|event| event.at_ns);
        ways.chain(event_ns)
            .chain(self.medium.next_ns(&self.ends))
            .min()
    }

    /// Frames that wait for the MAC.
    pub fn queue_frames(&self, direction: Direction) -> usize {
        self.ends.ways[direction.index()].entrance.frames()
    }

    /// The most that ever did.
    pub fn queue_max_frames(&self, direction: Direction) -> usize {
        self.ends.ways[direction.index()].queue_max_frames
    }

    /// Frames beyond the queue, and those that have yet to reach it.
    pub fn in_flight_frames(&self, direction: Direction) -> usize {
        let way = &self.ends.ways[direction.index()];
        way.exits.len() + way.arrivals.len() + self.medium.frames(direction)
    }

    /// Counters of one direction.
    pub fn stats(&self, direction: Direction) -> MacStats {
        self.medium.stats(direction)
    }

    /// Account of the station that sends in a direction.
    pub fn energy(&self, direction: Direction, now_ns: u64) -> Energy {
        self.medium.energy(direction, now_ns)
    }

    /// Lets frames arrive in the order of their times, and the medium do what it does between them.
    fn advance(&mut self, now_ns: u64) {
        while let Some(direction) = self.ends.first_arrival(now_ns) {
            let Some(mut frame) = self.ends.way(direction).arrivals.pop_front() else {
                break;
            };
            // A port that was read late may have had one from before: then it is late.
            frame.arrival_ns = frame.arrival_ns.max(self.now_ns);
            self.now_ns = frame.arrival_ns;
            self.medium.run(self.now_ns, &mut self.ends);
            self.ends.way(direction).arrive(frame);
            self.medium.run(self.now_ns, &mut self.ends);
            let way = self.ends.way(direction);
            way.queue_max_frames = way.queue_max_frames.max(way.entrance.frames());
        }
        self.now_ns = self.now_ns.max(now_ns);
        self.medium.run(self.now_ns, &mut self.ends);
    }
}

impl<T: Send + 'static> Way<T> {
    fn new(config: &DirectionConfig, seed: u64, direction: Direction) -> Self {
        Self {
            entrance: Entrance::new(config, seed, direction),
            losses: Chain::new(config, seed, direction, &[Stage::Loss]),
            delays: Chain::new(config, seed, direction, &[Stage::Delay]),
            exits: Exits::new(),
            queue_max_frames: 0,
            arrivals: VecDeque::new(),
        }
    }

    fn configure(&mut self, config: &DirectionConfig) {
        self.entrance.configure(config);
        self.losses.configure(config);
        self.delays.configure(config);
    }

    fn arrive(&mut self, frame: Waiting<T>) {
        let arrival_ns = frame.arrival_ns;
        if let Err(refused) = self.entrance.push(frame, &mut self.exits) {
            self.exits.leave(refused, Fate::QueueDropped, arrival_ns);
        }
    }
}

impl<T> Ways<T> {
    fn way(&mut self, direction: Direction) -> &mut Way<T> {
        &mut self.ways[direction.index()]
    }

    /// The direction whose next frame arrives first, and by `now_ns`.
    fn first_arrival(&self, now_ns: u64) -> Option<Direction> {
        let arrival_ns = |direction: &Direction| {
            let first = self.ways[direction.index()].arrivals.front();
            first
                .map(|frame| frame.arrival_ns)
                .filter(|arrival_ns| *arrival_ns <= now_ns)
        };
        let waiting = Direction::ALL
            .into_iter()
            .filter(|d| arrival_ns(d).is_some());
        waiting.min_by_key(arrival_ns)
    }
}

impl<T: Send + 'static> Ends<T> for Ways<T> {
    fn take(&mut self, from: Direction, now_ns: u64) -> Option<(Waiting<T>, Option<Headers>)> {
        let Way {
            entrance, exits, ..
        } = self.way(from);
        if entrance.frames() == 0 {
            return None;
        }
        let frame = entrance.pop(now_ns, exits)?;
        let headers = self.read_headers.and_then(|read| read(&frame.token));
        Some((frame, headers))
    }

    fn has_frames(&self, from: Direction) -> bool {
        self.ways[from.index()].entrance.frames() > 0
    }

    fn is_lost(&mut self, from: Direction, meta: &FrameMeta, segment: Segment) -> bool {
        let mut passage = Passage {
            departure_ns: segment.1,
            ..Passage::at(segment.0)
        };
        self.way(from).losses.apply(meta, &mut passage);
        passage.lost
    }

    fn land(&mut self, from: Direction, frame: Waiting<T>, at_ns: u64) {
        let Way { delays, exits, .. } = self.way(from);
        let mut passage = Passage::at(at_ns);
        delays.apply(&frame.meta, &mut passage);
        exits.deliver(frame, &passage, delays.may_overtake());
    }

    fn lose(&mut self, from: Direction, frame: Waiting<T>, at_ns: u64) {
        self.way(from).exits.leave(frame, Fate::Lost, at_ns);
    }

    fn tell(&mut self, event: Event) {
        if self.read_headers.is_some() {
            self.events.push_back(event);
        }
    }
}
