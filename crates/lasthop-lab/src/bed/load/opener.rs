// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The end that connects: opens when the plan says so, asks, and compares what comes back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use socket2::Socket;

use super::plan::{Clock, Plan};
use super::pool::{Pool, Ready};
use super::request::{HEADER_BYTES, Request};
use super::tally::{Failure, Shared, Stage};
use super::turn::{
    BATCH, BUFFER_BYTES, Failed, TICK, TURN_BYTES, Turn, compare, failure_of, is_momentary,
};
use crate::bed::namespace::Namespace;
use crate::bed::transfer::sockets;

/// How often those that get on no more are looked for.
const LOOK_NS: u64 = 1_000_000_000;

/// Which addresses connect to which, in turn.
pub(super) type Ways = Vec<(IpAddr, SocketAddr)>;

/// How far a connection is.
enum Phase {
    Connecting,
    /// So many bytes of the request and of what goes with it are sent.
    Asking(u64),
    /// So many of the answer have come.
    Hearing(u64),
    /// Nothing is under way.
    Rests,
    /// The end of the stream is waited for.
    Last,
}

/// A connection.
struct Line {
    request: Request,
    phase: Phase,
    stays: bool,
    /// It asks again and again.
    active: bool,
    /// When the exchange began, since the load did.
    began_ns: u64,
    /// When it got on last.
    moved_ns: u64,
}

pub(super) struct Opener {
    shared: Arc<Shared>,
    plan: Plan,
    ways: Ways,
    pool: Pool<Line>,
    buffer: Vec<u8>,
    held: Clock,
    /// Since all of those that stay are there, at this time.
    short: Clock,
    short_from_ns: u64,
    next_id: u64,
    short_open: u32,
    /// When resting connections ask again: time, place, number of the connection.
    due: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// Those that stay are ended as fast as they were opened, from then on.
    ends: Option<(u64, Clock)>,
    /// Place at which the next of them is looked for.
    look_at: usize,
    looked_ns: u64,
}

impl Opener {
    /// Runs to the end of the load; for a thread of its own, which goes to `namespace` for good.
    pub(super) fn run(shared: Arc<Shared>, plan: Plan, ways: Ways, namespace: &Namespace) {
        let result = namespace
            .enter()
            .and_then(|()| Self::new(Arc::clone(&shared), plan, ways))
            .and_then(|mut side| side.work());
        if let Err(error) = result {
            shared.break_off(format!("{error:#}"));
        }
    }

    fn new(shared: Arc<Shared>, plan: Plan, ways: Ways) -> Result<Self> {
        Ok(Self {
            shared,
            plan,
            ways,
            pool: Pool::new()?,
            buffer: vec![0; BUFFER_BYTES],
            held: Clock::new(plan.held_per_s),
            short: Clock::new(plan.short_per_s),
            short_from_ns: 0,
            next_id: 0,
            short_open: 0,
            due: BinaryHeap::new(),
            ends: None,
            look_at: 0,
            looked_ns: 0,
        })
    }

    fn work(&mut self) -> Result<()> {
        loop {
            match self.shared.stage() {
                Stage::Runs => self.open_due()?,
                Stage::Ends if self.pool.len() == 0 => break,
                Stage::Ends => self.end_some(),
                Stage::Over => break,
            }
            self.ask_due();
            for ready in self.pool.wait(self.patience())? {
                if let Ready::Connection(index) = ready {
                    self.go_on(index);
                }
            }
            self.look_for_stuck();
        }
        Ok(())
    }

    /// How long nothing is due.
    fn patience(&self) -> Duration {
        let now_ns = self.shared.now_ns();
        let asks = self.due.peek().map(|due| due.0.0.saturating_sub(now_ns));
        let opens = match self.shared.stage() {
            Stage::Runs if self.are_all_held() => self.short.wait_ns(now_ns - self.short_from_ns),
            Stage::Runs => self.held.wait_ns(now_ns),
            _ => None,
        };
        let wait_ns = asks.into_iter().chain(opens).min();
        let wait = wait_ns.map_or(TICK, Duration::from_nanos);
        wait.clamp(Duration::from_micros(200), TICK)
    }

    fn are_all_held(&self) -> bool {
        self.held.done() >= u64::from(self.plan.held)
    }

