// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What `status` and `flows` print: the fields of the JSON objects, documented, and tables for
//! people.

use lasthop_core::bindings as b;
use serde_json::{Value, json};

use crate::columns::aligned;
pub(crate) use crate::fields::round;
pub use crate::fields::{Field, keys};
use crate::memory::Chosen;
use crate::receivers::Hop;
use crate::view::View;

/// Fields of a line of `status -j`, in order.
pub const STATUS_FIELDS: &[Field] = &[
    (
        "dev",
        "",
        "device; `DEVICE:POLICY` where a policy is for these connections",
    ),
    ("ifindex", "", "its index; null while it is away"),
    (
        "section",
        "",
        "section of the configuration that it is served by, its name or a pattern; null: none",
    ),
    ("scheme", "", "what is done about losses"),
    (
        "state",
        "",
        "`attached`, or `waiting`: for the device to come back, or for what `complaint` says",
    ),
    (
        "complaint",
        "",
        "why it could not be attached when it was tried last, a sentence; null: it could",
    ),
    ("pid", "", "process that serves it"),
    (
        "reloads",
        "",
        "times that a reload has changed how that process serves it",
    ),
    ("uptime_s", "s", "since that process attached it first"),
    ("flows", "", "connections in the table"),
    ("flows_max", "", "connections that fit"),
    ("active_flows", "", "connections with something cached"),
    (
        "cache_bytes",
        "bytes",
        "cache slots in use, 2048 bytes each",
    ),
    ("cache_max_bytes", "bytes", "cache slots there can be"),
    ("chunks", "", "ring chunks in use (64 segments each)"),
    (
        "memory_bytes",
        "bytes",
        "kernel memory of all maps: grows and shrinks with need",
    ),
    ("memory_max_bytes", "bytes", "what that may come to"),
    (
        "memory_profile",
        "",
        "`small` or `standard`: by which rule their sizes fit",
    ),
    ("memory_why", "", "why it is that one, a sentence"),
    (
        "heartbeat_age_ms",
        "ms",
        "since the process last showed the programs that it lives; null while its device is away",
    ),
    (
        "goodput_bytes_per_s",
        "bytes/s",
        "payload that receivers acknowledged, mean of the last 5 s",
    ),
    (
        "srtt_us",
        "us",
        "smoothed local round-trip time of all connections; null: no sample",
    ),
    (
        "queue_us",
        "us",
        "the longest `queue_us` of all receivers; null: there was none in the last second, or the scheme doesn't ask",
    ),
    ("receivers_heard", "", "receivers heard in the last minute"),
    (
        "receivers",
        "",
        "array: the 64 of them that were heard last, objects listed below",
    ),
    (
        "counters",
        "",
        "object: counters since attach, listed below",
    ),
];

/// What the serving process adds to an agent's own numbers.
pub struct Served<'a> {
    /// Device name.
    pub device: &'a str,
    /// Section of the configuration; empty: none.
    pub section: &'a str,
    /// Scheme name.
    pub scheme: &'a str,
    /// Why it could not be attached; empty: it could.
    pub complaint: &'a str,
    /// By which rule its sizes fit.
    pub memory: &'a Chosen,
    /// Times that a reload has changed how it is served.
    pub reloads: u64,
    /// Seconds since the device was attached first.
    pub uptime_s: f64,
    /// The loaded programs; none while the device is away.
    pub view: Option<&'a View>,
    /// CLOCK_MONOTONIC.
    pub now_ns: u64,
}

/// All counters by name.
pub fn counters(view: Option<&View>) -> Value {
    let values = view
        .and_then(|view| view.counters().ok())
        .unwrap_or_default();
    let named = lasthop_core::counters();
    Value::Object(
        named
            .map(|c| (c.name.to_owned(), values.n[c.id as usize].into()))
            .collect(),
    )
}

