// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The figures of a place and scheme over its seeds.

use serde::Serialize;

use super::line::Line;
use crate::base::fields::Field;
use crate::base::stats::{Ratio, median, rounded};
use crate::cell::options::NO_AGENT;
use crate::data::segment::FULL_FRAME_BYTES;

/// One place with one scheme. The fields are described in [`FIELDS`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Row {
    pub kind: &'static str,
    pub place: String,
    pub variant: String,
    pub rate_mbit: f64,
    pub rtt_ms: f64,
    pub loss_pct: f64,
    pub cc: String,
    pub scheme: String,
    pub runs: usize,
    pub efficiency: f64,
    pub goodput_mbit: f64,
    pub ratio: Option<f64>,
    pub ratio_low: Option<f64>,
    pub ratio_high: Option<f64>,
    pub rtt_p50_over_base_ms: Option<f64>,
    pub rtt_p95_over_base_ms: Option<f64>,
    pub rtt_p95_ratio: Option<f64>,
    pub sender_retransmit_share: Option<f64>,
    pub local_retransmits: Option<u64>,
    pub lost: u64,
    pub notes: usize,
    pub content_ok: bool,
}

/// Fields of a row, in their order.
pub const FIELDS: [Field; 22] = [
    Field::new("kind", "name", "`cell`"),
    Field::new("place", "name", "name of the cell without scheme and seed"),
    Field::new("variant", "name", "as in grid.jsonl"),
    Field::new("rate_mbit", "Mbit/s", "rate of the lossy hop"),
    Field::new("rtt_ms", "ms", "unloaded round trip"),
    Field::new("loss_pct", "%", "frame loss, both directions"),
    Field::new("cc", "name", "congestion control"),
    Field::new("scheme", "name", "scheme, or `none`"),
    Field::new("runs", "number", "seeds that it was run with"),
    Field::new("efficiency", "ratio", "median over the seeds"),
    Field::new("goodput_mbit", "Mbit/s", "median over the seeds"),
    Field::new(
        "ratio",
        "ratio",
        "goodput / goodput of `none` with the same seed, mean over the seeds; null for `none` and without it",
    ),
    Field::new(
        "ratio_low",
        "ratio",
        "lower end of its 95 % interval (Student's t); null with a single seed",
    ),
    Field::new("ratio_high", "ratio", "upper end"),
    Field::new(
        "rtt_p50_over_base_ms",
        "ms",
        "median over the seeds of `rtt_p50_ms`, less the base: `rtt_ms` and a full frame's time on the hop",
    ),
    Field::new("rtt_p95_over_base_ms", "ms", "the same of `rtt_p95_ms`"),
    Field::new(
        "rtt_p95_ratio",
        "ratio",
        "`rtt_p95_ms` / that of `none` with the same seed, mean over the seeds",
    ),
    Field::new(
        "sender_retransmit_share",
        "ratio",
        "over all seeds: the sender's retransmissions but for tail loss probes / its data segments",
    ),
    Field::new(
        "local_retransmits",
        "segments",
        "sum over the seeds; null without an agent",
    ),
    Field::new(
        "lost",
        "frames",
        "sum over the seeds of `link_lost` + `queue_dropped`",
    ),
    Field::new(
        "notes",
        "number",
        "runs whose figures `compare` had a doubt or a remark about",
    ),
    Field::new("content_ok", "boolean", "every byte right, in every run"),
];

/// Rows from lines, by place, `none` first, in the order in which places appear. Where a place
/// has lines of several set-ups, those of its last one count; the number of others is returned.
pub fn rows(lines: &[&Line]) -> (Vec<Row>, usize) {
    let mut places: Vec<(&str, Vec<&Line>)> = Vec::new();
    for line in lines {
        match places.iter_mut().find(|(place, _)| *place == line.place()) {
            Some((_, of_place)) => of_place.push(line),
            None => places.push((line.place(), vec![line])),
        }
    }
    let (mut rows, mut left_out) = (Vec::new(), 0);
    for (place, of_place) in places {
        let last = of_place.last().map_or("", |line| link_setup(line));
        let (of_place, other): (Vec<&Line>, Vec<&Line>) =
            of_place.iter().partition(|line| link_setup(line) == last);
        left_out += other.len();
        rows.extend(rows_of_place(place, &of_place));
    }
    (rows, left_out)
}

/// The set-up without the agent's part, which `none` does not have.
fn link_setup(line: &Line) -> &str {
    let setup = line.setup.as_str();
    setup.split(" --agent-config ").next().unwrap_or(setup)
}

fn rows_of_place(place: &str, lines: &[&Line]) -> Vec<Row> {
    let mut schemes: Vec<&str> = lines.iter().map(|l| l.record.scheme.as_str()).collect();
    schemes.sort_unstable_by_key(|scheme| (*scheme != NO_AGENT, *scheme));
    schemes.dedup();
    let of_scheme = |scheme: &str| -> Vec<&Line> {
        let lines = lines.iter().copied();
        lines.filter(|l| l.record.scheme == scheme).collect()
    };
    let plain = of_scheme(NO_AGENT);
    let row = |scheme: &&str| row(place, &of_scheme(scheme), &plain);
    schemes.iter().filter_map(row).collect()
}

