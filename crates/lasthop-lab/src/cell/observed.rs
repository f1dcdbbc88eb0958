// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What an agent that only watches (scheme `shadow`) says of the hop, beside what happened there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The fields of a record about it; null with other schemes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
#[serde(default)]
pub struct ObservedFigures {
    pub observed_link_lost: Option<u64>,
    pub observed_queue_lost: Option<u64>,
    pub observed_upstream_lost: Option<u64>,
    pub observed_link_mbit: Option<f64>,
    pub observed_expected_mbit: Option<f64>,
    pub observed_gain: Option<f64>,
}

impl ObservedFigures {
    /// Of two lines of `lasthop observe -j`, before and after the measured time: losses are those between
    /// the two, estimates the latter's.
    pub fn new(before: &Value, after: &Value) -> Self {
        let grown = |name: &str| {
            let [before, after] = [before, after].map(|line| line[name].as_u64());
            Some(after?.saturating_sub(before?))
        };
        Self {
            observed_link_lost: grown("link_lost"),
            observed_queue_lost: grown("queue_lost"),
            observed_upstream_lost: grown("upstream_lost"),
            observed_link_mbit: after["link_mbit"].as_f64(),
            observed_expected_mbit: after["expected_mbit"].as_f64(),
            observed_gain: after["gain"].as_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn losses_are_those_of_the_measured_time() {
        let before = json!({"link_lost": 5, "queue_lost": 7, "upstream_lost": 0, "gain": 9.0});
        let after = json!({"link_lost": 9, "queue_lost": 6, "upstream_lost": 1, "gain": 2.5});
        let figures = ObservedFigures::new(&before, &after);
        assert_eq!(figures.observed_link_lost, Some(4));
        assert_eq!(figures.observed_queue_lost, Some(0));
        assert_eq!(figures.observed_gain, Some(2.5));
        assert_eq!(figures.observed_link_mbit, None);
        let none = ObservedFigures::new(&Value::Null, &Value::Null);
        assert_eq!(none, ObservedFigures::default());
    }
}
