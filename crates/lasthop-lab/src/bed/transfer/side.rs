// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One side of a transfer: a thread with one poller for all its connections, which sends or
//! receives, and opens or accepts, in any combination.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use polling::{Event, Events, PollMode, Poller};
use socket2::Socket;

use super::flow::Shared;
use super::sockets;

/// Bytes moved per turn and flow, so that one fast flow does not starve the others.
const TURN_BYTES: usize = 256 * 1024;
const BUFFER_BYTES: usize = 64 * 1024;
/// How long the thread may take to notice the stop flag.
const TICK: Duration = Duration::from_millis(50);
const LISTENER_KEY: usize = usize::MAX - 1;

/// What this side does with open connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Writes the content.
    Send,
    /// Reads and compares it.
    Receive,
}

/// How this side comes to its connections.
#[derive(Debug)]
pub enum Entry {
    /// It connects: one prepared socket per connection.
    Open {
        /// One per connection, taken out when it connects.
        sockets: Vec<Option<Socket>>,
        /// Where to: the flows go to these in turn.
        to: Vec<SocketAddr>,
        /// When each flow's first connect() is due, in nanoseconds since the transfer began.
        starts_ns: Vec<u64>,
    },
    /// It accepts: the opener's port tells the connection.
    Accept {
        /// Listening socket.
        listener: Socket,
        /// The opener's port of connection 0.
        first_port: u16,
    },
}

/// Congestion control of each connection.
pub type FlowCc = Arc<dyn Fn(usize) -> String + Send + Sync>;

enum Slot {
    /// Not opened, or not accepted, yet.
    Idle,
    Connecting(Arc<Socket>),
    /// Bytes sent or received so far.
    Open(Arc<Socket>, u64),
    /// Nothing to do any more. The socket stays open: closing it early could cut off its peer.
    Done(#[allow(dead_code)] Option<Arc<Socket>>),
}

pub(super) struct Side {
    role: Role,
    entry: Entry,
    shared: Arc<Shared>,
    flow_cc: FlowCc,
    slots: Vec<Slot>,
    poller: Arc<Poller>,
    buffer: Vec<u8>,
    /// Connections of each flow whose connect() has been called.
    opened: Vec<usize>,
    /// Flows of which none is open yet, by the time at which it is due, the next at the end.
    waiting: Vec<usize>,
}

impl Side {
    /// Runs a side to its end; meant for a thread of its own.
    pub(super) fn run(role: Role, entry: Entry, shared: Arc<Shared>, flow_cc: FlowCc) {
        let result =
            Self::new(role, entry, Arc::clone(&shared), flow_cc).and_then(|mut side| side.work());
        if let Err(error) = result {
            shared.fail_side(format!("{error:#}"));
        }
    }

    fn new(role: Role, entry: Entry, shared: Arc<Shared>, flow_cc: FlowCc) -> Result<Self> {
        let poller = Arc::new(Poller::new().context("cannot make a poller")?);
        match &entry {
            Entry::Accept { listener, .. } => {
                let interest = Event::readable(LISTENER_KEY);
                // SAFETY: the listener lives in `entry` as long as anybody waits on the poller;
                // what others hold of it is only for waking.
                unsafe { poller.add_with_mode(listener, interest, PollMode::Level)? };
            }
            Entry::Open { .. } => shared.set_opener(&poller),
        }
        let slots = shared.connections.iter().map(|_| Slot::Idle).collect();
        let opened = vec![0; shared.parallel];
        let mut waiting = Vec::new();
        if let Entry::Open { starts_ns, .. } = &entry {
            waiting.extend((0..shared.parallel).rev());
            waiting.sort_by_key(|flow| std::cmp::Reverse(starts_ns[*flow]));
        }
        Ok(Self {
            role,
            entry,
            shared,
            flow_cc,
            slots,
            poller,
            buffer: vec![0; BUFFER_BYTES],
            opened,
            waiting,
        })
    }

    fn work(&mut self) -> Result<()> {
        let mut events = Events::new();
        while !self.shared.is_over() {
            let wait = self.open_due()?;
            events.clear();
            match self.poller.wait(&mut events, Some(wait)) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                other => other.context("poll")?,
            };
            for event in events.iter() {
                if event.key == LISTENER_KEY {
                    self.accept_all()?;
                } else {
                    self.on_event(event.key)?;
                }
            }
        }
        // Whatever still matters has been read and compared. A socket that lingered would keep
        // its namespace, and with it the whole test bed, alive for minutes.
        self.reset_all();
        Ok(())
    }

