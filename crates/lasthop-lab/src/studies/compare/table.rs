// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The table at the end, for people: one line per congestion control and scheme, means over the
//! seeds.

use super::table_hosts;
use crate::base::columns::aligned;
use crate::cell::options::NO_AGENT;
use crate::cell::record::Record;

const HEADERS: [&str; 11] = [
    "cc",
    "scheme",
    "Mbit/s",
    "of bound",
    "x none",
    "sender rexmit",
    "local rexmit",
    "lost",
    "dropped",
    "RTT p50/p95 ms",
    "content",
];

/// Columns with names; the others have figures.
const NAME_COLUMNS: usize = 2;

/// Renders the table, with a line that explains it.
pub(super) fn render(records: &[Record]) -> String {
    let groups = groups(records);
    let mut rows: Vec<[String; 11]> = vec![HEADERS.map(str::to_owned)];
    rows.extend(groups.iter().map(|group| row(group, &groups)));
    let mut text = aligned(&rows, NAME_COLUMNS);
    text.push_str(
        "\nof bound: share of the most that any transport could deliver; lost, dropped: data frames \
         on the link and at its queue\n",
    );
    text.push_str(&pages(&groups));
    let seeds = groups.iter().map(Vec::len).max().unwrap_or(0);
    if seeds > 1 {
        text.push_str(&format!(
            "means over up to {seeds} seeds, goodput with its range\n"
        ));
    }
    text.push_str(&table_hosts::render(&groups));
    text
}

/// How long pages took, a line per group; empty without any.
fn pages(groups: &[Vec<&Record>]) -> String {
    let line = |group: &Vec<&Record>| {
        let median_ms = mean(group, |r| r.page.page_ms)?;
        let p95_ms = mean(group, |r| r.page.page_p95_ms)?;
        let (cc, scheme) = (&group[0].cc, &group[0].scheme);
        Some(format!(
            "page with {cc}, {scheme}: median {:.2} s, 95th percentile {:.2} s\n",
            median_ms / 1000.0,
            p95_ms / 1000.0
        ))
    };
    groups.iter().filter_map(line).collect()
}

/// Records of one congestion control and scheme, in the order in which they first appear.
fn groups(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    for record in records {
        let same = |group: &&mut Vec<&Record>| {
            group[0].cc == record.cc && group[0].scheme == record.scheme
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

fn row(group: &[&Record], groups: &[Vec<&Record>]) -> [String; 11] {
    let first = group[0];
    let goodput = mean(group, |r| Some(r.goodput_mbit)).unwrap_or(0.0);
    let plain = groups
        .iter()
        .find(|other| other[0].cc == first.cc && other[0].scheme == NO_AGENT)
        .and_then(|other| mean(other, |r| Some(r.goodput_mbit)));
    let ratio = plain
        .filter(|plain| *plain > 0.0)
        .map(|plain| goodput / plain);
    let count = |value: Option<f64>| value.map_or_else(dash, |v| format!("{v:.0}"));
    let wrong = group.iter().filter(|r| !r.content_ok).count();
    [
        first.cc.clone(),
        first.scheme.clone(),
        goodput_text(group, goodput),
        mean(group, |r| Some(r.efficiency)).map_or_else(dash, |e| format!("{:.1}%", 100.0 * e)),
        ratio.map_or_else(dash, |ratio| format!("{ratio:.2}")),
        count(mean(group, |r| Some(r.sender_retransmits as f64))),
        count(mean(group, |r| r.local_retransmits.map(|n| n as f64))),
        count(mean(group, |r| Some(r.link_lost as f64))),
        count(mean(group, |r| Some(r.queue_dropped as f64))),
        format!(
            "{}/{}",
            count(mean(group, |r| r.rtt_p50_ms)),
            count(mean(group, |r| r.rtt_p95_ms))
        ),
        if wrong == 0 {
            "ok".into()
        } else {
            format!("{wrong} WRONG")
        },
    ]
}

fn goodput_text(group: &[&Record], mean: f64) -> String {
    if group.len() == 1 {
        return format!("{mean:.2}");
    }
    let low = group
        .iter()
        .map(|r| r.goodput_mbit)
        .fold(f64::INFINITY, f64::min);
    let high = group.iter().map(|r| r.goodput_mbit).fold(0.0, f64::max);
    format!("{mean:.2} ({low:.2}..{high:.2})")
}

fn dash() -> String {
    "-".to_owned()
}

/// Mean of those that have a value.
fn mean(group: &[&Record], value: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = group.iter().filter_map(|record| value(record)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::record::sample;

    #[test]
    fn ratios_are_within_one_congestion_control() {
        let records = [
            sample("none", "reno", 1, 2.0),
            sample("snoop", "reno", 1, 6.0),
            sample("snoop", "bbr", 1, 9.0),
        ];
        let text = render(&records);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[2].starts_with("reno  snoop") && lines[2].contains("3.00"),
            "{text}"
        );
        assert!(
            lines[3].starts_with("bbr") && lines[3].contains(" - "),
            "{text}"
        );
    }

    #[test]
    fn seeds_become_a_mean_with_its_range() {
        let mut wrong = sample("none", "reno", 2, 4.0);
        wrong.content_ok = false;
        let text = render(&[sample("none", "reno", 1, 2.0), wrong]);
        assert!(
            text.contains("3.00 (2.00..4.00)") && text.contains("1 WRONG"),
            "{text}"
        );
        assert!(text.contains("2 seeds"));
    }

    #[test]
    fn columns_stand_under_each_other() {
        let text = render(&[
            sample("none", "a-long-name", 1, 2.0),
            sample("snoop", "bbr", 1, 12.5),
        ]);
        let ends: Vec<Option<usize>> = text
            .lines()
            .take(3)
            .zip(["Mbit/s", "2.00", "12.50"])
            .map(|(line, cell)| line.find(cell).map(|start| start + cell.len()))
            .collect();
        assert!(
            ends[0].is_some() && ends.iter().all(|end| *end == ends[0]),
            "{text}"
        );
    }
}
