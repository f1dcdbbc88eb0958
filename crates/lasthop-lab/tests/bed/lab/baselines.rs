// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! End to end: what takes the agent's place, as series beside schemes, and what each costs.

use std::process::{Command, Output};

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::baseline::Baseline;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::topology::Family;
use lasthop_lab::data::way::Way;
use serde_json::Value;

fn lab(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.args(words.split(' '));
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Records of `compare -j`, which has nothing to complain about.
fn records(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    let records = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    records.collect()
}

/// Whether BS has what `baseline` needs; says so where it has not.
fn can(test: &str, baseline: Baseline) -> bool {
    let Err(error) = try_on_a_bed(baseline) else {
        return true;
    };
    let said = format!("{error:#}");
    // What a kernel lacks is a reason to skip, and all else is not.
    let lacks = ["nft refuses", "the kernel has none", "NFQUEUE", "TPROXY"];
    assert!(lacks.iter().any(|what| said.contains(what)), "{said}");
    super::skip(test, &said);
    false
}

fn try_on_a_bed(baseline: Baseline) -> anyhow::Result<()> {
    let bed = TestBed::up(&LinkOptions::default())?;
    bed.start_proxy(baseline, &[])?.stop()?;
    bed.down()
}

#[test]
fn series_beside_schemes_move_the_right_bytes_and_tell_their_cost() {
    const TEST: &str = "series_beside_schemes_move_the_right_bytes_and_tell_their_cost";
    let both = [Baseline::Split, Baseline::Passthrough];
    if super::skipped(TEST) || !both.into_iter().all(|one| can(TEST, one)) {
        return;
    }
    let words = "compare --cc cubic --rtt 40ms --loss 2% --flows 2 --bytes 2MB -j \
                 --scheme none,split,passthrough,snoop";
    let output = lab(words).output().unwrap();
    let records = records(&output);
    let schemes: Vec<&str> = records
        .iter()
        .map(|record| record["scheme"].as_str().unwrap())
        .collect();
    assert_eq!(schemes, ["none", "split", "passthrough", "snoop"]);
    for record in &records {
        let scheme = record["scheme"].as_str().unwrap();
        assert_eq!(record["content_ok"], true, "{record}");
        assert_eq!(record["bytes"], 4_000_000, "{scheme}");
        assert!(record["machine_cpu_s"].as_f64().unwrap() > 0.0, "{scheme}");
        let positive = |name: &str| record[name].as_f64().is_some_and(|value| value > 0.0);
        let has_process = scheme != "none";
        assert_eq!(positive("process_cpu_s"), has_process, "{record}");
        assert_eq!(positive("cpu_s_per_gb"), has_process, "{record}");
        assert_eq!(positive("bpf_cpu_s"), scheme == "snoop", "{record}");
        // The proxy's own connections repair; behind the queue nobody does.
        let repairs = ["split", "snoop"].contains(&scheme);
        assert_eq!(positive("local_retransmits"), repairs, "{record}");
        assert_eq!(record["suppressed_acks"].is_u64(), scheme == "snoop");
    }
    // Its sender's connection ends before the hop; a machine that stalls may have it probe.
    let sent_again = |n: usize| records[n]["sender_retransmits"].as_u64().unwrap();
    assert!(sent_again(0) > 10 && sent_again(2) > 10);
    bound!(sent_again(1) * 5 <= sent_again(0), "{}", sent_again(1));
    // A packet each through user space costs more than splicing two sockets.
    let cost = |n: usize| records[n]["cpu_s_per_gb"].as_f64().unwrap();
    bound!(cost(2) > 2.0 * cost(1), "{} and {}", cost(2), cost(1));
}

#[test]
fn every_segment_goes_through_the_queue_and_no_rule_stays() {
    const TEST: &str = "every_segment_goes_through_the_queue_and_no_rule_stays";
    const BYTES: u64 = 300_000;
    if super::skipped(TEST) || !can(TEST, Baseline::Passthrough) {
        return;
    }
    let link = LinkOptions {
        rtt_ns: 20_000_000,
        loss: 0.0,
        ..LinkOptions::default()
    };
    let bed = TestBed::up(&link).expect("test bed");
    let proxy = bed.start_proxy(Baseline::Passthrough, &[]).unwrap();
    // The eighth number: packets that were ever in the queue.
    let queued = || -> u64 {
        let table = bed.command(Host::Bs, &["cat", "/proc/net/netfilter/nfnetlink_queue"]);
        let table = table.unwrap();
        let numbers: Vec<&str> = table.split_whitespace().collect();
        assert_eq!(numbers[5..7], ["0", "0"], "none is dropped: {table}");
        numbers[7].parse().unwrap()
    };
    let mut before = queued();
    for family in [Family::V4, Family::V6] {
        for way in [Way::Down, Way::Up] {
            let transfer = Transfer::new().family(family).direction(way).bytes(BYTES);
            let report = transfer.start(&bed).unwrap().wait().unwrap();
            assert!(report.content_ok(), "{family} {way:?}");
            let now = queued();
            // Data one way, and at least every second one's ACK the other.
            let least = BYTES / 1448 * 3 / 2;
            assert!(now - before >= least, "{family} {way:?}: {}", now - before);
            before = now;
        }
    }
    proxy.stop().unwrap();
    for program in ["iptables", "ip6tables"] {
        let rules = bed.command(Host::Bs, &[program, "-w", "-t", "mangle", "-S"]);
        assert!(!rules.unwrap().contains("NFQUEUE"));
    }
    bed.down().expect("nothing is left");
}

#[test]
fn a_bed_that_stays_has_its_proxy() {
    const TEST: &str = "a_bed_that_stays_has_its_proxy";
    if super::skipped(TEST) || !can(TEST, Baseline::Split) {
        return;
    }
    let name = format!("stays{}", std::process::id());
    let up = lab(&format!("up --name {name} --scheme split")).output();
    let up = up.unwrap();
    assert!(up.status.success(), "{}", text(&up.stderr));
    let list = lab("list").output().unwrap();
    let line = format!("{name}  up  agent split");
    assert!(text(&list.stdout).contains(&line), "{}", text(&list.stdout));
    let down = lab(&format!("down {name}")).output().unwrap();
    assert!(down.status.success(), "{}", text(&down.stderr));
}

/// PEPsal is others'; where `LASTHOP_PEPSAL` names it, it must serve as a series does.
#[test]
fn pepsal_where_there_is_one() {
    const TEST: &str = "pepsal_where_there_is_one";
    if super::skipped(TEST) {
        return;
    }
    if std::env::var_os("LASTHOP_PEPSAL").is_none() {
        return super::skip(TEST, "LASTHOP_PEPSAL names none");
    }
    if !can(TEST, Baseline::Pepsal) {
        return;
    }
    let words = "compare --cc cubic --rtt 40ms --loss 2% --bytes 1MB --scheme pepsal -j";
    let record = &records(&lab(words).output().unwrap())[0];
    assert_eq!(
        (&record["bytes"], &record["content_ok"]),
        (&1_000_000.into(), &true.into())
    );
    assert!(record["process_cpu_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    for (words, said) in [
        ("--scheme splits", "no scheme `splits`; have: none, "),
        ("--scheme splits", "split, passthrough, pepsal"),
        ("--scheme split --engine ns3", "--engine testbed"),
        (
            "--scheme passthrough --engine ns2 --profile vintage --cc reno",
            "--engine testbed",
        ),
        ("--scheme split --agents mobile", "--agents"),
        ("--scheme split --sender bs", "--sender bs"),
        ("--scheme pepsal --family 6", "--family 6"),
        ("--scheme pepsal --flows 2", "--flows"),
        ("--scheme pepsal --hops 2", "--hops"),
    ] {
        let output = lab(&format!("compare {words}")).output().unwrap();
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words}: {errors}");
        assert!(errors.contains(said), "{words}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{words}: {errors}");
    }
    let mut command = lab("compare --scheme pepsal");
    let output = command.env("LASTHOP_PEPSAL", "/no/such").output().unwrap();
    let errors = text(&output.stderr);
    assert!(errors.contains("LASTHOP_PEPSAL") || !nix::unistd::geteuid().is_root());
    assert_eq!(errors.lines().count(), 1, "{errors}");
}
