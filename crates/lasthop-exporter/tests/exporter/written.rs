// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What is written of the metrics elsewhere: the page of them, the dashboard, the alerts.

use std::collections::BTreeSet;

use serde_json::Value;

use super::exposition::read;
use super::fake::{Fake, status};
use super::http::get;
use super::process::Place;

const PAGE: &str = include_str!("../../../../docs/metrics.md");
const DASHBOARD: &str = include_str!("../../../../contrib/grafana/lasthop.json");
const ALERTS: &str = include_str!("../../../../contrib/prometheus/lasthop-alerts.yml");

/// All metrics that there can be.
fn metrics() -> BTreeSet<String> {
    let place = Place::new();
    let mut full = status("wl0", 0);
    full["queue_us"] = 1.into();
    full["receivers"][0]["queue_us"] = 1.into();
    let _agent = Fake::start(&place.run(), "wl0", full);
    let exporter = place.serve(&["--receivers"]);
    let series = read(&get(exporter.at, "/metrics").body, true).expect("text");
    series.into_keys().map(|(name, _)| name).collect()
}

/// docs/metrics.md has a line for each, and none for what isn't.
#[test]
fn the_page_of_metrics_has_all_of_them() {
    let there = metrics();
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    let told: BTreeSet<String> = rows
        .filter_map(|row| row.split(['`', '{']).next())
        .filter(|name| name.starts_with("lasthop_"))
        .map(str::to_owned)
        .collect();
    let diff: Vec<_> = there.symmetric_difference(&told).collect();
    assert!(
        diff.is_empty(),
        "in one of exporter and docs/metrics.md only: {diff:?}"
    );
}

/// Names of metrics in an expression.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("lasthop_"))
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let there = metrics();
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let variables = dashboard["templating"]["list"]
        .as_array()
        .expect("variables");
    assert!(
        variables
            .iter()
            .any(|v| v["type"] == "datasource" && v["query"] == "prometheus")
    );
    let panels = dashboard["panels"].as_array().expect("panels");
    let (mut ids, mut cells, mut asked) = (BTreeSet::new(), BTreeSet::new(), 0);
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64()), "an id twice");
        let at = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().expect("side"));
        assert!(at[0] + at[2] <= 24, "{panel}");
        for x in at[0]..at[0] + at[2] {
            for y in at[1]..at[1] + at[3] {
                assert!(cells.insert((x, y)), "on another panel: {panel}");
            }
        }
        for target in panel["targets"].as_array().expect("targets") {
            assert_eq!(target["datasource"]["uid"], "${datasource}");
            let expression = target["expr"].as_str().expect("expr");
            for name in names(expression) {
                assert!(there.contains(name), "{name} in {}", panel["title"]);
                asked += 1;
            }
        }
    }
    assert!(panels.len() > 10 && asked > 20);
}

#[test]
fn alerts_ask_for_what_there_is_and_say_what_to_do() {
    let there = metrics();
    let alerts: Vec<&str> = ALERTS.split("- alert: ").skip(1).collect();
    assert!(alerts.len() > 8);
    for alert in alerts {
        let (_, rest) = alert.split_once("expr:").expect("expr");
        let (expression, rest) = rest.split_once("labels:").expect("labels");
        let expression = expression.split("for:").next().expect("expression");
        assert!(names(expression).count() > 0, "{alert}");
        for name in names(expression) {
            assert!(there.contains(name), "{name}");
        }
        assert!(
            rest.contains("summary:") && rest.contains("description:"),
            "{alert}"
        );
    }
}
