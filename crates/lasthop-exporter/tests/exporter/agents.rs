// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Agents that end, start anew, hang, or never were.

use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use lasthop::control::{Control, directory};
use serde_json::Value;

use super::exposition::{Key, Series, read};
use super::fake::{Fake, status};
use super::http::get;
use super::metrics::value;
use super::process::{Exporter, Place};

/// What was asked within a second is told again.
const FRESH: Duration = Duration::from_millis(1_100);
/// An answer takes no longer, whatever the agents do.
const LONGEST: Duration = Duration::from_secs(5);

fn scrape(exporter: &Exporter) -> Series {
    thread::sleep(FRESH);
    let before = Instant::now();
    let series = read(&get(exporter.at, "/metrics").body, true).expect("text");
    assert!(before.elapsed() < LONGEST, "it took {:?}", before.elapsed());
    series
}

fn up(series: &Series, device: &str) -> Option<f64> {
    value(series, "lasthop_up", &[("device", device)])
}

fn errors(series: &Series, device: &str, reason: &str) -> f64 {
    let labels = [("device", device), ("reason", reason)];
    value(series, "lasthop_exporter_ask_errors_total", &labels).unwrap_or(0.0)
}

/// All that is said of a device but whether it is up and why not.
fn said_of(series: &Series, device: &str) -> usize {
    let of = |(name, labels): &&Key| {
        let ours = ["lasthop_up", "lasthop_exporter_ask_errors_total"];
        let device = ("device".to_owned(), device.to_owned());
        labels.contains(&device) && !ours.contains(&name.as_str())
    };
    series.keys().filter(of).count()
}

#[test]
fn a_restart_is_a_reset_of_counters() {
    let place = Place::new();
    let exporter = place.serve(&[]);
    assert_eq!(up(&scrape(&exporter), "wl0"), None, "nobody was there yet");
    let agent = Fake::start(&place.run(), "wl0", status("wl0", 5_000));
    let data = |series: &Series| value(series, "lasthop_data_segments_total", &[("device", "wl0")]);
    assert_eq!(data(&scrape(&exporter)), Some(5_000.0));
    drop(agent);
    let gone = scrape(&exporter);
    assert_eq!(up(&gone, "wl0"), Some(0.0), "it is not forgotten");
    assert_eq!(said_of(&gone, "wl0"), 0, "figures of a dead agent");
    assert!(errors(&gone, "wl0", "gone") >= 1.0);
    let _agent = Fake::start(&place.run(), "wl0", status("wl0", 3));
    let back = scrape(&exporter);
    assert_eq!((up(&back, "wl0"), data(&back)), (Some(1.0), Some(3.0)));
}

/// A socket without a process behind it, as SIGKILL leaves it.
#[test]
fn a_killed_agent_is_down() {
    let place = Place::new();
    let _other = Fake::start(&place.run(), "wl1", status("wl1", 0)); // which makes the directory
    let socket = directory(&place.run()).expect("directory").join("wl0.sock");
    drop(UnixListener::bind(socket).expect("socket"));
    let exporter = place.serve(&[]);
    let series = scrape(&exporter);
    assert_eq!(
        (up(&series, "wl0"), up(&series, "wl1")),
        (Some(0.0), Some(1.0))
    );
    assert!(errors(&series, "wl0", "gone") >= 1.0);
}

#[test]
fn a_device_that_should_be_there_is_missed() {
    let place = Place::new();
    let exporter = place.serve(&["--expect", "wl0"]);
    let series = scrape(&exporter);
    assert_eq!(up(&series, "wl0"), Some(0.0));
    assert_eq!(said_of(&series, "wl0"), 0);
}

/// One that hangs costs time, but not the others' figures, and the page is there as well.
#[test]
fn a_hung_agent_holds_nobody_up() {
    let place = Place::new();
    let _hung = Control::claim(&place.run(), "wl0").expect("claim");
    let _agent = Fake::start(&place.run(), "wl1", status("wl1", 9));
    let exporter = place.serve(&[]);
    let series = scrape(&exporter);
    assert_eq!(
        (up(&series, "wl0"), up(&series, "wl1")),
        (Some(0.0), Some(1.0))
    );
    assert_eq!(said_of(&series, "wl0"), 0);
    assert!(errors(&series, "wl0", "late") >= 1.0);
    let page = get(exporter.at, "/");
    assert!(
        page.body.contains("has not answered in time"),
        "{}",
        page.body
    );
    let now: Value = serde_json::from_str(&get(exporter.at, "/api/v1/now").body).expect("JSON");
    assert_eq!(now["devices"][0]["reason"], "late");
    assert_eq!(now["devices"][1]["status"], status("wl1", 9));
}

/// However many ask, an agent is asked once a second.
#[test]
fn many_scrapes_are_one_question() {
    let place = Place::new();
    let mut control = Control::claim(&place.run(), "wl0").expect("claim");
    let exporter = place.serve(&["--interval", "60s"]);
    let mut asked = 0;
    let begin = Instant::now();
    thread::scope(|scope| {
        let at = exporter.at;
        let scrapes: Vec<_> = (0..20)
            .map(|_| scope.spawn(move || get(at, "/metrics").status))
            .collect();
        while !scrapes.iter().all(thread::ScopedJoinHandle::is_finished) {
            for question in control.questions() {
                asked += usize::from(question.request == "status");
                let text = match question.request.as_str() {
                    "status" => format!("{}\n", status("wl0", 1)),
                    _ => String::new(),
                };
                question.say(text);
            }
            thread::sleep(Duration::from_millis(1));
        }
        for scrape in scrapes {
            assert_eq!(scrape.join().expect("scrape"), 200);
        }
    });
    let most = 2 + begin.elapsed().as_secs() as usize;
    assert!((1..=most).contains(&asked), "asked {asked} times");
}

/// What is no answer is said to be none.
#[test]
fn nonsense_is_no_status() {
    let place = Place::new();
    let _agents = ["wl0", "wl1"].map(|device| {
        let nonsense = [Value::Null, serde_json::json!({ "counters": 3 })];
        let which = usize::from(device == "wl1");
        Fake::start(&place.run(), device, nonsense[which].clone())
    });
    let exporter = place.serve(&[]);
    let series = scrape(&exporter);
    for device in ["wl0", "wl1"] {
        assert_eq!(up(&series, device), Some(0.0), "{device}");
        assert!(errors(&series, device, "broken") >= 1.0, "{device}");
    }
}

/// Where others may write nobody is believed.
#[test]
fn an_unsafe_directory_is_not_asked() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(place.run(), open).expect("mode");
    let exporter = place.serve(&["--expect", "wl0"]);
    let series = scrape(&exporter);
    assert_eq!(up(&series, "wl0"), Some(0.0));
    assert!(errors(&series, "", "directory") >= 1.0);
    assert!(get(exporter.at, "/").body.contains("others may write"));
}
