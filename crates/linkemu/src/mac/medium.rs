// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The medium that two stations share: a machine without clock or I/O. Times go in; frames, their
//! fates and events come out, with the times at which they are due.
//!
//! It goes from exchange to exchange: a data frame or a burst of them with its answer, or two that
//! collide. All that happens in an exchange is decided when it begins, since nothing that arrives
//! meanwhile can change it. Whoever has a transmission opportunity goes on a SIFS after an exchange
//! that was answered, if the next one fits in and its frame is there by the end of that one (IEEE
//! 802.11-2007, clause 9.9.1.4). Without answers nobody learns of collisions, and so all frames of
//! the burst are there when it begins. What fails ends a burst (clause 9.9.1.5).
//!
//! What 802.11 has and this has not: RTS, fragments, EIFS (both stations wait as long as the sender
//! after an exchange that failed), capture, other stations.

use super::config::{LossPer, MacConfig};
use super::dcf::{Contention, Silence};
use super::energy::{Accounts, Energy, Segment, total_ns};
use super::events::{Event, EventKind, Headers};
use super::policy::Policy;
use super::receiver::Receiver;
use super::room::Room;
use super::sender::{Plan, Sender};
use super::timing::Timing;
use crate::config::Direction;
use crate::frame::FrameMeta;
use crate::queue::Waiting;
use crate::random::Random;
use crate::stats::MacStats;

/// What lies around the medium: queues before it and links behind it, one of each per direction.
pub trait Ends<T> {
    /// The frame that comes to the head of the queue at `now_ns`, and the beginning of its packet
    /// if anybody wants that.
    fn take(&mut self, from: Direction, now_ns: u64) -> Option<(Waiting<T>, Option<Headers>)>;
    /// Whether frames wait.
    fn has_frames(&self, from: Direction) -> bool;
    /// Whether the air loses a frame that is on it for this long.
    fn is_lost(&mut self, from: Direction, meta: &FrameMeta, segment: Segment) -> bool;
    /// A frame has come through.
    fn land(&mut self, from: Direction, frame: Waiting<T>, at_ns: u64);
    /// A frame was given up.
    fn lose(&mut self, from: Direction, frame: Waiting<T>, at_ns: u64);
    /// News for the sending end.
    fn tell(&mut self, event: Event);
}

/// One station: it sends in the direction of its number, and receives in the other.
struct Station<T> {
    contention: Contention,
    sender: Sender<T>,
    /// The far end's memory of what this station sends.
    receiver: Receiver<Waiting<T>>,
    /// Whether the channel loses answers to this station's frames.
    answers: Random,
    /// End of its latest access.
    free_ns: u64,
    /// Its latest exchange was answered, and so it may go on.
    goes_on: bool,
    /// Until when, at the most.
    txop_until_ns: u64,
    stats: MacStats,
}

/// What an access comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Nobody asked for one.
    None,
    /// It came.
    Came,
    /// It did not.
    Missing,
}

/// The medium with both stations.
pub struct Medium<T> {
    config: MacConfig,
    timing: Timing,
    stations: [Station<T>; 2],
    silence: Silence,
    /// When the latest exchange is over.
    free_ns: u64,
    /// How far [`Medium::run`] has come.
    now_ns: u64,
    accounts: Accounts,
    /// What each station sends in the exchange at hand.
    on_air: [Vec<Segment>; 2],
}

impl<T> Medium<T> {
    /// A silent medium.
    pub fn new(config: &MacConfig, seed: u64) -> Self {
        let timing = config.timing();
        let station = |direction| Station {
            contention: Contention::new(
                timing.cw_min,
                timing.cw_max,
                Random::new(seed, direction, "mac_backoff"),
            ),
            sender: Sender::new(),
            receiver: Receiver::new(),
            answers: Random::new(seed, direction, "mac_control_loss"),
            free_ns: 0,
            goes_on: false,
            txop_until_ns: 0,
            stats: MacStats::default(),
        };
        Self {
            config: config.clone(),
            timing,
            stations: Direction::ALL.map(station),
            silence: Silence {
                count_from_ns: 0,
                slot_ns: timing.slot_ns,
            },
            free_ns: 0,
            now_ns: 0,
            accounts: Accounts::default(),
            on_air: [Vec::new(), Vec::new()],
        }
    }

    /// Takes over new settings for exchanges that have not begun.
    pub fn configure(&mut self, config: &MacConfig) {
        self.config = config.clone();
        self.timing = config.timing();
    }

    /// Counters of one direction.
    pub fn stats(&self, direction: Direction) -> MacStats {
        self.stations[direction.index()].stats
    }

