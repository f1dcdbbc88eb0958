// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A stretch in which the hosts talk undisturbed over a hop with a rate and a length: what the agent
//! learns from many round trips (a standing queue, a hop that has become longer) takes a thousand
//! bytes of input otherwise.

use lasthop_core::MSEC_NS;

use super::{Gateway, World};

/// Segments of one, at the most 16 times as many.
const SEGMENTS: usize = 32;

impl<G: Gateway> World<'_, G> {
    /// The hop takes one segment at a time and brings it after its length at the earliest; one in so
    /// many is lost, alone or in bursts. FH sends one or two for each ACK, as far as its window goes.
    pub(super) fn talks(&mut self) {
        if self.stretches == 0 {
            return;
        }
        self.stretches -= 1;
        let segment_ns =
            [MSEC_NS / 10, MSEC_NS / 2, 2 * MSEC_NS, 10 * MSEC_NS][self.input.below(4)];
        let length_ns = [0, 1, 5, 10, 20, 40, 80, 300][self.input.below(8)] * MSEC_NS;
        let loss = self.input.byte();
        let (every, burst) = (
            usize::from(loss & 63),
            [1, 2, 4, 40][usize::from(loss >> 6)],
        );
        let how = self.input.byte();
        for i in 1..=SEGMENTS * (1 + usize::from(how & 15)) {
            let Some((sent_ns, packet)) = self.hop.pop_front() else {
                self.sends(1 + usize::from(how >> 4 & 7));
                continue;
            };
            self.pass((self.now_ns + segment_ns).max(sent_ns + length_ns));
            if every == 0 || i % (every * burst) >= burst {
                self.arrives(&packet);
            }
            while let Some(ack) = self.wire.pop_front() {
                self.answered(&ack);
                self.sends(1 + usize::from(how >> 7));
            }
        }
    }
}
