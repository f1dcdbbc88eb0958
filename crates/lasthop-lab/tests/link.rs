// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! End to end: what the lossy hop is made of, without any agent. Counts and ratios within one run
//! only, no absolute times.

mod common;

use std::process::Command;

use serde_json::Value;

/// The record of one cell without agent.
fn compare(words: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.args("compare -j --scheme none --rtt 20ms".split(' '));
    let output = command.args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{words}: {output:?}");
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["content_ok"], true, "{words}: {record}");
    record
}

fn list(record: &Value, field: &str) -> Vec<f64> {
    let values = record[field].as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn a_slow_receiver_keeps_its_queue_to_itself() {
    if common::skipped("a_slow_receiver_keeps_its_queue_to_itself") {
        return;
    }
    let record = compare(
        "--host-rate 2mbit,40mbit --host-queue 60,60 --loss 0% --cc cubic --flows 4 \
         --warmup 2s --duration 3s",
    );
    let (goodput, bound) = (
        list(&record, "host_goodput_mbit"),
        list(&record, "host_bound_mbit"),
    );
    assert!((bound[1] / bound[0] - 20.0).abs() < 0.1, "{record}");
    for (got, most) in goodput.iter().zip(&bound) {
        // Bytes that had waited behind a hole may be read within so short a time.
        assert!((0.7..1.2).contains(&(got / most)), "{record}");
    }
    // 60 packets take 0.36 s at 2 Mbit/s, and a twentieth of it at 40 Mbit/s.
    let rtt = list(&record, "host_rtt_p50_ms");
    assert!(rtt[0] > 3.0 * rtt[1], "{record}");
    assert_eq!(record["hosts"], 2);
}

#[test]
fn each_receiver_loses_its_own_frames_in_either_family() {
    if common::skipped("each_receiver_loses_its_own_frames_in_either_family") {
        return;
    }
    for words in ["--family 4", "--family 6", "--family 6 --opener mh"] {
        let record = compare(&format!(
            "{words} --hosts 3 --host-rate 20mbit --host-loss 0%,0%,20% --flows 3 --cc reno \
             --warmup 0s --duration 2s"
        ));
        let goodput = list(&record, "host_goodput_mbit");
        assert!(goodput[2] < 0.5 * goodput[0].min(goodput[1]), "{record}");
        assert!(record["link_lost"].as_u64() > Some(0), "{record}");
    }
}

#[test]
fn receivers_on_one_link_share_it() {
    if common::skipped("receivers_on_one_link_share_it") {
        return;
    }
    let record = compare("--hosts 3 --flows 6 --loss 0% --cc cubic --bytes 500kB --transfers 2");
    assert_eq!(record["bytes"], 6_000_000);
    assert_eq!(list(&record, "host_goodput_mbit").len(), 3);
    let bounds: f64 = list(&record, "host_bound_mbit").iter().sum();
    assert!((bounds / record["bound_mbit"].as_f64().unwrap() - 1.0).abs() < 0.01);
}

#[test]
fn the_return_path_has_a_rate_and_a_queue_of_its_own() {
    if common::skipped("the_return_path_has_a_rate_and_a_queue_of_its_own") {
        return;
    }
    let record = compare(
        "--rate-up 2mbit --queue-up 30 --loss 0% --cc cubic --direction both \
         --warmup 2s --duration 3s",
    );
    let ratio =
        |got: &str, most: &str| record[got].as_f64().unwrap() / record[most].as_f64().unwrap();
    assert!((ratio("bound_mbit", "up_bound_mbit") - 10.0).abs() < 0.1);
    // The download's ACKs take their part.
    let up = ratio("up_goodput_mbit", "up_bound_mbit");
    assert!((0.3..1.2).contains(&up), "{record}");
    let up = compare("--rate-up 2mbit --loss 0% --cc cubic --direction up --bytes 500kB");
    assert_eq!(up["rate_mbit"], 2.0);
    let share = up["efficiency"].as_f64().unwrap();
    assert!((0.5..1.1).contains(&share), "{up}");
}
