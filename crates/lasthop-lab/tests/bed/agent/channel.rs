// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Agents at the two ends of a hop find each other, and nobody else gets a word in.

use std::collections::HashMap;
use std::fs;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lasthop_core::Message;
use lasthop_lab::bed::agent::AgentHandle;
use lasthop_lab::bed::process::find_binary;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::topology::{Place, Topology};
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use serde_json::Value;

use super::{able, counter, fast_link, wait_until};

const PORT: u16 = 30_467;
const OLD: &str = "000102030405060708090a0b0c0d0e0f";
const NEW: &str = "f00102030405060708090a0b0c0d0e0f";

/// BS and MH, each with an agent on the hop between them; the key file of both.
struct Ends {
    bed: TestBed,
    agents: Vec<AgentHandle>,
    key: PathBuf,
    _directory: tempfile::TempDir,
}

fn write_keys(path: &Path, keys: &[&str]) {
    fs::write(path, keys.join("\n")).expect("key file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("mode");
}

/// A clean hop: 10 ms there and back.
fn bed() -> TestBed {
    let mut topology = Topology::five_hosts(1);
    topology.agents.push(Place::new("mh", "eth0"));
    TestBed::up_as(topology, &fast_link(0.0)).expect("test bed")
}

fn lasthop(bed: &TestBed, host: Host, words: &[&str]) -> String {
    let binary = find_binary("lasthop").expect("lasthop");
    let words = [&[binary.to_str().expect("path")], words].concat();
    bed.command(host, &words).expect("lasthop")
}

/// `lasthop peers -j`.
pub fn peers(bed: &TestBed, host: Host) -> Vec<Value> {
    let text = lasthop(bed, host, &["peers", "-j"]);
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// A directory, and a file with a key in it.
pub fn keyed() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("directory");
    let key = directory.path().join("key");
    write_keys(&key, &[OLD]);
    (directory, key)
}

/// Waits until the agents of BS and MH take each other's word.
pub fn wait_for_each_other(bed: &TestBed) {
    for place in &bed.topology().agents {
        let heard = bed.wait_for_partner(place);
        heard.expect("they hear each other");
    }
}

impl Ends {
    fn start() -> Self {
        let (directory, key) = keyed();
        let bed = bed();
        let args = ["--key", key.to_str().expect("path")];
        let agents = bed.start_agents("none", &args).expect("agents");
        Self {
            bed,
            agents,
            key,
            _directory: directory,
        }
    }

    /// Waits until both have so many more messages of each other.
    fn wait_for(&self, more: u64) {
        let accepted = |host| {
            let peers = peers(&self.bed, host);
            let up: Vec<_> = peers.iter().filter(|peer| peer["state"] == "up").collect();
            up.first().map_or(0, |p| p["accepted"].as_u64().unwrap())
        };
        let before = [Host::Bs, Host::Mh].map(accepted);
        wait_until("they hear each other", || {
            let now = [Host::Bs, Host::Mh].map(accepted);
            let heard = now
                .iter()
                .zip(before)
                .all(|(now, before)| *now >= before + more);
            (heard, format!("{now:?} after {before:?}"))
        });
    }

    fn count(&mut self, end: usize, name: &str) -> u64 {
        counter(&mut self.agents[end], name)
    }
}

#[test]
fn two_agents_find_each_other() {
    if !able() {
        return;
    }
    let mut ends = Ends::start();
    ends.wait_for(4);
    for host in [Host::Bs, Host::Mh] {
        let peers = peers(&ends.bed, host);
        assert_eq!(peers.len(), 1, "{peers:?}");
        let peer = &peers[0];
        let (least, smoothed) = (&peer["rtt_min_us"], &peer["rtt_us"]);
        // What the emulator was told, and little more.
        let least = least.as_u64().expect("a sample");
        bound!((9_900..30_000).contains(&least), "{peer}");
        assert!(smoothed.as_u64().expect("a sample") >= least, "{peer}");
        assert_eq!(peer["mac"].as_str().expect("MAC").len(), 17);
        let table = lasthop(&ends.bed, host, &["peers"]);
        assert_eq!(table.lines().count(), 2, "{table}");
    }
    for end in 0..2 {
        assert!(ends.count(end, "messages_sent") >= 4);
        for name in ["forged", "malformed", "replayed", "key", "unsent"] {
            assert_eq!(ends.count(end, &format!("messages_{name}")), 0, "{name}");
        }
    }
    let life = |bed: &TestBed| peers(bed, Host::Bs)[0]["life_s"].as_f64().unwrap();
    let before = life(&ends.bed);
    ends.agents.pop().expect("MH's").stop().expect("stop");
    wait_until("it is silent", || {
        let peers = peers(&ends.bed, Host::Bs);
        (peers[0]["state"] == "silent", format!("{peers:?}"))
    });
    assert!(life(&ends.bed) > before);
}

/// Frames as they are on the hop, by a packet socket on a device of the calling thread's namespace.
struct Frames(OwnedFd);

impl Frames {
    fn on(bed: &TestBed, host: Host, device: &str) -> Self {
        let open = || {
            let flags = SockFlag::SOCK_CLOEXEC;
            let all = SockProtocol::EthAll;
            let fd = socket(AddressFamily::Packet, SockType::Raw, flags, all).expect("socket");
            // SAFETY: all zeros is a valid address.
            let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
            address.sll_ifindex = nix::net::if_::if_nametoindex(device).expect("device") as i32;
            // SAFETY: a complete address of the length given.
            let bound = unsafe {
                libc::bind(
                    fd.as_raw_fd(),
                    (&raw const address).cast(),
                    size_of::<libc::sockaddr_ll>() as u32,
                )
            };
            assert_eq!(bound, 0);
            fd
        };
        Self(bed.run_in(host, open).expect("namespace"))
    }

    fn send(&self, frame: &[u8]) {
        assert_eq!(nix::unistd::write(&self.0, frame), Ok(frame.len()));
    }

    /// The next HELLO with an answer that this agent has sent.
    fn hello_of(&self, addr: &str) -> Vec<u8> {
        let mut frame = vec![0; 2048];
        loop {
            let n = nix::unistd::read(&self.0, &mut frame).expect("a frame");
            let found = Message::find(&frame[..n], 14, PORT);
            let theirs = found.is_some_and(|m| m.from.ip().to_string() == addr);
            if theirs && frame[0] & 1 == 0 {
                return frame[..n].to_vec();
            }
        }
    }
}

/// Sets the length that UDP claims.
fn resize(frame: &[u8], payload: usize) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let l4 = if frame[14] >> 4 == 6 { 54 } else { 34 };
    frame.resize(l4 + 8 + payload, 0);
    frame[l4 + 4..l4 + 6].copy_from_slice(&(8 + payload as u16).to_be_bytes());
    frame
}

