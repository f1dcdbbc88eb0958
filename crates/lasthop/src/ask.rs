// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Asking the processes that serve devices, by their sockets (control.rs): for `status`, `flows`,
//! `link` and the exporter. Whoever is asked may be stopped, stuck or gone, and holds nobody up.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::de::{DeserializeSeed, IgnoredAny};
use serde_json::Value;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::config::File;
use crate::control::{self, ANSWER, ANSWERING_MAX, BUSY, FAILED, FORBIDDEN, OF_PROCESS, PATIENCE};
use crate::fields::Only;
use crate::{lock, runtime};

/// Who would be told something is not there.
const NOTHING: &str = "nothing is served in this network namespace";

/// Where nobody was found: who began with another directory, as before the file said so, is not seen there.
pub fn unless_elsewhere(runtime_dir: &Path) -> String {
    match runtime_dir == File::default().runtime_dir() {
        true => String::new(),
        false => format!(
            ", as far as {} tells: whoever began with another runtime_dir has it until it ends",
            runtime_dir.display()
        ),
    }
}

/// What the serving processes said.
#[derive(Debug, Default)]
pub struct Answers {
    /// Their lines.
    pub lines: Vec<String>,
    /// A sentence for each device whose process lives and doesn't answer, or could not do what it was told.
    pub silent: Vec<String>,
}

/// How much of whoever is asked is put up with.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Longest that all of it takes: connecting, asking and reading.
    pub whole: Duration,
    /// Longest that nothing comes meanwhile.
    pub pause: Duration,
    /// Longest answer.
    pub bytes: u64,
}

impl Bounds {
    /// For people, who wait for long tables: as long as an owner takes for one at the most.
    const FOR_PEOPLE: Self = Self {
        whole: Duration::from_secs(ANSWER.as_secs() + PATIENCE.as_secs()),
        pause: PATIENCE,
        bytes: 4 << 30,
    };
    /// For a process that loads programs before it answers.
    const FOR_RELOAD: Self = Self {
        whole: Duration::from_secs(60),
        pause: Duration::from_secs(60),
        bytes: 1 << 20,
    };
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The socket is left of a process that was killed, or the process has just ended.
    Gone,
    /// It answers others.
    Busy,
    /// Nothing came in time: it is still loading, stopped or stuck.
    Late,
    /// We have no right to ask, or not for that.
    Forbidden,
    /// Something came that is no answer.
    Broken,
}

/// No answer: why, and a sentence about it.
#[derive(Debug)]
pub struct Refusal {
    /// Why.
    pub silence: Silence,
    /// What there is to say of it, after the device's name.
    pub text: String,
}

/// A socket by which the process that serves a device can be asked; it may be gone.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The device, or what a process calls itself.
    pub device: String,
    socket: PathBuf,
}

/// The owners of all devices of this network namespace, by name; none if nothing was attached yet.
///
/// # Errors
/// No right to look, or the directory is not only root's (or ours) to write to.
pub fn owners(runtime_dir: &Path) -> Result<Vec<Owner>> {
    let mut all = all(runtime_dir)?;
    all.retain(|owner| !owner.device.starts_with(OF_PROCESS));
    Ok(all)
}

/// Devices' and processes' own sockets.
fn all(runtime_dir: &Path) -> Result<Vec<Owner>> {
    let directory = control::directory(runtime_dir)?;
    runtime::check(&directory)?;
    let owner = |socket: PathBuf| Owner {
        device: socket
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        socket,
    };
    Ok(sockets(&directory)?.into_iter().map(owner).collect())
}

