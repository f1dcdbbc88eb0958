// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Lines of who serves, on standard output and in the log. Whoever reads them may stop doing so: a terminal that is
//! held (Ctrl-S) or whose machine sleeps, a pipe into a program that is stuck. That must hold nobody up, so they
//! are written on a thread of their own; what has no room to wait is lost, and the log says how much.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use crate::priority;

/// Lines that wait at the most.
const WAITING: usize = 256;
/// At the end they are waited for no longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// Writes a whole line.
type WriteLine = fn(&[u8]) -> io::Result<()>;

/// Where lines go.
pub(crate) struct Outlet {
    write: WriteLine,
    queue: Mutex<Queue>,
}

enum Queue {
    /// Nobody is to be served: who says something waits.
    None,
    /// Nothing has been said yet.
    Empty,
    Of(Writer),
}

/// A thread that writes.
struct Writer {
    lines: SyncSender<Vec<u8>>,
    lost: Arc<AtomicU64>,
    /// It hangs up at its end.
    ends: Receiver<()>,
}

/// Standard output.
pub(crate) static OUT: Outlet = Outlet::to(|line| {
    let mut out = io::stdout().lock();
    out.write_all(line).and_then(|()| out.flush())
});

/// Standard error: the log.
static LOG: Outlet = Outlet::to(|line| io::stderr().lock().write_all(line));

/// For the log's lines, each of which comes in one piece.
pub struct Log;

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        LOG.say(line).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// While this is there nobody waits for who reads.
pub(crate) struct Queued;

impl Queued {
    /// From now on.
    pub(crate) fn begin() -> Self {
        [&OUT, &LOG].into_iter().for_each(Outlet::begin);
        Self
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        [&OUT, &LOG].into_iter().for_each(Outlet::end);
    }
}

impl Outlet {
    const fn to(write: WriteLine) -> Self {
        Self {
            write,
            queue: Mutex::new(Queue::None),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        *self.queue() = Queue::Empty;
    }

    /// Says a line, or several. An error only where nobody else is held up by it.
    pub(crate) fn say(&self, line: &[u8]) -> io::Result<()> {
        let mut queue = self.queue();
        if matches!(*queue, Queue::Empty) {
            *queue = Writer::begin(self.write).map_or(Queue::None, Queue::Of);
        }
        if let Queue::Of(writer) = &*queue {
            writer.say(line);
            return Ok(());
        }
        drop(queue);
        (self.write)(line)
    }

    /// Until what waits is written, or [`PATIENCE`] is over.
    fn end(&self) {
        let queue = std::mem::replace(&mut *self.queue(), Queue::None);
        if let Queue::Of(Writer { lines, ends, .. }) = queue {
            drop(lines);
            if ends.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // What is said at the very end would wait as well.
                *self.queue() = Queue::Of(Writer::mute());
            }
        }
    }
}

impl Writer {
    fn begin(write: WriteLine) -> io::Result<Self> {
        let (lines, said) = sync_channel::<Vec<u8>>(WAITING);
        let (end, ends) = sync_channel(0);
        let lost = Arc::new(AtomicU64::new(0));
        let missing = Arc::clone(&lost);
        Builder::new().name("lines".into()).spawn(move || {
            let _end: SyncSender<()> = end;
            priority::of_thread();
            for line in said {
                // Nobody listens any more: no reason to stop serving.
                let _ = write(&line);
                let lost = missing.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    tracing::warn!("{lost} lines are lost, for nobody read those before");
                }
            }
        })?;
        Ok(Self { lines, lost, ends })
    }

    /// One that loses everything.
    fn mute() -> Self {
        Self {
            lines: sync_channel(0).0,
            lost: Arc::default(),
            ends: sync_channel(0).1,
        }
    }

    fn say(&self, line: &[u8]) {
        if self.lines.try_send(line.to_vec()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::sync::LazyLock;
    use std::time::Instant;

    use super::*;

    static PIPE: LazyLock<[File; 2]> = LazyLock::new(|| {
        let (read, write) = nix::unistd::pipe().unwrap();
        [read.into(), write.into()]
    });
    static TO: Outlet = Outlet::to(|line| (&PIPE[1]).write_all(line));

    /// A pipe holds 64 KiB, and a thread that waits for it a line; the rest is lost, and nobody waits.
    #[test]
    fn who_does_not_read_holds_nobody_up() {
        let line = [b"x".repeat(1_023), b"\n".to_vec()].concat();
        let began = Instant::now();
        TO.begin();
        for _ in 0..WAITING + 200 {
            TO.say(&line).unwrap();
        }
        assert!(began.elapsed() < PATIENCE);
        let lost = match &*TO.queue() {
            Queue::Of(writer) => writer.lost.load(Ordering::Relaxed),
            _ => 0,
        };
        assert!(lost > 0);
        let mut read = vec![0; line.len() * WAITING];
        (&PIPE[0]).read_exact(&mut read).unwrap();
        assert!(
            read.chunks(line.len()).all(|one| one == line),
            "whole lines"
        );
        TO.say(b"more\n").unwrap();
        TO.end();
        assert!(began.elapsed() < 2 * PATIENCE);
    }
}
