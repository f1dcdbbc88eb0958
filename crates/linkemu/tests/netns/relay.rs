// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The relay between three hosts.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use crate::lab::{EAST_IP, Lab};
use crate::raw::{RawFrame, RawSocket, offloads_off};
use linkemu::{DirectionStats, Update};
use nix::sys::socket::{setsockopt, sockopt};
use nix::time::{ClockId, clock_gettime};

const WIRE: &str = "{}";

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("clock");
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

fn accounted(d: &DirectionStats) -> u64 {
    let left = d.sent_frames + d.lost_frames + d.queue_dropped_frames + d.tx_errors;
    left + d.overflow_frames + d.queue_frames + d.in_flight_frames
}

fn is_idle(d: &DirectionStats) -> bool {
    d.queue_frames + d.in_flight_frames == 0
}

/// Ethernet, IPv4 and UDP headers before the payload.
const UDP_OVERHEAD_BYTES: u64 = 14 + 20 + 8;

#[test]
fn every_frame_is_accounted_for_and_none_is_early() {
    const FRAMES: u64 = 500;
    const PAYLOAD_BYTES: usize = 1000;
    let settings = r#"{"rate_bps":20000000,"delay_ns":20000000,"queue_frames":30,"loss":0.1}"#;
    let Some(mut lab) = Lab::with_relay(settings, WIRE) else {
        return;
    };
    let (west, east) = lab.udp_pair();

    let sender = std::thread::spawn(move || send_stamped(&west, FRAMES, PAYLOAD_BYTES));
    let mut delays_ns = Vec::new();
    let mut buffer = [0; PAYLOAD_BYTES];
    // The relay's own count tells when the last one is through.
    let done = |lab: &Lab, got: usize| {
        let d = lab.handle().stats().a_to_b;
        d.received_frames == FRAMES && is_idle(&d) && d.sent_frames == got as u64
    };
    east.set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let begin = Instant::now();
    while !done(&lab, delays_ns.len()) {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{:?}",
            lab.handle().stats()
        );
        if east.recv(&mut buffer).is_ok() {
            let sent_ns = u64::from_le_bytes(buffer[..8].try_into().unwrap());
            delays_ns.push(now_ns() - sent_ns);
        }
    }
    sender.join().unwrap();

    let frame_bytes = PAYLOAD_BYTES as u64 + UDP_OVERHEAD_BYTES;
    let least_ns = 20_000_000 + frame_bytes * 8 * 1_000_000_000 / 20_000_000;
    let fastest_ns = *delays_ns.iter().min().unwrap();
    assert!(fastest_ns >= least_ns, "{fastest_ns} ns < {least_ns} ns");

    let d = lab.relay.take().unwrap().finish().a_to_b;
    assert_eq!(
        (d.received_frames, d.received_bytes),
        (FRAMES, FRAMES * frame_bytes)
    );
    assert_eq!(accounted(&d), FRAMES);
    assert_eq!(d.sent_frames, delays_ns.len() as u64);
    assert!(
        d.lost_frames > 0 && d.queue_dropped_frames > 0 && d.queue_max_frames == 30,
        "{d:?}"
    );
    assert_eq!((d.tx_errors, d.rx_kernel_drops, d.data_received), (0, 0, 0));
}

/// Sends in bursts of 100 so that the queue overflows, each with its time.
fn send_stamped(socket: &UdpSocket, frames: u64, payload_bytes: usize) {
    let mut payload = vec![0; payload_bytes];
    for frame in 0..frames {
        payload[..8].copy_from_slice(&now_ns().to_le_bytes());
        socket.send(&payload).unwrap();
        if frame % 100 == 99 {
            std::thread::sleep(Duration::from_millis(5)); // lets some of the queue drain
        }
    }
}

