// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The third: packets with the connection's addresses.

use lasthop_core::bindings::LH_ACK;
use lasthop_core::packet::{Tcp, option};

use super::hosts::{Fh, Mh};
use crate::input::Input;

/// What the option field holds at the most.
const OPTION_BYTES: usize = 40;

/// A number in use, or near one, or none.
fn number(input: &mut Input<'_>, fh: &Fh, mh: &Mh) -> u32 {
    let how = input.byte();
    let base = match how % 8 {
        0 => fh.una,
        1 => fh.next,
        2 => mh.next,
        3 | 4 => mh.seq,
        5 => fh.next.wrapping_add(1 << 20),
        6 => return input.word(),
        _ => 0,
    };
    match how >> 3 {
        0..=15 => base,
        16..=23 => base.wrapping_add(u32::from(input.short())),
        _ => base.wrapping_sub(u32::from(input.short())),
    }
}

fn options(input: &mut Input<'_>, fh: &Fh, mh: &Mh) -> Vec<u8> {
    let mut all = match input.below(8) {
        0 | 1 => Vec::new(),
        2 | 3 => {
            let n = 1 + input.below(4);
            let blocks: Vec<(u32, u32)> = (0..n)
                .map(|_| (number(input, fh, mh), number(input, fh, mh)))
                .collect();
            option::sack(&blocks)
        }
        4 => option::timestamps(number(input, fh, mh), input.word()),
        5 => [
            option::wscale(input.byte()),
            option::mss(input.short()),
            option::sack_ok(),
        ]
        .concat(),
        6 => option::other(input.byte(), input.byte() % 38 + 2),
        _ => {
            let n = input.below(OPTION_BYTES + 1);
            input.bytes(n).to_vec()
        }
    };
    all.truncate(OPTION_BYTES);
    all
}

/// A packet, and whether it goes towards MH.
pub fn packet(input: &mut Input<'_>, fh: &Fh, mh: &Mh) -> (bool, Tcp) {
    let how = input.byte();
    let flags = match how >> 1 & 3 {
        0 | 1 => LH_ACK,
        _ => u32::from(input.short()) & 0xfff,
    };
    let len = match how >> 3 & 3 {
        0 | 1 => 0,
        2 => 1_000,
        _ => usize::from(input.short()) % 2_000,
    };
    let tcp = Tcp {
        seq: number(input, fh, mh),
        ack: number(input, fh, mh),
        flags,
        window: input.short(),
        options: options(input, fh, mh),
        payload: vec![0xee; len],
        ..Tcp::default()
    };
    (how & 1 != 0, tcp)
}
