// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use super::{arguments, check, record};
use crate::cell::options::CompareOptions;
use crate::cell::words;
use crate::engines;

fn parse(more: &str) -> CompareOptions {
    words::compare(&format!("--engine ns2 {more}")).unwrap()
}

const VINTAGE: &str = "--profile vintage --scheme none,snoop";

#[test]
fn a_cell_in_words() {
    let options = parse(&format!(
        "{VINTAGE} --cc newreno --rate 2mbit --wired-rate 10mbit --rtt 202ms --local-rtt 2ms \
         --queue 50 --loss 1% --loss-up 0% --mss 1000 --rcv-window 100000 --rto-min 1s --seed 7 \
         --two-state 166,2.6,660ms,10ms --warmup 0s --duration 150s \
         --attribute ns2::Agent/TCP::tcpTick_=0.5,ns2::Scenario::delayed_acks=1"
    ));
    engines::check_options(&options).unwrap();
    let cells = options.cells();
    let words = arguments::arguments(&options, &cells[1]).unwrap();
    for word in [
        "seed=7",
        "snoop=1",
        "rate=2000000",
        "rate_up=2000000",
        "delay=0.001",
        "wired_delay=0.1",
        "queue=50",
        "loss=0.01",
        "loss_up=0",
        "two_state=166,2.6,0.66,0.01",
        "sender=Newreno",
        "payload=1000",
        "options=0",
        "window=100",
        "min_rto=1",
        "initial_window=2",
        "duration=150",
        "Agent/TCP::tcpTick_=0.5",
        "Scenario::delayed_acks=1",
    ] {
        assert!(words.iter().any(|given| given == word), "{word}: {words:?}");
    }
    let plain = arguments::arguments(&options, &cells[0]).unwrap();
    assert!(plain.contains(&"snoop=0".to_owned()), "{plain:?}");
}

#[test]
fn a_sender_of_2003_has_sack_and_timestamps() {
    let options = parse("--profile linux24 --cc reno --scheme none");
    engines::check_options(&options).unwrap();
    let words = arguments::arguments(&options, &options.cells()[0]).unwrap();
    for word in ["sender=Sack1", "options=12", "payload=1448", "min_rto=0.2"] {
        assert!(words.contains(&word.to_owned()), "{word}: {words:?}");
    }
}

#[test]
fn what_it_cannot_do_is_refused() {
    for (words, what) in [
        ("--cc reno --scheme snoop", "--profile modern"),
        ("--profile vintage --cc cubic --scheme none", "--cc cubic"),
        ("--profile linux24 --cc tahoe --scheme none", "--cc tahoe"),
        ("--profile vintage --cc reno --scheme rack", "--scheme rack"),
        ("--outage 6s,300ms", "--outage"),
        ("--burst-loss 5%,4", "--burst-loss"),
        ("--bytes 1MB", "--bytes"),
        ("--hosts 2", "--hosts"),
        ("--hops 2", "--hops"),
        ("--aqm codel", "--aqm"),
        ("--flows 2", "--flows"),
        ("--agent-config x.toml", "--agent-config"),
        ("--attribute ns3::TcpSocket::DelAckCount=1", "--attribute"),
    ] {
        let vintage = match words.contains("--cc") {
            true => String::new(),
            false => format!("{VINTAGE} --cc newreno"),
        };
        let options = parse(&format!("{vintage} {words}"));
        let refused =
            engines::check_options(&options).and_then(|()| check::check_schemes(&options));
        let said = refused.unwrap_err().to_string();
        assert!(
            said.contains(what) && !said.contains('\n'),
            "{words}: {said}"
        );
    }
    let other = words::compare("--engine ns3 --attribute ns2::Snoop::snoopTick_=0.2").unwrap();
    assert!(engines::check_options(&other).is_err());
}

#[test]
fn a_record_has_what_was_counted() {
    let raw = serde_json::from_str(
        r#"{"ns2":"2.35","received_bytes":500000,"segments":520,"retransmits":20,"timeouts":2,
            "link_lost":40,"queue_dropped":3,"local_retransmits":30,"suppressed_acks":90,
            "samples":[[0,0,0],[100000000,4000,250000]]}"#,
    )
    .unwrap();
    let options = parse(&format!(
        "{VINTAGE} --cc newreno --mss 1000 --loss 0% --warmup 0s --duration 4s"
    ));
    let outcome = record::outcome(&options, &options.cells()[1], &raw);
    let record = outcome.record;
    assert!(outcome.failure.is_none() && record.content_ok);
    assert_eq!((record.goodput_mbit, record.bytes), (1.0, 500_000));
    assert_eq!(record.simulator.as_deref(), Some("2.35"));
    assert_eq!(record.local_retransmits, Some(30));
    assert_eq!(record.suppressed_acks, Some(90));
    assert_eq!((record.link_lost, record.sender_timeouts), (40, 2));
    assert_eq!(record.rtt_p50_ms, Some(250.0));
    assert!((record.bound_mbit - 20.0 * 1000.0 / 1040.0).abs() < 0.001);
}
