// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What happened between two looks.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use serde_json::Value;

use super::{Event, Sample};
use crate::report::{flow_key, text};

/// What has not happened for so long is over.
const QUIET: Duration = Duration::from_secs(10);

/// Something that goes on as long as a counter rises.
#[derive(Debug, Default)]
struct Episode {
    begun: Option<Duration>,
    last: Duration,
    total: u64,
}

impl Episode {
    /// The counter has risen by `n`. `names`: of beginning and end.
    fn rise(&mut self, n: u64, at: Duration, dev: &str, names: [&'static str; 2]) -> Option<Event> {
        if n > 0 {
            self.total += n;
            self.last = at;
            if self.begun.is_none() {
                self.begun = Some(at);
                return Some(Event::of(dev, names[0]).with("n", n));
            }
        }
        let begun = self
            .begun
            .take_if(|_| at.saturating_sub(self.last) >= QUIET)?;
        let took = self.last.saturating_sub(begun);
        let total = std::mem::take(&mut self.total);
        Some(
            Event::of(dev, names[1])
                .with("n", total)
                .with("duration_s", seconds(took)),
        )
    }
}

/// What is known of one device.
#[derive(Debug, Default)]
struct Device {
    status: Value,
    is_silent: bool,
    stale: Episode,
    full: Episode,
    /// Since when memory is scarce.
    scarce: Option<Duration>,
    /// Receivers that are cut off, since when.
    out: BTreeMap<String, Duration>,
    /// Address and layer-2 address of the partners that answer.
    partners: BTreeSet<(String, String)>,
    /// Connections that were repaired; none: not known yet.
    repaired: Option<HashSet<String>>,
    /// These counters when connections were looked at last.
    told_repairs: u64,
    told_outages: u64,
}

/// What is known from the looks before.
#[derive(Debug, Default)]
pub struct Watch {
    devices: BTreeMap<String, Device>,
}

impl Watch {
    /// What is looked at of a connection beside its key.
    pub(super) const OF_FLOWS: [&str; 2] = ["local_retransmits", "outage_s"];

    /// Whether connections have something to tell: repairs or outages were counted since they were asked
    /// for, or a receiver is cut off.
    pub fn wants_flows(&self, status: &[Value]) -> bool {
        status.iter().any(|status| {
            let (repairs, outages) = (
                counter(status, "local_retransmits"),
                counter(status, "outages"),
            );
            match self.devices.get(name(status)) {
                None => repairs + outages > 0,
                Some(known) => {
                    repairs != known.told_repairs
                        || outages != known.told_outages
                        || !known.out.is_empty()
                }
            }
        })
    }

    /// What has happened since the last one. The first tells what is.
    pub fn take(&mut self, sample: &Sample) -> Vec<Event> {
        let mut events = Vec::new();
        self.follow_names(sample, &mut events);
        for status in &sample.status {
            self.see(status, sample.at, &mut events);
        }
        self.miss(sample, &mut events);
        if let Some(peers) = &sample.peers {
            self.see_partners(peers, sample, &mut events);
        }
        if let Some(flows) = &sample.flows {
            let heard = |dev: &str| !is_silent(sample, dev);
            for (dev, device) in self.devices.iter_mut().filter(|(dev, _)| heard(dev)) {
                let ours: Vec<&Value> = flows.iter().filter(|flow| name(flow) == dev).collect();
                device.see_flows(dev, &ours, sample.at, &mut events);
            }
        }
        events
    }

    /// A device that is known by its index and has another name.
    fn follow_names(&mut self, sample: &Sample, events: &mut Vec<Event>) {
        let there = |dev: &str| sample.status.iter().any(|status| name(status) == dev);
        for status in &sample.status {
            if self.devices.contains_key(name(status)) || status["ifindex"].is_null() {
                continue;
            }
            let same = |(dev, known): (&String, &Device)| {
                let is_same = known.status["ifindex"] == status["ifindex"]
                    && known.status["pid"] == status["pid"];
                (is_same && !there(dev)).then(|| dev.clone())
            };
            let Some(was) = self.devices.iter().find_map(same) else {
                continue;
            };
            if let Some(device) = self.devices.remove(&was) {
                self.devices.insert(name(status).to_owned(), device);
                events.push(Event::of(name(status), "renamed").with("was", was));
            }
        }
    }

