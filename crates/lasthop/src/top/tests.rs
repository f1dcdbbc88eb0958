// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use super::*;
use crate::report::FLOW_KEY;

fn status(dev: &str, bytes: u64) -> Value {
    json!({
        "dev": dev, "state": "attached", "scheme": "rack", "flows": 2, "cache_bytes": 3 << 20,
        "counters": {"data_bytes": bytes, "local_retransmits": bytes / 1000, "suppressed_acks": 0},
    })
}

fn flow(mh: &str, port: u16, bytes: u64, repairs: u64) -> Value {
    json!({
        "dev": "wl0", "mh": mh, "mh_port": port, "fh": "2001:db8::1", "fh_port": 443, "vlan": [],
        "data_bytes": bytes, "local_retransmits": repairs, "suppressed_acks": 5, "cached_segments": 7,
        "srtt_us": 12_340, "outage_s": null, "why": if repairs > 0 { "helped" } else { "nothing-lost" },
    })
}

/// No other fields are asked for.
#[test]
fn the_fixture_has_what_is_asked_for() {
    let object = flow("10.0.0.2", 1, 5, 0);
    let mut asked = [&FLOW_KEY[..], &OF_FLOWS].concat();
    asked.sort_unstable();
    assert_eq!(crate::fields::keys(&object), asked);
}

fn sample(at_s: u64, flows: Vec<Value>) -> Sample {
    let bytes = flows
        .iter()
        .filter_map(|flow| flow["data_bytes"].as_u64())
        .sum();
    Sample {
        at: Duration::from_secs(at_s),
        status: vec![status("wl0", bytes), status("wwan0", 0)],
        peers: Some(vec![json!({"dev": "wl0", "state": "up"})]),
        flows: Some(flows),
        silent: Vec::new(),
    }
}

/// Two looks two seconds apart: 8 Mbit/s to the first receiver, 1 to the second.
fn seen() -> Seen {
    let mut seen = Seen::default();
    seen.look(sample(
        0,
        vec![flow("10.0.0.2", 1, 0, 0), flow("10.0.1.3", 2, 0, 0)],
    ));
    seen.look(sample(
        2,
        vec![
            flow("10.0.0.2", 1, 2_000_000, 0),
            flow("10.0.1.3", 2, 250_000, 9),
        ],
    ));
    seen
}

fn model(kind: Kind) -> Model {
    Model::new(kind, None, "", Duration::from_secs(1)).unwrap()
}

fn at(model: &mut Model, width: u16, height: u16) -> Vec<String> {
    let text = as_text(model, &seen(), Size::new(width, height)).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), usize::from(height));
    assert!(
        lines
            .iter()
            .all(|line| line.chars().count() <= usize::from(width))
    );
    lines
}

fn press(model: &mut Model, keys: &str) {
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            '\u{8}' => KeyCode::Backspace,
            '\t' => KeyCode::Tab,
            key => KeyCode::Char(key),
        };
        model.press(KeyEvent::new(code, KeyModifiers::NONE), 10);
    }
}

/// The first column of the rows shown.
fn first(model: &Model) -> Vec<String> {
    let rows = model.rows(&seen());
    rows.iter().map(|row| row.cells[0].text.clone()).collect()
}

#[test]
fn flows_at_80_by_24() {
    let lines = at(&mut model(Kind::Flows), 80, 24);
    assert_eq!(
        lines[0],
        "lasthop devices receivers [flows]  2 devices, 4 flows, every 1s"
    );
    assert_eq!(
        lines[1],
        "MH         Mbit/s*  REPAIRS WHY          FH               SRTT ms  CACHED  KEPT"
    );
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>(),
        [
            "10.0.0.2",
            "1",
            "8.0",
            "0",
            "nothing-lost",
            "2001:db8::1",
            "443",
            "12.3",
            "7",
            "5"
        ]
    );
    assert!(lines[3].starts_with("10.0.1.3 2     1.0"), "{}", lines[3]);
    assert_eq!(lines[4], "");
    assert_eq!(lines[23], "q end  h help  s sort  / filter  p pause");
}

