// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the process that has a device attached is asked by: a socket per device and network
//! namespace, and a lock that says whose it is. Who asks is in ask.rs.
//!
//! The lock goes with its process, whatever kills it; a socket without a process behind it
//! answers nobody and is replaced by the next owner. The kernel gives the number of a namespace that is
//! gone to the next one, so a lock says which of them it was made in.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::unistd::{Uid, geteuid};

pub use crate::lock::DAEMON;
pub(crate) use crate::lock::OF_PROCESS;
use crate::lock::{bury_the_dead, owner, sign, take_lock};
use crate::monotonic::now_ns;
use crate::{priority, runtime};

/// A client or server that stalls must not hold the other up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Longest request.
const REQUEST_BYTES: usize = 256;
/// Clients that have connected and not asked yet; the oldest has to go for a new one.
const WAITING_MAX: usize = 32;
/// Questions that are being answered; who asks then is told to ask again.
pub(crate) const ANSWERING_MAX: usize = 8;
/// An answer takes no longer than this, however slowly it is read.
pub(crate) const ANSWER: Duration = Duration::from_secs(10);
/// How long nobody is let in when there is no descriptor for whoever comes: the socket stays readable.
const FULL: Duration = Duration::from_millis(100);
/// What those get who ask while so many are.
pub(crate) const BUSY: &str = "busy\n";
/// What anybody may ask who gets as far as the socket: a group, where the directory is for one
/// (runtime.rs). All else tells the agent something, which is for root.
const FOR_READERS: [&str; 5] = ["status", "flows", "flows why", "peers", "observe"];
/// What readers get who would tell it something.
pub(crate) const FORBIDDEN: &str = "forbidden\n";

/// What the line begins with of somebody who was told to do something, and could not. A client that does not
/// know that shows it as it is.
pub(crate) const FAILED: &str = "failed: ";

fn is_for_readers(request: &str) -> bool {
    FOR_READERS.contains(&request)
}

/// Directory of this network namespace.
///
/// # Errors
/// /proc isn't mounted.
pub fn directory(runtime_dir: &Path) -> Result<PathBuf> {
    let namespace = fs::metadata("/proc/thread-self/ns/net").context("/proc/thread-self/ns/net")?;
    Ok(runtime_dir.join(namespace.ino().to_string()))
}

/// Somebody who has connected; what came of the request so far.
struct Client {
    stream: UnixStream,
    since: Instant,
    request: Vec<u8>,
}

/// A request, and the way back to who asked.
pub struct Question {
    stream: UnixStream,
    /// So many are being answered.
    answering: Arc<AtomicUsize>,
    /// What is asked.
    pub request: String,
}

impl Question {
    /// Answers by what `write` writes, on a thread of its own: only root gets here (mode 0700), and
    /// whom root lets read (runtime.rs), but no client may stall the kicks and the heartbeat by
    /// reading slowly, nor by asking for much. Beyond [`ANSWERING_MAX`] at a time it gets [`BUSY`].
    pub fn answer(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static) {
        let mut stream = self.stream;
        let Some(place) = Answering::take(&self.answering) else {
            let _ = stream.write_all(BUSY.as_bytes()); // it is non-blocking, and its buffer empty
            return;
        };
        let send = move || {
            let _place = place;
            priority::of_thread();
            let mut out = BufWriter::new(Patient {
                stream,
                until: Instant::now() + ANSWER,
            });
            let sent = out.get_ref().stream.set_nonblocking(false);
            let sent = sent.and_then(|()| write(&mut out));
            if let Err(error) = sent.and_then(|()| out.flush()) {
                tracing::debug!("control socket: {error}");
                drop(out.into_parts()); // what is left in it can't be sent any more
            }
        };
        if let Err(error) = std::thread::Builder::new().spawn(send) {
            tracing::debug!("control socket: {error}");
        }
    }

    /// The way back, for an answer of another kind.
    pub fn into_stream(self) -> UnixStream {
        self.stream
    }

    /// Answers with a text.
    pub fn say(self, text: String) {
        self.answer(move |out| out.write_all(text.as_bytes()));
    }
}

/// One of the places for answers, given back at the end of its thread.
struct Answering(Arc<AtomicUsize>);

