// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Sockets by number, watched by one poller.

use std::io::{self, ErrorKind};
use std::time::Duration;

use anyhow::{Context, Result};
use polling::{Event, Events, PollMode, Poller};
use socket2::Socket;

use crate::bed::transfer::sockets;

/// Listeners have the numbers from here on.
const LISTENERS: usize = usize::MAX / 2;

/// A place of the pool.
struct Place<T> {
    socket: Socket,
    state: T,
}

/// Sockets with what is known of each. A number is given again only by [`Pool::add`], so that events
/// that were taken together are all of the connections that they were for.
pub(super) struct Pool<T> {
    places: Vec<Option<Place<T>>>,
    listeners: Vec<Socket>,
    poller: Poller,
    free: Vec<usize>,
    events: Events,
}

/// What a turn of the poller has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    /// A connection is to be had from that listener.
    Listener(usize),
    /// That one can go on.
    Connection(usize),
}

impl<T> Pool<T> {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            places: Vec::new(),
            listeners: Vec::new(),
            poller: Poller::new().context("cannot make a poller")?,
            free: Vec::new(),
            events: Events::new(),
        })
    }

    pub(super) fn listen(&mut self, listener: Socket) -> Result<()> {
        let key = LISTENERS + self.listeners.len();
        // SAFETY: the pool keeps the listener as long as the poller.
        unsafe {
            self.poller
                .add_with_mode(&listener, Event::readable(key), PollMode::Level)?;
        }
        self.listeners.push(listener);
        Ok(())
    }

    pub(super) fn listener(&self, index: usize) -> &Socket {
        &self.listeners[index]
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Takes one up; `writable`: what it waits for, else that it can be read.
    pub(super) fn add(&mut self, socket: Socket, writable: bool, state: T) -> Result<usize> {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        // SAFETY: the place keeps the socket until `remove` has the poller forget it.
        let watched = unsafe {
            self.poller
                .add_with_mode(&socket, interest(index, writable), PollMode::Level)
        };
        if let Err(error) = watched {
            self.free.push(index);
            return Err(error).context("cannot watch a socket");
        }
        self.places[index] = Some(Place { socket, state });
        Ok(index)
    }

    /// What it waits for from now on.
    pub(super) fn watch(&self, index: usize, writable: bool) -> io::Result<()> {
        match &self.places[index] {
            Some(place) => self.poller.modify_with_mode(
                &place.socket,
                interest(index, writable),
                PollMode::Level,
            ),
            None => Ok(()),
        }
    }

    pub(super) fn get(&mut self, index: usize) -> Option<(&Socket, &mut T)> {
        let place = self.places.get_mut(index)?.as_mut()?;
        Some((&place.socket, &mut place.state))
    }

    /// Numbers that are or were in use.
    pub(super) fn numbers(&self) -> std::ops::Range<usize> {
        0..self.places.len()
    }

    /// Closes it; what was not sent yet the kernel still sends.
    pub(super) fn remove(&mut self, index: usize) -> Option<T> {
        let place = self.places[index].take()?;
        let _ = self.poller.delete(&place.socket);
        self.free.push(index);
        Some(place.state)
    }

    /// Closes it with a reset.
    pub(super) fn cut_off(&mut self, index: usize) -> Option<T> {
        if let Some(place) = &self.places[index] {
            sockets::reset(&place.socket);
        }
        self.remove(index)
    }

    /// Waits for `most` at the longest.
    pub(super) fn wait(&mut self, most: Duration) -> Result<Vec<Ready>> {
        self.events.clear();
        match self.poller.wait(&mut self.events, Some(most)) {
            Err(e) if e.kind() == ErrorKind::Interrupted => return Ok(Vec::new()),
            other => other.context("poll")?,
        };
        let ready = |event: Event| match event.key {
            key if key >= LISTENERS => Ready::Listener(key - LISTENERS),
            key => Ready::Connection(key),
        };
        Ok(self.events.iter().map(ready).collect())
    }
}

impl<T> Drop for Pool<T> {
    /// A socket that lingered would keep its namespace alive for minutes.
    fn drop(&mut self) {
        for index in self.numbers() {
            self.cut_off(index);
        }
    }
}

fn interest(index: usize, writable: bool) -> Event {
    match writable {
        true => Event::writable(index),
        false => Event::readable(index),
    }
}
