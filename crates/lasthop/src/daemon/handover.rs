// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From one process to the next, perhaps of another version, while packets pass: the one that runs gives
//! locks, sockets, maps and links away (SCM_RIGHTS), the next loads its programs with those maps, puts
//! them in place and says so. Until then the first one serves, and if the next one fails it goes on.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lasthop_core::LAYOUT;
use lasthop_core::bindings::{LH_SLOT_BYTES, lh_rule, lh_setup};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::{Deserialize, Serialize};

use super::place::{Place, label};
use super::settings::Settings;
use crate::bytes;
use crate::control::{Control, directory};
use crate::memory::{Asked, Chosen, Part, Profile};
use crate::programs::{Maps, Setup};

/// What is asked for.
pub(super) const REQUEST: &str = "hand over";
/// What the next one says when it serves.
const TAKEN: &[u8] = b"taken\n";
/// The one that gives does not wait; the one that takes has to load nothing before all is there.
const PATIENCE: Duration = Duration::from_secs(5);
/// Descriptors of one message; a device has some twenty.
const FDS_MAX: usize = 64;
/// Longest line.
const LINE_BYTES: usize = 64 << 10;

/// What goes before the devices.
#[derive(Serialize, Deserialize)]
struct Greeting {
    /// [`LAYOUT`] of the maps.
    layout: String,
    devices: usize,
    fds: usize,
    /// Whether there was a configuration file; versions before this one do not say.
    #[serde(default)]
    had_file: bool,
}

/// What is said of a device, beside its descriptors: lock, socket, two links, maps.
#[derive(Serialize, Deserialize)]
struct Header {
    dev: String,
    ordered: String,
    uptime_s: f64,
    section: String,
    guest: bool,
    policy: String,
    scheme: String,
    /// `struct lh_setup`, byte by byte.
    setup: Vec<u8>,
    /// `struct lh_rule`s.
    rules: Vec<u8>,
    keys: Option<PathBuf>,
    mac_events: Option<PathBuf>,
    memory: Chosen,
    memory_profile: Option<Profile>,
    memory_bytes: Option<u64>,
    max_flows: Option<u32>,
    cache_total_bytes: Option<u64>,
    /// Names of the maps; none: the device is away, and has no links either.
    maps: Vec<String>,
    fds: usize,
}

/// A device that another process has served until now.
pub(super) struct Given {
    pub(super) dev: String,
    pub(super) ordered: String,
    pub(super) uptime_s: f64,
    pub(super) settings: Settings,
    pub(super) control: Control,
    /// None: it is away.
    pub(super) live: Option<GivenLive>,
}

/// The programs that are on it.
pub(super) struct GivenLive {
    pub(super) raw: lh_setup,
    pub(super) maps: Maps,
    pub(super) links: Vec<OwnedFd>,
}

