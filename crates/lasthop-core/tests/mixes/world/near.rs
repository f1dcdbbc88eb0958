// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The agent at the router: what it decides is carried out, and its timers run.

use super::{Event, WIRE_UP, World};
use crate::agent::Outcome;
use crate::wire::{Ack, Packet};

impl World {
    pub(super) fn carry_out(&mut self, i: usize, outcome: Outcome) {
        for d in outcome.repairs {
            self.repairs += 1;
            let lane = self.hop_lane(i);
            self.transmit(lane, Packet::data(i, d));
        }
        let acks: Vec<Ack> = outcome.released.into_iter().chain(outcome.passed).collect();
        for a in acks {
            self.transmit(WIRE_UP, Packet::ack(i, a));
        }
        self.arm_agent(i);
    }

    pub(super) fn arm_agent(&mut self, i: usize) {
        let at = self.agent.as_ref().and_then(|a| a.deadline(i));
        self.arm(i, at, |c| &mut c.agent_at, Event::AgentTimer(i));
    }

    pub(super) fn agent_timer(&mut self, i: usize) {
        let now = self.now_ns;
        self.conns[i].agent_at = None;
        let Some(agent) = self.agent.as_mut() else {
            return;
        };
        if agent.deadline(i).is_some_and(|at| at <= now) {
            let outcome = agent.on_timer(i, now);
            self.carry_out(i, outcome);
        } else {
            self.arm_agent(i);
        }
    }
}
