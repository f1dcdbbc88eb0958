// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A source of MAC events that writes to a UNIX stream socket: the line `events` asks for them, a
//! line of JSON answers, then come records of fixed size (docs/mac-events.md). `linkemu` is one.
//!
//! A source that goes away is asked for again; without reports a scheme that goes by them repairs
//! and hides nothing.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use socket2::{Domain, SockAddr, Socket as Socket2, Type};

use super::record::{Missed, RECORD_BYTES, Record, TAKE_MOST};

/// Longest answer to `events`.
const GREETING_MOST_BYTES: usize = 4096;
/// How long a source may take for its answer. Not on the thread that beats: several may take theirs.
const PATIENCE: Duration = Duration::from_secs(1);
/// How soon a source that went away is asked for again.
const RETRY: Duration = Duration::from_secs(1);

/// A source, there or away.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    stream: Option<UnixStream>,
    /// Asks again on a thread of its own: a source may take its time, and who serves must not.
    asking: Option<JoinHandle<Result<UnixStream>>>,
    /// What has come and was not handed on: less than a record between two calls.
    buffer: Box<[u8]>,
    filled: usize,
    retry: Instant,
    missed: Missed,
    /// Why it could not be asked again, the last that was told.
    complaint: String,
}

impl Socket {
    /// Asks the source at `path` for its reports.
    ///
    /// # Errors
    /// Nobody answers there, or with something else.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self {
            path: path.into(),
            stream: Some(subscribe(path)?),
            asking: None,
            buffer: vec![0; TAKE_MOST * RECORD_BYTES].into(),
            filled: 0,
            retry: Instant::now(),
            missed: Missed::default(),
            complaint: String::new(),
        })
    }

    /// Readable when there is something to take.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.stream.as_ref().map(AsFd::as_fd)
    }

    /// Hands what has come to `each`; never waits.
    pub fn take(&mut self, mut each: impl FnMut(&Record)) {
        if self.stream.is_none() {
            self.come_back();
        }
        let Some(stream) = &mut self.stream else {
            return;
        };
        match stream.read(&mut self.buffer[self.filled..]) {
            Ok(0) => return self.lost("it hung up"),
            Ok(got) => self.filled += got,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            Err(error) => return self.lost(&error.to_string()),
        }
        let records = self.buffer[..self.filled].chunks_exact(RECORD_BYTES);
        let whole = self.filled - records.remainder().len();
        let mut missed = 0;
        for record in records.filter_map(Record::read) {
            missed = record.missed;
            each(&record);
        }
        self.buffer.copy_within(whole..self.filled, 0);
        self.filled -= whole;
        self.missed.tell(missed, &self.path.display());
    }

    fn lost(&mut self, why: &str) {
        tracing::warn!(
            "{}: no reports of the MAC any more, {why}: nothing is repaired; trying again every {} s",
            self.path.display(),
            RETRY.as_secs()
        );
        self.stream = None;
        self.filled = 0;
        self.missed = Missed::default();
        self.retry = Instant::now() + RETRY;
    }

    /// A source of another user, for instance, may be out of reach since we gave up our rights.
    fn complain_of(&mut self, why: String) {
        if why != self.complaint {
            tracing::warn!("{why}; trying again");
            self.complaint = why;
        }
    }

    fn come_back(&mut self) {
        if let Some(asked) = self.asking.take_if(|asking| asking.is_finished()) {
            match asked.join() {
                Ok(Ok(stream)) => {
                    tracing::info!("{}: reports of the MAC again", self.path.display());
                    self.stream = Some(stream);
                    self.complaint.clear();
                }
                Ok(Err(error)) => self.complain_of(format!("{error:#}")),
                Err(_) => {}
            }
            return;
        }
        if self.asking.is_some() || Instant::now() < self.retry {
            return;
        }
        self.retry = Instant::now() + RETRY;
        let path = self.path.clone();
        let ask = move || subscribe(&path);
        self.asking = std::thread::Builder::new().spawn(ask).ok();
    }
}

/// The stream behind its greeting, which does not block any more.
fn subscribe(path: &Path) -> Result<UnixStream> {
    let (name, until) = (path.display(), Instant::now() + PATIENCE);
    let mut stream = connect(path, until).map_err(|error| {
        let why = nobody(&error);
        error.context(format!("{name}: {why}"))
    })?;
    stream.set_write_timeout(Some(left(until)?))?;
    stream.write_all(b"events\n").context("asking for events")?;
    let greeting = greeting(&mut stream, until).with_context(|| format!("{name}: no answer"))?;
    let answer: Value = serde_json::from_str(&greeting)
        .with_context(|| format!("{name}: answers with something else than JSON"))?;
    if answer["record_bytes"] != RECORD_BYTES {
        let why = answer["error"]
            .as_str()
            .unwrap_or("records of another size");
        bail!("{name}: has no MAC events for us: {why}");
    }
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Why nobody is there. What says EPERM is our own list of system calls (privilege.rs), which has connect(2) only
/// where somebody had to be connected to at the start; a socket itself says EACCES.
fn nobody(error: &anyhow::Error) -> &'static str {
    let error = error.downcast_ref::<io::Error>();
    match error.and_then(io::Error::raw_os_error) {
        Some(libc::EPERM) => {
            "a process that began without a source of MAC events can't connect to one: start it anew"
        }
        _ => "no source of MAC events answers there",
    }
}