#[test]
fn ping_crosses_both_directions() {
    let delay = r#"{"delay_ns":3000000}"#;
    let Some(lab) = Lab::with_relay(delay, delay) else {
        return;
    };
    // A raw ICMP socket in the clothes of a UDP one, for its send_to and recv_from.
    let socket: UdpSocket = lab.west.enter(|| {
        use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
        let (family, kind) = (AddressFamily::Inet, SockType::Raw);
        socket(family, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp)
            .expect("socket")
            .into()
    });
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    // Echo request, checksum of type 8 with identifier 0x4321 and sequence number 1.
    let request = [8, 0, 0xb4, 0xdd, 0x43, 0x21, 0, 1];
    let begin_ns = now_ns();
    socket.send_to(&request, (EAST_IP, 0)).unwrap();
    let mut reply = [0; 128];
    loop {
        let bytes = socket.recv(&mut reply).expect("echo reply");
        if bytes >= 28 && reply[20] == 0 && reply[24..26] == [0x43, 0x21] {
            break;
        }
    }
    assert!(now_ns() - begin_ns >= 6_000_000);
    let stats = lab.wait_for("count", |s| {
        s.a_to_b.sent_frames == 1 && s.b_to_a.sent_frames == 1
    });
    assert_eq!(
        (stats.a_to_b.received_bytes, stats.b_to_a.received_bytes),
        (42, 42)
    );
}

#[test]
fn arp_survives_total_loss() {
    let Some(lab) = Lab::with_relay(r#"{"loss":1}"#, r#"{"loss":1}"#) else {
        return;
    };
    lab.free_neighbours();
    let (west, _east) = lab.udp_pair();
    west.send(b"into the void").unwrap();
    // The datagram leaves only once ARP is answered.
    let stats = lab.wait_for("lost datagram", |s| s.a_to_b.lost_frames == 1);
    assert!(
        stats.a_to_b.sent_frames >= 1 && stats.b_to_a.sent_frames >= 1,
        "{stats:?}"
    );
}

#[test]
fn vlan_tag_passes() {
    let Some(lab) = Lab::with_relay(WIRE, WIRE) else {
        return;
    };
    let west = lab.west.enter(|| RawSocket::open("w0"));
    let east = lab.east.enter(|| RawSocket::open("e0"));
    for (tpid, tci) in [(0x8100u16, 0x6005u16), (0x88a8, 0x0001)] {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        frame.extend([tpid.to_be_bytes(), tci.to_be_bytes(), [0x88, 0xb5]].concat());
        frame.extend((0..100u8).map(|i| i ^ 0x5c));
        west.send(&frame).unwrap();
        let got = east.receive_where(|got| got.bytes.ends_with(&frame[18..]));
        assert_eq!(got.tag, Some((tpid, tci)));
        assert_eq!(got.bytes, [&frame[..12], &frame[16..]].concat());
    }
    let stats = lab.wait_for("both frames", |s| s.a_to_b.sent_frames == 2);
    assert_eq!(
        stats.a_to_b.received_bytes,
        2 * 118,
        "the tag is on the wire and counts"
    );
}

#[test]
fn unfinished_checksum_is_finished() {
    let Some(lab) = Lab::with_relay(WIRE, WIRE) else {
        return;
    };
    let (west, _east) = lab.udp_pair();
    let before = lab.emu.enter(|| RawSocket::open("ew"));
    let after = lab.east.enter(|| RawSocket::open("e0"));
    for payload in [&b"even"[..], b"odd"] {
        west.send(payload).unwrap();
        let ours = |frame: &RawFrame| frame.bytes.ends_with(payload);
        let unfinished = before.receive_where(ours);
        assert!(!unfinished.checksum_ready && !udp_checksum_holds(&unfinished.bytes));
        let finished = after.receive_where(ours);
        assert!(
            finished.checksum_ready && udp_checksum_holds(&finished.bytes),
            "{finished:?}"
        );
    }
}

/// RFC 768 over an IPv4 frame without options.
fn udp_checksum_holds(frame: &[u8]) -> bool {
    let (addresses, udp) = (&frame[26..34], &frame[34..]);
    let pseudo = [addresses, &[0, 17], &(udp.len() as u16).to_be_bytes(), udp].concat();
    let mut sum: u32 = pseudo
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |low| u32::from(*low)))
        .sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum == 0xffff
}

