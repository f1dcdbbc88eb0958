// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use std::path::Path;

use super::*;
use crate::base::small::Small;
use crate::studies::experiment::line::Line;
use crate::studies::experiment::line::tests::line;
use crate::studies::experiment::spec::Statistic;

/// Three bit-error rates, and a condition that lacks its bounds.
fn head() -> String {
    Small::new("T", "1..2")
        .setup("cc = \"reno\"")
        .axis(
            "Errors",
            "scale = \"log\"\npoints = [{ x = 1e-6, ber = 1e-6 }, { x = 1e-5, ber = 1e-5 }, { x = 1e-4, ber = 1e-4 }]",
        )
        .tcp_and_snoop("")
        .goodput("f", "F", "value", "")
        .check("c", "snoop", None, "")
        .text()
}

/// Two seeds of each series at each point; TCP 8, 4, 1 and Snoop 8, 7, 5 Mbit/s.
fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    for (x, tcp, snoop) in [(1e-6, 8.0, 8.0), (1e-5, 4.0, 7.0), (1e-4, 1.0, 5.0)] {
        for seed in [1, 2] {
            let noise = 0.1 * seed as f64 - 0.15;
            lines.push(line(x, "tcp", seed, tcp + noise));
            lines.push(line(x, "snoop", seed, snoop + noise));
        }
    }
    lines
}

fn parse(check: &str) -> Experiment {
    Experiment::parse(&(head() + check), Path::new("t.toml")).unwrap()
}

fn outcome_of(check: &str, lines: &[Line]) -> (Outcome, String) {
    let experiment = parse(check);
    let lines: Vec<&Line> = lines.iter().collect();
    let judgement = judge(&experiment, Runs::new(&lines), 2).remove(0);
    (judgement.outcome, judgement.detail)
}

#[test]
fn conditions() {
    use Outcome::{Met, NotMet};
    for (check, expected) in [
        ("min = 4.9", Met),
        ("min = 5.1", NotMet),
        ("max = 7.9", NotMet),
        ("max = 7.9\nhold = \"some\"", Met),
        ("max = 7.9\nat = [1e-4, 1e-5]", Met),
        ("to = \"tcp\"\nmin = 0.99", Met),
        ("to = \"tcp\"\nmin = 4.5\nat = [1e-4]", Met),
        ("to = \"tcp\"\nmin = 5.5\nat = [1e-4]", NotMet),
        ("to = \"tcp\"\nrelation = \"difference\"\nmax = 4.01", Met),
        ("to = \"tcp\"\nrelation = \"difference\"\nmax = 3.9", NotMet),
        // Ten times the errors: 7 against 8, 5 against 4.
        ("to = \"tcp\"\nshift = 10\nmin = 0.86", Met),
        ("to = \"tcp\"\nshift = 10\nmin = 1.0", NotMet),
        ("to = \"tcp\"\nshift = 10\nmin = 1.0\nat = [1e-5]", Met),
        // 7 and 5 against 8, and 1.0 against itself.
        ("to = \"snoop\"\nto_at = 1e-6\nmax = 1.0", Met),
        // Snoop's 8, 7 and 5 against ten times TCP's 8, 4 and 1.
        (
            "to = \"tcp\"\nto_metric = \"goodput_mbit * 10\"\nmin = 0.09\nmax = 0.51",
            Met,
        ),
        (
            "to = \"snoop\"\nto_at = 1e-6\nmax = 0.8\nat = [1e-5]",
            NotMet,
        ),
        // Snoop's 8, 7 and 5 against TCP's 8, 4 and 1, or 5 if that is more, or 4 if that is less.
        ("to = \"tcp\"\nto_least = 5\nmax = 1.41", Met),
        ("to = \"tcp\"\nto_least = 5\nmin = 1.0", Met),
        (
            "to = \"tcp\"\nto_least = 5\nmin = 1.01\nat = [1e-4]",
            NotMet,
        ),
        ("to = \"tcp\"\nto_most = 4\nmin = 1.7", Met),
        ("to = \"tcp\"\nto_least = 2\nto_most = 3\nmax = 2.7", Met),
        ("to_reported = [[1e-5, 6.0], [1e-4, 6.0]]\nmin = 0.8", Met),
        (
            "to_reported = [[1e-5, 6.0], [1e-4, 6.0]]\nmax = 1.1",
            NotMet,
        ),
        ("to_reported = [[1e-5, 7.0]]\nmin = 0.99\nmax = 1.01", Met),
        ("statistic = \"sum\"\nmin = 9.9", Met),
        ("statistic = \"min\"\nmin = 5.0", NotMet),
        // The differences are 0, 3 and 4: greatest at the end.
        (
            "to = \"tcp\"\nrelation = \"difference\"\npeak = [1e-5, 1e-5]",
            NotMet,
        ),
        (
            "to = \"tcp\"\nrelation = \"difference\"\npeak = [1e-5, 1e-4]",
            Met,
        ),
        (
            "to = \"tcp\"\nrelation = \"difference\"\npeak = [1e-5, 1e-4]\nfall = 1.1",
            NotMet,
        ),
    ] {
        assert_eq!(outcome_of(check, &lines()).0, expected, "{check}");
    }
}

