// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The control socket: a UNIX stream socket that answers each line with a line of JSON.
//!
//! | line | answer |
//! | --- | --- |
//! | `stats` | [`crate::Stats`] as one object |
//! | `set {"dir": "a_to_b", "loss": 0.02}` | `{"ok":true}`; see [`crate::Update`] |
//! | `set {"dir": "mac", "tries": 4}` | the same; see [`crate::mac::MacConfig`] |
//! | `events` | `{"ok":true,"record_bytes":192}`, then binary records until either end goes; see [`crate::mac::Event::record`] |
//! | anything else | `{"error":"..."}` |
//!
//! A client that asks nothing for a minute is hung up on, unless it listens to `events`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket;

use crate::config::{MAX_LIST_ENTRIES, Update};
use crate::error::{Error, Result};
use crate::handle::RelayHandle;
use crate::mac::RECORD_BYTES;

/// Longest line that is read: the longest list fits, an entry of which has two numbers.
const MAX_LINE_BYTES: u64 = MAX_LIST_ENTRIES as u64 * 64;
const MAX_CLIENTS: usize = 16;
/// How long a client may neither ask nor read: it has the place of another.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 60 });
/// How often an event stream on which nothing happens is looked at.
const HANG_UP_CHECK: Duration = Duration::from_millis(250);
const MAX_BATCH_RECORDS: usize = 256;
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// A control socket that serves until it is dropped, which removes its file.
pub struct ControlServer {
    path: PathBuf,
    /// Its file, by device and inode: another may have the path by the end.
    file: Option<(u64, u64)>,
    listener: UnixListener,
}

