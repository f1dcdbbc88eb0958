// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use std::fs;

use super::*;

const PACKETS: &str = r#"flows          1 data       400 ns   3.08x
{"bench":"cost","axis":"flows","x":1.0,"path":"data","flows":1,"mss":1448,"segments":1,"ns":400,"base_ns":130,"ratio":3.08}
{"bench":"cost","axis":"flows","x":25000.0,"path":"data","flows":25000,"mss":1448,"segments":1,"ns":1000,"base_ns":330,"ratio":3.03}
{"bench":"cost","axis":"flows","x":1.0,"path":"ack","flows":1,"mss":1448,"segments":1,"ns":650,"base_ns":110,"ratio":5.9}
{"bench":"cost","axis":"rules","x":0.0,"path":"syn","flows":4000,"mss":0,"segments":0,"ns":1600,"base_ns":400,"ratio":4.0}
{"bench":"cost","axis":"segments","x":44.0,"mss":1448,"skipped":"<b>too large</b>"}
"#;
const FORWARDING: &str = r#"{"bench":"machine","kernel":"6.18.1","processor":"Z","cpus":2,"revision":"r","started_s":0,"load":0.5}
{"bench":"forwarding","axis":"gro","x":1.0,"helper":"none","round":1,"seconds":3.0,"gbit":30.0,"machine_s":6.0,"others_s":0.0,"cpu_s_per_gbit":0.2}
{"bench":"forwarding","axis":"gro","x":1.0,"helper":"rack","round":1,"seconds":3.0,"gbit":24.0,"machine_s":6.0,"others_s":0.0,"cpu_s_per_gbit":0.25}
{"bench":"train","most":44,"data_runs":1000,"data_ns":3400.0,"data_segments":43.0,"ack_runs":500,"ack_ns":1200.0,"ack_segments":86.0}
{"bench":"skipped","what":"passthrough, gro 1","why":"no queue in this kernel"}
"#;

fn written(forwarding: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(PACKET_FILE), PACKETS).unwrap();
    fs::write(directory.path().join(FORWARDING_FILE), forwarding).unwrap();
    let options = BenchReportOptions {
        directory: directory.path().to_owned(),
        short: false,
        page_only: true,
    };
    let (page, _) = run(&options).unwrap();
    let text = fs::read_to_string(page).unwrap();
    (directory, text)
}

#[test]
fn the_page_has_what_was_measured_and_needs_nothing_else() {
    let (directory, page) = written(FORWARDING);
    for wanted in [
        "Linux 6.18.1",
        "agent, scheme rack",
        "0.0500",
        "100 Gbit/s",
        "no queue in this kernel",
        "&lt;b&gt;too large&lt;/b&gt;",
        "data 130 ns, ACK 110 ns",
    ] {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
    for foreign in ["<script", "http:", "https:", "NaN", "inf<"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let json = fs::read_to_string(directory.path().join(MODEL_FILE)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["needs"].as_array().unwrap().len(), ports::MIXES.len());
    assert!(json["model"]["worst"].as_f64().unwrap() < 0.5);
}

#[test]
fn a_machine_that_could_forward_nothing_has_a_page() {
    let machine = FORWARDING.lines().next().unwrap();
    let (_directory, page) = written(machine);
    assert!(page.contains("What a port takes") && !page.contains("NaN"));
}

#[test]
fn without_the_programs_figures_it_says_how_to_get_them() {
    let directory = tempfile::tempdir().unwrap();
    let options = BenchReportOptions {
        directory: directory.path().to_owned(),
        short: true,
        page_only: false,
    };
    let error = run(&options).unwrap_err().to_string();
    assert!(error.contains("make bench-report"), "{error}");
}
