// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Below the table for people: what each of several hosts got.

use crate::base::columns::aligned;
use crate::cell::record::Record;

const HEADERS: [&str; 6] = [
    "cc",
    "scheme",
    "host",
    "Mbit/s",
    "of bound",
    "RTT p50/p95 ms",
];
/// More would be read by programs only.
const MOST_HOSTS: usize = 20;

/// One line per group of records and host, means over the seeds; nothing for a single host.
pub(super) fn render(groups: &[Vec<&Record>]) -> String {
    let hosts = groups.iter().flatten().map(|record| record.hosts).max();
    let hosts = hosts.unwrap_or(1);
    if hosts == 1 {
        return String::new();
    }
    let mut rows: Vec<[String; 6]> = vec![HEADERS.map(str::to_owned)];
    for group in groups {
        rows.extend((0..hosts.min(MOST_HOSTS)).map(|host| row(group, host)));
    }
    let mut text = format!("\n{}", aligned(&rows, 2));
    if hosts > MOST_HOSTS {
        text.push_str(&format!(
            "the first {MOST_HOSTS} of {hosts} hosts; -j has all\n"
        ));
    }
    text
}

fn row(group: &[&Record], host: usize) -> [String; 6] {
    let mean = |value: &dyn Fn(&Record) -> Option<f64>, digits: usize, scale: f64| {
        let values: Vec<f64> = group.iter().filter_map(|record| value(record)).collect();
        match values.len() {
            0 => "-".to_owned(),
            n => format!("{:.digits$}", scale * values.iter().sum::<f64>() / n as f64),
        }
    };
    let rtt =
        |list: fn(&Record) -> &[Option<f64>]| mean(&|record| *list(record).get(host)?, 0, 1.0);
    [
        group[0].cc.clone(),
        group[0].scheme.clone(),
        host.to_string(),
        mean(&|r| r.host_goodput_mbit.get(host).copied(), 2, 1.0),
        format!(
            "{}%",
            mean(&|r| r.host_efficiency.get(host).copied(), 1, 100.0)
        ),
        format!(
            "{}/{}",
            rtt(|r| &r.host_rtt_p50_ms),
            rtt(|r| &r.host_rtt_p95_ms)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::record::sample;

    #[test]
    fn one_line_per_host_with_means_over_the_seeds() {
        let of = |seed, first| Record {
            hosts: 2,
            host_goodput_mbit: vec![first, 90.0],
            host_efficiency: vec![0.5, 1.0],
            host_rtt_p50_ms: vec![Some(20.0), None],
            host_rtt_p95_ms: vec![Some(120.0), None],
            ..sample("rack", "cubic", seed, 50.0)
        };
        let (one, two) = (of(1, 4.0), of(2, 5.0));
        let text = render(&[vec![&one, &two]]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[2].contains("4.50") && lines[2].contains("50.0%"));
        assert!(
            lines[2].contains("20/120") && lines[3].contains("-/-"),
            "{text}"
        );
        assert_eq!(render(&[vec![&sample("rack", "cubic", 1, 5.0)]]), "");
    }
}