    /// Calls connect() wherever the time has come; returns how long to wait for the next. Looks
    /// at few flows: there may be thousands, and this is done at every turn.
    fn open_due(&mut self) -> Result<Duration> {
        let mut wait = TICK;
        while let (Some(flow), Entry::Open { starts_ns, .. }) = (self.waiting.last(), &self.entry) {
            let (flow, due_ns) = (*flow, starts_ns[*flow]);
            let early_ns = due_ns.saturating_sub(self.shared.now_ns());
            if early_ns > 0 {
                wait = wait.min(Duration::from_nanos(early_ns));
                break;
            }
            self.waiting.pop();
            self.connect_next(flow)?;
        }
        if self.shared.rounds() > 1 && matches!(self.entry, Entry::Open { .. }) {
            for flow in 0..self.opened.len() {
                while self.is_next_ready(flow) {
                    self.connect_next(flow)?;
                }
            }
        }
        Ok(wait)
    }

    /// Whether the next connection of a flow may begin: the receiver has everything of the one
    /// before.
    fn is_next_ready(&self, flow: usize) -> bool {
        let opened = self.opened[flow];
        if opened == 0 || opened == self.shared.rounds() {
            return false;
        }
        let before = flow + (opened - 1) * self.shared.parallel;
        self.shared.connections[before]
            .finished
            .load(Ordering::SeqCst)
    }

    fn connect_next(&mut self, flow: usize) -> Result<()> {
        let index = flow + self.opened[flow] * self.shared.parallel;
        self.opened[flow] += 1;
        let Entry::Open { sockets, to, .. } = &mut self.entry else {
            return Ok(());
        };
        let to = to[flow % to.len()];
        match sockets[index].take() {
            Some(socket) => self.connect(index, Arc::new(socket), to),
            None => Ok(()),
        }
    }

    fn connect(&mut self, index: usize, socket: Arc<Socket>, to: SocketAddr) -> Result<()> {
        let now_ns = self.shared.now_ns();
        self.shared.connections[index]
            .opened_ns
            .store(now_ns, Ordering::SeqCst);
        if let Err(e) = socket.connect(&to.into()) {
            if e.raw_os_error() != Some(libc::EINPROGRESS) {
                self.fail(index, &format!("cannot connect: {e}"));
                return Ok(());
            }
        }
        self.watch(&socket, Event::writable(index))?;
        self.slots[index] = Slot::Connecting(socket);
        Ok(())
    }

