// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! One situation each: what the programs answer, and what they make of the packet.

use std::os::fd::{AsRawFd, OwnedFd};

use lasthop::programs::{Agent, Program, Setup, SkbContext};
use lasthop::units;
use lasthop_core::bindings::{LH_ACK, LH_CWR, LH_PSH, LH_SYN, lh_config};
use lasthop_core::packet::{Ends, Tcp, checksum_ok};
use libbpf_rs::{MapCore, MapFlags};

use nix::sys::socket::{AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol};
use nix::sys::socket::{SockType, recvmsg, socket};

use super::{DROP, NEXT, REDIRECT, areas, in_namespace, in_namespace_alone, load, map, run, setup};

pub const MSEC: u64 = 1_000_000;
/// Small: the packet of a test run claims little memory, and a repair that is larger than that
/// goes out as a clone instead of by redirect (lh_understated).
pub const MSS: usize = 400;

/// Hears all packets of the namespace, and their marks.
fn tap() -> OwnedFd {
    const SO_RCVMARK: i32 = 75; // Linux 5.19, which libc does not know yet
    let (all, flags) = (SockProtocol::EthAll, SockFlag::SOCK_NONBLOCK);
    let tap = socket(AddressFamily::Packet, SockType::Raw, flags, all).expect("socket");
    let (fd, on) = (tap.as_raw_fd(), 1i32);
    // SAFETY: an open descriptor, and a value of the given size.
    let set =
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, SO_RCVMARK, (&raw const on).cast(), 4) };
    assert_eq!(set, 0);
    tap
}

/// A connection over Ethernet, opened, with `n` segments on their way and a first one acknowledged.
pub struct Talk {
    pub agent: Agent,
    pub ends: Ends,
    pub vlans: Vec<(u16, u16)>,
    ethernet: bool,
}

impl Talk {
    pub fn new(setup: &Setup, ends: Ends) -> Self {
        Self {
            agent: load(setup),
            ends,
            vlans: Vec::new(),
            ethernet: setup.l2_bytes == 14,
        }
    }

    /// What every packet of this connection has.
    pub fn tcp(&self) -> Tcp {
        Tcp {
            ethernet: self.ethernet,
            vlans: self.vlans.clone(),
            ..Tcp::default()
        }
    }

    fn segment(&self, seq: u32) -> Vec<u8> {
        let payload = (0..MSS).map(|i| (i as u32 + seq) as u8).collect();
        Tcp {
            seq,
            payload,
            flags: LH_ACK | LH_PSH,
            ..self.tcp()
        }
        .to_mh(&self.ends)
    }

    fn ack(&self, ack: u32) -> Vec<u8> {
        Tcp {
            seq: 1,
            ack,
            ..self.tcp()
        }
        .to_fh(&self.ends)
    }

    /// A test run's packet has at least an Ethernet header: raw devices get a dummy one.
    fn wire(&self, packet: &[u8]) -> Vec<u8> {
        packet.to_vec()
    }

    fn egress(&self, packet: &[u8], now_ns: u64) -> i32 {
        run(&self.agent, Program::Egress, &self.wire(packet), now_ns).retval
    }

    /// Opens it and sends five segments from sequence number 1 on.
    pub fn start(&self) {
        let syn = Tcp {
            seq: 0,
            flags: LH_SYN,
            ..self.tcp()
        }
        .to_mh(&self.ends);
        assert_eq!(self.egress(&syn, MSEC), NEXT);
        let answer = Tcp {
            ack: 1,
            flags: LH_SYN | LH_ACK,
            ..self.tcp()
        }
        .to_fh(&self.ends);
        assert_eq!(
            run(&self.agent, Program::Ingress, &answer, 11 * MSEC).retval,
            NEXT
        );
        for i in 0..5 {
            let at = (20 + u64::from(i)) * MSEC;
            assert_eq!(self.egress(&self.segment(1 + i * MSS as u32), at), NEXT);
        }
    }

    pub fn count(&self, name: &str) -> u64 {
        self.agent.counter(name).expect(name)
    }
}

