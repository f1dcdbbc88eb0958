// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The event loop: reads frames from both interfaces, lets the link models decide, and sends what
//! is due. One thread, two directions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike};

use crate::clock::{self, Clock};
use crate::config::{Aqm, Config, Direction, DirectionConfig};
use crate::error::{Error, Result};
use crate::flows::FlowTable;
use crate::frame::{self, FrameMeta};
use crate::handle::RelayHandle;
use crate::label::{self, Label};
use crate::links::Links;
use crate::mac::Headers;
use crate::model::{Exit, Fate, Verdict};
use crate::outbox::Outbox;
use crate::pool::{Buffer, Pool};
use crate::port::{Arrival, Port};
use crate::reading::{Found, Reading};
use crate::schedule;
use crate::stats::{DirectionStats, Stats};

/// Kernel drops, processor time, the stop flag and interfaces that are down are looked at this
/// often.
const HOUSEKEEPING_NS: u64 = 50_000_000;
/// How soon an interface with full buffers is tried again.
const BUSY_RETRY_NS: u64 = 100_000;
/// Once frames have been sent the next are sent no sooner than so long after. A wake-up costs as
/// much as ten frames; at 1 Gbit/s one is due every 12 µs.
const SEND_INTERVAL_NS: u64 = 50_000;

/// An open relay between two interfaces.
pub struct Relay {
    handle: Arc<RelayHandle>,
    /// Interfaces `a` and `b`.
    ports: [Port; 2],
    /// When each of them is read.
    readings: [Reading; 2],
    /// The latest turn in which frames were sent.
    sent_ns: u64,
    /// In the order of [`Direction::ALL`]: lane i reads from port i and writes to the other.
    lanes: [Lane; 2],
    links: Links<Buffer>,
    /// Of both directions: a connection has the same number in each.
    flows: FlowTable,
}

/// One direction: buffers and counters.
struct Lane {
    direction: Direction,
    lossless_link_control: bool,
    /// Somebody looks at more of a frame than its size.
    wants_labels: bool,
    pool: Pool,
    outbox: Outbox,
    stats: DirectionStats,
}

impl Relay {
    /// Opens both interfaces in the network namespace of the calling thread. From here on the
    /// kernel queues their frames for the relay.
    ///
    /// # Errors
    /// The configuration is invalid, an interface is missing, or CAP_NET_RAW is.
    pub fn open(config: Config) -> Result<Self> {
        config.validate()?;
        let ports = [Port::open(&config.a)?, Port::open(&config.b)?];
        let lanes = Direction::ALL.map(|d| Lane::new(config.direction(d), d));
        Ok(Self {
            flows: FlowTable::new(&config),
            links: Links::new(&config),
            handle: Arc::new(RelayHandle::new(config)?),
            ports,
            readings: [Reading::new(), Reading::new()],
            sent_ns: 0,
            lanes,
        })
    }

    /// For other threads: statistics, changes of the settings, stop.
    pub fn stats_handle(&self) -> Arc<RelayHandle> {
        Arc::clone(&self.handle)
    }

    /// Relays in the calling thread until `stop` is set (noticed within 50 ms) or
    /// [`RelayHandle::stop`] is called (at once), and returns the final counters. Raises the
    /// thread's priority and sets its timer slack to the minimum, where permitted.
    ///
    /// # Errors
    /// The system refuses to wait, which it never should. Interfaces that go away are no error.
    pub fn run(mut self, stop: &AtomicBool) -> Result<Stats> {
        schedule::prefer_this_thread();
        let clock = Clock::start();
        let cpu_begin_ns = clock::thread_cpu_ns();
        let mut housekeeping_ns = 0;
        while !self.handle.is_stopped() {
            let turn_ns = clock.now_ns();
            if turn_ns >= housekeeping_ns {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                self.keep_house(&clock, cpu_begin_ns);
                housekeeping_ns = turn_ns + HOUSEKEEPING_NS;
            }
            self.take_over_changes(&clock);
            self.listen();
            self.turn(&clock, turn_ns);
            self.tell_events(&clock, turn_ns);
            self.handle.try_publish(|stats| self.report(stats, &clock));
            let wake_ns = self.wake_ns(&clock).min(housekeeping_ns);
            self.wait(wake_ns.saturating_sub(clock.now_ns()))?;
        }
        self.handle.events().close();
        self.keep_house(&clock, cpu_begin_ns);
        self.handle.publish(|stats| self.report(stats, &clock));
        Ok(self.handle.stats())
    }

