// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Tries the criteria on the figures.

use serde::Serialize;

use super::criteria::{CRITERIA, Criterion, Demand};
use super::summary::Row;
use crate::base::fields::Field;

/// How a criterion came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// In every cell that was judged.
    Holds,
    /// Not in some.
    Fails,
    /// No cell could be judged.
    NotJudged,
}

/// One criterion's result. The fields are described in [`FIELDS`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Judgement {
    pub kind: &'static str,
    pub criterion: &'static str,
    pub source: &'static str,
    pub scheme: String,
    pub outcome: Outcome,
    pub judged: usize,
    pub single_seed: bool,
    pub failures: Vec<Failure>,
}

/// A cell in which a criterion does not hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Failure {
    pub place: String,
    pub figure: String,
}

/// Fields of a judgement.
pub const FIELDS: [Field; 8] = [
    Field::new("kind", "name", "`criterion`"),
    Field::new("criterion", "name", "name of the criterion"),
    Field::new("source", "text", "what it demands"),
    Field::new("scheme", "name", "scheme that is judged (`--judge`)"),
    Field::new("outcome", "name", "`holds`, `fails` or `not_judged`"),
    Field::new("judged", "number", "cells with the figures that it needs"),
    Field::new(
        "single_seed",
        "boolean",
        "a cell among them has one seed, so that its ratio has no interval",
    ),
    Field::new(
        "failures",
        "list",
        "cells in which it does not hold: `place`, and `figure` with the limit",
    ),
];

/// Tries every criterion on the rows of `scheme`.
pub fn judge(rows: &[Row], scheme: &str) -> Vec<Judgement> {
    CRITERIA
        .iter()
        .map(|criterion| judge_one(criterion, rows, scheme))
        .collect()
}

fn judge_one(criterion: &Criterion, rows: &[Row], scheme: &str) -> Judgement {
    let in_scope = rows.iter().filter(|row| {
        let scope = &criterion.scope;
        row.scheme == scheme
            && scope.takes(
                &row.variant,
                row.rate_mbit,
                row.rtt_ms,
                row.loss_pct,
                &row.cc,
            )
    });
    let (mut judged, mut single_seed, mut failures) = (0, false, Vec::new());
    for row in in_scope {
        let Some(missed) = missed(&criterion.demand, row) else {
            continue;
        };
        judged += 1;
        single_seed |= row.runs == 1;
        failures.extend(missed.map(|figure| Failure {
            place: row.place.clone(),
            figure,
        }));
    }
    let outcome = match (judged, failures.len()) {
        (0, _) => Outcome::NotJudged,
        (_, 0) => Outcome::Holds,
        _ => Outcome::Fails,
    };
    Judgement {
        kind: "criterion",
        criterion: criterion.name,
        source: criterion.source,
        scheme: scheme.to_owned(),
        outcome,
        judged,
        single_seed,
        failures,
    }
}

/// The figure that misses the demand, and the limit; the inner one is none if the demand is met,
/// the outer one if the row lacks the figures to tell.
fn missed(demand: &Demand, row: &Row) -> Option<Option<String>> {
    Some(match *demand {
        Demand::Efficiency(limit) => {
            (row.efficiency < limit).then(|| format!("efficiency {:.3} < {limit}", row.efficiency))
        }
        Demand::RttOverBase { p50_ms, p95_ms } => {
            let (p50, p95) = (row.rtt_p50_over_base_ms?, row.rtt_p95_over_base_ms?);
            (p50 > p50_ms || p95 > p95_ms).then(|| {
                format!("RTT p50 +{p50:.1} ms, p95 +{p95:.1} ms, above +{p50_ms} or +{p95_ms}")
            })
        }
        Demand::Ratio(limit) => {
            let ratio = row.goodput_ratio()?;
            ratio
                .is_below(limit)
                .then(|| format!("{} of none < {limit}", show_ratio(row)))
        }
        Demand::RttRatio(limit) => {
            let delay = row.rtt_p95_ratio?;
            (delay > limit).then(|| format!("RTT p95 {delay:.3} of none's > {limit}"))
        }
        Demand::RatioForDelay { ratio, p95 } => {
            let (goodput, delay) = (row.goodput_ratio()?, row.rtt_p95_ratio?);
            let traded = !goodput.is_below(ratio) && delay <= p95;
            let free = !goodput.is_below(1.0) && delay <= 1.0;
            (!traded && !free).then(|| {
                format!(
                    "{} of none at {delay:.2} of its p95 RTT: neither >= {ratio} at <= {p95} nor >= 1 at <= 1",
                    show_ratio(row)
                )
            })
        }
        Demand::LocalRetransmits { factor, slack } => {
            let repairs = row.local_retransmits?;
            let limit = factor * row.lost as f64 + (slack * row.runs as u64) as f64;
            (repairs as f64 > limit)
                .then(|| format!("{repairs} repairs of {} lost frames > {limit:.0}", row.lost))
        }
        Demand::SenderRetransmits(limit) => {
            let share = row.sender_retransmit_share?;
            (share >= limit).then(|| format!("{:.3} % >= {} %", share * 100.0, limit * 100.0))
        }
        Demand::Content => (!row.content_ok).then(|| "wrong or missing bytes".to_owned()),
    })
}

