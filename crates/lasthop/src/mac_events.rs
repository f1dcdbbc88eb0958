// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What a link's MAC reports of each frame (docs/mac-events.md), from one of two sources: a process
//! on this machine that writes to a socket, or mac80211, which a tracing program listens to.

mod lag;
mod radio;
mod record;
mod socket;

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::thread::JoinHandle;

use anyhow::{Result, anyhow};

pub use self::lag::Lag;
pub use self::radio::Radio;
pub use self::record::{RECORD_BYTES, Record};
use self::socket::Socket;

/// The word that stands for mac80211 in place of a socket's path.
const MAC80211: &str = "mac80211";

/// Whether this names a socket, which may have to be asked again.
pub fn is_socket(name: &Path) -> bool {
    name != Path::new(MAC80211)
}

/// A source of reports.
#[derive(Debug)]
pub enum Source {
    /// A process.
    Socket(Socket),
    /// The kernel.
    Radio(Radio),
}

impl Source {
    /// Opens the source of this name: `mac80211`, or a socket's path.
    ///
    /// # Errors
    /// Nobody answers there, or with something else; a kernel that can't be listened to.
    pub fn open(name: &Path) -> Result<Self> {
        Ok(if is_socket(name) {
            Self::Socket(Socket::open(name)?)
        } else {
            Self::Radio(Radio::open()?)
        })
    }

    /// The device whose frames matter; it gets another index when it goes and comes back.
    ///
    /// # Errors
    /// The kernel can't be told.
    pub fn follow(&self, ifindex: u32) -> Result<()> {
        match self {
            Self::Socket(_) => Ok(()), // it reports one link's
            Self::Radio(radio) => radio.follow(ifindex),
        }
    }

    /// Readable when there is something to take.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Socket(socket) => socket.fd(),
            Self::Radio(radio) => Some(radio.fd()),
        }
    }

    /// Hands what has come to `each`; never waits.
    pub fn take(&mut self, each: impl FnMut(&Record)) {
        match self {
            Self::Socket(socket) => socket.take(each),
            Self::Radio(radio) => radio.take(each),
        }
    }
}

/// A source that is being opened: a process may take its time for its answer, and who serves has none.
#[derive(Debug)]
pub struct Opening(Asked);

#[derive(Debug)]
enum Asked {
    /// On a thread of its own.
    Socket(JoinHandle<Result<Socket>>),
    Radio(Radio),
}

impl Opening {
    /// Begins to open the source of this name, as [`Source::open`].
    ///
    /// # Errors
    /// A kernel that can't be listened to; no thread.
    pub fn begin(name: &Path) -> Result<Self> {
        if !is_socket(name) {
            return Ok(Self(Asked::Radio(Radio::open()?)));
        }
        let path = name.to_owned();
        let open = move || Socket::open(&path);
        Ok(Self(Asked::Socket(
            std::thread::Builder::new().spawn(open)?,
        )))
    }

    /// Whether [`Opening::end`] does not wait.
    pub fn is_over(&self) -> bool {
        match &self.0 {
            Asked::Socket(asking) => asking.is_finished(),
            Asked::Radio(_) => true,
        }
    }

    /// What has come of it.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn end(self) -> Result<Source> {
        Ok(match self.0 {
            Asked::Socket(asking) => {
                let socket = asking.join().map_err(|_| anyhow!("asking failed"))?;
                Source::Socket(socket?)
            }
            Asked::Radio(radio) => Source::Radio(radio),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_no_path() {
        assert!(!is_socket(Path::new("mac80211")));
        assert!(is_socket(Path::new("./mac80211")));
        assert!(is_socket(Path::new("/run/linkemu/control")));
    }
}
