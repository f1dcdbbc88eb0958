// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which numbers of `lasthop status -j` become which metrics: a line each. The counters are the
//! core's list; here is only how they are called.

use prometheus_client::registry::Unit;

/// A number of an object that is measured anew each time.
pub struct Gauge {
    /// Its field.
    pub field: &'static str,
    /// The metric, without prefix and unit.
    pub name: &'static str,
    /// What one of the metric is; appended to the name.
    pub unit: Option<Unit>,
    /// So many of the field is one of the unit.
    pub per: f64,
    /// What it means.
    pub help: &'static str,
}

fn gauge(
    (field, per): (&'static str, f64),
    name: &'static str,
    unit: Option<Unit>,
    help: &'static str,
) -> Gauge {
    Gauge {
        field,
        name,
        unit,
        per,
        help,
    }
}

/// Payload over time.
fn rate() -> Option<Unit> {
    Some(Unit::Other("bytes_per_second".into()))
}

/// Of a device, from the object itself.
pub fn of_device() -> Vec<Gauge> {
    vec![
        gauge(
            ("uptime_s", 1.0),
            "uptime",
            Some(Unit::Seconds),
            "Since the agent's process attached the device first",
        ),
        gauge(("flows", 1.0), "flows", None, "Connections in the table"),
        gauge(
            ("flows_max", 1.0),
            "flows_max",
            None,
            "Connections that fit into the table",
        ),
        gauge(
            ("active_flows", 1.0),
            "active_flows",
            None,
            "Connections with something cached",
        ),
        gauge(
            ("cache_bytes", 1.0),
            "cache",
            Some(Unit::Bytes),
            "Cache slots in use, 2048 bytes each",
        ),
        gauge(
            ("cache_max_bytes", 1.0),
            "cache_max",
            Some(Unit::Bytes),
            "Cache slots there can be",
        ),
        gauge(
            ("chunks", 1.0),
            "chunks",
            None,
            "Ring chunks in use, of 64 segments each",
        ),
        gauge(
            ("memory_bytes", 1.0),
            "memory",
            Some(Unit::Bytes),
            "Kernel memory of all maps: grows and shrinks with need",
        ),
        gauge(
            ("memory_max_bytes", 1.0),
            "memory_max",
            Some(Unit::Bytes),
            "What that may come to",
        ),
        gauge(
            ("heartbeat_age_ms", 1e3),
            "heartbeat_age",
            Some(Unit::Seconds),
            "Since the agent last showed its programs that it lives; after 2 s they let everything pass",
        ),
        gauge(
            ("goodput_bytes_per_s", 1.0),
            "goodput",
            rate(),
            "Payload that receivers acknowledged, mean of the last 5 s",
        ),
        gauge(
            ("srtt_us", 1e6),
            "local_rtt",
            Some(Unit::Seconds),
            "Smoothed round-trip time over the lossy link, all connections",
        ),
        gauge(
            ("queue_us", 1e6),
            "queue",
            Some(Unit::Seconds),
            "The longest wait before the lossy link, of all receivers, in the last second",
        ),
        gauge(
            ("receivers_heard", 1.0),
            "receivers",
            None,
            "Receivers heard in the last minute",
        ),
    ]
}

/// Of a receiver, from an object of `receivers`.
pub fn of_receiver() -> Vec<Gauge> {
    vec![
        gauge(
            ("idle_s", 1.0),
            "receiver_idle",
            Some(Unit::Seconds),
            "Since something was delivered to the receiver, or a connection to it began",
        ),
        gauge(
            ("active_flows", 1.0),
            "receiver_active_flows",
            None,
            "The receiver's connections with something cached",
        ),
        gauge(
            ("rate_bytes_per_s", 1.0),
            "receiver_rate",
            rate(),
            "Payload that the receiver acknowledged in the best tenth of a second of late",
        ),
        gauge(
            ("srtt_us", 1e6),
            "receiver_local_rtt",
            Some(Unit::Seconds),
            "Smoothed round-trip time over the lossy link to the receiver",
        ),
        gauge(
            ("rtt_min_us", 1e6),
            "receiver_local_rtt_min",
            Some(Unit::Seconds),
            "The least round-trip time of late, taken for that of an empty queue",
        ),
        gauge(
            ("queue_us", 1e6),
            "receiver_queue",
            Some(Unit::Seconds),
            "How long the receiver's last packet of the last second had waited before the lossy link",
        ),
    ]
}

/// Counters that are one metric, by reason: prefix of their names, which the reasons follow. Their
/// sum is the counter of the second name.
pub const REPAIRS: (&str, &str) = ("retransmits_", "local_retransmits");
