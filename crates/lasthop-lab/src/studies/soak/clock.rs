// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! When what happens to the daemon and the link does.

use std::time::Duration;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Sample,
    Outage,
    TakeOver,
    Reload,
}

/// Something that comes again.
#[derive(Debug)]
struct Regular {
    event: Event,
    period: Duration,
    next: Duration,
    left: Option<u32>,
}

/// All of that, since the load began.
#[derive(Debug)]
pub(super) struct Clock {
    all: Vec<Regular>,
}

impl Clock {
    /// `all`: events with their periods, and how often; none: to the end. Of two that are due together the
    /// one named first comes first.
    pub(super) fn new(all: &[(Event, Duration, Option<u32>)]) -> Self {
        let regular = |&(event, period, left): &(Event, Duration, Option<u32>)| Regular {
            event,
            period,
            next: period,
            left,
        };
        Self {
            all: all.iter().map(regular).collect(),
        }
    }

    /// What is due and possible. What came too late is not made up for.
    pub(super) fn due(&mut self, now: Duration, possible: impl Fn(Event) -> bool) -> Option<Event> {
        let is_due = |r: &&mut Regular| r.next <= now && r.left != Some(0) && possible(r.event);
        let due = self.all.iter_mut().find(is_due)?;
        due.next = match due.next + due.period {
            next if next <= now => now + due.period,
            next => next,
        };
        due.left = due.left.map(|left| left - 1);
        Some(due.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEC: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_due_comes_once_and_what_waits_comes_later() {
        let mut clock = Clock::new(&[
            (Event::TakeOver, 3 * SEC, Some(1)),
            (Event::Reload, 2 * SEC, None),
        ]);
        let idle = |_: Event| true;
        assert_eq!(clock.due(SEC, idle), None);
        assert_eq!(clock.due(2 * SEC, idle), Some(Event::Reload));
        assert_eq!(clock.due(2 * SEC, idle), None);
        assert_eq!(clock.due(3 * SEC, |event| event != Event::TakeOver), None);
        assert_eq!(clock.due(4 * SEC, idle), Some(Event::TakeOver));
        assert_eq!(clock.due(4 * SEC, idle), Some(Event::Reload));
        assert_eq!(clock.due(5 * SEC, idle), None);
        // A long pause is one event late, not many.
        assert_eq!(clock.due(60 * SEC, idle), Some(Event::Reload));
        assert_eq!(clock.due(60 * SEC, idle), None);
    }
}