/// Somebody on the link, who sees all and has no key.
#[test]
fn an_attacker_on_the_link_moves_counters_only() {
    if !able() {
        return;
    }
    let mut ends = Ends::start();
    ends.wait_for(3);
    let addr = peers(&ends.bed, Host::Mh)[0]["addr"]
        .as_str()
        .expect("address")
        .to_owned();
    let real = Frames::on(&ends.bed, Host::Mh, "eth0").hello_of(&addr);
    let mouth = Frames::on(&ends.bed, Host::Bs, "wl0");
    let payload = real.len() - if real[14] >> 4 == 6 { 62 } else { 42 };
    let mut forged = real.clone();
    *forged.last_mut().expect("a byte") ^= 1;
    let mut forwarded = real.clone();
    forwarded[if real[14] >> 4 == 6 { 21 } else { 22 }] = 254;
    let kinds: HashMap<&str, Vec<Vec<u8>>> = [
        ("messages_replayed", vec![real.clone()]),
        ("messages_forged", vec![forged]),
        ("messages_off_link", vec![forwarded]),
        (
            "messages_malformed",
            vec![
                resize(&real, payload - 8),
                resize(&real, 300),
                resize(&real, 0),
            ],
        ),
    ]
    .into();
    let before = peers(&ends.bed, Host::Mh).remove(0);
    for (name, frames) in &kinds {
        let was = ends.count(1, name);
        wait_until(name, || {
            frames.iter().for_each(|frame| mouth.send(frame)); // some find the queue full
            let n = counter(&mut ends.agents[1], name);
            (n >= was + 40, format!("{n} after {was}"))
        });
    }
    ends.wait_for(2);
    let peers = peers(&ends.bed, Host::Mh);
    assert_eq!(peers.len(), 1, "{peers:?}");
    for field in ["addr", "mac", "state"] {
        assert_eq!(peers[0][field], before[field], "{field}");
    }
    assert_eq!(ends.count(1, "messages_key"), 0);
    assert_eq!(ends.count(0, "messages_forged"), 0);
}