/// TCP's 4 Mbit/s and Snoop's 7 at 1e-5, of which only Snoop's spread is changed.
#[test]
fn an_interval_that_reaches_the_limit_is_no_failure() {
    use Outcome::{Met, NotMet};
    let check =
        |limit: &str, by: &str| format!("to = \"tcp\"\nat = [1e-5]\n{limit}\njudged_by = \"{by}\"");
    let mut lines = lines();
    assert_eq!(
        outcome_of(&check("min = 1.9", "interval"), &lines).0,
        NotMet
    );
    for line in lines.iter_mut().filter(|line| line.series == "snoop") {
        line.record.goodput_mbit += 3.0 * line.record.seed as f64 - 4.5;
    }
    assert_eq!(outcome_of(&check("min = 1.9", "value"), &lines).0, NotMet);
    assert_eq!(outcome_of(&check("min = 1.9", "interval"), &lines).0, Met);
    assert_eq!(outcome_of(&check("max = 1.5", "interval"), &lines).0, Met);
    let alone: Vec<Line> = lines.into_iter().filter(|l| l.record.seed == 1).collect();
    let experiment = parse(&check("min = 1.5", "interval"));
    let alone: Vec<&Line> = alone.iter().collect();
    let judged = judge(&experiment, Runs::new(&alone), 1).remove(0);
    assert_eq!(judged.outcome, NotMet, "one seed has no interval");
}

#[test]
fn one_alternative_is_enough_at_each_point() {
    use Outcome::{Met, NotMet};
    let head = head().replace("metric = \"goodput_mbit\"\n", "MISSING");
    let head = head.replacen("MISSING", "metric = \"goodput_mbit\"\n", 1);
    let head = head.replace("MISSING", "");
    for (any, expected) in [
        (
            "{ goodput_mbit = { min = 6 } }, { goodput_mbit = { max = 5.5 } }",
            Met,
        ),
        (
            "{ goodput_mbit = { min = 6 }, jain = { min = 2 } }, { goodput_mbit = { max = 5.5 } }",
            NotMet,
        ),
        (
            "{ goodput_mbit = { min = 6 } }, { jain = { min = 2 } }",
            NotMet,
        ),
        (
            "{ jain = { min = 1 }, goodput_mbit = { min = 4, max = 9 } }",
            Met,
        ),
    ] {
        let text = format!("{head}any = [{any}]");
        let experiment = Experiment::parse(&text, Path::new("t.toml")).unwrap();
        let lines = lines();
        let lines: Vec<&Line> = lines.iter().collect();
        let judged = judge(&experiment, Runs::new(&lines), 2).remove(0);
        assert_eq!(judged.outcome, expected, "{any}: {judged:?}");
    }
}

#[test]
fn a_condition_about_several_places_names_those_that_miss_it() {
    let text = Small::new("T", "1")
        .axis("Loss", "points = [{ x = 0, loss = 0 }, { x = 2, loss = 0.02 }]")
        .with(
            "[[across]]",
            "name = \"cc\"\npoints = [{ name = \"reno\", cc = \"reno\" }, { name = \"bbr\", cc = \"bbr\" }]",
        )
        .tcp_and_snoop("")
        .check("c", "snoop", None, "min = 5")
        .text();
    let experiment = Experiment::parse(&text, Path::new("t.toml")).unwrap();
    let mut lines = Vec::new();
    for (x, reno, bbr) in [(0.0, 5.0, 6.0), (2.0, 4.0, 7.0)] {
        lines.push(line(x, "snoop-reno", 1, reno));
        lines.push(line(x, "snoop-bbr", 1, bbr));
    }
    let judged = |lines: &[Line]| {
        let lines: Vec<&Line> = lines.iter().collect();
        judge(&experiment, Runs::new(&lines), 1).remove(0)
    };
    let all = judged(&lines);
    assert_eq!(all.outcome, Outcome::NotMet);
    assert_eq!(all.missed, ["reno: 4.00 at 2"]);
    assert_eq!(all.detail, "holds at 3 of 4 points");
    assert_eq!(
        (all.values.len(), all.values[3].across.as_str()),
        (4, "bbr")
    );
    assert_eq!(judged(&lines[..3]).outcome, Outcome::Incomplete);
}

