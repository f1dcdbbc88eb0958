// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What `lasthop split` does to the path's other packets, and the path to it.

use std::io::{Read, Write};
use std::net::UdpSocket;
use std::thread;

use lasthop_lab::bed::process::{find_binary, output};
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::topology::Family;

use super::{PATIENCE, bed, content, ended, link, pair, split};

/// Has BS's netfilter do it.
fn nft(bed: &TestBed, script: &str) -> String {
    output(Some(bed.station("bs").unwrap()), &["nft", script]).unwrap()
}

/// Data from FH arrive whole.
fn arrives(bed: &TestBed, family: Family, port: u16) {
    let (mut client, mut server) = pair(bed, Host::Fh, Host::Mh, family, port);
    let bytes = content(300_000, 8);
    let mut got = Vec::new();
    thread::scope(|scope| {
        let bytes = &bytes;
        scope.spawn(move || client.write_all(bytes).unwrap());
        server.read_to_end(&mut got).unwrap();
    });
    assert!(got == bytes, "{family:?}: {} bytes", got.len());
}

/// The mark is another's, and lost with a way through the queue.
#[test]
fn what_is_not_tcp_keeps_its_mark() {
    const NR: usize = 50;
    let Some(bed) = bed(&link(0.0)) else { return };
    let proxy = split(&bed, &["-j"]);
    nft(
        &bed,
        "table inet other {
         chain before { type filter hook prerouting priority -310; meta l4proto udp meta mark set 7; };
         chain after { type filter hook prerouting priority -50; meta l4proto udp meta mark 7 counter; }; }",
    );
    let to = (bed.topology().address(Host::Mh, Family::V4), 7800);
    let receiver = bed.run_in(Host::Mh, || UdpSocket::bind(to)).unwrap();
    let receiver = receiver.unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    let from = (bed.topology().address(Host::Fh, Family::V4), 0);
    let sender = bed.run_in(Host::Fh, || UdpSocket::bind(from)).unwrap();
    let sender = sender.unwrap();
    for _ in 0..NR {
        sender.send_to(&[0; 100], to).unwrap();
        receiver.recv(&mut [0; 100]).unwrap();
    }
    let kept = nft(&bed, "list chain inet other after");
    assert!(kept.contains(&format!("packets {NR} ")), "{kept}");
    assert_eq!(ended(proxy), (0, 0));
    bed.down().expect("nothing is left");
}

/// Behind a hop that takes less than both hosts' devices do: who sends learns it by ICMP.
#[test]
fn a_narrower_hop_is_heard_of() {
    let link = LinkOptions {
        hops: 2,
        ..link(0.0)
    };
    let Some(bed) = bed(&link) else { return };
    let further = bed.station("bs2").unwrap();
    output(Some(further), &["ip", "link", "set", "wl0", "mtu", "1300"]).unwrap();
    let proxy = split(&bed, &["-j"]);
    arrives(&bed, Family::V4, 7810);
    arrives(&bed, Family::V6, 7811);
    assert_eq!(ended(proxy), (2, 0));
    bed.down().expect("nothing is left");
}

/// WireGuard's wg-quick has marks count where senders' addresses are verified; and a listener's sockets may take them.
#[test]
fn our_mark_is_for_nobody_else() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let mut words = vec!["sysctl", "-qw"];
    words.extend([
        "net.ipv4.conf.all.rp_filter=1",
        "net.ipv4.conf.all.src_valid_mark=1",
        "net.ipv4.tcp_fwmark_accept=1",
    ]);
    output(Some(bed.station("bs").unwrap()), &words).unwrap();
    let proxy = split(&bed, &["-j"]);
    arrives(&bed, Family::V4, 7820);
    arrives(&bed, Family::V6, 7821);
    assert_eq!(ended(proxy), (2, 0));
    let bs = bed.station("bs").unwrap();
    for family in ["-4", "-6"] {
        let rules = output(Some(bs), &["ip", family, "rule"]).unwrap();
        assert!(
            !rules.contains("0x6c68") && !rules.contains("nop"),
            "{rules}"
        );
    }
    bed.down().expect("nothing is left");
}

/// Both halves of a connection are one to NAT, which would have each of them reset.
#[test]
fn a_machine_with_nat_is_refused() {
    let Some(bed) = bed(&link(0.0)) else { return };
    nft(
        &bed,
        "table ip other { chain behind { type nat hook postrouting priority 100; oifname wl0 masquerade; }; }",
    );
    let lasthop = find_binary("lasthop").unwrap();
    let words = ["timeout", "10", lasthop.to_str().unwrap(), "split", "wl0"];
    let bs = bed.station("bs").unwrap();
    let error = output(Some(bs), &words).expect_err("it can't do any good");
    assert!(format!("{error:#}").contains("(NAT)"), "{error:#}");
    // With a choice it is the user's to know.
    let proxy = split(&bed, &["-j", "--match", "fd00::/8"]);
    arrives(&bed, Family::V6, 7830);
    assert_eq!(ended(proxy), (1, 0));
    bed.down().expect("nothing is left");
}
