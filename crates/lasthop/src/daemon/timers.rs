// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The flows' timers where the kernel lets programs have none (PREEMPT_RT): when which flow is to be
//! kicked. One time per flow, the one that was asked for last, as with a timer in the kernel; so no more
//! than the table has places.

use std::collections::{BTreeSet, HashMap};

use lasthop_core::bindings::lh_event;

/// Flows that are to be kicked, each at its time of CLOCK_MONOTONIC.
#[derive(Default)]
pub(super) struct Timers {
    order: BTreeSet<(u64, u32)>,
    flows: HashMap<u32, (u64, lh_event)>,
}

impl Timers {
    /// Has the flow of this event kicked at that time, and at no other that it asked for before.
    pub(super) fn arm(&mut self, event: lh_event, at_ns: u64) {
        if let Some((before_ns, _)) = self.flows.insert(event.flow, (at_ns, event)) {
            self.order.remove(&(before_ns, event.flow));
        }
        self.order.insert((at_ns, event.flow));
    }

    /// When the first is due.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.order.first().map(|(at_ns, _)| *at_ns)
    }

    /// Takes the first that is due by now.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<lh_event> {
        let &(at_ns, flow) = self.order.first()?;
        if at_ns > now_ns {
            return None;
        }
        self.order.pop_first();
        self.flows.remove(&flow).map(|(_, event)| event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(flow: u32, generation: u32) -> lh_event {
        lh_event {
            flow,
            generation,
            family: 4,
            in_us: 1,
        }
    }

    #[test]
    fn one_time_per_flow_and_the_first_first() {
        let mut timers = Timers::default();
        assert_eq!(timers.first_ns(), None);
        timers.arm(event(1, 1), 300);
        timers.arm(event(2, 1), 200);
        timers.arm(event(1, 2), 100); // earlier
        timers.arm(event(2, 2), 400); // later, of another connection in the same place
        timers.arm(event(3, 1), 400);
        assert_eq!(timers.first_ns(), Some(100));
        assert!(timers.take_due(99).is_none());
        let mut taken = |now_ns| {
            std::iter::from_fn(|| timers.take_due(now_ns))
                .map(|e| (e.flow, e.generation))
                .collect::<Vec<_>>()
        };
        assert_eq!(taken(399), [(1, 2)]);
        assert_eq!(taken(400), [(2, 2), (3, 1)]);
        assert_eq!(taken(u64::MAX), []);
        assert_eq!(timers.first_ns(), None);
    }
}
