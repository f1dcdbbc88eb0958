// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What scheme `shadow` has added up (core/shadow.h).

use std::ops::AddAssign;

use crate::bindings::{lh_flow, lh_shadow_sums, lhc_shadow_sender};

impl lh_flow {
    /// What the flow's sender seems to be, one of `LH_SHADOW_SENDER_*`.
    pub fn sender(&self) -> u32 {
        // SAFETY: read only, for the length of the call.
        unsafe { lhc_shadow_sender(self) }
    }
}

impl AddAssign<&Self> for lh_shadow_sums {
    fn add_assign(&mut self, other: &Self) {
        // Every field, so that a new one is not forgotten.
        let Self {
            flows,
            segs,
            bytes,
            busy_ns,
            lost,
            segs_full,
            lost_full,
            superfluous,
            mistaken,
            upstream_lost,
            late_ns,
            late,
            acks,
            acks_limited,
            rounds,
            wired_ns,
            local_ns,
            unloaded_ns,
            outages,
            outage_ns,
        } = other;
        self.flows += flows;
        self.segs += segs;
        self.bytes += bytes;
        self.busy_ns += busy_ns;
        self.lost += lost;
        self.segs_full += segs_full;
        self.lost_full += lost_full;
        self.superfluous += superfluous;
        self.mistaken += mistaken;
        self.upstream_lost += upstream_lost;
        self.late_ns += late_ns;
        self.late += late;
        self.acks += acks;
        self.acks_limited += acks_limited;
        self.rounds += rounds;
        self.wired_ns += wired_ns;
        self.local_ns += local_ns;
        self.unloaded_ns += unloaded_ns;
        self.outages += outages;
        self.outage_ns += outage_ns;
    }
}
