// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The flows' timers that the kernel has none for: with PREEMPT_RT all, elsewhere those for which it had no
//! memory at hand. One time per flow, the one that was asked for last, as with a timer in the kernel; so no
//! more than the table has places.

use std::collections::{BTreeSet, HashMap};

/// Flows, by their index, each with its time of CLOCK_MONOTONIC.
#[derive(Default)]
pub(super) struct Timers {
    order: BTreeSet<(u64, u32)>,
    flows: HashMap<u32, u64>,
}

impl Timers {
    /// Sets the timer of a flow, to that time and no other that it asked for before.
    pub(super) fn arm(&mut self, flow: u32, at_ns: u64) {
        if let Some(before_ns) = self.flows.insert(flow, at_ns) {
            self.order.remove(&(before_ns, flow));
        }
        self.order.insert((at_ns, flow));
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.flows.len()
    }

    /// When the first is due.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.order.first().map(|(at_ns, _)| *at_ns)
    }

    /// Takes those that are due by now, the first first.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some(&(at_ns, flow)) = self.order.first() {
            if at_ns > now_ns {
                break;
            }
            self.order.pop_first();
            self.flows.remove(&flow);
            due.push(flow);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_per_flow_and_the_first_first() {
        let mut timers = Timers::default();
        assert_eq!(timers.first_ns(), None);
        timers.arm(1, 300);
        timers.arm(2, 200);
        timers.arm(1, 100); // earlier
        timers.arm(2, 400); // later
        timers.arm(3, 400);
        assert_eq!(timers.first_ns(), Some(100));
        assert!(timers.take_due(99).is_empty());
        assert_eq!(timers.take_due(399), [1]);
        assert_eq!(timers.take_due(400), [2, 3]);
        assert!(timers.take_due(u64::MAX).is_empty());
        assert_eq!(timers.first_ns(), None);
    }
}
