// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What `peers` prints of the agents at the other ends of links.

use std::time::{SystemTime, UNIX_EPOCH};

use lasthop_core::Partner;
use lasthop_core::bindings::{LH_CAN_REPAIR_MISSING, LH_CAN_TELL_MISSING};
use serde_json::{Value, json};

use crate::columns::aligned;
use crate::report::{Field, round, text};

/// Fields of a line of `peers -j`, in order.
pub const PEER_FIELDS: &[Field] = &[
    ("dev", "", "device"),
    (
        "state",
        "",
        "`up`; `new`: it has not answered us yet, and no more than its HELLO is believed; `silent`",
    ),
    ("addr", "", "its address on the link"),
    ("family", "", "4 or 6"),
    (
        "mac",
        "",
        "its layer-2 address; null on a device without layer 2",
    ),
    (
        "can",
        "",
        "array: what it does for us: `repair_missing` (of what we tell it), `tell_missing`",
    ),
    ("known_s", "s", "since it was heard first"),
    (
        "life_s",
        "s",
        "since it was attached, by its clock and ours; null if they disagree",
    ),
    ("heard_ms", "ms", "since its last message that counted"),
    (
        "rtt_us",
        "us",
        "smoothed round-trip time of the link, from agent to agent, at most (a tenth of a millisecond for two clocks is in it); null: no sample",
    ),
    (
        "rtt_min_us",
        "us",
        "the least of this half minute and the one before; null: no sample",
    ),
    ("accepted", "", "messages of its that counted"),
    (
        "replayed",
        "",
        "messages refused: they had come before, or came too late",
    ),
    (
        "unconfirmed",
        "",
        "messages refused: it had not answered us yet",
    ),
    (
        "limited",
        "",
        "messages left alone: more than one agent may have",
    ),
];

fn mac(hw: &[u8; 6]) -> Option<String> {
    let parts: Vec<String> = hw.iter().map(|byte| format!("{byte:02x}")).collect();
    (*hw != [0; 6]).then(|| parts.join(":"))
}

/// The object of `peers -j` for one agent.
pub fn peer(device: &str, partner: &Partner, now_ns: u64) -> Value {
    let since = |ns: u64| now_ns.saturating_sub(ns);
    let sample = |ns: u64| (ns != 0).then_some(ns / 1000);
    let wall_ns = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |t| t.as_nanos() as u64);
    let life_ns = wall_ns.checked_sub(partner.epoch);
    let state = match (partner.up(now_ns), partner.confirmed) {
        (true, _) => "up",
        (false, 0) => "new",
        (false, _) => "silent",
    };
    let mut can = Vec::new();
    if partner.can & u64::from(LH_CAN_REPAIR_MISSING) != 0 {
        can.push("repair_missing");
    }
    if partner.can & u64::from(LH_CAN_TELL_MISSING) != 0 {
        can.push("tell_missing");
    }
    json!({
        "dev": device,
        "state": state,
        "addr": partner.at.ip(),
        "family": partner.at.family,
        "mac": mac(&partner.at.hw),
        "can": can,
        "known_s": round(since(partner.first_ns) as f64 / 1e9),
        "life_s": life_ns.map(|ns| round(ns as f64 / 1e9)),
        "heard_ms": since(partner.heard_ns) / 1_000_000,
        "rtt_us": sample(partner.srtt_ns),
        "rtt_min_us": sample(partner.rtt_min_ns),
        "accepted": partner.nr_accepted,
        "replayed": partner.nr_replayed,
        "unconfirmed": partner.nr_unconfirmed,
        "limited": partner.nr_limited,
    })
}

/// A table for people.
pub fn for_people(peers: &[Value]) -> String {
    const COLUMNS: [(&str, &str); 9] = [
        ("dev", "DEV"),
        ("state", "STATE"),
        ("addr", "ADDRESS"),
        ("mac", "MAC"),
        ("rtt_us", "RTT us"),
        ("rtt_min_us", "LEAST us"),
        ("heard_ms", "HEARD ms"),
        ("accepted", "MESSAGES"),
        ("refused", "REFUSED"),
    ];
    /// The rest are numbers.
    const TEXT_COLUMNS: usize = 4;
    let refused = |peer: &Value| -> u64 {
        let kinds = ["replayed", "unconfirmed", "limited"];
        kinds.iter().filter_map(|kind| peer[*kind].as_u64()).sum()
    };
    let cell = |peer: &Value, name: &str| match name {
        "refused" => refused(peer).to_string(),
        _ => text(&peer[name]),
    };
    let mut rows = vec![COLUMNS.map(|(_, title)| title.to_owned())];
    rows.extend(
        peers
            .iter()
            .map(|peer| COLUMNS.map(|(name, _)| cell(peer, name))),
    );
    aligned(&rows, TEXT_COLUMNS)
}

#[cfg(test)]
mod tests {
    use lasthop_core::Sender;

    use super::*;
    use crate::report::keys;

    fn partner() -> Partner {
        Partner {
            epoch: 5,
            confirmed: 1,
            at: Sender {
                hw: [2, 0, 0, 0, 0, 0x1f],
                ..Sender::at("fe80::1".parse().unwrap())
            },
            can: 1,
            heard_ns: 1_000_000_000,
            srtt_ns: 10_500_000,
            nr_accepted: 7,
            nr_replayed: 2,
            nr_limited: 1,
            ..Partner::default()
        }
    }

    #[test]
    fn a_peer_has_the_documented_fields() {
        let value = peer("wl0", &partner(), 2_000_000_000);
        let mut there = keys(&value);
        let mut documented: Vec<_> = PEER_FIELDS.iter().map(|(name, _, _)| *name).collect();
        there.sort_unstable();
        documented.sort_unstable();
        assert_eq!(there, documented);
        assert_eq!(value["state"], "up");
        assert_eq!(value["mac"], "02:00:00:00:00:1f");
        assert_eq!(value["rtt_us"], 10_500);
        assert_eq!(value["rtt_min_us"], Value::Null);
        assert_eq!(value["heard_ms"], 1_000);
        assert_eq!(value["can"], json!(["repair_missing"]));
        assert_eq!(peer("wl0", &partner(), 9_000_000_000)["state"], "silent");
    }

    #[test]
    fn people_see_peers_in_columns() {
        let expected = "\
DEV  STATE  ADDRESS  MAC                RTT us  LEAST us  HEARD ms  MESSAGES  REFUSED
wl0  up     fe80::1  02:00:00:00:00:1f   10500         -      1000         7        3
";
        let value = peer("wl0", &partner(), 2_000_000_000);
        assert_eq!(for_people(&[value]), expected);
    }
}