/// The duplicate ACK turns around as the lost segment; the next one is just kept.
fn turns_around(setup: &Setup, ends: Ends, vlans: Vec<(u16, u16)>) {
    let mut talk = Talk::new(setup, ends);
    talk.vlans = vlans;
    talk.start();
    let lost = 1 + MSS as u32;
    assert_eq!(
        run(&talk.agent, Program::Ingress, &talk.ack(lost), 31 * MSEC).retval,
        NEXT
    );
    let context = SkbContext {
        tstamp: 32 * MSEC,
        mark: 0x1234,
        ..SkbContext::default()
    };
    let turned = talk
        .agent
        .run(Program::Ingress, &talk.ack(lost), &context, 1)
        .expect("run");
    assert_eq!(turned.retval, REDIRECT);
    assert_eq!(
        turned.data,
        talk.segment(lost),
        "not the segment that was cached"
    );
    // Our bit, none of the ACK's; the first priority.
    assert_eq!(
        (turned.context.mark, turned.context.priority),
        (0x4000_0000, 263)
    );
    let kept = run(&talk.agent, Program::Ingress, &talk.ack(lost), 33 * MSEC);
    assert_eq!(kept.retval, DROP);
    assert_eq!(talk.count("local_retransmits"), 1);
    assert_eq!(talk.count("suppressed_acks"), 2);
    assert_eq!(talk.count("cached_segments"), 5);
    assert_eq!(talk.agent.usage().slots, 4);
}

#[test]
fn duplicate_turns_around_ipv4() {
    in_namespace(|| turns_around(&setup(), Ends::v4(1), Vec::new()));
}

#[test]
fn duplicate_turns_around_ipv6() {
    in_namespace(|| turns_around(&setup(), Ends::v6(1), Vec::new()));
}

#[test]
fn duplicate_turns_around_vlan() {
    in_namespace(|| turns_around(&setup(), Ends::v4(1), vec![(0x8100, 7)]));
}

/// Whoever shapes by marks or classes does so with what is sent again, not by what the ACK has.
#[test]
fn a_repair_is_shaped_as_its_packet() {
    in_namespace(|| {
        // A class, and what a forwarded packet has by its TOS; a super-packet's slices have the same.
        for (priority, of_repair) in [(0x1_0010, 0x1_0010), (6, 263)] {
            for gso_segs in [0, 3] {
                let talk = Talk::new(&setup(), Ends::v4(1));
                let context = SkbContext {
                    tstamp: MSEC,
                    mark: 5,
                    priority,
                    gso_size: if gso_segs == 0 { 0 } else { MSS as u32 / 4 },
                    gso_segs,
                    ..SkbContext::default()
                };
                let sent = talk.segment(1);
                let sent = talk.agent.run(Program::Egress, &sent, &context, 1);
                assert_eq!(sent.expect("run").retval, NEXT);
                let ack = |ms, mark| {
                    let context = SkbContext {
                        tstamp: ms * MSEC,
                        mark,
                        priority: 3,
                        ..SkbContext::default()
                    };
                    let turned = talk.agent.run(Program::Ingress, &talk.ack(1), &context, 1);
                    turned.expect("run")
                };
                ack(10, 0);
                let turned = ack(11, 0x1238);
                assert_eq!(turned.retval, REDIRECT);
                assert_eq!(
                    (turned.context.mark, turned.context.priority),
                    (0x4000_0005, of_repair)
                );
            }
        }
    });
}