/// Bytes of which no two stretches are alike.
fn content(bytes: usize) -> Vec<u8> {
    let pattern = |i: usize| (i.wrapping_mul(2_654_435_761) >> 13) as u8;
    (0..bytes).map(pattern).collect()
}

/// Sends [`content`] from west to east over TCP, and returns what arrives.
fn transfer_to_east(lab: &Lab, bytes: usize) -> Vec<u8> {
    let listener = lab
        .east
        .enter(|| TcpListener::bind((EAST_IP, 7001)).unwrap());
    let mut stream = lab
        .west
        .enter(|| TcpStream::connect((EAST_IP, 7001)).unwrap());
    let patience = Some(Duration::from_secs(60));
    stream.set_write_timeout(patience).unwrap();
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(patience).unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        received
    });
    stream.write_all(&content(bytes)).unwrap();
    drop(stream);
    receiver.join().unwrap()
}

#[test]
fn tcp_transfer_is_whole_and_its_data_frames_are_counted() {
    const BYTES: usize = 2_000_000;
    let data = r#"{"rate_bps":100000000,"delay_ns":1000000,"loss":0.01,"queue_frames":200}"#;
    let Some(mut lab) = Lab::with_relay(data, r#"{"delay_ns":1000000,"loss":0.01}"#) else {
        return;
    };
    lab.west.enter(|| offloads_off("w0"));
    lab.east.enter(|| offloads_off("e0"));
    let received = transfer_to_east(&lab, BYTES);
    assert!(received == content(BYTES), "the content arrives unchanged");

    lab.wait_for("idle link", |s| is_idle(&s.a_to_b) && is_idle(&s.b_to_a));
    let stats = lab.relay.take().unwrap().finish();
    let d = &stats.a_to_b;
    assert_eq!(d.oversize_frames, 0);
    assert_eq!(accounted(d), d.received_frames);
    assert_eq!(
        d.data_received,
        d.data_sent + d.data_lost + d.data_queue_dropped
    );
    assert!(
        d.data_sent as usize >= BYTES / 1460 && d.data_lost > 0,
        "{d:?}"
    );
    assert_eq!(
        stats.b_to_a.data_received, 0,
        "pure acknowledgements are no data"
    );
    assert!(stats.b_to_a.received_frames > 0);
}

#[test]
fn super_packets_are_cut_into_frames() {
    const BYTES: usize = 2_000_000;
    const FULL_BYTES: usize = 1514;
    let data = r#"{"rate_bps":100000000,"delay_ns":1000000,"loss":0.01,"queue_frames":200}"#;
    let Some(mut lab) = Lab::with_relay(data, WIRE) else {
        return;
    };
    // Segmentation offload is on by default, and so is leaving checksums to the device.
    let before = lab.emu.enter(|| RawSocket::open("ew"));
    let after = lab.east.enter(|| RawSocket::open("e0"));
    let received = transfer_to_east(&lab, BYTES);
    let is_super = |frame: &RawFrame| frame.bytes.len() > FULL_BYTES;
    before.receive_where(is_super);
    let full = after.receive_where(|frame| frame.bytes.len() >= FULL_BYTES);
    assert_eq!(full.bytes.len(), FULL_BYTES);
    assert!(full.checksum_ready);
    assert!(received == content(BYTES), "the content arrives unchanged");

    lab.wait_for("idle link", |s| is_idle(&s.a_to_b) && is_idle(&s.b_to_a));
    let d = lab.relay.take().unwrap().finish().a_to_b;
    assert_eq!(d.oversize_frames, 0);
    assert_eq!(accounted(&d), d.received_frames);
    let (frames, lost) = (d.data_sent as usize, d.data_lost as f64);
    assert!(frames >= BYTES / 1448, "{d:?}");
    // Each segment has its own luck: a super-packet that was lost as a whole would take dozens.
    assert!(lost > 0.0 && lost < 0.04 * d.data_received as f64, "{d:?}");
    assert!(d.sent_bytes <= d.sent_frames * FULL_BYTES as u64, "{d:?}");
}

