// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Bytes from one socket to the other and back, by splice(2), so that they never come to user space.
//! What is under way is bounded: who does not read stops who writes.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, SpliceFFlags, fcntl, splice};
use nix::unistd::{pipe2, read, write};
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::sleep;

use super::sockets;

/// Most that is copied by hand: not more than the smallest pipe takes at once.
const PIECE_BYTES: usize = 1024;

/// How long an end may acknowledge nothing more of what is left for it when both have closed, and how often it is
/// looked at.
const PATIENCE: Duration = Duration::from_secs(120);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// How a connection came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Both sides closed it, and have acknowledged what came from the other.
    Closed,
    /// One side reset it, or is gone; so was the other.
    Reset,
    /// The proxy ended.
    Ended,
}

/// What went over a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Relayed {
    pub(super) from_client_bytes: u64,
    pub(super) from_server_bytes: u64,
    pub(super) end: End,
}

/// A pipe in the kernel.
struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    bytes: usize,
}

impl Pipe {
    fn new(bytes: usize) -> io::Result<Self> {
        let (read, write) = pipe2(OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)?;
        // More than the kernel grants: what it has by itself will do.
        let wanted = i32::try_from(bytes).unwrap_or(i32::MAX);
        let _ = fcntl(&write, FcntlArg::F_SETPIPE_SZ(wanted));
        let bytes = usize::try_from(fcntl(&write, FcntlArg::F_GETPIPE_SZ)?).unwrap_or(4096);
        Ok(Self { read, write, bytes })
    }
}

fn move_bytes(from: &impl AsFd, to: &impl AsFd, most: usize) -> io::Result<usize> {
    let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
    Ok(splice(from, None, to, None, most, flags)?)
}

/// What has come, into a pipe that is empty. splice(2) stops before an urgent byte, and behind FIN says that this
/// is the end: then a piece goes by hand, as plain data.
fn fill(pipe: &Pipe, from: &TcpStream) -> io::Result<usize> {
    let spliced = move_bytes(from, &pipe.write, pipe.bytes);
    let stopped = match &spliced {
        Ok(n) => *n == 0,
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    };
    if !stopped || sockets::unread(from)? == 0 {
        return spliced;
    }
    let mut piece = [0; PIECE_BYTES];
    let n = read(from, &mut piece)?;
    Ok(write(&pipe.write, &piece[..n])?)
}

/// One direction, until its sender has closed it; then the receiver is told so.
async fn pump(from: &TcpStream, to: &TcpStream, bytes: usize, moved: &mut u64) -> io::Result<()> {
    let pipe = Pipe::new(bytes)?;
    loop {
        let fill = || fill(&pipe, from);
        let mut waiting = from.async_io(Interest::READABLE, fill).await?;
        if waiting == 0 {
            return SockRef::from(to).shutdown(Shutdown::Write);
        }
        while waiting > 0 {
            let empty = || move_bytes(&pipe.read, to, waiting);
            let n = to.async_io(Interest::WRITABLE, empty).await?;
            if n == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            waiting -= n;
            *moved += n as u64;
        }
    }
}

/// Until the other end has acknowledged all that was sent, and FIN: what is on its way needs us and the rules. To
/// end before would cut it off, and who sent it would not know.
async fn delivered(to: &TcpStream) -> io::Result<()> {
    let (mut left, mut since) = (sockets::unacknowledged(to)?, Instant::now());
    let mut pause = Duration::from_millis(1);
    while sockets::is_closing(to)? {
        sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        let now = sockets::unacknowledged(to)?;
        if now != left {
            (left, since) = (now, Instant::now());
        } else if since.elapsed() > PATIENCE {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    to.take_error()?.map_or(Ok(()), Err)
}

/// A peer that resets is heard at once, also while nobody reads from it.
async fn failed(stream: &TcpStream) -> io::Error {
    match stream.ready(Interest::ERROR).await {
        Ok(_) => io::ErrorKind::ConnectionReset.into(),
        Err(error) => error,
    }
}

/// Relays until both sides have closed and have all, one resets, or `ended` turns true. A side that did not
/// close is reset with the other, so that nobody takes an end for a whole.
pub(super) async fn relay(
    client: TcpStream,
    server: TcpStream,
    buffer_bytes: usize,
    mut ended: watch::Receiver<bool>,
) -> Relayed {
    let (mut up, mut down) = (0, 0);
    let both = async {
        tokio::try_join!(
            pump(&client, &server, buffer_bytes, &mut up),
            pump(&server, &client, buffer_bytes, &mut down),
        )?;
        tokio::try_join!(delivered(&client), delivered(&server))
    };
    let end = tokio::select! {
        done = both => if done.is_ok() { End::Closed } else { End::Reset },
        _ = failed(&client) => End::Reset,
        _ = failed(&server) => End::Reset,
        _ = ended.wait_for(|ended| *ended) => End::Ended,
    };
    if end != End::Closed {
        sockets::reset_on_close(&client);
        sockets::reset_on_close(&server);
    }
    Relayed {
        from_client_bytes: up,
        from_server_bytes: down,
        end,
    }
}
