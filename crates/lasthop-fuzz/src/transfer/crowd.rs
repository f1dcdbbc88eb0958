// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Other hosts behind the hop that are there before MH, in all places where it could be found: of a
//! receiver without a place the agent knows nothing but what its own connection tells.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use lasthop_core::bindings::{LH_ACK, LH_PEERS};
use lasthop_core::packet::{Ends, Tcp};

use super::{Gateway, World};

/// Where a receiver is looked for first, of [`LH_PEERS`] places, and in the three behind it
/// (core/device.c, `lh_peer_join`): FNV-1a over the address, which IPv4 fills up with zeroes.
fn place(address: IpAddr) -> u32 {
    let mut bytes = [0; 16];
    match address {
        IpAddr::V4(v4) => bytes[..4].copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => bytes = v6.octets(),
    }
    let step = |h: u32, b: u8| (h ^ u32::from(b)).wrapping_mul(16_777_619);
    let hash = bytes.into_iter().fold(2_166_136_261, step);
    (hash ^ hash >> 15) % LH_PEERS
}

/// Four hosts that take the places of the host `of`.
fn neighbours(of: IpAddr) -> Vec<IpAddr> {
    let others = |n: u16| match of {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from([198, 18, (n >> 8) as u8, n as u8])),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, n)),
    };
    let taken = |at: u32| (0..=u16::MAX).map(others).find(|&host| place(host) == at);
    let places = (0..4).map(|i| (place(of) + i) % LH_PEERS);
    places.map(|at| taken(at).expect("of 65,536")).collect()
}

impl<G: Gateway> World<'_, G> {
    /// A segment for each of them, acknowledged.
    pub(super) fn crowd(&mut self) {
        static V4: OnceLock<Vec<IpAddr>> = OnceLock::new();
        static V6: OnceLock<Vec<IpAddr>> = OnceLock::new();
        let mh = self.ends.mh.ip();
        let hosts = if mh.is_ipv4() { &V4 } else { &V6 };
        for &host in hosts.get_or_init(|| neighbours(mh)) {
            let mut ends = self.ends;
            ends.mh.set_ip(host);
            self.is_there(&ends);
        }
        self.now_ns += 1;
    }

    fn is_there(&mut self, ends: &Ends) {
        let data = Tcp {
            seq: 1,
            ack: 1,
            flags: LH_ACK,
            payload: vec![0; 1_000],
            ..Tcp::default()
        };
        let answer = Tcp {
            seq: 1,
            ack: 1_001,
            flags: LH_ACK,
            ..Tcp::default()
        };
        self.gateway.on_egress(&data.to_mh(ends), self.now_ns);
        let answer = answer.to_fh(ends);
        assert!(!self.gateway.on_ingress(&answer, self.now_ns).dropped);
    }
}

#[test]
fn a_crowd_leaves_no_place() {
    use super::gateway::Native;
    use crate::input::Input;
    use lasthop_core::parse;

    for shape in [1, 1 | 4] {
        let bytes = [0, 0, 0, 0, 0, 0, shape];
        let mut world = World::new(Input::new(&bytes), Native::new);
        world.crowd();
        let mh = world.ends;
        world.is_there(&mh);
        let place_of = |host| {
            let mut ends = mh;
            ends.mh.set_ip(host);
            let packet = Tcp::default().to_mh(&ends);
            let (_, key) = parse(&packet, 0, None, true).expect("TCP");
            let flow = world.gateway.core().flow(&key).expect("a flow");
            flow.raw().peer
        };
        assert_eq!(place_of(mh.mh.ip()), 0, "none is left");
        for host in neighbours(mh.mh.ip()) {
            assert_eq!(place_of(host), place(host));
        }
    }
}
