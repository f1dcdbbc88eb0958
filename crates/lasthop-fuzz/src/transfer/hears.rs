// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What an agent hears beside packets: another one at the hop's other end, and the MAC. Both may be
//! wrong, or lie.

use lasthop_core::MSEC_NS;
use lasthop_core::bindings::{
    LH_MAC_DELIVERED, LH_MAC_GIVEN_UP, LH_MAC_UNDELIVERED, lh_mac_report,
};

use super::{Gateway, World};

impl<G: Gateway> World<'_, G> {
    pub(super) fn hears(&mut self, what: u8) {
        match what {
            0 => {
                let rtt_ms = [0, 1, 10, 200][self.input.below(4)];
                self.partner(Some(rtt_ms * MSEC_NS));
            }
            1 => self.partner(None),
            2 | 3 => self.missing(),
            4 => self.absent(),
            _ => self.reports(),
        }
    }

    /// The agents hear each other, or don't.
    fn partner(&mut self, rtt_ns: Option<u64>) {
        self.gateway.set_partner(rtt_ns);
        if let Some(far) = &mut self.far {
            far.set_partner(rtt_ns);
        }
    }

    /// A list of what is under way, or of anything.
    fn list(&mut self) -> Vec<(u32, u32)> {
        let blocks = 1 + self.input.below(4);
        (0..blocks)
            .map(|_| {
                let (how, from) = (self.input.byte(), u32::from(self.input.short()));
                let left = self.fh.next.wrapping_sub(from);
                let bytes = match how & 3 {
                    0 => self.input.word(),
                    n => u32::from(n) * u32::from(how >> 2) * 100,
                };
                (left, left.wrapping_add(bytes))
            })
            .collect()
    }

    fn missing(&mut self) {
        let list = self.list();
        for outcome in self.gateway.on_partner(&list, self.now_ns) {
            self.emit(outcome);
        }
    }

    /// To either end: nothing of a list will come.
    fn absent(&mut self) {
        let list = self.list();
        self.far_hears_absent(&list);
        for outcome in self.gateway.on_absent(&list, self.now_ns) {
            self.order.goes(self.gateway.core(), &outcome, false);
            self.emit(outcome);
        }
    }

    /// Up to eight packets that are on the hop, the oldest first: the MAC lost them, or did not, and
    /// says so in time or late.
    fn reports(&mut self) {
        let (n, how, late) = (self.input.below(8), self.input.byte(), self.input.byte());
        for i in 0..=n {
            let lost = how >> i & 1 != 0;
            let at = usize::from(late >> 4);
            let found = match lost {
                true => self.hop.remove(at),
                false => self.hop.get(at).cloned(),
            };
            let Some((sent_ns, packet)) = found else {
                return;
            };
            let event = match (lost, late & 1) {
                (false, _) => LH_MAC_DELIVERED,
                (true, 0) => LH_MAC_GIVEN_UP,
                (true, _) => LH_MAC_UNDELIVERED,
            };
            let report = lh_mac_report {
                queued_ns: [0, sent_ns][usize::from(late >> 1 & 1)],
                at_ns: self.now_ns.saturating_sub(u64::from(late & 15) * 1_000),
                event,
                pad: 0,
            };
            let outcome = self.gateway.on_mac(&packet, &report, self.now_ns);
            self.emit(outcome);
        }
    }
}
