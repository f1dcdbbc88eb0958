// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! From the command line to the emulators' settings.

use crate::data::emulation::{air_config, wan_config};
use crate::data::link::LinkOptions;
use crate::data::way::Way;
use crate::data::words::link as parse;

const MS: u64 = 1_000_000;

/// Ten full frames every 20 ms: 6.056 Mbit/s.
fn trace_file(dir: &tempfile::TempDir) -> String {
    let path = dir.path().join("ten.trace");
    let lines: String = (1..=10).map(|i| format!("{}\n", 2 * i)).collect();
    std::fs::write(&path, lines).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn each_option_reaches_both_directions_of_the_hop() {
    let link = parse("--jitter 5ms --reorder 1%,7ms --batch 10ms").unwrap();
    let (air, wan) = (air_config(&link).unwrap(), wan_config(&link));
    for direction in [&air.a_to_b, &air.b_to_a] {
        assert_eq!(direction.jitter_ns, 5 * MS);
        assert_eq!(
            (direction.reorder, direction.reorder_delay_ns),
            (0.01, 7 * MS)
        );
        assert_eq!(direction.batch_ns, 10 * MS);
        assert_eq!(direction.rate_bps, 20_000_000);
    }
    assert_eq!((wan.a_to_b.jitter_ns, wan.a_to_b.batch_ns), (0, 0));
    air.validate().unwrap();
    let default_detour = parse("--reorder 0.5").unwrap().variation.reorder.unwrap();
    assert_eq!(
        (default_detour.share, default_detour.delay_ns),
        (0.5, 10 * MS)
    );
}

#[test]
fn a_wave_replaces_the_rate_and_its_mean_sizes_the_queue() {
    let link = parse("--rate-wave 30mbit,10mbit,2s").unwrap();
    let air = air_config(&link).unwrap();
    let wave = vec![(30_000_000, 2000 * MS), (10_000_000, 2000 * MS)];
    assert_eq!(
        (&air.a_to_b.rate_wave, &air.b_to_a.rate_wave),
        (&wave, &wave)
    );
    assert_eq!(link.nominal_rate_bps(), 20_000_000);
    assert_eq!(link.queue_packets(), LinkOptions::default().queue_packets());
    air.validate().unwrap();
    let sized = parse("--rate-wave 30mbit,10mbit,2s --rate 40mbit").unwrap();
    assert_eq!(sized.queue_packets(), 363);
    let mean = |link: &LinkOptions| link.mean_rate_bps(Way::Down);
    assert_eq!(mean(&sized), mean(&link), "only the queue is larger");
    assert_eq!(mean(&link), mean(&LinkOptions::default()));
    assert!(link.summary().contains("30mbit/10mbit for 2s each"));
}

#[test]
fn a_trace_holds_one_way_and_the_other_keeps_the_rate() {
    let dir = tempfile::tempdir().unwrap();
    let file = trace_file(&dir);
    let link = parse(&format!("--rate-trace {file}")).unwrap();
    let air = air_config(&link).unwrap();
    assert_eq!(air.a_to_b.rate_trace.period_ms(), 20);
    assert!(air.b_to_a.rate_trace.is_empty());
    assert_eq!(air.b_to_a.rate_bps, 6_056_000, "the mean, by default");
    air.validate().unwrap();

    let link = parse(&format!("--rate-trace {file} --rate 15mbit")).unwrap();
    assert_eq!(air_config(&link).unwrap().b_to_a.rate_bps, 15_000_000);
    assert_eq!(link.mean_rate_bps(Way::Down), 6_056_000);
    assert_eq!(link.mean_rate_bps(Way::Up), 15_000_000);

    let own = parse("--rate-trace lte").unwrap();
    assert_eq!(
        air_config(&own).unwrap().a_to_b.rate_trace.period_ms(),
        60_000
    );
    assert_eq!(own.mean_rate_bps(Way::Down), 18_681_145);
    assert!(own.summary().contains("down trace lte (18.7mbit)"));

    let up = parse(&format!("--rate-trace-up {file}")).unwrap();
    let air = air_config(&up).unwrap();
    assert!(air.a_to_b.rate_trace.is_empty() && !air.b_to_a.rate_trace.is_empty());
    assert_eq!(up.nominal_rate_bps(), 6_056_000);
}

#[test]
fn flows_get_what_is_missing_to_their_round_trip() {
    let link = parse("--rtt 20ms --flow-rtt 20ms,50ms,200ms").unwrap();
    let wan = wan_config(&link);
    assert_eq!(wan.a_to_b.flow_delays_ns, [0, 30 * MS, 180 * MS]);
    assert!(wan.b_to_a.flow_delays_ns.is_empty());
    let alike = wan_config(&parse("").unwrap());
    assert!(alike.a_to_b.flow_delays_ns.is_empty());
    wan.validate().unwrap();
}

#[test]
fn the_record_of_a_run_needs_neither_the_file_nor_the_new_options() {
    let dir = tempfile::tempdir().unwrap();
    let link = parse(&format!("--rate-trace {} --jitter 1ms", trace_file(&dir))).unwrap();
    let mut json = serde_json::to_value(&link).unwrap();
    drop(dir);
    let read: LinkOptions = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(read, link);
    assert!(air_config(&read).is_err(), "but to build it again does");
    json.as_object_mut().unwrap().remove("variation");
    assert!(serde_json::from_value::<LinkOptions>(json).is_ok());
}

#[test]
fn errors_say_what_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let file = trace_file(&dir);
    let broken = dir.path().join("broken.trace");
    std::fs::write(&broken, "1\n2.5\n").unwrap();
    for (words, hint) in [
        ("--jitter 5", "5ms"),
        ("--reorder 2", "2%"),
        ("--reorder 1%,0", "above 0"),
        ("--reorder 1%,5", "5ms"),
        ("--rate-wave 30mbit,2s", "30mbit,10mbit,2s"),
        ("--rate-wave 30,10mbit,2s", "30mbit"),
        ("--rate-wave 30mbit,10mbit,0", "above 0"),
        ("--rate-trace /nonexistent", "/nonexistent"),
        (&format!("--rate-trace {}", broken.display()), "line 2"),
        (
            &format!("--rate-trace {file} --rate-wave 3mbit,1mbit,2s"),
            "--rate-wave",
        ),
        ("--flow-rtt 20ms,200ms", "give --rtt 20ms"),
        ("--rate mean", "--rate-wave"),
    ] {
        let error = parse(words).unwrap_err();
        assert!(error.contains(hint), "{words}: {error}");
    }
}