/// What a kick sends as well, which leaves the mark of what carries it to what comes next.
#[test]
fn a_repair_by_the_timer_is_shaped_as_its_packet() {
    in_namespace(|| {
        let talk = Talk::new(&setup(), Ends::v4(1));
        let context = |mark, ms| SkbContext {
            tstamp: ms * MSEC,
            mark,
            ..SkbContext::default()
        };
        let sent = talk.segment(1);
        let sent = talk.agent.run(Program::Egress, &sent, &context(5, 1), 1);
        assert_eq!(sent.expect("run").retval, NEXT);
        run(&talk.agent, Program::Ingress, &talk.ack(1), 2 * MSEC); // MH is heard
        let tap = tap();
        let flow = &talk.agent.flows().expect("flows")[0];
        let mut kick = context(0x1238, 3_000);
        (kick.cb[0], kick.cb[1]) = (flow.index, flow.generation);
        let mut template = [0; 64];
        template[12..14].copy_from_slice(&[8, 0]);
        let kicked = talk.agent.run(Program::Kick, &template, &kick, 1);
        assert_eq!(kicked.expect("run").context.mark, 0x1238);
        assert_eq!(talk.count("local_retransmits"), 1);
        let mut space = nix::cmsg_space!(u32);
        let got = recvmsg::<()>(
            tap.as_raw_fd(),
            &mut [],
            Some(&mut space),
            MsgFlags::empty(),
        );
        let got = got.expect("the repair");
        let marks = got
            .cmsgs()
            .expect("its mark")
            .filter_map(|told| match told {
                ControlMessageOwned::Unknown(told) => told.data_bytes.get(..4)?.try_into().ok(),
                _ => None,
            });
        let marks: Vec<u32> = marks.map(u32::from_ne_bytes).collect();
        assert_eq!(marks, [0x4000_0005]);
    });
}

#[test]
fn partial_ack_goes_on_unchanged() {
    in_namespace(|| {
        let talk = Talk::new(&setup(), Ends::v4(1));
        talk.start();
        let (first, second) = (1, 1 + 2 * MSS as u32);
        for at in [31, 32, 33] {
            run(&talk.agent, Program::Ingress, &talk.ack(first), at * MSEC);
        }
        // The repair uncovers the next hole, below what the duplicates proved to have departed.
        let ack = talk.ack(second);
        let passed = run(&talk.agent, Program::Ingress, &ack, 45 * MSEC);
        assert_eq!(passed.retval, NEXT);
        assert_eq!(passed.data, ack, "the ACK must be put together again");
        assert_eq!((passed.context.mark, passed.context.priority), (0, 0));
        assert_eq!(talk.count("retransmits_partial"), 1);
    });
}

/// Slices of a super-packet are cached as the segments that will be on the wire. Looks at slice
/// `i` of three, by losing it.
fn slice(ends: Ends, i: usize) {
    let talk = Talk::new(&setup(), ends);
    let payload: Vec<u8> = (0..1000u32).map(|i| (i % 251) as u8).collect();
    let flags = LH_ACK | LH_PSH;
    let whole = Tcp {
        seq: 1,
        flags,
        payload: payload.clone(),
        ..talk.tcp()
    };
    let context = SkbContext {
        tstamp: MSEC,
        gso_size: MSS as u32,
        gso_segs: 3,
        ..SkbContext::default()
    };
    let packet = whole.to_mh(&talk.ends);
    let sent = talk
        .agent
        .run(Program::Egress, &packet, &context, 1)
        .expect("run");
    assert_eq!((sent.retval, &sent.data), (NEXT, &packet));
    assert_eq!(talk.count("data_segments"), 3);
    assert_eq!(talk.count("cached_bytes"), 1000);
    let part = payload.chunks(MSS).nth(i).expect("three slices");
    let seq = 1 + (i * MSS) as u32;
    run(&talk.agent, Program::Ingress, &talk.ack(seq), 10 * MSEC);
    let turned = run(&talk.agent, Program::Ingress, &talk.ack(seq), 11 * MSEC);
    assert_eq!(turned.retval, REDIRECT, "slice {i}");
    assert!(checksum_ok(&turned.data[14..]), "checksum of slice {i}");
    let flags = if i == 2 { flags } else { LH_ACK };
    let mut want = Tcp {
        seq,
        flags,
        payload: part.to_vec(),
        ..talk.tcp()
    }
    .to_mh(&talk.ends);
    if !talk.ends.fh.is_ipv6() {
        // Segmentation counts the identification on; that of the builder is constant.
        assert_eq!(turned.data[19], want[19].wrapping_add(i as u8));
        want[18..26].copy_from_slice(&turned.data[18..26]);
    }
    assert_eq!(turned.data, want, "slice {i}");
}

fn slices(ends: Ends) {
    (0..3).for_each(|i| slice(ends, i));
}

