// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use std::fs;
use std::path::Path;

use super::*;
use crate::base::small::Small;
use crate::studies::experiment::cells;
use crate::studies::experiment::line::{self, Line};
use crate::studies::experiment::meta::Meta;
use crate::studies::experiment::planned::Planned;
use crate::studies::experiment::spec::Experiment;

/// Two points, two series, two seeds; the condition wants half as much again.
fn spec() -> String {
    Small::new("Loss <script>alert(1)</script> & goodput", "1..2")
        .setup("cc = \"reno\"")
        .axis(
            "Loss",
            r#"unit = "%"
points = [{ x = 1, loss = "1%", label = "little" }, { x = 2, loss = "2%", outage = "6s,300ms" }]"#,
        )
        .tcp_and_snoop("agent = { queue_guard = false }")
        .goodput(
            "goodput",
            "Goodput",
            "value",
            "label = \"Goodput\"\nunit = \"Mbit/s\"",
        )
        .goodput(
            "gain",
            "Gain",
            "ratio",
            "to = \"tcp\"\nlabel = \"Snoop / TCP\"",
        )
        .figure(
            "window",
            "Window",
            "window",
            "at = 2\nlabel = \"Window\"\nunit = \"segments\"",
        )
        .check(
            "half as much again",
            "snoop",
            Some("tcp"),
            "at = [2]\nmin = 1.5",
        )
        .text()
}

/// The run of a series with this goodput.
fn run(experiment: &Experiment, x: f64, series: &str, seed: u64, goodput_mbit: f64) -> Line {
    let point = experiment.point(x).unwrap();
    Line {
        setup: cells::setup(experiment, point, experiment.series(series).unwrap()),
        ..line::tests::line(x, series, seed, goodput_mbit)
    }
}

/// All runs; Snoop carries `gain` times what TCP does.
fn all_runs(gain: f64) -> Vec<Line> {
    let experiment = Experiment::parse(&spec(), Path::new("all.toml")).unwrap();
    let mut lines = Vec::new();
    for seed in [1, 2] {
        for x in [1.0, 2.0] {
            let tcp = 2.0 / x + seed as f64 / 10.0;
            lines.push(run(&experiment, x, "tcp", seed, tcp));
            lines.push(run(&experiment, x, "snoop", seed, tcp * gain));
        }
    }
    lines
}

fn store(out: &Path, name: &str, lines: &[Line]) {
    let directory = out.join(name);
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(SPEC_FILE), spec()).unwrap();
    let lines = lines
        .iter()
        .map(|line| serde_json::to_string(line).unwrap());
    let text: String = lines.map(|line| line + "\n").collect();
    fs::write(directory.join(line::FILE), text).unwrap();
}

/// As `run` leaves a directory when it was asked for these seeds.
fn asked_for(directory: &Path, file: &str, seeds: &[u64]) {
    let planned = Planned {
        experiment: Experiment::parse(&spec(), Path::new("mine.toml")).unwrap(),
        directory: directory.to_owned(),
        seeds: seeds.to_vec(),
        command: vec!["run".into(), file.into()],
    };
    Meta::here(&planned, 2, 1).write(directory).unwrap();
}

fn page_of(out: &Path) -> String {
    page::page(&parts(out).unwrap(), out, None)
}

/// What follows the heading of an experiment.
fn article<'a>(page: &'a str, name: &str) -> &'a str {
    let start = page.find(&format!("<article id=\"{name}\">")).unwrap();
    let rest = &page[start..];
    &rest[..rest.find("</article>").unwrap()]
}

#[test]
fn every_experiment_is_there_with_its_outcome_in_words() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), "fast", &all_runs(2.0));
    store(dir.path(), "slow", &all_runs(1.2));
    store(dir.path(), "begun", &all_runs(2.0)[..4]);
    let page = page_of(dir.path());
    assert!(article(&page, "fast").contains("✓ met"));
    assert!(article(&page, "slow").contains("✗ not met"));
    assert!(article(&page, "slow").contains("1.20"), "what decided");
    let begun = article(&page, "begun");
    assert!(begun.contains("… incomplete") && begun.contains("4 of 8 runs"));
    assert!(begun.contains("<li>2/snoop/2</li>"), "what is missing");
    assert!(page.contains("<a href=\"#fast\">"));
    assert!(article(&page, "fast").contains("experiments/fast.toml --out"));
}

