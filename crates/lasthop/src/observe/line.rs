// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What `observe -j` prints: the fields of its object, documented.

use lasthop_core::bindings::lh_shadow_sums;
use serde_json::{Value, json};

use super::measured::Measured;
use super::reckon::{Kind, Reckoned, reckon};
use super::verdict::{Finding, verdict};
use crate::fields::{Field, round};

/// Fields of a line of `observe -j`, in order.
pub const OBSERVE_FIELDS: &[Field] = &[
    ("dev", "", "device"),
    (
        "final",
        "",
        "true: the last line, of all the time that was observed",
    ),
    (
        "observed_s",
        "s",
        "since it is observed: all below is of this time",
    ),
    (
        "busy_s",
        "s",
        "of these, with anything under way to a receiver",
    ),
    (
        "flows",
        "",
        "connections seen, of which both ends were heard and something was acknowledged",
    ),
    (
        "segments",
        "",
        "departures towards receivers: what senders have sent again counts again",
    ),
    ("bytes", "bytes", "payload that receivers acknowledged"),
    ("lost", "", "departures that did not arrive"),
    (
        "link_lost",
        "",
        "of these, by the link: what `rack` repairs",
    ),
    (
        "queue_lost",
        "",
        "of these, by the queue before it: what is the senders' to see",
    ),
    ("link_loss_pct", "%", "the link's part of all departures"),
    (
        "queue_manages",
        "",
        "true: the queue drops while it is far from its longest, as CoDel and its kin do",
    ),
    (
        "unclear",
        "",
        "true: a queue stood whenever anything departed, so that whose a loss is can't be told",
    ),
    (
        "upstream_lost",
        "",
        "gaps in what senders sent that were there when it came here, and that they filled",
    ),
    (
        "superfluous",
        "",
        "copies that senders sent of what had arrived",
    ),
    (
        "mistaken",
        "",
        "segments that `rack` would have repaired for nothing",
    ),
    (
        "late_ms",
        "ms",
        "mean time by which senders' own repairs came later than `rack`'s would have; null: there was none",
    ),
    (
        "outages",
        "",
        "times that a connection's receiver was silent for a second and more while its sender tried",
    ),
    ("outage_s", "s", "their sum"),
    (
        "local_rtt_ms",
        "ms",
        "smoothed round trip to receivers and back, mean; null: no sample",
    ),
    ("local_rtt_min_ms", "ms", "the same of an empty queue, mean"),
    (
        "wired_rtt_ms",
        "ms",
        "round trip to senders and back, mean; null: no sample",
    ),
    (
        "queue_p50_ms",
        "ms",
        "queue before the link that half of the segments met: less than this power of two; null: no sample",
    ),
    ("queue_p95_ms", "ms", "the same of 95 in 100"),
    (
        "by_queue",
        "",
        "`[segments, lost]` of those that met a queue before the link of less than 1 ms, 2 ms, 4 ms and so on; the last of all longer ones",
    ),
    (
        "near_longest",
        "",
        "`[segments, lost]` of those that met one of three quarters and more of the longest of late",
    ),
    (
        "link_mbit",
        "Mbit/s",
        "payload that the link carries, lost or not, as far as segments have queued before it; null: none has",
    ),
    (
        "goodput_mbit",
        "Mbit/s",
        "payload that arrived, while anything was under way",
    ),
    (
        "expected_mbit",
        "Mbit/s",
        "the same with `rack`, estimated; null: the link's rate has not shown",
    ),
    ("gain", "", "the second over the first"),
    (
        "limited_pct",
        "%",
        "ACKs at which the sender had used all that its receiver grants: nobody can help there",
    ),
    (
        "back_segments",
        "",
        "segments that came over the link, towards the other side, or were missing there",
    ),
    ("back_lost", "", "of these, those that were missing"),
    (
        "senders",
        "",
        "array: kinds of senders by what they make of a loss, objects listed below",
    ),
    (
        "verdict",
        "",
        "array: what follows, objects with a word (`finding`, listed below) and a sentence (`text`), the weightiest first",
    ),
    (
        "settings",
        "",
        "object: what fits here, as keys of the configuration; empty: nothing",
    ),
];

/// Fields of an object of `senders`, in order.
pub const SENDER_FIELDS: &[Field] = &[
    (
        "kind",
        "",
        "`reno` (halves its window), `cubic` (goes down to 0.7 of it), `bbr` (hardly yields), `unknown` (nothing has shown)",
    ),
    ("flows", "", "connections"),
    ("lost_pct", "%", "departures that did not arrive"),
    (
        "goodput_mbit",
        "Mbit/s",
        "payload that arrived, per connection, while it had anything under way",
    ),
    (
        "expected_mbit",
        "Mbit/s",
        "the same with `rack`, estimated: an equal share; null: the link's rate has not shown",
    ),
    ("gain", "", "the second over the first"),
    ("limited_pct", "%", "as above"),
];