    /// Account of the station that sends in a direction. Times are whole exchanges, so they may
    /// run ahead of `now_ns` by one.
    pub fn energy(&self, direction: Direction, now_ns: u64) -> Energy {
        let elapsed_ns = now_ns.max(self.free_ns);
        self.accounts
            .of(direction.index(), elapsed_ns, &self.config)
    }

    /// Frames of a direction that it has and that have not come through or been given up.
    pub fn frames(&self, direction: Direction) -> usize {
        let station = &self.stations[direction.index()];
        let held = station
            .sender
            .held
            .iter()
            .filter(|held| held.frame.is_some());
        held.count() + station.receiver.frames()
    }

    /// When [`Medium::run`] has something to do next; `None` while nobody has anything to send.
    pub fn next_ns(&self, ends: &impl Ends<T>) -> Option<u64> {
        let waits = |direction: Direction| {
            let Station {
                sender, free_ns, ..
            } = &self.stations[direction.index()];
            let idle = !sender.contends && (ends.has_frames(direction) || sender.wants());
            idle.then_some(*free_ns)
        };
        let heads = Direction::ALL.into_iter().filter_map(waits);
        heads.chain(self.next_start_ns()).min()
    }

    /// Goes through all that begins by `now_ns`. Frames that arrive then are not yet in the queues:
    /// push them afterwards, and run to the same time again.
    pub fn run(&mut self, now_ns: u64, ends: &mut impl Ends<T>) {
        loop {
            for direction in Direction::ALL {
                if self.stations[direction.index()].free_ns <= now_ns {
                    self.take_head(direction, ends);
                }
            }
            let Some(start_ns) = self.next_start_ns().filter(|start_ns| *start_ns <= now_ns) else {
                break;
            };
            self.now_ns = start_ns;
            self.exchange(start_ns, ends);
        }
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn next_start_ns(&self) -> Option<u64> {
        let contending = self.stations.iter().filter(|s| s.sender.contends);
        contending
            .map(|s| s.contention.start_ns(&self.silence))
            .min()
    }

    /// A station with nothing at hand looks into its queue, also while the other sends.
    fn take_head(&mut self, direction: Direction, ends: &mut impl Ends<T>) {
        let index = direction.index();
        if self.stations[index].sender.contends {
            return;
        }
        let another_counts = self.stations[1 - index].sender.contends;
        let Station {
            sender, free_ns, ..
        } = &mut self.stations[index];
        let head_ns = self.now_ns.max(*free_ns);
        if sender.held.is_empty() {
            if let Some((frame, headers)) = ends.take(direction, head_ns) {
                sender.take(frame, headers, head_ns);
            }
        }
        if !sender.wants() {
            return;
        }
        sender.contends = true;
        let next_ns = head_ns + self.timing.sifs_ns;
        let goes_on = self.may_go_on(direction, head_ns, next_ns);
        let contention = &mut self.stations[index].contention;
        match goes_on {
            true => contention.go_on_at(next_ns),
            false => contention.request(head_ns, &self.silence, another_counts),
        }
    }

    /// Whether a station that has a frame at `head_ns` may send it at `next_ns`, as the next of a
    /// burst.
    fn may_go_on(&self, direction: Direction, head_ns: u64, next_ns: u64) -> bool {
        let station = &self.stations[direction.index()];
        let first = station.sender.lengths(1);
        station.goes_on && head_ns == station.free_ns && self.room(direction, next_ns).holds(first)
    }

    /// What is left at `now_ns` of a station's access.
    fn room(&self, direction: Direction, now_ns: u64) -> Room {
        let until_ns = self.stations[direction.index()].txop_until_ns;
        let limited = self.config.txop_ns() > 0;
        Room {
            timing: self.timing,
            policy: self.config.policy,
            left_ns: limited.then(|| until_ns.saturating_sub(now_ns)),
        }
    }

    /// One access of a station, or of both at once, from beginning to end.
    fn exchange(&mut self, start_ns: u64, ends: &mut impl Ends<T>) {
        let sends = Direction::ALL.map(|direction| self.begins(direction, start_ns));
        let plans = Direction::ALL.map(|direction| {
            let plan = sends[direction.index()].then(|| self.plan(direction, start_ns, ends));
            if let Some(plan) = &plan {
                self.put_on_air(direction, start_ns, plan);
            }
            plan
        });
        let sent_until_ns = [0, 1].map(|i| self.on_air[i].last().map_or(0, |last| last.1));
        let own = self.on_air.clone();
        let mut end_ns = start_ns;
        let mut answers = [Answer::None; 2];
        for direction in Direction::ALL {
            let index = direction.index();
            if let Some(plan) = &plans[index] {
                let deaf_until_ns = sent_until_ns[1 - index];
                let heard = self.deliver(direction, plan, &own[index], deaf_until_ns, ends);
                let sent_ns = sent_until_ns[index];
                let (answer, over_ns) = self.answer(direction, plan, sent_ns, heard);
                answers[index] = answer;
                end_ns = end_ns.max(over_ns);
            }
        }
        self.accounts.add(&self.on_air);
        self.on_air.iter_mut().for_each(Vec::clear);
        for direction in Direction::ALL {
            let index = direction.index();
            match &plans[index] {
                Some(plan) => self.settle(direction, plan, answers[index], end_ns, ends),
                None => {
                    let Station {
                        contention, sender, ..
                    } = &mut self.stations[index];
                    contention.defer(start_ns, &self.silence, sender.contends);
                }
            }
        }
        self.free_ns = end_ns;
        self.silence.count_from_ns = end_ns + self.timing.aifs_ns();
    }

    fn begins(&self, direction: Direction, start_ns: u64) -> bool {
        let station = &self.stations[direction.index()];
        station.sender.contends && station.contention.start_ns(&self.silence) == start_ns
    }

    fn plan(&mut self, direction: Direction, now_ns: u64, ends: &mut impl Ends<T>) -> Plan {
        if now_ns >= self.silence.count_from_ns {
            // Won by contention; a burst goes on before that.
            let txop_ns = self.config.txop_ns();
            self.stations[direction.index()].txop_until_ns = now_ns + txop_ns;
        }
        let room = self.room(direction, now_ns);
        let block_frames = self.config.block_frames();
        let sender = &mut self.stations[direction.index()].sender;
        let ends = std::cell::RefCell::new(ends);
        let take_one = |sender: &mut Sender<T>| {
            let taken = ends.borrow_mut().take(direction, now_ns);
            let is_some = taken.is_some();
            if let Some((frame, headers)) = taken {
                sender.take(frame, headers, now_ns);
            }
            is_some
        };
        let has_more = || ends.borrow().has_frames(direction);
        sender.plan(&room, block_frames, take_one, has_more)
    }

    /// Lines up what a station sends: frames a SIFS apart, then the request.
    fn put_on_air(&mut self, direction: Direction, start_ns: u64, plan: &Plan) {
        let index = direction.index();
        let held = self.stations[index].sender.held.range(plan.frames.clone());
        let frames = held.map(|held| self.timing.data_ns(held.meta.bytes));
        let request = plan.asks.then(|| self.timing.block_ack_request_ns());
        let mut at_ns = start_ns;
        for air_ns in frames.chain(request) {
            self.on_air[index].push((at_ns, at_ns + air_ns));
            at_ns += air_ns + self.timing.sifs_ns;
        }
    }

    /// Lets the far end hear what it can: nothing of what begins before it has sent its own.
    /// Tells whether it has heard the last segment, which is what it would answer to.
    fn deliver(
        &mut self,
        direction: Direction,
        plan: &Plan,
        segments: &[Segment],
        deaf_until_ns: u64,
        ends: &mut impl Ends<T>,
    ) -> bool {
        let mut heard = false;
        for (place, segment) in plan.frames.clone().zip(segments) {
            heard = self.attempt(direction, place, *segment, deaf_until_ns, ends);
        }
        let Some(request) = segments.last().filter(|_| plan.asks) else {
            return heard;
        };
        let Station {
            receiver,
            sender,
            answers,
            stats,
            ..
        } = &mut self.stations[direction.index()];
        let lost = answers.chance(self.config.control_loss);
        heard = request.0 >= deaf_until_ns && !lost;
        if heard {
            let release = |frame| ends.land(direction, frame, request.1);
            receiver.skip_to(sender.first_sequence(), release);
            sender.must_skip = false;
        }
        stats.airtime_ns += request.1 - request.0;
        heard
    }

    /// One data frame on the air. True if it comes through.
    fn attempt(
        &mut self,
        direction: Direction,
        place: usize,
        segment: Segment,
        deaf_until_ns: u64,
        ends: &mut impl Ends<T>,
    ) -> bool {
        let Station {
            receiver,
            sender,
            stats,
            ..
        } = &mut self.stations[direction.index()];
        let held = &mut sender.held[place];
        held.attempts += 1;
        stats.attempts += 1;
        stats.retries += u64::from(held.attempts > 1);
        stats.airtime_ns += segment.1 - segment.0;
        // Drawn in any case, so that a collision shifts nobody's losses.
        let lost = match (self.config.loss_per, held.first_lost) {
            (LossPer::Packet, Some(lost)) => lost,
            _ => ends.is_lost(direction, &held.meta, segment),
        };
        held.first_lost = Some(lost);
        let collides = segment.0 < deaf_until_ns;
        stats.collisions += u64::from(collides);
        held.heard = !collides && !lost;
        if !held.heard {
            return false;
        }
        let is_new = match self.config.policy.is_block() {
            true => !receiver.has(held.sequence),
            false => receiver.is_new(held.sequence, held.attempts > 1),
        };
        stats.duplicates += u64::from(!is_new);
        if let Some(frame) = held.frame.take().filter(|_| is_new) {
            let land = |frame| ends.land(direction, frame, segment.1);
            match self.config.policy.is_block() {
                true => receiver.accept(held.sequence, frame, land),
                false => ends.land(direction, frame, segment.1),
            }
        }
        true
    }

    /// The far end's answer to what ended at `sent_ns`, and when all is over.
    fn answer(
        &mut self,
        direction: Direction,
        plan: &Plan,
        sent_ns: u64,
        heard: bool,
    ) -> (Answer, u64) {
        let answer_ns = match self.config.policy {
            Policy::Ack => self.timing.ack_ns(),
            _ if plan.asks => self.timing.block_ack_ns(),
            _ => return (Answer::None, sent_ns),
        };
        let timeout_ns = sent_ns + self.timing.ack_timeout_ns();
        if !heard {
            return (Answer::Missing, timeout_ns);
        }
        let station = &mut self.stations[direction.index()];
        let begin_ns = sent_ns + self.timing.sifs_ns;
        let end_ns = begin_ns + answer_ns;
        self.on_air[1 - direction.index()].push((begin_ns, end_ns));
        station.stats.airtime_ns += total_ns(&[(begin_ns, end_ns)]);
        match station.answers.chance(self.config.control_loss) {
            false => (Answer::Came, end_ns),
            true => (Answer::Missing, end_ns.max(timeout_ns)),
        }
    }

    /// Draws the conclusions of an access.
    fn settle(
        &mut self,
        direction: Direction,
        plan: &Plan,
        answer: Answer,
        end_ns: u64,
        ends: &mut impl Ends<T>,
    ) {
        let sender = &mut self.stations[direction.index()].sender;
        let ends_block = plan.asks || !self.config.policy.is_block();
        let mut given_up = false;
        if ends_block {
            given_up = self.conclude(direction, plan.frames.end, answer, end_ns, ends);
        } else {
            sender.sent = plan.frames.end;
        }
        let contention = &mut self.stations[direction.index()].contention;
        match answer {
            Answer::Missing if !given_up => contention.fail(),
            Answer::None if !ends_block => contention.go_on(),
            _ => contention.succeed(),
        }
        let station = &mut self.stations[direction.index()];
        station.goes_on = answer == Answer::Came && self.config.txop_ns() > 0;
        // Whether the next frame fits into the burst is seen at its end.
        station.sender.contends = station.sender.wants() && !station.goes_on;
        station.free_ns = end_ns;
    }

    /// Goes through the first `count` frames, of which an answer speaks. True if it gave one up.
    fn conclude(
        &mut self,
        direction: Direction,
        count: usize,
        answer: Answer,
        end_ns: u64,
        ends: &mut impl Ends<T>,
    ) -> bool {
        let (policy, tries) = (self.config.policy, self.config.tries());
        let Station {
            sender,
            stats,
            receiver,
            ..
        } = &mut self.stations[direction.index()];
        sender.sent = 0;
        let mut given_up = false;
        let mut stay = std::collections::VecDeque::new();
        let spoken_of: Vec<_> = sender.held.drain(..count).collect();
        for mut held in spoken_of {
            // A block's answer also speaks of copies, which the receiver has from before.
            let told = answer == Answer::Came && (held.heard || held.frame.is_none());
            let last = held.attempts >= tries;
            if policy == Policy::NoAck {
                // Nobody is told anything.
            } else if told {
                ends.tell(held.event(EventKind::Delivered, direction, end_ns));
                continue;
            } else if !last {
                ends.tell(held.event(EventKind::Undelivered, direction, end_ns));
                stay.push_back(held);
                continue;
            } else {
                ends.tell(held.event(EventKind::UndeliveredFinal, direction, end_ns));
                given_up = true;
                stats.final_drops += 1;
                sender.must_skip |= policy.is_block();
            }
            match held.frame.take() {
                // ARP and the like are spared from what else would take them.
                Some(frame) if !frame.meta.lossy => ends.land(direction, frame, end_ns),
                Some(frame) => ends.lose(direction, frame, end_ns),
                None => {}
            }
        }
        stay.append(&mut sender.held);
        sender.held = stay;
        let only_skips = count == 0 && answer == Answer::Missing;
        sender.skips = if only_skips { sender.skips + 1 } else { 0 };
        if sender.skips >= tries {
            // The receiver's own patience (clause 9.10.5) ends as well.
            let release = |frame| ends.land(direction, frame, end_ns);
            receiver.skip_to(sender.first_sequence(), release);
            (sender.must_skip, sender.skips) = (false, 0);
            given_up = true;
        }
        given_up
    }
}