/// Sends a line, and descriptors with its first byte. The stream does not wait.
fn send(stream: &UnixStream, line: &str, fds: &[RawFd]) -> Result<()> {
    let text = format!("{line}\n");
    let rights = [ControlMessage::ScmRights(fds)];
    let control: &[ControlMessage<'_>] = if fds.is_empty() { &[] } else { &rights };
    let bytes = [IoSlice::new(text.as_bytes())];
    let sent = sendmsg::<()>(stream.as_raw_fd(), &bytes, control, MsgFlags::empty(), None)?;
    if sent != text.len() {
        bail!("the next process does not read");
    }
    Ok(())
}

/// Gives everything that is served to who is at the other end of `stream`; nothing of it is given up
/// before [`taken`].
pub(super) fn give(
    stream: &UnixStream,
    process: &Control,
    had_file: bool,
    places: &mut [Place],
) -> Result<()> {
    let parts = raw_parts(process)?;
    let greeting = Greeting {
        layout: LAYOUT.to_owned(),
        devices: places.len(),
        fds: parts.len(),
        had_file,
    };
    send(stream, &serde_json::to_string(&greeting)?, &parts)?;
    for place in places {
        let maps = match &mut place.live {
            Some(live) => live.agent.maps()?,
            None => Maps(Vec::new()),
        };
        let links = place.live.iter().flat_map(|live| live.agent.links());
        let mut fds = raw_parts(&place.control)?.to_vec();
        fds.extend(links.map(AsRawFd::as_raw_fd));
        fds.extend(maps.0.iter().map(|(_, fd)| fd.as_raw_fd()));
        let header = header(place, &maps, fds.len());
        send(stream, &serde_json::to_string(&header)?, &fds)?;
    }
    Ok(())
}

fn raw_parts(control: &Control) -> Result<[RawFd; 2]> {
    let parts = control
        .parts()
        .context("given to another process already")?;
    Ok(parts.map(|fd| fd.as_raw_fd()))
}

fn header(place: &Place, maps: &Maps, fds: usize) -> Header {
    let settings = &place.settings;
    let raw = place.live.as_ref().map(|live| *live.agent.setup());
    let rules = &settings.setup.rules;
    Header {
        dev: place.name.clone(),
        ordered: place.ordered.clone(),
        uptime_s: place.uptime_s(),
        section: settings.section.clone(),
        guest: settings.guest,
        policy: settings.policy.clone(),
        scheme: settings.scheme.clone(),
        setup: bytes::of(&raw.unwrap_or(settings.setup.raw())).to_vec(),
        rules: rules.iter().flat_map(bytes::of).copied().collect(),
        keys: settings.keys.clone(),
        mac_events: settings.mac_events.clone(),
        memory: settings.memory.clone(),
        memory_profile: settings.asked.profile,
        memory_bytes: settings.asked.memory_bytes,
        max_flows: settings.asked.max_flows,
        cache_total_bytes: settings.asked.cache_total_bytes,
        maps: maps.0.iter().map(|(name, _)| name.clone()).collect(),
        fds,
    }
}

/// Whether the next process serves by now: true; it is gone: false; none: it is still at it.
pub(super) fn taken(mut stream: &UnixStream) -> Option<bool> {
    let mut word = [0; TAKEN.len()];
    match stream.read(&mut word) {
        Ok(n) => Some(word[..n] == *TAKEN),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(_) => Some(false),
    }
}

/// Whether the next process serves by now, before we end without it: if it does not it never will, since what it
/// says from now on fails.
pub(super) fn taken_at_last(stream: &UnixStream) -> bool {
    let _ = stream.shutdown(Shutdown::Both); // what has come can be read all the same
    taken(stream) == Some(true)
}

/// Whether the process from before has come to its end, of which it says nothing but this. `stream` does not
/// wait.
pub(super) fn over(mut stream: &UnixStream) -> bool {
    match stream.read(&mut [0; TAKEN.len()]) {
        Ok(n) => n == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

/// What a process that serves gives.
pub(super) struct Taking {
    pub(super) stream: UnixStream,
    /// Its own lock and socket.
    pub(super) process: Control,
    /// Whether there was a configuration file.
    pub(super) had_file: bool,
    pub(super) given: Vec<Given>,
}

impl Taking {
    /// Asks the process of that name; none: there is no such process in this network namespace.
    ///
    /// # Errors
    /// It gives nothing, or its maps have another layout.
    pub(super) fn ask(runtime_dir: &Path, name: &str) -> Result<Option<Self>> {
        let socket = directory(runtime_dir)?.join(format!("{name}.sock"));
        let mut stream = match UnixStream::connect(&socket) {
            Err(error)
                if [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused]
                    .contains(&error.kind()) =>
            {
                return Ok(None);
            }
            other => other.with_context(|| format!("cannot ask {}", socket.display()))?,
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        writeln!(stream, "{REQUEST}")?;
        let mut reader = Reader::new(&stream);
        let (line, fds) = reader.line(|greeting: &Greeting| greeting.fds)?;
        if line.layout != LAYOUT {
            bail!(
                "the process that serves keeps its connections in another layout ({}, here {LAYOUT}): it can't be followed, end it and start this one",
                line.layout
            );
        }
        let process = Control::take(runtime_dir, name, parts(fds)?.0)?;
        let mut given = Vec::new();
        let read: Result<()> = (0..line.devices).try_for_each(|_| {
            let (header, fds) = reader.line(|header: &Header| header.fds)?;
            given.push(read(runtime_dir, header, fds)?);
            Ok(())
        });
        let mut taking = Self {
            stream,
            process,
            had_file: line.had_file,
            given,
        };
        // Another version may say other things of a device.
        read.inspect_err(|_| taking.refuse())?;
        Ok(Some(taking))
    }

    /// Tells the process from before that it is over.
    pub(super) fn done(&mut self) -> Result<()> {
        self.stream
            .set_nonblocking(true)
            .and_then(|()| self.stream.write_all(TAKEN))
            .context("the process from before")
    }

    /// Leaves all to the process from before.
    pub(super) fn refuse(&mut self) {
        self.process.give();
        self.given.iter_mut().for_each(|given| given.control.give());
    }
}

/// Lock and socket, and what else there is.
fn parts(fds: Vec<OwnedFd>) -> Result<([OwnedFd; 2], Vec<OwnedFd>)> {
    let mut fds = fds.into_iter();
    let (Some(lock), Some(listener)) = (fds.next(), fds.next()) else {
        bail!("the process that serves gives no lock and no socket");
    };
    Ok(([lock, listener], fds.collect()))
}

fn read(runtime_dir: &Path, header: Header, fds: Vec<OwnedFd>) -> Result<Given> {
    let (control, mut fds) = parts(fds)?;
    let raw: lh_setup = bytes::read(&header.setup).context("constants of the programs")?;
    let rules = header.rules.chunks_exact(size_of::<lh_rule>());
    let rules: Option<Vec<lh_rule>> = rules.map(bytes::read).collect();
    let rules = rules.context("rules")?;
    let live = if header.maps.is_empty() {
        None
    } else if fds.len() == 2 + header.maps.len() {
        let maps = fds.split_off(2);
        Some(GivenLive {
            raw,
            maps: Maps(header.maps.into_iter().zip(maps).collect()),
            links: fds,
        })
    } else {
        bail!(
            "{}: {} descriptors are missing",
            header.dev,
            2 + header.maps.len() - fds.len().min(2 + header.maps.len())
        );
    };
    Ok(Given {
        // After all that may fail: dropped it would take lock and socket away from who has them.
        control: Control::take(runtime_dir, &label(&header.dev, &header.policy), control)?,
        dev: header.dev,
        ordered: header.ordered,
        uptime_s: header.uptime_s,
        settings: Settings {
            section: header.section,
            guest: header.guest,
            policy: header.policy,
            scheme: header.scheme,
            // Whose they are is read in the files, at once.
            own_rules: rules.clone(),
            left: Vec::new(),
            // As it was set, before there was a device.
            setup: Setup::of_raw(&raw, rules).on(0, Setup::default().l2_bytes),
            keys: header.keys,
            mac_events: header.mac_events,
            memory: header.memory,
            part: Part {
                max_flows: raw.nr_flows,
                cache_total_bytes: u64::from(raw.nr_slots) * u64::from(LH_SLOT_BYTES),
            },
            asked: Asked {
                profile: header.memory_profile,
                memory_bytes: header.memory_bytes,
                max_flows: header.max_flows,
                cache_total_bytes: header.cache_total_bytes,
            },
        },
        live,
    })
}

/// Lines, and the descriptors that came with them, however the messages were cut.
struct Reader<'a> {
    stream: &'a UnixStream,
    text: Vec<u8>,
    fds: Vec<OwnedFd>,
}

impl<'a> Reader<'a> {
    fn new(stream: &'a UnixStream) -> Self {
        Self {
            stream,
            text: Vec::new(),
            fds: Vec::new(),
        }
    }

    fn line<T: for<'de> Deserialize<'de>>(
        &mut self,
        fds: impl Fn(&T) -> usize,
    ) -> Result<(T, Vec<OwnedFd>)> {
        let end = loop {
            if let Some(end) = self.text.iter().position(|&byte| byte == b'\n') {
                break end;
            }
            if self.text.len() > LINE_BYTES {
                bail!("the process that serves says too much");
            }
            self.more()?;
        };
        let line: Vec<u8> = self.text.drain(..=end).collect();
        let line: T = serde_json::from_slice(&line).context("what the process that serves says")?;
        let wanted = fds(&line);
        if self.fds.len() < wanted {
            bail!(
                "the process that serves gives {} of {wanted} descriptors",
                self.fds.len()
            );
        }
        Ok((line, self.fds.drain(..wanted).collect()))
    }

    fn more(&mut self) -> Result<()> {
        let mut bytes = [0; 4096];
        let mut space = nix::cmsg_space!([RawFd; FDS_MAX]);
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let fd = self.stream.as_fd().as_raw_fd();
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(fd, &mut slices, Some(&mut space), flags)
            .context("the process that serves does not answer")?;
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(fds) = control {
                // SAFETY: descriptors that the kernel has just given to this process.
                let owned = fds
                    .into_iter()
                    .map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
                self.fds.extend(owned);
            }
        }
        let n = message.bytes;
        if n == 0 {
            bail!("the process that serves does not hand over: see what it says");
        }
        self.text.extend_from_slice(&bytes[..n]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{DAEMON, owner_of};

    /// Whoever gives is of another version, which says less of a device: it keeps lock and socket.
    #[test]
    fn who_is_not_understood_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let mut process = Control::claim(dir.path(), DAEMON).unwrap();
        let socket = directory(dir.path()).unwrap().join(":daemon.sock");
        std::thread::scope(|scope| {
            let asks = scope.spawn(|| {
                Taking::ask(dir.path(), DAEMON)
                    .map(drop)
                    .unwrap_err()
                    .to_string()
            });
            let question = loop {
                if let Some(question) = process.questions().pop() {
                    break question;
                }
                std::thread::yield_now();
            };
            assert_eq!(question.request, REQUEST);
            let stream = question.into_stream();
            let fds = raw_parts(&process).unwrap();
            let greeting = Greeting {
                layout: LAYOUT.to_owned(),
                devices: 1,
                fds: fds.len(),
                had_file: false,
            };
            send(&stream, &serde_json::to_string(&greeting).unwrap(), &fds).unwrap();
            send(&stream, "{}", &fds).unwrap();
            let error = asks.join().unwrap();
            assert!(
                error.contains("what the process that serves says"),
                "{error}"
            );
        });
        assert!(socket.exists());
        let us = std::process::id();
        assert_eq!(owner_of(dir.path(), DAEMON).unwrap(), Some(us));
        assert!(Control::claim(dir.path(), DAEMON).is_err());
    }

    /// Of two that end and begin at the same time one serves, and both know which.
    #[test]
    fn who_ends_meanwhile_is_followed_or_not() {
        let (mut next, before) = UnixStream::pair().unwrap();
        next.write_all(TAKEN).unwrap();
        assert!(taken_at_last(&before));
        let (mut next, before) = UnixStream::pair().unwrap();
        assert!(!taken_at_last(&before));
        assert!(next.write_all(TAKEN).is_err());
    }

    /// It is over once it has closed its end, and not while it has something else to do.
    #[test]
    fn the_end_of_the_process_from_before_is_noticed() {
        let (mut next, before) = UnixStream::pair().unwrap();
        next.set_nonblocking(true).unwrap();
        next.write_all(TAKEN).unwrap();
        assert!(!over(&next));
        drop(before);
        assert!(over(&next));
    }
}
