// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! End to end: `lasthop split` on BS, the kernel's real TCP at both ends.

mod ends;
mod path;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::process::{Lifetime, Managed, find_binary, output};
use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::queue::Queue;
use lasthop_lab::data::topology::Family;
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::unistd::Pid;
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use socket2::SockRef;

use crate::EndsWithTest;

const PATIENCE: Duration = Duration::from_secs(30);

/// The hop of these tests, 24 ms to FH.
fn link(loss: f64) -> LinkOptions {
    LinkOptions {
        rtt_ns: 24_000_000,
        local_rtt_ns: 4_000_000,
        loss,
        ..LinkOptions::default()
    }
}

/// A test bed, None: the test that asks can't run here, and it has been said why.
fn bed(link: &LinkOptions) -> Option<TestBed> {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    if super::skipped(&test) {
        return None;
    }
    let bed = TestBed::up(link).expect("test bed");
    let script = "table inet try { chain c { type filter hook prerouting priority 0; \
                  meta nfproto ipv4 meta l4proto tcp tproxy ip to :1; }; }";
    let bs = bed.station("bs").unwrap();
    if let Err(error) = output(Some(bs), &["nft", script]) {
        super::skip(&test, &format!("no TPROXY here: {error:#}"));
        return None;
    }
    output(Some(bs), &["nft", "delete table inet try"]).unwrap();
    Some(bed)
}

/// `lasthop split wl0 ARGS...` on BS.
fn split(bed: &TestBed, args: &[&str]) -> Managed {
    let mut command = Command::new(find_binary("lasthop").unwrap());
    command.args(["split", "wl0"]).args(args);
    let bs = bed.station("bs").unwrap();
    let lifetime = Lifetime::WithLab(Signal::SIGTERM);
    let mut proxy = Managed::spawn(command, "lasthop split", bs, lifetime, None).unwrap();
    let ready = if args.contains(&"-j") {
        "{\"devices\""
    } else {
        "lasthop: splitting"
    };
    proxy.wait_for_line(ready, PATIENCE).unwrap();
    proxy
}

fn listen(bed: &TestBed, host: Host, family: Family, port: u16) -> TcpListener {
    let to = (bed.topology().address(host, family), port);
    bed.run_in(host, || TcpListener::bind(to)).unwrap().unwrap()
}

fn connect(bed: &TestBed, host: Host, to: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = bed
        .run_in(host, || TcpStream::connect_timeout(&to, PATIENCE))
        .unwrap()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A connection from `from` to `to`, and its other end.
fn pair(bed: &TestBed, from: Host, to: Host, family: Family, port: u16) -> (TcpStream, TcpStream) {
    let listener = listen(bed, to, family, port);
    let client = connect(bed, from, listener.local_addr().unwrap()).expect("a connection");
    let (server, peer) = listener.accept().unwrap();
    assert_eq!(
        peer,
        client.local_addr().unwrap(),
        "addresses and ports stay"
    );
    assert_eq!(peer.ip(), bed.topology().address(from, family));
    server.set_read_timeout(Some(PATIENCE)).unwrap();
    (client, server)
}

/// Bytes that tell where they belong.
fn content(nr_bytes: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; nr_bytes];
    StdRng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// Sends `bytes` and closes that direction; returns all that comes back.
fn talk(stream: TcpStream, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut got = Vec::new();
    thread::scope(|scope| {
        let mut writer = &stream;
        let sent = scope.spawn(move || -> std::io::Result<()> {
            writer.write_all(bytes)?;
            writer.shutdown(Shutdown::Write)
        });
        (&mut &stream).read_to_end(&mut got)?;
        sent.join().unwrap()
    })?;
    Ok(got)
}

/// What the proxy says at its end: connections that were split and that were not.
fn ended(mut proxy: Managed) -> (u64, u64) {
    let status = proxy.stop(Signal::SIGINT, PATIENCE).unwrap();
    assert!(status.success(), "{status}");
    let lines = proxy.rest_of_lines();
    let last: serde_json::Value = serde_json::from_str(lines.last().expect("a last line")).unwrap();
    assert_eq!(last["event"], "ended", "{lines:?}");
    (
        last["split"].as_u64().unwrap(),
        last["unsplit"].as_u64().unwrap(),
    )
}

#[test]
fn content_and_addresses_are_right_in_both_directions_and_families() {
    let Some(bed) = bed(&link(0.02)) else { return };
    let proxy = split(&bed, &["-j"]);
    let mut port = 7000;
    for family in [Family::V4, Family::V6] {
        for (from, to) in [(Host::Mh, Host::Fh), (Host::Fh, Host::Mh)] {
            port += 1;
            let (client, server) = pair(&bed, from, to, family, port);
            let (up, down) = (content(700_000, 1), content(900_001, 2));
            let (at_client, at_server) = thread::scope(|scope| {
                let far = scope.spawn(|| talk(server, &down).unwrap());
                (talk(client, &up).unwrap(), far.join().unwrap())
            });
            assert!(
                at_server == up && at_client == down,
                "{from:?} to {to:?}, {family:?}"
            );
        }
    }
    assert_eq!(ended(proxy), (4, 0));
    bed.down().expect("nothing is left");
}

#[test]
fn a_closed_direction_leaves_the_other_open_and_a_reset_passes() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let proxy = split(&bed, &["-j"]);
    // CAP_NET_BIND_SERVICE and CAP_NET_ADMIN, and no way to others.
    let status = std::fs::read_to_string(format!("/proc/{}/status", proxy.id().pid)).unwrap();
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        assert!(
            status.contains(&format!("{set}:\t0000000000001400")),
            "{status}"
        );
    }
    let (mut client, mut server) = pair(&bed, Host::Mh, Host::Fh, Family::V4, 7100);
    client.write_all(b"question").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut got = Vec::new();
    server.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"question");
    server.write_all(b"answer").unwrap();
    drop(server);
    got.clear();
    client.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"answer");

    for (port, from_client) in [(7101, true), (7102, false)] {
        let (client, server) = pair(&bed, Host::Mh, Host::Fh, Family::V4, port);
        let (resets, mut hears) = if from_client {
            (client, server)
        } else {
            (server, client)
        };
        SockRef::from(&resets)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
        drop(resets);
        let error = hears
            .read(&mut [0; 1])
            .expect_err("a reset, no end of file");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    assert_eq!(ended(proxy), (3, 0));
    bed.down().expect("nothing is left");
}

