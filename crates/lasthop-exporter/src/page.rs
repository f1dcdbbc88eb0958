// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The page for people: one document with its style and its script, made from the sample that
//! `/api/v1/now` shows, so that its figures are those of `lasthop status -j`.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use crate::chart::{self, Dot, Time};
use crate::history::{History, Point};
use crate::sample::{Said, Sample};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What is said of losses: counters in the order in which one asks for them.
const LOSSES: &[(&str, &[(&str, &str)])] = &[
    (
        "Repaired here",
        &[
            ("local_retransmits", "segments sent again"),
            ("retransmits_order", "by time order"),
            ("retransmits_dupack", "by duplicate ACKs"),
            ("retransmits_partial", "by partial ACKs"),
            ("retransmits_timer", "by the local timer"),
            ("retransmits_asked", "asked for by the other end"),
            ("retransmits_mac", "reported by the MAC"),
        ],
    ),
    (
        "Not repaired here",
        &[
            ("exhausted_segments", "given up after repairs"),
            ("overflow_suspected", "left to the sender: the queue's"),
            ("upstream_lost", "lost before they came here"),
            ("retransmit_errors", "repairs that could not be sent"),
        ],
    ),
    (
        "Held",
        &[
            ("suppressed_acks", "duplicate ACKs kept from the sender"),
            ("released_acks", "of these sent on after all"),
            ("windows_edited", "ACKs with a smaller window"),
            ("waited", "segments that waited for their turn"),
        ],
    ),
    (
        "Seen",
        &[
            ("data_segments", "segments to the link"),
            ("data_bytes", "bytes of payload to the link"),
            ("ack_segments", "ACKs from the link"),
            ("outages", "outages of connections"),
        ],
    ),
];

/// The page. `nonce` marks its style and script for the policy that comes with it.
pub fn of(sample: &Sample, history: &History, nonce: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "lasthop" }
                style nonce=(nonce) { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "lasthop" }
                    p { "Asked " (time(sample)) span #stale role="status" {} }
                }
                (main(sample, history))
                footer { p { a href="metrics" { "metrics" } " · " a href="api/v1/now" { "JSON" } } }
                script nonce=(nonce) { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// What of the page changes, for its script to put in place.
pub fn part(sample: &Sample, history: &History) -> String {
    html! { (time(sample)) (main(sample, history)) }.into_string()
}

fn time(sample: &Sample) -> Markup {
    html! { time #at data-at=(sample.at_s()) { "now" } }
}

fn main(sample: &Sample, history: &History) -> Markup {
    html! { main { (devices(sample, history)) } }
}

fn devices(sample: &Sample, history: &History) -> Markup {
    html! {
        @if let Some(problem) = &sample.problem {
            p.problem { (problem) }
        } @else if sample.devices.is_empty() {
            p { "Nothing is attached in this network namespace: " code { "lasthop attach DEV" } }
        }
        @for (name, said) in &sample.devices {
            section.device data-device=(name) {
                @match said {
                    Said::Up { status, peers } => {
                        (head(name, status))
                        (charts(&history.of(name), sample.at_s()))
                        (losses(&status["counters"]))
                        (bypassed(&status["counters"]))
                        (receivers(status))
                        (others(peers))
                    }
                    Said::Down { text, .. } => {
                        h2 { (name) " " span.down { "not there" } }
                        p.problem { (text) }
                    }
                }
            }
        }
    }
}

/// A figure that is `field` of the sample, unchanged: tests and scripts find it by that.
fn figure(field: &str, value: &Value) -> Markup {
    let raw = text(value);
    html! { span data-field=(field) data-value=(raw) { (grouped(&raw)) } }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".into(),
        other => other.to_string(),
    }
}

/// Groups the digits of a whole number by narrow spaces.
fn grouped(text: &str) -> String {
    if text.len() < 5 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let digits = text.char_indices();
    let group = |(i, digit): (usize, char)| {
        let gap = i > 0 && (text.len() - i) % 3 == 0;
        gap.then_some('\u{202f}').into_iter().chain([digit])
    };
    digits.flat_map(group).collect()
}

fn head(name: &str, status: &Value) -> Markup {
    let field = |field: &str| figure(field, &status[field]);
    html! {
        h2 { (name) " " span.up { (field("state")) } }
        dl.state {
            div { dt { "Scheme" } dd { (field("scheme")) } }
            div { dt { "Process" } dd { span data-field="pid" { (text(&status["pid"])) } } }
            div { dt { "Connections" } dd { (field("flows")) " of " (field("flows_max")) ", " (field("active_flows")) " with cached data" } }
            div { dt { "Cache" } dd { (field("cache_bytes")) " of " (field("cache_max_bytes")) " bytes" } }
            div { dt { "Memory" } dd { (field("memory_bytes")) " of " (field("memory_max_bytes")) " bytes" } }
            div { dt { "Local round trip" } dd { (field("srtt_us")) " µs" } }
            div { dt { "Queue" } dd { (field("queue_us")) " µs" } }
            div { dt { "Goodput" } dd { (field("goodput_bytes_per_s")) " bytes/s" } }
        }
    }
}

fn charts(points: &[Point], now_s: f64) -> Markup {
    let dots =
        |of: fn(&Point) -> f64| -> Vec<Dot> { points.iter().map(|p| (p.at_s, of(p))).collect() };
    let repaired: Vec<(f64, u64)> = points.iter().map(|p| (p.at_s, p.repaired)).collect();
    let time = Time::since(points.first().map(|point| point.at_s), now_s);
    let megabits = |bytes_per_s: f64| format!("{:.2} Mbit/s", bytes_per_s * 8e-6);
    html! {
        div.charts {
            (chart::draw("Goodput", &dots(|p| p.goodput_bytes_per_s), time, megabits))
            (chart::draw("Queue", &dots(|p| p.queue_s), time, |s| format!("{:.1} ms", s * 1e3)))
            (chart::draw("Repairs", &chart::per_second(&repaired), time, |n| format!("{n:.1}/s")))
        }
    }
}

fn losses(counters: &Value) -> Markup {
    html! {
        div.groups {
            @for (title, rows) in LOSSES {
                (group(title, rows.iter().copied(), counters))
            }
        }
    }
}

fn group<'a>(
    title: &str,
    rows: impl Iterator<Item = (&'a str, &'a str)>,
    counters: &Value,
) -> Markup {
    html! {
        div.group {
            h3 { (title) }
            table {
                @for (name, text) in rows {
                    tr { th scope="row" title=(name) { (text) } td { (figure(name, &counters[name])) } }
                }
            }
        }
    }
}