fn row(place: &str, lines: &[&Line], plain: &[&Line]) -> Option<Row> {
    let first = lines.first()?;
    let record = &first.record;
    let base_ms = record.rtt_ms + FULL_FRAME_BYTES as f64 * 8.0 / (record.rate_mbit * 1e3);
    let over_base = |value: fn(&Line) -> Option<f64>| {
        let values: Option<Vec<f64>> = lines.iter().map(|line| value(line)).collect();
        median(&values?).map(|ms| rounded(ms - base_ms, 3))
    };
    let is_plain = record.scheme == NO_AGENT;
    let ratio = |value: fn(&Line) -> Option<f64>| {
        let pairs = pairs(lines, plain, value);
        Ratio::of(&pairs).filter(|_| !is_plain)
    };
    let goodput = ratio(|line| Some(line.record.goodput_mbit));
    let sum = |value: fn(&Line) -> u64| lines.iter().map(|line| value(line)).sum::<u64>();
    let segments = sum(|line| line.record.sender_segments);
    let net = sum(|line| {
        let record = &line.record;
        record
            .sender_retransmits
            .saturating_sub(record.sender_tail_probes)
    });
    let values = |value: fn(&Line) -> f64| -> Vec<f64> { lines.iter().map(|l| value(l)).collect() };
    Some(Row {
        kind: "cell",
        place: place.to_owned(),
        variant: first.variant.clone(),
        rate_mbit: record.rate_mbit,
        rtt_ms: record.rtt_ms,
        loss_pct: record.loss_pct,
        cc: record.cc.clone(),
        scheme: record.scheme.clone(),
        runs: lines.len(),
        efficiency: rounded(median(&values(|line| line.record.efficiency))?, 5),
        goodput_mbit: rounded(median(&values(|line| line.record.goodput_mbit))?, 4),
        ratio: goodput.map(|ratio| rounded(ratio.mean, 5)),
        ratio_low: goodput.and_then(|ratio| Some(rounded(ratio.interval?.0, 5))),
        ratio_high: goodput.and_then(|ratio| Some(rounded(ratio.interval?.1, 5))),
        rtt_p50_over_base_ms: over_base(|line| line.record.rtt_p50_ms),
        rtt_p95_over_base_ms: over_base(|line| line.record.rtt_p95_ms),
        rtt_p95_ratio: ratio(|line| line.record.rtt_p95_ms).map(|ratio| rounded(ratio.mean, 5)),
        sender_retransmit_share: (segments > 0).then(|| rounded(net as f64 / segments as f64, 6)),
        local_retransmits: lines.iter().map(|line| line.record.local_retransmits).sum(),
        lost: sum(|line| line.record.link_lost + line.record.queue_dropped),
        notes: lines.iter().filter(|line| !line.notes.is_empty()).count(),
        content_ok: lines.iter().all(|line| line.record.content_ok),
    })
}

/// A value with the scheme and without an agent, for each seed that has both.
fn pairs(
    lines: &[&Line],
    plain: &[&Line],
    value: impl Fn(&Line) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let partner = |line: &Line| plain.iter().find(|p| p.record.seed == line.record.seed);
    let pair = |line: &&Line| Some((value(line)?, value(partner(line)?)?));
    lines.iter().filter_map(pair).collect()
}

impl Row {
    /// The ratio with its interval.
    pub fn goodput_ratio(&self) -> Option<Ratio> {
        Some(Ratio {
            mean: self.ratio?,
            interval: self.ratio_low.zip(self.ratio_high),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::fields::assert_described;
    use crate::studies::grid::line::tests::line;

    const PLACE: &str = "base/20mbit/110ms/2%/reno";

    #[test]
    fn rows_pair_seeds_and_put_none_first() {
        let lines = [
            line(PLACE, "rack", 1, 18.0),
            line(PLACE, "rack", 2, 18.0),
            line(PLACE, "none", 2, 9.0),
            line(PLACE, "none", 1, 6.0),
            line("base/20mbit/110ms/0%/bbr", "rack", 1, 19.0),
        ];
        let (rows, left_out) = rows(&lines.iter().collect::<Vec<_>>());
        assert_eq!((rows.len(), left_out), (3, 0));
        assert_eq!((rows[0].scheme.as_str(), rows[0].ratio), ("none", None));
        assert_eq!((rows[1].runs, rows[1].ratio), (2, Some(2.5)));
        assert!(rows[1].ratio_low.unwrap() < 2.5);
        assert_eq!(rows[1].local_retransmits, Some(200));
        assert_eq!(rows[1].lost, 200);
        assert_eq!(rows[0].local_retransmits, None);
        // 115 ms, less 110 ms and 0.61 ms for a frame.
        assert!((rows[1].rtt_p50_over_base_ms.unwrap() - 4.394).abs() < 0.01);
        assert_eq!(rows[2].ratio, None, "no partner");
    }

    #[test]
    fn one_set_up_per_place() {
        let mut old = line(PLACE, "none", 1, 1.0);
        old.setup = "--duration 5s".into();
        let mut new = line(PLACE, "rack", 1, 18.0);
        new.setup.push_str(" --agent-config x.toml");
        let none = line(PLACE, "none", 2, 9.0);
        let (rows, left_out) = rows(&[&old, &none, &new]);
        assert_eq!((rows.len(), left_out), (2, 1));
    }

    #[test]
    fn rows_and_description_have_the_same_fields() {
        let (rows, _) = rows(&[&line(PLACE, "rack", 1, 18.0)]);
        assert_described(&rows[0], &FIELDS);
    }
}