/// Where it is narrow the columns behind give way, not the one that it is sorted by.
#[test]
fn flows_at_40_by_20() {
    let mut narrow = model(Kind::Flows);
    let lines = at(&mut narrow, 40, 20);
    assert_eq!(lines[1], "MH         Mbit/s*  REPAIRS WHY");
    assert!(lines[2].ends_with("nothing-lost"), "{}", lines[2]);
    let mut by_kept = Model::new(Kind::Flows, Some("kept"), "", Duration::from_secs(1)).unwrap();
    let lines = at(&mut by_kept, 40, 20);
    assert!(
        lines[1].starts_with("MH ") && lines[1].ends_with("KEPT*"),
        "{}",
        lines[1]
    );
    for (width, height) in [(1, 3), (10, 3), (20, 5), (200, 60)] {
        for kind in Kind::ALL {
            at(&mut model(kind), width, height);
        }
    }
}

#[test]
fn devices_and_receivers() {
    let lines = at(&mut model(Kind::Devices), 80, 24);
    let words: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(
        words,
        [
            "wl0", "9.0", "2", "1125.0", "attached", "rack", "0.0", "3.0", "1"
        ]
    );
    let lines = at(&mut model(Kind::Receivers), 80, 24);
    let words: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(
        words,
        ["10.0.0.2", "8.0", "1", "0", "wl0", "12.3", "7", "-"]
    );
}

#[test]
fn rows_are_sorted() {
    let mut model = model(Kind::Flows);
    assert_eq!(first(&model), ["10.0.0.2 1", "10.0.1.3 2"]);
    press(&mut model, "s"); // by repairs
    assert_eq!(first(&model), ["10.0.1.3 2", "10.0.0.2 1"]);
    press(&mut model, "r");
    assert_eq!(first(&model), ["10.0.0.2 1", "10.0.1.3 2"]);
    let wrong = Model::new(Kind::Devices, Some("why"), "", Duration::ZERO).unwrap_err();
    assert!(
        wrong.starts_with("--sort why: devices have dev, rate"),
        "{wrong}"
    );
    for kind in Kind::ALL {
        for column in kind.columns() {
            let sorted = Model::new(kind, Some(column.word), "", Duration::ZERO).unwrap();
            assert_eq!(kind.columns()[sorted.sorted_by()].word, column.word);
        }
    }
}

#[test]
fn rows_are_chosen_by_text_or_prefix() {
    let mut model = model(Kind::Flows);
    press(&mut model, "/helped");
    assert!(model.is_typing);
    assert_eq!(first(&model), ["10.0.1.3 2"]);
    assert_eq!(at(&mut model, 80, 24)[23], "/helped_");
    press(&mut model, "\u{8}\n");
    assert_eq!(model.filter, "helpe");
    press(&mut model, "\u{1b}/10.0.0.0/24\n");
    assert_eq!(first(&model), ["10.0.0.2 1"]);
    press(&mut model, "\u{1b}/2001:db8::/32\n");
    assert_eq!(first(&model).len(), 2);
    press(&mut model, "\u{1b}/nobody");
    assert!(first(&model).is_empty());
    press(&mut model, &"x".repeat(500));
    assert!(model.filter.len() < 100);
}

#[test]
fn keys_do_what_the_help_says() {
    let mut model = model(Kind::Flows);
    press(&mut model, "p");
    assert!(model.is_paused && at(&mut model, 80, 24)[0].contains("paused"));
    press(&mut model, "p\t");
    assert_eq!((model.is_paused, model.kind), (false, Kind::Devices));
    press(&mut model, "+");
    assert_eq!(model.interval, Duration::from_secs(2));
    press(&mut model, "----------");
    assert_eq!(model.interval, Duration::from_millis(250));
    press(&mut model, "h");
    let help = at(&mut model, 80, 24).join("\n");
    assert!(help.contains("Ctrl-C   end"), "{help}");
    press(&mut model, "x");
    assert!(!model.helps && !model.is_over);
    press(&mut model, "q");
    assert!(model.is_over);
}

#[test]
fn one_may_scroll_to_the_last_page() {
    let mut seen = Seen::default();
    let flows = (0..100).map(|port| flow("10.0.0.2", port, u64::from(port), 0));
    seen.look(sample(0, flows.collect()));
    let mut model = model(Kind::Flows);
    model.press(KeyEvent::new(KeyCode::End, KeyModifiers::NONE), 21);
    let text = as_text(&mut model, &seen, SIZE).unwrap();
    assert_eq!((model.skipped, text.lines().count()), (100 - 21, 24));
    assert!(text.lines().nth(22).unwrap().starts_with("10.0.0.2 "));
    model.press(KeyEvent::new(KeyCode::PageUp, KeyModifiers::NONE), 21);
    assert_eq!(model.skipped, 100 - 42);
    model.press(KeyEvent::new(KeyCode::Home, KeyModifiers::NONE), 21);
    assert_eq!(model.skipped, 0);
}

