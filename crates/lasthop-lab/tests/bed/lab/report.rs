// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `report` on results that this test makes up: no root, and no picture where matplotlib is not.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use lasthop_lab::cell::record::FIELDS;
use serde_json::{Map, Value, json};

use super::small::Small;

/// Two outages, three figures, and a condition that nothing meets.
fn spec() -> String {
    Small::new("An outage", "1..3")
        .setup("cc = \"reno\"")
        .axis(
            "Outage",
            r#"unit = "s"
scale = "log"
points = [{ x = 0.1, outage = "6s,100ms" }, { x = 1, outage = "6s,1s" }]"#,
        )
        .tcp_and_snoop("")
        .goodput(
            "goodput",
            "Goodput after an outage",
            "value",
            r#"label = "Goodput"
unit = "Mbit/s"
reported = [{ label = "paper", points = [[0.1, 2.0], [1, 1.0]] }]"#,
        )
        .goodput(
            "gain",
            "What Snoop adds",
            "difference",
            "to = \"tcp\"\nlabel = \"Goodput less that of TCP\"\nunit = \"Mbit/s\"",
        )
        .figure(
            "window",
            "Window around an outage",
            "window",
            "at = 1\nlabel = \"Congestion window\"\nunit = \"segments\"",
        )
        .check("more than there is", "snoop", None, "min = 100")
        .text()
}

/// A record whose every number is 1, but for the goodput.
fn record(scheme: &str, seed: u64, goodput_mbit: f64) -> Map<String, Value> {
    let value = |name: &str, unit: &str| match (name, unit) {
        ("engine", _) => json!("testbed"),
        ("profile", _) => json!("modern"),
        ("sender", _) => json!("fh"),
        ("scheme", _) => json!(scheme),
        ("seed", _) => json!(seed),
        ("goodput_mbit", _) => json!(goodput_mbit),
        (_, "name") => json!("reno"),
        (_, "boolean") => json!(true),
        (_, unit) if unit.starts_with("list") => json!([1.0]),
        _ => json!(1),
    };
    let fields = FIELDS.iter();
    fields
        .map(|field| (field.name.to_owned(), value(field.name, field.unit)))
        .collect()
}

fn runs() -> String {
    let mut text = String::new();
    for seed in 1..=3u64 {
        for (x, outage) in [(0.1, "6s,100ms"), (1.0, "6s,1s")] {
            for (series, scheme, factor) in [("tcp", "none", 1.0), ("snoop", "snoop", 1.5)] {
                let mut line = record(scheme, seed, factor * (1.0 + seed as f64 / 10.0));
                let setup = format!("--cc reno --outage {outage} --scheme {scheme}");
                line.insert("cell".into(), json!(format!("{x}/{series}/{seed}")));
                line.insert("x".into(), json!(x));
                line.insert("series".into(), json!(series));
                line.insert("setup".into(), json!(setup));
                line.insert("revision".into(), json!("abc"));
                line.insert("kernel".into(), json!("6.18"));
                line.insert("ended_s".into(), json!(1_795_272_519));
                text.push_str(&format!("{}\n", Value::Object(line)));
            }
        }
    }
    text
}

/// A window that grows, times out and grows again; the last line is torn.
fn samples() -> String {
    let sample = |at_ms: u64| {
        let (cwnd, ssthresh, state) = match at_ms {
            0..6300 => (10 + at_ms / 500, Value::Null, "open"),
            6300..7000 => (1, json!(11), "loss"),
            _ => (1 + (at_ms - 7000) / 200, json!(11), "open"),
        };
        let line = json!({"at_ms": at_ms, "flow": 0, "cwnd": cwnd, "ssthresh": ssthresh,
            "unacked": cwnd, "rtt_ms": 110.0, "rto_ms": 310.0, "ca_state": state, "backoff": 0,
            "retransmits": 0, "received_bytes": at_ms});
        format!("{line}\n")
    };
    (0..100).map(|i| sample(i * 100)).collect::<String>() + "{\"at_ms\": 10"
}

