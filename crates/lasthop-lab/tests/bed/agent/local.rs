// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A sender on the agent's own machine: its super-packets reach the agent uncut, and its socket
//! gets the ACKs that the agent lets pass.

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::sender::Sender;
use lasthop_lab::data::topology::Family;

use super::{able, counter, fast_link, lost, resent, run};

#[test]
fn a_local_sender_is_helped_as_a_distant_one() {
    if !able() {
        return;
    }
    let link = LinkOptions {
        sender: Sender::Bs,
        ..fast_link(0.02)
    };
    for family in [Family::V4, Family::V6] {
        let bed = TestBed::up(&link).expect("test bed");
        let mut agent = bed.start_agent("rack", &[]).expect("agent");
        let transfer = Transfer::new().wired_end(Host::Bs).family(family);
        let report = run(&bed, transfer.bytes(4_000_000));
        let (lost, resent) = (lost(&bed), resent(&report));
        let repairs = counter(&mut agent, "local_retransmits");
        bound!(lost > 20 && repairs >= lost / 2, "{repairs} of {lost}");
        bound!(resent < lost / 2, "{resent} of {lost}");
    }
}