/// Whoever answers on a socket may say anything; and who doesn't answer is named.
#[test]
fn strange_answers_are_shown_somehow() {
    let mut seen = Seen::default();
    seen.look(Sample {
        status: vec![json!(3), json!({"dev": "a\u{1b}[31m\n\0"})],
        flows: Some(vec![
            json!([]),
            json!({"mh": "\u{200d}\u{1f469}\u{301}", "why": "x".repeat(9_000)}),
        ]),
        silent: vec!["wl1: process 3 has not answered for 2 s".into()],
        ..Sample::default()
    });
    for kind in Kind::ALL {
        let text = as_text(&mut model(kind), &seen, SIZE).unwrap();
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(
            text.ends_with("wl1: process 3 has not answered for 2 s\n"),
            "{text}"
        );
    }
}

/// Connections that were not asked for this time stay as they were, rates too.
#[test]
fn what_was_not_asked_for_stays() {
    let mut seen = seen();
    seen.look(Sample {
        flows: None,
        ..sample(3, Vec::new())
    });
    let rows = model(Kind::Flows).rows(&seen);
    assert_eq!((rows.len(), rows[0].cells[1].text.as_str()), (2, "8.0"));
    seen.look(sample(5, vec![flow("10.0.0.2", 1, 1, 0)]));
    let rows = model(Kind::Flows).rows(&seen);
    assert_eq!((rows.len(), rows[0].cells[1].text.as_str()), (1, "-"));
}

/// 10,000 connections are sorted and drawn in less time than lies between two looks by far.
#[test]
fn ten_thousand_connections_are_drawn() {
    let flows = |bytes: u64| {
        let flow = |i: u64| flow("10.0.0.2", i as u16, bytes * i, i % 3);
        (0..10_000).map(flow).collect::<Vec<_>>()
    };
    let mut seen = Seen::default();
    let began = Instant::now();
    seen.look(sample(0, flows(1)));
    seen.look(sample(1, flows(2)));
    let text = as_text(&mut model(Kind::Flows), &seen, SIZE).unwrap();
    eprintln!("two looks and a screen: {:?}", began.elapsed());
    assert!(
        text.lines().nth(2).unwrap().starts_with("10.0.0.2 9999 "),
        "{text}"
    );
}

/// 10,000 connections through a socket, as a daemon sends them, and then none for a while.
#[test]
fn ten_thousand_connections_are_asked_for() {
    use crate::control::Control;
    let directory = tempfile::tempdir().unwrap();
    let mut control = Control::claim(directory.path(), "wl0").unwrap();
    let line = format!("{}\n", flow("10.0.0.2", 1, 5, 0));
    let (looked, look) = std::sync::mpsc::channel();
    let runtime_dir = directory.path().to_owned();
    std::thread::spawn(move || {
        let mut pace = Pace::default();
        let began = Instant::now();
        let sample = ask_around(&runtime_dir, Duration::ZERO, &mut pace);
        looked.send((sample, began.elapsed(), pace)).unwrap();
    });
    let (sample, took, pace) = loop {
        for question in control.questions() {
            let answer = match question.request.as_str() {
                "flows why" => line.repeat(10_000),
                "status" => format!("{}\n", status("wl0", 5)),
                _ => String::new(),
            };
            question.say(answer);
        }
        if let Ok(look) = look.try_recv() {
            break look;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    eprintln!("asking for them: {took:?}");
    assert_eq!(sample.unwrap().flows.map(|flows| flows.len()), Some(10_000));
    assert!(!pace.is_due(Instant::now()));
}

/// A twentieth of the time.
#[test]
fn asking_takes_a_part_of_the_time() {
    let began = Instant::now();
    let mut pace = Pace::default();
    assert!(pace.is_due(began));
    let end = began + Duration::from_millis(200);
    pace.spent(began, end);
    assert!(!pace.is_due(end + Duration::from_millis(3_700)));
    assert!(pace.is_due(end + Duration::from_millis(3_800)));
}
