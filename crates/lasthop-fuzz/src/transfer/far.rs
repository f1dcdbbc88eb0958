// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The agent at the hop's other end, beside MH: it sees data come from the hop and ACKs leave, tells
//! the first one what it misses, and hears nothing but packets.

use lasthop_core::bindings::{LH_POLICY_CHANNEL, LH_SYN, lh_hole};
use lasthop_core::packet::checksum_ok;
use lasthop_core::{Outcome, Segment, parse};

use super::gateway::worked;
use super::{Gateway, World};

/// What both ends of a connection take a packet for.
fn numbers(s: &Segment) -> (u32, u32, u16, u16, u32) {
    (s.seq, s.ack, s.flags, s.window, s.payload_bytes)
}

impl<G: Gateway> World<'_, G> {
    /// A packet comes to MH's end. Returns what MH gets.
    pub(super) fn enters(&mut self, packet: &[u8]) -> Vec<Vec<u8>> {
        let Some(far) = &mut self.far else {
            return vec![packet.to_vec()];
        };
        let before = far.core().host().pool().looks();
        let mut outcome = far.on_ingress(packet, self.now_ns);
        worked(far.core(), before);
        if !outcome.dropped && outcome.passed.is_none() {
            outcome.passed = Some(packet.to_vec());
        }
        self.far_order
            .comes(far.core(), packet, &outcome, self.now_ns);
        if let Some(passed) = &outcome.passed {
            self.unchanged(packet, passed);
        }
        let passed = outcome.passed.take();
        passed.into_iter().chain(self.far_emits(outcome)).collect()
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
        if let Ok((s, _)) = parse(&packet, 0, None, true) {
            let syn = u32::from(s.flags) & LH_SYN != 0;
            self.far_order.goes(far.core(), &outcome, syn);
            self.far_order.has(s.ack);
        }
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
        assert!(outcome.to_fh.iter().all(|packet| payload(packet) == 0));
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
        if self.gateway.config().policy() & LH_POLICY_CHANNEL == 0 {
            return;
        }
        for packet in self.wire.iter().skip(from) {
            let (s, _) = parse(packet, 0, None, false).expect("TCP");
            assert_eq!(s.nr_missing, 0, "the agents' option got past the hop");
        }
    }

    /// What the far agent does beside a packet. Returns what MH gets.
    pub(super) fn far_emits(&mut self, outcome: Outcome) -> Vec<Vec<u8>> {
        for packet in outcome.to_mh {
            self.up(packet);
        }
        for told in outcome.told {
            for outcome in self.gateway.on_partner(&told, self.now_ns) {
                self.emit(outcome);
            }
        }
        let mut released = outcome.to_fh;
        released.retain(|packet| payload(packet) != 0);
        released
    }

    /// The first agent answers that this will not come.
    pub(super) fn far_hears_absent(&mut self, absent: &[(u32, u32)]) {
        let now_ns = self.now_ns;
        let outcomes = self.far.as_mut().map(|far| far.on_absent(absent, now_ns));
        self.far_acts(outcomes.unwrap_or_default());
    }

    /// What the far agent's timer, or the link, or an answer has it do.
    pub(super) fn far_acts(&mut self, outcomes: Vec<Outcome>) {
        let Some(far) = &self.far else {
            return;
        };
        // The timers of one call are of different connections.
        for outcome in &outcomes {
            self.far_order.goes(far.core(), outcome, false);
        }
        for outcome in outcomes {
            for packet in self.far_emits(outcome) {
                self.gets(&packet);
            }
        }
    }
}

/// How many bytes of data it has.
fn payload(packet: &[u8]) -> u32 {
    parse(packet, 0, None, false).map_or(0, |(s, _)| s.payload_bytes)
}