impl ControlServer {
    /// Serves `handle` at `path`, in place of any socket that is left there from an earlier run.
    ///
    /// # Errors
    /// The path is something other than a socket, somebody listens there, it is too long for one,
    /// or not writable.
    pub fn start(path: &Path, handle: Arc<RelayHandle>) -> Result<Self> {
        let fail = |e| Error::io(format!("control socket {}", path.display()), e);
        remove_stale(path).map_err(fail)?;
        let listener = UnixListener::bind(path).map_err(fail)?;
        let server = Self {
            path: path.into(),
            file: socket_file(path),
            listener,
        };
        let listener = server.listener.try_clone().map_err(fail)?;
        let accept = move || accept_clients(&listener, &handle);
        thread::Builder::new()
            .name("control".into())
            .spawn(accept)
            .map_err(fail)?;
        Ok(server)
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // Ends the thread's accept(). Errors change nothing: the process is about to end.
        let _ = socket::shutdown(self.listener.as_raw_fd(), socket::Shutdown::Both);
        if self.file.is_some() && self.file == socket_file(&self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Sends one line to a control socket and returns the answer, without its line end.
///
/// # Errors
/// Nothing listens there, or it hung up.
pub fn request(path: &Path, line: &str) -> Result<String> {
    let fail = |e| Error::io(format!("control socket {}", path.display()), e);
    let mut stream = UnixStream::connect(path).map_err(fail)?;
    stream
        .write_all(format!("{}\n", line.trim()).as_bytes())
        .map_err(fail)?;
    stream.shutdown(Shutdown::Write).map_err(fail)?;
    let mut answer = String::new();
    BufReader::new(stream)
        .read_line(&mut answer)
        .map_err(fail)?;
    if answer.is_empty() {
        return Err(fail(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(answer.trim_end().to_owned())
}

fn remove_stale(path: &Path) -> io::Result<()> {
    if socket_file(path).is_none() {
        // Anything else is somebody's file; bind() will say that the address is in use.
        return Ok(());
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another relay serves it: choose another path, or stop that one",
        )),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        // Not to be asked, or gone by now: bind() will say.
        Err(_) => Ok(()),
    }
}

/// Device and inode of the socket at `path`, if there is one.
fn socket_file(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let is_socket = found.file_type().is_socket();
    is_socket.then(|| (found.dev(), found.ino()))
}

fn accept_clients(listener: &UnixListener, handle: &Arc<RelayHandle>) {
    let clients = Arc::new(AtomicUsize::new(0));
    loop {
        match listener.accept() {
            Ok((stream, _)) => welcome(stream, handle, &clients),
            // What accept() says of a socket that was shut down: the server is gone.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return,
            // No descriptor left, or a client that left early: passes.
            Err(_) => thread::sleep(ACCEPT_RETRY),
        }
    }
}

fn welcome(mut stream: UnixStream, handle: &Arc<RelayHandle>, clients: &Arc<AtomicUsize>) {
    if clients.load(Ordering::Relaxed) >= MAX_CLIENTS {
        let _ = writeln!(
            stream,
            "{}",
            error_json("too many clients, try again later")
        );
        return;
    }
    clients.fetch_add(1, Ordering::Relaxed);
    let (handle, clients) = (Arc::clone(handle), Arc::clone(clients));
    thread::spawn(move || {
        // A client that hangs up in the middle is its own affair.
        let _ = serve(stream, &handle);
        clients.fetch_sub(1, Ordering::Relaxed);
    });
}

fn serve(mut stream: UnixStream, handle: &RelayHandle) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = Vec::new();
        let mut limited = reader.by_ref().take(MAX_LINE_BYTES);
        let bytes = limited.read_until(b'\n', &mut line)?;
        if bytes == 0 {
            return Ok(());
        }
        if bytes as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
            return writeln!(stream, "{}", error_json("line too long"));
        }
        let Ok(line) = String::from_utf8(line) else {
            writeln!(stream, "{}", error_json("line is not UTF-8"))?;
            continue;
        };
        if line.trim() == "events" && handle.has_mac() {
            return stream_events(&mut stream, handle);
        }
        writeln!(stream, "{}", answer(line.trim(), handle))?;
    }
}

/// Writes what the MAC learns until the relay stops or the client hangs up. A client that is slow
/// holds up nobody: its records are dropped and counted.
fn stream_events(stream: &mut UnixStream, handle: &RelayHandle) -> io::Result<()> {
    stream.set_write_timeout(None)?;
    let records = handle.events().subscribe();
    let greeting = serde_json::json!({ "ok": true, "record_bytes": RECORD_BYTES });
    writeln!(stream, "{greeting}")?;
    let mut batch = Vec::with_capacity(MAX_BATCH_RECORDS * RECORD_BYTES);
    loop {
        match records.recv_timeout(HANG_UP_CHECK) {
            Ok(first) => {
                let more = records.try_iter().take(MAX_BATCH_RECORDS - 1);
                batch.clear();
                std::iter::once(first)
                    .chain(more)
                    .for_each(|r| batch.extend_from_slice(&r));
                stream.write_all(&batch)?;
            }
            Err(RecvTimeoutError::Timeout) if !has_hung_up(stream) => {}
            Err(_) => return Ok(()),
        }
    }
}

/// A client that has only finished asking is still there.
fn has_hung_up(stream: &UnixStream) -> bool {
    let mut fds = [PollFd::new(stream.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLHUP | PollFlags::POLLERR;
    match poll(&mut fds, PollTimeout::ZERO) {
        Ok(_) => fds[0].revents().is_some_and(|now| now.intersects(gone)),
        Err(_) => false,
    }
}

fn answer(line: &str, handle: &RelayHandle) -> String {
    let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let result = match verb {
        "stats" if rest.is_empty() => {
            serde_json::to_string(&handle.stats()).map_err(|e| Error::config(verb, e.to_string()))
        }
        "set" => Update::from_json(rest)
            .and_then(|update| handle.set(&update))
            .map(|()| r#"{"ok":true}"#.to_owned()),
        "events" => Err(Error::config(verb, "needs a mac, and has none here")),
        _ => Err(Error::config(
            verb,
            "unknown command, use stats, set JSON or events",
        )),
    };
    result.unwrap_or_else(|error| error_json(&error.to_string()))
}

fn error_json(message: &str) -> String {
    serde_json::json!({ "error": message }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn handle() -> Arc<RelayHandle> {
        let config = Config::from_json(r#"{"a":"x","b":"y"}"#).unwrap();
        Arc::new(RelayHandle::new(config).unwrap())
    }

    #[test]
    fn stats_set_and_errors_over_the_socket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        drop(UnixListener::bind(&path).unwrap()); // a stale socket of an earlier run
        let handle = handle();
        let server = ControlServer::start(&path, Arc::clone(&handle)).unwrap();

        let stats: crate::Stats = serde_json::from_str(&request(&path, "stats").unwrap()).unwrap();
        assert_eq!((stats.a.as_str(), stats.b.as_str()), ("x", "y"));
        let answer = request(&path, r#"set {"dir":"b_to_a","loss":0.25}"#).unwrap();
        assert_eq!(answer, r#"{"ok":true}"#);
        assert_eq!(handle.config().b_to_a.loss, 0.25);
        assert!(handle.take_changed_config().is_some() && handle.take_changed_config().is_none());
        for (line, named) in [
            (r#"set {"dir":"b_to_a","loss":9}"#, "b_to_a.loss"),
            (r#"set {"dir":"b_to_a","lozz":0}"#, "lozz"),
            ("set", "set"),
            ("hello", "hello"),
        ] {
            let answer = request(&path, line).unwrap();
            assert!(
                answer.starts_with(r#"{"error":"#) && answer.contains(named),
                "{answer}"
            );
        }
        assert_eq!(handle.config().b_to_a.loss, 0.25);

        drop(server);
        assert!(!path.exists());
        assert!(request(&path, "stats").is_err());
    }

    #[test]
    fn a_file_that_is_no_socket_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("precious");
        std::fs::write(&path, "data").unwrap();
        assert!(ControlServer::start(&path, handle()).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "data");
    }

    #[test]
    fn a_living_relay_keeps_its_socket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        let first = ControlServer::start(&path, handle()).unwrap();
        let refused = ControlServer::start(&path, handle()).err();
        let refused = refused.expect("taken over").to_string();
        assert!(refused.contains("another relay"), "{refused}");
        request(&path, "stats").unwrap();
        // By the end of the first the path is another's.
        std::fs::remove_file(&path).unwrap();
        let _second = ControlServer::start(&path, handle()).unwrap();
        drop(first);
        request(&path, "stats").unwrap();
    }

    #[test]
    fn events_are_streamed_until_either_end_goes() {
        use crate::mac::{Event, EventKind};
        let text = r#"{"a":"x","b":"y","mac":{"standard":"802.11b"}}"#;
        let handle = Arc::new(RelayHandle::new(Config::from_json(text).unwrap()).unwrap());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        let _server = ControlServer::start(&path, Arc::clone(&handle)).unwrap();
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(b"events\n").unwrap();
        // Only finished asking: it must stay subscribed.
        stream.shutdown(Shutdown::Write).unwrap();
        let mut reader = BufReader::new(stream);
        let mut greeting = String::new();
        reader.read_line(&mut greeting).unwrap();
        assert!(greeting.contains(r#""record_bytes":192"#), "{greeting}");
        let event = Event {
            kind: EventKind::Delivered,
            direction: crate::Direction::AToB,
            attempt: 1,
            frame_bytes: 60,
            queued_ns: 1,
            head_ns: 2,
            at_ns: 3,
            headers: None,
        };
        for number in 0..600u64 {
            handle.events().publish(&event, 0);
            let mut record = [0; RECORD_BYTES];
            reader.read_exact(&mut record).unwrap();
            assert_eq!(record[..], event.record(number, 0, 0));
        }
        handle.events().close();
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        // Without a MAC there is nothing to hear.
        let plain = dir.path().join("plain");
        let _other = ControlServer::start(&plain, self::handle()).unwrap();
        assert!(request(&plain, "events").unwrap().contains("needs a mac"));
    }

    #[test]
    fn the_longest_list_fits_in_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        let handle = handle();
        let _server = ControlServer::start(&path, Arc::clone(&handle)).unwrap();
        let steps = vec!["[1000000000000, 3600000000000]"; MAX_LIST_ENTRIES].join(", ");
        let line = format!(r#"set {{"dir":"a_to_b","rate_wave":[{steps}]}}"#);
        assert_eq!(request(&path, &line).unwrap(), r#"{"ok":true}"#);
        assert_eq!(handle.config().a_to_b.rate_wave.len(), MAX_LIST_ENTRIES);
    }

    #[test]
    fn idle_clients_make_room() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        let _server = ControlServer::start(&path, handle()).unwrap();
        let _idle: Vec<UnixStream> = (0..MAX_CLIENTS)
            .map(|_| UnixStream::connect(&path).unwrap())
            .collect();
        let begin = std::time::Instant::now();
        // Turned away, a client may also find that the other end is gone.
        while !request(&path, "stats").is_ok_and(|answer| answer.starts_with(r#"{"a":"x""#)) {
            assert!(begin.elapsed() < PATIENCE * 10, "locked out");
            thread::sleep(Duration::from_millis(50));
        }
    }

    #[test]
    fn one_connection_carries_many_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control");
        let _server = ControlServer::start(&path, handle()).unwrap();
        let mut stream = UnixStream::connect(&path).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        stream.write_all(b"st\xffats\n").unwrap();
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains("not UTF-8"), "{line}");
        for _ in 0..3 {
            stream.write_all(b"stats\n").unwrap();
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert!(line.starts_with(r#"{"a":"x""#), "{line}");
        }
        let long = vec![b' '; MAX_LINE_BYTES as usize];
        stream.write_all(&long).unwrap();
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains("too long"), "{line}");
    }
}
