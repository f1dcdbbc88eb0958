// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Devices that go by a packet's route as well as by its bytes: tunnels, each of whose packets says where to
//! (`external`). What is sent again has no route.

use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::time::{Duration, Instant};

use lasthop::programs::{Program, Setup};
use lasthop::tcx::{self, Hook};
use lasthop_core::bindings::LH_ACK;
use lasthop_core::packet::Ends;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn};
use nix::sys::socket::{sendto, socket};

use super::{NEXT, REDIRECT, begin, in_namespace, load, run, setup, skip, tcp};

const MSEC: u64 = 1_000_000;

/// What tells the device where to.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Nobody,
    /// `ip route ... encap`.
    Route,
    /// A program before ours, as OVS would.
    Program,
}

fn ip(args: &str) -> bool {
    let status = Command::new("ip").args(args.split(' ')).status();
    status.expect("ip").success()
}

/// Attaches a program that tells the device of a tunnel's other end (bpf_skb_set_tunnel_key).
fn tell_by_program(ifindex: u32) -> OwnedFd {
    let insn = |code: u8, registers: u8, off: i16, imm: i32| libbpf_sys::bpf_insn {
        code,
        _bitfield_1: libbpf_sys::bpf_insn::new_bitfield_1(registers & 15, registers >> 4),
        off,
        imm,
        ..Default::default()
    };
    let program = [
        insn(0x62, 0x0a, -8, 7),          // key.tunnel_id
        insn(0x62, 0x0a, -4, 0x7f000002), // key.remote_ipv4
        insn(0xbf, 0xa2, 0, 0),
        insn(0x07, 0x02, 0, -8),
        insn(0xb7, 0x03, 0, 8),
        insn(0xb7, 0x04, 0, 0),
        insn(0x85, 0, 0, 21), // bpf_skb_set_tunnel_key
        insn(0xb7, 0, 0, NEXT),
        insn(0x95, 0, 0, 0),
    ];
    // SAFETY: the program and the strings outlive the call; what it returns is a descriptor of ours.
    let fd = unsafe {
        let fd = libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_SCHED_CLS,
            c"tells".as_ptr(),
            c"GPL".as_ptr(),
            program.as_ptr(),
            program.len() as u64,
            std::ptr::null_mut(),
        );
        assert!(fd >= 0, "{}", Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    };
    tcx::attach(fd.as_raw_fd(), ifindex, Hook::Egress).expect("attach")
}

/// Has the device up, with a route to MH. Returns its number.
fn leads_to_mh(dev: &str, encap: &str) -> u32 {
    for words in [
        format!("link set {dev} up"),
        format!("addr add 10.9.0.1/24 dev {dev}"),
        format!("neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev {dev}"),
        format!("route add 198.51.100.0/24 {encap}via 10.9.0.2 dev {dev}"),
    ] {
        assert!(ip(&words), "{words}");
    }
    nix::net::if_::if_nametoindex(dev).expect("its number")
}

/// Three segments of FH's, as the route has it.
fn send_three() {
    let raw = socket(
        AddressFamily::Inet,
        SockType::Raw,
        SockFlag::empty(),
        nix::sys::socket::SockProtocol::Raw,
    );
    let raw = raw.expect("raw socket");
    let (ends, to) = (Ends::v4(1), SockaddrIn::new(198, 51, 100, 2, 0));
    for i in 0..3 {
        let packet = tcp(1 + i * 400, LH_ACK, 400).to_mh(&ends);
        sendto(raw.as_raw_fd(), &packet[14..], &to, MsgFlags::empty()).expect("send");
    }
}

/// FH's segments are routed to a device; MH asks for the first of them.
fn asked_for(by: By) {
    let ends = Ends::v4(1);
    if !ip("link add vx0 type vxlan external dstport 4789") {
        return skip("routes of tunnels: no vxlan");
    }
    let encap = match by {
        By::Route => "encap ip id 7 dst 127.0.0.2 ",
        By::Nobody | By::Program => "",
    };
    let ifindex = leads_to_mh("vx0", encap);
    let _tells = (by == By::Program).then(|| tell_by_program(ifindex));
    let mut agent = load(&Setup { ifindex, ..setup() });
    agent.attach().expect("attach");
    begin(&agent);
    send_three();
    assert_eq!(agent.counter("data_segments").expect("counter"), 3);
    let ack = tcp(1, LH_ACK, 0).to_fh(&ends);
    let asked = run(&agent, Program::Ingress, &ack, 10 * MSEC);
    let wanted = match by {
        By::Nobody => REDIRECT,
        By::Route | By::Program => NEXT,
    };
    assert_eq!(asked.retval, wanted);
}

#[test]
fn what_a_route_tells_of_is_left_to_its_sender() {
    in_namespace(|| asked_for(By::Route));
}

#[test]
fn what_a_tunnel_is_told_of_is_left_to_its_sender() {
    in_namespace(|| asked_for(By::Program));
}

#[test]
fn a_device_is_said_to_go_by_routes() {
    in_namespace(|| {
        let told = |dev| {
            lasthop::check::device(dev)
                .iter()
                .any(|f| f.check == "tunnel")
        };
        if !ip("link add vx0 type vxlan external dstport 4789") {
            return skip("what is said of tunnels: no vxlan");
        }
        assert!(ip(
            "link add vx1 type vxlan id 7 remote 127.0.0.2 dstport 4790"
        ));
        assert_eq!((told("vx0"), told("vx1")), (true, false));
    });
}

#[test]
fn what_goes_by_its_bytes_is_repaired() {
    in_namespace(|| asked_for(By::Nobody));
}

/// A shaper that several devices share (`ifb`): what tc's action has sent there comes to the device, and by its
/// programs, once more. It is the same departure, and not sent again by FH.
#[test]
fn what_comes_by_a_shared_shaper_is_seen_once() {
    in_namespace(|| {
        let tc = |args: &str| {
            let status = Command::new("tc").args(args.split(' ')).status();
            status.is_ok_and(|status| status.success())
        };
        if !ip("link add ifb9 type ifb") {
            return skip("a shared shaper: no ifb");
        }
        assert!(ip("link add v0 type veth peer name v1"));
        for dev in ["ifb9", "v1"] {
            assert!(ip(&format!("link set {dev} up")));
        }
        let ifindex = leads_to_mh("v0", "");
        if !tc("qdisc add dev v0 clsact")
            || !tc(
                "filter add dev v0 egress protocol all prio 1 u32 match u32 0 0 action mirred egress redirect dev ifb9",
            )
        {
            return skip("a shared shaper: no mirred");
        }
        let mut agent = load(&Setup { ifindex, ..setup() });
        agent.attach().expect("attach");
        begin(&agent);
        send_three();
        // What the device has sent has been by for the second time.
        let sent = || {
            let devices = std::fs::read_to_string("/proc/thread-self/net/dev").expect("devices");
            let line = devices.lines().find(|l| l.trim().starts_with("v0:"));
            let packets = line.and_then(|l| l.split_whitespace().nth(10)?.parse().ok());
            packets.unwrap_or(0u64)
        };
        let end = Instant::now() + Duration::from_secs(10);
        while sent() < 3 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(sent() >= 3, "{} packets", sent());
        assert_eq!(agent.counter("data_segments").expect("counter"), 3);
        assert_eq!(agent.counter("refreshed_segments").expect("counter"), 0);
    });
}