#[test]
fn what_files_say_is_text() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = all_runs(2.0);
    lines[0].notes.push("<img src=x onerror=alert(1)>".into());
    store(dir.path(), "markup", &lines);
    let page = page_of(dir.path());
    assert!(page.contains("Loss &lt;script&gt;alert(1)&lt;/script&gt; &amp; goodput"));
    assert!(!page.contains("<script") && !page.contains("<img"));
    assert!(page.contains("&lt;img src=x"));
}

#[test]
fn an_experiment_that_does_not_parse_leaves_the_others() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), "good", &all_runs(2.0));
    store(dir.path(), "wrong", &all_runs(2.0));
    let file = dir.path().join("wrong").join(SPEC_FILE);
    fs::write(&file, spec().replace("kind = \"ratio\"", "kind = \"rate\"")).unwrap();
    let page = page_of(dir.path());
    let text = spec();
    let line = text.lines().position(|line| line == "kind = \"ratio\"");
    let at = format!("{}:{}: unknown variant", file.display(), line.unwrap() + 1);
    assert!(article(&page, "wrong").contains(&at), "{page}");
    assert!(article(&page, "good").contains("✓ met"));
}

#[test]
fn lines_that_are_no_results_do_not_count_and_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = all_runs(2.0);
    lines[7].setup.push_str(" --queue 20");
    store(dir.path(), "mixed", &lines);
    let file = dir.path().join("mixed").join(line::FILE);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("rubbish\n{text}")).unwrap();
    let page = page_of(dir.path());
    let article = article(&page, "mixed");
    assert!(article.contains("lines [1] are no results"));
    assert!(article.contains("1 results of another state"));
    assert!(article.contains("7 of 8 runs"));
}

/// `run --seed` judges these seeds, and so does the page.
#[test]
fn the_page_is_about_the_seeds_that_were_run() {
    let dir = tempfile::tempdir().unwrap();
    let second = |line: &Line| line.record.seed == 2;
    let of_second: Vec<Line> = all_runs(2.0).into_iter().filter(second).collect();
    store(dir.path(), "second", &of_second);
    asked_for(&dir.path().join("second"), "second.toml", &[2]);
    store(dir.path(), "both", &all_runs(2.0));
    asked_for(&dir.path().join("both"), "both.toml", &[2]);
    let page = page_of(dir.path());
    for name in ["second", "both"] {
        let article = article(&page, name);
        assert!(article.contains("✓ met") && article.contains("4 of 4 runs"));
        assert!(!article.contains("Missing"), "{article}");
        assert!(article.contains("--seed 2"), "one run of it");
    }
    let others = "4 runs of seeds that the latest `run` was not asked for";
    assert!(article(&page, "both").contains(others));
    assert!(!article(&page, "second").contains("asked for"));
}

#[test]
fn tables_have_the_documented_columns() {
    let mut lines = all_runs(2.0);
    lines[0].notes = vec!["late, by 3 ms".into(), "said \"hm\"".into()];
    let csv = tables::runs("e", &lines).unwrap();
    let mut reader = csv::Reader::from_reader(&csv[..]);
    let columns: Vec<&str> = run_names();
    assert_eq!(reader.headers().unwrap(), columns);
    assert!(columns.contains(&"goodput_mbit") && !columns.contains(&"flow_goodputs_mbit"));
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        let column = columns.iter().position(|column| *column == name);
        rows[row].get(column.unwrap()).unwrap().to_owned()
    };
    assert_eq!(rows.len(), 8);
    assert_eq!([cell(0, "series"), cell(0, "seed")], ["snoop", "1"]);
    assert_eq!(cell(2, "notes"), "late, by 3 ms; said \"hm\"");
    assert_eq!(cell(2, "goodput_mbit"), "2.1");
    assert_eq!(cell(2, "completion_ms"), "", "null");
    assert_eq!(cell(2, "content_ok"), "true");
}

fn run_names() -> Vec<&'static str> {
    let columns = tables::run_columns();
    columns.iter().map(|column| column.name).collect()
}

