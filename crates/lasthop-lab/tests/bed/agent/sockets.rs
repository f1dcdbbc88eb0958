// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Scheme `rack` and programs that do more than send and receive: sockets with options of their
//! own, that pause, that stop reading, that abort.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::counters::kernel_counter;
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::content::Content;
use lasthop_lab::bed::transfer::{Transfer, sockets};
use lasthop_lab::data::host::Host;
use lasthop_lab::data::topology::{self, Family};
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};

use super::{Sets, able, counter, fast_link, flows, lost, run, skip, wait_until, wait_until_empty};

const PORT: u16 = 9_000;
const IPPROTO_MPTCP: i32 = 262;
const ABORTED: usize = 8;

/// What FH sends in all of these tests.
fn content() -> Content {
    const SEED: u64 = 1;
    Content::new(SEED, 0)
}

/// A connection that FH has opened to MH.
pub struct Line {
    pub fh: Socket,
    pub mh: Socket,
}

/// The one before at this address is closed; but what another thread has forked meanwhile may have it until
/// it runs its program.
fn listen_at(listener: &Socket, at: &SockAddr) -> std::io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match listener.bind(at).and_then(|()| listener.listen(1)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

impl Line {
    /// `prepare` is called for the listening socket, whose options the accepted one inherits, and
    /// for the connecting one.
    pub fn new(
        bed: &TestBed,
        protocol: Protocol,
        prepare: impl Fn(Host, &Socket) + Sync,
    ) -> std::io::Result<Self> {
        let to: SocketAddr = (topology::address(Host::Mh, Family::V4), PORT).into();
        let socket = |host| -> std::io::Result<Socket> {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol))?;
            // Nothing here takes as long, and a hung test must not hang the others.
            socket.set_read_timeout(Some(Duration::from_secs(60)))?;
            socket.set_write_timeout(Some(Duration::from_secs(60)))?;
            // What the machine's default is must not matter.
            sockets::set_congestion_control(&socket, "cubic").map_err(std::io::Error::other)?;
            prepare(host, &socket);
            Ok(socket)
        };
        let listen = || -> std::io::Result<Socket> {
            let listener = socket(Host::Mh)?;
            listener.set_reuse_address(true)?;
            listen_at(&listener, &to.into())?;
            Ok(listener)
        };
        let listener = bed.run_in(Host::Mh, listen).expect("enter MH")?;
        let connect = || -> std::io::Result<Socket> {
            let fh = socket(Host::Fh)?;
            fh.connect(&to.into())?;
            Ok(fh)
        };
        let fh = bed.run_in(Host::Fh, connect).expect("enter FH")?;
        let (mh, _) = listener.accept()?;
        mh.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Self { fh, mh })
    }

    pub fn tcp(bed: &TestBed, prepare: impl Fn(Host, &Socket) + Sync) -> Self {
        Self::new(bed, Protocol::TCP, prepare).expect("connection")
    }

    /// FH sends the bytes from position `at` on; fails if the connection does.
    pub fn send(&self, at: u64, bytes: u64) -> std::io::Result<()> {
        let (mut at, end) = (at, at + bytes);
        let mut buffer = [0; 16_384];
        while at < end {
            let part = &mut buffer[..(end - at).min(16_384) as usize];
            content().fill(at, part);
            (&self.fh).write_all(part)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    /// MH gets so many bytes, which must be those from position `at` on.
    pub fn receive(&self, at: u64, bytes: u64) {
        let (mut at, end) = (at, at + bytes);
        let mut buffer = [0; 16_384];
        while at < end {
            let room = (end - at).min(16_384) as usize;
            let got = (&self.mh).read(&mut buffer[..room]).expect("receive");
            assert_ne!(got, 0, "the stream ended after {at} bytes");
            let wrong = content().first_wrong(at, &buffer[..got]);
            assert_eq!(wrong, None, "position of the first wrong byte");
            at += got as u64;
        }
    }

    /// FH sends the bytes from position `at` on, MH gets them.
    pub fn carry(&self, at: u64, bytes: u64) {
        thread::scope(|scope| {
            let sender = scope.spawn(|| self.send(at, bytes));
            self.receive(at, bytes);
            sender.join().expect("sender").expect("send");
        });
    }

    /// Both ends close, and nothing of them lingers.
    pub fn end(self) {
        for socket in [&self.fh, &self.mh] {
            sockets::reset(socket);
        }
    }
}

/// A counter of a host's `/proc/net/netstat`.
pub fn tcp_counter(bed: &TestBed, host: Host, group: &str, name: &str) -> u64 {
    kernel_counter(bed.namespace(host), "netstat", group, name).expect("netstat")
}

/// MPTCP's numbers are in options that the agent doesn't read: it repairs, and hides nothing.
#[test]
fn mptcp_is_repaired_and_never_edited() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    for host in [Host::Fh, Host::Mh] {
        let known = bed.namespace(host).set_sysctl("mptcp.enabled", "1");
        if !known.expect("sysctl") {
            return skip("the kernel has no MPTCP");
        }
    }
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let line = match Line::new(&bed, Protocol::from(IPPROTO_MPTCP), |_, _| {}) {
        Ok(line) => line,
        Err(error) => return skip(&format!("no MPTCP socket: {error}")),
    };
    line.carry(0, 5_000_000);
    let answers = tcp_counter(&bed, Host::Fh, "MPTcpExt", "MPCapableSYNACKRX");
    assert!(answers > 0, "the connection fell back to plain TCP");
    let lost = lost(&bed);
    let repairs = counter(&mut agent, "local_retransmits");
    assert!(lost > 30, "the link lost only {lost} frames");
    bound!(repairs * 2 > lost, "{repairs} repairs for {lost} losses");
    for name in ["suppressed_acks", "windows_edited", "window_updates"] {
        assert_eq!(counter(&mut agent, name), 0, "{name}");
    }
    line.end();
    agent.stop().expect("stop");
}

