// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Experiments of several axes.

use std::path::Path;

use crate::base::small::Small;
use crate::studies::experiment::Experiment;

const ACROSS: &str = r#"[[across]]
name = "rtt"
points = [{ name = "near", rtt = "20ms" }, { name = "far", rtt = "200ms" }]
[[across]]
name = "cc"
points = [{ name = "reno", cc = "reno" }, { name = "bbr", cc = "bbr" }]"#;

/// Two losses, across two round trips and two congestion controls.
fn small(across: &str, only: &str) -> String {
    Small::new("T", "1..2")
        .setup("rate = \"2mbit\"")
        .axis(
            "Loss",
            "points = [{ x = 0, loss = 0 }, { x = 2, loss = 0.02 }]",
        )
        .with("", across)
        .tcp_and_snoop("agent = { dup_thresh = 2 }")
        .goodput("gain", "Gain", "ratio", "to = \"tcp\"")
        .check("helps", "snoop", Some("tcp"), &format!("min = 1\n{only}"))
        .text()
}

fn parse(text: &str) -> Result<Experiment, String> {
    let parsed = Experiment::parse(text, Path::new("t.toml"));
    parsed.map_err(|error| error.to_string())
}

#[test]
fn everything_is_there_for_every_combination() {
    let all = parse(&small(ACROSS, "")).unwrap();
    let names: Vec<&str> = all.series.iter().map(|s| s.name.as_str()).collect();
    let combinations = ["near-reno", "near-bbr", "far-reno", "far-bbr"];
    let of = |name: &str| combinations.map(|points| format!("{name}-{points}"));
    assert_eq!(names, [of("tcp"), of("snoop")].concat());
    assert_eq!(all.series[6].label, "far, reno, Snoop");
    assert_eq!(all.series[6].args, ["--cc", "reno", "--rtt", "200ms"]);
    assert_eq!(all.series[6].agent.as_deref(), Some("dup_thresh = 2\n"));
    let figures: Vec<&str> = all.figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(figures, of("gain"));
    assert_eq!(all.figures[1].series, ["snoop-near-bbr"]);
    assert_eq!(all.figures[1].to.as_deref(), Some("tcp-near-bbr"));
    assert_eq!(all.figures[1].title, "Gain (near, bbr)");
    assert_eq!(all.checks.len(), 1, "of all together");
    let places = &all.checks[0].places;
    let checked: Vec<&str> = places.iter().map(|place| place.of.as_str()).collect();
    assert_eq!(checked, of("snoop"));
    assert_eq!(places[3].to.as_deref(), Some("tcp-far-bbr"));
    assert_eq!(places[3].across, "far, bbr");
}

#[test]
fn a_condition_is_about_the_cells_that_it_names() {
    let of = |only: &str| -> Vec<String> {
        let experiment = parse(&small(ACROSS, only)).unwrap();
        let places = experiment.checks[0].places.iter();
        places.map(|place| place.of.clone()).collect()
    };
    let bbr = ["snoop-near-bbr", "snoop-far-bbr"];
    assert_eq!(of("where = { cc = [\"bbr\"] }"), bbr);
    let one = "where = { rtt = [\"far\"], cc = [\"reno\"] }\nat = [2]";
    assert_eq!(of(one), ["snoop-far-reno"]);
    assert_eq!(of("where = { rtt = [\"near\", \"far\"] }").len(), 4);
    let except = "except = { rtt = [\"far\"], cc = [\"reno\"] }";
    assert_eq!(of(except).len(), 3);
    let both = format!("where = {{ cc = [\"reno\"] }}\n{except}");
    assert_eq!(of(&both), ["snoop-near-reno"]);
}

#[test]
fn without_further_axes_nothing_changes() {
    let text = small("", "").replace("[setup]", "[setup]\ncc = \"reno\"");
    let plain = parse(&text).unwrap();
    assert_eq!(plain.series.len(), 2);
    assert_eq!((&*plain.checks[0].text, plain.figures.len()), ("helps", 1));
}

#[test]
fn mistakes_have_a_line() {
    let twice = ACROSS.replace("\"cc\"\n", "\"rtt\"\n");
    let nameless = ACROSS.replace("name = \"far\", ", "");
    let given = ACROSS.replace("rtt = \"200ms\"", "cc = \"reno\"");
    let same = ACROSS.replace("\"far\"", "\"near\"");
    for (across, only, said) in [
        (twice.as_str(), "", "t.toml:15: axis `rtt` is there already"),
        (
            &nameless,
            "",
            "t.toml:13: a point of [[across]] needs a name",
        ),
        (&given, "", "cc: another part of the file gives it"),
        (&same, "", "t.toml:13: point `near` is there already"),
        (
            ACROSS,
            "where = { cc = [\"cubic\"] }",
            "no point `cubic`, but reno, bbr",
        ),
        (
            ACROSS,
            "where = { loss = [\"2\"] }",
            "no [[across]] called `loss`",
        ),
        (ACROSS, "where = { cc = [] }", "points are missing"),
        (ACROSS, "except = { cc = [\"x\"] }", "no point `x`"),
        (
            ACROSS,
            "except = { cc = [\"reno\", \"bbr\"] }",
            "leave nothing that this check is about",
        ),
        (
            ACROSS,
            "[[map]]\nlabel = \"M\"\nmetric = \"jain\"\nrows = \"loss\"",
            "rows: there is no [[across]] called `loss`",
        ),
        (
            "",
            "where = { cc = [\"bbr\"] }",
            "no [[across]] called `cc`",
        ),
    ] {
        let error = parse(&small(across, only)).unwrap_err();
        assert!(error.contains(said), "{said}: {error}");
    }
}