    fn open_due(&mut self) -> Result<()> {
        let now_ns = self.shared.now_ns();
        let mut left = BATCH;
        while left > 0 && !self.are_all_held() && self.held.due(now_ns) > 0 {
            left -= 1;
            self.held.count();
            self.open(true)?;
        }
        if !self.are_all_held() {
            self.short_from_ns = now_ns;
            return Ok(());
        }
        let since_ns = now_ns - self.short_from_ns;
        while left > 0 && self.short.due(since_ns) > 0 {
            self.short.count();
            if self.short_open >= self.plan.short_most {
                self.shared.put_off.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            left -= 1;
            self.open(false)?;
        }
        Ok(())
    }

    fn open(&mut self, stays: bool) -> Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        let (from, to) = self.ways[id as usize % self.ways.len()];
        let socket = sockets::from_any_port(from)?;
        let now_ns = self.shared.now_ns();
        let line = Line {
            request: match stays {
                true => self.plan.request(id, 0),
                false => self.plan.short(id),
            },
            phase: Phase::Connecting,
            stays,
            active: stays && self.held.done() <= u64::from(self.plan.active),
            began_ns: now_ns,
            moved_ns: now_ns,
        };
        self.shared.opened.fetch_add(1, Ordering::Relaxed);
        match socket.connect(&to.into()) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => {
                self.shared.fail(Failure::Other, || {
                    format!("connection {id} from {from} to {to}: cannot connect: {e}")
                });
                return Ok(());
            }
            _ => {}
        }
        self.pool.add(socket, true, line)?;
        match stays {
            true => drop(self.shared.held.fetch_add(1, Ordering::Relaxed)),
            false => self.short_open += 1,
        }
        Ok(())
    }

    /// Lets connections that rest ask again, where their time has come.
    fn ask_due(&mut self) {
        let now_ns = self.shared.now_ns();
        for _ in 0..BATCH {
            let Some(&Reverse((due_ns, index, id))) = self.due.peek() else {
                break;
            };
            if due_ns > now_ns {
                break;
            }
            self.due.pop();
            let Some((_, line)) = self.pool.get(index) else {
                continue;
            };
            if line.request.id != id || !matches!(line.phase, Phase::Rests) {
                continue; // it failed meanwhile, or is being ended
            }
            line.request = self.plan.request(id, line.request.exchange + 1);
            line.phase = Phase::Asking(0);
            (line.began_ns, line.moved_ns) = (now_ns, now_ns);
            self.go_on(index);
        }
    }

    /// Ends connections that rest: those that ask come to their rest first.
    fn end_some(&mut self) {
        let now_ns = self.shared.now_ns();
        let fresh = (now_ns, Clock::new(self.plan.held_per_s));
        let (began_ns, clock) = self.ends.get_or_insert(fresh);
        let mut left = clock.due(now_ns - *began_ns).min(BATCH as u64);
        let numbers = self.pool.numbers().len();
        for _ in 0..numbers {
            if left == 0 {
                break;
            }
            self.look_at = (self.look_at + 1) % numbers;
            let index = self.look_at;
            let Some((socket, line)) = self.pool.get(index) else {
                continue;
            };
            if !matches!(line.phase, Phase::Rests) {
                continue;
            }
            left -= 1;
            if let Some((_, clock)) = &mut self.ends {
                clock.count();
            }
            line.phase = Phase::Last;
            line.moved_ns = now_ns;
            if let Err(error) = socket.shutdown(Shutdown::Write) {
                self.fail(index, failure_of(error));
            }
        }
    }

    fn go_on(&mut self, index: usize) {
        let Some((socket, line)) = self.pool.get(index) else {
            return;
        };
        let turn = turn(&self.shared, socket, line, &mut self.buffer);
        let watched = match turn {
            Ok(Turn::Writes) => self.pool.watch(index, true),
            Ok(Turn::Reads | Turn::Answered) => self.pool.watch(index, false),
            _ => Ok(()),
        };
        match turn.and_then(|turn| watched.map(|()| turn).map_err(failure_of)) {
            Ok(Turn::Answered) => self.rest(index),
            Ok(Turn::Over) => {
                self.shared.finished.fetch_add(1, Ordering::Relaxed);
                let line = self.pool.remove(index);
                self.forget(line.as_ref());
            }
            Ok(_) => {}
            Err(failure) => self.fail(index, failure),
        }
    }

    /// An exchange of a connection that stays is complete.
    fn rest(&mut self, index: usize) {
        let now_ns = self.shared.now_ns();
        let ends = self.shared.stage() > Stage::Runs;
        if let Some((_, line)) = self.pool.get(index) {
            let Request { id, exchange, .. } = line.request;
            line.phase = Phase::Rests;
            if line.active && !ends {
                let due_ns = now_ns + self.plan.pause_ns(id, exchange);
                self.due.push(Reverse((due_ns, index, id)));
            }
        }
    }

    fn fail(&mut self, index: usize, (failure, why): Failed) {
        let line = self.pool.cut_off(index);
        if let Some(line) = &line {
            let at = match line.phase {
                Phase::Connecting => "connecting",
                Phase::Asking(_) => "asking",
                Phase::Hearing(_) => "hearing",
                Phase::Rests => "at rest",
                Phase::Last => "closing",
            };
            let Request { id, exchange, .. } = line.request;
            self.shared.fail(failure, || {
                format!("connection {id}, exchange {exchange}, {at}: {why}")
            });
        }
        self.forget(line.as_ref());
    }

    fn forget(&mut self, line: Option<&Line>) {
        if line.is_some_and(|line| !line.stays) {
            self.short_open -= 1;
        }
    }

    fn look_for_stuck(&mut self) {
        let now_ns = self.shared.now_ns();
        if now_ns < self.looked_ns + LOOK_NS {
            return;
        }
        self.looked_ns = now_ns;
        let patience_ns = self.plan.patience.as_nanos() as u64;
        for index in self.pool.numbers() {
            let Some((socket, line)) = self.pool.get(index) else {
                continue;
            };
            let rests = matches!(line.phase, Phase::Rests);
            if !rests && now_ns.saturating_sub(line.moved_ns) > patience_ns {
                let state =
                    sockets::tcp_info(socket).map_or_else(|_| String::new(), |i| i.to_string());
                let why = format!("stands still for {:?}: {state}", self.plan.patience);
                self.fail(index, (Failure::Stuck, why));
            }
        }
    }
}