/// Snoop's 5 Mbit/s at 1e-4: from 4.4 to 5.6.
#[test]
fn each_bound_chooses_what_it_is_judged_by() {
    use Outcome::{Met, NotMet};
    let head = head();
    let head = head.rsplit_once("metric = \"goodput_mbit\"\n").unwrap().0;
    let (interval, value) = ("judged_by = \"interval\"", "judged_by = \"value\"");
    for (bounds, of_all, expected) in [
        ("min = 5.1".to_owned(), "", NotMet),
        ("min = 5.1".to_owned(), interval, Met),
        (format!("min = 5.1, {interval}"), "", Met),
        (format!("min = 5.1, {value}"), interval, NotMet),
    ] {
        let any = format!("any = [{{ goodput_mbit = {{ {bounds} }} }}]");
        let text = format!("{head}at = [1e-4]\n{any}\n{of_all}");
        let experiment = Experiment::parse(&text, Path::new("t.toml")).unwrap();
        let lines = lines();
        let lines: Vec<&Line> = lines.iter().collect();
        let judged = judge(&experiment, Runs::new(&lines), 2).remove(0);
        assert_eq!(judged.outcome, expected, "{text}: {judged:?}");
    }
}

#[test]
fn without_points_nothing_is_met() {
    let mut experiment = parse("min = 1");
    experiment.checks[0].at = Some(Vec::new());
    let lines = lines();
    let lines: Vec<&Line> = lines.iter().collect();
    let judged = judge(&experiment, Runs::new(&lines), 2).remove(0);
    assert_eq!(judged.outcome, Outcome::Incomplete);
}

#[test]
fn missing_runs_decide_nothing() {
    let mut lines = lines();
    lines.pop();
    assert_eq!(outcome_of("min = 1", &lines).0, Outcome::Incomplete);
    assert_eq!(
        outcome_of("min = 1", &[]),
        (Outcome::Incomplete, "no runs".into())
    );
}

#[test]
fn a_time_that_never_came_is_infinite() {
    let mut lines = lines();
    for line in &mut lines {
        line.record.completion_ms = (line.series == "snoop").then_some(100.0);
    }
    let lines: Vec<&Line> = lines.iter().collect();
    let runs = Runs::new(&lines);
    let value = runs
        .value(1e-6, "tcp", "completion_ms", Statistic::Mean)
        .unwrap();
    assert!(value.value.is_infinite() && value.low.is_none());
    let measure = Measure {
        metric: "completion_ms",
        statistic: Statistic::Mean,
        relation: Relation::Ratio,
        shift: 1.0,
        to_at: None,
        to_metric: None,
        to_limits: (None, None),
    };
    assert_eq!(
        runs.relation(1e-6, "snoop", "tcp", &measure).unwrap().value,
        0.0
    );
    let null = runs.value(1e-6, "tcp", "late_flow_share_s", Statistic::Mean);
    assert_eq!(null, None, "what is no time is left out");
}

#[test]
fn intervals_are_of_pairs_of_a_seed() {
    let lines = lines();
    let lines: Vec<&Line> = lines.iter().collect();
    let measure = Measure {
        metric: "goodput_mbit",
        statistic: Statistic::Mean,
        relation: Relation::Difference,
        shift: 1.0,
        to_at: None,
        to_metric: None,
        to_limits: (None, None),
    };
    let value = Runs::new(&lines)
        .relation(1e-5, "snoop", "tcp", &measure)
        .unwrap();
    assert!((value.value - 3.0).abs() < 1e-9);
    let (low, high) = (value.low.unwrap(), value.high.unwrap());
    assert!(
        high - low < 1e-6,
        "the noise of a seed is the same in both: {low} {high}"
    );
}

#[test]
fn judgement_and_description_have_the_same_fields() {
    let text = head() + "min = 1";
    let experiment = Experiment::parse(&text, Path::new("t.toml")).unwrap();
    let judgement = judge(&experiment, Runs::new(&[]), 2).remove(0);
    crate::base::fields::assert_described(&judgement, &JUDGEMENT_FIELDS);
}
