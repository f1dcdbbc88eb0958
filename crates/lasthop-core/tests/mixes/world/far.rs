// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The agent at MH, where there is one: it tells what the hop has lost.

use super::{Event, HOP_UP, World};
use crate::wire::{Ack, Data, Packet};

impl World {
    /// Data have come over the hop.
    pub(super) fn far_hears(&mut self, i: usize, d: &Data) {
        let (managed, now) = (self.managed(i), self.now_ns);
        if let Some(far) = self.far.as_mut().filter(|_| managed) {
            far.on_arrival(i, d, now);
            self.arm_far(i);
        }
    }

    /// MH's ACK is about to leave.
    pub(super) fn far_answers(&mut self, i: usize, ack: &mut Ack) {
        let (managed, now) = (self.managed(i), self.now_ns);
        let Some(far) = self.far.as_mut().filter(|_| managed) else {
            return;
        };
        let outcome = far.on_answer(i, ack, now);
        if let Some(missing) = outcome.told {
            self.transmit(HOP_UP, Packet::told(i, missing));
        }
        self.arm_far(i);
    }

    fn arm_far(&mut self, i: usize) {
        let at = self.far.as_ref().and_then(|a| a.deadline(i));
        self.arm(i, at, |c| &mut c.far_at, Event::FarTimer(i));
    }

    pub(super) fn far_timer(&mut self, i: usize) {
        let now = self.now_ns;
        self.conns[i].far_at = None;
        let Some(far) = self.far.as_mut() else { return };
        if far.deadline(i).is_some_and(|at| at <= now) {
            let outcome = far.on_timer(i, now);
            if let Some(missing) = outcome.told {
                self.transmit(HOP_UP, Packet::told(i, missing));
            }
        }
        self.arm_far(i);
    }
}
