// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Kernel TCP and datagrams over an 802.11 medium.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::lab::{EAST_IP, Lab};
use crate::raw::offloads_off;
use linkemu::control::ControlServer;
use linkemu::mac::RECORD_BYTES;

const PORT: u16 = 7010;
/// Far more than anything takes; only a hang gets there.
const DEADLINE: Duration = Duration::from_secs(60);

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

/// Sends so much from west to east, and checks every byte.
fn transfer(lab: &Lab, bytes: usize) {
    let listener = lab
        .east
        .enter(|| TcpListener::bind((EAST_IP, PORT)).unwrap());
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        got
    });
    let mut sender = lab
        .west
        .enter(|| TcpStream::connect((EAST_IP, PORT)).unwrap());
    sender.write_all(&content(bytes)).unwrap();
    drop(sender);
    assert!(
        receiver.join().unwrap() == content(bytes),
        "every byte arrives as it was"
    );
}

fn lab_with(mac: &str, each_way: &str) -> Option<Lab> {
    let mut lab = Lab::new()?;
    lab.west.enter(|| offloads_off("w0"));
    lab.east.enter(|| offloads_off("e0"));
    lab.start_relay_with_mac(mac, each_way);
    Some(lab)
}

#[test]
fn tcp_arrives_whole_over_every_policy_and_the_mac_repairs_what_the_air_loses() {
    for mac in [
        r#"{"standard":"802.11a","rate_mbps":54}"#,
        r#"{"standard":"802.11g","policy":"block_ack_burst"}"#,
        r#"{"standard":"802.11a","policy":"block_ack_each","tries":5}"#,
        r#"{"standard":"802.11b","preamble":"short","control_loss":0.05}"#,
        r#"{"standard":"802.11a","policy":"no_ack"}"#,
        r#"{"standard":"802.11a","txop_ns":2048000}"#,
        r#"{"standard":"802.11a","policy":"no_ack","txop_ns":2048000}"#,
    ] {
        let no_ack = mac.contains("no_ack");
        let air = if no_ack {
            r#"{"loss":0.002}"#
        } else {
            r#"{"loss":0.1,"delay_ns":1000000}"#
        };
        let Some(mut lab) = lab_with(mac, air) else {
            return;
        };
        transfer(&lab, 400_000);
        lab.wait_for("end of the traffic", |stats| {
            [stats.a_to_b, stats.b_to_a]
                .iter()
                .all(|d| d.queue_frames + d.in_flight_frames == 0)
        });
        let stats = lab.relay.take().unwrap().finish();
        for d in [stats.a_to_b, stats.b_to_a] {
            let left = d.sent_frames + d.lost_frames + d.queue_dropped_frames + d.tx_errors;
            // The hosts may have said something more, as neighbours do.
            let there = d.queue_frames + d.in_flight_frames;
            assert_eq!(
                left + there + d.overflow_frames,
                d.received_frames,
                "{mac}: {d:?}"
            );
            assert!(d.mac.attempts >= d.received_frames - d.queue_dropped_frames - there);
            assert!(
                no_ack || d.mac.final_drops <= d.received_frames / 50,
                "{mac}: {d:?}"
            );
            let energy = d.energy;
            let total_ns = energy.tx_ns + energy.rx_ns + energy.idle_ns;
            // The last exchange may go on a little.
            let ahead_ns = total_ns
                .checked_sub(stats.elapsed_ns)
                .expect("all is accounted for");
            assert!(ahead_ns < 100_000_000, "{mac}: {ahead_ns}");
        }
        // 270 frames or so, of which a tenth is lost, and the answers' losses.
        assert!(
            no_ack || stats.a_to_b.mac.retries > 5,
            "{mac}: {:?}",
            stats.a_to_b.mac
        );
    }
}

#[test]
fn the_sending_end_hears_what_became_of_each_datagram() {
    const DATAGRAMS: u64 = 300;
    let mac = r#"{"standard":"802.11a","tries":2}"#;
    let Some(lab) = lab_with(mac, r#"{"loss":0.2}"#) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control");
    let _server = ControlServer::start(&path, lab.relay.as_ref().unwrap().handle.clone()).unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(b"events\n").unwrap();
    let mut events = BufReader::new(stream);
    events.read_line(&mut String::new()).unwrap(); // it listens from here on

    let (west, _east) = lab.udp_pair();
    for number in 0..DATAGRAMS {
        west.send(&[&number.to_le_bytes()[..], &[0; 500]].concat())
            .unwrap();
    }
    let stats = lab.wait_for("end of the traffic", |stats| {
        let d = &stats.a_to_b;
        d.received_frames == DATAGRAMS && d.queue_frames + d.in_flight_frames == 0
    });
    let stats = stats.a_to_b;
    let (mut kinds, mut numbers, mut last_ns) = ([0; 3], Vec::new(), 0);
    for _ in 0..stats.mac.attempts {
        let mut record = [0; RECORD_BYTES];
        events.read_exact(&mut record).unwrap();
        let u64_at = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
        assert_eq!((record[0], record[2], u64_at(24)), (1, 0, 0));
        let (queued_ns, head_ns, at_ns) = (u64_at(32), u64_at(40), u64_at(48));
        assert!(queued_ns <= head_ns && head_ns < at_ns && last_ns <= at_ns);
        last_ns = at_ns;
        kinds[usize::from(record[1])] += 1;
        if record[1] != 1 {
            numbers.push(u64_at(64 + 28)); // behind the headers of IPv4 and UDP
        }
    }
    assert_eq!(numbers, (0..DATAGRAMS).collect::<Vec<_>>());
    assert_eq!(kinds[1], stats.mac.retries);
    assert_eq!(
        (kinds[0], kinds[2]),
        (stats.sent_frames, stats.mac.final_drops)
    );
    assert!(kinds.iter().all(|count| *count > 0), "{kinds:?}");
}
