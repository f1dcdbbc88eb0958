// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Three hosts in network namespaces of their own, for tests that move real frames:
//!
//! ```text
//! ┌─ west ─────┐      ┌─ emu ──────────┐      ┌─ east ─────┐
//! │ w0 10.9.0.1├──────┤ ew   relay   ee├──────┤e0 10.9.0.2 │
//! └────────────┘      └────────────────┘      └────────────┘
//! ```
//! Nothing talks of its own accord (no IPv6, fixed neighbours unless told otherwise), so that
//! every frame that is counted is one that the test sent.

use std::fs::File;
use std::io::Write;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Once, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use linkemu::{Config, Relay, RelayHandle, Stats};
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{setsockopt, sockopt::RcvBufForce};

pub const WEST_IP: &str = "10.9.0.1";
pub const EAST_IP: &str = "10.9.0.2";
const WEST_MAC: &str = "02:00:00:00:00:01";
const EAST_MAC: &str = "02:00:00:00:00:02";
/// Far more than anything takes; only a hang gets there.
const DEADLINE: Duration = Duration::from_secs(30);
const NAMESPACES: &str = "/run/netns";
/// How the tests' namespaces are called; PID-RUN-HOST follows.
const PREFIX: &str = "linkemu-test-";

/// Of a socket of [`Lab::udp_pair`]: more than any test sends at once.
const RECEIVE_BYTES: usize = 8 << 20;

/// A network namespace that is removed again whatever happens.
pub struct Namespace {
    name: String,
}

impl Namespace {
    fn new(host: &str, run: u32) -> Self {
        let name = format!("{PREFIX}{}-{run}-{host}", std::process::id());
        ip(&format!("netns add {name}"));
        let namespace = Self { name };
        namespace.enter(|| {
            for scope in ["all", "default"] {
                let path = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
                // A kernel without IPv6 is as quiet.
                let _ = std::fs::write(path, "1");
            }
        });
        namespace
    }

    /// Runs `work` in a thread of its own inside the namespace. Sockets and processes that it
    /// opens stay there.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let file = self.file();
        std::thread::scope(|scope| {
            let thread = scope.spawn(move || {
                setns(file, CloneFlags::CLONE_NEWNET).expect("setns");
                work()
            });
            thread.join().expect("work inside a namespace")
        })
    }

    /// Runs `ip` on the namespace.
    pub fn ip(&self, arguments: &str) {
        ip(&format!("-n {} {arguments}", self.name));
    }

    fn file(&self) -> File {
        File::open(PathBuf::from(NAMESPACES).join(&self.name)).expect("namespace file")
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip")
            .args(["netns", "del", &self.name])
            .status();
    }
}

/// Removes what tests have left that were killed: nobody else would.
fn remove_abandoned() {
    let Ok(entries) = std::fs::read_dir(NAMESPACES) else {
        return; // none was ever made
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if maker(&name).is_some_and(|pid| !PathBuf::from(format!("/proc/{pid}")).exists()) {
            drop(Namespace { name });
        }
    }
}