#[test]
fn summary_has_a_line_per_point() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), "e", &all_runs(2.0));
    let parts = parts(dir.path()).unwrap();
    let section = parts[0].section().unwrap();
    let csv = tables::summary("e", &section.figures).unwrap();
    let text = String::from_utf8(csv).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let names: Vec<&str> = tables::SUMMARY_COLUMNS.iter().map(|c| c.name).collect();
    assert_eq!(lines[0], names.join(","));
    assert_eq!(lines.len(), 1 + 4 + 2, "{text}");
    assert_eq!(lines[5], "e,gain,ratio,goodput_mbit,snoop,TCP,1,2,2,2,2");
}

#[test]
fn figures_say_what_each_seed_came_to_and_when_the_hop_was_out() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), "e", &all_runs(2.0));
    let parts = parts(dir.path()).unwrap();
    let section = parts[0].section().unwrap();
    let [goodput, gain, window] = &section.figures[..] else {
        panic!("{:?}", section.figures);
    };
    let seeds = |figure: &FigureData, curve: usize| -> Vec<(f64, u64, f64)> {
        let seeds = figure.curves[curve].seeds.iter();
        seeds.map(|seed| (seed.x, seed.seed, seed.value)).collect()
    };
    let tcp = [(1.0, 1, 2.1), (1.0, 2, 2.2), (2.0, 1, 1.1), (2.0, 2, 1.2)];
    assert_eq!(seeds(goodput, 0), tcp);
    assert_eq!(seeds(gain, 0), tcp.map(|(x, seed, _)| (x, seed, 2.0)));
    assert_eq!(gain.curves[0].index, 1, "Snoop's colour, although alone");
    assert_eq!(goodput.ticks[0].label, "little");
    assert!(seeds(window, 0).is_empty() && window.ticks.is_empty());
    assert_eq!(window.curves[0].outages_s, [[6.0, 6.3]]);
    assert!(goodput.curves[0].outages_s.is_empty());
}

#[test]
fn commands_can_be_copied() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("my results");
    store(&out, "e", &all_runs(2.0));
    let parts = parts(&out).unwrap();
    let section = parts[0].section().unwrap();
    // shlex makes an empty word of what shells drop.
    let command = section.compare_command().replace("\\\n", "");
    let words = shlex::split(&command).unwrap();
    let config = out.join("e/agent-snoop.toml").display().to_string();
    assert_eq!(
        words.join(" "),
        format!(
            "sudo lasthop-lab compare --cc reno --loss 2% --outage 6s,300ms --scheme snoop \
             --agent-config {config} --seed 1"
        )
    );
    let words = shlex::split(&section.run_command(&out)).unwrap();
    assert_eq!(words[2..4], ["run", "experiments/e.toml"]);
    assert_eq!(words[5], out.display().to_string());
}

#[test]
fn the_command_names_the_file_that_was_run() {
    let dir = tempfile::tempdir().unwrap();
    let command_of = |name: &str| {
        let part = Part::read(&dir.path().join(name));
        let command = part.section().unwrap().run_command(dir.path());
        shlex::split(&command.replace("\\\n", "")).unwrap()[2..4].to_vec()
    };
    // Results of earlier versions do not say.
    store(dir.path(), "pages", &[]);
    assert_eq!(command_of("pages"), ["run", "experiments/mixes/pages.toml"]);
    store(dir.path(), "mine", &[]);
    assert_eq!(command_of("mine"), ["run", "experiments/mine.toml"]);
    asked_for(&dir.path().join("mine"), "elsewhere/mine.toml", &[1]);
    assert_eq!(command_of("mine"), ["run", "elsewhere/mine.toml"]);
}

#[test]
fn directories_without_results_are_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let said = |path: &Path| format!("{:#}", parts(path).unwrap_err());
    assert!(said(dir.path()).contains("no experiment's results in it: give the --out"));
    assert!(said(&dir.path().join("gone")).contains("no such directory"));
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(said(&dir.path().join("file")).contains("is no directory"));
    store(dir.path(), "e", &[]);
    assert!(said(&dir.path().join("e")).contains("give the directory above it"));
}

#[test]
fn the_page_about_the_files_is_up_to_date() {
    let page = include_str!("../../../docs/experiments.md");
    for table in [
        columns_markdown(),
        crate::studies::experiment::fields_markdown(),
    ] {
        assert!(
            page.contains(&table),
            "docs/experiments.md must hold:\n{table}"
        );
    }
}