impl Answering {
    fn take(answering: &Arc<AtomicUsize>) -> Option<Self> {
        let place = Self(Arc::clone(answering));
        (answering.fetch_add(1, Ordering::Relaxed) < ANSWERING_MAX).then_some(place)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for a slow reader, but not for ever: neither per write nor for the whole.
struct Patient {
    stream: UnixStream,
    until: Instant,
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_write_timeout(Some(left.min(PATIENCE)))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The right to attach to a device, and the socket on which it is asked about.
pub struct Control {
    listener: UnixListener,
    /// Until then nobody is let in.
    full_until: Option<Instant>,
    clients: Vec<Client>,
    answering: Arc<AtomicUsize>,
    us: Uid,
    directory: PathBuf,
    socket: PathBuf,
    lock_path: PathBuf,
    /// None: another process has it by now, and the socket, and their files.
    lock: Option<Flock<File>>,
}

impl Control {
    /// Takes the lock of a device, or as [`DAEMON`] or [`of_attach`] of the process itself, and opens its
    /// socket.
    ///
    /// # Errors
    /// Another process has it; the message names that.
    pub fn claim(runtime_dir: &Path, device: &str) -> Result<Self> {
        let directory = directory(runtime_dir)?;
        let lock_path = directory.join(format!("{device}.lock"));
        let mut lock = take_lock(&directory, &lock_path, device)?;
        bury_the_dead(&directory);
        sign(&mut lock)?;
        let socket = directory.join(format!("{device}.sock"));
        let _ = fs::remove_file(&socket); // of a process that was killed: we have the lock
        let listener = UnixListener::bind(&socket)
            .with_context(|| format!("cannot open {}", socket.display()))?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            full_until: None,
            clients: Vec::new(),
            answering: Arc::default(),
            us: geteuid(),
            directory,
            socket,
            lock_path,
            lock: Some(lock),
        })
    }

    /// Lock and socket, for a process that takes both over; none: one has.
    pub fn parts(&self) -> Option<[BorrowedFd<'_>; 2]> {
        Some([self.lock.as_ref()?.as_fd(), self.listener.as_fd()])
    }

    /// Another process has taken both over: their files stay, and so does the lock, which would be gone
    /// for both if it were dropped here.
    pub fn give(&mut self) {
        std::mem::forget(self.lock.take());
    }

    /// Takes over what another process had claimed as `device`: its [`Control::parts`]. Until
    /// [`Control::sign`] it is that one's by name.
    ///
    /// # Errors
    /// The descriptors are not what they should be.
    pub fn take(runtime_dir: &Path, device: &str, [lock, listener]: [OwnedFd; 2]) -> Result<Self> {
        let directory = directory(runtime_dir)?;
        // It is locked already, by this very description of the file.
        let lock = Flock::lock(File::from(lock), FlockArg::LockExclusiveNonblock);
        let lock = lock
            .map_err(|(_, error)| error)
            .context("a lock that is another's")?;
        Ok(Self {
            listener: UnixListener::from(listener),
            full_until: None,
            clients: Vec::new(),
            answering: Arc::default(),
            us: geteuid(),
            socket: directory.join(format!("{device}.sock")),
            lock_path: directory.join(format!("{device}.lock")),
            directory,
            lock: Some(lock),
        })
    }

    /// Says that this process owns it by now.
    ///
    /// # Errors
    /// The lock's file can't be written to.
    pub fn sign(&mut self) -> io::Result<()> {
        self.lock.as_mut().map_or(Ok(()), sign)
    }

    /// Readable when somebody connects or asks.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let clients = self.clients.iter().map(|client| client.stream.as_fd());
        let is_full = self.full_until.is_some_and(|until| Instant::now() < until);
        let listener = (!is_full).then(|| self.listener.as_fd());
        listener.into_iter().chain(clients)
    }

    /// Lets those in who have connected, so many at a time and no more: who connects again and again would
    /// never let us go.
    fn accept(&mut self) {
        for _ in 0..WAITING_MAX {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) => return self.wait_if_full(&error),
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.clients.len() == WAITING_MAX {
                self.clients.remove(0);
            }
            self.clients.push(Client {
                stream,
                since: Instant::now(),
                request: Vec::new(),
            });
        }
    }

    fn wait_if_full(&mut self, error: &io::Error) {
        let full = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
        if error
            .raw_os_error()
            .is_some_and(|code| full.contains(&code))
        {
            tracing::debug!("control socket: {error}");
            self.full_until = Some(Instant::now() + FULL);
        }
    }

    /// Takes what was asked since the last call; never waits.
    pub fn questions(&mut self) -> Vec<Question> {
        self.accept();
        let mut asked = Vec::new();
        for mut client in std::mem::take(&mut self.clients) {
            match read_request(&mut client) {
                Some(true) => asked.extend(self.question(client)),
                Some(false) => self.clients.push(client),
                None => {}
            }
        }
        asked
    }

    /// What the client asks, if it may.
    fn question(&self, client: Client) -> Option<Question> {
        let request = String::from_utf8_lossy(&client.request).trim().to_owned();
        let mut stream = client.stream;
        if !is_for_readers(&request) && !self.commands(&stream) {
            let _ = stream.write_all(FORBIDDEN.as_bytes()); // it is non-blocking, and its buffer empty
            return None;
        }
        Some(Question {
            stream,
            answering: Arc::clone(&self.answering),
            request,
        })
    }

    /// Whether the other end is root's, or of our own user.
    fn commands(&self, stream: &UnixStream) -> bool {
        getsockopt(stream, PeerCredentials)
            .is_ok_and(|peer| peer.uid() == 0 || peer.uid() == self.us.as_raw())
    }
}