#[test]
fn without_a_key_nothing_is_sent_and_a_hello_is_a_packet_like_others() {
    if !able() {
        return;
    }
    let directory = tempfile::tempdir().expect("directory");
    let key = directory.path().join("key");
    write_keys(&key, &[OLD]);
    let bed = bed();
    let ear = bed.run_in(Host::Mh, || UdpSocket::bind(("0.0.0.0", PORT)));
    let ear = ear.expect("namespace").expect("socket");
    ear.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut without = bed.start_agents("none", &[]).expect("agents");
    // BS's is replaced by one that has a key.
    without.remove(0).stop().expect("stop");
    let args = ["--key", key.to_str().expect("path")];
    let mut with = bed.start_agent("none", &args).expect("agent");
    let mut bytes = [0; 300];
    for _ in 0..3 {
        let (n, _) = ear.recv_from(&mut bytes).expect("a HELLO at MH's socket");
        assert_eq!(bytes[..4], *b"LHPM", "{n} bytes");
    }
    assert!(counter(&mut with, "messages_sent") >= 3);
    assert_eq!(counter(&mut with, "messages_accepted"), 0);
    assert!(peers(&bed, Host::Bs).is_empty());
    assert!(peers(&bed, Host::Mh).is_empty());
    let status = without[0].status().expect("status");
    let counters = status["counters"].as_object().expect("counters");
    for (name, n) in counters
        .iter()
        .filter(|(name, _)| name.starts_with("messages_"))
    {
        assert_eq!(n, 0, "{name}");
    }
    assert!(lasthop(&bed, Host::Mh, &["key", "reload"]).contains("without a key file"));
}

#[test]
fn keys_change_without_a_pause() {
    if !able() {
        return;
    }
    let mut ends = Ends::start();
    ends.wait_for(3);
    for keys in [&[OLD, NEW][..], &[NEW, OLD], &[NEW]] {
        write_keys(&ends.key, keys);
        for host in [Host::Bs, Host::Mh] {
            let said = lasthop(&ends.bed, host, &["key", "reload"]);
            assert!(said.contains("keys reloaded"), "{said}");
            ends.wait_for(2);
        }
    }
    for end in 0..2 {
        assert_eq!(ends.count(end, "messages_key"), 0);
        assert_eq!(ends.count(end, "messages_forged"), 0);
    }
    // What is wrong in the file leaves the keys as they are.
    fs::set_permissions(&ends.key, fs::Permissions::from_mode(0o644)).expect("mode");
    let error = super::lasthop(&ends.bed, &["key", "reload"]).expect_err("not root's alone");
    let error = format!("{error:#}");
    assert!(
        error.contains("lasthop: wl0: still the keys from before") && error.contains("chmod 600"),
        "{error}"
    );
    ends.wait_for(2);
    // Another key than the other's: not a word is believed.
    write_keys(&ends.key, &[OLD]);
    lasthop(&ends.bed, Host::Bs, &["key", "reload"]);
    wait_until("it is refused", || {
        let n = counter(&mut ends.agents[1], "messages_key");
        (n >= 2, n.to_string())
    });
}

/// A program that takes the place of another one reads the key file, and what it read is what counts.
#[test]
fn who_takes_over_has_the_keys_of_the_file() {
    if !able() {
        return;
    }
    let (directory, key) = keyed();
    let bed = bed();
    let file = directory.path().join("lasthop.toml");
    let text = format!("[device.wl0]\nscheme = \"none\"\nkey = {key:?}\n");
    fs::write(&file, text).expect("file");
    let before = bed.start_daemon(&file).expect("daemon");
    write_keys(&key, &[NEW]);
    let _next = bed.take_over(&file).expect("take over");
    before.wait().expect("the one from before ends");
    lasthop(&bed, Host::Bs, &["reload"]);
    // What it seals with: nobody who has the old key alone believes it.
    write_keys(&key, &[OLD]);
    let args = ["--key", key.to_str().expect("path")];
    let mut other = bed.start_agent_at(1, "none", &args).expect("agent");
    wait_until("it is refused", || {
        let n = counter(&mut other, "messages_key");
        (n >= 2, n.to_string())
    });
}