/// Raises both limits of the window: the kernel lowers the second with the first, but doesn't
/// raise it again.
fn more_room(socket: &Socket) {
    socket.set_recv_buffer_size(1_000_000).expect("SO_RCVBUF");
    let clamp: libc::c_int = 1_000_000;
    // SAFETY: the kernel reads an integer of the given size, which lives through the call.
    let failed = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_WINDOW_CLAMP,
            (&raw const clamp).cast(),
            size_of_val(&clamp) as libc::socklen_t,
        )
    };
    assert_eq!(failed, 0, "TCP_WINDOW_CLAMP");
}

/// The receiver stops reading again and again, until its window is shut, and gets more room
/// later: no window may be made up, none kept back for good.
#[test]
fn windows_that_shut_and_grow() {
    if !able() {
        return;
    }
    const ROUNDS: u64 = 10;
    const FIRST: u64 = 200_000;
    const SIP: u64 = 20_000;
    const BYTES: u64 = 4_000_000;
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let line = Line::tcp(&bed, |_, _| {});
    line.mh.set_recv_buffer_size(8_192).expect("SO_RCVBUF");
    // What was granted before stays granted: it is used up first.
    line.carry(0, FIRST);
    thread::scope(|scope| {
        let sender = scope.spawn(|| line.send(FIRST, BYTES));
        for round in 0..ROUNDS {
            wait_until("a window that is shut", || {
                let info = sockets::tcp_info(&line.fh).expect("TCP_INFO");
                let shut = info.unacked_segments == 0 && info.window_bytes < 1_448;
                (shut, info.to_string())
            });
            line.receive(FIRST + round * SIP, SIP);
        }
        more_room(&line.mh);
        line.receive(FIRST + ROUNDS * SIP, BYTES - ROUNDS * SIP);
        sender.join().expect("sender").expect("send");
    });
    let shut = tcp_counter(&bed, Host::Mh, "TcpExt", "TCPToZeroWindowAdv");
    let lost = lost(&bed);
    let repairs = counter(&mut agent, "local_retransmits");
    assert!(shut > 0, "no window was shut");
    let window = sockets::tcp_info(&line.fh).expect("TCP_INFO").window_bytes;
    assert!(window > 50_000, "the window has grown to {window} only");
    bound!(
        repairs * 2 >= lost && repairs <= 2 * lost,
        "{repairs} repairs for {lost} losses"
    );
    line.end();
    agent.stop().expect("stop");
}

fn keep_alive(socket: &Socket, on: bool) {
    let often = TcpKeepalive::new()
        .with_time(Duration::from_secs(1))
        .with_interval(Duration::from_secs(1))
        .with_retries(9);
    socket.set_tcp_keepalive(&often).expect("keepalive");
    socket.set_keepalive(on).expect("keepalive");
}

