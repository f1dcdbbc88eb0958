// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The parser (core/segment.h), and an agent that gets whatever the bytes are.

use lasthop_core::{Agent, Setup, parse};

use crate::input::Input;

/// How the packet lies: with which headers, and which way it goes.
const ETHERNET_BYTES: u32 = 14;

/// A packet as it is, after a byte that says how it lies; what was parsed lies within it.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let how = input.byte();
    let packet = input.bytes(usize::MAX);
    let l2_bytes = if how & 1 != 0 { ETHERNET_BYTES } else { 0 };
    let vlan = (how & 2 != 0).then_some(u16::from(how));
    for to_mh in [false, true] {
        let Ok((segment, key)) = parse(packet, l2_bytes, vlan, to_mh) else {
            continue;
        };
        let headers = usize::from(segment.hdr_bytes);
        assert!(headers <= packet.len());
        assert!(segment.payload_bytes as usize <= packet.len() - headers);
        assert!(usize::from(segment.l4_offset) + 20 <= headers);
        assert!(matches!(key.family, 4 | 6));
        assert!(segment.sack_blocks().len() <= 4);
    }
    let mut agent = Agent::new(Setup {
        l2_bytes,
        ..Setup::default()
    });
    for at_ns in [1, 2_000_000] {
        assert!(!agent.on_egress_vlan(packet, vlan, at_ns).dropped);
        let outcome = agent.on_ingress_vlan(packet, vlan, at_ns);
        assert!(outcome.to_fh.is_empty());
        if let Some(passed) = outcome.passed {
            // Without the padding of short Ethernet frames.
            assert!(passed.len() <= packet.len());
        }
    }
}
