// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `compare --flent`: the files say what the samples of the same run say, and Flent reads them.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;

/// A cell without agent, of two flows and three seconds, that ends well.
fn compare(words: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"))
        .args("compare -j --rate 10mbit --rtt 40ms --loss 0 --flows 2".split(' '))
        .args("--warmup 0s --duration 3s --scheme none".split(' '))
        .args(words)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    output
}

fn read(path: &Path) -> Value {
    serde_json::from_reader(GzDecoder::new(File::open(path).unwrap())).unwrap()
}

fn numbers(values: &Value) -> Vec<f64> {
    let values = values.as_array().unwrap();
    // Null is what there is no value of.
    values
        .iter()
        .map(|value| value.as_f64().unwrap_or(0.0))
        .collect()
}

/// What was carried by the goodput over time, in bytes.
fn carried(file: &Value, series: &str) -> f64 {
    let (at_s, mbit) = (
        numbers(&file["x_values"]),
        numbers(&file["results"][series]),
    );
    assert_eq!(at_s.len(), mbit.len());
    let spans = at_s.windows(2).map(|pair| pair[1] - pair[0]);
    spans
        .zip(&mbit[1..])
        .map(|(s, mbit)| s * mbit * 1e6 / 8.0)
        .sum()
}

/// Goodput over time comes to the bytes that were read, and round trips and windows are the sampled
/// ones.
#[test]
fn files_say_what_samples_say() {
    if super::skipped("files_say_what_samples_say") {
        return;
    }
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (flent, samples) = (path("out.flent.gz"), path("samples"));
    compare(&["--cc", "cubic", "--flent", &flent, "--samples", &samples]);
    let file = read(Path::new(&flent));
    let text = fs::read_to_string(&samples).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let mut all = 0.0;
    for flow in 0..2 {
        let series = format!("TCP download::{}", flow + 1);
        let lines: Vec<&Value> = lines.iter().filter(|line| line["flow"] == flow).collect();
        let last = lines.last().unwrap()["received_bytes"].as_f64().unwrap();
        let first = lines[0]["received_bytes"].as_f64().unwrap();
        assert!(last > 100_000.0, "{last} bytes");
        let bytes = carried(&file, &series);
        assert!(
            (bytes / (last - first) - 1.0).abs() < 1e-3,
            "{bytes} of {last}"
        );
        all += bytes;
        let raw = file["raw_values"][&series].as_array().unwrap();
        assert_eq!(raw.len(), lines.len());
        for (raw, line) in raw.iter().zip(lines) {
            assert_eq!(raw["tcp_rtt"], line["rtt_ms"]);
            assert_eq!(raw["tcp_cwnd"], line["cwnd"]);
        }
        assert!(raw.iter().any(|value| value["tcp_rtt"].is_number()));
    }
    let sum = carried(&file, "TCP download sum");
    assert!((sum / all - 1.0).abs() < 1e-3, "{sum} of {all}");
}

/// Each cell has its file, and Flent opens, sums up and draws from it.
#[test]
fn flent_reads_them() {
    let test = "flent_reads_them";
    if super::skipped(test) {
        return;
    }
    if Command::new("flent").arg("--version").output().is_err() {
        super::skip(
            test,
            "no flent here (pip install flent, or Debian's package)",
        );
        return;
    }
    let directory = TempDir::new().unwrap();
    let given = directory.path().join("out.flent.gz");
    compare(&["--cc", "cubic,reno", "--flent", given.to_str().unwrap()]);
    assert!(!given.exists());
    for cc in ["cubic", "reno"] {
        let path = directory.path().join(format!("out-{cc}-none-1.flent.gz"));
        let output = Command::new("flent")
            .args(["-f", "summary", "-i"])
            .arg(&path)
            .current_dir(directory.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.contains(&format!("Title: '{cc} none seed 1'")),
            "{text}{errors}"
        );
        let sum = text
            .lines()
            .find(|line| line.contains("TCP download sum"))
            .unwrap();
        let mean: f64 = sum.split_whitespace().nth(4).unwrap().parse().unwrap();
        let file = read(&path);
        let expected = &file["metadata"]["SERIES_META"]["TCP download sum"]["MEAN_VALUE"];
        let expected = expected.as_f64().unwrap();
        assert!(
            expected > 1.0 && (mean - expected).abs() < 0.01,
            "{mean} of {expected}"
        );
    }
}
