// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `compare --page`: a real web server and a real client. No agent.

use std::process::{Command, Output};

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::topology::{self, Family};
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};

/// A page of some 150 kB over a link on which it takes a fraction of a second.
const SMALL: &str = "compare -j --page --page-loads 3 --page-objects 10 --page-sizes 5kB,40kB \
                     --scheme none --cc cubic --rate 20mbit --rtt 20ms";

fn compare(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop-lab"));
    command.args(SMALL.split_whitespace().chain(words.split_whitespace()));
    command
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Why pages can't be loaded here, if so; says it, past the harness.
fn skipped(test: &str) -> bool {
    let missing =
        ["nginx", "curl", "openssl"].map(|tool| lasthop_lab::bed::page::find_tool(tool).err());
    if let Some(error) = missing.into_iter().flatten().next() {
        super::skip(test, &format!("{error}"));
        return true;
    }
    super::skipped(test)
}

/// The record of the only cell of a comparison about which there is nothing to say.
fn record(words: &str) -> Value {
    let output = compare(words).output().unwrap();
    let errors = errors(&output);
    assert!(
        output.status.success() && errors.is_empty(),
        "{words}: {errors}"
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn loads_ms(record: &Value) -> Vec<f64> {
    let loads = record["page_loads_ms"].as_array().unwrap();
    loads.iter().map(|load| load.as_f64().unwrap()).collect()
}

/// A wrong number of connections would be a note on standard error.
#[test]
fn pages_arrive_whole_over_as_many_connections_as_asked() {
    if skipped("pages_arrive_whole") {
        return;
    }
    for words in [
        "--loss 0",
        "--loss 2% --seed 2",
        "--loss 0 --page-connections 12",
        "--loss 0 --page-keepalive off",
        "--loss 2% --page-protocol http2",
        "--loss 0 --family 6",
    ] {
        let record = record(words);
        let mut loads_ms = loads_ms(&record);
        loads_ms.sort_unstable_by(f64::total_cmp);
        assert_eq!(loads_ms.len(), 3, "{record}");
        assert_eq!(record["page_ms"].as_f64().unwrap(), loads_ms[1], "{record}");
        assert_eq!(record["page_p95_ms"].as_f64().unwrap(), loads_ms[2]);
        // Nothing comes faster than the link and two round trips let it.
        let page_bits = 8.0 * record["bytes"].as_f64().unwrap() / 3.0;
        let least_ms = 40.0 + page_bits / 20e3;
        assert!(loads_ms[0] >= least_ms, "{} {record}", least_ms);
        let segments = record["sender_segments"].as_u64().unwrap();
        assert!(
            segments as f64 >= 3.0 * page_bits / 8.0 / 1448.0,
            "{record}"
        );
        let lossless = words.contains("--loss 0");
        assert_eq!(
            record["link_lost"].as_u64().unwrap() == 0,
            lossless,
            "{record}"
        );
        assert_eq!(record["content_ok"], true);
    }
}

#[test]
fn a_page_that_never_comes_is_a_failure_and_has_no_time() {
    if skipped("a_page_that_never_comes") {
        return;
    }
    let output = compare("--loss 100% --deadline 2s").output().unwrap();
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("load 0: not loaded within"), "{errors}");
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        record["page_ms"].is_null() && record["content_ok"] == false,
        "{record}"
    );
}

#[test]
fn what_is_missing_is_named() {
    let output = compare("").env("PATH", "/nowhere").output().unwrap();
    // Where they are in /usr/sbin they are found all the same, but not the rest.
    let errors = errors(&output);
    assert!(
        errors.contains("--page needs") && errors.lines().count() == 1,
        "{errors}"
    );
    let output = compare("--engine ns3").output().unwrap();
    assert!(self::errors(&output).contains("--page"), "{output:?}");
}

/// Connections that a server accepts have the congestion control of the route, whatever the
/// machine allows its users.
#[test]
fn the_route_says_which_congestion_control() {
    if super::skipped("the_route_says") {
        return;
    }
    let link = LinkOptions {
        loss: 0.0,
        rtt_ns: 10_000_000,
        ..LinkOptions::default()
    };
    let bed = TestBed::up(&link).unwrap();
    for (family, domain) in [(Family::V4, Domain::IPV4), (Family::V6, Domain::IPV6)] {
        for cc in ["reno", "cubic"] {
            bed.set_congestion_control(Host::Fh, cc).unwrap();
            let socket = |host| {
                let made = bed.run_in(host, || {
                    Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
                });
                made.unwrap().unwrap()
            };
            let address = (topology::address(Host::Fh, family), 0);
            let listener = socket(Host::Fh);
            listener
                .bind(&std::net::SocketAddr::from(address).into())
                .unwrap();
            listener.listen(1).unwrap();
            let client = socket(Host::Mh);
            client.connect(&listener.local_addr().unwrap()).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let name = accepted.tcp_congestion().unwrap();
            let name = String::from_utf8_lossy(&name)
                .trim_end_matches('\0')
                .to_owned();
            assert_eq!(name, cc, "{family}");
        }
    }
    let error = bed.set_congestion_control(Host::Fh, "nosuch").unwrap_err();
    assert!(format!("{error:#}").contains("cannot wire"), "{error:#}");
    bed.down().unwrap();
}
