// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `lasthop events`: what happens to devices, receivers and connections, told from the differences
//! between what the serving processes answer from one second to the next. Those have one thread that
//! nothing may hold up: so nothing is noted there, and what comes and goes between two looks is known
//! by its counters only.

mod sample;
mod watch;

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use serde_json::{Map, Value};

pub use self::sample::{Pace, Sample};
pub use self::watch::Watch;
use crate::ask::is_of;
use crate::report::{Field, text};

/// Lines that are told of one look; what is left out is counted.
const LINES_MAX: usize = 64;

/// Fields of a line of `events -j`.
pub const EVENTS_FIELDS: &[Field] = &[
    ("time", "", "when it was found out (RFC 3339, UTC)"),
    ("event", "", "a word from the list below"),
    ("dev", "", "device; null with `omitted`"),
    ("was", "", "of `renamed`: its name before"),
    (
        "scheme",
        "",
        "of `attached`, `reloaded`: what is done about losses",
    ),
    (
        "pid",
        "",
        "of `attached`, `handed_over`: process that serves it",
    ),
    ("mh", "", "receiver, of outages and `first_repair`"),
    ("mh_port", "", "of `first_repair`"),
    ("fh", "", "of `first_repair`: sender"),
    ("fh_port", "", "of `first_repair`"),
    ("addr", "", "of partners: their address on the link"),
    (
        "n",
        "",
        "how many: connections that are cut off, outages, packets, segments, lines left out",
    ),
    ("duration_s", "s", "of what has ended: how long it took"),
    (
        "detail",
        "",
        "of `silent` and `waiting`: what is known of the reason",
    ),
];

/// The words of `event`, and what each means.
pub const EVENT_WORDS: &[(&str, &str)] = &[
    ("attached", "the device is served"),
    (
        "waiting",
        "it is not attached, at the start: not there, or for the reason in `detail`; its process tries again",
    ),
    ("gone", "the device went away; its process waits for it"),
    ("detached", "nobody serves it any more"),
    ("renamed", "it has another name"),
    (
        "handed_over",
        "another process serves it, with its connections",
    ),
    ("reloaded", "it is served otherwise since a reload"),
    ("silent", "its process does not answer"),
    ("answers", "it does again"),
    (
        "stale_begun",
        "packets pass without help, for the process gave its programs no sign of life",
    ),
    ("stale_ended", "no longer, for ten seconds"),
    ("table_full_begun", "connections find no room in the table"),
    ("table_full_ended", "no longer, for ten seconds"),
    (
        "memory_scarce_begun",
        "three quarters of the cache are used",
    ),
    ("memory_scarce_ended", "less than half of it is"),
    (
        "outage_begun",
        "connections to a receiver are found to be cut off",
    ),
    ("outage_ended", "none of them is any more"),
    (
        "outage_passed",
        "connections were cut off, but not for long enough to be seen",
    ),
    ("partner_up", "an agent at the link's other end answers"),
    ("partner_lost", "it no longer does"),
    ("first_repair", "a connection's first loss is repaired"),
    ("omitted", "more happened at once than is told"),
];

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// A word of [`EVENT_WORDS`].
    pub event: &'static str,
    /// Device; none: what was left out.
    pub dev: Option<String>,
    /// Further fields, as in [`EVENTS_FIELDS`].
    pub more: Vec<(&'static str, Value)>,
}

impl Event {
    /// Of a device, without further fields.
    pub fn of(dev: &str, event: &'static str) -> Self {
        Self {
            event,
            dev: Some(dev.to_owned()),
            more: Vec::new(),
        }
    }

    /// With a further field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.more.push((name, value.into()));
        self
    }

    /// The object of `events -j`.
    pub fn json(&self, time: SystemTime) -> Value {
        let mut object = Map::new();
        object.insert("time".into(), stamp(time).into());
        object.insert("event".into(), self.event.into());
        object.insert("dev".into(), self.dev.clone().into());
        for (name, value) in &self.more {
            object.insert((*name).into(), value.clone());
        }
        object.into()
    }

    /// A line for people: the fields behind what they mean.
    pub fn line(&self, time: SystemTime) -> String {
        let meant = EVENT_WORDS.iter().find(|(word, _)| *word == self.event);
        let meaning = meant.map_or("", |(_, meaning)| meaning);
        let more: Vec<String> = self
            .more
            .iter()
            .map(|(name, value)| format!("{name} {}", text(value)))
            .collect();
        let more = match more.is_empty() {
            true => String::new(),
            false => format!(" ({})", more.join(", ")),
        };
        let dev = self.dev.as_deref().unwrap_or("-");
        format!("{} {dev} {}: {meaning}{more}", stamp(time), self.event)
    }
}

fn stamp(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// What `lasthop events` is asked for.
pub struct Options {
    /// Only of this device, also once it is renamed.
    pub device: Option<String>,
    /// Goes on until it is ended.
    pub follow: bool,
    /// JSON Lines.
    pub json: bool,
    /// Time between two looks.
    pub interval: Duration,
}

/// Tells what is, and with `follow` what happens.
///
/// # Errors
/// No right to ask, or an answer is no JSON.
pub fn run(runtime_dir: &Path, options: &Options) -> Result<()> {
    let mut watch = Watch::default();
    let mut pace = Pace::default();
    let mut device = options.device.clone();
    let began = Instant::now();
    loop {
        let looked = Instant::now();
        let at = began.elapsed();
        let wants = |status: &[Value]| watch.wants_flows(status);
        let sample = Sample::take(runtime_dir, at, &mut pace, "flows", &Watch::OF_FLOWS, wants)?;
        let happened = only(watch.take(&sample), &mut device);
        tell(&bounded(happened), options.json)?;
        if !options.follow {
            return Ok(());
        }
        std::thread::sleep(options.interval.saturating_sub(looked.elapsed()));
    }
}

/// What is of one device and its policies, whose name may change meanwhile.
fn only(happened: Vec<Event>, device: &mut Option<String>) -> Vec<Event> {
    let Some(name) = device else { return happened };
    let is_ours = |event: &Event| {
        let was = event.more.iter().find(|(field, _)| *field == "was");
        let dev = event.dev.as_deref().unwrap_or_default();
        if was.is_some_and(|(_, was)| is_of(&text(was), name)) {
            *name = dev.split(':').next().unwrap_or_default().to_owned();
        }
        is_of(dev, name)
    };
    let mut is_ours = is_ours;
    happened
        .into_iter()
        .filter(|event| is_ours(event))
        .collect()
}

/// The first of them, and how many more there are.
fn bounded(mut happened: Vec<Event>) -> Vec<Event> {
    if happened.len() > LINES_MAX {
        let omitted = happened.split_off(LINES_MAX - 1).len();
        happened.push(Event {
            event: "omitted",
            dev: None,
            more: vec![("n", omitted.into())],
        });
    }
    happened
}

fn tell(happened: &[Event], json: bool) -> io::Result<()> {
    let time = SystemTime::now();
    let mut out = io::stdout().lock();
    for event in happened {
        match json {
            true => writeln!(out, "{}", event.json(time))?,
            false => writeln!(out, "{}", event.line(time))?,
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests;
