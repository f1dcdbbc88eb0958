// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The end that accepts: reads what is asked, compares what comes with it, and answers.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use socket2::Socket;

use super::pool::{Pool, Ready};
use super::request::{HEADER_BYTES, Request};
use super::tally::{Failure, Shared, Stage};
use super::turn::{
    BATCH, BUFFER_BYTES, Failed, TICK, TURN_BYTES, Turn, compare, failure_of, is_momentary,
};

/// How far the exchange is.
enum Phase {
    /// So many bytes of a request have come.
    Asked([u8; HEADER_BYTES], usize),
    /// So many bytes of what comes with it.
    There(Request, u64),
    /// So many of the answer are sent.
    Back(Request, u64),
    /// All is sent, and the end of the stream is waited for.
    Last,
}

/// A connection.
struct Line {
    phase: Phase,
    /// Exchanges that have begun.
    exchanges: u32,
}

pub(super) struct Answerer {
    shared: Arc<Shared>,
    pool: Pool<Line>,
    buffer: Vec<u8>,
}

impl Answerer {
    /// Runs to the end of the load; for a thread of its own.
    pub(super) fn run(shared: Arc<Shared>, listeners: Vec<Socket>) {
        let result = Self::new(Arc::clone(&shared), listeners).and_then(|mut side| side.work());
        if let Err(error) = result {
            shared.break_off(format!("{error:#}"));
        }
    }

    fn new(shared: Arc<Shared>, listeners: Vec<Socket>) -> Result<Self> {
        let mut pool = Pool::new()?;
        for listener in listeners {
            pool.listen(listener)?;
        }
        Ok(Self {
            shared,
            pool,
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    fn work(&mut self) -> Result<()> {
        while self.shared.stage() < Stage::Over {
            for ready in self.pool.wait(TICK)? {
                match ready {
                    Ready::Listener(index) => self.accept(index)?,
                    Ready::Connection(index) => self.go_on(index),
                }
            }
            let open = self.pool.len() as u64;
            self.shared.answering.store(open, Ordering::SeqCst);
        }
        Ok(())
    }

    fn accept(&mut self, listener: usize) -> Result<()> {
        for _ in 0..BATCH {
            let (socket, _) = match self.pool.listener(listener).accept() {
                Ok(accepted) => accepted,
                Err(e) if is_momentary(&e) || e.kind() == ErrorKind::ConnectionAborted => break,
                Err(e) => return Err(e).context("accept"),
            };
            socket.set_nonblocking(true)?;
            let line = Line {
                phase: Phase::Asked([0; HEADER_BYTES], 0),
                exchanges: 0,
            };
            self.pool.add(socket, false, line)?;
        }
        Ok(())
    }

    fn go_on(&mut self, index: usize) {
        let Some((socket, line)) = self.pool.get(index) else {
            return;
        };
        let turn = turn(&self.shared, socket, line, &mut self.buffer);
        if turn == Ok(Turn::Over) && line.exchanges > 1 {
            self.shared.note_resent(socket); // of those that stayed: there are not too many
        }
        let watched = match turn {
            Ok(Turn::Writes) => self.pool.watch(index, true),
            Ok(Turn::Reads) => self.pool.watch(index, false),
            _ => Ok(()),
        };
        match turn.and_then(|turn| watched.map(|()| turn).map_err(failure_of)) {
            Ok(Turn::Over) => drop(self.pool.remove(index)),
            Ok(_) => {}
            Err((failure, why)) => {
                self.pool.cut_off(index);
                self.shared
                    .fail(failure, || format!("answering end: {why}"));
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
        let done = match &mut line.phase {
            Phase::Asked(bytes, got) => {
                let read = read(socket, &mut bytes[*got..])?;
                match read {
                    None => Some(Turn::Waits),
                    Some(0) if *got == 0 => Some(Turn::Over),
                    Some(0) => return Err(ended()),
                    Some(read) => {
                        *got += read;
                        if *got == HEADER_BYTES {
                            let request = Request::decode(shared.seed, bytes);
                            let differs = || (Failure::Content, "a request differs".to_owned());
                            line.phase = Phase::There(request.ok_or_else(differs)?, 0);
                            line.exchanges += 1;
                        }
                        None
                    }
                }
            }
            Phase::There(request, at) => {
                let done = take(shared, socket, (request, at), buffer, &mut left)?;
                if *at == u64::from(request.there_bytes) {
                    line.phase = Phase::Back(*request, 0);
                }
                done
            }
            Phase::Back(request, at) => match give(shared, socket, (request, at), buffer)? {
                Turn::Over if request.answerer_closes => {
                    socket.shutdown(Shutdown::Write).map_err(failure_of)?;
                    line.phase = Phase::Last;
                    Some(Turn::Reads)
                }
                Turn::Over => {
                    line.phase = Phase::Asked([0; HEADER_BYTES], 0);
                    Some(Turn::Reads)
                }
                other => Some(other),
            },
            Phase::Last => match read(socket, &mut buffer[..1])? {
                None => Some(Turn::Waits),
                Some(0) => Some(Turn::Over),
                Some(_) => return Err((Failure::Content, "more came than was sent".into())),
            },
        };
        if let Some(done) = done {
            return Ok(done);
        }
    }
}

/// Reads what comes with a request and compares it. None: there may be more.
fn take(
    shared: &Shared,
    socket: &Socket,
    (request, at): (&Request, &mut u64),
    buffer: &mut [u8],
    left: &mut u64,
) -> Result<Option<Turn>, Failed> {
    let want = (u64::from(request.there_bytes) - *at).min(buffer.len() as u64);
    let buffer = &mut buffer[..want as usize];
    let read = match read(socket, buffer)? {
        None => return Ok(Some(Turn::Waits)),
        Some(0) => return Err(ended()),
        Some(read) => read,
    };
    compare(shared, request.there(shared.seed), *at, &buffer[..read])?;
    *at += read as u64;
    *left = left.saturating_sub(read as u64);
    let is_whole = *at == u64::from(request.there_bytes);
    Ok((*left == 0 && !is_whole).then_some(Turn::Waits))
}

/// Sends of the answer; over: all of it.
fn give(
    shared: &Shared,
    mut socket: &Socket,
    (request, at): (&Request, &mut u64),
    buffer: &mut [u8],
) -> Result<Turn, Failed> {
    let want = (u64::from(request.back_bytes) - *at).min(buffer.len() as u64);
    let buffer = &mut buffer[..want as usize];
    request.back(shared.seed).fill(*at, buffer);
    match socket.write(buffer) {
        Ok(written) => *at += written as u64,
        Err(e) if is_momentary(&e) => return Ok(Turn::Writes),
        Err(e) => return Err(failure_of(e)),
    }
    Ok(match *at == u64::from(request.back_bytes) {
        true => Turn::Over,
        false => Turn::Writes,
    })
}

/// None: nothing is there yet; 0: the end of the stream.
fn read(mut socket: &Socket, buffer: &mut [u8]) -> Result<Option<usize>, Failed> {
    match socket.read(buffer) {
        Ok(read) => Ok(Some(read)),
        Err(e) if is_momentary(&e) => Ok(None),
        Err(e) => Err(failure_of(e)),
    }
}

fn ended() -> Failed {
    (Failure::Content, "the stream ended early".into())
}
