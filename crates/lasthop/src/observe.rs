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

/// Looks in a row that may fail: an agent may be busy for a while, or slow.
const FAILED_MOST: u32 = 5;
/// How soon to look again after one.
const AGAIN: Duration = Duration::from_secs(1);

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
    let mut seen = Seen::of(look(runtime_dir, &options.order.device)?);
    loop {
        let look_at = seen.again.unwrap_or(next);
        let until = end.map_or(look_at, |end| end.min(look_at));
        let told = wait(signals, process.as_deref(), until)?;
        let gone = process.as_deref_mut().is_some_and(Process::is_gone);
        if gone {
            finish(&seen.last, options.json)?;
            bail!("{} is gone, or its agent was ended", options.order.device);
        }
        if let Err(error) = seen.take(look(runtime_dir, &options.order.device)) {
            finish(&seen.last, options.json)?;
            return Err(error);
        }
        if told || end.is_some_and(|end| Instant::now() >= end) {
            return finish(&seen.last, options.json);
        }
        if seen.again.is_none() && Instant::now() >= next {
            next += options.interval;
            show(&mut screen, &seen.last, options.json)?;
        }
    }
}

/// What was seen last, which holds while there is nobody to ask: it is all since the beginning.
struct Seen {
    last: Value,
    /// Looks in a row that have failed since.
    failed: u32,
    /// When to look again after such a one.
    again: Option<Instant>,
}

impl Seen {
    fn of(last: Value) -> Self {
        Self {
            last,
            failed: 0,
            again: None,
        }
    }

    /// # Errors
    /// It is the last straw.
    fn take(&mut self, looked: Result<Value>) -> Result<()> {
        match looked {
            Ok(value) => *self = Self::of(value),
            Err(error) if self.failed + 1 == FAILED_MOST => return Err(error),
            Err(error) => {
                tracing::warn!("{error:#}; asking again");
                self.failed += 1;
                self.again = Some(Instant::now() + AGAIN);
            }
        }
        Ok(())
    }
}

/// What was observed until now.
fn look(runtime_dir: &Path, device: &str) -> Result<Value> {
    let (values, silent) = ask::values(runtime_dir, Some(device), REQUEST)?;
    ask::complain(&silent)?;
    let Some(value) = of(device, values) else {
        bail!("{device} is away");
    };
    match value["scheme"].as_str() {
        Some(scheme) if scheme != SCHEME => bail!(
            "{device} is attached with scheme {scheme}, which acts: `lasthop status` tells what it does; to observe, end it or reload it with scheme = \"{SCHEME}\""
        ),
        _ => Ok(value),
    }
}

/// What is said of the device itself: those who serve some of its connections by a policy answer as well.
fn of(device: &str, values: Vec<Value>) -> Option<Value> {
    values.into_iter().find(|value| value["dev"] == device)
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

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_is_not_the_device() {
        let line = |dev: &str| json!({"dev": dev, "scheme": "shadow"});
        let all = || vec![line("wl0"), line("wl0:lab")];
        for dev in ["wl0", "wl0:lab"] {
            assert_eq!(of(dev, all()), Some(line(dev)));
        }
        assert_eq!(of("wl0", vec![line("wl0:lab")]), None);
    }

    /// An hour's measurement is not lost by a look that fails.
    #[test]
    fn what_was_seen_holds_while_nobody_answers() {
        let mut seen = Seen::of(json!(1));
        for last in [2, 3] {
            for _ in 1..FAILED_MOST {
                seen.take(Err(anyhow!("busy"))).unwrap();
                assert!(seen.again.is_some());
            }
            seen.take(Ok(json!(last))).unwrap();
            assert_eq!((&seen.last, seen.again), (&json!(last), None));
        }
        let mut fails = || seen.take(Err(anyhow!("busy"))).is_err();
        let failed: Vec<bool> = (0..FAILED_MOST).map(|_| fails()).collect();
        assert_eq!(
            failed.iter().position(|failed| *failed),
            Some(FAILED_MOST as usize - 1)
        );
        assert_eq!(seen.last, 3);
    }
}
