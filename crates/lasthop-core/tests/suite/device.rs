// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What flows share (core/device.h): places of receivers.

use lasthop_core::packet::{Ends, Tcp};
use lasthop_core::{Flow, Host, Key, Limits, SEC_NS, parse};

fn key(n: u32) -> Key {
    let ends = Ends::v6(1);
    let (_, mut key) = parse(&Tcp::default().to_mh(&ends), 0, None, true).expect("TCP");
    key.mh[8..12].copy_from_slice(&n.to_be_bytes());
    key
}

fn place(host: &mut Host, n: u32, now_ns: u64) -> u32 {
    let mut flow = Flow::new();
    host.set_peer(&mut flow, &key(n), now_ns);
    flow.raw().peer
}

#[test]
fn a_receiver_has_one_place_and_keeps_it() {
    let mut host = Host::new(Limits::default());
    let first: Vec<u32> = (0..200).map(|n| place(&mut host, n, SEC_NS)).collect();
    let again: Vec<u32> = (0..200).map(|n| place(&mut host, n, 2 * SEC_NS)).collect();
    assert_eq!(first, again);
    let mut own: Vec<u32> = first.iter().copied().filter(|&p| p != 0).collect();
    own.sort_unstable();
    own.dedup();
    assert_eq!(
        own.len(),
        first.iter().filter(|&&p| p != 0).count(),
        "nobody shares"
    );
    assert!(own.len() > 190, "but the common one: {}", own.len());
}

#[test]
fn a_full_table_shares_place_0_until_someone_is_idle() {
    let mut host = Host::new(Limits::default());
    for n in 0..20_000 {
        place(&mut host, n, SEC_NS);
    }
    let late = (20_000..21_000).filter(|&n| place(&mut host, n, SEC_NS) != 0);
    assert!(late.count() < 20);
    let later = (30_000..31_000).filter(|&n| place(&mut host, n, 62 * SEC_NS) != 0);
    assert!(later.count() > 500, "a minute without a sign");
}
