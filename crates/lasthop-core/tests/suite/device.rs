// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What flows share (core/device.h): places of receivers.

use lasthop_core::bindings::*;
use lasthop_core::packet::{Ends, Tcp};
use lasthop_core::{Call, Config, Flow, Host, Key, Limits, MSEC_NS, SEC_NS, Segment, parse};

use crate::bench::answered;

fn key(n: u32) -> Key {
    let ends = Ends::v6(1);
    let (_, mut key) = parse(&Tcp::default().to_mh(&ends), 0, None, true).expect("TCP");
    key.mh[8..12].copy_from_slice(&n.to_be_bytes());
    key
}

fn place(host: &mut Host, n: u32, now_ns: u64) -> u32 {
    let mut flow = Flow::new();
    answered(&mut flow);
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

/// A scan of the net behind the link: each SYN would go out four times.
#[test]
fn few_syns_to_strangers_are_repaired() {
    let (mut host, config) = (Host::new(Limits::default()), Config::default());
    let syn = Segment {
        seq: 7,
        end: 8,
        flags: LH_SYN as u16,
        window: 1_000,
        wscale: LH_WSCALE_NONE as u8,
        ..Segment::default()
    };
    let mut cached = |n: u32, at_ns: u64| {
        let mut flow = Flow::new();
        host.set_peer(&mut flow, &key(n), at_ns);
        let out = host.on_data(&mut flow, &config, &syn, &Call::at(at_ns));
        let stored = out.store().is_some();
        // The receiver of one of them is there.
        if n == 5_000 {
            host.set_peer(&mut flow, &key(n), at_ns);
            let answer = Segment {
                seq: 90,
                end: 91,
                ack: 8,
                flags: (LH_SYN | LH_ACK) as u16,
                ..syn
            };
            host.on_ack(&mut flow, &config, &answer, &Call::at(at_ns));
            host.set_peer(&mut flow, &key(n), at_ns);
            let ack = Segment {
                seq: 91,
                end: 91,
                ack: 8,
                flags: LH_ACK as u16,
                ..syn
            };
            host.on_ack(&mut flow, &config, &ack, &Call::at(at_ns));
        }
        host.free(&mut flow);
        stored
    };
    let scan = (0..1_000).filter(|&i| cached(i, SEC_NS + u64::from(i) * MSEC_NS));
    assert_eq!(scan.count(), 10, "one per 100 ms");
    cached(5_000, 3 * SEC_NS);
    let known = (0..20).filter(|_| cached(5_000, 3 * SEC_NS + MSEC_NS));
    assert_eq!(known.count(), 20, "who was heard is no stranger");
}