fn generate(out: &Path) {
    let directory = out.join("outage");
    fs::create_dir_all(directory.join("samples")).unwrap();
    fs::write(directory.join("experiment.toml"), spec()).unwrap();
    fs::write(directory.join("runs.jsonl"), runs()).unwrap();
    // Those of Snoop are missing.
    fs::write(directory.join("samples/1-tcp-1.jsonl"), samples()).unwrap();
}

fn report(out: &Path) -> Command {
    crate::turn::take(crate::turn::Company::Many); // it draws, which takes a core
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.arg("report").arg(out);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_written(out: &Path, output: &Output) -> String {
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let path = out.join("index.html");
    assert_eq!(text(&output.stdout), format!("{}\n", path.display()));
    let page = fs::read_to_string(path).unwrap();
    assert!(page.contains("✗ not met"), "content, not failure");
    assert!(page.contains("12 of 12 runs"), "{page}");
    page
}

#[test]
fn pictures_tables_and_the_page() {
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path());
    let output = report(dir.path()).output().unwrap();
    let page = assert_written(dir.path(), &output);
    let read = |name: &str| fs::read(dir.path().join("outage").join(name));
    assert_eq!(text(&read("runs.csv").unwrap()).lines().count(), 13);
    assert_eq!(text(&read("summary.csv").unwrap()).lines().count(), 7);
    let figures: Value = serde_json::from_slice(&read("figures.json").unwrap()).unwrap();
    assert_eq!(
        figures["figures"][2]["curves"][0]["outages_s"],
        json!([[6.0, 7.0]])
    );
    if text(&output.stderr).contains("matplotlib is missing") {
        super::skip(
            "pictures_tables_and_the_page",
            "the pictures: no matplotlib",
        );
        return;
    }
    assert_eq!(text(&output.stderr), "");
    assert_eq!(page.matches("data:image/svg+xml;base64,").count(), 3);
    assert!(!page.contains("http://") && !page.contains("https://"));
    let svg = |name: &str| text(&read(&format!("{name}.svg")).unwrap());
    for words in ["Goodput after an outage", "Outage (s)", "paper", "TCP"] {
        assert!(svg("goodput").contains(words), "{words}: text, not paths");
    }
    assert!(svg("window").contains("no samples of this run"));
    assert!(svg("window").contains("timeout"));
    assert!(read("gain.png").unwrap().starts_with(b"\x89PNG"));

    let first = ["goodput", "gain", "window"].map(svg);
    assert!(report(dir.path()).status().unwrap().success());
    assert_eq!(["goodput", "gain", "window"].map(svg), first);
}

#[test]
fn before_the_first_run_there_is_a_page_already() {
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path());
    fs::write(dir.path().join("outage/runs.jsonl"), "").unwrap();
    fs::remove_dir_all(dir.path().join("outage/samples")).unwrap();
    let output = report(dir.path()).output().unwrap();
    assert!(output.status.success());
    let errors = text(&output.stderr);
    assert!(
        errors.is_empty() || errors.contains("matplotlib is missing"),
        "{errors}"
    );
    let page = fs::read_to_string(dir.path().join("index.html")).unwrap();
    assert!(page.contains("0 of 12 runs") && page.contains("… incomplete"));
}

#[test]
fn without_matplotlib_there_are_tables_and_one_remark() {
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path());
    fs::write(dir.path().join("outage/gain.svg"), "of an earlier report").unwrap();
    let hidden = tempfile::tempdir().unwrap();
    fs::write(hidden.path().join("matplotlib.py"), "raise ImportError\n").unwrap();
    let mut command = report(dir.path());
    let output = command.env("PYTHONPATH", hidden.path()).output().unwrap();
    let page = assert_written(dir.path(), &output);
    let errors = text(&output.stderr);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains("python3-matplotlib"), "{errors}");
    assert!(page.contains("python3-matplotlib") && page.contains("<table"));
    assert!(!page.contains("data:image"), "no picture of other runs");
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let fails = |out: &Path, what: &str| {
        let output = report(out).output().unwrap();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains(what), "{errors}");
        assert_eq!(text(&output.stdout), "");
    };
    fails(&dir.path().join("gone"), "gone: no such directory");
    fails(dir.path(), "no experiment's results in it");
    generate(dir.path());
    fs::create_dir(dir.path().join("outage/runs.csv")).unwrap();
    fails(dir.path(), "cannot write");
}
