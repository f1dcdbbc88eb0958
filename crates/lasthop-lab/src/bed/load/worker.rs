// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A process of a load: `lasthop-lab load ORDERS`. How many files one process may open is limited, and
//! of each connection it has both ends.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use serde::{Deserialize, Serialize};

use super::answerer::Answerer;
use super::opener::{Opener, Ways};
use super::plan::Plan;
use super::tally::{Shared, Stage};
use crate::base::files::write_whole;
use crate::bed::namespace::Namespace;
use crate::bed::transfer::sockets::{self, MAX_BACKLOG, SocketLimits};

/// How often the counts are written.
const WRITES: Duration = Duration::from_millis(200);

/// What a process is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) plan: Plan,
    /// Name of the namespace that answers.
    pub(super) answers: String,
    /// And of the one that opens.
    pub(super) opens: String,
    pub(super) listen: Vec<SocketAddr>,
    pub(super) ways: Ways,
    /// File for what it has counted so far.
    pub(super) counts: PathBuf,
}

/// Does what a file orders: opens connections until SIGINT, then waits until all have come to their end;
/// SIGTERM cuts them off.
///
/// # Errors
/// Unreadable orders, no such namespaces, too few files may be open; or a side could not go on.
pub fn work(orders: &Path) -> Result<()> {
    let named = || orders.display().to_string();
    let text = std::fs::read_to_string(orders).with_context(named)?;
    let orders: Orders = serde_json::from_str(&text).with_context(named)?;
    // Before there are threads, so that none of them gets a signal.
    let signals = signals()?;
    sockets::allow_descriptors(orders.plan.most() as usize)?;
    let listen =
        |at: &SocketAddr| sockets::listen(*at, MAX_BACKLOG, "cubic", SocketLimits::default());
    let listeners = Namespace::open(&orders.answers)?
        .run(|| orders.listen.iter().map(listen).collect::<Result<Vec<_>>>())??;
    let shared = Arc::new(Shared::new(orders.plan.seed));
    let namespace = Namespace::open(&orders.opens)?;
    let [answering, opening] = [Arc::clone(&shared), Arc::clone(&shared)];
    let (plan, ways) = (orders.plan, orders.ways);
    let name = |name: &str| thread::Builder::new().name(name.into());
    let answerer = name("answerer").spawn(move || Answerer::run(answering, listeners))?;
    let opener = name("opener").spawn(move || Opener::run(opening, plan, ways, &namespace))?;
    let result = serve(&signals, &shared, &opener, &orders.counts);
    shared.go_to(Stage::Over);
    for thread in [opener, answerer] {
        let _ = thread.join();
    }
    result
}

/// Until all is over, writes the counts from time to time.
fn serve(
    signals: &SignalFd,
    shared: &Shared,
    opener: &JoinHandle<()>,
    counts: &Path,
) -> Result<()> {
    let mut written = Instant::now();
    loop {
        let mut fds = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::try_from(WRITES)?) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error).context("poll"),
        }
        match signals.read_signal()?.map(|signal| signal.ssi_signo) {
            Some(signal) if signal == Signal::SIGINT as u32 => shared.go_to(Stage::Ends),
            Some(_) => return Ok(()),
            None => {}
        }
        let part = shared.part();
        let ended = opener.is_finished() && part.answering == 0;
        let over = ended || part.broken.is_some();
        if over || written.elapsed() >= WRITES {
            write_whole(counts, &serde_json::to_string(&part)?)?;
            written = Instant::now();
        }
        if over {
            return Ok(());
        }
    }
}

/// Blocked, and read by [`serve`].
fn signals() -> Result<SignalFd> {
    let set: SigSet = [Signal::SIGINT, Signal::SIGTERM].into_iter().collect();
    set.thread_block().context("blocking signals")?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).context("signalfd")
}
