// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The way from `status` and `flows` to the process that has a device attached: a socket per
//! device and network namespace, and a lock that says whose it is.
//!
//! The lock goes with its process, whatever kills it; a socket without a process behind it
//! answers nobody and is replaced by the next owner.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::fcntl::{Flock, FlockArg};

/// A client or server that stalls must not hold the other up.
const PATIENCE: Duration = Duration::from_secs(2);

/// Directory of this network namespace.
///
/// # Errors
/// /proc isn't mounted.
pub fn directory(runtime_dir: &Path) -> Result<PathBuf> {
    let namespace = fs::metadata("/proc/thread-self/ns/net").context("/proc/thread-self/ns/net")?;
    Ok(runtime_dir.join(namespace.ino().to_string()))
}

/// The right to attach to a device, and the socket on which it is asked about.
pub struct Control {
    listener: UnixListener,
    socket: PathBuf,
    lock_path: PathBuf,
    _lock: Flock<File>,
}

impl Control {
    /// Takes the device's lock and opens its socket.
    ///
    /// # Errors
    /// Another process has the device; the message names it.
    pub fn claim(runtime_dir: &Path, device: &str) -> Result<Self> {
        let directory = directory(runtime_dir)?;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let lock_path = directory.join(format!("{device}.lock"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .with_context(|| format!("cannot open {}", lock_path.display()))?;
        let mut lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((mut file, _)) => {
                let mut owner = String::new();
                let _ = file.read_to_string(&mut owner);
                bail!(
                    "{device} is attached already, by process {}: end that one first",
                    owner.trim()
                );
            }
        };
        lock.set_len(0)?;
        lock.rewind()?;
        write!(lock, "{}", std::process::id())?;
        let socket = directory.join(format!("{device}.sock"));
        let _ = fs::remove_file(&socket); // of a process that was killed: we have the lock
        let listener = UnixListener::bind(&socket)
            .with_context(|| format!("cannot open {}", socket.display()))?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            socket,
            lock_path,
            _lock: lock,
        })
    }

    /// Readable when somebody asks.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Answers everybody who waits: `answer` makes lines of a request.
    pub fn serve(&self, mut answer: impl FnMut(&str) -> String) {
        while let Ok((stream, _)) = self.listener.accept() {
            if let Err(error) = serve_one(stream, &mut answer) {
                tracing::debug!("control socket: {error}");
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_file(&self.lock_path);
    }
}

fn serve_one(
    mut stream: UnixStream,
    answer: &mut impl FnMut(&str) -> String,
) -> std::io::Result<()> {
    // Only root gets here (mode 0700), but even root's client must not stall the kicks.
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    stream.set_write_timeout(Some(Duration::from_millis(500)))?;
    let mut request = String::new();
    BufReader::new((&stream).take(256)).read_line(&mut request)?;
    stream.write_all(answer(request.trim()).as_bytes())
}

/// Asks the owners of all devices of this network namespace (or of one device). Returns their
/// lines; devices whose owner is gone are left out.
///
/// # Errors
/// The directory can't be read.
pub fn ask_all(runtime_dir: &Path, device: Option<&str>, request: &str) -> Result<Vec<String>> {
    let directory = directory(runtime_dir)?;
    let Ok(entries) = fs::read_dir(&directory) else {
        return Ok(Vec::new()); // nothing was ever attached here
    };
    let mut sockets: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "sock"))
        .filter(|path| device.is_none_or(|name| path.file_stem().is_some_and(|s| s == name)))
        .collect();
    sockets.sort();
    let mut lines = Vec::new();
    for socket in sockets {
        if let Ok(text) = ask(&socket, request) {
            lines.extend(text.lines().map(str::to_owned));
        }
    }
    Ok(lines)
}

fn ask(socket: &Path, request: &str) -> Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    writeln!(stream, "{request}")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_who_answers() {
        let dir = tempfile::tempdir().unwrap();
        let control = Control::claim(dir.path(), "wl0").unwrap();
        let second = Control::claim(dir.path(), "wl0").err().unwrap().to_string();
        assert!(second.contains(&std::process::id().to_string()), "{second}");
        assert!(Control::claim(dir.path(), "wl1").is_ok());
        let served = std::thread::scope(|scope| {
            let client = scope.spawn(|| ask_all(dir.path(), None, "status").unwrap());
            while !client.is_finished() {
                control.serve(|request| format!("{{\"asked\":\"{request}\"}}\n"));
                std::thread::yield_now();
            }
            client.join().unwrap()
        });
        assert_eq!(served, ["{\"asked\":\"status\"}"]);
        drop(control);
        assert!(ask_all(dir.path(), None, "status").unwrap().is_empty());
        assert!(
            Control::claim(dir.path(), "wl0").is_ok(),
            "the lock went with its owner"
        );
    }
}