/// The object of `status -j`.
pub fn status(served: &Served<'_>) -> Value {
    let view = served.view;
    let usage = view.map(View::usage).unwrap_or_default();
    let setup = view.map(View::setup);
    let slot_bytes = u64::from(b::LH_SLOT_BYTES);
    let hop = view.and_then(|view| Hop::of(view.device().ok()?));
    let hop = hop.map(|hop| hop.status(served.now_ns)).unwrap_or_default();
    let age_ns = view.map(|v| served.now_ns.saturating_sub(v.last_heartbeat_ns()));
    json!({
        "dev": served.device,
        "ifindex": setup.map(|s| s.ifindex),
        "section": (!served.section.is_empty()).then_some(served.section),
        "scheme": served.scheme,
        "state": if view.is_some() { "attached" } else { "waiting" },
        "complaint": (!served.complaint.is_empty()).then_some(served.complaint),
        "pid": std::process::id(),
        "reloads": served.reloads,
        "uptime_s": round(served.uptime_s),
        "flows": usage.flows,
        "flows_max": setup.map_or(0, |s| s.nr_flows),
        "active_flows": usage.active_flows,
        "cache_bytes": usage.slots * slot_bytes,
        "cache_max_bytes": setup.map_or(0, |s| u64::from(s.nr_slots) * slot_bytes),
        "chunks": usage.chunks,
        "memory_bytes": view.map_or(0, View::taken_bytes),
        "memory_max_bytes": view.map_or(0, View::memory_bytes),
        "memory_profile": served.memory.profile.name(),
        "memory_why": served.memory.why,
        "heartbeat_age_ms": age_ns.map(|ns| ns / 1_000_000),
        "goodput_bytes_per_s": hop.goodput_bytes_per_s,
        "srtt_us": hop.srtt_us,
        "queue_us": hop.queue_us,
        "receivers_heard": hop.receivers_heard,
        "receivers": hop.receivers,
        "counters": counters(view),
    })
}

pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}

/// A device's status for people: state in three lines, then every counter that isn't zero.
pub fn status_for_people(status: &Value) -> String {
    let get = |name: &str| text(&status[name]);
    let mib = |name: &str| status[name].as_u64().unwrap_or(0) as f64 / 1_048_576.0;
    let mut out = format!(
        "{}: {} by process {}, scheme {}, for {} s\n    flows {} of {} ({} with cached data), cache {:.1} of {:.0} MiB, last heartbeat {} ms ago\n    memory {:.1} of {:.1} MiB, profile {}: {}\n",
        get("dev"),
        get("state"),
        get("pid"),
        get("scheme"),
        get("uptime_s"),
        get("flows"),
        get("flows_max"),
        get("active_flows"),
        mib("cache_bytes"),
        mib("cache_max_bytes"),
        get("heartbeat_age_ms"),
        mib("memory_bytes"),
        mib("memory_max_bytes"),
        get("memory_profile"),
        get("memory_why"),
    );
    if let Some(complaint) = status["complaint"].as_str() {
        out += &format!("    {complaint}\n");
    }
    for counter in lasthop_core::counters() {
        let n = status["counters"][counter.name].as_u64().unwrap_or(0);
        if n > 0 {
            out += &format!("    {:<22}{n:>14}  {}\n", counter.name, counter.doc);
        }
    }
    out
}

/// A field of a flow for people; an address goes with its port.
pub(crate) fn cell(flow: &Value, name: &str) -> String {
    match name {
        "mh" => format!("{} {}", text(&flow["mh"]), flow["mh_port"]),
        "fh" => format!("{} {}", text(&flow["fh"]), flow["fh_port"]),
        _ => text(&flow[name]),
    }
}

/// Fields by which a connection is told from others.
pub(crate) const FLOW_KEY: [&str; 6] = ["dev", "mh", "mh_port", "fh", "fh_port", "vlan"];

/// These of a connection, as one text.
pub(crate) fn flow_key(flow: &Value) -> String {
    FLOW_KEY.map(|name| text(&flow[name])).join(" ")
}

/// Columns of a table of connections: fields and their titles.
pub(crate) type Columns<const N: usize> = [(&'static str, &'static str); N];

const COLUMNS: Columns<9> = [
    ("dev", "DEV"),
    ("state", "STATE"),
    ("mh", "MH"),
    ("fh", "FH"),
    ("srtt_us", "SRTT us"),
    ("cached_segments", "CACHED"),
    ("data_bytes", "DATA bytes"),
    ("local_retransmits", "REPAIRS"),
    ("suppressed_acks", "KEPT ACKS"),
];
/// The rest are numbers.
const TEXT_COLUMNS: usize = 4;

/// Fields of connections that [`flows_for_people`] looks at.
pub fn fields_for_people() -> Vec<&'static str> {
    fields_of(&COLUMNS)
}

pub(crate) fn fields_of(columns: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    let shown = columns.iter().map(|(name, _)| *name);
    shown.chain(["mh_port", "fh_port", "data_bytes"]).collect()
}

/// A table of flows for people, most data first.
pub fn flows_for_people(flows: &[Value]) -> String {
    flow_table(flows, &COLUMNS, TEXT_COLUMNS)
}

/// Connections, most data first, by columns: fields and their titles. The first `text_columns` are texts.
pub(crate) fn flow_table<const N: usize>(
    flows: &[Value],
    columns: &Columns<N>,
    text_columns: usize,
) -> String {
    let mut flows: Vec<&Value> = flows.iter().collect();
    flows.sort_by_cached_key(|flow| std::cmp::Reverse(flow["data_bytes"].as_u64()));
    let mut rows = vec![columns.map(|(_, title)| title.to_owned())];
    rows.extend(
        flows
            .iter()
            .map(|flow| columns.map(|(name, _)| cell(flow, name))),
    );
    aligned(&rows, text_columns)
}

