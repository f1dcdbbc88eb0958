// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use std::path::Path;

use super::*;
use crate::base::small::Small;
use crate::studies::experiment::line::Line;
use crate::studies::experiment::line::tests::line;

/// Two numbers of flows; series with and without agent, some of them told of an outage.
fn spec() -> String {
    let outage = "outage = \"6s,1s\"";
    let options = |cc: &str, more: &[&str]| {
        let cc = format!("cc = \"{cc}\"");
        let all: Vec<&str> = [&[cc.as_str()], more].concat();
        format!("options = {{ {} }}", all.join(", "))
    };
    let told = "outage-events = true";
    Small::new("T", "1..3")
        .axis(
            "Flows",
            "points = [{ x = 1, flows = 1 }, { x = 8, flows = 8, label = \"many\" }]",
        )
        .series("reno-none", "Reno, no agent", "none", &options("reno", &[]))
        .series("reno-rack", "Reno, rack", "rack", &options("reno", &[]))
        .series(
            "told",
            "Reno, rack, told",
            "rack",
            &options("reno", &[outage, told]),
        )
        .series("bbr-none", "BBR, no agent", "none", &options("bbr", &[]))
        .series(
            "bbr-rack",
            "BBR, rack",
            "rack",
            &options("bbr", &[told, outage]),
        )
        .series(
            "bbr-out",
            "BBR, no agent",
            "none",
            &options("bbr", &[outage]),
        )
        .with(
            "[[panel]]",
            "label = \"Goodput\"\nmetrics = [\"goodput_mbit\"]",
        )
        .with(
            "[[panel]]",
            r#"label = "Round trip"
unit = "ms"
metrics = ["rtt_p50_ms", "rtt_p95_ms"]"#,
        )
        .goodput("f", "F", "value", "")
        .text()
}

fn contrast(spec: &str, lines: &[Line]) -> Contrast {
    let experiment = Experiment::parse(spec, Path::new("t.toml")).unwrap();
    let lines: Vec<&Line> = lines.iter().collect();
    Contrast::of(&experiment, Runs::new(&lines))
}

/// Three seeds of each point: Reno has 1, 2 and 3 Mbit/s, four times that with the agent.
fn reno() -> Vec<Line> {
    let mut lines = Vec::new();
    for seed in 1..=3 {
        lines.push(line(1.0, "reno-none", seed, seed as f64));
        lines.push(line(1.0, "reno-rack", seed, 4.0 * seed as f64));
    }
    lines
}

#[test]
fn series_stand_beside_those_with_the_same_options() {
    let contrast = contrast(&spec(), &reno());
    let blocks = &contrast.panels[0].blocks;
    let headings: Vec<&str> = blocks.iter().map(|b| b.heading.as_str()).collect();
    // `told` and `bbr-none` have nobody whose link is the same.
    assert_eq!(headings, ["Reno", "BBR"]);
    assert_eq!(blocks[1].rows[0].bars.len(), 2, "told of outages or not");
    let lanes: Vec<(&str, bool)> = contrast
        .lanes
        .iter()
        .map(|lane| (lane.label.as_str(), lane.is_plain))
        .collect();
    assert_eq!(lanes, [("no agent", true), ("rack", false)]);
    let rows: Vec<&str> = blocks[0].rows.iter().map(|r| r.label.as_str()).collect();
    assert_eq!(rows, ["1", "many"]);
}

#[test]
fn marks_are_medians_with_the_seeds_ends() {
    let contrast = contrast(&spec(), &reno());
    let bar = &contrast.panels[0].blocks[0].rows[0].bars[1];
    let mark = Mark {
        median: 8.0,
        least: 4.0,
        most: 12.0,
        runs: 3,
    };
    assert_eq!((bar.lane, &bar.marks[..]), (1, &[(0, mark)][..]));
    let delay = &contrast.panels[1].blocks[0].rows[0].bars[0];
    assert_eq!(delay.marks.len(), 2, "p50 and p95");
    assert!(
        contrast.panels[0].blocks[0].rows[1].bars[0]
            .marks
            .is_empty()
    );
}

#[test]
fn ratios_are_of_medians_and_drops_of_equal_seeds() {
    let mut lines = reno();
    for line in &mut lines {
        line.record.queue_dropped = if line.series == "reno-rack" { 5 } else { 10 };
    }
    lines.push(line(8.0, "reno-none", 1, 3.0));
    lines.push(line(8.0, "reno-rack", 1, 3.0));
    lines.push(line(8.0, "reno-rack", 2, 3.0));
    for line in &mut lines[6..] {
        line.record.queue_dropped = 7;
    }
    let ratios = &contrast(&spec(), &lines).ratios[0];
    let goodput = ratios.goodput.unwrap();
    assert_eq!(
        (goodput.least, goodput.median, goodput.most),
        (1.0, 2.5, 4.0)
    );
    assert_eq!(ratios.scheme, "rack");
    assert_eq!(ratios.own, None, "goodput is there already");
    let aqm = lines
        .iter()
        .filter_map(|line| line.record.aqm_dropped.map(|n| n as f64));
    assert_eq!(aqm.sum::<f64>(), 0.0, "what the sums below leave out");
    assert_eq!(ratios.drops, (15.0 + 7.0, 30.0 + 7.0));
}

#[test]
fn a_case_may_have_a_figure_of_its_own() {
    let spec = spec().replacen("[\"goodput_mbit\"]", "[\"page_ms\"]", 1);
    let mut lines = reno();
    for line in &mut lines {
        line.record.page.page_ms = Some(line.record.goodput_mbit);
    }
    let ratios = &contrast(&spec, &lines).ratios[0];
    let (label, own) = ratios.own.as_ref().unwrap();
    assert_eq!((label.as_str(), own.median), ("Goodput", 4.0));
}

#[test]
fn without_panels_there_is_nothing() {
    let whole = spec();
    let start = whole.find("[[panel]]").unwrap();
    let end = whole.find("[[figure]]").unwrap();
    let spec = format!("{}{}", &whole[..start], &whole[end..]);
    assert_eq!(contrast(&spec, &reno()), Contrast::default());
}
