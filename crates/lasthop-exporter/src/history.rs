// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The last hour of each device, in bounded memory: a few numbers per sample.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::asker::DEVICES_MAX;
use crate::sample::Sample;

/// How far back it goes.
pub const SPAN: Duration = Duration::from_secs(3600);

/// What is kept of a device in a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Seconds since 1970.
    pub at_s: f64,
    /// Payload that receivers acknowledged, bytes per second.
    pub goodput_bytes_per_s: f64,
    /// The longest queue before the hop; 0 where none was measured.
    pub queue_s: f64,
    /// Segments sent again from the cache, since attach.
    pub repaired: u64,
}

/// The points of all devices.
#[derive(Debug)]
pub struct History {
    most: usize,
    devices: BTreeMap<String, VecDeque<Point>>,
}

impl History {
    /// For a sample each `interval`.
    pub fn new(interval: Duration) -> Self {
        Self {
            most: (SPAN.as_secs_f64() / interval.as_secs_f64()).ceil() as usize + 1,
            devices: BTreeMap::new(),
        }
    }

    /// Adds those who answered; forgets what is older than an hour.
    pub fn add(&mut self, sample: &Sample) {
        let at_s = sample.at_s();
        for (name, status, _) in sample.up() {
            if !self.devices.contains_key(name) && self.devices.len() >= DEVICES_MAX {
                continue;
            }
            let number = |field: &str| status[field].as_f64().unwrap_or(0.0);
            let points = self.devices.entry(name.to_owned()).or_default();
            if points.len() == self.most {
                points.pop_front();
            }
            points.push_back(Point {
                at_s,
                goodput_bytes_per_s: number("goodput_bytes_per_s"),
                queue_s: number("queue_us") / 1e6,
                repaired: status["counters"]["local_retransmits"]
                    .as_u64()
                    .unwrap_or(0),
            });
        }
        let oldest = at_s - SPAN.as_secs_f64();
        self.devices.retain(|_, points| {
            points.retain(|point| point.at_s >= oldest);
            !points.is_empty()
        });
    }

    /// A device's points, oldest first.
    pub fn of(&self, device: &str) -> Vec<Point> {
        let points = self.devices.get(device);
        points.map_or_else(Vec::new, |points| points.iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use serde_json::json;

    use super::*;
    use crate::sample::Said;

    fn sample(at_s: u64, names: &[&str]) -> Sample {
        let said = |name: &&str| {
            let status = json!({
                "goodput_bytes_per_s": at_s, "queue_us": null, "counters": { "local_retransmits": 3 },
            });
            let peers = Vec::new();
            ((*name).to_owned(), Said::Up { status, peers })
        };
        Sample {
            at: UNIX_EPOCH + Duration::from_secs(at_s),
            took: Duration::ZERO,
            devices: names.iter().map(said).collect(),
            problem: None,
            errors: BTreeMap::new(),
        }
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let mut history = History::new(Duration::from_secs(5));
        for at_s in (10_000..20_000).step_by(5) {
            history.add(&sample(at_s, &["wl0"]));
        }
        let points = history.of("wl0");
        assert_eq!(points.len(), 721);
        assert_eq!((points[0].at_s, points[720].at_s), (16_395.0, 19_995.0));
        assert_eq!(points[0].goodput_bytes_per_s, 16_395.0);
        // The clock may be set, and then there are more of an hour than fit.
        for _ in 0..1_000 {
            history.add(&sample(19_995, &["wl0"]));
        }
        assert_eq!(history.of("wl0").len(), 721);
        history.add(&sample(30_000, &[]));
        assert!(history.of("wl0").is_empty() && history.devices.is_empty());
    }

    #[test]
    fn names_without_end_find_no_room() {
        let mut history = History::new(Duration::from_secs(5));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        for i in 0..1_000 {
            history.add(&sample(now.as_secs(), &[&format!("wl{i}")]));
        }
        assert_eq!(history.devices.len(), DEVICES_MAX);
    }
}