#[test]
fn nobody_is_told_of_a_connection_that_there_is_not() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let proxy = split(&bed, &["-j", "--exclude", ":7201"]);
    let nowhere = (bed.topology().address(Host::Fh, Family::V4), 7200).into();
    let error = connect(&bed, Host::Mh, nowhere).expect_err("nobody listens there");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    // One that is excluded is not split, nor one to BS itself.
    drop(pair(&bed, Host::Mh, Host::Fh, Family::V4, 7201));
    let listener = listen(&bed, Host::Bs, Family::V4, 7202);
    drop(connect(&bed, Host::Mh, listener.local_addr().unwrap()).unwrap());
    assert_eq!(ended(proxy), (0, 1));
    bed.down().expect("nothing is left");
}

/// Writes until nothing more is taken for a second; returns how much was.
fn fill(stream: &TcpStream) -> u64 {
    stream.set_nonblocking(true).unwrap();
    let (mut taken, mut since) = (0, Instant::now());
    while since.elapsed() < Duration::from_secs(1) {
        match (&mut &*stream).write(&[7; 65_536]) {
            Ok(n) => {
                taken += n as u64;
                since = Instant::now();
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
    taken
}

/// Bytes that the other end has not acknowledged.
fn unacknowledged(stream: &TcpStream) -> i32 {
    use std::os::fd::AsRawFd;
    let mut bytes = 0;
    // SAFETY: an open socket, and an int for the answer.
    let done = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    assert_eq!(done, 0);
    bytes
}

#[test]
fn a_stalled_receiver_stops_its_sender_and_nobody_else() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let proxy = split(&bed, &["-j", "--buffer", "64KiB"]);
    let (client, mut server) = pair(&bed, Host::Fh, Host::Mh, Family::V4, 7300);
    let taken = fill(&client);
    let (other, far) = pair(&bed, Host::Fh, Host::Mh, Family::V4, 7301);
    let bytes = content(300_000, 3);
    let echo = thread::spawn(move || talk(far, b"").unwrap());
    talk(other, &bytes).unwrap();
    assert!(echo.join().unwrap() == bytes);
    // Nothing is lost by the wait.
    drop(client);
    let mut got = Vec::new();
    server.read_to_end(&mut got).unwrap();
    assert_eq!(got.len() as u64, taken);
    drop(server);
    // Buffers of four sockets (tcp_rmem, tcp_wmem) and of the proxy, which don't grow for ever.
    assert!(taken < 64 << 20, "{taken}");
    assert_eq!(ended(proxy), (2, 0));
    bed.down().expect("nothing is left");
}

/// What RFC 3135 (section 4.1.1) warns of: the sender has its acknowledgements, the receiver not the data.
#[test]
fn what_was_acknowledged_is_lost_with_the_proxy() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let mut proxy = split(&bed, &[]);
    let (client, mut server) = pair(&bed, Host::Fh, Host::Mh, Family::V4, 7400);
    let taken = fill(&client);
    let acknowledged = taken - unacknowledged(&client) as u64;
    proxy.kill().unwrap();
    server
        .set_read_timeout(Some(Duration::from_secs(3)))
        .unwrap();
    let (mut got, mut bytes) = (0, vec![0; 65_536]);
    while let Ok(n @ 1..) = server.read(&mut bytes) {
        got += n as u64;
    }
    let _ = writeln!(
        std::io::stderr(),
        "split, killed: {acknowledged} bytes were acknowledged, {got} arrived"
    );
    assert!(got < acknowledged, "{got} of {acknowledged}");
    // What it leaves stops nobody: the next connection is the hosts' own. Another one takes over.
    drop(pair(&bed, Host::Mh, Host::Fh, Family::V4, 7401));
    let proxy = split(&bed, &["-j"]);
    drop(pair(&bed, Host::Mh, Host::Fh, Family::V4, 7402));
    assert_eq!(ended(proxy), (1, 0));
    drop(pair(&bed, Host::Mh, Host::Fh, Family::V4, 7403));
    bed.down().expect("nothing is left");
}

/// A transfer of so many bytes goes on while the proxy gets these signals, and is whole.
fn is_whole_after(bed: &TestBed, mut proxy: EndsWithTest, port: u16, signals: &[Signal]) {
    let (mut client, mut server) = pair(bed, Host::Fh, Host::Mh, Family::V4, port);
    let bytes = content(4_000_000, 5);
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    let mut got = vec![0; 10_000];
    let whole = thread::scope(|scope| {
        let sends = scope.spawn(move || client.write_all(first).map(|()| client));
        server.read_exact(&mut got)?;
        for &signal in signals {
            kill(Pid::from_raw(proxy.0.id() as i32), signal).unwrap();
        }
        let mut client = sends.join().unwrap()?;
        let sends = scope.spawn(move || client.write_all(rest));
        server.read_to_end(&mut got)?;
        sends.join().unwrap()
    });
    drop(server);
    let status = proxy.0.wait().unwrap();
    assert!(whole.is_ok() && got == bytes, "{whole:?}, {}", got.len());
    assert!(status.success(), "{status}");
}

/// `lasthop split wl0` on BS, which finds SIGHUP set so, and what it says after its first line.
fn split_with(bed: &TestBed, hangup: SigHandler) -> (EndsWithTest, BufReader<ChildStdout>) {
    let mut command = Command::new(find_binary("lasthop").unwrap());
    command.args(["split", "wl0"]).stdout(Stdio::piped());
    // SAFETY: one system call, which touches nothing of ours.
    unsafe { command.pre_exec(move || Ok(signal(Signal::SIGHUP, hangup).map(drop)?)) };
    let mut proxy = EndsWithTest(bed.run_in(Host::Bs, || command.spawn()).unwrap().unwrap());
    let mut line = String::new();
    let mut said = BufReader::new(proxy.0.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    assert!(line.starts_with("lasthop: splitting"), "{line}");
    (proxy, said)
}

/// Its terminal is gone, or `| head` has ended: told to end, it ends with the last connection all the same.
#[test]
fn who_no_longer_reads_cuts_no_connection() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let (proxy, said) = split_with(&bed, SigHandler::SigDfl);
    drop(said);
    is_whole_after(&bed, proxy, 7600, &[Signal::SIGINT]);
    bed.down().expect("nothing is left");
}

/// Where nohup has SIGHUP ignored that is no order to end, and SIGINT after it no second one, which would reset
/// what there is.
#[test]
fn a_hangup_that_is_ignored_is_no_order() {
    let Some(bed) = bed(&link(0.0)) else { return };
    let (proxy, _said) = split_with(&bed, SigHandler::SigIgn);
    is_whole_after(&bed, proxy, 7700, &[Signal::SIGHUP, Signal::SIGINT]);
    bed.down().expect("nothing is left");
}

#[test]
fn a_thousand_connections() {
    const NR: u32 = 1000;
    // All begin at once: a short queue would drop most of what they send, and again after each timeout.
    let link = LinkOptions {
        rate_bps: 100_000_000,
        queue: Queue::Packets(8000),
        ..link(0.01)
    };
    let Some(bed) = bed(&link) else { return };
    let proxy = split(&bed, &["-j"]);
    let listener = listen(&bed, Host::Fh, Family::V4, 7500);
    let to = listener.local_addr().unwrap();
    let echo = thread::spawn(move || {
        for _ in 0..NR {
            let (mut stream, _) = listener.accept().unwrap();
            thread::spawn(move || {
                let mut got = Vec::new();
                stream.read_to_end(&mut got).unwrap();
                stream.write_all(&got).unwrap();
            });
        }
    });
    // Several at a time: each waits for two round trips.
    let some = || -> Vec<TcpStream> {
        let one = |_| TcpStream::connect_timeout(&to, PATIENCE).unwrap();
        (0..NR / 20).map(one).collect()
    };
    let all = || {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..20).map(|_| scope.spawn(some)).collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        })
    };
    let streams: Vec<TcpStream> = bed.run_in(Host::Mh, all).unwrap();
    for stream in &streams {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    for (seed, stream) in (0..).zip(&streams) {
        (&mut &*stream).write_all(&content(5000, seed)).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
    }
    for (seed, mut stream) in (0..).zip(streams) {
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        assert!(
            got == content(5000, seed),
            "connection {seed}: {} bytes",
            got.len()
        );
    }
    echo.join().unwrap();
    assert_eq!(ended(proxy), (u64::from(NR), 0));
    bed.down().expect("nothing is left");
}
