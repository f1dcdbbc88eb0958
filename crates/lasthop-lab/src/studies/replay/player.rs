// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The native agent, fed with packets in the order of their times.

use std::collections::BTreeMap;

use anyhow::Result;
use lasthop_core::{Agent, Key, SEC_NS, Segment, Setup, parse};

use super::call::{Call, Reasons, Side};
use super::step::{Clock, Kind, Step};

/// How often flows that are over are forgotten, as the daemon does.
const SWEEP_NS: u64 = SEC_NS;

#[derive(Debug, Clone, Copy)]
struct Known {
    number: usize,
    /// First sequence number of FH's, once one was seen.
    base: Option<u32>,
}

/// An agent that lives in the time of captures.
#[derive(Debug)]
pub struct Player {
    agent: Agent,
    flows: BTreeMap<Key, Known>,
    clock: Option<Clock>,
    swept_ns: u64,
}

impl Player {
    /// An agent that has seen nothing.
    pub fn new(setup: Setup) -> Self {
        Self {
            agent: Agent::new(setup),
            flows: BTreeMap::new(),
            clock: None,
            swept_ns: 0,
        }
    }

    /// The agent.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Time of the newest packet or timer; none before the first.
    pub fn clock(&self) -> Option<Clock> {
        self.clock
    }

    /// Runs the timers that are due before `at_ns`, then hands the packet over: an IP packet
    /// captured at `at_ns` nanoseconds. Time never runs backwards: a packet that is late in the
    /// capture counts as of now. `say` is given each call of the agent.
    ///
    /// # Errors
    /// Those of `say`.
    pub fn packet(
        &mut self,
        side: Side,
        packet: &[u8],
        at_ns: u64,
        say: &mut dyn FnMut(&Call) -> Result<()>,
    ) -> Result<()> {
        let clock = self.clock.unwrap_or(Clock {
            start_ns: at_ns,
            now_ns: at_ns,
        });
        self.clock = Some(clock);
        self.run_timers(at_ns, say)?;
        let clock = self.advance(at_ns);
        if clock.now_ns - self.swept_ns >= SWEEP_NS {
            self.swept_ns = clock.now_ns;
            self.agent.sweep(clock.now_ns);
        }
        let parsed = parse(packet, 0, None, side == Side::Wired).ok();
        let before = Reasons::read(&self.agent);
        let (kind, outcome) = match side {
            Side::Wired => (Kind::Data, self.agent.on_egress(packet, clock.now_ns)),
            Side::Lossy => (Kind::Ack, self.agent.on_ingress(packet, clock.now_ns)),
        };
        let reasons = Reasons::read(&self.agent).since(&before);
        let mut call = Call::new(clock, &outcome, reasons);
        call.packet = Some((side, packet));
        // What is not TCP has no flow to tell of; the agent has counted it.
        if let Some((segment, key)) = &parsed {
            let known = self.learn(key, side, segment);
            let mut step = Step::new(kind, clock, key.to_string(), known.number);
            step.set_packet(segment, known.base);
            self.complete(step, key, &mut call);
            call.segment = Some(segment);
        }
        say(&call)
    }

    fn run_timers(
        &mut self,
        until_ns: u64,
        say: &mut dyn FnMut(&Call) -> Result<()>,
    ) -> Result<()> {
        while let (Some(deadline_ns), Some(clock)) = (self.agent.next_deadline(), self.clock) {
            // At least a nanosecond later than the last: the loop ends whatever the agent wants.
            let due_ns = deadline_ns.max(clock.now_ns + 1);
            if due_ns > until_ns {
                break;
            }
            let clock = self.advance(due_ns);
            for key in self.agent.due(clock.now_ns) {
                let before = Reasons::read(&self.agent);
                let Some(outcome) = self.agent.kick(&key, clock.now_ns) else {
                    continue;
                };
                let reasons = Reasons::read(&self.agent).since(&before);
                let number = self.flows.get(&key).map_or(0, |known| known.number);
                let step = Step::new(Kind::Timer, clock, key.to_string(), number);
                let mut call = Call::new(clock, &outcome, reasons);
                self.complete(step, &key, &mut call);
                say(&call)?;
            }
        }
        Ok(())
    }

    fn advance(&mut self, at_ns: u64) -> Clock {
        let clock = self.clock.get_or_insert(Clock {
            start_ns: at_ns,
            now_ns: at_ns,
        });
        clock.now_ns = clock.now_ns.max(at_ns);
        *clock
    }

    /// The flow's number and base, from this packet if it is the first to tell.
    fn learn(&mut self, key: &Key, side: Side, segment: &Segment) -> Known {
        let number = self.flows.len() + 1;
        let known = self
            .flows
            .entry(*key)
            .or_insert(Known { number, base: None });
        match side {
            // A SYN begins anew: ports are used again.
            Side::Wired if known.base.is_none() || segment.is_syn() => {
                known.base = Some(segment.seq);
            }
            Side::Lossy if known.base.is_none() && segment.is_ack() => {
                known.base = Some(segment.ack);
            }
            _ => {}
        }
        *known
    }

    /// Enters what is known of the flow after the call.
    fn complete(&self, mut step: Step, key: &Key, call: &mut Call) {
        let base = self.flows.get(key).and_then(|known| known.base);
        let base = base.unwrap_or(0);
        if let (Some(actions), Some(flow), Some(clock)) =
            (&call.outcome.actions, self.agent.flow(key), self.clock)
        {
            step.set_actions(actions, flow, base);
            step.set_state(flow, actions.deadline_ns(), base, clock);
            call.window_shift = flow.raw().conn.wscale_mh;
        }
        call.base = base;
        call.step = Some(step);
    }
}