/// The process that made a test's namespace.
fn maker(name: &str) -> Option<u32> {
    let (pid, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    pid.parse().ok()
}

fn ip(arguments: &str) {
    let output = Command::new("ip")
        .args(arguments.split_whitespace())
        .output()
        .expect("run ip");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {arguments}: {errors}");
}

/// Says why a test is skipped, past the test harness, which swallows what passing tests print.
fn skip<T>(why: &str) -> Option<T> {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
    None
}

/// Three hosts, and the relay once it is started.
pub struct Lab {
    pub relay: Option<RunningRelay>,
    pub west: Namespace,
    pub emu: Namespace,
    pub east: Namespace,
}

pub struct RunningRelay {
    pub handle: Arc<RelayHandle>,
    thread: Option<JoinHandle<Stats>>,
}

impl RunningRelay {
    /// Stops the relay and returns its last word.
    pub fn finish(mut self) -> Stats {
        self.handle.stop();
        self.thread.take().expect("runs").join().expect("relay")
    }
}

impl Drop for RunningRelay {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Lab {
    /// The three hosts, cabled, without a relay. `None`, with the reason printed, when the tests
    /// may not make namespaces.
    pub fn new() -> Option<Self> {
        static RUN: AtomicU32 = AtomicU32::new(0);
        static SWEEP: Once = Once::new();
        if !nix::unistd::geteuid().is_root() {
            return skip("network namespaces need root");
        }
        if Command::new("ip").arg("-V").output().is_err() {
            return skip("no ip command (package iproute2)");
        }
        SWEEP.call_once(remove_abandoned);
        let run = RUN.fetch_add(1, Ordering::Relaxed);
        let [west, emu, east] = ["west", "emu", "east"].map(|host| Namespace::new(host, run));
        let lab = Self {
            relay: None,
            west,
            emu,
            east,
        };
        lab.cable_west();
        lab.cable_east();
        lab.fix_neighbours();
        Some(lab)
    }

    /// Like [`Lab::new`], with a relay that has these settings from west to east and back.
    pub fn with_relay(west_to_east: &str, east_to_west: &str) -> Option<Self> {
        let mut lab = Self::new()?;
        lab.start_relay(west_to_east, east_to_west);
        Some(lab)
    }

    pub fn start_relay(&mut self, west_to_east: &str, east_to_west: &str) {
        self.start(&config_json(west_to_east, east_to_west));
    }

    /// A relay with a medium for both directions, and the same settings each way.
    pub fn start_relay_with_mac(&mut self, mac: &str, each_way: &str) {
        let plain = config_json(each_way, each_way);
        self.start(&plain.replacen('{', &format!(r#"{{"mac":{mac},"#), 1));
    }

    fn start(&mut self, json: &str) {
        let config = Config::from_json(json).expect("config");
        let file = self.emu.file();
        let (ready, opened) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            setns(file, CloneFlags::CLONE_NEWNET).expect("setns");
            let relay = Relay::open(config).expect("open relay");
            ready.send(relay.stats_handle()).expect("test waits");
            relay.run(&AtomicBool::new(false)).expect("run relay")
        });
        let handle = opened.recv().expect("relay opens");
        self.relay = Some(RunningRelay {
            handle,
            thread: Some(thread),
        });
    }

    pub fn cable_west(&self) {
        self.cable(&self.west, "w0", WEST_MAC, "ew", WEST_IP);
    }

    fn cable_east(&self) {
        self.cable(&self.east, "e0", EAST_MAC, "ee", EAST_IP);
    }

    fn cable(&self, host: &Namespace, device: &str, mac: &str, emu_device: &str, address: &str) {
        let emu = &self.emu.name;
        host.ip(&format!(
            "link add {device} address {mac} type veth peer {emu_device} netns {emu}"
        ));
        host.ip(&format!("addr add {address}/24 dev {device}"));
        host.ip(&format!("link set {device} up"));
        self.emu.ip(&format!("link set {emu_device} up"));
    }

    pub fn fix_neighbours(&self) {
        self.west
            .ip(&format!("neigh replace {EAST_IP} lladdr {EAST_MAC} dev w0"));
        self.east
            .ip(&format!("neigh replace {WEST_IP} lladdr {WEST_MAC} dev e0"));
    }

    pub fn free_neighbours(&self) {
        self.west.ip("neigh flush nud all dev w0");
        self.east.ip("neigh flush nud all dev e0");
    }

    pub fn handle(&self) -> &RelayHandle {
        &self.relay.as_ref().expect("relay runs").handle
    }

    /// Polls the counters until they satisfy `condition`.
    pub fn wait_for(&self, what: &str, condition: impl Fn(&Stats) -> bool) -> Stats {
        let begin = Instant::now();
        loop {
            let stats = self.handle().stats();
            if condition(&stats) {
                return stats;
            }
            assert!(
                begin.elapsed() < DEADLINE,
                "no {what} in {DEADLINE:?}: {stats:?}"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// A UDP socket on each side, connected to each other.
    pub fn udp_pair(&self) -> (UdpSocket, UdpSocket) {
        const PORT: u16 = 7000;
        let open = |local: &str, remote: &str| {
            let socket = UdpSocket::bind((local, PORT)).expect("bind");
            socket.connect((remote, PORT)).expect("connect");
            // The default holds 92 datagrams: what 50 Mbit/s bring in 15 ms, for which a reader
            // may well have to wait on a busy machine.
            setsockopt(&socket, RcvBufForce, &RECEIVE_BYTES).expect("receive buffer");
            socket.set_read_timeout(Some(DEADLINE)).expect("timeout");
            socket
        };
        let west = self.west.enter(|| open(WEST_IP, EAST_IP));
        let east = self.east.enter(|| open(EAST_IP, WEST_IP));
        (west, east)
    }
}

pub fn config_json(west_to_east: &str, east_to_west: &str) -> String {
    format!(r#"{{"a":"ew","b":"ee","seed":1,"a_to_b":{west_to_east},"b_to_a":{east_to_west}}}"#)
}

#[test]
fn what_killed_tests_left_is_removed() {
    let Some(lab) = Lab::new() else { return };
    let mut gone = Command::new("true").spawn().expect("run true");
    gone.wait().expect("wait");
    let name = format!("{PREFIX}{}-0-west", gone.id());
    ip(&format!("netns add {name}"));
    remove_abandoned();
    assert!(!PathBuf::from(NAMESPACES).join(&name).exists());
    lab.west.file(); // of a test that runs
}
