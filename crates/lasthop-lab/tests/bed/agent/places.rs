// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Places that an agent may have on a real router (docs/operators): below a bridge that has the
//! addresses, on a port of a bridge that has none, in front of several subnets behind a translator of
//! addresses.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::Transfer;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::queue::Queue;
use lasthop_lab::data::topology::Family;
use lasthop_lab::data::way::Way;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

use super::both::Ends;
use super::channel::peers;
use super::{PATIENCE, able, counter, fast_link, flows, lasthop, lost, run, wait_until};

const BYTES: u64 = 6_000_000;

/// An access point: the lossy device becomes a port of the bridge that has its addresses.
const BELOW_A_BRIDGE: &str = "ip link add br-lan address 02:00:00:00:02:01 type bridge
    ip link set br-lan up
    ip address flush dev wl0
    ip link set wl0 master br-lan
    ip address add 10.2.0.1/24 dev br-lan
    ip address add fd02::1/64 dev br-lan nodad";

fn bed() -> TestBed {
    TestBed::up(&fast_link(0.03)).expect("test bed")
}

/// Runs commands on a host, one a line.
fn shell(bed: &TestBed, host: Host, lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        bed.command(host, &words).expect(line);
    }
}

/// Most of what the hop has lost so far was repaired by the agent.
fn repaired(bed: &TestBed, agent: &mut AgentHandle) {
    let (lost, repairs) = (lost(bed), counter(agent, "local_retransmits"));
    eprintln!("lost {lost}, repairs {repairs}");
    assert!(lost > 60, "the hop lost only {lost}");
    bound!(
        repairs * 4 >= lost * 3,
        "{repairs} repairs for {lost} losses"
    );
    assert_eq!(counter(agent, "retransmit_errors"), 0);
}

/// Lines of `lasthop check DEVICE` on BS.
fn check(bed: &TestBed, device: &str) -> String {
    lasthop(bed, &["check", device]).expect("check")
}

#[test]
fn a_radio_below_a_bridge() {
    if !able() {
        return;
    }
    let bed = bed();
    shell(&bed, Host::Bs, BELOW_A_BRIDGE);
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    for family in [Family::V4, Family::V6] {
        run(&bed, Transfer::new().bytes(BYTES).family(family));
    }
    repaired(&bed, &mut agent);
    let said = check(&bed, "wl0");
    assert!(said.contains("a port of br-lan"), "{said}");
    let said = check(&bed, "br-lan");
    assert!(said.contains("warning  br-lan bridge:"), "{said}");
    agent.stop().expect("stop");
    bed.down().expect("nothing is left");
}

/// The same with agents at both ends, which know each other by addresses of their devices: the port has
/// one of its own, beside the bridge's.
#[test]
fn partners_below_a_bridge() {
    if !able() {
        return;
    }
    // The wire is the bottleneck: nothing brakes who has no losses, and no queue before the hop overflows.
    let link = LinkOptions {
        wired_rate_bps: 20_000_000,
        queue: Queue::Packets(1_000),
        ..fast_link(0.03)
    };
    let mut ends = Ends::start("snack", &link);
    shell(&ends.bed, Host::Bs, BELOW_A_BRIDGE);
    shell(
        &ends.bed,
        Host::Bs,
        "ip address add 169.254.30.1/32 dev wl0",
    );
    wait_until("MH's agent knows the port's address", || {
        let peers = peers(&ends.bed, Host::Mh);
        let up = |peer: &Value| peer["addr"] == "169.254.30.1" && peer["state"] == "up";
        (peers.iter().any(up), format!("{peers:?}"))
    });
    run(&ends.bed, Transfer::new().direction(Way::Up).bytes(BYTES));
    let (lost, asked) = (ends.lost(Way::Up), ends.count(1, "retransmits_asked"));
    let (holes, told) = (ends.count(0, "holes"), ends.count(0, "told_messages"));
    eprintln!(
        "lost {lost}, holes {holes}, told {told}, asked {asked}, unsent {}",
        ends.count(0, "messages_unsent")
    );
    bound!(lost > 60 && asked * 4 >= lost * 3, "{asked} for {lost}");
}

/// A bridge between wire and link without any address, whose packets a stateful firewall sees.
#[test]
fn a_port_of_a_bridge_without_addresses() {
    if !able() {
        return;
    }
    let bed = bed();
    shell(
        &bed,
        Host::Bs,
        "ip link add br0 type bridge
        ip link set br0 up
        ip address flush dev eth0
        ip address flush dev wl0
        ip link set eth0 master br0
        ip link set wl0 master br0
        sysctl -qw net.ipv4.ip_forward=0
        sysctl -qw net.ipv6.conf.all.forwarding=0",
    );
    shell(
        &bed,
        Host::Fh,
        "ip route replace 10.2.0.0/24 dev eth0\nip route replace fd02::/64 dev eth0",
    );
    shell(
        &bed,
        Host::Mh,
        "ip route replace 10.1.0.0/24 dev eth0\nip route replace fd01::/64 dev eth0",
    );
    let filtered = filter_bridged(&bed);
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    for family in [Family::V4, Family::V6] {
        run(&bed, Transfer::new().bytes(BYTES).family(family));
    }
    repaired(&bed, &mut agent);
    if filtered {
        let rules = bed.command(Host::Bs, &["nft", "list", "table", "inet", "lasthop-test"]);
        let rules = rules.expect("nft");
        let passed = counted(&rules, "accept");
        assert!(passed > 2 * BYTES / 1448, "{rules}");
        assert!(counted(&rules, "drop") * 1000 <= passed, "{rules}");
    }
    agent.stop().expect("stop");
    bed.down().expect("nothing is left");
}

