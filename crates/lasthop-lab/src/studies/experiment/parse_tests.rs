// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use super::*;
use crate::base::small::Small;

/// The smallest experiment; the tests change one line of it.
fn small() -> String {
    Small::new("T", "1..3")
        .setup("cc = \"reno\"\nrate = \"2mbit\"\nloss = 0.02")
        .axis(
            "Delay",
            r#"points = [
  { x = 10, rtt = "20ms" },
  { x = 20, rtt = "40ms", label = "far" },
]"#,
        )
        .tcp_and_snoop("agent = { dup_thresh = 2 }")
        .goodput("gain", "Gain", "ratio", "to = \"tcp\"")
        .check("gains", "snoop", Some("tcp"), "min = 1.0")
        .text()
}

fn parse(text: &str) -> Result<Experiment> {
    Experiment::parse(text, Path::new("dir/small.toml"))
}

#[test]
fn the_smallest_file() {
    let small = parse(&small()).unwrap();
    assert_eq!(small.name, "small");
    assert_eq!(small.seeds, [1, 2, 3]);
    let shared = ["--cc", "reno", "--loss", "0.02", "--rate", "2mbit"];
    assert_eq!(small.args, shared);
    assert_eq!(small.axis.points[1].args, ["--rtt", "40ms"]);
    assert_eq!(small.axis.points[1].label.as_deref(), Some("far"));
    assert_eq!(small.series[1].agent.as_deref(), Some("dup_thresh = 2\n"));
    assert_eq!(small.figures[0].series, ["snoop"], "a ratio to itself is 1");
    assert_eq!(small.figures[0].seed, 1);
    let demand = Demand {
        metric: "goodput_mbit".to_owned(),
        min: Some(1.0),
        max: None,
        judged_by: JudgedBy::Value,
    };
    assert_eq!(small.checks[0].any, [[demand]]);
    assert_eq!(small.checks[0].places[0].of, "snoop");
    assert!(!small.has_windows());
}

#[test]
fn what_takes_the_agents_place_is_a_series_of_the_test_bed() {
    let split = small()
        .replace("scheme = \"snoop\"", "scheme = \"split\"")
        .replace("agent = { dup_thresh = 2 }\n", "");
    assert_eq!(parse(&split).unwrap().series[1].scheme, "split");
    let simulated = split.replace("[setup]", "engine = \"ns3\"\n[setup]");
    let said = parse(&simulated).unwrap_err().to_string();
    assert!(
        said.contains("series snoop at 10: --scheme split: --engine ns3"),
        "{said}"
    );
}

#[test]
fn the_engine_is_an_option_of_all_runs_or_of_a_series() {
    let all = small().replace("[setup]", "engine = \"ns3\"\n[setup]");
    assert_eq!(parse(&all).unwrap().args[..2], ["--engine", "ns3"]);
    let one = small().replace(
        "dup_thresh = 2 }",
        "dup_thresh = 2 }\noptions = { engine = \"ns3\" }",
    );
    assert_eq!(parse(&one).unwrap().series[1].args, ["--engine", "ns3"]);
    let twice = one.replace("[setup]", "engine = \"ns3\"\n[setup]");
    let said = parse(&twice).unwrap_err().to_string();
    assert!(said.contains("--engine"), "{said}");
    let outage = all.replace("loss = 0.02", "outage = \"1s,1s\"");
    let said = parse(&outage).unwrap_err().to_string();
    assert!(said.contains("--engine testbed has"), "{said}");
    let window = all.replace(
        "kind = \"ratio\"\nmetric = \"goodput_mbit\"\nto = \"tcp\"",
        "kind = \"window\"\nat = 10",
    );
    let said = parse(&window).unwrap_err().to_string();
    assert!(said.contains("samples"), "{said}");
    let wrong = small().replace("[setup]", "engine = \"ns1\"\n[setup]");
    let said = parse(&wrong).unwrap_err().to_string();
    assert!(said.starts_with("dir/small.toml:6:"), "{said}");
}

