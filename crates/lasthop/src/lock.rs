// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The locks of devices and processes (control.rs): a file each, locked as long as its owner lives,
//! in which that has signed: its number, and on a second line the cookie of its network namespace.
//! The directory is named by the namespace's inode, and that number the kernel gives to another one as soon as
//! it is free; the cookie it gives once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::{SO_NETNS_COOKIE, SOL_SOCKET, getsockopt, socklen_t};

use crate::runtime;

/// What a socket's name begins with that is a process's and not a device's: those have no colon.
pub(crate) const OF_PROCESS: char = ':';
/// Name of the socket of the one daemon of a network namespace.
pub const DAEMON: &str = ":daemon";
/// The owner may remove file and directory while we claim them; more often than this is an error.
const CLAIM_TRIES: usize = 10;

/// Opens and locks the file. Its owner removes it on the way out, perhaps between our opening and
/// our locking: then what we have locked has no name any more, and the next one would get in
/// beside us.
pub(crate) fn take_lock(directory: &Path, path: &Path, device: &str) -> Result<Flock<File>> {
    for _ in 0..CLAIM_TRIES {
        runtime::make(directory)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.mode(0o600); // who could open it could lock it, and keep us out
        let file = match options.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            other => other.with_context(|| format!("cannot open {}", path.display()))?,
        };
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) if has_name(&lock, path) => return Ok(lock),
            Ok(_) => {}
            Err((_, Errno::EWOULDBLOCK)) => {
                let taken = match device {
                    DAEMON => "a daemon serves this network namespace already",
                    _ => &format!("{device} is attached already"),
                };
                bail!("{taken}, by process {}: end that one first", owner(path));
            }
            Err((_, error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
    }
    bail!(
        "cannot lock {}: it is removed again and again",
        path.display()
    );
}

/// Removes what processes have left that were killed and whose names nobody claims again: they were
/// those of processes themselves, or of devices in a namespace that had this number before.
pub(crate) fn bury_the_dead(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let dead = entries.filter(|entry| {
        let of_process = entry.file_name().to_string_lossy().starts_with(OF_PROCESS);
        of_process || is_of_another_namespace(&entry.path())
    });
    let locks = dead.map(|entry| entry.path());
    for path in locks.filter(|path| path.extension().is_some_and(|end| end == "lock")) {
        let Ok(file) = File::open(&path) else {
            continue;
        };
        // One that lives holds it, and one that has just begun would look for its name again.
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock);
        if let Some(_held) = lock.ok().filter(|lock| has_name(lock, &path)) {
            let _ = fs::remove_file(path.with_extension("sock"));
            let _ = fs::remove_file(&path);
        }
    }
}

/// The cookie of this thread's network namespace; none: the kernel doesn't say (SO_NETNS_COOKIE came
/// with Linux 5.14).
pub(crate) fn cookie() -> Option<u64> {
    let socket = UnixDatagram::unbound().ok()?;
    let (mut cookie, mut bytes) = (0_u64, size_of::<u64>() as socklen_t);
    // SAFETY: the kernel writes at most `bytes` bytes, and that many `cookie` has.
    let failed = unsafe {
        let to = (&raw mut cookie).cast();
        getsockopt(
            socket.as_raw_fd(),
            SOL_SOCKET,
            SO_NETNS_COOKIE,
            to,
            &raw mut bytes,
        )
    };
    (failed == 0).then_some(cookie)
}

/// Says in the file whose the lock is: the process, and on a second line the cookie of its namespace.
pub(crate) fn sign(lock: &mut Flock<File>) -> io::Result<()> {
    let cookie = cookie().map(|cookie| format!("\n{cookie}\n"));
    lock.set_len(0)?;
    lock.rewind()?;
    let text = format!("{}{}", std::process::id(), cookie.unwrap_or_default());
    lock.write_all(text.as_bytes())
}

/// Whether a lock was left in a namespace that is gone and whose number is ours now; it is then not
/// signed with our cookie. Whoever may only ask (runtime.rs) may not read it, and takes it for one of
/// ours, until the next claim has it buried.
pub(crate) fn is_of_another_namespace(lock_path: &Path) -> bool {
    match (cookie(), fs::read_to_string(lock_path)) {
        (Some(ours), Ok(text)) => text.lines().nth(1) != Some(&ours.to_string()),
        _ => false,
    }
}

/// Whether a file that was opened by this path still has it.
fn has_name(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// The process that has signed; "?": nobody has.
pub(crate) fn owner(lock_path: &Path) -> String {
    let text = fs::read_to_string(lock_path).unwrap_or_default();
    let pid = text.lines().next().map(str::trim);
    pid.filter(|pid| !pid.is_empty()).unwrap_or("?").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever locks a file that its owner has removed since must not believe it is the owner.
    #[test]
    fn a_lock_without_a_name_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wl0.lock");
        let old = File::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(!has_name(&old, &path));
        File::create(&path).unwrap();
        assert!(!has_name(&old, &path));
        assert!(has_name(
            &take_lock(dir.path(), &path, "wl0").unwrap(),
            &path
        ));
    }
}
