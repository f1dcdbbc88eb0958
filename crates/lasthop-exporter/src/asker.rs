// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Asks all agents at once, each within its time, and remembers who has been there: a device whose
//! agent ends is not forgotten in silence.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use lasthop::ask::{self, Bounds, Owner, Silence};
use serde_json::Value;

use crate::sample::{Errors, Said, Sample, reason};

/// For `status`; an agent answers in milliseconds.
const STATUS: Bounds = Bounds {
    whole: Duration::from_secs(2),
    pause: Duration::from_secs(2),
    bytes: 1 << 20,
};
/// For `peers`, of an agent that has just answered.
const PEERS: Bounds = Bounds {
    whole: Duration::from_secs(1),
    pause: Duration::from_secs(1),
    bytes: 1 << 20,
};
/// Asking takes no longer, whatever the agents do: they are asked beside each other.
pub const LONGEST: Duration = Duration::from_secs(STATUS.whole.as_secs() + PEERS.whole.as_secs());
/// More devices than these, by name, are left out and counted as an error.
pub const DEVICES_MAX: usize = 64;
/// How long a device whose agent is gone is still told of.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// Asks agents.
#[derive(Debug)]
pub struct Asker {
    runtime_dir: PathBuf,
    /// Devices that should be served.
    expected: Vec<String>,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// When a device's agent last answered.
    answered: BTreeMap<String, Instant>,
    /// Since when there is nobody behind a device's socket: one who was killed leaves it, until somebody claims
    /// the device again.
    left: BTreeMap<String, Instant>,
    errors: Errors,
}

impl Asker {
    /// Will ask the agents that have their sockets in `runtime_dir`. Those of `expected` are told of
    /// as not being there, too, if they never were.
    pub fn new(runtime_dir: PathBuf, mut expected: Vec<String>) -> Self {
        expected.truncate(DEVICES_MAX);
        Self {
            runtime_dir,
            expected,
            memory: Mutex::default(),
        }
    }

    /// Asks all; blocks for [`LONGEST`] at the most.
    pub fn ask(&self) -> Sample {
        let begin = Instant::now();
        let (owners, problem) = match ask::owners(&self.runtime_dir) {
            Ok(owners) => (owners, None),
            Err(error) => (Vec::new(), Some(format!("{error:#}"))),
        };
        let left_out = owners.len().saturating_sub(DEVICES_MAX);
        let devices = ask_each(&owners[..owners.len() - left_out]);
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let problem_text = problem.as_deref();
        let devices = memory.complete(devices, &self.expected, problem_text, Instant::now());
        memory.count(&devices, problem.is_some(), left_out as u64);
        Sample {
            at: SystemTime::now(),
            took: begin.elapsed(),
            devices,
            problem,
            errors: memory.errors.clone(),
        }
    }
}

/// A thread for each: one that hangs has the others wait, but not one after another.
fn ask_each(owners: &[Owner]) -> BTreeMap<String, Said> {
    thread::scope(|scope| {
        let asked: Vec<_> = owners
            .iter()
            .map(|owner| {
                let thread = thread::Builder::new().spawn_scoped(scope, || ask_one(owner));
                (owner.device.clone(), thread)
            })
            .collect();
        let said = |thread: std::io::Result<thread::ScopedJoinHandle<'_, Said>>| match thread {
            Ok(thread) => thread.join().ok(),
            Err(_) => None,
        };
        let broken = || Said::Down {
            reason: reason(Silence::Broken),
            text: "no thread to ask it from: see the limits of this process".into(),
        };
        asked
            .into_iter()
            .map(|(name, thread)| (name, said(thread).unwrap_or_else(broken)))
            .collect()
    })
}

fn ask_one(owner: &Owner) -> Said {
    let refused = |refusal: ask::Refusal| Said::Down {
        reason: reason(refusal.silence),
        text: refusal.text,
    };
    let status = match owner.ask("status", STATUS) {
        Ok(lines) => lines,
        Err(refusal) => return refused(refusal),
    };
    match (parse(&status).as_deref(), owner.ask("peers", PEERS)) {
        (Some([status]), Ok(peers)) if status["counters"].is_object() => Said::Up {
            status: status.clone(),
            peers: parse(&peers).unwrap_or_default(),
        },
        (_, Err(refusal)) => refused(refusal),
        _ => Said::Down {
            reason: reason(Silence::Broken),
            text: "its answer is no status: is it of another version?".into(),
        },
    }
}

/// The objects of JSON Lines; none if one isn't.
fn parse(lines: &[String]) -> Option<Vec<Value>> {
    let object = |line: &String| serde_json::from_str(line).ok().filter(Value::is_object);
    lines.iter().map(object).collect()
}

/// Whether there is a socket, and nobody behind it.
fn is_left(said: &Said) -> bool {
    matches!(said, Said::Down { reason: why, .. } if *why == reason(Silence::Gone))
}

impl Memory {
    /// Adds the devices that should be there and are not, and leaves those out that were long ago.
    fn complete(
        &mut self,
        mut devices: BTreeMap<String, Said>,
        expected: &[String],
        problem: Option<&str>,
        now: Instant,
    ) -> BTreeMap<String, Said> {
        let is_late = |since: &Instant| now.duration_since(*since) >= REMEMBERED;
        for (name, said) in &devices {
            if matches!(said, Said::Up { .. }) {
                self.answered.insert(name.clone(), now);
            }
        }
        self.answered.retain(|_, at| !is_late(at));
        self.left
            .retain(|name, _| devices.get(name).is_some_and(is_left));
        devices.retain(|name, said| {
            let is_late = is_left(said) && is_late(self.left.entry(name.clone()).or_insert(now));
            !is_late || expected.contains(name)
        });
        let known: Vec<&String> = self.answered.keys().chain(expected).collect();
        for name in known {
            if devices.len() >= DEVICES_MAX {
                break;
            }
            devices.entry(name.clone()).or_insert_with(|| Said::Down {
                reason: reason(Silence::Gone),
                text: problem.unwrap_or("no agent has it attached").to_owned(),
            });
        }
        // Devices come and go, and so do their names.
        self.answered.retain(|name, _| devices.contains_key(name));
        devices
    }

    fn count(&mut self, devices: &BTreeMap<String, Said>, problem: bool, left_out: u64) {
        self.errors
            .retain(|(name, _), _| name.is_empty() || devices.contains_key(name));
        let mut add = |name: &str, reason, n| {
            *self.errors.entry((name.to_owned(), reason)).or_default() += n;
        };
        add("", "directory", u64::from(problem));
        add("", "too_many", left_out);
        for (name, said) in devices {
            match said {
                Said::Down { reason, .. } => add(name, reason, 1),
                // From the first sample on, so that the first error is an increase.
                Said::Up { .. } => ["gone", "late"].iter().for_each(|why| add(name, why, 0)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that nobody claims again is not down until the machine is started anew.
    #[test]
    fn what_the_dead_leave_is_told_of_for_an_hour() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        let mut memory = Memory::default();
        let mut told = |after, expected: &[&str]| {
            let left = Said::Down {
                reason: reason(Silence::Gone),
                text: String::new(),
            };
            let expected: Vec<String> = expected.iter().map(|&name| name.into()).collect();
            let left = BTreeMap::from([("wl9".to_owned(), left)]);
            let told = memory.complete(left, &expected, None, begin + after);
            told.contains_key("wl9")
        };
        assert!(told(Duration::ZERO, &[]) && told(REMEMBERED - second, &[]));
        assert!(!told(REMEMBERED, &[]) && !told(REMEMBERED + second, &[]));
        assert!(told(REMEMBERED + second, &["wl9"]));
    }
}
