// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::report::keys;

fn status(dev: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut status = json!({
        "dev": dev, "ifindex": 7, "scheme": "rack", "state": "attached", "pid": 100, "reloads": 0,
        "cache_bytes": 0, "cache_max_bytes": 1000, "counters": { "data_segments": 10 },
    });
    change(&mut status);
    status
}

fn flow(port: u16, repairs: u64, outage_s: Option<f64>) -> Value {
    json!({
        "dev": "wl0", "mh": "10.0.0.2", "mh_port": port, "fh": "10.1.0.1", "fh_port": 80, "vlan": [],
        "local_retransmits": repairs, "outage_s": outage_s,
    })
}

fn peer(state: &str) -> Value {
    json!({"dev": "wl0", "state": state, "addr": "fe80::1", "mac": "02:00:00:00:00:01"})
}

/// Looks a second apart.
#[derive(Default)]
struct Looks {
    watch: Watch,
    at: Duration,
}

impl Looks {
    fn look(&mut self, sample: Sample) -> Vec<Event> {
        self.at += Duration::from_secs(1);
        self.watch.take(&Sample {
            at: self.at,
            ..sample
        })
    }

    fn status(&mut self, status: Vec<Value>) -> Vec<&'static str> {
        let events = self.look(Sample {
            status,
            ..Sample::default()
        });
        events.iter().map(|event| event.event).collect()
    }

    fn flows(&mut self, status: Value, flows: Vec<Value>) -> Vec<Event> {
        assert!(self.watch.wants_flows(std::slice::from_ref(&status)));
        self.look(Sample {
            status: vec![status],
            flows: Some(flows),
            ..Sample::default()
        })
    }
}

fn same(_: &mut Value) {}

#[test]
fn devices_come_go_and_are_renamed() {
    let mut looks = Looks::default();
    assert_eq!(looks.status(vec![status("wl0", same)]), ["attached"]);
    assert!(looks.status(vec![status("wl0", same)]).is_empty());
    let away = |s: &mut Value| {
        s["state"] = "waiting".into();
        s["ifindex"] = Value::Null;
        s["counters"]["data_segments"] = 0.into();
    };
    assert_eq!(looks.status(vec![status("wl0", away)]), ["gone"]);
    assert!(looks.status(vec![status("wl0", away)]).is_empty());
    let back = |s: &mut Value| s["ifindex"] = 8.into();
    assert_eq!(looks.status(vec![status("wl0", back)]), ["attached"]);
    let events = looks.look(Sample {
        status: vec![status("wifi", back)],
        ..Sample::default()
    });
    let renamed = Event::of("wifi", "renamed").with("was", "wl0");
    assert_eq!(events, [renamed]);
    assert_eq!(looks.status(vec![]), ["detached"]);
    assert_eq!(looks.status(vec![status("wl0", away)]), ["waiting"]);
}

/// A device that is there and can't be attached is told of with the reason.
#[test]
fn who_waits_for_something_else_says_so() {
    let refused = |s: &mut Value| {
        s["state"] = "waiting".into();
        s["complaint"] = "wl0:lab: no memory".into();
    };
    let events = Looks::default().look(Sample {
        status: vec![status("wl0:lab", refused)],
        ..Sample::default()
    });
    let waits = Event::of("wl0:lab", "waiting").with("detail", "wl0:lab: no memory");
    assert_eq!(events, [waits]);
}

/// Another device of the same name between two looks is seen by its index, another process that goes on
/// by its number.
#[test]
fn another_life_is_told_from_another_process() {
    let mut looks = Looks::default();
    looks.status(vec![status("wl0", same)]);
    let process = |s: &mut Value| s["pid"] = 101.into();
    assert_eq!(looks.status(vec![status("wl0", process)]), ["handed_over"]);
    let anew = |s: &mut Value| {
        s["pid"] = 102.into();
        s["counters"]["data_segments"] = 3.into();
    };
    assert_eq!(looks.status(vec![status("wl0", anew)]), ["attached"]);
    let reload = |s: &mut Value| {
        anew(s);
        s["reloads"] = 1.into();
        s["scheme"] = "sack".into();
    };
    assert_eq!(looks.status(vec![status("wl0", reload)]), ["reloaded"]);
    assert!(looks.status(vec![status("wl0", reload)]).is_empty());
}

