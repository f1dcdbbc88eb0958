// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! End to end: what the lossy hop is made of, without any agent. Counts and ratios within one run
//! only, no absolute times.

use std::process::Command;

use serde_json::Value;

/// The record of one cell without agent.
fn compare(words: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.args("compare -j --scheme none".split(' '));
    if !words.contains("--rtt") {
        command.args(["--rtt", "20ms"]);
    }
    let output = command.args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{words}: {output:?}");
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["content_ok"], true, "{words}: {record}");
    record
}

fn number(record: &Value, field: &str) -> f64 {
    record[field].as_f64().unwrap()
}

fn goodput(record: &Value) -> f64 {
    number(record, "goodput_mbit")
}

fn rtt(record: &Value) -> f64 {
    number(record, "rtt_p50_ms")
}

fn list(record: &Value, field: &str) -> Vec<f64> {
    let values = record[field].as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn a_slow_receiver_keeps_its_queue_to_itself() {
    if super::skipped("a_slow_receiver_keeps_its_queue_to_itself") {
        return;
    }
    let record = compare(
        "--host-rate 2mbit,40mbit --host-queue 60,60 --loss 0% --cc cubic --flows 4 \
         --warmup 2s --duration 3s",
    );
    let (got, most) = (
        list(&record, "host_goodput_mbit"),
        list(&record, "host_bound_mbit"),
    );
    assert!((most[1] / most[0] - 20.0).abs() < 0.1, "{record}");
    for (got, most) in got.iter().zip(&most) {
        // Bytes that had waited behind a hole may be read within so short a time.
        bound!((0.7..1.2).contains(&(got / most)), "{record}");
    }
    // 60 packets take 0.36 s at 2 Mbit/s, and a twentieth of it at 40 Mbit/s.
    let rtts = list(&record, "host_rtt_p50_ms");
    bound!(rtts[0] > 3.0 * rtts[1], "{record}");
    assert_eq!(record["hosts"], 2);
}

#[test]
fn each_receiver_loses_its_own_frames_in_either_family() {
    if super::skipped("each_receiver_loses_its_own_frames_in_either_family") {
        return;
    }
    for words in ["--family 4", "--family 6", "--family 6 --opener mh"] {
        let record = compare(&format!(
            "{words} --hosts 3 --host-rate 20mbit --host-loss 0%,0%,20% --flows 3 --cc reno \
             --warmup 0s --duration 2s"
        ));
        let got = list(&record, "host_goodput_mbit");
        bound!(got[2] < 0.5 * got[0].min(got[1]), "{record}");
        assert!(record["link_lost"].as_u64() > Some(0), "{record}");
    }
}

#[test]
fn losses_come_in_bursts_either_way() {
    if super::skipped("losses_come_in_bursts_either_way") {
        return;
    }
    for way in ["--burst-loss 8%,4", "--burst-loss-up 8%,4 --direction up"] {
        let record = compare(&format!(
            "--loss 0% {way} --cc bbr --bytes 4M --deadline 60s"
        ));
        // Some 60 bursts: their lengths alone make it vary by a sixth.
        let share = number(&record, "link_lost") / number(&record, "sender_segments");
        bound!((0.04..0.14).contains(&share), "{way}: {record}");
        assert!(record["mobile_energy_j"].is_null(), "{record}");
    }
}

/// Retries hide what the air loses; without ACKs of the MAC there is more room, and the losses show.
#[test]
fn a_medium_has_its_own_repairs_or_more_room() {
    if super::skipped("a_medium_has_its_own_repairs_or_more_room") {
        return;
    }
    let cell = |policy: &str, loss: &str| {
        compare(&format!(
            "--mac 802.11a,rate=12,policy={policy} --loss {loss} --cc cubic --bytes 3M \
             --deadline 60s"
        ))
    };
    let repaired = cell("ack", "5%");
    assert_eq!(number(&repaired, "link_lost"), 0.0, "{repaired}");
    let exposed = cell("no_ack", "5%");
    let share = number(&exposed, "link_lost") / number(&exposed, "sender_segments");
    bound!((0.02..0.09).contains(&share), "{exposed}");
    bound!(goodput(&repaired) > goodput(&exposed));
    let bound = |record: &Value| number(record, "bound_mbit");
    assert!(bound(&exposed) > 1.02 * bound(&repaired));
    assert!(goodput(&repaired) < bound(&repaired));
    for record in [&repaired, &exposed] {
        let mobile_j = number(record, "mobile_energy_j");
        // It sends data, and MH no more than ACKs.
        assert!(mobile_j > 0.0 && number(record, "base_energy_j") > mobile_j);
        let per_energy = goodput(record) * 1e3 / mobile_j;
        assert!((number(record, "goodput_per_energy") / per_energy - 1.0).abs() < 0.01);
    }
}

#[test]
fn receivers_on_one_link_share_it() {
    if super::skipped("receivers_on_one_link_share_it") {
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
    if super::skipped("the_return_path_has_a_rate_and_a_queue_of_its_own") {
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

#[test]
fn codel_keeps_the_queue_short_and_its_drops_are_counted_apart() {
    if super::skipped("codel_keeps_the_queue_short_and_its_drops_are_counted_apart") {
        return;
    }
    let run = |words: &str| {
        compare(&format!(
            "--rate 10mbit --queue 300 --loss 0% --cc cubic --flows 4 --warmup 1s --duration 2s {words}"
        ))
    };
    let fifo = run("");
    assert_eq!(number(&fifo, "aqm_dropped"), 0.0, "{fifo}");
    for (aqm, family) in [("codel", 4), ("fq-codel", 6)] {
        let short = run(&format!("--aqm {aqm}"));
        assert!(number(&short, "aqm_dropped") > 0.0, "{short}");
        assert_eq!(number(&short, "queue_dropped"), 0.0, "{short}");
        assert!(rtt(&short) < 0.6 * rtt(&fifo), "{short} {fifo}");
        assert!(goodput(&short) > 0.7 * goodput(&fifo), "{short} {fifo}");
        // Marks in place of drops, with every checksum right: the same bytes arrive.
        let marked = run(&format!(
            "--aqm {aqm} --sysctl net.ipv4.tcp_ecn=1 --family {family}"
        ));
        let (marks, drops) = (
            number(&marked, "aqm_marked"),
            number(&marked, "aqm_dropped"),
        );
        assert!(marks > 0.0 && drops < 0.1 * marks, "{marked}");
        assert!(goodput(&marked) > 0.7 * goodput(&fifo), "{marked}");
    }
}

#[test]
fn acks_give_up_their_places_on_a_slow_return_path() {
    if super::skipped("acks_give_up_their_places_on_a_slow_return_path") {
        return;
    }
    // An ACK of 66 bytes takes 5.3 ms; the data of two segments 1.2 ms.
    let words = "--rate-up 100kbit --queue-up 50 --loss 0% --cc cubic --warmup 1s --duration 3s";
    let plain = compare(words);
    let thin = compare(&format!("{words} --ack-thin 100"));
    assert_eq!(plain["thinned_acks"], 0);
    assert!(thin["thinned_acks"].as_u64() > Some(100), "{thin}");
    assert!(goodput(&thin) > 0.8 * goodput(&plain), "{thin} {plain}");
    assert!(rtt(&thin) < rtt(&plain), "{thin} {plain}");
}

#[test]
fn a_sender_on_the_base_station_has_the_hop_alone_before_it() {
    if super::skipped("a_sender_on_the_base_station_has_the_hop_alone_before_it") {
        return;
    }
    // The wire would be a tenth of the hop.
    let words = "--sender bs --rtt 200ms --local-rtt 20ms --wired-rate 2mbit --loss 0% --cc cubic";
    for more in [
        "--family 4",
        "--family 6 --opener mh",
        "--profile vintage --rto-min 700ms",
    ] {
        let record = compare(&format!("{words} {more} --bytes 3MB"));
        assert_eq!(
            (&record["sender"], &record["rtt_ms"]),
            (&"bs".into(), &20.0.into())
        );
        let share = number(&record, "efficiency");
        assert!((0.3..1.1).contains(&share), "{more}: {record}");
        assert!(number(&record, "sender_segments") >= 2000.0, "{record}");
    }
    let both = compare(&format!(
        "{words} --direction both --warmup 0s --duration 1s"
    ));
    assert!(number(&both, "up_goodput_mbit") > 2.0, "{both}");
}