#[test]
fn super_packet_is_sliced_ipv4() {
    in_namespace(|| slices(Ends::v4(1)));
}

#[test]
fn super_packet_is_sliced_ipv6() {
    in_namespace(|| slices(Ends::v6(1)));
}

/// Which slices of a super-packet with CWR go out again with it. `counts`: it is a bit of Accurate ECN's counter
/// (RFC 9768), which the programs read off the kernel's own word for that. A test run's packet has none, hence
/// what they have noted of the copies is changed.
fn slices_with_cwr(counts: bool) -> Vec<bool> {
    const SLICE: u8 = 1; // enum lh_slot_flag
    const CWR: u8 = 8;
    const FLAGS: usize = 28; // of struct lh_slot
    let again = |i: u32| {
        let talk = Talk::new(&setup(), Ends::v6(1));
        let context = SkbContext {
            tstamp: MSEC,
            gso_size: MSS as u32,
            gso_segs: 3,
            ..SkbContext::default()
        };
        let whole = super::tcp(1, LH_ACK | LH_CWR, 3 * MSS).to_mh(&talk.ends);
        let sent = talk.agent.run(Program::Egress, &whole, &context, 1);
        assert_eq!(sent.expect("run").retval, NEXT);
        for area in areas(&map("slots")).iter().filter(|_| counts) {
            for key in (0..area.max_entries()).map(u32::to_ne_bytes) {
                let mut slot = area
                    .lookup(&key, MapFlags::ANY)
                    .expect("slots")
                    .expect("a slot");
                if slot[FLAGS] & SLICE != 0 {
                    slot[FLAGS] |= CWR;
                    area.update(&key, &slot, MapFlags::ANY).expect("slots");
                }
            }
        }
        let ack = talk.ack(1 + i * MSS as u32);
        run(&talk.agent, Program::Ingress, &ack, 10 * MSEC);
        let turned = run(&talk.agent, Program::Ingress, &ack, 11 * MSEC);
        assert_eq!(turned.retval, REDIRECT, "slice {i}");
        assert!(checksum_ok(&turned.data[14..]), "checksum of slice {i}");
        u32::from(turned.data[14 + 40 + 13]) & LH_CWR != 0
    };
    (0..3).map(again).collect()
}

/// RFC 3168's word is said once, and a counter in each segment: MH would read another number.
#[test]
fn slices_have_cwr_as_segmentation_has_it() {
    in_namespace_alone(|| {
        assert_eq!(slices_with_cwr(false), [true, false, false]);
        assert_eq!(slices_with_cwr(true), [true; 3]);
    });
}

#[test]
fn own_packets_are_left_alone() {
    in_namespace(|| {
        let talk = Talk::new(&setup(), Ends::v4(1));
        talk.start();
        let mark = 0x4000_0005;
        let context = SkbContext {
            tstamp: 30 * MSEC,
            mark,
            ..SkbContext::default()
        };
        let packet = talk.segment(1);
        let out = talk
            .agent
            .run(Program::Egress, &packet, &context, 1)
            .expect("run");
        assert_eq!((out.retval, out.context.mark), (NEXT, mark));
        assert_eq!(talk.count("data_segments"), 5);
        assert_eq!(talk.count("refreshed_segments"), 0);
        // A released ACK on its way in loses our bit, and only that.
        let ack = talk.ack(1);
        let inward = talk
            .agent
            .run(Program::Ingress, &ack, &context, 1)
            .expect("run");
        assert_eq!((inward.retval, inward.context.mark), (NEXT, 5));
        assert_eq!(talk.count("duplicate_acks"), 0);
    });
}

#[test]
fn silent_user_space_means_no_suppression() {
    in_namespace(|| {
        let talk = Talk::new(&setup(), Ends::v4(1));
        talk.start();
        talk.agent.heartbeat(1); // 2 s are over
        let late = 3_000 * MSEC;
        for i in 0..4 {
            let out = run(&talk.agent, Program::Ingress, &talk.ack(1), late + i * MSEC);
            assert_eq!(out.retval, NEXT);
        }
        assert_eq!(talk.count("suppressed_acks"), 0);
        assert_eq!(talk.count("bypass_stale"), 4);
    });
}

