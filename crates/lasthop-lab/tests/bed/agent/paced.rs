// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Receivers whose application reads at its own pace, as players of films and whoever writes to a slow
//! disk do: they keep their ACKs until there is room, however much has come.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use lasthop_lab::bed::testbed::TestBed;
use lasthop_lab::bed::transfer::content::Content;
use lasthop_lab::bed::transfer::{Transfer, sockets};
use lasthop_lab::data::host::Host;
use lasthop_lab::data::link::LinkOptions;
use lasthop_lab::data::topology::Family;
use socket2::SockRef;

use super::{PATIENCE, able_in_peace, check, counter, fast_link};

/// Reads so many bytes at a time, so often.
#[derive(Clone, Copy)]
struct Pace {
    bytes: usize,
    every: Duration,
}

const FILM: Pace = Pace {
    bytes: 16 * 1024,
    every: Duration::from_millis(20),
};
const DISK: Pace = Pace {
    bytes: 256 * 1024,
    every: Duration::from_millis(50),
};

/// A hop as short as Wi-Fi's, that loses nothing.
fn near() -> LinkOptions {
    LinkOptions {
        local_rtt_ns: 2_000_000,
        ..fast_link(0.0)
    }
}

const PORT: u16 = 5555;

/// Sends `turns` times what the reader takes at once.
fn send(mut to: TcpStream, pace: Pace, turns: usize) {
    let content = Content::new(1, 0);
    let mut bytes = vec![0; pace.bytes];
    for turn in 0..turns {
        content.fill((turn * pace.bytes) as u64, &mut bytes);
        to.write_all(&bytes).expect("write");
    }
    to.shutdown(Shutdown::Write).expect("shutdown");
}

/// Reads it all, and each byte must be right.
fn read(mut from: TcpStream, pace: Pace, turns: usize) {
    let content = Content::new(1, 0);
    let mut bytes = vec![0; pace.bytes];
    let mut due = Instant::now();
    for turn in 0..turns {
        from.read_exact(&mut bytes).expect("read");
        let wrong = content.first_wrong((turn * pace.bytes) as u64, &bytes);
        assert_eq!(wrong, None, "byte of turn {turn}");
        due += pace.every;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    assert_eq!(from.read(&mut bytes).expect("end"), 0);
}

/// A connection from FH to MH on which `turns` reads are made; ends with it.
fn play(bed: &TestBed, pace: Pace, turns: usize) {
    let to = SocketAddr::new(bed.topology().address(Host::Mh, Family::V4), PORT);
    let listener = bed.run_in(Host::Mh, || TcpListener::bind(to));
    let listener = listener.expect("namespace").expect("listener");
    let stream = bed.run_in(Host::Fh, || TcpStream::connect(to));
    let stream = stream.expect("namespace").expect("connection");
    sockets::set_congestion_control(&SockRef::from(&stream), "cubic").expect("cubic");
    let (accepted, _) = listener.accept().expect("accepted");
    stream.set_write_timeout(Some(PATIENCE)).expect("timeout");
    accepted.set_read_timeout(Some(PATIENCE)).expect("timeout");
    thread::scope(|scope| {
        scope.spawn(|| send(stream, pace, turns));
        scope.spawn(|| read(accepted, pace, turns));
    });
}

fn hardly_anything_is_sent_twice(pace: Pace, turns: usize) {
    if !able_in_peace() {
        return;
    }
    let bed = TestBed::up(&near()).expect("test bed");
    let mut agent = bed.start_agent("rack", &[]).expect("agent");
    play(&bed, pace, turns);
    let segments = counter(&mut agent, "data_segments");
    let repairs = counter(&mut agent, "local_retransmits");
    assert!(segments > (turns * pace.bytes / 1500) as u64);
    bound!(
        repairs * 50 <= segments,
        "{repairs} repairs of {segments} segments"
    );
    agent.stop().expect("stop");
}

/// The hop loses nothing: 8 % of the segments were sent twice here, up to 47 % on shorter ones (docs/decisions.md, D71).
#[test]
fn a_film_is_sent_once() {
    hardly_anything_is_sent_twice(FILM, 300);
}

#[test]
fn what_a_disk_takes_is_sent_once() {
    hardly_anything_is_sent_twice(DISK, 100);
}

/// What a film's player keeps its ACKs for is no queue to the download beside it.
#[test]
fn a_download_beside_a_film_is_as_fast() {
    if !able_in_peace() {
        return;
    }
    let bed = TestBed::up(&near()).expect("test bed");
    let bytes = |with_agent: bool| {
        let agent = with_agent.then(|| bed.start_agent("rack", &[]).expect("agent"));
        let download = Transfer::new().cc("cubic").start(&bed).expect("transfer");
        play(&bed, FILM, 300);
        let report = download.stop().expect("download");
        check(&report);
        drop(agent);
        report.total_bytes()
    };
    let (none, rack) = (bytes(false), bytes(true));
    bound!(
        rack as f64 > 0.9 * none as f64,
        "{rack} bytes, {none} without an agent"
    );
}