/// Has netfilter see what BS bridges, and drop what connection tracking thinks invalid. False where
/// the kernel has no br_netfilter.
fn filter_bridged(bed: &TestBed) -> bool {
    let here = |key| {
        bed.namespace(Host::Bs)
            .set_sysctl(key, "1")
            .expect("sysctl")
    };
    if !here("bridge/bridge-nf-call-iptables") || !here("bridge/bridge-nf-call-ip6tables") {
        super::skip("this kernel has no br_netfilter: the bridge is tried without");
        return false;
    }
    firewall(bed, "");
    true
}

/// Loads a firewall that drops what is invalid and counts, and `more` chains.
fn firewall(bed: &TestBed, more: &str) {
    let rules = format!(
        "add table inet lasthop-test
        add chain inet lasthop-test forward {{ type filter hook forward priority 0; }}
        add rule inet lasthop-test forward ct state invalid counter drop
        add rule inet lasthop-test forward counter accept
        {more}"
    );
    let mut file = tempfile::NamedTempFile::new().expect("file");
    file.write_all(rules.as_bytes()).expect("written");
    let path = file.path().to_str().expect("path");
    bed.command(Host::Bs, &["nft", "-f", path]).expect("nft");
}

/// Packets of the rule that ends so.
fn counted(rules: &str, verdict: &str) -> u64 {
    let rule = rules.lines().find(|line| line.ends_with(verdict));
    let (_, rest) = rule
        .and_then(|rule| rule.split_once("counter packets "))
        .unwrap_or_else(|| panic!("no rule that ends with {verdict}: {rules}"));
    rest.split(' ')
        .next()
        .expect("a number")
        .parse()
        .expect("a number")
}

fn content() -> Vec<u8> {
    let mut state = 7u32;
    let step = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..BYTES).map(step).collect()
}

/// A download that the host with this address behind the link asks for. Returns what FH took for the
/// other end, and the connections in the agent's table before the end.
fn fetch(bed: &TestBed, from: &str) -> (SocketAddr, Vec<Value>) {
    let sent = content();
    let fh = (bed.topology().address(Host::Fh, Family::V4), 0);
    let listener = bed.run_in(Host::Fh, || TcpListener::bind(fh));
    let listener = listener.expect("namespace").expect("listen");
    let to = listener.local_addr().expect("address");
    let from = SocketAddr::new(from.parse::<IpAddr>().expect("address"), 0);
    let connected = bed.run_in(Host::Mh, || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("socket");
        socket.bind(&from.into()).expect("bind");
        socket.connect(&to.into()).map(|()| TcpStream::from(socket))
    });
    let mut stream = connected.expect("namespace").expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
    thread::scope(|scope| {
        let served = scope.spawn(|| {
            let (mut stream, peer) = listener.accept().expect("accept");
            stream.set_write_timeout(Some(PATIENCE)).expect("timeout");
            stream.write_all(&sent).expect("send");
            // Until the other end has looked, and closes.
            stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
            assert_eq!(stream.read(&mut [0]).expect("the end"), 0);
            peer
        });
        let mut received = vec![0; sent.len()];
        stream.read_exact(&mut received).expect("receive");
        assert!(received == sent, "the content differs");
        let flows = flows(bed);
        drop(stream);
        (served.join().expect("the server"), flows)
    })
}

/// Two subnets over one device, and all of them behind one address on the wire.
#[test]
fn two_subnets_behind_a_translator_of_addresses() {
    if !able() {
        return;
    }
    let bed = bed();
    shell(&bed, Host::Bs, "ip address add 10.7.0.1/24 dev wl0");
    shell(&bed, Host::Mh, "ip address add 10.7.0.2/24 dev eth0");
    firewall(
        &bed,
        "add chain inet lasthop-test post { type nat hook postrouting priority 100; }
        add rule inet lasthop-test post oifname eth0 masquerade",
    );
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    for host in ["10.2.0.2", "10.7.0.2"] {
        let (seen, flows) = fetch(&bed, host);
        assert_eq!(seen.ip().to_string(), "10.1.0.1", "not translated");
        // The agent stands where each has an address of its own.
        let own = flows.iter().find(|flow| flow["mh"] == host);
        let own = own.unwrap_or_else(|| panic!("no connection of {host}: {flows:?}"));
        assert!(own["local_retransmits"].as_u64() > Some(30), "{own}");
    }
    repaired(&bed, &mut agent);
    let rules = bed.command(Host::Bs, &["nft", "list", "table", "inet", "lasthop-test"]);
    assert_eq!(counted(&rules.expect("nft"), "drop"), 0);
    agent.stop().expect("stop");
    bed.down().expect("nothing is left");
}
