// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The page in a browser: its figures are those of `lasthop status -j`, narrow and wide, light and
//! dark. With `LASTHOP_SCREENSHOTS=DIR` its pictures are left there.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use lasthop_lab::bed::process::find_binary;
use serde_json::Value;

use super::browser::{Browser, installed};
use super::{PORT, able_alone, at_rest, bed, carry, skip, start};

/// Largest picture that the repository takes.
const PICTURE_BYTES: usize = 150_000;

/// All figures by field, as they can be read and as they are marked; receivers' by address.
const FIGURES: &str = "(() => {
    const of = (root) => Object.fromEntries([...root.querySelectorAll('[data-field]')]
        .filter((e) => root.matches('tr') || !e.closest('tr[data-receiver]'))
        .map((e) => [e.dataset.field, e.textContent.replaceAll('\\u202f', '')]));
    const rows = [...document.querySelectorAll('tr[data-receiver]')];
    return {
        device: of(document.querySelector('section.device')),
        receivers: Object.fromEntries(rows.map((row) => [row.dataset.receiver, of(row)])),
        charts: document.querySelectorAll('svg polyline').length,
        overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        forbidden: window.forbidden,
        style: getComputedStyle(document.querySelector('section.device')).borderTopWidth,
        back: getComputedStyle(document.body).backgroundColor,
        text: getComputedStyle(document.body).color,
        stale: document.getElementById('stale').textContent,
        words: document.body.innerText,
    };
})()";

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".into(),
        other => other.to_string(),
    }
}

/// What does not change while the link rests.
fn check_figures(shown: &Value, status: &Value) {
    let device = shown["device"].as_object().expect("figures");
    let mut counters = 0;
    for (field, figure) in device {
        let counter = &status["counters"][field];
        counters += usize::from(counter.is_u64());
        let told = if counter.is_u64() {
            counter
        } else {
            &status[field]
        };
        assert_eq!(*figure, text(told), "{field}");
    }
    assert!(counters > 15 && device.len() > counters + 8, "{shown}");
    let receivers = status["receivers"].as_array().expect("receivers");
    assert_eq!(receivers.len(), 1, "{status}");
    for receiver in receivers {
        let row = &shown["receivers"][text(&receiver["addr"])];
        for field in [
            "active_flows",
            "rate_bytes_per_s",
            "srtt_us",
            "rtt_min_us",
            "queue_us",
        ] {
            assert_eq!(row[field], text(&receiver[field]), "{field} of {receiver}");
        }
    }
}

/// Of "rgb(r, g, b)".
fn brightness(colour: &Value) -> u32 {
    let colour = colour.as_str().expect("a colour");
    let numbers = colour.split(|c: char| !c.is_ascii_digit());
    numbers
        .filter_map(|number| number.parse::<u32>().ok())
        .sum()
}

#[test]
fn the_page_shows_what_status_says() {
    if !able_alone() {
        return;
    }
    let Some(program) = installed() else {
        return skip("no Chromium is installed");
    };
    let bed = bed();
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let mut command = Command::new(find_binary("lasthop-exporter").expect("it"));
    command.args(["--interval", "1s"]);
    let exporter = start(&bed, command);
    carry(&bed, 6_000_000);
    let status = at_rest(&mut agent);
    thread::sleep(super::FRESH);
    let url = format!("http://127.0.0.1:{PORT}/");
    let mut browser = Browser::start(&bed, program);
    for (width, dark) in [(1280, false), (1280, true), (360, false), (360, true)] {
        // A busy machine may have the agent late for once: then the page says so.
        let shown = super::wait_for("an agent that is up", || {
            browser.show(&url, width, dark);
            let shown = browser.value(FIGURES);
            (!shown["device"]["state"].is_null()).then_some(shown)
        });
        check_figures(&shown, &status);
        assert_eq!(shown["overflow"], 0, "at {width}");
        assert_eq!(shown["charts"], 3);
        assert_eq!(shown["forbidden"], serde_json::json!([]));
        assert_eq!(shown["style"], "1px", "its style is not applied");
        let (back, text) = (brightness(&shown["back"]), brightness(&shown["text"]));
        let apart = if dark {
            text.checked_sub(back)
        } else {
            back.checked_sub(text)
        };
        assert!(apart > Some(400), "{back} behind {text}, dark: {dark}");
        let picture = browser.picture();
        assert!(picture.len() < PICTURE_BYTES, "{} bytes", picture.len());
        if let Some(dir) = std::env::var_os("LASTHOP_SCREENSHOTS") {
            let name = format!(
                "exporter-{width}-{}.png",
                if dark { "dark" } else { "light" }
            );
            fs::write(Path::new(&dir).join(name), picture).expect("picture");
        }
    }
    // It renews itself, and says so when it can't.
    let before = browser.value("Number(document.getElementById('at').dataset.at)");
    super::wait_for("a newer sample", || {
        let at = browser.value("Number(document.getElementById('at').dataset.at)");
        (at.as_f64() > before.as_f64()).then_some(())
    });
    let shown = browser.value(FIGURES);
    check_figures(&shown, &status);
    assert_eq!(
        (&shown["stale"], &shown["forbidden"]),
        (&"".into(), &serde_json::json!([]))
    );
    drop(exporter);
    super::wait_for("a word that it is old", || {
        let stale = browser.value(FIGURES)["stale"].clone();
        let said = stale.as_str().unwrap_or_default();
        thread::sleep(Duration::from_millis(200));
        said.contains("does not answer").then_some(())
    });
    agent.stop().expect("stop");
}
