// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The agent at the hop's other end, beside MH: it sees data come from the hop and ACKs leave, tells
//! the first one what it misses, and hears nothing but packets.

use lasthop_core::bindings::{LH_POLICY_PARTNER, lh_hole};
use lasthop_core::packet::checksum_ok;
use lasthop_core::{Outcome, Segment, parse};

use super::gateway::worked;
use super::{Gateway, World};

/// What both ends of a connection take a packet for.
fn numbers(s: &Segment) -> (u32, u32, u16, u16, u32) {
    (s.seq, s.ack, s.flags, s.window, s.payload_bytes)
}

impl<G: Gateway> World<'_, G> {
    /// A packet comes to MH's end. Returns it as MH gets it, if it does.
    pub(super) fn enters(&mut self, packet: &[u8]) -> Option<Vec<u8>> {
        let Some(far) = &mut self.far else {
            return Some(packet.to_vec());
        };
        let before = far.core().host().pool().looks();
        let outcome = far.on_ingress(packet, self.now_ns);
        worked(far.core(), before);
        let (passed, dropped) = (outcome.passed.clone(), outcome.dropped);
        self.far_emits(outcome);
        if dropped {
            let (s, _) = parse(packet, 0, None, false).expect("TCP");
            assert_eq!(s.payload_bytes, 0, "data is never kept back");
            return None;
        }
        let passed = passed.unwrap_or_else(|| packet.to_vec());
        self.unchanged(packet, &passed);
        Some(passed)
    }

    /// A packet leaves MH's end, onto the hop.
    pub(super) fn leaves(&mut self, packet: Vec<u8>) {
        let Some(far) = &mut self.far else {
            return self.ingress(packet);
        };
        let before = far.core().host().pool().looks();
        let mut outcome = far.on_egress(&packet, self.now_ns);
        worked(far.core(), before);
        assert!(!outcome.dropped, "what MH sends is never kept back");
        let packet = match outcome.annotated.take() {
            Some(annotated) => {
                self.unchanged(&packet, &annotated);
                let (s, _) = parse(&packet, 0, None, true).expect("TCP");
                // Of the same length only where MH itself had written such an option.
                assert!(annotated.len() > packet.len() || s.nr_missing != 0);
                assert!(annotated.len() <= packet.len() + 40);
                annotated
            }
            None => packet,
        };
        let from = self.wire.len();
        self.up(packet);
        self.kept_on_the_hop(from);
        self.far_emits(outcome);
    }

    /// What `packet`, to MH, is on the hop: as it was, or without what a host says in an agent's name.
    pub(super) fn set_out(&mut self, packet: Vec<u8>, changed: Option<Vec<u8>>) -> Vec<u8> {
        let Some(changed) = changed else {
            return packet;
        };
        self.unchanged(&packet, &changed);
        self.watch.sends(&changed, self.now_ns);
        let (s, key) = parse(&changed, 0, None, true).expect("TCP");
        let flow = self.gateway.core().flow(&key).map(|flow| flow.raw());
        for told in &s.missing[..usize::from(s.nr_missing)] {
            let same = |hole: &lh_hole| (hole.left, hole.right) == (told.left, told.right);
            let ours = flow.is_some_and(|f| f.arrival.hole.iter().any(same));
            assert!(ours, "a host's word got onto the hop");
        }
        changed
    }

    /// Onto the hop towards FH, where it may be lost.
    fn up(&mut self, packet: Vec<u8>) {
        self.ups = self.ups.wrapping_add(1);
        if self.ups & self.ups_lost == 0 {
            self.ingress(packet);
        }
    }

    /// Numbers and bytes of the payload are as they were, whatever became of the options.
    fn unchanged(&self, packet: &[u8], passed: &[u8]) {
        let parsed = |packet| parse(packet, 0, None, true);
        let (Ok((was, _)), Ok((is, _))) = (parsed(packet), parsed(passed)) else {
            return assert_eq!(packet, passed);
        };
        let narrower = Segment {
            window: was.window.min(is.window),
            ..was
        };
        assert_eq!(numbers(&narrower), numbers(&is));
        let payload = |packet: &[u8], s: &Segment| packet[usize::from(s.hdr_bytes)..].to_vec();
        assert_eq!(payload(packet, &was), payload(passed, &is));
        assert!(checksum_ok(passed) || !checksum_ok(packet));
    }

    /// What MH's end tells is the agents' matter: nothing of it is on the wire from its packet `from`
    /// on.
    fn kept_on_the_hop(&self, from: usize) {
        if self.gateway.config().policy() & LH_POLICY_PARTNER == 0 {
            return;
        }
        for packet in self.wire.iter().skip(from) {
            let (s, _) = parse(packet, 0, None, false).expect("TCP");
            assert_eq!(s.nr_missing, 0, "the agents' option got past the hop");
        }
    }

    /// What the far agent does beside a packet.
    pub(super) fn far_emits(&mut self, outcome: Outcome) {
        for packet in outcome.to_mh {
            self.up(packet);
        }
        for told in outcome.told {
            for outcome in self.gateway.on_partner(&told, self.now_ns) {
                self.emit(outcome);
            }
        }
    }
}
