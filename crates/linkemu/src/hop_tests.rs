// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Stations in virtual time.

use super::*;
use crate::config::Config;
use crate::frame_samples::FULL;
use crate::model::Fate;

const MS: u64 = 1_000_000;

const ANY: Label = Label {
    flow: 0,
    ecn_capable: false,
    ack: None,
};

/// Ethernet and IPv4 from 10.0.0.`from` to 10.0.0.`to`.
fn frame(from: u8, to: u8) -> Vec<u8> {
    let mut frame = vec![0; 14 + 20];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame[14] = 0x45;
    frame[26..30].copy_from_slice(&[10, 0, 0, from]);
    frame[30..34].copy_from_slice(&[10, 0, 0, to]);
    frame
}

/// The direction's settings in JSON. 1514 bytes at 12.112 Mbit/s take a millisecond.
fn direction(json: &str) -> DirectionConfig {
    let text = format!(r#"{{"a":"x","b":"y","a_to_b":{json}}}"#);
    Config::from_json(&text).unwrap().a_to_b
}

/// A slow station, a fast one, and the link of all others.
const UNEQUAL: &str = r#"{"rate_bps":12112000,"queue_frames":3,"stations":[
    {"addresses":["10.0.0.2","fd00::2"],"rate_bps":1211200,"queue_frames":2},
    {"addresses":["10.0.0.3"],"rate_bps":121120000,"loss":1.0}]}"#;

fn hop(json: &str, direction_of: Direction) -> Hop<usize> {
    Hop::new(&direction(json), 1, direction_of)
}

fn exits(hop: &mut Hop<usize>) -> Vec<(usize, Fate, u64)> {
    let exits = std::iter::from_fn(|| hop.pop_due(u64::MAX, u64::MAX));
    exits.map(|e| (e.token, e.fate, e.due_ns)).collect()
}

#[test]
fn stations_are_chosen_by_the_address_on_their_side() {
    let down = hop(UNEQUAL, Direction::AToB);
    let up = hop(UNEQUAL, Direction::BToA);
    for (from, to, down_link, up_link) in [(9, 2, 1, 0), (2, 9, 0, 1), (9, 3, 2, 0), (2, 3, 2, 1)] {
        let frame = frame(from, to);
        assert_eq!(down.link_of(&frame), LinkNumber(down_link));
        assert_eq!(up.link_of(&frame), LinkNumber(up_link));
    }
    let mut v6 = vec![0; 14 + 40];
    v6[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
    v6[38..54].copy_from_slice(&"fd00::2".parse::<std::net::Ipv6Addr>().unwrap().octets());
    assert_eq!(down.link_of(&v6), LinkNumber(1));
    for not_ip in [&v6[..30], &[][..]] {
        assert_eq!(down.link_of(not_ip), LinkNumber(0));
    }
}

#[test]
fn a_slow_station_holds_up_nobody_and_fills_no_queue_but_its_own() {
    let mut hop = hop(UNEQUAL, Direction::AToB);
    let slow = hop.link_of(&frame(9, 2));
    let verdicts: Vec<bool> = (0..5)
        .map(|token| hop.push(slow, FULL, ANY, token, 0) == Verdict::Queued)
        .collect();
    assert_eq!(verdicts, [true, true, true, false, false]);
    let shared = hop.link_of(&frame(9, 7));
    for token in 10..14 {
        assert_eq!(hop.push(shared, FULL, ANY, token, 0), Verdict::Queued);
    }
    assert_eq!((hop.queue_frames(), hop.in_flight_frames()), (5, 2));
    assert_eq!(hop.next_due_ns(), Some(MS));
    let due = |token, ms| (token, Fate::Delivered, ms * MS);
    assert_eq!(
        exits(&mut hop),
        [
            due(10, 1),
            due(11, 2),
            due(12, 3),
            due(13, 4),
            due(0, 10),
            due(1, 20),
            due(2, 30)
        ]
    );
}

#[test]
fn loss_is_the_stations_and_the_rest_is_the_directions() {
    let mut hop = hop(UNEQUAL, Direction::AToB);
    let lossy = hop.link_of(&frame(9, 3));
    hop.push(lossy, FULL, ANY, 0, 0);
    assert_eq!(exits(&mut hop), [(0, Fate::Lost, MS / 10)]);
    // What the direction says at run time holds where the station says nothing.
    let mut changed = direction(UNEQUAL);
    changed.delay_ns = 5 * MS;
    changed.stations[1].loss = Some(0.0);
    hop.configure(&changed);
    let now_ns = 100 * MS;
    hop.push(lossy, FULL, ANY, 1, now_ns);
    let due_ns = now_ns + 5 * MS + MS / 10;
    assert_eq!(exits(&mut hop), [(1, Fate::Delivered, due_ns)]);
}

#[test]
fn stations_lose_frames_of_their_own() {
    let json = r#"{"loss":0.1,"stations":[{"addresses":["10.0.0.2"]},{"addresses":["10.0.0.3"]}]}"#;
    let mut hop = hop(json, Direction::AToB);
    let lost = |hop: &mut Hop<usize>, to| {
        let link = hop.link_of(&frame(9, to));
        for token in 0..5000 {
            hop.push(link, FULL, ANY, token, 0);
        }
        let exits = exits(hop).into_iter();
        let lost: Vec<usize> = exits.filter(|e| e.1 == Fate::Lost).map(|e| e.0).collect();
        assert!((400..600).contains(&lost.len()), "{}", lost.len()); // 500 ± 4.7 σ
        lost
    };
    let (shared, first, second) = (lost(&mut hop, 9), lost(&mut hop, 2), lost(&mut hop, 3));
    assert!(shared != first && first != second && shared != second);
}

#[test]
fn mistakes_name_the_stations() {
    for (stations, what) in [
        (r#"[{"rate_bps":5}]"#, "no addresses"),
        (r#"[{"addresses":["10.0.0.300"]}]"#, "IP address"),
        (r#"[{"addresses":["::1"],"loss":2}]"#, "stations: loss"),
        (
            r#"[{"addresses":["::1"]},{"addresses":["::1"]}]"#,
            "two stations",
        ),
        (r#"[{"addresses":["::1"],"rate":2}]"#, "rate"),
    ] {
        let json = format!(r#"{{"a":"x","b":"y","b_to_a":{{"stations":{stations}}}}}"#);
        let text = Config::from_json(&json).unwrap_err().to_string();
        assert!(text.contains(what) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn addresses_are_fixed_while_the_relay_runs() {
    let json = r#"{"a":"x","b":"y","a_to_b":{"stations":[{"addresses":["::1"]}]}}"#;
    let mut config = Config::from_json(json).unwrap();
    let mut set = |stations: &str| {
        let text = format!(r#"{{"dir":"a_to_b","stations":{stations}}}"#);
        config.apply(&crate::Update::from_json(&text).unwrap())
    };
    set(r#"[{"addresses":["::1"],"loss":0.5}]"#).unwrap();
    for other in [r#"[{"addresses":["::2"]}]"#, "[]"] {
        let text = set(other).unwrap_err().to_string();
        assert!(text.contains("stations"), "{text}");
    }
    assert_eq!(config.a_to_b.stations[0].loss, Some(0.5));
}
