// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop observe`: what `rack` would do on a device, before it does. A process of its own serves the
//! device with scheme `shadow`, as `attach` does, and touches no packet; here it is asked from time to
//! time, and in the end. Where a process serves the device so already, that one is asked.

mod line;
mod measured;
mod people;
mod process;
mod reckon;
mod verdict;

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use serde_json::Value;

pub use self::line::{OBSERVE_FIELDS, SENDER_FIELDS, line};
pub use self::measured::Measured;
pub use self::process::Order;
use self::process::{Process, SCHEME};
pub use self::verdict::FINDINGS;
use crate::signals::blocked;
use crate::{ask, control};

/// What the process that serves the device is asked.
pub const REQUEST: &str = "observe";

/// What `lasthop observe` is asked for.
pub struct Options {
    /// What is to be observed.
    pub order: Order,
    /// Ends after so long; none: when it is told to.
    pub duration: Option<Duration>,
    /// Time between two looks.
    pub interval: Duration,
    /// JSON Lines.
    pub json: bool,
}

/// Shows what is observed until it is told to end or the time is over, and then what follows from it.
///
/// # Errors
/// The device is not there, is served by another scheme, or goes away.
pub fn run(runtime_dir: &Path, options: &Options) -> Result<()> {
    // Of a terminal or a service manager: what was seen is to be told first.
    let signals = blocked(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP])?;
    let mut process = match control::owner_of(runtime_dir, &options.order.device)? {
        Some(_) => None,
        None => match Process::start(&options.order, &signals)? {
            None => return Ok(()), // there is nothing to tell
            started => started,
        },
    };
    let watched = watch(runtime_dir, options, &signals, process.as_mut());
    let ended = process.map_or(Ok(()), Process::end);
    watched.and(ended)
}

fn watch(
    runtime_dir: &Path,
    options: &Options,
    signals: &SignalFd,
    mut process: Option<&mut Process>,
) -> Result<()> {
    let began = Instant::now();
    let end = options.duration.map(|duration| began + duration);
    let mut screen = people::Screen::default();
    let mut next = began + options.interval;
    let mut last = look(runtime_dir, &options.order.device)?;
    loop {
        let until = end.map_or(next, |end| end.min(next));
        let told = wait(signals, process.as_deref(), until)?;
        let gone = process.as_deref_mut().is_some_and(Process::is_gone);
        if gone {
            finish(&last, options.json)?;
            bail!("{} is gone, or its agent was ended", options.order.device);
        }
        last = look(runtime_dir, &options.order.device)?;
        if told || end.is_some_and(|end| Instant::now() >= end) {
            return finish(&last, options.json);
        }
        if Instant::now() >= next {
            next += options.interval;
            show(&mut screen, &last, options.json)?;
        }
    }
}

/// What was observed until now.
fn look(runtime_dir: &Path, device: &str) -> Result<Value> {
    let (mut values, silent) = ask::values(runtime_dir, Some(device), REQUEST)?;
    ask::complain(&silent)?;
    let Some(value) = values.pop() else {
        bail!("{device} is away");
    };
    match value["scheme"].as_str() {
        Some(scheme) if scheme != SCHEME => bail!(
            "{device} is attached with scheme {scheme}, which acts: `lasthop status` tells what it does; to observe, end it or reload it with scheme = \"{SCHEME}\""
        ),
        _ => Ok(value),
    }
}

/// Until then, or what else there is to see to. True: it is told to end.
fn wait(signals: &SignalFd, process: Option<&Process>, until: Instant) -> Result<bool> {
    let mut fds = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    fds.extend(process.map(|process| PollFd::new(process.as_fd(), PollFlags::POLLIN)));
    let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
    match poll(
        &mut fds,
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX),
    ) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => {}
        Err(error) => return Err(error).context("poll"),
    }
    Ok(signals.read_signal().context("signalfd")?.is_some())
}

fn show(screen: &mut people::Screen, value: &Value, json: bool) -> Result<()> {
    let text = match json {
        true => format!("{}\n", with_final(value, false)),
        false => screen.line(value),
    };
    print(&text)
}

/// The last words.
fn finish(value: &Value, json: bool) -> Result<()> {
    let text = match json {
        true => format!("{}\n", with_final(value, true)),
        false => people::summary(value),
    };
    print(&text)
}

fn with_final(value: &Value, is_final: bool) -> Value {
    let mut value = value.clone();
    value["final"] = is_final.into();
    value
}

fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
