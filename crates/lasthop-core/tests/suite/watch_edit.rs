// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the agent may make of an ACK on its way: nothing but another window and
//! NOPs in place of the SACK option, with the checksum that belongs to it.

use lasthop_core::Segment;
use lasthop_core::packet::checksum_ok;

/// Where things are in an IPv4 packet without options and layer 2.
const WINDOW: usize = 20 + 14;
const CHECKSUM: usize = 20 + 16;

/// What was changed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    pub window: bool,
    pub blanked: bool,
}

/// Right edge of the window, a sequence number.
pub fn edge_of(s: &Segment, wscale: u8) -> u32 {
    s.ack.wrapping_add(u32::from(s.window) << wscale)
}

/// The packet without its window: what a kept ACK and its copies share.
pub fn like(packet: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    bytes[WINDOW..WINDOW + 4].fill(0);
    bytes
}

/// Compares what came with what passed; panics over any other change.
pub fn edited(came: &[u8], passed: &[u8], s: &Segment) -> Edit {
    assert_eq!(came.len(), passed.len());
    assert!(checksum_ok(passed), "checksum");
    let (at, len) = (usize::from(s.sack_at), usize::from(s.sack_bytes));
    let sack = at..at + len;
    let edit = Edit {
        window: came[WINDOW..WINDOW + 2] != passed[WINDOW..WINDOW + 2],
        blanked: came[sack.clone()] != passed[sack.clone()],
    };
    for (i, (a, b)) in came.iter().zip(passed).enumerate() {
        let may = match i {
            WINDOW..=35 => edit.window,
            CHECKSUM..=37 => edit != Edit::default(),
            _ => edit.blanked && sack.contains(&i) && *b == 1,
        };
        assert!(a == b || may, "byte {i} was changed");
    }
    if edit.blanked {
        assert!(passed[sack].iter().all(|&b| b == 1), "half blanked");
    }
    edit
}