#[test]
fn silence_is_not_absence() {
    let mut looks = Looks::default();
    looks.status(vec![status("wl0", same)]);
    let silent = || Sample {
        silent: vec!["wl0: process 100 has not answered".into()],
        ..Sample::default()
    };
    let events = looks.look(silent());
    let expected = Event::of("wl0", "silent").with("detail", "process 100 has not answered");
    assert_eq!(events, [expected]);
    assert!(looks.look(silent()).is_empty());
    assert_eq!(looks.status(vec![status("wl0", same)]), ["answers"]);
}

/// One line when it begins and one when it has been quiet for ten seconds, however often it counts.
#[test]
fn what_goes_on_is_told_twice() {
    let counted = |n: u64| status("wl0", |s| s["counters"]["bypass_stale"] = n.into());
    let mut looks = Looks::default();
    assert_eq!(looks.status(vec![counted(5)]), ["attached"]);
    assert_eq!(looks.status(vec![counted(6)]), ["stale_begun"]);
    for n in 7..10 {
        assert!(looks.status(vec![counted(n)]).is_empty());
    }
    let quiet: Vec<Event> = (0..12)
        .flat_map(|_| {
            looks.look(Sample {
                status: vec![counted(9)],
                ..Sample::default()
            })
        })
        .collect();
    let ended = Event::of("wl0", "stale_ended");
    assert_eq!(quiet, [ended.with("n", 4).with("duration_s", 3.0)]);
    let full = |n: u64| status("wl0", |s| s["counters"]["bypass_table_full"] = n.into());
    assert_eq!(looks.status(vec![full(1)]), ["table_full_begun"]);
}

/// At three quarters and not again before it has been below a half.
#[test]
fn memory_gets_scarce_and_plentiful() {
    let used = |n: u64| vec![status("wl0", |s| s["cache_bytes"] = n.into())];
    let mut looks = Looks::default();
    assert_eq!(looks.status(used(700)), ["attached"]);
    assert_eq!(looks.status(used(750)), ["memory_scarce_begun"]);
    assert!(looks.status(used(600)).is_empty());
    assert!(looks.status(used(800)).is_empty());
    assert_eq!(looks.status(used(499)), ["memory_scarce_ended"]);
}

#[test]
fn outages_are_told_per_receiver() {
    let counted = |n: u64| status("wl0", |s| s["counters"]["outages"] = n.into());
    let mut looks = Looks::default();
    looks.status(vec![counted(0)]);
    assert!(!looks.watch.wants_flows(&[counted(0)]));
    let out = || {
        vec![
            flow(1, 0, Some(0.5)),
            flow(2, 0, Some(0.2)),
            flow(3, 0, None),
        ]
    };
    let begun = Event::of("wl0", "outage_begun").with("mh", "10.0.0.2");
    assert_eq!(looks.flows(counted(2), out()), [begun.with("n", 2)]);
    assert!(looks.flows(counted(2), out()).is_empty());
    let ended = Event::of("wl0", "outage_ended").with("mh", "10.0.0.2");
    let events = looks.flows(counted(2), vec![flow(1, 0, None)]);
    assert_eq!(events, [ended.with("duration_s", 2.5)]);
    assert!(!looks.watch.wants_flows(&[counted(2)]));
    let passed = Event::of("wl0", "outage_passed").with("n", 3);
    assert_eq!(looks.flows(counted(5), vec![flow(1, 0, None)]), [passed]);
}

/// Of a connection the first repair is told, of those that were repaired before we looked none.
#[test]
fn first_repairs() {
    let counted = |n: u64| status("wl0", |s| s["counters"]["local_retransmits"] = n.into());
    let mut looks = Looks::default();
    assert!(looks.flows(counted(4), vec![flow(1, 4, None)]).len() == 1); // attached
    let events = looks.flows(counted(6), vec![flow(1, 5, None), flow(2, 1, None)]);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].json(SystemTime::UNIX_EPOCH)["mh_port"], 2);
    assert!(!looks.watch.wants_flows(&[counted(6)]));
    let anew = |n: u64| {
        status("wl0", |s| {
            s["ifindex"] = 9.into();
            s["counters"]["local_retransmits"] = n.into();
        })
    };
    looks.status(vec![anew(0)]);
    assert_eq!(looks.flows(anew(1), vec![flow(1, 1, None)]).len(), 1);
}