/// Whether `name` is the device's, or that of a policy for some of its connections (`wlan0:voice`).
pub(crate) fn is_of(name: &str, device: &str) -> bool {
    let rest = name.strip_prefix(device);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

impl Owner {
    /// Whether it serves the device, all of its connections or some (`wlan0:voice`).
    fn is_of(&self, device: &str) -> bool {
        is_of(&self.device, device)
    }

    /// Asks it, and returns its lines.
    ///
    /// # Errors
    /// Why there is no answer; after the time in `bounds` at the latest.
    pub fn ask(&self, request: &str, bounds: Bounds) -> Result<Vec<String>, Refusal> {
        // Readers of a group may ask, and not read whom: the locks are root's.
        let process = || match &*lock::owner(&self.socket.with_extension("lock")) {
            "?" => "its process".into(),
            pid => format!("process {pid}"),
        };
        let text = ask_again(&self.socket, request, bounds).map_err(|error| Refusal {
            silence: silence(error.kind()),
            text: format!("{} {}", process(), why(&error)),
        })?;
        match text.as_str() {
            BUSY => Err(Refusal {
                silence: Silence::Busy,
                text: format!("{} answers {ANSWERING_MAX} others: ask again", process()),
            }),
            FORBIDDEN => Err(Refusal {
                silence: Silence::Forbidden,
                text: format!("{} lets only root tell it that", process()),
            }),
            text => Ok(text.lines().map(str::to_owned).collect()),
        }
    }

    /// The layout in which a process keeps its connections; none: it doesn't say.
    pub fn layout(&self) -> Option<String> {
        let lines = self.ask("layout", Bounds::FOR_PEOPLE).ok()?;
        lines.into_iter().next()
    }
}

/// Asks the owners of all devices of this network namespace (or of one device). Devices whose
/// owner is gone are left out.
///
/// # Errors
/// No right to ask, or nobody serves the device.
pub fn ask_all(runtime_dir: &Path, device: Option<&str>, request: &str) -> Result<Answers> {
    let mut owners = owners(runtime_dir)?;
    owners.retain(|owner| device.is_none_or(|wanted| owner.is_of(wanted)));
    let of = |owner: &Owner, text: String| format!("{}: {text}", owner.device);
    let (answers, served) = ask_each(&owners, request, Bounds::FOR_PEOPLE, of);
    match device {
        Some(name) if !served => bail!("{name} is not attached: see `lasthop status`"),
        _ => Ok(answers),
    }
}

/// Tells them something, as [`ask_all`] asks. What they could not do is said with those who are silent.
///
/// # Errors
/// As [`ask_all`], or nobody serves anything.
pub fn tell_all(runtime_dir: &Path, device: Option<&str>, request: &str) -> Result<Answers> {
    let Answers { lines, mut silent } = ask_all(runtime_dir, device, request)?;
    if lines.is_empty() && silent.is_empty() {
        bail!("{NOTHING}{}", unless_elsewhere(runtime_dir));
    }
    let (failed, lines): (Vec<_>, Vec<_>) = lines.into_iter().partition(|l| l.starts_with(FAILED));
    silent.extend(failed.iter().map(|line| line[FAILED.len()..].to_owned()));
    Ok(Answers { lines, silent })
}

/// The serving processes themselves, by the names of their sockets.
///
/// # Errors
/// As [`owners`].
pub fn processes(runtime_dir: &Path) -> Result<Vec<Owner>> {
    let mut all = all(runtime_dir)?;
    all.retain(|owner| owner.device.starts_with(OF_PROCESS));
    Ok(all)
}

/// Asks all serving processes of this network namespace to read their configuration again.
///
/// # Errors
/// No right to ask, or nobody serves anything.
pub fn reload(runtime_dir: &Path) -> Result<Answers> {
    let processes = processes(runtime_dir)?;
    match ask_each(&processes, "reload", Bounds::FOR_RELOAD, |_, text| text) {
        (_, false) => bail!("{NOTHING}{}", unless_elsewhere(runtime_dir)),
        (answers, true) => Ok(answers),
    }
}

/// Asks one after another; `of` makes the sentence about who does not answer. Whether any is there: of
/// those that are gone nothing is said.
fn ask_each(
    owners: &[Owner],
    request: &str,
    bounds: Bounds,
    of: impl Fn(&Owner, String) -> String,
) -> (Answers, bool) {
    let mut answers = Answers::default();
    let mut served = false;
    for owner in owners {
        match owner.ask(request, bounds) {
            Ok(lines) => answers.lines.extend(lines),
            Err(refusal) if refusal.silence == Silence::Gone => continue,
            Err(refusal) => answers.silent.push(of(owner, refusal.text)),
        }
        served = true;
    }
    (answers, served)
}

/// Sockets of killed processes stay behind.
fn silence(kind: ErrorKind) -> Silence {
    match kind {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => Silence::Gone,
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Silence::Late,
        ErrorKind::PermissionDenied => Silence::Forbidden,
        _ => Silence::Broken,
    }
}

fn why(error: &io::Error) -> String {
    match silence(error.kind()) {
        Silence::Late => {
            "has not answered in time: it is still loading, or stopped or stuck and its programs let everything pass".into()
        }
        Silence::Forbidden => "may not be asked: run as root, or in the group that runtime_dir is for".into(),
        Silence::Gone => "is gone".into(),
        Silence::Busy | Silence::Broken => format!("does not answer: {error}"),
    }
}

fn sockets(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| runtime::cannot_look(directory)),
    };
    let mut sockets: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "sock"))
        .filter(|path| !lock::is_of_another_namespace(&path.with_extension("lock")))
        .collect();
    sockets.sort();
    Ok(sockets)
}