/// Reads what is there. True: the whole request; none: forget this client.
fn read_request(client: &mut Client) -> Option<bool> {
    let mut buffer = [0; REQUEST_BYTES];
    match client.stream.read(&mut buffer) {
        Ok(0) => None,
        Ok(n) => {
            client.request.extend_from_slice(&buffer[..n]);
            let whole = client.request.contains(&b'\n');
            (whole || client.request.len() < REQUEST_BYTES).then_some(whole)
        }
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            (client.since.elapsed() < PATIENCE).then_some(false)
        }
        Err(_) => None,
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.lock.is_none() {
            return;
        }
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_file(&self.lock_path);
        // Fails while other devices of the namespace are served. Namespaces come and go.
        let _ = fs::remove_dir(&self.directory);
    }
}

/// The process that has claimed a device, or as [`DAEMON`] is the daemon, in this network namespace; none:
/// nobody has.
///
/// # Errors
/// No right to see it.
pub fn owner_of(runtime_dir: &Path, device: &str) -> Result<Option<u32>> {
    let directory = directory(runtime_dir)?;
    runtime::check(&directory)?;
    let path = directory.join(format!("{device}.lock"));
    match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot open {}", path.display())),
        // Of a process that was killed the file stays, but not the lock.
        Ok(file) => match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Ok(_) => Ok(None),
            Err(_) => Ok(owner(&path).parse().ok()),
        },
    }
}

