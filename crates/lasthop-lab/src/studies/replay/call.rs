// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One call of the agent, and what came of it.

use lasthop_core::bindings::{
    LH_C_retransmits_asked, LH_C_retransmits_dupack, LH_C_retransmits_mac, LH_C_retransmits_order,
    LH_C_retransmits_partial, LH_C_retransmits_timer,
};
use lasthop_core::{Agent, Outcome, Segment};

use super::step::{Clock, Step};

/// A device of the base station, and the capture of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Towards FH: data come by it, ACKs leave by it.
    Wired,
    /// Towards MH: ACKs come by it, data leave by it.
    Lossy,
}

/// Why the core sends a segment again: the counter that says so, and what people call it.
const REASONS: [(u32, &str); 6] = [
    (LH_C_retransmits_dupack, "duplicate ACK"),
    (LH_C_retransmits_partial, "partial ACK"),
    (LH_C_retransmits_order, "time order"),
    (LH_C_retransmits_timer, "local timer"),
    (LH_C_retransmits_asked, "the other agent's request"),
    (LH_C_retransmits_mac, "the MAC's report"),
];

/// How many segments were sent again for which reason. An action does not tell its reason, but the
/// core counts it in the same call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reasons([u64; REASONS.len()]);

impl Reasons {
    /// Of everything that the agent has done so far.
    pub fn read(agent: &Agent) -> Self {
        Self(REASONS.map(|(id, _)| agent.counter(id)))
    }

    /// Of what it has done since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let mut since = *self;
        for (now, before) in since.0.iter_mut().zip(before.0) {
            *now -= before;
        }
        since
    }

    /// Those that there were.
    pub fn names(&self) -> Vec<&'static str> {
        let named = REASONS.iter().zip(self.0).filter(|(_, n)| *n > 0);
        named.map(|((_, name), _)| *name).collect()
    }
}

/// One call of the agent: for a packet, or for a flow's timer.
#[derive(Debug)]
pub struct Call<'a> {
    /// When.
    pub clock: Clock,
    /// The IP packet, and by which device it came; none: the timer.
    pub packet: Option<(Side, &'a [u8])>,
    /// What the core parsed it to; none if it is not TCP.
    pub segment: Option<&'a Segment>,
    /// What came of it.
    pub outcome: &'a Outcome,
    /// Of the outcome's repairs.
    pub reasons: Reasons,
    /// First of FH's sequence numbers, 0 if none was seen.
    pub base: u32,
    /// By which the windows in MH's headers are shifted.
    pub window_shift: u8,
    /// The line that tells of it; none if the packet is not TCP.
    pub step: Option<Step>,
}

impl<'a> Call<'a> {
    /// A call of which nothing is known but when it was and what came of it.
    pub fn new(clock: Clock, outcome: &'a Outcome, reasons: Reasons) -> Self {
        Self {
            clock,
            packet: None,
            segment: None,
            outcome,
            reasons,
            base: 0,
            window_shift: 0,
            step: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_those_since_before() {
        let before = Reasons([4, 0, 7, 0, 0, 1]);
        assert_eq!(before.since(&before).names(), Vec::<&str>::new());
        let after = Reasons([5, 0, 9, 0, 0, 1]);
        let since = after.since(&before);
        assert_eq!(since, Reasons([1, 0, 2, 0, 0, 0]));
        assert_eq!(since.names(), ["duplicate ACK", "time order"]);
    }
}