    /// Reads what there is to be read and sends what is due.
    fn turn(&mut self, clock: &Clock, now_ns: u64) {
        self.read(clock, |reading| reading.is_due(now_ns));
        // What arrived since a port was read is in its socket, not yet in the queue, and must find
        // the queue as it was at its arrival.
        let known_ns = [0, 1].map(|index| self.ports[index].known_ns());
        let [a, b] = &mut self.ports;
        for (lane, port) in self.lanes.iter_mut().zip([b, a]) {
            if lane.deliver(port, clock, &mut self.links, (known_ns, now_ns)) {
                self.sent_ns = now_ns;
            }
        }
    }

    /// Reads those ports whose time has come.
    fn read(&mut self, clock: &Clock, is_due: impl Fn(&Reading) -> bool) {
        let ports = self.ports.iter_mut().zip(&mut self.readings);
        for (lane, (port, reading)) in self.lanes.iter_mut().zip(ports) {
            if is_due(reading) {
                let found = lane.receive(port, clock, &mut self.links, &mut self.flows);
                let least_delay_ns = self.links.least_delay_ns(lane.direction);
                reading.on_read(found, port.known_ns(), least_delay_ns);
            }
        }
    }

    /// Who listens is to hear of all that is done from now on.
    fn listen(&mut self) {
        if let Links::Shared(radio) = &mut self.links {
            let read_headers = |buffer: &Buffer| Headers::of(buffer.frame());
            radio.want_events(self.handle.events().is_wanted().then_some(read_headers));
        }
    }

    /// Tells who listens what the MAC has learnt by `now_ns`.
    fn tell_events(&mut self, clock: &Clock, now_ns: u64) {
        let Links::Shared(radio) = &mut self.links else {
            return;
        };
        let hub = self.handle.events();
        while let Some(event) = radio.pop_event(now_ns) {
            hub.publish(&event, clock.begin_ns());
        }
    }

    fn wake_ns(&self, clock: &Clock) -> u64 {
        let waits = self.lanes.iter().any(|lane| lane.outbox.len() > 0);
        let retry_ns = waits.then(|| clock.now_ns() + BUSY_RETRY_NS);
        let due_ns = self.links.next_due_ns();
        let due_ns = due_ns.map(|due_ns| due_ns.max(self.sent_ns + SEND_INTERVAL_NS));
        let read_ns = self.readings.iter().filter_map(Reading::next_ns);
        let wake_ns = due_ns.into_iter().chain(retry_ns).chain(read_ns).min();
        wake_ns.unwrap_or(u64::MAX)
    }

    /// Sleeps until a frame arrives at a port that listens, a change is made, or the time is over.
    fn wait(&self, timeout_ns: u64) -> Result<()> {
        let wake = self.handle.wake_fd();
        // poll() takes no absent descriptor here; an interface that is down, or does not listen,
        // has the wake-up in its place.
        let [a, b] = [0, 1].map(|index| {
            let fd = self.ports[index].fd();
            fd.filter(|_| self.readings[index].is_listening())
        });
        let sources = [a.unwrap_or(wake), b.unwrap_or(wake), wake];
        let mut fds = sources.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        // HOUSEKEEPING_NS bounds the time-out, so the conversion cannot overflow.
        match ppoll(
            &mut fds,
            Some(TimeSpec::nanoseconds(timeout_ns as i64)),
            None,
        ) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(()),
            Err(errno) => return Err(Error::io("waiting for frames", errno.into())),
        }
        if fds[2].any().unwrap_or(true) {
            self.handle.acknowledge_wake();
        }
        Ok(())
    }

    fn take_over_changes(&mut self, clock: &Clock) {
        if let Some(config) = self.handle.take_changed_config() {
            // What has arrived until now meets the link as it was, and a delay that is shorter now
            // leaves less time.
            self.read(clock, |_| true);
            self.flows.configure(&config);
            self.links.configure(&config);
            for (lane, direction) in self.lanes.iter_mut().zip(Direction::ALL) {
                lane.configure(config.direction(direction));
            }
        }
    }

    fn keep_house(&mut self, clock: &Clock, cpu_begin_ns: u64) {
        for (lane, port) in self.lanes.iter_mut().zip(&mut self.ports) {
            port.count_kernel_drops(&mut lane.stats);
            port.reopen_if_down(clock);
        }
        let cpu_ns = clock::thread_cpu_ns() - cpu_begin_ns;
        self.handle.try_publish(|stats| stats.cpu_ns = cpu_ns);
    }

    fn report(&self, stats: &mut Stats, clock: &Clock) {
        stats.elapsed_ns = clock.now_ns();
        stats.interface_downs = self.ports.iter().map(Port::downs).sum();
        stats.a_to_b = self.lanes[0].report(&self.links, stats.elapsed_ns);
        stats.b_to_a = self.lanes[1].report(&self.links, stats.elapsed_ns);
    }
}