/// As [`ask`], but who stood in the queue of a socket when it was closed, as that of a device that goes,
/// has learned nothing of who serves it: looking once more tells.
fn ask_again(socket: &Path, request: &str, bounds: Bounds) -> io::Result<String> {
    let until = Instant::now() + bounds.whole;
    let asked = ask(socket, request, bounds, until);
    match asked.as_ref().map_err(io::Error::kind) {
        Err(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
            ask(socket, request, bounds, until)
        }
        _ => asked,
    }
}

/// Asks once, until then at the latest.
fn ask(socket: &Path, request: &str, bounds: Bounds, until: Instant) -> io::Result<String> {
    // A process that hangs takes no connections: with its queue full, connecting waits as well.
    let left = || match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::Error::from(ErrorKind::TimedOut)),
        left => Ok(Some(left.min(bounds.pause))),
    };
    let mut stream = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    stream.set_write_timeout(left()?)?;
    stream.connect(&SockAddr::unix(socket)?)?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let (mut text, mut part) = (Vec::new(), vec![0; 65_536]);
    loop {
        stream.set_read_timeout(left()?)?;
        let got = match stream.read(&mut part) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        };
        text.extend_from_slice(&part[..got]);
        if got == 0 {
            return String::from_utf8(text).map_err(|_| ErrorKind::InvalidData.into());
        }
        if text.len() as u64 > bounds.bytes {
            return Err(ErrorKind::FileTooLarge.into());
        }
    }
}

/// Asks the owners of all devices of this network namespace (or of one), and parses what they answer;
/// and a sentence for each who did not.
///
/// # Errors
/// No right to ask, nobody serves the device, or an answer is no JSON.
pub fn values(
    runtime_dir: &Path,
    device: Option<&str>,
    request: &str,
) -> Result<(Vec<Value>, Vec<String>)> {
    parsed(runtime_dir, device, request, |line| {
        serde_json::from_str(&line)
    })
}

/// The same, but of each object only the fields of these names.
///
/// # Errors
/// As [`values`], or an answer is no object.
pub fn some_fields(
    runtime_dir: &Path,
    device: Option<&str>,
    request: &str,
    names: &[&str],
) -> Result<(Vec<Value>, Vec<String>)> {
    parsed(runtime_dir, device, request, |line| {
        let mut from = serde_json::Deserializer::from_str(&line);
        let value = Only(names).deserialize(&mut from)?;
        from.end().map(|()| value)
    })
}

/// The same as [`values`], as lines, each of them JSON: nothing in it that a
/// terminal would take for a command.
///
/// # Errors
/// As [`values`].
pub fn lines(
    runtime_dir: &Path,
    device: Option<&str>,
    request: &str,
) -> Result<(Vec<String>, Vec<String>)> {
    parsed(runtime_dir, device, request, |line| {
        serde_json::from_str(&line).map(|IgnoredAny| line)
    })
}

fn parsed<T>(
    runtime_dir: &Path,
    device: Option<&str>,
    request: &str,
    parse: impl FnMut(String) -> serde_json::Result<T>,
) -> Result<(Vec<T>, Vec<String>)> {
    let answers = ask_all(runtime_dir, device, request)?;
    let told: serde_json::Result<Vec<T>> = answers.lines.into_iter().map(parse).collect();
    let told = told.context("an answer that is no JSON")?;
    Ok((told, answers.silent))
}