    fn accept_all(&mut self) -> Result<()> {
        let Entry::Accept {
            listener,
            first_port,
        } = &self.entry
        else {
            return Ok(());
        };
        let (listener, first_port) = (listener.try_clone()?, *first_port);
        loop {
            let (socket, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::WouldBlock | ErrorKind::ConnectionAborted
                    ) =>
                {
                    return Ok(());
                }
                Err(e) => return Err(e).context("accept"),
            };
            let port = peer.as_socket().map_or(0, |address| address.port());
            let index = self.index_of(port, first_port);
            if matches!(self.slots.get(index), Some(Slot::Idle)) {
                socket.set_nonblocking(true)?;
                sockets::set_congestion_control(&socket, &(self.flow_cc)(index))?;
                let socket = Arc::new(socket);
                self.watch(&socket, self.interest(index))?;
                self.open(index, socket);
            }
        }
    }

    /// Which connection comes from that port. Where there is one at a time it is the next, whatever
    /// its port: a proxy may have put one of its own in place of it.
    fn index_of(&self, port: u16, first_port: u16) -> usize {
        let index = usize::from(port.wrapping_sub(first_port));
        let mut slots = self.slots.iter();
        match index < slots.len() || self.shared.parallel > 1 {
            true => index,
            false => slots
                .position(|slot| matches!(slot, Slot::Idle))
                .unwrap_or(index),
        }
    }

    fn interest(&self, index: usize) -> Event {
        match self.role {
            Role::Send => Event::writable(index),
            Role::Receive => Event::readable(index),
        }
    }

    fn watch(&self, socket: &Arc<Socket>, interest: Event) -> Result<()> {
        // SAFETY: the slot keeps the socket until the poller is gone or has forgotten it.
        unsafe {
            self.poller
                .add_with_mode(socket.as_ref(), interest, PollMode::Level)
        }
        .context("cannot watch a socket")
    }

    fn open(&mut self, index: usize, socket: Arc<Socket>) {
        if self.role == Role::Send {
            self.shared.connections[index].set_sender(&socket);
        }
        self.slots[index] = Slot::Open(socket, 0);
    }

    fn on_event(&mut self, index: usize) -> Result<()> {
        match &self.slots[index] {
            Slot::Connecting(socket) => {
                let socket = Arc::clone(socket);
                if let Some(error) = socket.take_error()? {
                    self.fail(index, &format!("cannot connect: {error}"));
                    return Ok(());
                }
                let interest = self.interest(index);
                self.poller
                    .modify_with_mode(socket.as_ref(), interest, PollMode::Level)?;
                self.open(index, socket);
            }
            Slot::Open(socket, done_bytes) => {
                let (socket, done_bytes) = (Arc::clone(socket), *done_bytes);
                match self.role {
                    Role::Send => self.send(index, &socket, done_bytes),
                    Role::Receive => self.receive(index, &socket, done_bytes),
                }
            }
            Slot::Idle | Slot::Done(_) => {}
        }
        Ok(())
    }

    fn send(&mut self, index: usize, socket: &Arc<Socket>, mut sent: u64) {
        let connection = &self.shared.connections[index];
        let content = connection.content;
        let wanted = || match self.shared.ended.load(Ordering::SeqCst) {
            true => {
                connection.set_wanted_bytes(sent);
                sent
            }
            false => u64::MAX,
        };
        let target = connection.wanted_bytes().unwrap_or_else(wanted);
        let turn_end = sent.saturating_add(TURN_BYTES as u64).min(target);
        while sent < turn_end {
            let chunk = (turn_end - sent).min(BUFFER_BYTES as u64) as usize;
            content.fill(sent, &mut self.buffer[..chunk]);
            match socket.as_ref().write(&self.buffer[..chunk]) {
                Ok(written) => sent += written as u64,
                Err(e) if is_momentary(&e) => break,
                Err(e) => return self.fail(index, &format!("sending after {sent} bytes: {e}")),
            }
        }
        self.slots[index] = Slot::Open(Arc::clone(socket), sent);
        if sent == target {
            if let Err(e) = socket.shutdown(Shutdown::Write) {
                return self.fail(index, &format!("sending after {sent} bytes: {e}"));
            }
            self.close(index);
        }
    }

    fn receive(&mut self, index: usize, socket: &Arc<Socket>, mut received: u64) {
        let state = &self.shared.connections[index];
        let turn_end = received + TURN_BYTES as u64;
        let end = loop {
            if received >= turn_end {
                break Ok(false);
            }
            let got = match socket.as_ref().read(&mut self.buffer) {
                Ok(0) => break Ok(true),
                Ok(got) => &self.buffer[..got],
                Err(e) if is_momentary(&e) => break Ok(false),
                Err(e) => break Err(format!("receiving after {received} bytes: {e}")),
            };
            if let Some(position) = state.content.first_wrong(received, got) {
                break Err(format!("content differs at byte {position}"));
            }
            received += got.len() as u64;
            state.received_bytes.store(received, Ordering::Relaxed);
            state
                .last_byte_ns
                .store(self.shared.now_ns(), Ordering::Relaxed);
        };
        self.slots[index] = Slot::Open(Arc::clone(socket), received);
        let wanted = state.wanted_bytes();
        match end {
            Err(reason) => self.fail(index, &reason),
            Ok(_) if wanted.is_some_and(|wanted| received > wanted) => {
                self.fail(
                    index,
                    &format!("{received} bytes received, more than were sent"),
                );
            }
            Ok(true) if wanted == Some(received) => {
                if self.shared.rounds() > 1 {
                    // The chain's next connection begins, so this one is over, as programs would
                    // have it. Failing is no harm: everything has arrived.
                    let _ = socket.shutdown(Shutdown::Write);
                }
                self.close(index);
                self.shared.finish(index);
            }
            Ok(true) => self.fail(
                index,
                &format!("the stream ended early, after {received} bytes"),
            ),
            Ok(false) => {}
        }
    }

    fn fail(&mut self, index: usize, reason: &str) {
        self.close(index);
        self.shared.fail(index, reason.to_owned());
    }

    /// Stops watching a connection; its socket stays.
    fn close(&mut self, index: usize) {
        let slot = std::mem::replace(&mut self.slots[index], Slot::Idle);
        let socket = match slot {
            Slot::Connecting(socket) | Slot::Open(socket, _) => Some(socket),
            Slot::Done(socket) => socket,
            Slot::Idle => None,
        };
        if let Some(socket) = &socket {
            let _ = self.poller.delete(socket.as_ref());
        }
        self.slots[index] = Slot::Done(socket);
    }

    fn reset_all(&self) {
        for slot in &self.slots {
            if let Slot::Connecting(socket) | Slot::Open(socket, _) | Slot::Done(Some(socket)) =
                slot
            {
                sockets::reset(socket);
            }
        }
    }
}

fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