#[test]
fn datagrams_that_were_sent_as_one_arrive_one_by_one() {
    const DATAGRAMS: usize = 10;
    const DATAGRAM_BYTES: usize = 1000;
    let Some(lab) = Lab::with_relay(WIRE, WIRE) else {
        return;
    };
    let (west, east) = lab.udp_pair();
    let size = DATAGRAM_BYTES as i32;
    setsockopt(&west, sockopt::UdpGsoSegment, &size).expect("UDP_SEGMENT");
    let bytes = content(DATAGRAMS * DATAGRAM_BYTES - 1);
    west.send(&bytes).unwrap();
    let mut received: Vec<u8> = Vec::new();
    let mut buffer = [0; 2 * DATAGRAM_BYTES];
    for _ in 0..DATAGRAMS {
        let got = east.recv(&mut buffer).expect("every datagram arrives");
        assert!(got <= DATAGRAM_BYTES);
        received.extend(&buffer[..got]);
    }
    assert!(received == bytes, "the content arrives unchanged");
    let stats = lab.wait_for("count", |s| s.a_to_b.sent_frames == DATAGRAMS as u64);
    assert_eq!(stats.a_to_b.received_frames, DATAGRAMS as u64);
}

#[test]
fn what_is_longer_than_any_frame_is_dropped_and_counted() {
    let Some(lab) = Lab::with_relay(WIRE, WIRE) else {
        return;
    };
    lab.west.ip("link set w0 mtu 20000");
    lab.emu.ip("link set ew mtu 20000");
    let west = lab.west.enter(|| RawSocket::open("w0"));
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
    frame.resize(linkemu::MAX_FRAME_BYTES + 1, 0x5c);
    west.send(&frame).unwrap();
    let stats = lab.wait_for("oversize frame", |s| s.a_to_b.oversize_frames == 1);
    assert_eq!(accounted(&stats.a_to_b), stats.a_to_b.received_frames);
}

#[test]
fn settings_change_at_run_time() {
    let Some(lab) = Lab::with_relay(WIRE, WIRE) else {
        return;
    };
    let (west, east) = lab.udp_pair();
    let set = |json: &str| lab.handle().set(&Update::from_json(json).unwrap()).unwrap();
    set(r#"{"dir":"a_to_b","loss":1}"#);
    // A change is taken over in the turn after its wake-up; a frame sent now may still precede
    // it, so send until one is lost.
    let begin = Instant::now();
    while lab.handle().stats().a_to_b.lost_frames == 0 {
        assert!(begin.elapsed() < Duration::from_secs(30));
        west.send(b"lost").unwrap();
    }
    set(r#"{"dir":"a_to_b","loss":0}"#);
    east.set_read_timeout(Some(Duration::from_millis(10)))
        .unwrap();
    let mut buffer = [0; 16];
    while !east
        .recv(&mut buffer)
        .is_ok_and(|bytes| &buffer[..bytes] == b"through")
    {
        assert!(begin.elapsed() < Duration::from_secs(30));
        west.send(b"through").unwrap();
    }
}

#[test]
fn an_interface_that_goes_away_is_found_again() {
    let Some(lab) = Lab::with_relay(WIRE, WIRE) else {
        return;
    };
    lab.west.ip("link del w0");
    lab.wait_for("loss of the interface", |s| s.interface_downs == 1);
    lab.cable_west();
    lab.fix_neighbours();
    let (west, east) = lab.udp_pair();
    east.set_read_timeout(Some(Duration::from_millis(10)))
        .unwrap();
    let begin = Instant::now();
    while east.recv(&mut [0; 16]).is_err() {
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "{:?}",
            lab.handle().stats()
        );
        west.send(b"hello again").unwrap();
    }
    // Down and up again without going away, on the other side.
    lab.emu.ip("link set ee down");
    lab.wait_for("loss of the interface", |s| s.interface_downs == 2);
    lab.emu.ip("link set ee up");
    while east.recv(&mut [0; 16]).is_err() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "{:?}",
            lab.handle().stats()
        );
        west.send(b"and again").unwrap();
    }
}