/// Devices that could not be asked are an error, once the others are shown.
///
/// # Errors
/// There are such; the message names them.
pub fn complain(silent: &[String]) -> Result<()> {
    if silent.is_empty() {
        return Ok(());
    }
    bail!("{}", silent.join("; "))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixListener;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;
    use crate::control::Control;

    fn serve_once(control: &mut Control) {
        for question in control.questions() {
            let answer = format!("{{\"asked\":\"{}\"}}\n", question.request);
            question.say(answer);
        }
    }

    #[test]
    fn one_owner_who_answers() {
        let dir = tempfile::tempdir().unwrap();
        let mut control = Control::claim(dir.path(), "wl0").unwrap();
        let second = Control::claim(dir.path(), "wl0").err().unwrap().to_string();
        assert!(second.contains(&std::process::id().to_string()), "{second}");
        assert!(Control::claim(dir.path(), "wl1").is_ok());
        let answers = std::thread::scope(|scope| {
            let client = scope.spawn(|| ask_all(dir.path(), None, "status").unwrap());
            while !client.is_finished() {
                serve_once(&mut control);
                std::thread::yield_now();
            }
            client.join().unwrap()
        });
        assert_eq!(answers.lines, ["{\"asked\":\"status\"}"]);
        assert!(answers.silent.is_empty());
        drop(control);
        let nobody = ask_all(dir.path(), None, "status").unwrap();
        assert!(nobody.lines.is_empty());
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 0, "the directory went with its last owner");
        assert!(
            Control::claim(dir.path(), "wl0").is_ok(),
            "the lock went with its owner"
        );
    }

    #[test]
    fn silence_is_no_absence() {
        let dir = tempfile::tempdir().unwrap();
        let _stuck = Control::claim(dir.path(), "wl0").unwrap();
        let answers = ask_all(dir.path(), None, "status").unwrap();
        assert!(answers.lines.is_empty());
        assert!(answers.silent[0].starts_with("wl0: process "));
        let other = ask_all(dir.path(), Some("wl1"), "flows").unwrap_err();
        let nobody = tempfile::tempdir().unwrap();
        let untold = tell_all(nobody.path(), None, "key reload").unwrap_err();
        // The daemon that serves may be asked in the directory that the file named before.
        let said = untold.to_string();
        assert!(said.starts_with(NOTHING) && said.contains("runtime_dir"));
        assert_eq!(unless_elsewhere(Path::new("/run/lasthop")), "");
        assert!(other.to_string().starts_with("wl1 is not attached"));
    }

    /// A queue of connections that nobody takes, an answer that comes by the byte, one without end:
    /// each is over in time.
    #[test]
    fn nobody_holds_us_up() {
        let dir = tempfile::tempdir().unwrap();
        let bounds = Bounds {
            whole: Duration::from_millis(300),
            pause: PATIENCE,
            bytes: 100_000,
        };
        let asked = |path: &Path| {
            let before = Instant::now();
            let refused = ask_again(path, "status", bounds).unwrap_err();
            assert!(before.elapsed() < Duration::from_secs(2), "{refused}");
            silence(refused.kind())
        };
        let full = dir.path().join("full.sock");
        let listener = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        listener.bind(&SockAddr::unix(&full).unwrap()).unwrap();
        listener.listen(0).unwrap();
        let _first = std::os::unix::net::UnixStream::connect(&full).unwrap();
        assert_eq!(asked(&full), Silence::Late);
        let slow = dir.path().join("slow.sock");
        let listener = UnixListener::bind(&slow).unwrap();
        let serve = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(&[b'x'; 10_000]).is_ok() {}
        });
        assert_eq!(asked(&slow), Silence::Late);
        assert_eq!(asked(&slow), Silence::Broken);
        serve.join().unwrap();
        fs::remove_file(&slow).unwrap();
        assert_eq!(asked(&slow), Silence::Gone);
    }

    /// A device that goes takes its socket along while somebody waits in its queue.
    #[test]
    fn whose_socket_closes_before_it_answers_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("wl0.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let asked = path.clone();
        let asking = std::thread::spawn(move || {
            ask_again(&asked, "status", Bounds::FOR_PEOPLE).unwrap_err()
        });
        let mut waits = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut waits, PollTimeout::NONE).unwrap(), 1);
        fs::remove_file(&path).unwrap();
        drop(listener);
        assert_eq!(silence(asking.join().unwrap().kind()), Silence::Gone);
    }
}