/// Why packets passed without help: only what there was, in the core's words.
fn bypassed(counters: &Value) -> Markup {
    let rows: Vec<_> = lasthop_core::counters()
        .filter(|c| c.name.starts_with("bypass_") || c.name.starts_with("uncached_"))
        .filter(|c| counters[c.name].as_u64().unwrap_or(0) > 0)
        .map(|c| (c.name, c.doc))
        .collect();
    html! {
        @if !rows.is_empty() {
            details {
                summary { "Passed without help" }
                (group("By reason", rows.into_iter(), counters))
            }
        }
    }
}

fn receivers(status: &Value) -> Markup {
    const COLUMNS: [(&str, &str); 6] = [
        ("idle_s", "Idle s"),
        ("active_flows", "Active"),
        ("rate_bytes_per_s", "Best bytes/s"),
        ("srtt_us", "Round trip µs"),
        ("rtt_min_us", "Least µs"),
        ("queue_us", "Queue µs"),
    ];
    let all = status["receivers"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    html! {
        h3 { "Receivers heard in the last minute: " (figure("receivers_heard", &status["receivers_heard"])) }
        @if !all.is_empty() {
            div.wide {
                table.receivers {
                    thead { tr { th scope="col" { "Address" } @for (_, title) in COLUMNS { th scope="col" { (title) } } } }
                    tbody {
                        @for receiver in all {
                            tr data-receiver=(text(&receiver["addr"])) {
                                th scope="row" { (text(&receiver["addr"])) }
                                @for (field, _) in COLUMNS { td { (figure(field, &receiver[field])) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn others(peers: &[Value]) -> Markup {
    html! {
        @if !peers.is_empty() {
            h3 { "Agents at the other end" }
            ul {
                @for peer in peers {
                    li {
                        (text(&peer["addr"])) ": " (text(&peer["state"]))
                        ", round trip " (text(&peer["rtt_us"])) " µs"
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_and_nothing_else() {
        assert_eq!(grouped("1234"), "1234");
        assert_eq!(grouped("12345"), "12\u{202f}345");
        assert_eq!(grouped("1234567"), "1\u{202f}234\u{202f}567");
        assert_eq!(grouped("12345.678"), "12345.678");
        assert_eq!(grouped("attached"), "attached");
    }

    /// A counter that is not in the core's list would be a dash for ever.
    #[test]
    fn what_is_shown_is_counted() {
        for (name, _) in LOSSES.iter().flat_map(|(_, rows)| *rows) {
            assert!(lasthop_core::counters().any(|c| c.name == *name), "{name}");
        }
    }
}
