// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `grid --mixes` end to end, with an agent that does nothing: it runs, goes on, and writes one page.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::fake;

/// Four runs of a second.
const SHORT: &str = "--quick --duration 1s --warmup 0s --jobs 2";

fn mixes(names: &str, out: &Path, more: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.arg("grid").arg(format!("--mixes{names}"));
    command.args(more.split_whitespace()).arg("--out").arg(out);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn one_case_runs_once_and_has_a_page() {
    if super::skipped("one_case_runs_once_and_has_a_page") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fake::agent(dir.path());
    let out = dir.path().join("mixes");
    let run = |more: &str| -> Output {
        let mut command = mixes("=upload", &out, more);
        let command = command.env("LASTHOP_BIN_DIR", dir.path());
        command.output().unwrap()
    };
    let first = run(SHORT);
    let (said, errors) = (text(&first.stdout), text(&first.stderr));
    assert!(said.starts_with("upload: "), "{said}{errors}");
    assert!(said.contains(" of 5 conditions met"), "{said}");
    let path = out.join("index.html");
    assert!(errors.ends_with(&format!("the page: {}\n", path.display())));

    let page = fs::read_to_string(path).unwrap();
    assert!(page.contains("4 of 4 runs"), "{page}");
    assert_eq!(page.matches("<figure class=\"panel\">").count(), 3);
    assert!(page.contains("Goodput, share of the bound"));
    assert!(page.contains("RTT p95 at most that without the agent"));
    assert!(
        page.contains("grid --mixes=upload --quick"),
        "how it was run"
    );
    assert!(!page.contains("http://") && !page.contains("https://"));

    let runs = out.join("upload/runs.jsonl");
    let stored = fs::read(&runs).unwrap();
    run(SHORT);
    assert_eq!(fs::read(&runs).unwrap(), stored, "all there");
    let judged = run("--summary-only -j");
    assert_eq!(text(&judged.stdout).lines().count(), 5);
    assert_eq!(text(&run("--summary-only").stdout), said, "as it was run");
}

#[test]
fn what_cannot_be_run_is_said_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("mixes");
    let unknown = mixes("=pages,page", &out, "").output().unwrap();
    let errors = text(&unknown.stderr);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        errors.contains("no mix `page`; there are: upload"),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 1);
    let grid = mixes("=upload", &out, "--loss 77%").output().unwrap();
    assert_eq!(grid.status.code(), Some(1));
    assert!(
        text(&grid.stderr).contains("--loss has"),
        "{}",
        text(&grid.stderr)
    );
    assert!(!out.exists());
}