/// Every mistake is reported with the file, its line, and what to do.
#[test]
fn mistakes_have_a_line() {
    for (right, wrong, said) in [
        (
            "seeds = \"1..3\"",
            "seeds = \"3..1\"",
            "dir/small.toml:5: seeds: ",
        ),
        (
            "min = 1.0",
            "min = 1.0\nto_reported = [[10, 1.0]]",
            "dir/small.toml:33: `to_reported` stands in place",
        ),
        (
            "to = \"tcp\"\nmetric = \"goodput_mbit\"\nmin",
            "metric = \"goodput_mbit\"\nto_reported = [[11, 1.0]]\nmin",
            "dir/small.toml:35: 11 is no point of the axis",
        ),
        (
            "min = 1.0",
            "min = 1.0\nto_at = 11",
            "dir/small.toml:37: 11 is no point of the axis",
        ),
        (
            "to = \"tcp\"\nmetric = \"goodput_mbit\"\nmin",
            "metric = \"goodput_mbit\"\nto_least = 1.0\nmin",
            "dir/small.toml:33: `to_least` and `to_most` need `to`",
        ),
        ("min = 1.0", "", "dir/small.toml:33: this check can't fail"),
        (
            "metric = \"goodput_mbit\"\nmin = 1.0",
            "any = [{}]",
            "dir/small.toml:33: any: a table needs a metric",
        ),
        (
            "min = 1.0",
            "at = []\nmin = 1.0",
            "dir/small.toml:36: at: name a point",
        ),
        (
            "to = \"tcp\"\nmetric = \"goodput_mbit\"\nmin = 1.0",
            "metric = \"goodput_mbit\"\nto_reported = []\nmin = 1.0",
            "dir/small.toml:35: to_reported: give a pair",
        ),
        (
            "min = 1.0",
            "shift = 7\nmin = 1.0",
            "dir/small.toml:33: shift: no point of the axis",
        ),
        (
            "min = 1.0",
            "shift = 2\nat = [20]\nmin = 1.0",
            "dir/small.toml:33: shift: no point of the axis",
        ),
        (
            "min = 1.0",
            "any = [{ jain = { min = 1 } }]",
            "dir/small.toml:33: `any` stands in place",
        ),
        (
            "metric = \"goodput_mbit\"\nmin = 1.0",
            "",
            "dir/small.toml:33: a check needs a metric",
        ),
        (
            "metric = \"goodput_mbit\"\nmin = 1.0",
            "any = [{ jain = { } }]",
            "dir/small.toml:35: any: give min or max",
        ),
        (
            "metric = \"goodput_mbit\"\nmin = 1.0",
            "any = [{ fairness = { min = 1 } }]",
            "dir/small.toml:35: `fairness` is no field",
        ),
        (
            "min = 1.0",
            "min = 1.0\njudged_by = \"interval\"\nstatistic = \"median\"",
            "dir/small.toml:33: only a mean has an interval",
        ),
        (
            "metric = \"goodput_mbit\"\nmin",
            "metric = \"goodput_mbit / loss\"\nmin",
            "dir/small.toml:35: `loss` is no field",
        ),
        (
            "seeds =",
            "sedes =",
            "dir/small.toml:5: unknown field `sedes`",
        ),
        (
            "rate = \"2mbit\"",
            "rat = \"2mbit\"",
            "dir/small.toml:8: unknown option `rat`; did you mean `rate`?",
        ),
        (
            "rate = \"2mbit\"",
            "rate = \"2\"",
            "dir/small.toml:8: rate: invalid value '2'",
        ),
        (
            "rate = \"2mbit\"",
            "seed = 4",
            "dir/small.toml:8: `seed` is set by the runner",
        ),
        (
            "loss = 0.02",
            "loss = 1.5",
            "dir/small.toml:9: loss: invalid value '1.5'",
        ),
        (
            "loss = 0.02",
            "loss = [true]",
            "dir/small.toml:9: a list may hold",
        ),
        (
            "x = 10,",
            "x = \"10\",",
            "dir/small.toml:13: x: write a number",
        ),
        ("x = 10, ", "", "dir/small.toml:13: a point needs an x"),
        (
            "x = 20,",
            "x = 10,",
            "dir/small.toml:14: x = 10 is there already",
        ),
        (
            "rtt = \"20ms\"",
            "rtt = \"5ms\"",
            "dir/small.toml: series tcp at 10: --local-rtt 10ms is longer",
        ),
        (
            "name = \"snoop\"",
            "name = \"Snoop\"",
            "dir/small.toml:21: `Snoop` is no name",
        ),
        (
            "name = \"snoop\"",
            "name = \"tcp\"",
            "dir/small.toml:21: series `tcp` is there already",
        ),
        (
            "scheme = \"snoop\"",
            "scheme = \"snop\"",
            "dir/small.toml:23: no scheme `snop`; have: none,",
        ),
        ("dup_thresh = 2", "dup_tresh = 2", "dir/small.toml:24: "),
        (
            "scheme = \"snoop\"",
            "scheme = \"split\"",
            "dir/small.toml:24: split is no agent",
        ),
        (
            "dup_thresh = 2",
            "scheme = \"rack\"",
            "dir/small.toml:24: agent: the series says which scheme it has, snoop",
        ),
        (
            "scheme = \"snoop\"",
            "scheme = \"none\"",
            "dir/small.toml:24: none is no agent",
        ),
        (
            "min = 1.0",
            "min = nan",
            "dir/small.toml:33: min and max: no value",
        ),
        (
            "metric = \"goodput_mbit\"\nmin = 1.0",
            "any = [{ jain = { min = 3, max = 1 } }]",
            "dir/small.toml:35: min and max: no value",
        ),
        (
            "kind = \"ratio\"",
            "kind = \"ration\"",
            "dir/small.toml:28: unknown variant `ration`",
        ),
        (
            "kind = \"ratio\"",
            "kind = \"value\"",
            "dir/small.toml:26: a ratio or difference needs",
        ),
        (
            "metric = \"goodput_mbit\"\nto = \"tcp\"\n[[check]]",
            "metric = \"goodput\"\nto = \"tcp\"\n[[check]]",
            "dir/small.toml:29: `goodput` is no field",
        ),
        (
            "metric = \"goodput_mbit\"\nto = \"tcp\"\n[[check]]",
            "metric = \"goodput_mbit[0]\"\nto = \"tcp\"\n[[check]]",
            "dir/small.toml:29: `goodput_mbit[0]` is no field",
        ),
        (
            "of = \"snoop\"",
            "of = \"snop\"",
            "dir/small.toml:33: there is no series `snop`, but snoop, tcp",
        ),
        (
            "min = 1.0",
            "at = [30]\nmin = 1.0",
            "dir/small.toml:36: 30 is no point of the axis",
        ),
        ("min = 1.0", "", "dir/small.toml:33: this check can't fail"),
        (
            "min = 1.0",
            "peak = [12, 18]",
            "dir/small.toml:36: no point of the axis lies between",
        ),
    ] {
        assert!(small().contains(right), "{right}");
        let error = parse(&small().replacen(right, wrong, 1))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(said), "{wrong}: {error}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Experiment::read(Path::new("/nonexistent/x.toml")).unwrap_err();
    assert_eq!(error.to_string(), "cannot read /nonexistent/x.toml");
}

#[test]
fn a_window_figure_has_a_place_and_a_seed() {
    let window = small().replace(
        "kind = \"ratio\"\nmetric = \"goodput_mbit\"\nto = \"tcp\"",
        "kind = \"window\"\nat = 20\nseed = 2",
    );
    let experiment = parse(&window).unwrap();
    assert!(experiment.has_windows());
    assert_eq!(experiment.figures[0].at, Some(20.0));
    for (right, wrong, said) in [
        ("at = 20", "", "needs `at`"),
        ("at = 20", "at = 25", "25 is no point"),
        ("seed = 2", "seed = 4", "seed 4 is none"),
    ] {
        let error = parse(&window.replacen(right, wrong, 1))
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_panel_shows_one_metric_or_two() {
    let with = |metrics: &str| {
        let panel = format!("[[panel]]\nlabel = \"P\"\nmetrics = [{metrics}]\n");
        parse(&(small() + &panel))
    };
    let panels = with("\"rtt_p50_ms\", \"rtt_p95_ms\"").unwrap().panels;
    assert_eq!(panels[0].metrics, ["rtt_p50_ms", "rtt_p95_ms"]);
    assert!(parse(&small()).unwrap().panels.is_empty());
    let line = small().lines().count() + 3;
    for (wrong, said) in [
        ("", "name one, or a median"),
        ("\"jain\", \"jain\", \"jain\"", "name one, or a median"),
        ("\"goodputs\"", "`goodputs` is no field"),
    ] {
        let error = with(wrong).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        assert!(error.contains(&format!(":{line}: ")), "{error}");
    }
}

/// The experiments below a directory of the repository.
fn experiments_in(directory: &str) -> Vec<Experiment> {
    let directory = format!("{}/../../{directory}", env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    files.map(|file| Experiment::read(&file).unwrap()).collect()
}

/// The files of the repository are right.
#[test]
fn our_own_experiments() {
    for (directory, seeds) in [
        ("experiments", 5),
        ("experiments/mixes", 5),
        ("experiments/grid", 3),
        ("experiments/ends", 3),
    ] {
        let experiments = experiments_in(directory);
        assert!(!experiments.is_empty());
        for experiment in experiments {
            assert!(
                experiment.seeds.len() >= seeds || experiment.name == "quick",
                "{}",
                experiment.name
            );
            assert!(!experiment.checks.is_empty(), "{}", experiment.name);
        }
    }
}

/// A mix is judged by what there is without the agent.
#[test]
fn mixes_have_what_they_are_measured_against() {
    for mix in experiments_in("experiments/mixes") {
        for series in mix.series.iter().filter(|series| series.scheme == "rack") {
            let plain =
                |other: &&Series| other.scheme == scheme::NO_AGENT && other.args == series.args;
            let told = series.args.iter().any(|word| word == "--outage-events");
            let found = mix.series.iter().find(plain);
            assert!(found.is_some() || told, "{}: {}", mix.name, series.name);
        }
    }
}

/// The runner keeps one record of each run: of several congestion controls, one would stand for all.
#[test]
fn a_run_has_one_congestion_control() {
    for cc in ["", "cc = \"cubic,bbr\"\n", "cc = [\"cubic\", \"bbr\"]\n"] {
        let text = small().replace("cc = \"reno\"\n", cc);
        let said = parse(&text).unwrap_err().to_string();
        assert!(
            said.contains("series tcp at 10: cc: a run has one"),
            "{said}"
        );
    }
    let flows = small().replace("cc = \"reno\"", "flow-cc = \"cubic,bbr\"\nflows = 2");
    parse(&flows).unwrap();
}