    fn see(&mut self, status: &Value, at: Duration, events: &mut Vec<Event>) {
        let dev = name(status);
        let is_new = !self.devices.contains_key(dev);
        let device = self.devices.entry(dev.to_owned()).or_default();
        if std::mem::take(&mut device.is_silent) {
            events.push(Event::of(dev, "answers"));
        }
        events.extend(device.change_of_state(dev, status, is_new));
        let is_same = !is_new && !begins_anew(&device.status, status);
        if !is_same {
            // Counters start anew with it, and so does all that was known of connections.
            device.out.clear();
            device.told_repairs = 0;
            device.told_outages = match is_new {
                true => counter(status, "outages"), // from before we looked
                false => 0,
            };
            device.repaired = (counter(status, "local_retransmits") == 0).then(HashSet::new);
        }
        let risen = |names: &[&str]| -> u64 {
            let n =
                |status: &Value| -> u64 { names.iter().map(|name| counter(status, name)).sum() };
            match is_same {
                true => n(status).saturating_sub(n(&device.status)),
                false => 0,
            }
        };
        let (stale, full) = (
            risen(&["bypass_stale"]),
            risen(&["bypass_table_full", "bypass_unanswered"]),
        );
        let stale = device
            .stale
            .rise(stale, at, dev, ["stale_begun", "stale_ended"]);
        events.extend(stale);
        let names = ["table_full_begun", "table_full_ended"];
        events.extend(device.full.rise(full, at, dev, names));
        events.extend(device.change_of_memory(dev, status, at));
        device.status = status.clone();
    }

    /// Devices of which nothing was heard.
    fn miss(&mut self, sample: &Sample, events: &mut Vec<Event>) {
        let there = |dev: &str| sample.status.iter().any(|status| name(status) == dev);
        for sentence in &sample.silent {
            let (dev, detail) = sentence.split_once(": ").unwrap_or(("?", sentence));
            let known = self.devices.get(dev).is_some_and(|known| known.is_silent);
            if known || there(dev) {
                continue;
            }
            self.devices.entry(dev.to_owned()).or_default().is_silent = true;
            events.push(Event::of(dev, "silent").with("detail", detail));
        }
        self.devices.retain(|dev, _| {
            let stays = there(dev) || is_silent(sample, dev);
            if !stays {
                events.push(Event::of(dev, "detached"));
            }
            stays
        });
    }

    fn see_partners(&mut self, peers: &[Value], sample: &Sample, events: &mut Vec<Event>) {
        for (dev, device) in &mut self.devices {
            if is_silent(sample, dev) {
                continue;
            }
            let up = peers
                .iter()
                .filter(|peer| name(peer) == dev && peer["state"] == "up")
                .map(|peer| (text(&peer["addr"]), text(&peer["mac"])))
                .collect();
            let before = std::mem::replace(&mut device.partners, up);
            let told = |event, (addr, _): &(String, String)| {
                Event::of(dev, event).with("addr", addr.as_str())
            };
            let lost = before.difference(&device.partners);
            events.extend(lost.map(|partner| told("partner_lost", partner)));
            let come = device.partners.difference(&before);
            events.extend(come.map(|partner| told("partner_up", partner)));
        }
    }
}

impl Device {
    /// It came, went, or is served otherwise.
    fn change_of_state(&self, dev: &str, status: &Value, is_new: bool) -> Option<Event> {
        let attached = |status: &Value| status["state"] == "attached";
        let was = &self.status;
        let event = |word| Some(Event::of(dev, word));
        if is_new || was.is_null() || attached(was) != attached(status) {
            return match (attached(status), is_new || was.is_null()) {
                (true, _) => event("attached").map(|event| {
                    event
                        .with("scheme", status["scheme"].clone())
                        .with("pid", status["pid"].clone())
                }),
                (false, true) => event("waiting").map(|event| match &status["complaint"] {
                    Value::Null => event,
                    why => event.with("detail", why.clone()),
                }),
                (false, false) => event("gone"),
            };
        }
        if was["pid"] != status["pid"] && !begins_anew(was, status) {
            return event("handed_over").map(|event| event.with("pid", status["pid"].clone()));
        }
        if begins_anew(was, status) && attached(status) {
            let event = Event::of(dev, "attached").with("scheme", status["scheme"].clone());
            return Some(event.with("pid", status["pid"].clone()));
        }
        let reloaded = was["reloads"] != status["reloads"] && was["pid"] == status["pid"];
        let event = Event::of(dev, "reloaded").with("scheme", status["scheme"].clone());
        reloaded.then_some(event)
    }

