// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--engine ns3` end to end: cells, experiments and their files, in simulated time. Needs what
//! `make sim` builds, and no root.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use super::small::Small;

/// Without the simulator a test is skipped, and says so past the harness.
fn skipped(test: &str) -> bool {
    let missing = lasthop_lab::engines::ns3::find().is_err();
    let why = "no lasthop-simulate, which `make sim` builds";
    // It has a core for itself.
    !super::may_run(test, missing.then_some(why), crate::turn::Company::Nobody)
}

fn lab(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.args(words).output().unwrap()
}

fn records(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn compare(words: &str) -> Vec<Value> {
    let mut all = vec!["compare", "--engine", "ns3", "-j"];
    all.extend(words.split_whitespace());
    records(&lab(&all))
}

#[test]
fn rack_carries_more_and_the_same_seed_the_same() {
    if skipped("rack_carries_more_and_the_same_seed_the_same") {
        return;
    }
    let words = "--rate 5mbit --loss 2% --cc cubic --scheme none,rack --warmup 1s --duration 5s";
    let (first, again) = (compare(words), compare(words));
    let [none, rack] = &first[..] else {
        panic!("{first:?}");
    };
    let goodput = |record: &Value| record["goodput_mbit"].as_f64().unwrap();
    assert!(goodput(rack) > 2.0 * goodput(none), "{first:?}");
    assert!(rack["local_retransmits"].as_u64() > Some(10));
    assert!(none["local_retransmits"].is_null());
    assert_eq!(rack["content_ok"], true);
    for (first, again) in first.iter().zip(&again) {
        for field in ["bytes", "link_lost", "events", "sender_segments"] {
            assert_eq!(first[field], again[field], "{field}");
        }
    }
    let other = compare(&format!("{words} --seed 2"));
    assert_ne!(other[1]["link_lost"], rack["link_lost"]);
}

#[test]
fn transfers_end_with_every_byte_right() {
    if skipped("transfers_end_with_every_byte_right") {
        return;
    }
    for scheme in ["none", "snoop", "rack"] {
        let words = format!(
            "--rate 10mbit --loss 1% --cc newreno --scheme {scheme} --bytes 300kB --flows 40 \
             --hosts 40 --start-gap 10ms --rcv-window 64kB"
        );
        let record = compare(&words).remove(0);
        assert_eq!(record["bytes"], 40 * 300_000, "{scheme}");
        assert_eq!(record["content_ok"], true, "{scheme}");
        assert_eq!(record["hosts"], 40);
        assert!(record["completion_ms"].as_f64() > Some(100.0), "{scheme}");
    }
}

#[test]
fn models_lose_what_they_should() {
    if skipped("models_lose_what_they_should") {
        return;
    }
    for (model, share) in [
        ("--loss 3%", 0.03),
        ("--loss 0% --burst-loss 3%,4", 0.03),
        ("--loss 0% --two-state 20,2,100ms,10ms", 0.091),
        ("--loss 0% --ber 2.5e-6", 0.0296),
    ] {
        let words = format!(
            "--rate 5mbit --rtt 20ms --cc bbr --scheme rack --warmup 0s --duration 20s {model}"
        );
        let record = compare(&words).remove(0);
        let lost = record["link_lost"].as_f64().unwrap();
        let repeated = record["local_retransmits"].as_f64().unwrap();
        let sent = record["sender_segments"].as_f64().unwrap() + repeated;
        let ratio = lost / sent / share;
        assert!((0.7..1.3).contains(&ratio), "{model}: {lost} of {sent}");
    }
}

fn number(record: &Value, field: &str) -> f64 {
    let value = record[field].as_f64();
    value.unwrap_or_else(|| panic!("{field}: {record}"))
}

/// The ECN of `--attribute`, without which CoDel drops.
const ECN: &str = "--attribute ns3::TcpSocketBase::UseEcn=On";

#[test]
fn codel_keeps_the_queue_short() {
    if skipped("codel_keeps_the_queue_short") {
        return;
    }
    let words = |scheme: &str| {
        format!(
            "--rate 10mbit --rtt 40ms --queue 300 --loss 0% --cc newreno --flows 4 \
             --scheme {scheme} --warmup 3s --duration 17s"
        )
    };
    let none = words("none");
    let fifo = compare(&none).remove(0);
    assert_eq!(number(&fifo, "aqm_dropped"), 0.0);
    for aqm in ["codel", "fq-codel"] {
        let dropping = compare(&format!("{none} --aqm {aqm}")).remove(0);
        let marking = compare(&format!("{none} --aqm {aqm} {ECN}")).remove(0);
        for record in [&dropping, &marking] {
            let queue_ms = |record| number(record, "rtt_p50_ms") - 40.0;
            assert!(queue_ms(&fifo) > 2.0 * queue_ms(record), "{aqm}: {record}");
            assert!(number(record, "efficiency") > 0.7, "{aqm}: {record}");
        }
        assert!(number(&dropping, "aqm_dropped") > 10.0 && dropping["aqm_marked"] == 0);
        assert!(number(&marking, "aqm_marked") > 10.0, "{aqm}: {marking}");
        // The agent stands before it.
        let agent = compare(&format!("{} --aqm {aqm}", words("rack"))).remove(0);
        let ratio = number(&agent, "goodput_mbit") / number(&dropping, "goodput_mbit");
        assert!(ratio > 0.9 && agent["content_ok"] == true, "{agent}");
    }
}

#[test]
fn the_return_path_is_one_of_its_own() {
    if skipped("the_return_path_is_one_of_its_own") {
        return;
    }
    let up = "--rate-up 1mbit --queue-up 20 --loss 0% --cc cubic --scheme none --warmup 2s \
              --duration 8s --direction";
    let down = compare(&format!("{up} down")).remove(0);
    assert!(number(&down, "efficiency") > 0.9, "{down}");
    let upload = compare(&format!("{up} up")).remove(0);
    assert_eq!(number(&upload, "rate_mbit"), 1.0);
    assert!(
        (0.7..=1.1).contains(&number(&upload, "efficiency")),
        "{upload}"
    );
    assert!(number(&upload, "queue_dropped") > 0.0, "{upload}");
    let both = compare(&format!("{up} both")).remove(0);
    let share = number(&both, "up_goodput_mbit") / number(&both, "up_bound_mbit");
    assert!((0.5..=1.1).contains(&share), "{both}");
    // ACKs wait behind the upload.
    assert!(number(&both, "goodput_mbit") < number(&down, "goodput_mbit"));
    assert_eq!(both["content_ok"], true);
    let words = "--direction up --bytes 300kB --flows 3 --hosts 2 --loss 1% --cc bbr --scheme rack";
    let whole = compare(words).remove(0);
    assert_eq!(
        (&whole["bytes"], &whole["content_ok"]),
        (&900_000.into(), &true.into())
    );
}

#[test]
fn hosts_have_links_of_their_own() {
    if skipped("hosts_have_links_of_their_own") {
        return;
    }
    let words = "--host-rate 2mbit,20mbit,20mbit --host-loss 0%,0%,4% --host-queue 30,bdp,bdp \
                 --flows 3 --cc cubic --scheme none,rack --warmup 2s --duration 8s";
    let records = compare(words);
    let of = |record: &Value, field: &str| -> Vec<f64> {
        let list = record[field].as_array().unwrap();
        list.iter().map(|value| value.as_f64().unwrap()).collect()
    };
    for record in &records {
        let shares = of(record, "host_efficiency");
        assert!(shares[0] > 0.85 && shares[1] > 0.85, "{record}");
        assert!(shares.iter().all(|share| *share < 1.03), "{record}");
        let bounds = of(record, "host_bound_mbit");
        assert!((bounds[2] / bounds[1] - 0.96).abs() < 0.001, "{record}");
        assert_eq!(record["queue_pkts"], 30 + 181 + 181);
        assert_eq!(record["content_ok"], true);
    }
    let lossy = |record: &Value| of(record, "host_efficiency")[2];
    assert!(lossy(&records[1]) > 3.0 * lossy(&records[0]), "{records:?}");
    // More than one group of them, and transfers that end.
    let many = "--hosts 40 --flows 40 --host-rate 1mbit,5mbit --loss 1% --bytes 50kB --cc cubic \
                --scheme rack";
    let record = compare(many).remove(0);
    assert_eq!(
        (&record["bytes"], &record["content_ok"]),
        (&2_000_000.into(), &true.into())
    );
}

#[test]
fn neighbours_come_and_go_and_are_left_alone() {
    if skipped("neighbours_come_and_go_and_are_left_alone") {
        return;
    }
    let words = "--rate 10mbit --rtt 40ms --cc cubic --warmup 2s --duration 10s";
    let udp = "--loss 0% --scheme none --neighbour udp:4mbit,4s,8s";
    let flood = compare(&format!("{words} {udp}")).remove(0);
    let got = number(&flood, "neighbour_goodput_mbit") / (4.0 * 1472.0 / 1502.0);
    assert!((0.9..1.01).contains(&got), "{flood}");
    let beside = number(&flood, "goodput_beside_mbit") / number(&flood, "goodput_mbit");
    assert!((0.5..0.9).contains(&beside), "{flood}");
    let late = "--loss 0% --scheme none --neighbour cubic,3s,8s";
    let tcp = compare(&format!("{words} {late}")).remove(0);
    assert!(number(&tcp, "neighbour_goodput_mbit") > 1.0, "{tcp}");
    let left = compare(&format!("{words} --loss 0% --scheme none")).remove(0);
    assert!(number(&tcp, "goodput_mbit") < 0.95 * number(&left, "goodput_mbit"));
    // A lossy link, on which only the managed flow gets on.
    let lossy = "--loss 3% --scheme rack --neighbour cubic,2s,12s";
    let record = compare(&format!("{words} {lossy}")).remove(0);
    let ratio = number(&record, "goodput_mbit") / number(&record, "neighbour_goodput_mbit");
    assert!(ratio > 1.5, "{record}");
    assert!(record["neighbour_rtt_p95_ms"].as_f64() > Some(40.0));
}

#[test]
fn short_transfers_arrive_beside_a_flow() {
    if skipped("short_transfers_arrive_beside_a_flow") {
        return;
    }
    let words = "--rate 10mbit --rtt 40ms --cc newreno --loss 2% --scheme none,rack --warmup 2s \
                 --duration 15s --arrivals 4/s --arrival-sizes 30kB --hosts 2 --flows 2";
    let records = compare(words);
    let count = number(&records[0], "arrivals");
    assert!((30.0..90.0).contains(&count), "{count} of about 60");
    for record in &records {
        assert_eq!(number(record, "arrivals"), count);
        assert_eq!(record["content_ok"], true);
        assert!(
            number(record, "arrival_p50_ms") > 80.0,
            "two round trips: {record}"
        );
        assert!(number(record, "arrival_p95_ms") >= number(record, "arrival_p50_ms"));
    }
    let p95 = |record| number(record, "arrival_p95_ms");
    assert!(p95(&records[1]) < p95(&records[0]), "{records:?}");
}

#[test]
fn csnoop_goes_by_the_mac_at_either_end() {
    if skipped("csnoop_goes_by_the_mac_at_either_end") {
        return;
    }
    let hop = "--mac 802.11b,tries=1,idle_watts=0 --wired-rate 10mbit --rtt 54ms --local-rtt 4ms \
               --queue 50 --loss 0% --cc reno --profile linux24 --warmup 1s --duration 10s";
    for (ends, way, loss) in [
        ("base", "down", "--burst-loss 3%,4"),
        ("mobile", "up", "--burst-loss-up 3%,4"),
        ("both", "up", "--burst-loss-up 3%,4"),
    ] {
        let words = format!("{hop} --agents {ends} --direction {way} {loss} --scheme none,csnoop");
        let [none, csnoop] = &compare(&words)[..] else {
            panic!("{ends}");
        };
        assert!(
            number(csnoop, "goodput_mbit") > 1.5 * number(none, "goodput_mbit"),
            "{ends}: {none} {csnoop}"
        );
        // Collisions are losses as well, and what is lost twice is repaired twice.
        let repairs = number(csnoop, "local_retransmits");
        assert!(repairs >= 0.9 * number(csnoop, "link_lost"), "{csnoop}");
        let resent = number(csnoop, "sender_retransmits") - number(csnoop, "sender_timeouts");
        assert!(resent < 0.5 * repairs, "{csnoop}");
        assert_eq!(csnoop["content_ok"], true);
        let energy = number(csnoop, "mobile_energy_j");
        // Less than 10 s of sending.
        assert!((0.5..6.0).contains(&energy), "{csnoop}");
        let per_energy = number(csnoop, "goodput_mbit") * 1e3 / energy;
        assert!((number(csnoop, "goodput_per_energy") / per_energy - 1.0).abs() < 0.01);
    }
    // Its own seven attempts leave nothing to repair.
    let words = format!(
        "{} --agents both --scheme csnoop",
        hop.replace(",tries=1", "")
    );
    let record = compare(&format!("{words} --burst-loss 1%,2")).remove(0);
    assert_eq!(number(&record, "local_retransmits"), 0.0, "{record}");
    assert_eq!(number(&record, "suppressed_acks"), 0.0, "{record}");
    assert_eq!(number(&record, "link_lost"), 0.0, "{record}");
}

/// Two losses, in the simulator.
fn spec() -> String {
    let text = Small::new("Two losses", "1..2")
        .setup("cc = \"cubic\"\nrate = \"5mbit\"\nwarmup = \"0s\"\nduration = \"3s\"")
        .axis(
            "Loss",
            "unit = \"%\"\npoints = [{ x = 1, loss = \"1%\" }, { x = 4, loss = \"4%\" }]",
        )
        .series("none", "none", "none", "")
        .series("snoop", "Snoop", "snoop", "agent = { dup_thresh = 2 }")
        .goodput("goodput", "Goodput", "value", "unit = \"Mbit/s\"")
        .check(
            "less where more is lost",
            "none",
            Some("none"),
            "to_at = 1\nat = [4]\nmax = 0.9",
        )
        .text();
    text.replacen("[setup]", "engine = \"ns3\"\n[setup]", 1)
}

#[test]
fn an_experiment_without_root() {
    if skipped("an_experiment_without_root") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("losses.toml");
    fs::write(&file, spec()).unwrap();
    let (file, out) = (file.to_str().unwrap(), dir.path().join("out"));
    let run = |more: &[&str]| {
        let mut words = vec!["run", file, "-j", "--out", out.to_str().unwrap()];
        words.extend(more);
        lab(&words)
    };
    // Part by part, as jobs of a cluster do, and then the rest.
    assert!(!run(&["--seed", "1", "--point", "1"]).status.success());
    let path = out.join("losses/runs.jsonl");
    let lines = || fs::read_to_string(&path).unwrap().lines().count();
    assert_eq!(lines(), 2);
    let all = run(&[]);
    let judged = records(&all);
    assert_eq!(judged[0]["outcome"], "met", "{judged:?}");
    assert_eq!(lines(), 8);
    let first = fs::read_to_string(&path).unwrap();
    run(&[]);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        first,
        "nothing is run twice"
    );
    let report = lab(&["report", out.to_str().unwrap()]);
    assert!(report.status.success(), "{report:?}");
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(page.contains("Two losses") && page.contains("--engine ns3"));
}

/// experiments/Snakefile makes the same runs, part by part.
#[test]
fn a_workflow_of_parts() {
    if skipped("a_workflow_of_parts") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name);
    fs::write(
        file("Snakefile"),
        include_str!("../../../../../experiments/Snakefile"),
    )
    .unwrap();
    fs::write(file("losses.toml"), spec()).unwrap();
    let lab = env!("CARGO_BIN_EXE_lasthop-lab");
    let mut command = Command::new("snakemake");
    command.args(["--cores", "2", "--config", "out=results"]);
    command.arg(format!("lab={lab}")).current_dir(dir.path());
    let Ok(output) = command.output() else {
        super::skip("a_workflow_of_parts", "no snakemake");
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let runs = fs::read_to_string(file("results/losses/runs.jsonl")).unwrap();
    assert_eq!(runs.lines().count(), 8);
    assert!(file("results/index.html").is_file());
    let words = [
        "run",
        "losses.toml",
        "--out",
        "results",
        "--summary-only",
        "-j",
    ];
    let mut summary = Command::new(lab);
    let judged = records(
        &summary
            .args(words)
            .current_dir(dir.path())
            .output()
            .unwrap(),
    );
    assert_eq!(judged[0]["outcome"], "met", "{judged:?}");
}