#[test]
fn partners_come_and_go() {
    let mut looks = Looks::default();
    let mut look = |peers: Option<Vec<Value>>, silent: &[&str]| {
        let events = looks.look(Sample {
            status: match silent.is_empty() {
                true => vec![status("wl0", same)],
                false => vec![],
            },
            peers,
            silent: silent.iter().map(|s| (*s).to_owned()).collect(),
            ..Sample::default()
        });
        let words = events.iter().map(|event| event.event);
        words.collect::<Vec<_>>()
    };
    assert_eq!(look(Some(vec![peer("new")]), &[]), ["attached"]);
    assert_eq!(look(Some(vec![peer("up")]), &[]), ["partner_up"]);
    assert_eq!(look(None, &["wl0: process 100 is busy"]), ["silent"]);
    assert_eq!(look(Some(vec![peer("up")]), &[]), ["answers"]);
    assert_eq!(look(Some(vec![peer("silent")]), &[]), ["partner_lost"]);
    assert!(look(Some(vec![]), &[]).is_empty());
}

/// Whatever happens at once, so many lines come of it.
#[test]
fn lines_have_a_bound() {
    let many = vec![Event::of("wl0", "first_repair"); 5_000];
    let told = bounded(many);
    assert_eq!(told.len(), LINES_MAX);
    let last = told.last().unwrap().json(SystemTime::UNIX_EPOCH);
    assert_eq!(last["n"], 5_001 - LINES_MAX);
    assert_eq!(bounded(vec![Event::of("wl0", "gone")]).len(), 1);
}

#[test]
fn one_device_is_followed_by_its_names() {
    let mut device = Some("wl0".to_owned());
    let events = vec![
        Event::of("eth0", "gone"),
        Event::of("wl0:lab", "first_repair"),
        Event::of("wifi", "renamed").with("was", "wl0"),
        Event::of("wifi:lab", "renamed").with("was", "wl0:lab"),
        Event::of("wifi", "gone"),
        Event::of("wl0", "attached"),
        Event::of("wifi1", "attached"),
    ];
    let ours = only(events, &mut device);
    let words: Vec<_> = ours.iter().map(|event| event.event).collect();
    assert_eq!(words, ["first_repair", "renamed", "renamed", "gone"]);
}

#[test]
fn an_event_is_a_line_and_an_object() {
    let event = Event::of("wl0", "renamed").with("was", "wl1");
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_234);
    assert_eq!(
        event.line(time),
        "1970-01-01T00:00:01.234Z wl0 renamed: it has another name (was wl1)"
    );
    assert_eq!(
        event.json(time).to_string(),
        json!({"time": "1970-01-01T00:00:01.234Z", "event": "renamed", "dev": "wl0", "was": "wl1"})
            .to_string()
    );
}

/// The source says no word and no field that the reference does not have, and the reference none that is
/// never said.
#[test]
fn words_and_fields_are_those_documented() {
    let source = concat!(include_str!("watch.rs"), include_str!("../events.rs"));
    let code = source.replace(char::is_whitespace, "");
    let words: BTreeSet<&str> = EVENT_WORDS.iter().map(|(word, _)| *word).collect();
    assert_eq!(words.len(), EVENT_WORDS.len());
    for word in &words {
        assert!(code.matches(&format!("\"{word}\"")).count() > 1, "{word}");
    }
    let fields: BTreeSet<&str> = EVENTS_FIELDS.iter().map(|(name, _, _)| *name).collect();
    let mut said: BTreeSet<&str> = code
        .split(".with(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    said.extend(["mh_port", "fh", "fh_port"]); // by a list
    let base = Event::of("wl0", "gone").json(SystemTime::UNIX_EPOCH);
    said.extend(keys(&base));
    assert_eq!(said, fields);
}