/// Fields of a line of `attach -j`, in order.
pub const EVENT_FIELDS: &[Field] = &[
    (
        "event",
        "",
        "`attached`, `renamed` (`dev` is the new name), `gone` (the device went away), `detached`, or between two daemons `handed_over` and `taken_over`",
    ),
    ("dev", "", "device"),
    ("ifindex", "", "its index; null once it is gone"),
    ("scheme", "", "what is done about losses"),
    (
        "counters",
        "",
        "object, but with `attached`: counters since attach",
    ),
];

/// Fields of a line of `lasthop reload -j`, in order.
pub const RELOAD_FIELDS: &[Field] = &[
    (
        "dev",
        "",
        "device; null where the files themselves are wrong, and of what all have in common",
    ),
    (
        "reload",
        "",
        "`changed`, `unchanged`, `added` (by a new section), `removed` (without one), or `failed`: as before; with --upgrade `upgraded`, then beside it `from_pid` and `to_pid` alone",
    ),
    (
        "error",
        "",
        "why it failed, or why nothing changed though the files did; else null",
    ),
    (
        "scheme",
        "",
        "its scheme now; null where it failed or was removed",
    ),
    (
        "flows",
        "",
        "connections in its table, which went on; null while it is away, and where it failed or was removed",
    ),
];

/// One line of what came of `lasthop reload`.
pub fn reload_for_people(value: &Value) -> String {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let dev = match value["dev"].as_str() {
        Some(dev) => format!("{dev}: "),
        None => String::new(),
    };
    match (
        value["reload"].as_str().unwrap_or_default(),
        value["flows"].as_u64(),
    ) {
        ("failed", _) => format!("{dev}still as before: {}", text("error")),
        ("changed", Some(flows)) => {
            format!(
                "{dev}changed (scheme {}), {flows} connections go on",
                text("scheme")
            )
        }
        (what, _) => match value["error"].as_str() {
            Some(why) => format!("{dev}{what}: {why}"),
            None => format!("{dev}{what}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Room;

    fn names(fields: &[Field]) -> Vec<&'static str> {
        let mut names: Vec<_> = fields.iter().map(|(name, _, _)| *name).collect();
        names.sort_unstable();
        names
    }

    fn sorted(object: &Value) -> Vec<&str> {
        let mut keys = keys(object);
        keys.sort_unstable();
        keys
    }

    fn away() -> Value {
        status(&Served {
            device: "wl0",
            scheme: "snoop",
            section: "",
            complaint: "",
            memory: &Chosen::of(None, &Room::UNLIMITED),
            reloads: 0,
            uptime_s: 1.0,
            view: None,
            now_ns: 0,
        })
    }

    #[test]
    fn objects_have_the_documented_fields() {
        assert_eq!(sorted(&away()), names(STATUS_FIELDS));
    }

    #[test]
    fn people_see_flows_in_columns_most_data_first() {
        let flow = |dev, mh, data_bytes: u64| {
            json!({
                "dev": dev, "state": "open", "mh": mh, "mh_port": 5001, "fh": "2001:db8::1",
                "fh_port": 80, "srtt_us": null, "cached_segments": 7, "data_bytes": data_bytes,
                "local_retransmits": 1, "suppressed_acks": 20,
            })
        };
        let (few, most) = (
            flow("wl0", "10.0.0.2", 9),
            flow("lossy0", "::1", 123_456_789_012),
        );
        let expected = "\
DEV     STATE  MH             FH              SRTT us  CACHED    DATA bytes  REPAIRS  KEPT ACKS
lossy0  open   ::1 5001       2001:db8::1 80        -       7  123456789012        1         20
wl0     open   10.0.0.2 5001  2001:db8::1 80        -       7             9        1         20
";
        assert_eq!(flows_for_people(&[few, most]), expected);
    }

    /// What answers on a control socket may be anything.
    #[test]
    fn strange_flows_are_shown_somehow() {
        let long = "x".repeat(70_000);
        for text in [
            "",
            "\n\r\n",
            "a\tb\u{1b}[31m\0",
            "\u{200d}\u{1f469}\u{301}",
            &long,
        ] {
            let table = flows_for_people(&[json!({ "dev": text, "mh": text }), json!(3)]);
            assert!(table.starts_with("DEV") && table.ends_with('\n'), "{table}");
        }
    }

    #[test]
    fn people_see_counters_that_count() {
        let mut object = away();
        object["counters"]["suppressed_acks"] = 5.into();
        let shown = status_for_people(&object);
        assert!(shown.contains("suppressed_acks") && !shown.contains("local_retransmits"));
    }
}
