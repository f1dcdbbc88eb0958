// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What `observe` shows people: a line per look, and in the end what follows.

use std::fmt::Write;

use serde_json::Value;

use crate::report::text;

/// Lines between two headings.
const HEADING_EVERY: usize = 20;
const HEADING: &str =
    "   TIME s   GOODPUT Mbit/s   LINK LOST   QUEUE   UPSTREAM   QUEUE p95 ms   WITH rack Mbit/s\n";

/// What was shown last.
#[derive(Default)]
pub(super) struct Screen {
    lines: usize,
    /// At the last look: seconds, and bytes that had arrived.
    last: (f64, f64),
}

impl Screen {
    /// The line for what was observed until now: the goodput is of the time since the last look, all
    /// else is of all the time.
    pub(super) fn line(&mut self, value: &Value) -> String {
        let number = |name: &str| value[name].as_f64().unwrap_or(0.0);
        let (seconds, bytes) = (number("observed_s"), number("bytes"));
        let goodput = (bytes - self.last.1) * 8.0 / 1e6 / (seconds - self.last.0).max(0.001);
        self.last = (seconds, bytes);
        let heading = match self.lines % HEADING_EVERY {
            0 => HEADING,
            _ => "",
        };
        self.lines += 1;
        format!(
            "{heading}{seconds:>9.0} {goodput:>16.2} {:>11} {:>7} {:>10} {:>14} {:>18}\n",
            text(&value["link_lost"]),
            text(&value["queue_lost"]),
            text(&value["upstream_lost"]),
            text(&value["queue_p95_ms"]),
            text(&value["expected_mbit"]),
        )
    }
}

/// A figure, or what there is in its place.
fn or(value: &Value, unit: &str, otherwise: &str) -> String {
    match value {
        Value::Null => otherwise.to_owned(),
        value => format!("{}{unit}", text(value)),
    }
}

/// The last words.
pub(super) fn summary(value: &Value) -> String {
    let get = |name: &str| text(&value[name]);
    let ms = |name: &str| or(&value[name], " ms", "unknown");
    let mbit = |name: &str| or(&value[name], " Mbit/s", "unknown");
    let mut out = format!(
        "\n{}: observed for {} s, in use for {} s\n\
         connections  {}, {} segments, {} bytes\n\
         lost         {} by the link ({} %), {} by the queue before it, {} before they came here\n\
         sent again   {} by senders for nothing; their own repairs came {} after those that `rack` would have made\n\
         round trip   {} over the link, {} unloaded; {} to senders\n\
         queue        half of the segments met less than {}, 95 of 100 less than {}\n\
         carried      {}; the link carries {}; with `rack` about {}\n",
        get("dev"),
        get("observed_s"),
        get("busy_s"),
        get("flows"),
        get("segments"),
        get("bytes"),
        get("link_lost"),
        get("link_loss_pct"),
        get("queue_lost"),
        get("upstream_lost"),
        get("superfluous"),
        ms("late_ms"),
        ms("local_rtt_ms"),
        ms("local_rtt_min_ms"),
        ms("wired_rtt_ms"),
        ms("queue_p50_ms"),
        ms("queue_p95_ms"),
        mbit("goodput_mbit"),
        mbit("link_mbit"),
        mbit("expected_mbit"),
    );
    for sender in value["senders"].as_array().into_iter().flatten() {
        let _ = writeln!(
            out,
            "  {:<12} {} connection(s), each {}, with `rack` about {} (x {}), lost {} %",
            text(&sender["kind"]),
            text(&sender["flows"]),
            or(&sender["goodput_mbit"], " Mbit/s", "unknown"),
            or(&sender["expected_mbit"], " Mbit/s", "unknown"),
            or(&sender["gain"], "", "unknown"),
            text(&sender["lost_pct"]),
        );
    }
    out.push_str("verdict\n");
    for finding in value["verdict"].as_array().into_iter().flatten() {
        let _ = writeln!(out, "  - {}", text(&finding["text"]));
    }
    let settings = value["settings"].as_object().into_iter().flatten();
    let settings: Vec<String> = settings
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    if !settings.is_empty() {
        let _ = writeln!(out, "settings that fit\n  {}", settings.join("\n  "));
    }
    out
}
