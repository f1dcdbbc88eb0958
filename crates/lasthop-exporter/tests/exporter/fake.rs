// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Agents that serve nothing: the control socket of real ones, and their report with other figures.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lasthop::control::Control;
use lasthop::memory::{Chosen, Room};
use lasthop::report::{self, Served};
use serde_json::{Value, json};

/// The report of an agent whose device is away, with these counters, each its own.
pub fn status(device: &str, first: u64) -> Value {
    let mut status = report::status(&Served {
        device,
        section: "",
        complaint: "",
        memory: &Chosen::of(None, &Room::UNLIMITED),
        reloads: 0,
        scheme: "rack",
        uptime_s: 12.5,
        view: None,
        now_ns: 0,
    });
    status["state"] = "attached".into();
    for (n, counter) in lasthop_core::counters().enumerate() {
        status["counters"][counter.name] = (first + n as u64).into();
    }
    status["srtt_us"] = 12_500.into();
    status["heartbeat_age_ms"] = 26.into();
    status["receivers_heard"] = 1.into();
    status["receivers"] = json!([{
        "addr": "10.2.0.2", "idle_s": 0.5, "active_flows": 2, "rate_bytes_per_s": 2_500_000,
        "srtt_us": 12_500, "rtt_min_us": 10_000, "queue_us": null,
    }]);
    status
}

/// An agent; dropping it ends it as SIGTERM does.
pub struct Fake {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Fake {
    /// Answers `status` by this object, `peers` by one agent.
    pub fn start(dir: &Path, device: &str, status: Value) -> Self {
        let mut control = Control::claim(dir, device).expect("claim");
        let end = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&end);
        let serve = move || {
            while !told.load(Ordering::Relaxed) {
                for question in control.questions() {
                    let answer = match question.request.as_str() {
                        "status" => format!("{status}\n"),
                        "peers" => "{\"state\":\"up\"}\n{\"state\":\"silent\"}\n".into(),
                        other => panic!("asked for {other}"),
                    };
                    question.say(answer);
                }
                thread::sleep(Duration::from_millis(1));
            }
        };
        Self {
            end,
            thread: Some(thread::spawn(serve)),
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
