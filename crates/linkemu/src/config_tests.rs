// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Configurations, right and wrong.

use super::*;

fn parse(a_to_b: &str) -> Result<Config> {
    Config::from_json(&format!(r#"{{"a":"x","b":"y","a_to_b":{a_to_b}}}"#))
}

#[test]
fn defaults_are_a_plain_wire() {
    let config = Config::from_json(r#"{"a":"x","b":"y"}"#).unwrap();
    assert_eq!(config.seed, 1);
    assert_eq!(config.a_to_b, DirectionConfig::default());
    assert_eq!(config.b_to_a.rate_bps, 0);
}

#[test]
fn every_error_names_its_key_in_one_line() {
    for (json, key) in [
        (r#"{"loss":1.5}"#, "a_to_b.loss"),
        (r#"{"loss":-0.1}"#, "a_to_b.loss"),
        (r#"{"burst_loss":0.9}"#, "a_to_b.burst_loss"),
        (r#"{"burst_loss":-0.1}"#, "a_to_b.burst_loss"),
        (r#"{"burst_frames":0.5}"#, "a_to_b.burst_frames"),
        (r#"{"ber":2}"#, "a_to_b.ber"),
        (r#"{"queue_frames":0}"#, "a_to_b.queue_frames"),
        (r#"{"rate_bps":10000000000000}"#, "a_to_b.rate_bps"),
        (r#"{"police_bps":8000}"#, "a_to_b.police_burst_bytes"),
        (r#"{"delay_ns":10000000000000}"#, "a_to_b.delay_ns"),
        (r#"{"outages_ns":[[5,5]]}"#, "a_to_b.outages_ns"),
        (r#"{"jitter_ns":10000000000000}"#, "a_to_b.jitter_ns"),
        (r#"{"batch_ns":10000000000000}"#, "a_to_b.batch_ns"),
        (r#"{"reorder":1.5,"reorder_delay_ns":1}"#, "a_to_b.reorder"),
        (r#"{"reorder":0.5}"#, "a_to_b.reorder_delay_ns"),
        (r#"{"rate_wave":[[0,5]]}"#, "a_to_b.rate_wave"),
        (r#"{"rate_wave":[[5,0]]}"#, "a_to_b.rate_wave"),
        (r#"{"rate_wave":[[5]]}"#, "expected a tuple"),
        (
            r#"{"rate_wave":[[5,5]],"rate_trace":[1]}"#,
            "a_to_b.rate_wave",
        ),
        (r#"{"rate_trace":[2,1]}"#, "rate_trace"),
        (r#"{"rate_trace":"/nonexistent"}"#, "/nonexistent"),
        (r#"{"rate_trace":5}"#, "rate_trace"),
        (
            r#"{"flow_delays_ns":[1,9999999999999]}"#,
            "a_to_b.flow_delays_ns",
        ),
        (r#"{"los":0.1}"#, "los"),
    ] {
        let text = parse(json).unwrap_err().to_string();
        assert!(text.contains(key) && !text.contains('\n'), "{json}: {text}");
    }
}

#[test]
fn interfaces_are_checked() {
    for (json, key) in [
        (r#"{"a":"x","b":"x"}"#, "b:"),
        (r#"{"a":"","b":"x"}"#, "a:"),
        (r#"{"a":"x","b":"sixteen-letters-"}"#, "b:"),
        (r#"{"a":"x"}"#, "`b`"),
        (r#"{"a":"x","b":"y","c":1}"#, "`c`"),
    ] {
        let text = Config::from_json(json).unwrap_err().to_string();
        assert!(text.contains(key), "{json}: {text}");
    }
}

#[test]
fn update_changes_only_what_it_names() {
    let mut config = parse(r#"{"rate_bps":1000,"loss":0.5}"#).unwrap();
    let update = |text: &str| Update::from_json(text).unwrap();
    config
        .apply(&update(r#"{"dir":"a_to_b","loss":0.02}"#))
        .unwrap();
    assert_eq!((config.a_to_b.rate_bps, config.a_to_b.loss), (1000, 0.02));
    assert_eq!(config.b_to_a, DirectionConfig::default());

    let before = config.clone();
    assert!(
        config
            .apply(&update(r#"{"dir":"a_to_b","loss":7}"#))
            .is_err()
    );
    assert!(
        config
            .apply(&update(r#"{"dir":"a_to_b","lass":0.1}"#))
            .is_err()
    );
    assert_eq!(config, before);
    assert!(Update::from_json(r#"{"dir":"up"}"#).is_err());
    assert!(Update::from_json(r#"{"loss":0.1}"#).is_err());
}

#[test]
fn a_trace_is_read_once_and_replaced_only_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    std::fs::write(&path, "4\n8\n").unwrap();
    let mut config = parse(&format!(r#"{{"rate_trace":{path:?}}}"#)).unwrap();
    std::fs::remove_file(&path).unwrap();
    let update = |text: &str| Update::from_json(text).unwrap();
    config
        .apply(&update(r#"{"dir":"a_to_b","loss":0.02}"#))
        .unwrap();
    assert_eq!(config.a_to_b.rate_trace.period_ms(), 8);
    let wave = r#"{"dir":"a_to_b","rate_wave":[[1000,5]]}"#;
    assert!(config.apply(&update(wave)).is_err());
    let instead = r#"{"dir":"a_to_b","rate_wave":[[1000,5]],"rate_trace":[]}"#;
    config.apply(&update(instead)).unwrap();
    assert!(config.a_to_b.rate_trace.is_empty());
}

fn with_mac(a_to_b: &str, mac: &str) -> Result<Config> {
    Config::from_json(&format!(
        r#"{{"a":"x","b":"y","a_to_b":{a_to_b},"mac":{mac}}}"#
    ))
}

const MAC: &str = r#"{"standard":"802.11b"}"#;

#[test]
fn a_mac_has_no_rates_beside_it() {
    with_mac(
        r#"{"delay_ns":5,"loss":0.1,"burst_loss":0.1,"aqm":"fq_codel"}"#,
        MAC,
    )
    .unwrap();
    for (a_to_b, mac, key) in [
        (r#"{"rate_bps":5}"#, MAC, "a_to_b.rate_bps"),
        (r#"{"rate_wave":[[5,5]]}"#, MAC, "a_to_b.rate_wave"),
        (r#"{"rate_trace":[1]}"#, MAC, "a_to_b.rate_trace"),
        (
            r#"{"stations":[{"addresses":["::1"]}]}"#,
            MAC,
            "a_to_b.stations",
        ),
        (
            "{}",
            r#"{"standard":"802.11b","rate_mbps":54}"#,
            "mac.rate_mbps",
        ),
        ("{}", r#"{"standard":"802.11b","retries":7}"#, "retries"),
    ] {
        let text = with_mac(a_to_b, mac).unwrap_err().to_string();
        assert!(text.contains(key) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn a_mac_can_be_changed_but_not_set_up_or_exchanged() {
    let update = |text: &str| Update::from_json(text).unwrap();
    let mut config = with_mac("{}", MAC).unwrap();
    config
        .apply(&update(
            r#"{"dir":"mac","tries":3,"rate_mbps":2,"control_loss":0.1}"#,
        ))
        .unwrap();
    let before = config.clone();
    assert_eq!(before.mac.as_ref().unwrap().tries, Some(3));
    for (text, key) in [
        (
            r#"{"dir":"mac","standard":"802.11a","rate_mbps":54}"#,
            "mac.standard",
        ),
        (r#"{"dir":"mac","policy":"no_ack"}"#, "mac.policy"),
        (r#"{"dir":"mac","idle_watts":1}"#, "mac.tx_watts"),
        (r#"{"dir":"mac","cw_min":7}"#, "mac.cw_min"),
        (r#"{"dir":"mac","rate_mbps":7}"#, "mac.rate_mbps"),
        (r#"{"dir":"mac","loss":0.1}"#, "loss"),
        (r#"{"dir":"a_to_b","rate_bps":7}"#, "a_to_b.rate_bps"),
    ] {
        let text = config.apply(&update(text)).unwrap_err().to_string();
        assert!(text.contains(key), "{text}");
        assert_eq!(config, before);
    }
    let mut without = parse("{}").unwrap();
    let refused = without
        .apply(&update(r#"{"dir":"mac","tries":3}"#))
        .unwrap_err();
    assert!(refused.to_string().contains("mac: there is none"));
}