/// Goes on as far as the socket lets it.
fn turn(
    shared: &Shared,
    socket: &Socket,
    line: &mut Line,
    buffer: &mut [u8],
) -> Result<Turn, Failed> {
    let mut left = TURN_BYTES;
    loop {
        match line.phase {
            Phase::Connecting => {
                if let Some(error) = socket.take_error().map_err(failure_of)? {
                    return Err(failure_of(error));
                }
                if socket.peer_addr().is_err() {
                    return Ok(Turn::Waits);
                }
                shared.established.fetch_add(1, Ordering::Relaxed);
                line.phase = Phase::Asking(0);
            }
            Phase::Asking(at) => match ask(shared.seed, socket, &line.request, at, buffer)? {
                Some(at) => {
                    line.moved_ns = shared.now_ns();
                    line.phase = Phase::Asking(at);
                    if at == HEADER_BYTES as u64 + u64::from(line.request.there_bytes) {
                        line.phase = Phase::Hearing(0);
                        return Ok(Turn::Reads);
                    }
                }
                None => return Ok(Turn::Writes),
            },
            Phase::Hearing(at) => match hear(shared, socket, &line.request, at, buffer)? {
                Some(heard) => {
                    left = left.saturating_sub(heard - at);
                    let at = heard;
                    line.moved_ns = shared.now_ns();
                    line.phase = Phase::Hearing(at);
                    if at == u64::from(line.request.back_bytes) {
                        shared.exchanged(line.moved_ns - line.began_ns);
                        if line.stays {
                            return Ok(Turn::Answered);
                        }
                        if !line.request.answerer_closes {
                            socket.shutdown(Shutdown::Write).map_err(failure_of)?;
                        }
                        line.phase = Phase::Last;
                    } else if left == 0 {
                        return Ok(Turn::Waits);
                    }
                }
                None => return Ok(Turn::Waits),
            },
            Phase::Rests | Phase::Last => return last(socket, &line.phase, buffer),
        }
    }
}

/// Sends of the request; returns how far it is, none: as far as it goes.
fn ask(
    seed: u64,
    mut socket: &Socket,
    request: &Request,
    at: u64,
    buffer: &mut [u8],
) -> Result<Option<u64>, Failed> {
    let header = request.encode(seed);
    let whole = HEADER_BYTES as u64 + u64::from(request.there_bytes);
    let want = (whole - at).min(buffer.len() as u64) as usize;
    let buffer = &mut buffer[..want];
    let of_header = HEADER_BYTES.saturating_sub(at as usize).min(want);
    if of_header > 0 {
        buffer[..of_header].copy_from_slice(&header[at as usize..at as usize + of_header]);
    }
    let content_at = (at + of_header as u64) - HEADER_BYTES as u64;
    request
        .there(seed)
        .fill(content_at, &mut buffer[of_header..]);
    match socket.write(buffer) {
        Ok(written) => Ok(Some(at + written as u64)),
        Err(e) if is_momentary(&e) => Ok(None),
        Err(e) => Err(failure_of(e)),
    }
}

/// Reads of the answer and compares it; returns how far it is, none: as far as it goes.
fn hear(
    shared: &Shared,
    mut socket: &Socket,
    request: &Request,
    at: u64,
    buffer: &mut [u8],
) -> Result<Option<u64>, Failed> {
    let want = (u64::from(request.back_bytes) - at).min(buffer.len() as u64);
    let buffer = &mut buffer[..want as usize];
    match socket.read(buffer) {
        Ok(0) => Err((
            Failure::Content,
            format!("the stream ended after {at} bytes"),
        )),
        Ok(read) => {
            compare(shared, request.back(shared.seed), at, &buffer[..read])?;
            Ok(Some(at + read as u64))
        }
        Err(e) if is_momentary(&e) => Ok(None),
        Err(e) => Err(failure_of(e)),
    }
}

/// Where nothing may come but the end of the stream, and at rest not even that.
fn last(mut socket: &Socket, phase: &Phase, buffer: &mut [u8]) -> Result<Turn, Failed> {
    match socket.read(&mut buffer[..1]) {
        Ok(0) if matches!(phase, Phase::Last) => Ok(Turn::Over),
        Ok(0) => Err((Failure::Other, "closed by its other end".into())),
        Ok(_) => Err((Failure::Content, "more came than was sent".into())),
        Err(e) if is_momentary(&e) => Ok(Turn::Waits),
        Err(e) => Err(failure_of(e)),
    }
}