/// Name of the socket of this process, which attaches. Who takes its place keeps the name: by then another
/// process may have the number.
pub fn of_attach() -> String {
    let (pid, began_s) = (std::process::id(), now_ns() / 1_000_000_000);
    format!("{OF_PROCESS}attach-{pid}-{began_s}")
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    #[test]
    fn silent_clients_hold_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let mut control = Control::claim(dir.path(), "wl0").unwrap();
        let connect = || UnixStream::connect(&control.socket).unwrap();
        let idle: Vec<UnixStream> = (0..WAITING_MAX + 8).map(|_| connect()).collect();
        let before = Instant::now();
        assert!(control.questions().is_empty());
        // Waiting for one of them would take as long as it may be silent.
        assert!(before.elapsed() < PATIENCE);
        assert_eq!(control.fds().count(), 1 + WAITING_MAX);
        drop(idle);
        assert!(control.questions().is_empty());
        assert_eq!(control.fds().count(), 1);
    }

    /// `flows --why`, `top` and `report` ask for more of each connection than `flows` does, and change nothing.
    #[test]
    fn readers_may_ask_all_that_only_asks() {
        for request in ["status", "flows", "flows why", "peers"] {
            assert!(is_for_readers(request), "{request}");
        }
        for request in ["reload", "key reload", "link up", "link down", "layout", ""] {
            assert!(!is_for_readers(request), "{request}");
        }
    }

    /// Whoever connects faster than it is let in gets its turn, and so does all else.
    #[test]
    fn who_connects_again_and_again_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let mut control = Control::claim(dir.path(), "wl0").unwrap();
        let connect = || UnixStream::connect(&control.socket).unwrap();
        let crowd: Vec<UnixStream> = (0..WAITING_MAX + 8).map(|_| connect()).collect();
        let waits = |control: &Control| {
            let mut fds = [PollFd::new(control.listener.as_fd(), PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::ZERO).unwrap() == 1
        };
        drop(crowd);
        control.questions();
        assert!(waits(&control), "one call let all of them in");
        control.questions();
        assert!(!waits(&control));
    }

    /// The socket of one that can't be let in stays readable: whoever polls it would do nothing else.
    #[test]
    fn without_descriptors_nobody_is_let_in_for_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let mut control = Control::claim(dir.path(), "wl0").unwrap();
        control.wait_if_full(&ErrorKind::WouldBlock.into());
        assert_eq!(control.fds().count(), 1);
        control.wait_if_full(&io::Error::from_raw_os_error(libc::EMFILE));
        assert_eq!(control.fds().count(), 0);
        let _waits = UnixStream::connect(&control.socket).unwrap();
        control.full_until = control.full_until.map(|until| until - FULL);
        assert_eq!(control.fds().count(), 1);
        control.questions();
        assert_eq!(control.fds().count(), 2);
    }

    /// Long answers that nobody reads: the serving thread goes on, the ninth is told so at once,
    /// and when a reader goes its place is free.
    #[test]
    fn slow_readers_hold_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let mut control = Control::claim(dir.path(), "wl0").unwrap();
        let asks = |control: &Control| {
            let mut stream = UnixStream::connect(&control.socket).unwrap();
            writeln!(stream, "flows").unwrap();
            stream
        };
        let serve = |control: &mut Control| {
            let asked = control.questions();
            let n = asked.len();
            for question in asked {
                question.answer(|out| (0..1_000).try_for_each(|_| out.write_all(&[b'x'; 10_000])));
            }
            n
        };
        let mut readers: Vec<UnixStream> = (0..ANSWERING_MAX).map(|_| asks(&control)).collect();
        let before = Instant::now();
        let mut served = 0;
        while served < readers.len() {
            served += serve(&mut control);
        }
        let mut ninth = asks(&control);
        assert_eq!(serve(&mut control), 1);
        assert!(before.elapsed() < PATIENCE, "it waited for a reader");
        let mut text = String::new();
        ninth.read_to_string(&mut text).unwrap();
        assert_eq!(text, BUSY);
        readers.pop();
        while control.answering.load(Ordering::Relaxed) == ANSWERING_MAX {
            std::thread::yield_now();
        }
        let mut again = asks(&control);
        assert_eq!(serve(&mut control), 1);
        again.read_exact(&mut [0; 10_000]).unwrap();
    }

    /// Who fails to take over has changed nothing: its name would be that of a process that is gone.
    #[test]
    fn who_takes_over_signs_in_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = Control::claim(dir.path(), DAEMON).unwrap();
        let path = first.lock_path.clone();
        fs::write(&path, "1").unwrap(); // as if it were another process
        let parts = || {
            let parts = first.parts().unwrap();
            parts.map(|fd| fd.try_clone_to_owned().unwrap())
        };
        let mut failed = Control::take(dir.path(), DAEMON, parts()).unwrap();
        failed.give();
        drop(failed);
        assert_eq!(owner_of(dir.path(), DAEMON).unwrap(), Some(1));
        let mut next = Control::take(dir.path(), DAEMON, parts()).unwrap();
        next.sign().unwrap();
        assert_eq!(owner(&path), std::process::id().to_string());
        first.give();
    }

    /// Of a process that was killed nothing stays once another one begins.
    #[test]
    fn who_was_killed_leaves_nothing_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let ours = of_attach();
        let alive = Control::claim(dir.path(), &ours).unwrap();
        let directory = directory(dir.path()).unwrap();
        for left in [":attach-1.lock", ":attach-1.sock", "wl0.sock"] {
            fs::write(directory.join(left), "1").unwrap();
        }
        let _daemon = Control::claim(dir.path(), DAEMON).unwrap();
        let names = fs::read_dir(&directory).unwrap().flatten();
        let mut names: Vec<String> = names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        let mut expected = [
            format!("{ours}.lock"),
            format!("{ours}.sock"),
            ":daemon.lock".into(),
            ":daemon.sock".into(),
            "wl0.sock".into(),
        ];
        expected.sort();
        assert_eq!(names, expected);
        drop(alive);
    }

    /// What was killed in a namespace that is gone is not told of in the next one of that number, in its
    /// own it is: its device is not served any more.
    #[test]
    fn who_was_killed_elsewhere_was_never_here() {
        let dir = tempfile::tempdir().unwrap();
        let directory = directory(dir.path()).unwrap();
        let cookie = crate::lock::cookie().unwrap();
        let owners = || {
            let owners = crate::ask::owners(dir.path()).unwrap();
            owners.into_iter().map(|owner| owner.device)
        };
        let alive = Control::claim(dir.path(), "wl0").unwrap();
        let (here, gone) = (format!("1\n{cookie}\n"), format!("1\n{}\n", cookie + 1));
        for (left, signed) in [("here", here), ("gone", gone), ("unsigned", "1".into())] {
            fs::write(directory.join(format!("{left}.sock")), "").unwrap();
            fs::write(directory.join(format!("{left}.lock")), signed).unwrap();
        }
        assert!(owners().eq(["here", "wl0"]));
        let _next = Control::claim(dir.path(), "wl1").unwrap();
        assert!(owners().eq(["here", "wl0", "wl1"]));
        assert!(!directory.join("gone.sock").exists());
        assert_eq!(owner(&directory.join("here.lock")), "1");
        let us = std::process::id();
        assert_eq!(owner_of(dir.path(), "wl0").unwrap(), Some(us));
        drop(alive);
    }
}