/// Where nobody accepts any more, a connection waits as long as its sending may.
fn connect(path: &Path, until: Instant) -> Result<UnixStream> {
    let socket = Socket2::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_write_timeout(Some(left(until)?))?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(OwnedFd::from(socket).into())
}

/// How long there is until then.
fn left(until: Instant) -> Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    ensure!(!left.is_zero(), "it takes longer than {PATIENCE:?}");
    Ok(left)
}

/// The answer's line, byte by byte: records follow it.
fn greeting(stream: &mut UnixStream, until: Instant) -> Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while byte != *b"\n" {
        ensure!(line.len() < GREETING_MOST_BYTES, "its line does not end");
        stream.set_read_timeout(Some(left(until)?))?;
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    Ok(String::from_utf8(line)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use anyhow::anyhow;

    use lasthop_core::bindings::{LH_MAC_DELIVERED, LH_MAC_GIVEN_UP, LH_MAC_UNDELIVERED};

    use super::super::record::tests::raw;
    use super::*;

    /// At a reload of `attach`, which has given up connect(2); a file's rights are another matter.
    #[test]
    fn who_may_not_connect_any_more_is_to_be_started_anew() {
        let why = |code| nobody(&anyhow!(io::Error::from_raw_os_error(code)));
        assert!(why(libc::EPERM).ends_with("start it anew"));
        for code in [libc::EACCES, libc::ENOENT, libc::ECONNREFUSED] {
            assert!(why(code).contains("answers there"), "{code}");
        }
    }

    fn serve(listener: &UnixListener, answer: &[u8]) -> UnixStream {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 7];
        stream.read_exact(&mut asked).unwrap();
        assert_eq!(&asked, b"events\n");
        stream.write_all(answer).unwrap();
        stream
    }

    fn taken(source: &mut Socket, least: usize) -> Vec<u32> {
        let (mut all, begin) = (Vec::new(), Instant::now());
        while all.len() < least && begin.elapsed() < Duration::from_secs(10) {
            source.take(|record| all.push(record.report.event));
        }
        all
    }

    /// Records that come in pieces are put together; who hangs up is asked again.
    #[test]
    fn a_source_goes_and_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mac");
        let listener = UnixListener::bind(&path).unwrap();
        let there = std::thread::spawn(move || {
            let greeting = b"{\"ok\":true,\"record_bytes\":192}\n";
            let mut stream = serve(&listener, greeting);
            let all = [raw(0, 0), raw(1, 0), raw(2, 0)].concat();
            for piece in all.chunks(100) {
                stream.write_all(piece).unwrap();
            }
            stream.write_all(&all[..50]).unwrap(); // and dies in the middle of one
            drop(stream);
            let mut stream = serve(&listener, greeting);
            stream.write_all(&raw(2, 3)).unwrap();
            stream
        });
        let mut source = Socket::open(&path).unwrap();
        let events = [LH_MAC_DELIVERED, LH_MAC_UNDELIVERED, LH_MAC_GIVEN_UP];
        assert_eq!(taken(&mut source, 3), events);
        assert_eq!(taken(&mut source, 1), [LH_MAC_GIVEN_UP]);
        assert_eq!(source.missed.told, 3);
        drop(there.join());
    }

    #[test]
    fn what_is_no_source_is_an_error_in_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let nobody = Socket::open(&dir.path().join("nobody")).unwrap_err();
        assert!(nobody.to_string().contains("no source of MAC events"));
        for (answer, says) in [
            (
                &b"{\"error\":\"needs a mac, and has none here\"}\n"[..],
                "needs a mac",
            ),
            (b"{\"ok\":true,\"record_bytes\":64}\n", "another size"),
            (b"hello\n", "something else than JSON"),
        ] {
            let path = dir.path().join(says.split(' ').next().unwrap());
            let listener = UnixListener::bind(&path).unwrap();
            let there = std::thread::spawn(move || serve(&listener, answer));
            let error = format!("{:#}", Socket::open(&path).unwrap_err());
            assert!(error.contains(says) && !error.contains('\n'), "{error}");
            drop(there.join());
        }
    }

    /// Who hears and says nothing, says a byte now and then, or does not even accept is given up in time.
    #[test]
    fn a_mute_source_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let (full, slow) = (dir.path().join("full"), dir.path().join("slow"));
        let nobody_accepts = Socket2::new(Domain::UNIX, Type::STREAM, None).unwrap();
        nobody_accepts
            .bind(&SockAddr::unix(&full).unwrap())
            .unwrap();
        nobody_accepts.listen(0).unwrap();
        let _first = UnixStream::connect(&full).unwrap();
        let listener = UnixListener::bind(&slow).unwrap();
        let there = std::thread::spawn(move || {
            let mut stream = serve(&listener, b"{");
            while stream.write_all(b" ").is_ok() {
                std::thread::sleep(PATIENCE / 10);
            }
        });
        for path in [&full, &slow] {
            let begin = Instant::now();
            let error = format!("{:#}", Socket::open(path).unwrap_err());
            assert!(
                error.contains("slow: no answer") || error.contains("full: no source"),
                "{error}"
            );
            assert!(begin.elapsed() >= PATIENCE, "{error}");
        }
        there.join().unwrap();
    }
}
