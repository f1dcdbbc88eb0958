// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One side of a transfer: a thread with one poller for all its connections, which sends or
//! receives, and opens or accepts, in any combination.

use std::collections::VecDeque;
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
    /// It connects: one prepared socket per flow.
    Open {
        /// In the order of the flows.
        sockets: VecDeque<Socket>,
        /// Where to.
        to: SocketAddr,
        /// Between one flow's connect() and the next, in nanoseconds.
        gap_ns: u64,
    },
    /// It accepts: the opener's port tells the flow.
    Accept {
        /// Listening socket.
        listener: Socket,
        /// The opener's port of flow 0.
        first_port: u16,
    },
}

/// Congestion control of each flow.
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
    poller: Poller,
    buffer: Vec<u8>,
    /// Flows whose connect() has been called.
    opened: usize,
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
        let poller = Poller::new().context("cannot make a poller")?;
        if let Entry::Accept { listener, .. } = &entry {
            let interest = Event::readable(LISTENER_KEY);
            // SAFETY: the listener lives in `entry`, as long as the poller.
            unsafe { poller.add_with_mode(listener, interest, PollMode::Level)? };
        }
        let slots = shared.flows.iter().map(|_| Slot::Idle).collect();
        Ok(Self {
            role,
            entry,
            shared,
            flow_cc,
            slots,
            poller,
            buffer: vec![0; BUFFER_BYTES],
            opened: 0,
        })
    }

    fn work(&mut self) -> Result<()> {
        let mut events = Events::new();
        while !self.shared.stop.load(Ordering::SeqCst) {
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

    /// Calls connect() for every flow whose time has come; returns how long to wait for the next.
    fn open_due(&mut self) -> Result<Duration> {
        while let Entry::Open {
            sockets,
            to,
            gap_ns,
        } = &mut self.entry
        {
            let due_ns = gap_ns.saturating_mul(self.opened as u64);
            let early_ns = due_ns.saturating_sub(self.shared.now_ns());
            if early_ns > 0 {
                return Ok(TICK.min(Duration::from_nanos(early_ns)));
            }
            let to = *to;
            let Some(socket) = sockets.pop_front() else {
                break;
            };
            self.connect(Arc::new(socket), to)?;
        }
        Ok(TICK)
    }

    fn connect(&mut self, socket: Arc<Socket>, to: SocketAddr) -> Result<()> {
        let index = self.opened;
        self.opened += 1;
        let now_ns = self.shared.now_ns();
        self.shared.flows[index]
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
            let index = usize::from(port.wrapping_sub(first_port));
            if matches!(self.slots.get(index), Some(Slot::Idle)) {
                socket.set_nonblocking(true)?;
                sockets::set_congestion_control(&socket, &(self.flow_cc)(index))?;
                let socket = Arc::new(socket);
                self.watch(&socket, self.interest(index))?;
                self.open(index, socket);
            }
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
            self.shared.flows[index].set_sender(&socket);
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
        let content = self.shared.flows[index].content;
        let target = self.shared.bytes_per_flow.unwrap_or(u64::MAX);
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
        let flow = &self.shared.flows[index];
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
            if let Some(position) = flow.content.first_wrong(received, got) {
                break Err(format!("content differs at byte {position}"));
            }
            received += got.len() as u64;
            flow.received_bytes.store(received, Ordering::Relaxed);
            flow.last_byte_ns
                .store(self.shared.now_ns(), Ordering::Relaxed);
        };
        self.slots[index] = Slot::Open(Arc::clone(socket), received);
        let wanted = self.shared.bytes_per_flow;
        match end {
            Err(reason) => self.fail(index, &reason),
            Ok(_) if wanted.is_some_and(|wanted| received > wanted) => {
                self.fail(
                    index,
                    &format!("{received} bytes received, more than were sent"),
                );
            }
            Ok(true) if wanted == Some(received) => {
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

    /// Stops watching a flow; its socket stays.
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