/// `0.971 (0.950..0.992)`; one seed has no interval.
pub fn show_ratio(row: &Row) -> String {
    match (row.ratio, row.ratio_low, row.ratio_high) {
        (Some(ratio), Some(low), Some(high)) => format!("{ratio:.3} ({low:.3}..{high:.3})"),
        (Some(ratio), ..) => format!("{ratio:.3}"),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::fields::assert_described;
    use crate::studies::grid::line::Line;
    use crate::studies::grid::line::tests::line;
    use crate::studies::grid::summary;

    fn outcome(lines: &[Line], criterion: &str) -> Judgement {
        let (rows, _) = summary::rows(&lines.iter().collect::<Vec<_>>());
        let judgements = judge(&rows, "rack");
        let found = judgements.into_iter().find(|j| j.criterion == criterion);
        found.unwrap()
    }

    /// A pair whose figures meet every demand, changed by `change`.
    fn pair(place: &str, change: impl Fn(&mut Line)) -> Vec<Line> {
        let none = line(place, "none", 1, 18.5);
        let mut rack = line(place, "rack", 1, 18.5);
        rack.record.efficiency = 0.98;
        change(&mut rack);
        vec![none, rack]
    }

    /// Each criterion holds on good figures, and fails once its own figure is bad.
    #[test]
    fn canned_records() {
        type Change = fn(&mut Line);
        let cases: [(&str, &str, Change); 14] = [
            ("efficiency", "base/20mbit/60ms/5%/bbr", |l| {
                l.record.efficiency = 0.969
            }),
            ("efficiency-10%", "base/20mbit/60ms/10%/bbr", |l| {
                l.record.efficiency = 0.949
            }),
            ("efficiency-20%", "base/20mbit/60ms/20%/bbr", |l| {
                l.record.efficiency = 0.929
            }),
            ("efficiency-400ms", "base/20mbit/400ms/2%/bbr", |l| {
                l.record.efficiency = 0.949
            }),
            ("efficiency-rates", "base/5mbit/110ms/5%/bbr", |l| {
                l.record.efficiency = 0.949
            }),
            ("delay", "base/20mbit/110ms/2%/cubic", |l| {
                l.record.rtt_p95_ms = Some(136.0)
            }),
            ("no-harm-0%", "queue-20/20mbit/110ms/0%/bbr", |l| {
                l.record.goodput_mbit = 18.1
            }),
            ("no-harm", "base/20mbit/110ms/2%/bbr", |l| {
                l.record.goodput_mbit = 17.9
            }),
            ("varying-rate", "wave/20mbit/110ms/2%/reno", |l| {
                l.record.goodput_mbit = 18.4
            }),
            ("varying-rate-bbr", "lte/20mbit/110ms/2%/bbr", |l| {
                l.record.goodput_mbit = 18.4
            }),
            ("delay-0%", "base/20mbit/110ms/0%/cubic", |l| {
                l.record.rtt_p95_ms = Some(200.0);
            }),
            ("local-retransmits", "base/20mbit/110ms/2%/bbr", |l| {
                l.record.local_retransmits = Some(114);
            }),
            ("sender-retransmits", "base/20mbit/110ms/2%/bbr", |l| {
                l.record.sender_retransmits = 31;
            }),
            ("content", "base/20mbit/110ms/2%/bbr", |l| {
                l.record.content_ok = false
            }),
        ];
        for (criterion, place, change) in cases {
            let good = outcome(&pair(place, |_| {}), criterion);
            assert_eq!(good.outcome, Outcome::Holds, "{good:?}");
            let bad = outcome(&pair(place, change), criterion);
            assert_eq!(
                (bad.outcome, bad.failures.len()),
                (Outcome::Fails, 1),
                "{bad:?}"
            );
            assert_eq!(bad.failures[0].place, place);
            assert!(bad.single_seed);
        }
    }

    #[test]
    fn bbr_may_trade_goodput_for_delay() {
        let place = "lte/20mbit/110ms/0%/bbr";
        let traded = pair(place, |l| {
            l.record.goodput_mbit = 16.0;
            l.record.rtt_p95_ms = Some(70.0);
        });
        assert_eq!(outcome(&traded, "varying-rate-bbr").outcome, Outcome::Holds);
        assert_eq!(outcome(&traded, "no-harm-0%").outcome, Outcome::NotJudged);
    }

    #[test]
    fn an_interval_that_reaches_the_limit_is_no_failure() {
        let place = "base/20mbit/110ms/2%/bbr";
        let mut lines = Vec::new();
        for (seed, goodput) in [(1, 15.0), (2, 18.0), (3, 19.0)] {
            lines.push(line(place, "none", seed, 18.5));
            lines.push(line(place, "rack", seed, goodput));
        }
        let noisy = outcome(&lines, "no-harm");
        assert_eq!((noisy.outcome, noisy.single_seed), (Outcome::Holds, false));
    }

    #[test]
    fn without_a_partner_nothing_is_judged() {
        let lines = [line("base/20mbit/110ms/2%/bbr", "rack", 1, 1.0)];
        assert_eq!(outcome(&lines, "no-harm").outcome, Outcome::NotJudged);
        assert_eq!(outcome(&lines, "efficiency").outcome, Outcome::Fails);
    }

    #[test]
    fn judgements_and_description_have_the_same_fields() {
        let judgement = &judge(&[], "rack")[0];
        assert_described(judgement, &FIELDS);
    }
}