fn mbit(bytes_per_s: f64) -> f64 {
    round(bytes_per_s * 8.0 / 1e6)
}

fn percent(part: f64) -> f64 {
    round(part * 100.0)
}

fn mean_ms(sum_ns: u64, n: u64) -> Option<f64> {
    (n > 0).then(|| round(sum_ns as f64 / n as f64 / 1e6))
}

fn sender(kind: &Kind, sums: &lh_shadow_sums) -> Value {
    json!({
        "kind": kind.sender.name(),
        "flows": kind.flows,
        "lost_pct": percent(sums.lost as f64 / (sums.segs + sums.lost).max(1) as f64),
        "goodput_mbit": mbit(kind.goodput),
        "expected_mbit": kind.expected.map(mbit),
        "gain": kind.gain().map(round),
        "limited_pct": percent(kind.limited),
    })
}

fn finding(finding: &Finding) -> Value {
    json!({"finding": finding.word, "text": finding.text})
}

/// The object for what was measured on `device` in so many seconds.
pub fn line(device: &str, observed_s: f64, measured: &Measured) -> Value {
    let reckoned = reckon(measured);
    let all = &reckoned.all;
    let losses = &reckoned.losses;
    let verdict = verdict(measured, &reckoned);
    let queue = |ns: u64| (ns > 0).then_some(ns / 1_000_000);
    json!({
        "dev": device,
        "observed_s": round(observed_s),
        "busy_s": round(measured.busy_ns as f64 / 1e9),
        "flows": all.flows,
        "segments": losses.departed,
        "bytes": all.bytes,
        "lost": all.lost,
        "link_lost": losses.link,
        "queue_lost": losses.queue,
        "link_loss_pct": percent(losses.link_rate),
        "queue_manages": losses.managed,
        "unclear": losses.unclear,
        "upstream_lost": all.upstream_lost,
        "superfluous": all.superfluous,
        "mistaken": all.mistaken,
        "late_ms": mean_ms(all.late_ns, all.late),
        "outages": all.outages,
        "outage_s": round(all.outage_ns as f64 / 1e9),
        "local_rtt_ms": mean_ms(all.local_ns, all.rounds),
        "local_rtt_min_ms": mean_ms(all.unloaded_ns, all.rounds),
        "wired_rtt_ms": mean_ms(all.wired_ns, all.rounds),
        "queue_p50_ms": queue(reckoned.queue_ns[0]),
        "queue_p95_ms": queue(reckoned.queue_ns[1]),
        "by_queue": measured.by_queue.map(|seen| [seen.departed(), seen.lost]),
        "near_longest": [all.segs_full + all.lost_full, all.lost_full],
        "link_mbit": reckoned.link_rate.map(mbit),
        "goodput_mbit": mbit(reckoned.goodput),
        "expected_mbit": reckoned.expected.map(mbit),
        "gain": reckoned.gain().map(round),
        "limited_pct": percent(reckoned.limited),
        "back_segments": measured.back.departed(),
        "back_lost": measured.back.lost,
        "senders": senders(measured, &reckoned),
        "verdict": verdict.findings.iter().map(finding).collect::<Vec<_>>(),
        "settings": verdict.settings,
    })
}

fn senders(measured: &Measured, reckoned: &Reckoned) -> Vec<Value> {
    let of = |kind: &Kind| sender(kind, measured.sender(kind.sender));
    reckoned.kinds.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::measured::Sender;
    use super::*;
    use crate::fields::keys;

    fn names(fields: &[Field]) -> Vec<&'static str> {
        fields.iter().map(|(name, ..)| *name).collect()
    }

    #[test]
    fn every_field_is_documented() {
        let mut measured = Measured::default();
        let sorted = |mut names: Vec<&'static str>| {
            names.sort_unstable();
            names
        };
        let empty = line("wl0", 1.0, &measured);
        let mut found = keys(&empty);
        found.sort_unstable();
        found.push("final"); // which who prints it adds
        found.sort_unstable();
        assert_eq!(found, sorted(names(OBSERVE_FIELDS)));
        measured.senders[0].flows = 1;
        measured.senders[0].bytes = 1_000_000;
        measured.senders[0].busy_ns = 1_000_000_000;
        measured.busy_ns = 1_000_000_000;
        let one = line("wl0", 1.0, &measured);
        let mut found = keys(&one["senders"][0]);
        found.sort_unstable();
        assert_eq!(found, sorted(names(SENDER_FIELDS)));
        assert_eq!(one["senders"][0]["kind"], Sender::Unknown.name());
        assert_eq!(one["goodput_mbit"], 8.0);
    }
}