#[test]
fn what_is_not_ours_passes_and_is_counted() {
    in_namespace(|| {
        let talk = Talk::new(&setup(), Ends::v4(1));
        let mut udp = talk.segment(1);
        udp[23] = 17;
        let mut fragment = talk.segment(1);
        fragment[20] = 0x20;
        let mut malformed = talk.segment(1);
        malformed[46] = 0x10; // a TCP header of four bytes
        for (packet, counter) in [
            (udp, "bypass_not_tcp"),
            (fragment, "bypass_fragment"),
            (malformed, "bypass_malformed"),
        ] {
            for program in [Program::Egress, Program::Ingress] {
                let out = run(&talk.agent, program, &packet, MSEC);
                assert_eq!((out.retval, out.data), (NEXT, packet.clone()), "{counter}");
            }
            assert_eq!(talk.count(counter), 2, "{counter}");
        }
        assert_eq!(talk.count("flows_created"), 0);
    });
}

#[test]
fn rules_choose_flows() {
    in_namespace(|| {
        let rules = [("198.51.100.0/24", false), ("192.0.2.1:80", true)]
            .map(|(text, exclude)| units::rule(text, exclude).expect(text));
        // Matched, but excluded by the other end's port.
        let both = Talk::new(
            &Setup {
                rules: rules.to_vec(),
                ..setup()
            },
            Ends::v4(1),
        );
        assert_eq!(both.egress(&both.segment(1), MSEC), NEXT);
        assert_eq!(both.count("bypass_filtered"), 1);
        let matched = Talk::new(
            &Setup {
                rules: rules[..1].to_vec(),
                ..setup()
            },
            Ends::v4(1),
        );
        matched.egress(&matched.segment(1), MSEC);
        assert_eq!(matched.count("flows_created"), 1);
        let v6 = Talk::new(
            &Setup {
                rules: rules[..1].to_vec(),
                ..setup()
            },
            Ends::v6(1),
        );
        v6.egress(&v6.segment(1), MSEC);
        assert_eq!(v6.count("flows_created"), 0);
    });
}

#[test]
fn full_tables_and_caches_pass() {
    in_namespace(|| {
        let mut talk = Talk::new(
            &Setup {
                max_flows: 2,
                ..setup()
            },
            Ends::v4(1),
        );
        for n in 1..=3 {
            talk.ends = Ends::v4(n);
            assert_eq!(talk.egress(&talk.segment(1), MSEC), NEXT);
            run(&talk.agent, Program::Ingress, &talk.ack(1), MSEC);
        }
        assert_eq!(talk.count("bypass_table_full"), 1);
        assert_eq!(talk.agent.usage().flows, 2);
        let small = Talk::new(
            &Setup {
                cache_flow_bytes: 10 * 2048,
                ..setup()
            },
            Ends::v4(1),
        );
        for i in 0..12 {
            assert_eq!(small.egress(&small.segment(1 + i * MSS as u32), MSEC), NEXT);
        }
        assert_eq!(
            small.count("cached_segments"),
            9,
            "nine tenths are for new data"
        );
        assert_eq!(small.count("uncached_full"), 3);
    });
}

#[test]
fn sweep_forgets_what_is_over_and_gives_memory_back() {
    in_namespace(|| {
        let config = lh_config {
            idle_ns: 1_000 * MSEC,
            ..lh_config::snoop()
        };
        let talk = Talk::new(&Setup { config, ..setup() }, Ends::v4(1));
        talk.start();
        assert_eq!(talk.agent.usage().active_flows, 1);
        // The sweep runs at time 0 of the test's clock: only force takes a live flow.
        assert_eq!(talk.agent.sweep(false).expect("sweep"), 0);
        assert_eq!(talk.agent.sweep(true).expect("sweep"), 1);
        let usage = talk.agent.usage();
        assert_eq!(
            (usage.flows, usage.slots, usage.chunks, usage.active_flows),
            (0, 0, 0, 0)
        );
        talk.start(); // the entry can be used again
        assert_eq!(talk.count("flows_created"), 2);
    });
}
