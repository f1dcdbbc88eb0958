// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The command line: what it prints, how it ends, and that it leaves nothing behind. The agent is
//! a script here, so that these tests need nothing but the lab.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use lasthop_lab::bed::netns;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::fake;

/// Options of a run that takes a second.
const QUICK: &[&str] = &[
    "--rate", "20mbit", "--rtt", "20ms", "--loss", "0%", "--bytes", "200kB", "--cc", "reno",
];

fn lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_lasthop-lab"))
}

fn run(words: &[&str]) -> Output {
    lab().args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn namespaces_of(run: &str) -> Vec<String> {
    let prefix = format!("lasthop-{run}-");
    let Ok(entries) = fs::read_dir("/run/netns") else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(&prefix))
        .collect()
}

/// Numbers of the live processes whose command line names the run's directory.
fn processes_of(run: &str) -> Vec<String> {
    let needle = format!("/run/lasthop-lab/{run}/");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if text(&words).contains(&needle) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

fn assert_gone(run: &str) {
    assert_eq!(namespaces_of(run), Vec::<String>::new());
    assert_eq!(processes_of(run), Vec::<String>::new());
    assert!(!Path::new("/run/lasthop-lab").join(run).exists());
}

fn unique(name: &str) -> String {
    format!("test-{name}-{}", std::process::id())
}

// When a test fails here, its process ends soon, and the child with its standard output.
#[allow(clippy::zombie_processes)]
/// Starts a long comparison and waits until its transfer is on its way; returns the run's name.
fn start_long_compare() -> (Child, String) {
    let child = lab()
        .args([
            "compare",
            "--scheme",
            "none",
            "--cc",
            "reno",
            "--duration",
            "60s",
            "--loss",
            "0",
            "-j",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let prefix = child.id().to_string();
        let runs = fs::read_dir("/run/lasthop-lab")
            .into_iter()
            .flatten()
            .flatten();
        let names = runs.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let ready = names
            .filter(|name| name.starts_with(&prefix))
            .find(|name| processes_of(name).len() == 2);
        if let Some(name) = ready {
            return (child, name);
        }
        assert!(Instant::now() < deadline, "no run stands up");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn up_shell_list_down() {
    if super::skipped("up_shell_list_down") {
        return;
    }
    let name = unique("up");
    let up = run(&["up", "--name", &name, "--loss", "0"]);
    assert!(up.status.success(), "{}", text(&up.stderr));
    assert_eq!(namespaces_of(&name).len(), 5);
    let list = text(&run(&["list"]).stdout);
    assert!(list.contains(&format!("{name}  up  agent none")), "{list}");
    let again = run(&["up", "--name", &name]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("exists already"));
    assert_eq!(
        namespaces_of(&name).len(),
        5,
        "a refused `up` took the standing one down"
    );

    let shell = run(&[
        "shell",
        "fh",
        &name,
        "--",
        "sh",
        "-c",
        "cat /proc/net/fib_trie; echo $LASTHOP_LAB_HOST; exit 7",
    ]);
    assert_eq!(shell.status.code(), Some(7), "exit code of the command");
    assert!(text(&shell.stdout).contains("10.1.0.2") && text(&shell.stdout).contains("fh\n"));
    let mounts = run(&["shell", "bs", &name, "--", "readlink", "/proc/self/ns/mnt"]);
    assert_eq!(
        text(&mounts.stdout).trim(),
        fs::read_link("/proc/self/ns/mnt")
            .unwrap()
            .to_string_lossy(),
        "mounts untouched"
    );

    let down = run(&["down", &name]);
    assert!(down.status.success(), "{}", text(&down.stderr));
    assert_gone(&name);
    assert_eq!(run(&["down", &name]).status.code(), Some(1));
}

#[test]
fn json_lines_with_a_fake_agent() {
    if super::skipped("json_lines_with_a_fake_agent") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fake::agent(dir.path());
    let output = lab()
        .args([
            "compare",
            "--scheme",
            "none,snoop,slack",
            "-j",
            "--seed",
            "1..2",
        ])
        .args(QUICK)
        .env("LASTHOP_BIN_DIR", dir.path())
        .output()
        .unwrap();
    // The scheme that cannot be attached fails its own cells only.
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr);
    assert_eq!(
        errors
            .lines()
            .filter(|l| l.contains("cannot attach: slack"))
            .count(),
        2,
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 2, "one line each: {errors}");
    let records: Vec<Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(records.len(), 4);
    for record in &records {
        assert_eq!(record["content_ok"], true);
        assert_eq!(record["bytes"], 200_000);
        assert_eq!(record["link_lost"], 0);
        assert!(record["completion_ms"].as_f64().unwrap() > 40.0);
        assert!(record["efficiency"].as_f64().unwrap() < 1.0);
    }
    assert_eq!(records[0]["local_retransmits"], Value::Null);
    assert_eq!(records[1]["scheme"], "snoop");
    assert_eq!(records[1]["local_retransmits"], 1, "a difference");
    assert_eq!(records[1]["suppressed_acks"], 3);
}

#[test]
fn transfers_one_after_the_other_and_an_upload_beside() {
    if super::skipped("transfers_one_after_the_other_and_an_upload_beside") {
        return;
    }
    let compare = |words: &str| -> Value {
        let output = lab()
            .args("compare --rtt 20ms --scheme none --cc cubic -j".split(' '))
            .args(words.split(' '))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let chains = compare("--bytes 50kB --transfers 8 --flows 3 --loss 1%");
    assert_eq!(chains["bytes"], 50_000 * 8 * 3);
    assert_eq!(chains["content_ok"], true);
    let mean_ms = chains["completion_ms"].as_f64().unwrap();
    // Handshake and data take a round trip each; eight of them follow each other.
    assert!(mean_ms >= 40.0 && chains["completion_p95_ms"].as_f64().unwrap() >= 40.0);
    assert!(
        chains["duration_s"].as_f64().unwrap() * 1e3 >= 8.0 * 40.0,
        "{chains}"
    );
    assert_eq!(chains["flow_goodputs_mbit"].as_array().unwrap().len(), 3);

    let both = compare("--direction both --duration 1s --warmup 1s --loss 0%");
    assert!(both["up_goodput_mbit"].as_f64().unwrap() > 5.0, "{both}");
    assert!(both["goodput_mbit"].as_f64().unwrap() > 5.0, "{both}");
    assert!(both["sender_retransmit_share"].as_f64().unwrap() < 0.1);

    let late = compare("--flows 2 --start-gap 1s --duration 4s --warmup 0s --loss 0%");
    let share_s = late["late_flow_share_s"].as_f64();
    assert!(share_s.is_none_or(|s| s < 3.1), "{late}");
    assert_eq!(chains["late_flow_share_s"], Value::Null);
}

#[test]
fn table_for_people() {
    if super::skipped("table_for_people") {
        return;
    }
    let output = lab()
        .args(["compare", "--scheme", "none"])
        .args(QUICK)
        .output()
        .unwrap();
    let table = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(table.contains("Mbit/s") && table.contains("ok"), "{table}");
    assert_eq!(text(&output.stderr), "", "no bar without a terminal");
}

/// Runs one cell without an agent and returns its record.
fn record_of(words: &[&str]) -> Value {
    let output = lab()
        .args(["compare", "--scheme", "none", "-j", "--cc", "reno"])
        .args(["--loss", "0%"])
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn links_that_vary_carry_everything() {
    if super::skipped("links_that_vary") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("link.trace");
    fs::write(&trace, "1\n3\n4\n6\n").unwrap(); // 4 × 1514 bytes in 6 ms: 8.075 Mbit/s
    let by_trace = ["--rate-trace", trace.to_str().unwrap()];
    for (words, rate_mbit) in [
        (&by_trace[..], 8.075),
        (&["--rate-wave", "12mbit,4mbit,10ms"], 8.0),
        (
            &["--rate", "8mbit", "--jitter", "3ms", "--batch", "5ms"],
            8.0,
        ),
        (&["--rate", "8mbit", "--reorder", "2%,4ms"], 8.0),
    ] {
        let record = record_of(&[words, &["--rtt", "20ms", "--bytes", "1MB"]].concat());
        assert_eq!(record["content_ok"], true, "{words:?}");
        assert_eq!(record["bytes"], 1_000_000);
        let near = |name: &str, expected: f64| {
            let value = record[name].as_f64().unwrap();
            assert!((value / expected - 1.0).abs() < 1e-3, "{words:?}: {record}");
        };
        near("rate_mbit", rate_mbit);
        near("bound_mbit", rate_mbit * 1448.0 / 1514.0);
        // The handshake takes 2 % of the second that a megabyte does, more than any phase of the
        // wave or the trace could win.
        assert!(record["efficiency"].as_f64().unwrap() < 1.0, "{record}");
    }
}

#[test]
fn flows_have_round_trips_of_their_own() {
    if super::skipped("flows_have_round_trips") {
        return;
    }
    let few = ["--flows", "2", "--bytes", "20kB", "--rtt", "20ms"];
    let alike = record_of(&few);
    let apart = record_of(&[&few[..], &["--flow-rtt", "20ms,400ms"]].concat());
    let ms = |record: &Value| 1e3 * record["duration_s"].as_f64().unwrap();
    // The 380 ms that the second flow lacks all lie in FH's direction: its SYN waits for them,
    // and its data again.
    assert!(ms(&apart) >= 760.0, "{apart}");
    assert!(ms(&alike) < ms(&apart) && apart["content_ok"] == true);
}

#[test]
fn errors_before_anything_is_built() {
    for (words, code, hint) in [
        (&["compare", "--rate", "20"][..], 2, "20mbit"),
        (&["compare", "--cc", "nosuch"][..], 1, "nosuch"),
        (&["compare", "--rtt", "5ms"][..], 1, "--local-rtt"),
        (&["compare", "--flow-rtt", "50ms"], 1, "give --rtt 50ms"),
        (&["up", "--rate", "mean"], 1, "--rate-wave"),
        (&["up", "--rate-wave", "20mbit,2s"], 2, "30mbit,10mbit,2s"),
        (
            &["compare", "--rate-trace", "/nonexistent"],
            2,
            "/nonexistent",
        ),
        (&["compare", "--reorder", "1%,soon"], 2, "soon"),
        (
            &[
                "compare",
                "--agent-config",
                "/nonexistent",
                "--scheme",
                "none",
            ][..],
            1,
            "/nonexistent",
        ),
        (&["up", "--name", "Bad Name"][..], 1, "Bad Name"),
        (&["shell", "nohost"][..], 2, "nohost"),
        (&["shell", "fh", "no-such-run"][..], 1, "no-such-run"),
        (&["nosuchverb"][..], 2, "nosuchverb"),
    ] {
        let output = run(words);
        let errors = text(&output.stderr);
        let root_only = errors.contains("root");
        assert_eq!(output.status.code(), Some(code), "{words:?}: {errors}");
        assert!(errors.contains(hint) || root_only, "{words:?}: {errors}");
        assert!(
            code == 2 || errors.lines().count() == 1,
            "one line: {errors}"
        );
    }
}

#[test]
fn interrupt_removes_everything() {
    if super::skipped("interrupt_removes_everything") {
        return;
    }
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let (child, name) = start_long_compare();
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        assert_eq!(text(&output.stderr).lines().count(), 1);
        assert_gone(&name);
    }
}

#[test]
fn sigkill_leaves_no_process_and_down_removes_the_rest() {
    // It removes what is crashed or an orphan, whosever that is.
    if super::skipped_alone("sigkill") {
        return;
    }
    let (mut killed, name) = start_long_compare();
    let (alive, other) = start_long_compare();
    killed.kill().unwrap();
    killed.wait().unwrap();
    wait_until("the emulators outlive the lab", || {
        processes_of(&name).is_empty()
    });
    assert_eq!(namespaces_of(&name).len(), 5, "nobody removed them yet");
    let list = text(&run(&["list"]).stdout);
    assert!(list.contains(&format!("{name}  crashed")), "{list}");

    // Not `--all`: that would also remove what the developer has standing.
    let down = run(&["down", "--crashed"]);
    assert!(
        text(&down.stdout).contains(&format!("removed {name}")),
        "{}",
        text(&down.stdout)
    );
    assert!(
        text(&down.stderr).contains(&format!("{other} belongs to")),
        "{}",
        text(&down.stderr)
    );
    assert_gone(&name);

    // The run of the other lab, side by side all the time, was left alone and goes on.
    assert_eq!(namespaces_of(&other).len(), 5);
    assert_eq!(run(&["down", &other]).status.code(), Some(1));
    kill(Pid::from_raw(alive.id() as i32), Signal::SIGINT).unwrap();
    alive.wait_with_output().unwrap();
    assert_gone(&other);
}

#[test]
fn background_agent_goes_down_with_the_run() {
    if super::skipped("background_agent") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fake::agent(dir.path());
    let name = unique("agent");
    let mut up = lab()
        .args(["up", "--name", &name, "--scheme", "snoop"])
        .env("LASTHOP_BIN_DIR", dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let first = BufReader::new(up.stdout.take().unwrap())
        .lines()
        .next()
        .unwrap()
        .unwrap();
    assert!(first.contains(&name), "{first}");
    assert!(up.wait().unwrap().success());
    let record: Value = serde_json::from_str(
        &fs::read_to_string(format!("/run/lasthop-lab/{name}/run.json")).unwrap(),
    )
    .unwrap();
    let agent = record["processes"][0]["pid"].as_i64().unwrap();
    assert_eq!(record["processes"][0]["role"], "lasthop");
    let alive =
        || fs::read_to_string(format!("/proc/{agent}/stat")).is_ok_and(|s| !s.contains(") Z "));
    assert!(alive());
    assert!(run(&["down", &name]).status.success());
    assert!(!alive());
    assert_gone(&name);
}

/// What was started by hand keeps its namespace, which has no name any more.
#[test]
fn down_names_what_goes_on() {
    if super::skipped("down_names_what_goes_on") {
        return;
    }
    let name = unique("left");
    assert!(run(&["up", "--name", &name]).status.success());
    let mut by_hand = lab()
        .args(["shell", "fh", &name, "--", "sleep", "60"])
        .spawn()
        .unwrap();
    let comm = format!("/proc/{}/comm", by_hand.id());
    while fs::read_to_string(&comm).unwrap() != "sleep\n" {
        std::thread::sleep(Duration::from_millis(10));
    }
    let down = run(&["down", &name]);
    by_hand.kill().unwrap();
    by_hand.wait().unwrap();
    let pid = by_hand.id();
    let said = format!(
        "lasthop-lab: {name}: still running in its namespaces: sleep ({pid}); to end them: kill {pid}\n"
    );
    assert_eq!(text(&down.stderr), said);
    assert!(down.status.success());
    assert_gone(&name);
}

#[test]
fn a_report_of_costs_says_where_its_figures_come_from() {
    let empty = tempfile::tempdir().unwrap();
    let output = run(&["bench-report", empty.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("packet.jsonl is missing"), "{said}");
    let help = text(&run(&["bench-report", "--help"]).stdout);
    assert!(help.contains("make bench-report") && help.contains("--page-only"));
}

#[test]
fn two_may_remove_the_same_namespaces() {
    if super::skipped("two_may_remove_the_same_namespaces") {
        return;
    }
    let run = unique("twice");
    let names = ["fh", "wan", "bs", "air", "mh"].map(|host| netns::namespace_name(&run, host));
    for _ in 0..5 {
        for name in &names {
            netns::create(name).unwrap();
        }
        std::thread::scope(|scope| {
            let remove = || names.iter().try_for_each(|name| netns::remove_name(name));
            let both = [scope.spawn(remove), scope.spawn(remove)];
            for one in both {
                one.join().unwrap().unwrap();
            }
        });
    }
    assert_gone(&run);
}