    /// Memory is scarce from three quarters of the cache on, where the core begins to evict, and until half.
    fn change_of_memory(&mut self, dev: &str, status: &Value, at: Duration) -> Option<Event> {
        let bytes = |name: &str| status[name].as_u64().unwrap_or(0);
        let (used, all) = (bytes("cache_bytes"), bytes("cache_max_bytes"));
        if self.scarce.is_none() && all > 0 && used >= all / 4 * 3 {
            self.scarce = Some(at);
            return Some(Event::of(dev, "memory_scarce_begun"));
        }
        let since = self.scarce.take_if(|_| used < all / 2)?;
        let took = seconds(at.saturating_sub(since));
        Some(Event::of(dev, "memory_scarce_ended").with("duration_s", took))
    }

    fn see_flows(&mut self, dev: &str, flows: &[&Value], at: Duration, events: &mut Vec<Event>) {
        self.see_outages(dev, flows, at, events);
        self.told_repairs = counter(&self.status, "local_retransmits");
        let repaired = flows.iter().filter(|flow| flow["local_retransmits"] != 0);
        let now: HashSet<String> = repaired.clone().map(|flow| flow_key(flow)).collect();
        if let Some(before) = &self.repaired {
            let first = repaired.filter(|flow| !before.contains(&flow_key(flow)));
            events.extend(first.map(|flow| {
                ["mh", "mh_port", "fh", "fh_port"]
                    .into_iter()
                    .fold(Event::of(dev, "first_repair"), |event, name| {
                        event.with(name, flow[name].clone())
                    })
            }));
        }
        self.repaired = Some(now); // those that are over are forgotten, so that it has a bound
    }

    fn see_outages(&mut self, dev: &str, flows: &[&Value], at: Duration, events: &mut Vec<Event>) {
        let mut out: BTreeMap<String, (Duration, u64)> = BTreeMap::new();
        for flow in flows {
            let Some(lasts) = flow["outage_s"].as_f64() else {
                continue;
            };
            let lasts = Duration::try_from_secs_f64(lasts).unwrap_or_default();
            let since = at.saturating_sub(lasts);
            let receiver = out.entry(text(&flow["mh"])).or_insert((since, 0));
            *receiver = (receiver.0.min(since), receiver.1 + 1);
        }
        let outages = counter(&self.status, "outages");
        let grown = outages.saturating_sub(self.told_outages);
        self.told_outages = outages;
        let before = std::mem::take(&mut self.out);
        let begun = out.iter().filter(|(mh, _)| !before.contains_key(*mh));
        let n_begun = begun.clone().count();
        events.extend(begun.map(|(mh, (_, n))| {
            Event::of(dev, "outage_begun")
                .with("mh", mh.as_str())
                .with("n", *n)
        }));
        let ended = before.iter().filter(|(mh, _)| !out.contains_key(*mh));
        events.extend(ended.map(|(mh, since)| {
            Event::of(dev, "outage_ended")
                .with("mh", mh.as_str())
                .with("duration_s", seconds(at.saturating_sub(*since)))
        }));
        if grown > 0 && n_begun == 0 && before.is_empty() {
            events.push(Event::of(dev, "outage_passed").with("n", grown));
        }
        self.out = out
            .into_iter()
            .map(|(mh, (since, _))| (mh.clone(), before.get(&mh).copied().unwrap_or(since)))
            .collect();
    }
}

fn name(object: &Value) -> &str {
    object["dev"].as_str().unwrap_or("?")
}

fn counter(status: &Value, name: &str) -> u64 {
    status["counters"][name].as_u64().unwrap_or(0)
}

fn is_silent(sample: &Sample, dev: &str) -> bool {
    let begins = |sentence: &String| {
        sentence
            .split_once(": ")
            .is_some_and(|(name, _)| name == dev)
    };
    sample.silent.iter().any(begins)
}

/// Another life of the device: it is a new one, or its counters went back.
fn begins_anew(was: &Value, status: &Value) -> bool {
    let counters = ["data_segments", "ack_segments", "flows_created"];
    let back = |name: &&str| counter(status, name) < counter(was, name);
    was["ifindex"] != status["ifindex"] || counters.iter().any(back)
}

fn seconds(duration: Duration) -> f64 {
    crate::report::round(duration.as_secs_f64())
}