/// Keepalives are answered with ACKs that say nothing new: they must pass all the same, and keep
/// the flow in the table.
#[test]
fn keepalives_and_data_again() {
    if !able() {
        return;
    }
    const BYTES: u64 = 2_000_000;
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let config = bed.directory().join("idle.toml");
    std::fs::write(&config, "idle = \"4s\"\n").expect("config");
    let config = ["--config", config.to_str().expect("path")];
    let mut agent = bed.start_agent("rack", &config).expect("agent");
    let line = Line::tcp(&bed, |_, _| {});
    line.carry(0, BYTES);
    let mut carried = BYTES;
    for (host, socket) in [(Host::Fh, &line.fh), (Host::Mh, &line.mh)] {
        let held_back = counter(&mut agent, "suppressed_acks");
        keep_alive(socket, true);
        wait_until("four keepalives", || {
            let sent = tcp_counter(&bed, host, "TcpExt", "TCPKeepAlive");
            (sent >= 4, format!("{sent}"))
        });
        keep_alive(socket, false);
        assert_eq!(counter(&mut agent, "suppressed_acks"), held_back);
        let repairs = counter(&mut agent, "local_retransmits");
        line.carry(carried, BYTES);
        carried += BYTES;
        assert!(counter(&mut agent, "local_retransmits") > repairs);
    }
    assert_eq!(counter(&mut agent, "flows_created"), 1, "it was forgotten");
    line.end();
    agent.stop().expect("stop");
}

/// An idle connection without them is forgotten, and picked up in mid-stream when it speaks again.
#[test]
fn forgotten_while_idle() {
    if !able() {
        return;
    }
    const BYTES: u64 = 3_000_000;
    let bed = TestBed::up(&fast_link(0.02)).expect("test bed");
    let config = bed.directory().join("idle.toml");
    std::fs::write(&config, "idle = \"1s\"\n").expect("config");
    let config = ["--config", config.to_str().expect("path")];
    let mut agent = bed.start_agent("rack", &config).expect("agent");
    let line = Line::tcp(&bed, |_, _| {});
    line.carry(0, BYTES);
    wait_until_empty(&mut agent);
    let repairs = counter(&mut agent, "local_retransmits");
    line.carry(BYTES, BYTES);
    assert_eq!(counter(&mut agent, "flows_created"), 2);
    assert!(counter(&mut agent, "local_retransmits") > repairs);
    line.end();
    agent.stop().expect("stop");
}

/// Sends until told to abort, by a reset.
fn send_and_abort(fh: Socket, abort: &AtomicBool) {
    fh.set_write_timeout(Some(Duration::from_millis(20)))
        .expect("timeout");
    let (mut at, mut buffer) = (0, [0; 16_384]);
    while !abort.load(Ordering::SeqCst) {
        content().fill(at, &mut buffer);
        match (&fh).write(&buffer) {
            Ok(written) => at += written as u64,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
    }
    sockets::reset(&fh);
}

/// Receives until the reset comes, or has been lost: then nothing comes any more.
fn receive_until_aborted(mh: &Socket, abort: &AtomicBool) {
    mh.set_read_timeout(Some(Duration::from_millis(500)))
        .expect("timeout");
    let (mut at, mut buffer) = (0, [0; 16_384]);
    loop {
        match (&mut &*mh).read(&mut buffer) {
            Ok(0) => panic!("a reset is no end of a stream"),
            Ok(got) => {
                assert_eq!(content().first_wrong(at, &buffer[..got]), None);
                at += got as u64;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if abort.load(Ordering::SeqCst) {
                    return;
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
                return;
            }
        }
    }
}

/// Senders abort while losses are being repaired and ACKs are held back: the flows go, and so
/// does all that was kept for them, although MH still has its ends open.
#[test]
fn reset_in_the_middle_of_recovery() {
    if !able() {
        return;
    }
    let bed = TestBed::up(&fast_link(0.1)).expect("test bed");
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    let lines = (0..ABORTED).map(|_| Line::tcp(&bed, |_, _| {}));
    let (senders, receivers): (Vec<_>, Vec<_>) = lines.map(|line| (line.fh, line.mh)).unzip();
    let abort = AtomicBool::new(false);
    thread::scope(|scope| {
        let _abort = Sets(&abort);
        for fh in senders {
            scope.spawn(|| send_and_abort(fh, &abort));
        }
        for mh in &receivers {
            scope.spawn(|| receive_until_aborted(mh, &abort));
        }
        let is_held = |flow: &serde_json::Value| flow["held"] == true;
        wait_until("ACKs of two flows held", || {
            let held = flows(&bed).into_iter().filter(is_held).count();
            (held >= 2, format!("of {held}"))
        });
    });
    wait_until_empty(&mut agent);
    assert_eq!(counter(&mut agent, "flows_removed"), ABORTED as u64);
    receivers.iter().for_each(sockets::reset);
    // And the hop is at others' service.
    run(&bed, Transfer::new().bytes(500_000));
    agent.stop().expect("stop");
}
