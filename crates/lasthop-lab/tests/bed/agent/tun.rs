// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! A device without link-layer header: BS and MH joined by two tun devices, between which this
//! process carries the packets and loses some. BS is the sender itself, so that the agent sees
//! locally made super-packets with unfinished checksums too.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use lasthop_lab::bed::namespace::Namespace;
use lasthop_lab::bed::process::{self, Lifetime, Managed};
use lasthop_lab::bed::{agent, netns};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use super::{Sets, able};

/// Every so many-th data packet is lost.
const LOSE_EVERY: u64 = 37;
const BYTES: usize = 3_000_000;

/// Two hosts and their devices; gone when dropped.
struct Pair {
    bs: Namespace,
    mh: Namespace,
    bs_tun: File,
    mh_tun: File,
}

impl Pair {
    fn new(run: &str) -> Self {
        let name = |host| format!("lasthop-{run}-{}-{host}", std::process::id());
        let bs = netns::create(&name("bs")).expect("namespace");
        let mh = netns::create(&name("mh")).expect("namespace");
        let bs_tun = bs.run(|| tun("wl0")).expect("enter bs");
        let mh_tun = mh.run(|| tun("eth0")).expect("enter mh");
        let pair = Self {
            bs,
            mh,
            bs_tun,
            mh_tun,
        };
        for (namespace, device, host) in [(&pair.bs, "wl0", 1), (&pair.mh, "eth0", 2)] {
            for words in [
                format!("ip addr add 10.9.0.{host}/24 dev {device}"),
                format!("ip addr add fd09::{host}/64 dev {device} nodad"),
                format!("ip link set {device} up"),
            ] {
                let words: Vec<&str> = words.split(' ').collect();
                process::output(Some(namespace), &words).expect("ip");
            }
            for (key, value) in [("ipv4.tcp_no_metrics_save", "1"), ("ipv4.tcp_sack", "0")] {
                namespace.set_sysctl(key, value).expect("sysctl");
            }
        }
        pair
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for namespace in [&self.bs, &self.mh] {
            if let Err(error) = netns::remove_name(namespace.name()) {
                eprintln!("{error:#}");
            }
        }
    }
}

/// Opens a tun device of this name in the calling thread's namespace: IP packets, no header.
fn tun(name: &str) -> File {
    nix::ioctl_write_int!(tun_set_iff, b'T', 202);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")
        .expect("tun");
    // SAFETY: all zeros is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    let address = (&raw const request) as u64;
    // SAFETY: the kernel reads an ifreq at this address, and `request` lives through the call.
    unsafe { tun_set_iff(file.as_raw_fd(), address) }.expect("TUNSETIFF");
    nix::fcntl::fcntl(
        file.as_fd(),
        nix::fcntl::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK),
    )
    .expect("O_NONBLOCK");
    file
}

/// Carries packets both ways until told to stop; loses every so many-th that carries data.
fn relay(pair: &Pair, stop: &AtomicBool, lost: &AtomicU64) {
    let mut packet = vec![0; 65_536];
    let mut data = 0u64;
    while !stop.load(Ordering::Relaxed) {
        let mut fds = [
            PollFd::new(pair.bs_tun.as_fd(), PollFlags::POLLIN),
            PollFd::new(pair.mh_tun.as_fd(), PollFlags::POLLIN),
        ];
        let _ = poll(&mut fds, PollTimeout::from(50u8));
        for (mut from, mut to) in [(&pair.bs_tun, &pair.mh_tun), (&pair.mh_tun, &pair.bs_tun)] {
            while let Ok(bytes) = from.read(&mut packet) {
                let big = bytes > 500;
                data += u64::from(big);
                if big && data % LOSE_EVERY == 0 {
                    lost.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                let _ = to.write(&packet[..bytes]);
            }
        }
    }
}

fn content() -> Vec<u8> {
    let mut state = 1u32;
    let step = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..BYTES).map(step).collect()
}

/// One download from BS to MH. Returns whether it arrived as it was sent.
fn download(pair: &Pair, from: IpAddr) -> bool {
    let sent = content();
    let listener = pair
        .bs
        .run(|| TcpListener::bind(SocketAddr::new(from, 0)))
        .expect("enter bs")
        .expect("listen");
    let to = listener.local_addr().expect("address");
    let stream = pair.mh.run(|| TcpStream::connect(to)).expect("enter mh");
    let mut stream = stream.expect("connect");
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("accept");
            stream
                .set_write_timeout(Some(Duration::from_secs(60)))
                .expect("timeout");
            stream.write_all(&sent).expect("send");
        });
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("timeout");
        let mut received = Vec::new();
        stream.read_to_end(&mut received).expect("receive");
        received == sent
    })
}

fn over_tun(run: &str, from: &str) {
    if !able() {
        return;
    }
    let pair = Pair::new(run);
    let mut command = Command::new(process::find_binary("lasthop").expect("lasthop"));
    // The relay is a thread of ours: one pause of more than 20 ms, the least time that an ACK is
    // kept back at a round trip of nothing, and the rest of the losses is the sender's to repair.
    let mut config = tempfile::NamedTempFile::new().expect("configuration");
    config
        .write_all(b"hold_min = \"500ms\"\n")
        .expect("written");
    command.args(["attach", "wl0", "--scheme", "snoop", "--config"]);
    command.arg(config.path());
    let lifetime = Lifetime::WithLab(Signal::SIGTERM);
    let mut lasthop =
        Managed::spawn(command, "lasthop", &pair.bs, lifetime, None).expect("lasthop");
    lasthop
        .wait_for_line("lasthop: attached to wl0", Duration::from_secs(30))
        .expect("attached");

    let (stop, lost) = (AtomicBool::new(false), AtomicU64::new(0));
    let arrived = thread::scope(|scope| {
        let _stop = Sets(&stop);
        scope.spawn(|| relay(&pair, &stop, &lost));
        download(&pair, from.parse().expect("address"))
    });
    let status = agent::status(&pair.bs).expect("status");
    let repairs = status["counters"]["local_retransmits"]
        .as_u64()
        .expect("counter");
    let lost = lost.load(Ordering::Relaxed);
    lasthop
        .stop(Signal::SIGINT, Duration::from_secs(5))
        .expect("stop");
    assert!(arrived, "the content differs");
    assert!(lost >= 20, "only {lost} packets lost");
    // Without a window's worth of queue some losses are the sender's to repair; most are ours.
    bound!(
        repairs * 2 >= lost,
        "{repairs} repairs for {lost} losses: {status}"
    );
    assert_eq!(status["counters"]["retransmit_errors"], 0, "{status}");
}

#[test]
fn ipv4_over_tun() {
    over_tun("tun4", "10.9.0.1");
}

#[test]
fn ipv6_over_tun() {
    over_tun("tun6", "fd09::1");
}
