// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Names, units, labels and values of what is scraped.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::exposition::{Series, read};
use super::fake::{Fake, status};
use super::http::{ask, get};
use super::process::Place;

const OPENMETRICS: &str = "Accept: application/openmetrics-text; version=1.0.0\r\n";

/// The value of a series.
pub fn value(series: &Series, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let labels = labels.iter().map(|(k, v)| ((*k).into(), (*v).into()));
    series.get(&(name.into(), labels.collect())).copied()
}

/// Metric of a core's counter, and its reason.
fn metric(counter: &str) -> (String, Option<&str>) {
    match counter.strip_prefix("retransmits_") {
        Some(reason) => ("lasthop_local_retransmits_total".into(), Some(reason)),
        None => (format!("lasthop_{counter}_total"), None),
    }
}

#[test]
fn every_counter_is_there_with_its_value() {
    let place = Place::new();
    let told = status("wl0", 1_000);
    let _agent = Fake::start(&place.run(), "wl0", told.clone());
    let exporter = place.serve(&[]);
    let text = read(&get(exporter.at, "/metrics").body, true).expect("text");
    let answer = ask(exporter.at, "GET /metrics", OPENMETRICS);
    let openmetrics = read(&answer.body, false).expect("OpenMetrics");
    for series in [&text, &openmetrics] {
        let mut repairs = 0.0;
        for counter in lasthop_core::counters() {
            let told = told["counters"][counter.name].as_f64();
            let (name, reason) = metric(counter.name);
            let mut labels = vec![("device", "wl0")];
            labels.extend(reason.map(|reason| ("reason", reason)));
            let scraped = value(series, &name, &labels);
            if counter.name == "local_retransmits" {
                assert_eq!(scraped, None, "it is the sum of the reasons");
                continue;
            }
            assert_eq!(scraped, told, "{name}");
            repairs += f64::from(u8::from(reason.is_some()));
        }
        assert_eq!(repairs, 6.0, "dupack, partial, order, timer, asked, mac");
        let of = |name| value(series, name, &[("device", "wl0")]);
        assert_eq!(of("lasthop_up"), Some(1.0));
        assert_eq!(of("lasthop_attached"), Some(1.0));
        assert_eq!(of("lasthop_uptime_seconds"), Some(12.5));
        assert_eq!(of("lasthop_local_rtt_seconds"), Some(0.0125));
        assert_eq!(of("lasthop_heartbeat_age_seconds"), Some(0.026));
        assert_eq!(of("lasthop_queue_seconds"), None, "null is no sample");
        assert_eq!(of("lasthop_receivers"), Some(1.0));
        let info = [("device", "wl0"), ("scheme", "rack")];
        assert_eq!(value(series, "lasthop_agent_info", &info), Some(1.0));
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        assert_eq!(value(series, "lasthop_build_info", &version), Some(1.0));
        for (state, n) in [("up", 1.0), ("new", 0.0), ("silent", 1.0)] {
            let labels = [("device", "wl0"), ("state", state)];
            assert_eq!(value(series, "lasthop_peers", &labels), Some(n), "{state}");
        }
        let receivers = series
            .keys()
            .filter(|(name, _)| name.contains("_receiver_"));
        assert_eq!(receivers.count(), 0, "only when asked for");
    }
}

#[test]
fn receivers_are_told_when_asked_for() {
    let place = Place::new();
    let _agent = Fake::start(&place.run(), "wl0", status("wl0", 0));
    let exporter = place.serve(&["--receivers"]);
    let series = read(&get(exporter.at, "/metrics").body, true).expect("text");
    let labels = [("device", "wl0"), ("receiver", "10.2.0.2")];
    for (name, expected) in [
        ("idle_seconds", Some(0.5)),
        ("active_flows", Some(2.0)),
        ("rate_bytes_per_second", Some(2_500_000.0)),
        ("local_rtt_seconds", Some(0.0125)),
        ("local_rtt_min_seconds", Some(0.01)),
        ("queue_seconds", None),
    ] {
        let name = format!("lasthop_receiver_{name}");
        assert_eq!(value(&series, &name, &labels), expected, "{name}");
    }
}

/// Linux lets a device be called nearly anything.
#[test]
fn odd_names_of_devices_are_escaped() {
    let place = Place::new();
    let odd = "w\"l\\0\u{e9}";
    let _agent = Fake::start(&place.run(), odd, status(odd, 0));
    let exporter = place.serve(&[]);
    let text = get(exporter.at, "/metrics").body;
    let openmetrics = ask(exporter.at, "GET /metrics", OPENMETRICS).body;
    for series in [read(&text, true), read(&openmetrics, false)] {
        let series = series.expect("exposition");
        assert_eq!(value(&series, "lasthop_up", &[("device", odd)]), Some(1.0));
    }
    let tag = "<script>";
    let _agent = Fake::start(&place.run(), tag, status(tag, 0));
    std::thread::sleep(std::time::Duration::from_secs(1));
    let page = get(exporter.at, "/").body;
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
}

#[test]
fn who_scrapes_gets_the_format_it_asks_for() {
    let place = Place::new();
    let _agent = Fake::start(&place.run(), "wl0", status("wl0", 0));
    let exporter = place.serve(&[]);
    let plain = get(exporter.at, "/metrics");
    assert_eq!(
        plain.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    assert!(!plain.body.contains("# EOF") && !plain.body.contains("# UNIT"));
    let open = ask(exporter.at, "GET /metrics", OPENMETRICS);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open.header("content-type"), kind);
    assert!(open.body.ends_with("# EOF\n"));
    assert_eq!(open.header("vary"), "accept");
    assert_eq!(
        ask(exporter.at, "POST /metrics", "Content-Length: 0\r\n").status,
        405
    );
    assert_eq!(get(exporter.at, "/etc").status, 404);
}

/// Prometheus' own tool, where it is installed.
fn promtool(args: &[&str], input: &str) -> Option<Output> {
    let tool = Command::new("promtool")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tool) = tool else {
        let _ = writeln!(std::io::stderr(), "skipped: promtool is not installed");
        return None;
    };
    let mut to = tool.stdin.take().expect("input");
    to.write_all(input.as_bytes()).expect("written");
    drop(to);
    Some(tool.wait_with_output().expect("promtool"))
}

#[test]
fn promtool_finds_nothing_wrong() {
    let place = Place::new();
    let _agent = Fake::start(&place.run(), "wl0", status("wl0", 7));
    let exporter = place.serve(&["--receivers"]);
    let text = get(exporter.at, "/metrics").body;
    let Some(output) = promtool(&["check", "metrics"], &text) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let rules = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contrib/prometheus/lasthop-alerts.yml"
    );
    let output = promtool(&["check", "rules", rules], "").expect("promtool");
    assert!(output.status.success(), "{output:?}");
}