impl Lane {
    fn new(config: &DirectionConfig, direction: Direction) -> Self {
        Self {
            direction,
            lossless_link_control: config.lossless_non_ip,
            wants_labels: wants_labels(config),
            pool: Pool::new(),
            outbox: Outbox::default(),
            stats: DirectionStats::default(),
        }
    }

    fn configure(&mut self, config: &DirectionConfig) {
        self.lossless_link_control = config.lossless_non_ip;
        self.wants_labels = wants_labels(config);
    }

    fn receive(
        &mut self,
        port: &mut Port,
        clock: &Clock,
        links: &mut Links<Buffer>,
        flows: &mut FlowTable,
    ) -> Found {
        let Self {
            direction,
            pool,
            lossless_link_control,
            wants_labels,
            stats,
            ..
        } = self;
        port.drain(clock, stats, |stats, arrival| {
            let kind = frame::classify(arrival.frame);
            let meta = FrameMeta {
                bytes: frame::tagged_bytes(arrival.frame, arrival.tag) as u32,
                lossy: !(kind.link_control && *lossless_link_control),
                tcp_data: kind.tcp_data,
                flow: flows.number(arrival.frame),
            };
            let label = match *wants_labels {
                true => label::label(arrival.frame),
                false => Label::default(),
            };
            accept(links, *direction, pool, stats, &arrival, (meta, label));
        })
    }

    /// Counts what was lost and sends what is due by `now_ns`, of what arrived by `known_ns`. True
    /// if there was anything to send.
    fn deliver(
        &mut self,
        port: &mut Port,
        clock: &Clock,
        links: &mut Links<Buffer>,
        (known_ns, now_ns): ([u64; 2], u64),
    ) -> bool {
        while let Some(exit) = links.pop_due(self.direction, known_ns, now_ns) {
            self.let_out(exit);
        }
        let any = self.outbox.len() > 0;
        self.outbox
            .flush(port, clock, &mut self.stats, &mut self.pool);
        any
    }

    /// Counts a frame that has left the model, and sends it on if it is to arrive.
    fn let_out(&mut self, mut exit: Exit<Buffer>) {
        let Exit { fate, meta, .. } = &exit;
        match fate {
            Fate::Delivered => {
                if exit.marked {
                    self.stats.aqm_marked_frames += 1;
                    label::mark(exit.token.frame_mut());
                }
                self.outbox.push(exit);
                return;
            }
            Fate::Lost => self.stats.on_lost(meta),
            Fate::QueueDropped => self.stats.on_queue_dropped(meta),
            Fate::AqmDropped => self.stats.on_aqm_dropped(meta),
            Fate::Thinned => self.stats.thinned_acks += 1,
        }
        self.pool.give(exit.token);
    }

    fn report(&self, links: &Links<Buffer>, now_ns: u64) -> DirectionStats {
        let mut stats = self.stats;
        links.report(self.direction, now_ns, &mut stats);
        stats.in_flight_frames += self.outbox.len() as u64;
        stats
    }
}

/// Whether a queue looks into frames. Reading them takes time that a FIFO can do without.
fn wants_labels(config: &DirectionConfig) -> bool {
    config.aqm != Aqm::Fifo || config.ack_thin > 1
}

/// Gives a frame that has arrived to the link.
fn accept(
    links: &mut Links<Buffer>,
    direction: Direction,
    pool: &mut Pool,
    stats: &mut DirectionStats,
    arrival: &Arrival,
    (meta, label): (FrameMeta, Label),
) {
    stats.on_received(&meta);
    let Some(mut buffer) = pool.take(meta.bytes as usize) else {
        stats.overflow_frames += 1;
        return;
    };
    frame::copy_with_tag(arrival.frame, arrival.tag, buffer.frame_mut());
    let (frame, at_ns) = (arrival.frame, arrival.arrival_ns);
    let verdict = links.push(direction, frame, (meta, label), buffer, at_ns);
    if let Verdict::QueueDropped(buffer) = verdict {
        stats.on_queue_dropped(&meta);
        pool.give(buffer);
    }
    stats.queue_max_frames = stats.queue_max_frames.max(links.queue_frames(direction));
}
